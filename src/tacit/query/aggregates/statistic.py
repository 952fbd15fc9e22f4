"""What every aggregate offers: its bundles before the data are read, its estimate and interval after noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy

Interval = tuple[float, float]
Confidence: TypeAlias = float | Fraction
"""How often an interval holds; a fraction where 1 - β is too close to 1 for a float."""


def miss_rate(confidence: Confidence) -> Fraction:
    """Return β = 1 - confidence, exactly; a float stands for the decimal that Python prints.

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
        """Return what is measured."""

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the estimate."""

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int | None:
        """Return the estimate in one cell."""

    def interval(self, ask: Ask, released: Sequence[Released], confidence: Confidence) -> Interval:
        """Return an interval that holds the statistic of the bounded data with this confidence."""

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: Confidence, assume: int | None
    ) -> float:
        """Return how far the estimate will be off at most, with this confidence, before anything is read.

        Args:
            ask: what is asked.
            bundles: what is measured.
            noise: the noise of each bundle.
            confidence: how often the error stays within it.
            assume: how many units a group is assumed to have, where the error depends on it.
        """
