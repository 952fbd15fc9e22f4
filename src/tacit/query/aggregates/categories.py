"""Aggregates whose results are categories or truth values: they have no interval, but an error in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import ConfidenceLevel
from tacit.query.formatting import percent
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Noisy, Output, Plan


@runtime_checkable
class Category(Protocol):
    """An aggregate with an error in words; `error_name` says in receipts what its error counts."""

    error_name: ClassVar[str]

    def error_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, extent: str
    ) -> str:
        """Return the error in words.

        Args:
            ask: the aggregate with its arguments.
            bundles: the bundles that it needs.
            noise: the law of each bundle.
            confidence: the probability with which it holds, in one group.
            extent: the words for that probability.
        """


def is_category(plan: Plan, output: Output) -> bool:
    """Return whether an output is computed from a category or a truth value, which has no interval."""
    if isinstance(output, Noisy):
        return isinstance(STATISTICS[plan.aggregates[output.place].ask.function], Category)
    return any(is_category(plan, part) for part in getattr(output, "arguments", ()))


def category_error(plan: Plan, noise: Sequence[NoiseLaw], index: int, confidence: ConfidenceLevel, extent: str) -> str:
    """Return the error of the aggregate at an index in words; see `Category.error_text`."""
    aggregate = plan.aggregates[index]
    statistic = STATISTICS[aggregate.ask.function]
    if not isinstance(statistic, Category):
        raise TypeError("not a category")
    laws, bundles = [noise[place] for place in aggregate.bundles], [plan.bundles[place] for place in aggregate.bundles]
    return statistic.error_text(aggregate.ask, bundles, laws, confidence, extent)


def category_notes(plan: Plan, noise: Sequence[NoiseLaw], confidence: float, each: ConfidenceLevel) -> list[str]:
    """Return a note for each column without an interval: its error in words.

    `confidence` is that of the answer, and `each` that of one group.
    """
    words = f" with {percent(confidence)} confidence"
    return [
        f"{name}: {category_error(plan, noise, output.place, each, words)}; a {_thing(output)} has no interval."
        for name, output in plan.outputs
        if isinstance(output, Noisy) and is_category(plan, output)
    ]


def _thing(output: Noisy) -> str:
    return "truth value" if output.kind == "boolean" else "category"
