"""Aggregates whose results are categories or truth values: they have no interval, but an error in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import ClassVar, Protocol, runtime_checkable

from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import ConfidenceLevel
from tacit.query.formatting import percent
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Aggregate, Ask, Bundle, Noisy, Output, Plan


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

    def note_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, name: str
    ) -> str:
        """Return the same about the column of this name, as the end of a sentence that begins with the confidence."""

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the error as a number; see `Statistic.error`."""


def is_category(plan: Plan, output: Output) -> bool:
    """Return whether an output is computed from a category or a truth value, which has no interval."""
    if isinstance(output, Noisy):
        return isinstance(STATISTICS[plan.aggregates[output.place].ask.function], Category)
    return any(is_category(plan, part) for part in getattr(output, "arguments", ()))


def category_error(plan: Plan, noise: Sequence[NoiseLaw], index: int, confidence: ConfidenceLevel, extent: str) -> str:
    """Return the error of the aggregate at an index in words; see `Category.error_text`."""
    aggregate, statistic, bundles, laws = _parts(plan, noise, index)
    return statistic.error_text(aggregate.ask, bundles, laws, confidence, extent)


def error_number(plan: Plan, noise: Sequence[NoiseLaw], index: int, confidence: ConfidenceLevel) -> dict[str, float]:
    """Return the error of the aggregate at an index as a number by what it counts; counts are rounded up."""
    aggregate, statistic, bundles, laws = _parts(plan, noise, index)
    error = statistic.error(aggregate.ask, bundles, laws, confidence, None)
    return {statistic.error_name: error if aggregate.ask.bounds else ceil(error)}


def category_notes(plan: Plan, noise: Sequence[NoiseLaw], confidence: float, each: ConfidenceLevel) -> list[str]:
    """Return a note for each column without an interval: its error in words.

    `confidence` is that of the answer, and `each` that of one group.
    """
    places = [(name, each.place) for name, each in plan.outputs if isinstance(each, Noisy) and is_category(plan, each)]
    texts = []
    for name, place in places:
        aggregate, statistic, bundles, laws = _parts(plan, noise, place)
        fact = statistic.note_text(aggregate.ask, bundles, laws, each, name)
        texts.append(f"With {percent(confidence)} confidence, {fact}")
    return texts


def _parts(
    plan: Plan, noise: Sequence[NoiseLaw], index: int
) -> tuple[Aggregate, Category, list[Bundle], list[NoiseLaw]]:
    """Return an aggregate, its statistic, its bundles and their laws."""
    aggregate = plan.aggregates[index]
    statistic = STATISTICS[aggregate.ask.function]
    if not isinstance(statistic, Category):
        raise TypeError("not a category")
    places = aggregate.bundles
    return aggregate, statistic, [plan.bundles[place] for place in places], [noise[place] for place in places]
