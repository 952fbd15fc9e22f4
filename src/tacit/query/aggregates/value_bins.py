"""Fixed, public bins over all values of a kind, for private bounds. They never depend on the data.

| kind | bins |
|---|---|
| real | four to each power of two: edges ±(1, 1¼, 1½, 1¾)·2^k, -64 ≤ k < 64, and 0; coarse ones from ±2^64 on |
| integer | the same edges, rounded up to whole numbers of 64 bits |
| date | months from 1990 to 2039, years from 1800 to 2199, decades from 1000 to 2999, centuries otherwise |
| timestamp | the same days, at midnight |

**Every value has exactly one bin.** Bin j has the values v with firsts[j] ≤ v < firsts[j+1]; the first bin has no lower
end and the last bin has no upper end. So -inf and +inf are in the outermost bins, and so are dates that Python cannot
hold, such as those of the year 10,000. -0.0 is in the bin of 0.0, because the two are equal. Only NULL and NaN have no
bin.

**The number of a bin** is an ordinary row expression: a search by halving, written as nested CASE. It compares values
with constants and computes nothing, so no row can make it overflow, fail or round.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from math import ceil
from sys import float_info
from typing import TypeAlias

from tacit.errors import InternalError
from tacit.query.expressions import Call, Case, Constant, Expression, Kind
from tacit.query.expressions.casts import HIGHEST, LOWEST

EdgeValue: TypeAlias = int | float | date | datetime
"""A number, a date or a timestamp."""

_OCTAVES, _PARTS = 64, 4
_COARSE = (96, 128, 256, 512)
_PERIODS = ((1, 1000, 1200), (1000, 1800, 120), (1800, 1990, 12), (1990, 2040, 1))
_LATER_PERIODS = ((2040, 2200, 12), (2200, 3000, 120), (3000, 10_000, 1200))
_MONTHS = 12


@dataclass(frozen=True, slots=True)
class ValueBins:
    """The least value of each bin, in order, and the largest value of the kind."""

    kind: Kind
    firsts: tuple[EdgeValue, ...]
    last: EdgeValue

    @property
    def count(self) -> int:
        """The number of bins."""
        return len(self.firsts)

    def low(self, index: int) -> EdgeValue:
        """Return the lower end of a bin; that of the first bin is the least finite value of the kind."""
        return self.firsts[index]

    def high(self, index: int) -> EdgeValue:
        """Return the upper end of a bin: its largest value, or for reals the least value of the next bin."""
        if index == self.count - 1:
            return self.last
        return _BEFORE[self.kind](self.firsts[index + 1])

    def find(self, value: EdgeValue) -> int:
        """Return the number of a value's bin, as `number` computes it.

        >>> value_bins("integer").find(9) == value_bins("integer").find(8) == value_bins("integer").find(10) - 1
        True
        """
        return max(bisect_right(self.firsts, value) - 1, 0)

    def number(self, value: Expression) -> Expression:
        """Return the number of a value's bin as a row expression; NULL if the value is NULL or NaN."""
        present = Call("not", (Call("is_null", (value,), "boolean"),), "boolean")
        return Case(((present, self._search(value, 0, self.count - 1)),), None, "integer")

    def _search(self, value: Expression, first: int, last: int) -> Expression:
        """Return the number of the bin among those from `first` to `last`."""
        if first == last:
            return Constant(first, "integer")
        middle = (first + last + 1) // 2
        below = Call("less", (value, Constant(self.firsts[middle], self.kind)), "boolean")
        return Case(((below, self._search(value, first, middle - 1)),), self._search(value, middle, last), "integer")


@lru_cache(maxsize=4)
def value_bins(kind: Kind) -> ValueBins:
    """Return the bins of a kind of numbers, dates or timestamps.

    >>> {kind: value_bins(kind).count for kind in ("integer", "real", "date")}
    {'integer': 496, 'real': 1036, 'date': 1190}
    >>> bins = value_bins("real")
    >>> [(bins.low(j), bins.high(j)) for j in (0, bins.find(0.0), bins.find(9.0))]
    [(-1.7976931348623157e+308, -1.3407807929942597e+154), (0.0, 5.421010862427522e-20), (8.0, 10.0)]
    """
    positive = list(_positive_edges())
    edges = [*(-edge for edge in reversed(positive)), 0.0, *positive]
    if kind == "real":
        return ValueBins(kind, (-float_info.max, *edges), float_info.max)
    if kind == "integer":
        rounded = {ceil(Fraction(edge)) for edge in edges}
        return ValueBins(kind, (LOWEST, *sorted(edge for edge in rounded if LOWEST < edge <= HIGHEST)), HIGHEST)
    days = [date(year, month, 1) for year, month in _months()]
    if kind == "date":
        return ValueBins(kind, tuple(days), date.max)
    if kind == "timestamp":
        midnights = tuple(datetime(day.year, day.month, 1) for day in days)  # noqa: DTZ001 - the kind has no time zone
        return ValueBins(kind, midnights, datetime.max)  # noqa: DTZ901 - likewise
    raise InternalError(f"values of kind {kind} have no bins.")


def _positive_edges() -> Iterator[float]:
    """Yield the edges above 0, which doubles hold exactly."""
    for exponent in range(-_OCTAVES, _OCTAVES):
        for part in range(_PARTS):
            yield float(Fraction(_PARTS + part, _PARTS) * Fraction(2) ** exponent)
    yield from (2.0**exponent for exponent in (_OCTAVES, *_COARSE))


def _months() -> Iterator[tuple[int, int]]:
    """Yield the first month of each bin, as a year and a month."""
    yield 1, 1
    for start, stop, months in (*_PERIODS, *_LATER_PERIODS):
        first = start if start > 1 else months // _MONTHS
        for month in range(first * _MONTHS, stop * _MONTHS, months):
            yield month // _MONTHS, month % _MONTHS + 1


_BEFORE: dict[Kind, Callable[..., EdgeValue]] = {
    "integer": lambda edge: edge - 1,
    "real": lambda edge: edge,
    "date": lambda edge: edge - timedelta(days=1),
    "timestamp": lambda edge: edge - timedelta(microseconds=1),
}
"""The largest value below an edge; a real may be the edge itself, which is a rounder number."""
