"""The estimate from a tally: unbiased counts, standard errors, intervals, consistent counts, tables.

Errors come from the exact variance, intervals from the tails of the law that was drawn (see `count_laws`). They
contain the true count at least as often as stated, down to a single report and for any values of the others. A
consistency step returns counts that a population can have; these are biased, so the errors stay those of the unbiased
counts.

If only the largest counts are shown, their errors are mostly upwards, and an interval for one value misses more often
than stated. So the intervals of a cut list are simultaneous: with the stated confidence they hold for all values of the
domain, whichever are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from tacit.arrays import Floats
from tacit.errors import InvalidError, MissingPackageError, bad_value
from tacit.local.consistency import METHODS, Method
from tacit.local.count_laws import Decoded
from tacit.mechanisms.validation import count_of, failure, flag

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa
from typing import TYPE_CHECKING, Any

from tacit.safe_text import aligned, html_lines, html_table

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


class CountIntervals(NamedTuple):
    """The low and the high end of an interval for each value."""

    low: Floats
    high: Floats


class Estimate:
    """The estimated number of people with each value.

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
        n: the number of people who reported.
        dropped: the number of reports that were malformed, or for other parameters, and skipped.
        counts: the estimated number of people with each value; unbiased, so it may be negative or above n.
        biased: whether a consistency step has been taken.
        note: the step, in a sentence.
    """

    def __init__(self, *, domain: Sequence[object], n: int, decoded: Decoded, dropped: int = 0) -> None:
        """Store the estimates; called by an aggregator.

        Args:
            domain: the values.
            n: the number of reports.
            decoded: the decoded counts with their law.
            dropped: the number of malformed reports that were not counted.
        """
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
        """The estimate before any consistency step; this object if there was no step."""
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

    def interval(self, *, confidence: float = 0.95, simultaneous: bool = False) -> CountIntervals:
        """Return an interval for each count, within 0 … n.

        Every true count is from 0 to n. So clipping both ends to that range loses no interval that holds its count:
        l ≤ t ≤ h and 0 ≤ t ≤ n imply max(l, 0) ≤ t ≤ min(h, n). An interval that would be wholly outside becomes 0 or
        n. Counts are not clipped, so they stay unbiased, and a count may be outside its interval.

        Args:
            confidence: the least probability that an interval contains the true count.
            simultaneous: let the confidence hold for all intervals at once, by Bonferroni's rule.
        """
        self._refuse_biased("interval")
        beta = float(failure(confidence)) / (self.counts.size if flag(simultaneous, "simultaneous") else 1)
        return CountIntervals(*(_frozen(np.clip(end, 0, self.n)) for end in self._decoded.ends(beta)))

    def _refuse_biased(self, name: str) -> None:
        if self.biased:
            message = f"A consistent estimate is biased and has no exact {name}."
            raise InvalidError(message, argument=name, hint=f"Use `.unbiased.{name}`.")

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
            raise bad_value("method", method, f"one of {', '.join(map(repr, METHODS))}")
        source = self.unbiased
        result = Estimate(domain=self.domain, n=self.n, decoded=self._decoded, dropped=self.dropped)
        result.counts = _frozen(METHODS[method](source.counts, self.n, lambda beta: self._decoded.ends(beta)[0]))
        result.biased = True
        result.note = f"Biased: made consistent by {method}. Errors and intervals are those of the unbiased counts."
        result._origin = source
        return result

    def plot(self, *, top: int = 30, confidence: float = 0.95) -> alt.LayerChart:
        """Draw the largest counts with the intervals of the unbiased counts.

        Args:
            top: how many values. If there are more, the intervals hold for all values of the domain at once.
            confidence: of each interval, or of all at once.
        """
        from tacit import plots  # noqa: PLC0415 - only for charts

        order = np.argsort(-self.counts, kind="stable")[: count_of(top, "top")]
        is_cut = len(order) < self.counts.size
        ends = [end[order] for end in self.unbiased.interval(confidence=confidence, simultaneous=is_cut)]
        labels = [str(self.domain[position]) for position in order]
        at_once = f" The intervals hold for all {self.counts.size:,} values at once." if is_cut else ""
        note = f"{_report_count(self)}. {self.note}{at_once}"
        return plots.counts(labels, self.counts[order], ends, confidence=confidence, note=note)

    def to_arrow(self, *, confidence: float = 0.95, simultaneous: bool = False) -> pa.Table:
        """Return an Arrow table: value, count, std, low, high, in the order of the domain; needs pyarrow.

        std, low and high are of the unbiased count, which a consistent estimate has as a column `unbiased`. Values of
        several kinds are written as text.

        Args:
            confidence: as for `interval`.
            simultaneous: as for `interval`.
        """
        return _arrow(self, self.unbiased.interval(confidence=confidence, simultaneous=simultaneous))

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
        return _polars(self.to_arrow(confidence=confidence, simultaneous=simultaneous))

    def __repr__(self) -> str:
        """Show the largest counts with their intervals."""
        return _short_text(self)

    def __str__(self) -> str:
        """Show the largest counts in rows, with errors and intervals, and what was dropped."""
        return _table_text(self)

    def _repr_html_(self) -> str:
        """Return the same as `print` shows, as HTML for notebooks."""
        heads, rows, note = _table_parts(self)
        return html_table(heads, rows) + html_lines([note])


def _frozen(values: Floats) -> Floats:
    result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result


_CONFIDENCE = 0.95
_SHORT, _ROWS = 5, 10


def _report_count(estimate: Estimate) -> str:
    """Return the number of reports and of dropped ones as text."""
    dropped = f", {estimate.dropped:,} dropped" if estimate.dropped else ""
    return f"{estimate.n:,} reports{dropped}"


def _arrow(estimate: Estimate, ends: CountIntervals) -> pa.Table:
    """Return value, count (and the unbiased count of a consistent estimate), std, low and high."""
    pa = _module("pyarrow")
    source = estimate.unbiased
    more = {"unbiased": source.counts} if estimate.biased else {}
    return pa.table(
        {"value": _values(pa, estimate), "count": estimate.counts, **more}
        | {"std": source.std, "low": ends.low, "high": ends.high}
    )


def _values(pa: Any, estimate: Estimate) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the domain as a column; as text if it has values of several types."""
    if isinstance(estimate.domain, range):
        return pa.array(np.arange(len(estimate.domain)))
    kinds = {type(value) for value in estimate.domain}
    return pa.array(list(estimate.domain) if len(kinds) == 1 else [str(value) for value in estimate.domain])


