"""The counts of a table that adds up: fitted to all margins that were measured, whole and never negative.

See `query.aggregates.margins`, which puts the noisy integers of all cells together; here is what is said of one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tacit.query.aggregates.count import Count
from tacit.query.aggregates.margins import Fit, Keys
from tacit.query.aggregates.statistic import Confidence, Interval, Released, miss_rate
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle


@dataclass(frozen=True, slots=True)
class Fitted(Released):
    """One cell of a fitted table: its whole number, and the fit itself, around which its interval lies."""

    center: float


class TableCount(Count):
    """A count that is consistent with the margins of its table."""

    def estimate(self, ask: Ask, released: Sequence[Released]) -> int:
        """The whole number that the fitted table has here."""
        return super().estimate(ask, released[-1:])

    def interval(self, ask: Ask, released: Sequence[Released], confidence: Confidence) -> Interval:
        """The fit give or take its noise, cut off at 0, below which no count is."""
        every = tuple(range(len(ask.sizes)))
        fit = Fit.of(ask.sizes, [one.bundle for one in released], [one.noise for one in released])
        last = released[-1]
        if not isinstance(last, Fitted):
            raise TypeError("the table was not fitted")
        return around(last.center, fit, every, confidence)

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: Confidence, assume: int | None
    ) -> float:
        """How far the fit may be off in one cell."""
        del assume
        every = tuple(range(len(ask.sizes)))
        return reach(Fit.of(ask.sizes, bundles, noise), every, confidence)


def around(center: float, fit: Fit, margin: Keys, confidence: Confidence) -> Interval:
    """Return the interval of a cell of a fitted margin."""
    spread = reach(fit, margin, confidence)
    return max(center - spread, 0.0), max(center + spread, 0.0)


@lru_cache(maxsize=256)
def reach(fit: Fit, margin: Keys, confidence: Confidence) -> float:
    """Return how far a cell of a fitted margin may be off; the same for all its cells, so it is found once."""
    return fit.reach(margin, float(miss_rate(confidence)))
