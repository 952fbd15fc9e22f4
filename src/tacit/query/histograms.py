"""Counts of many bins in many groups: sparse before noise, eight bytes for each count after noise.

**Memory.** Engines return one row for each bin that is not empty, and how many these are is private. `dense_blocks`
turns them into the counts of a few groups at a time. So the memory that they need depends on public numbers alone: at
most 2^20 counts at once, or those of one group, whatever the data is.

**No integer overflows.** Arrays hold 64 bits. The integers are whole and ≥ 0 before noise, so every sum of some of them
is at most the sum of all. If that sum is below 2^61, all sums are below 2^61. With noise within ±2^61 they stay below
2^62, so nothing wraps. (The sum is computed in doubles, whose error is far below the spare factor of two.) Otherwise
the same is computed with Python's integers, which have no limit. The choice between the two affects the time only, and
no released value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import InternalError
from tacit.query.noise_law import NoiseLaw

Counts: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""Integers: in 64 bits if all their sums fit, else Python integers."""

WORD = 62
"""The number of bits in the lower part of a total."""

BinRows: TypeAlias = Sequence[Sequence[int]]
"""Rows (group, bin, count)."""

Absorb: TypeAlias = Callable[[tuple[int, ...], Iterator[Counts]], None]
"""Takes the indices of equal measures with bins, and their counts, some groups at a time."""

AT_ONCE = 2**20
"""The most counts of a block, unless one group has more bins."""

_FITS, _SPARE = 2**61, 2.0**60
_SHORT = 32


@dataclass(frozen=True, slots=True)
class Histograms:
    """The exact counts of each bin of each group, group by group; counts that are not stored are 0.

    The count of a bin of a group is `high`·2^62 + `low`. `places` are the indices of the groups, in order; `numbers`
    are the bins.
    """

    groups: int
    bins: int
    places: Ints
    numbers: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        """Return the number of counts, zeros included."""
        return self.groups * self.bins

    def of(self, first: int, last: int) -> Counts:
        """Return all counts of the groups from index `first` to `last` - 1, the bin varying fastest."""
        stored = slice(*np.searchsorted(self.places, [first, last]))
        at = (self.places[stored] - first) * self.bins + self.numbers[stored]
        low, high = self.low[stored], self.high[stored]
        if high.any() or not float(low.sum(dtype=np.float64)) < _SPARE:
            large = np.zeros((last - first) * self.bins, dtype=object)
            large[at] = (high.astype(object) << WORD) + low.astype(object)
            return large
        counts = np.zeros((last - first) * self.bins, dtype=np.int64)
        counts[at] = low
        return counts


def groups_at_once(bins: int) -> int:
    """Return the number of groups of a block.

    >>> groups_at_once(4096), groups_at_once(2**30)
    (256, 1)
    """
    return max(1, AT_ONCE // bins)


def dense_blocks(batches: Iterable[BinRows], groups: int, bins: int, factor: int = 1) -> Iterator[Counts]:
    """Yield the counts of all groups in order, those of `groups_at_once(bins)` groups at a time; a missing bin is 0.

    Args:
        batches: the rows of the bins that are not empty, some at a time. They are sorted by group if there are several
            blocks.
        groups: the number of groups.
        bins: the number of bins of a group.
        factor: multiplies every count.
    """
    size = groups_at_once(bins) * bins
    first, block = 0, _zeros(min(size, groups * bins))
    for rows in batches:
        at, counts = _columns(rows, bins, factor)
        while at.size:
            if at.min() < first or at.max() >= groups * bins:
                raise InternalError("the engine's rows are not sorted by group, or have unknown groups.")
            inside = at < first + size
            block = _filled(block, at[inside] - first, counts[inside])
            at, counts = at[~inside], counts[~inside]
            if at.size:
                yield _safe(block)
                first += size
                block = _zeros(min(size, groups * bins - first))
    while first < groups * bins:
        yield _safe(block)
        first += size
        block = _zeros(min(size, max(groups * bins - first, 0)))


def _zeros(size: int) -> Counts:
    return np.zeros(size, dtype=np.int64)


def _columns(rows: BinRows, bins: int, factor: int) -> tuple[Ints, Counts]:
    """Return the places group·bins + bin of some rows, and their counts."""
    at = np.array([int(row[0]) * bins + int(row[1]) for row in rows], dtype=np.int64)
    totals = [int(row[2]) * factor for row in rows]
    small = max(totals, default=0) < _FITS
    return at, np.array(totals, dtype=np.int64 if small else object)


def _filled(block: Counts, at: Ints, counts: Counts) -> Counts:
    """Return a block with counts at their places; Python's integers if the counts are."""
    block = block.astype(object) if counts.dtype == object and block.dtype != object else block
    block[at] = counts
    return block


def _safe(block: Counts) -> Counts:
    """Return a block in 64 bits if all sums of its counts fit, else in Python's integers."""
    if block.dtype == object or float(block.sum(dtype=np.float64)) < _SPARE:
        return block
    return block.astype(object)


def in_blocks(counts: Counts, bins: int, block: int) -> Counts:
    """Return the sums over blocks of adjacent bins; the last block of a group may be shorter."""
    if block == 1:
        return counts
    sums: Counts = np.add.reduceat(counts.reshape(-1, bins), np.arange(0, bins, block), axis=1).ravel()
    return sums


def with_noise(counts: Counts, law: NoiseLaw) -> Counts:
    """Return the counts, each with fresh noise."""
    noise = law.draw_array(counts.size)
    if counts.dtype == noise.dtype == np.int64 and (not noise.size or max(-int(noise.min()), int(noise.max())) < _FITS):
        return counts + noise
    large: npt.NDArray[np.object_] = counts.astype(object) + noise.astype(object)
    return large


class Packed(Sequence[int]):
    """Immutable integers of eight bytes each, compared and hashed by value."""

    __slots__ = ("_words",)

    def __init__(self, words: Ints) -> None:
        """Store an array, which must not change afterwards."""
        self._words = words

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        """Return one integer, or a slice as a tuple."""
        return tuple(self._words[index].tolist()) if isinstance(index, slice) else int(self._words[index])

    def __len__(self) -> int:
        """Return the number of integers."""
        return len(self._words)

    def __iter__(self) -> Iterator[int]:
        """Iterate over Python integers."""
        return iter(self._words.tolist())

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[np.generic]:  # noqa: FBT001 - as numpy calls it
        """Return a new array."""
        del copy
        return self._words.astype(dtype)

    def __eq__(self, other: object) -> bool:
        """Return whether the other object has the same integers."""
        return isinstance(other, Packed) and np.array_equal(self._words, other._words)

    def __hash__(self) -> int:
        """Return a hash of the integers."""
        return hash(self._words.tobytes())

    def __repr__(self) -> str:
        """Return the number of integers, not thousands of values."""
        return f"Packed({len(self)} integers)"


def pack(integers: Counts | Sequence[int]) -> Sequence[int]:
    """Return integers in a compact form: packed if they are many and fit 64 bits, else a tuple.

    >>> pack([1, 2]), pack(range(100)), len(pack([2**70] * 100))
    ((1, 2), Packed(100 integers), 100)
    """
    if len(integers) <= _SHORT:
        return tuple(int(x) for x in integers)
    try:  # a copy, because a view would keep the larger array alive
        return Packed(np.array(integers, dtype=np.int64))
    except OverflowError:
        return tuple(int(x) for x in integers)
