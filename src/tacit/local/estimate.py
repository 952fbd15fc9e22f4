"""What a tally says: unbiased counts, their standard errors and intervals, and consistent counts by name.

Errors come from the exact variance, intervals from the tails of the law that was drawn (see `tails`): down to a single
report they hold the truth at least as often as they say, whatever all others have. A consistency step makes counts that
a population can have, and biased ones: it keeps the errors of the unbiased counts and shows them as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from tacit.arrays import Floats
from tacit.errors import InvalidError, show
from tacit.local import estimate_table
from tacit.local.consistency import METHODS, Method
from tacit.local.tails import Decoded
from tacit.mechanisms.validation import count_of, failure, flag

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa


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
        dropped: how many reports were malformed, or for other parameters, and left out.
        counts: the estimated number of people with each value; unbiased, so it may be negative or above n.
        biased: whether a consistency step has been taken.
        note: what that step was.
    """

    def __init__(self, *, domain: Sequence[object], n: int, decoded: Decoded, dropped: int = 0) -> None:
        """Hold the estimates; made by an aggregator."""
        self.domain = domain
        self.n = n
        self.dropped = dropped
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
        return _frozen(self._decoded.std())

    def interval(self, *, confidence: float = 0.95, simultaneous: bool = False) -> Interval:
        """Return an interval for each count; an end below 0 or above n can be read as 0 or n.

        Args:
            confidence: that an interval holds the true count, at least.
            simultaneous: that all of them do at once, by Bonferroni's rule.
        """
        self._refuse_biased("interval")
        beta = float(failure(confidence)) / (self.counts.size if flag(simultaneous, "simultaneous") else 1)
        return Interval(*(_frozen(end) for end in self._decoded.ends(beta)))

    def _refuse_biased(self, name: str) -> None:
        if self.biased:
            want = f"asked of the unbiased estimate, `.unbiased.{name}`, since a consistent one has no exact error"
            raise InvalidError(name, "a consistent, biased estimate", want)

    def consistent(self, method: Method = "norm-sub") -> Estimate:
        """Return counts that a population can have; biased, often far closer to the truth where most values are rare.

        "norm-sub" moves all counts by the same amount and cuts at 0 so that they sum to n; "simplex" is the same point,
        the nearest counts ≥ 0 that sum to n; "norm-mul" cuts at 0 and scales to n; "base-cut" keeps counts whose
        reports contradict 0 and cuts the others, whatever the sum: all absent values at once at least 19 times in 20;
        "isotonic", for an ordered domain, makes the cumulative counts rise from 0 to n, by least squares.

        Args:
            method: one of these names.
        """
        if method not in get_args(Method):
            raise InvalidError("method", show(method), f"one of {', '.join(map(repr, METHODS))}")
        source = self.unbiased
        made = Estimate(domain=self.domain, n=self.n, decoded=self._decoded, dropped=self.dropped)
        made.counts = _frozen(METHODS[method](source.counts, self.n, lambda beta: self._decoded.ends(beta)[0]))
        made.biased = True
        made.note = f"Biased: made consistent by {method}. Errors and intervals are those of `.unbiased`."
        made._origin = source
        return made

    def plot(self, *, top: int = 30, confidence: float = 0.95) -> alt.LayerChart:
        """Draw the largest counts with their intervals; those of a consistent estimate with the unbiased ones.

        Args:
            top: how many values. If there are more, the intervals hold for all values of the domain at once.
            confidence: of each interval, or of all at once.
        """
        from tacit import plots  # noqa: PLC0415 - only for charts

        order = np.argsort(-self.counts, kind="stable")[: count_of(top, "top")]
        is_cut = len(order) < self.counts.size
        ends = [end[order] for end in self.unbiased.interval(confidence=confidence, simultaneous=is_cut)]
        labels = [str(self.domain[place]) for place in order]
        at_once = f" The intervals hold for all {self.counts.size:,} values at once." if is_cut else ""
        note = f"{estimate_table.people(self)}. {self.note}{at_once}"
        return plots.counts(labels, self.counts[order], ends, confidence=confidence, note=note)

    def to_arrow(self, *, confidence: float = 0.95, simultaneous: bool = False) -> pa.Table:
        """Return an Arrow table: value, count, std, low, high, in the order of the domain; needs pyarrow.

        std, low and high are of the unbiased count, which a consistent estimate has as a column `unbiased`. Values of
        several kinds are written as text.

        Args:
            confidence: as for `interval`.
            simultaneous: as for `interval`.
        """
        return estimate_table.arrow(self, self.unbiased.interval(confidence=confidence, simultaneous=simultaneous))

    def to_pandas(self, *, confidence: float = 0.95, simultaneous: bool = False) -> pd.DataFrame:
        """Return the columns of `to_arrow` as a pandas frame.

        Args:
            confidence: as for `interval`.
            simultaneous: as for `interval`.
        """
        frame: pd.DataFrame = self.to_arrow(confidence=confidence, simultaneous=simultaneous).to_pandas()
        return frame

    def to_polars(self, *, confidence: float = 0.95, simultaneous: bool = False) -> pl.DataFrame:
        """Return the columns of `to_arrow` as a polars frame.

        Args:
            confidence: as for `interval`.
            simultaneous: as for `interval`.
        """
        return estimate_table.polars(self.to_arrow(confidence=confidence, simultaneous=simultaneous))

    def __repr__(self) -> str:
        """Show the largest counts with their intervals."""
        return estimate_table.short(self)

    def __str__(self) -> str:
        """Show the largest counts in rows, with errors and intervals, and what was dropped."""
        return estimate_table.text(self)


def _frozen(values: Floats) -> Floats:
    result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result
