"""The interface of an aggregate: its bundles before the data is read, its estimate and interval after noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias, runtime_checkable

from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy

Interval: TypeAlias = tuple[float, float]
"""The low and the high end of a confidence interval."""

ConfidenceLevel: TypeAlias = float | Fraction
"""The probability that an interval holds; a fraction where 1 - β is too close to 1 for a float."""


def miss_rate(confidence: ConfidenceLevel) -> Fraction:
    """Return β = 1 - confidence, exactly; a float means the decimal that Python prints.

    >>> miss_rate(0.95), miss_rate(1 - Fraction(1, 10**20))
    (Fraction(1, 20), Fraction(1, 100000000000000000000))
    """
    return 1 - (confidence if isinstance(confidence, Fraction) else Fraction(repr(confidence)))


@dataclass(frozen=True, slots=True)
class Released:
    """One bundle of one cell after noise: the integers of its measures, in order, and their noise."""

    bundle: Bundle
    integers: Sequence[int]
    noise: NoiseLaw


class Statistic(Protocol):
    """An aggregate."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the bundles that it needs."""

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the estimate."""

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int | None:
        """Return the estimate in one cell; `Mode` returns a category."""

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return an interval that holds the statistic of the bounded data with this confidence."""

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the largest error of the estimate, with this confidence, before the data is read.

        Args:
            ask: the aggregate with its arguments.
            bundles: the bundles that it needs.
            noise: the noise of each bundle.
            confidence: the probability that the error is not larger.
            assume: the number of units that a group is assumed to have, where the error depends on it.
        """


@runtime_checkable
class Noted(Protocol):
    """An aggregate whose result may differ from plain SQL, for example a private minimum."""

    def note(self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> str | None:
        """Return a note on the result, or None."""
