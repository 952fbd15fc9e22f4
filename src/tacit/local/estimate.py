"""What a tally says: unbiased counts, their standard errors and intervals, and consistent counts by name.

The variance of an estimated count is a line in the true count m: V(m) = base + slope·m, exactly (see `law.Pure` and
`hadamard`). `std` puts the estimate in the place of m. An interval holds every m from which the estimate is no more
than z standard deviations and half a step away: |c - m| ≤ z·√V(m) + step/2, Wilson's interval with a continuity
correction. Its confidence is that of the normal approximation to a sum of n independent reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, show
from tacit.local.consistency import METHODS, Method
from tacit.local.law import Decoded
from tacit.mechanisms.arguments import count_of, failure, flag

if TYPE_CHECKING:
    import altair as alt

Floats = npt.NDArray[np.float64]

_SHOWN = 5


class Interval(NamedTuple):
    """The low and the high end of an interval for each value."""

    low: Floats
    high: Floats


class Estimate:
    """How many people have each value, as far as their reports tell.

    >>> import tacit as tc
    >>> oracle = tc.local.GRR(domain=["tea", "coffee"], epsilon=2)
    >>> e = oracle.estimate(oracle.randomize(["tea"] * 700 + ["coffee"] * 300))
    >>> e.n, round(float(e.counts.sum())), e.std.shape
    (1000, 1000, (2,))
    >>> low, high = e.interval(confidence=0.95)
    >>> bool((low <= e.counts).all() and (e.counts <= high).all())
    True

    Attributes:
        domain: the values, in the order of all arrays.
        n: how many people reported.
        counts: the estimated number of people with each value; unbiased, so it may be negative or above n.
        biased: whether a consistency step has been taken.
        note: what that step was.
    """

    def __init__(self, *, domain: Sequence[object], n: int, decoded: Decoded) -> None:
        """Hold the estimates; made by an aggregator."""
        self.domain = domain
        self.n = n
        self.counts = _frozen(decoded.counts)
        self.biased = False
        self.note = "Unbiased."
        self._decoded = decoded
        self._origin: Estimate | None = None

    @property
    def unbiased(self) -> Estimate:
        """The estimate before any consistency step; this one, if there was none."""
        return self._origin or self

    @property
    def frequencies(self) -> Floats:
        """The estimated share of people with each value."""
        return _frozen(self.counts / self.n)

    @property
    def std(self) -> Floats:
        """The standard error of each count: √V at the estimate, cut to 0…n."""
        self._refuse_biased("std")
        at = np.clip(self.counts, 0, self.n)
        return _frozen(np.sqrt(np.maximum(self._decoded.base + self._decoded.slope * at, 0)))

    def interval(self, *, confidence: float = 0.95, simultaneous: bool = False) -> Interval:
        """Return an interval for each count; an end below 0 or above n can be read as 0 or n.

        Args:
            confidence: that an interval holds the true count.
            simultaneous: that all of them do at once, by Bonferroni's rule.
        """
        self._refuse_biased("interval")
        beta = float(failure(confidence)) / (self.counts.size if flag(simultaneous, "simultaneous") else 1)
        return Interval(*(_frozen(end) for end in _score_interval(self._decoded, _quantile(beta))))

    def _refuse_biased(self, name: str) -> None:
        if self.biased:
            want = f"asked of the unbiased estimate, `.unbiased.{name}`, since a consistent one has no exact error"
            raise InvalidError(name, "a consistent, biased estimate", want)

    def consistent(self, method: Method = "norm-sub") -> Estimate:
        """Return counts that a population can have; biased, often far closer to the truth where most values are rare.

        "norm-sub" moves all counts by the same amount and cuts at 0 so that they sum to n; "simplex" is the same point,
        the nearest counts ≥ 0 that sum to n; "norm-mul" cuts at 0 and scales to n; "base-cut" keeps counts that are
        clearly above 0 and sets the others to 0, whatever the sum; "isotonic", for an ordered domain, makes the
        cumulative counts rise from 0 to n, by least squares.

        Args:
            method: one of these names.
        """
        if method not in get_args(Method):
            raise InvalidError("method", show(method), f"one of {', '.join(map(repr, METHODS))}")
        source = self.unbiased
        made = Estimate(domain=self.domain, n=self.n, decoded=self._decoded)
        made.counts = _frozen(METHODS[method](source.counts, self.n, source.std))
        made.biased = True
        made.note = f"Biased: made consistent by {method}. Errors and intervals are those of `.unbiased`."
        made._origin = source
        return made

    def plot(self, *, top: int = 30, confidence: float = 0.95) -> alt.LayerChart:
        """Draw the largest counts with their intervals; those of a consistent estimate without.

        Args:
            top: how many values.
            confidence: of each interval.
        """
        from tacit import plots  # noqa: PLC0415 - only for charts

        order = np.argsort(-self.counts, kind="stable")[: count_of(top, "top")]
        ends = None if self.biased else [end[order] for end in self.interval(confidence=confidence)]
        labels = [str(self.domain[place]) for place in order]
        return plots.counts(
            labels, self.counts[order], ends, confidence=confidence, note=f"{self.n:,} reports. {self.note}"
        )

    def __repr__(self) -> str:
        """Show the largest counts."""
        order = np.argsort(-self.counts, kind="stable")[:_SHOWN]
        parts = [f"{self.domain[place]!r}: {self.counts[place]:,.0f}" for place in order]
        more = ", …" if self.counts.size > _SHOWN else ""
        return (
            f"<{'Consistent estimate' if self.biased else 'Estimate'} of {self.n:,} people; {', '.join(parts)}{more}>"
        )


def _score_interval(decoded: Decoded, z: float) -> tuple[Floats, Floats]:
    """Solve (c' - m)² = z²·(base + slope·m) for m, with c' the estimate moved out by half a step."""
    ends = []
    for sign in (-1, 1):
        c = decoded.counts + sign * decoded.step / 2
        at = np.maximum(decoded.base + decoded.slope * c, 0)
        root = z * np.sqrt(at + (z * decoded.slope / 2) ** 2)
        ends.append(c + z * z * decoded.slope / 2 + sign * root)
    return ends[0], ends[1]


def _quantile(beta: float) -> float:
    """Return z with Pr[|N(0,1)| > z] = β."""
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import

    return float(-ndtri(beta / 2))


def _frozen(values: Floats) -> Floats:
    result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result
