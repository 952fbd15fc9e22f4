"""The intervals of a column as two arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from tacit.query.aggregates.released_columns import IntervalEnds
from tacit.query.aggregates.statistic import Interval


class IntervalColumn(Sequence[Interval]):
    """The intervals of all cells as two arrays."""

    __slots__ = ("ends",)

    def __init__(self, ends: IntervalEnds) -> None:
        """Store the low and the high ends, which must not change afterwards."""
        self.ends = ends

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.ends[0])

    @overload
    def __getitem__(self, index: int) -> Interval: ...
    @overload
    def __getitem__(self, index: slice) -> IntervalColumn: ...
    def __getitem__(self, index: int | slice) -> Interval | IntervalColumn:
        """Return the interval of one cell, or those of a slice."""
        low, high = self.ends
        if isinstance(index, slice):
            return IntervalColumn((low[index], high[index]))
        return float(low[index]), float(high[index])

    def __iter__(self) -> Iterator[Interval]:
        """Iterate over the intervals."""
        return zip(self.ends[0].tolist(), self.ends[1].tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        """Return whether the other object has the same intervals."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # arrays are not hashed