def _polars(table: pa.Table) -> pl.DataFrame:
    """Return an Arrow table as a polars frame."""
    frame: pl.DataFrame = _module("polars").from_arrow(table)
    return frame


def _module(name: str) -> Any:  # noqa: ANN401 - a module
    from importlib import import_module  # noqa: PLC0415 - only for optional packages

    try:
        return import_module(name)
    except ImportError:
        raise MissingPackageError(name, "A table of estimates") from None


def _short_text(estimate: Estimate) -> str:
    """Return one line: the largest counts, each with its interval."""
    parts = [f"{value!r}: {count} ({low} to {high})" for value, count, _, low, high in _largest(estimate, _SHORT)]
    more = ", …" if estimate.counts.size > _SHORT else ""
    kind = "Consistent estimate" if estimate.biased else "Estimate"
    of = f"intervals{_at_once(estimate, _SHORT)}{' of the unbiased counts' if estimate.biased else ''}"
    return f"<{kind} from {_report_count(estimate)}; {_CONFIDENCE:.0%} {of}; {', '.join(parts)}{more}>"


def _table_parts(estimate: Estimate) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
    """Return headings, the largest counts in rows, and a sentence with the number of reports."""
    heads = ("value", "count", "std", f"{_CONFIDENCE:.0%} interval{_at_once(estimate, _ROWS)}")
    rows = [(str(value), count, std, f"{low} to {high}") for value, count, std, low, high in _largest(estimate, _ROWS)]
    hidden = estimate.counts.size - len(rows)
    more = f" The other {hidden:,} values are below." if hidden else ""
    return heads, rows, f"{_report_count(estimate)}. {estimate.note}{more}"


def _table_text(estimate: Estimate) -> str:
    """Return the largest counts in rows, with the number of reports below."""
    heads, rows, note = _table_parts(estimate)
    return "\n".join([*aligned([heads, *rows]), note])


def _at_once(estimate: Estimate, most: int) -> str:
    return ", all at once" if estimate.counts.size > most else ""


def _largest(estimate: Estimate, most: int) -> list[tuple[object, str, str, str, str]]:
    """Return value, count, std and ends of the largest counts, as text but for the value."""
    source = estimate.unbiased
    low, high = source.interval(confidence=_CONFIDENCE, simultaneous=estimate.counts.size > most)
    columns = (estimate.counts, source.std, low, high)
    order = np.argsort(-estimate.counts, kind="stable")[:most]
    numbers = ([f"{column[position]:z,.0f}" for column in columns] for position in order)
    return [(estimate.domain[position], *four) for position, four in zip(order, numbers, strict=True)]
