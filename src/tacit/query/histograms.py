"""Counts of many bins in many groups: few words for what is not zero, and eight bytes for each that has noise.

**No integer is lost.** Arrays hold 64 bits. Here integers are whole and ≥ 0 before noise, and every sum of some of them
is at most the sum of all. If that is below 2^61 all sums are below 2^61, and with noise within ±2^61 so are below 2^62:
nothing wraps. (The sum is taken in doubles, which err by far less than the half that is to spare.) If not, the same is
done with Python's integers, which have no end. Which way is taken shows in the time alone, and in nothing that is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.query.noise_law import NoiseLaw

Counts: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""Integers: as 64 bits where all their sums fit, else as Python's own."""

WORD = 62
"""How many bits the lower part of a total has."""

_FITS, _SPARE = 2**61, 2.0**60
_SHORT = 32


@dataclass(frozen=True, slots=True)
class Histograms:
    """The exact counts of each bin of each group, group by group; those that are not named are 0.

    The count at a group and a bin is `high`·2^62 + `low`; the groups are in order.
    """

    groups: int
    bins: int
    places: Ints
    numbers: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        """How many counts there are."""
        return self.groups * self.bins

    def of(self, first: int, last: int) -> Counts:
        """Return all counts of the groups from one place to before another, the bin counting fastest."""
        some = slice(*np.searchsorted(self.places, [first, last]))
        at = (self.places[some] - first) * self.bins + self.numbers[some]
        low, high = self.low[some], self.high[some]
        if high.any() or not float(low.sum(dtype=np.float64)) < _SPARE:
            large = np.zeros((last - first) * self.bins, dtype=object)
            large[at] = (high.astype(object) << WORD) + low.astype(object)
            return large
        counts = np.zeros((last - first) * self.bins, dtype=np.int64)
        counts[at] = low
        return counts


def in_blocks(counts: Counts, bins: int, block: int) -> Counts:
    """Return the sums over blocks of neighbouring bins; the last block of a group may be shorter."""
    if block == 1:
        return counts
    sums: Counts = np.add.reduceat(counts.reshape(-1, bins), np.arange(0, bins, block), axis=1).ravel()
    return sums


def with_noise(counts: Counts, law: NoiseLaw) -> Counts:
    """Return counts with fresh noise on each."""
    noise = law.drawn(counts.size)
    if counts.dtype == noise.dtype == np.int64 and (not noise.size or max(-int(noise.min()), int(noise.max())) < _FITS):
        return counts + noise
    large: npt.NDArray[np.object_] = counts.astype(object) + noise.astype(object)
    return large


class Packed(Sequence[int]):
    """Integers that never change, in eight bytes each; equal ones are equal, and have the same hash."""

    __slots__ = ("_words",)

    def __init__(self, words: Ints) -> None:
        """Take over some integers."""
        self._words = words

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...
    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        """Return one of them, or some as a tuple."""
        return tuple(self._words[place].tolist()) if isinstance(place, slice) else int(self._words[place])

    def __len__(self) -> int:
        """How many there are."""
        return len(self._words)

    def __iter__(self) -> Iterator[int]:
        """Go through them as Python's integers."""
        return iter(self._words.tolist())

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[np.generic]:  # noqa: FBT001 - as numpy calls it
        """Return them as an array of their own."""
        del copy
        return self._words.astype(dtype)

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same integers."""
        return isinstance(other, Packed) and np.array_equal(self._words, other._words)

    def __hash__(self) -> int:
        """Equal for equal ones."""
        return hash(self._words.tobytes())

    def __repr__(self) -> str:
        """How many they are; thousands would not be read."""
        return f"Packed({len(self)} integers)"


def pack(integers: Counts | Sequence[int]) -> Sequence[int]:
    """Return integers as they are kept: many that fit 64 bits packed, others as a tuple.

    >>> pack([1, 2]), pack(range(100)), len(pack([2**70] * 100))
    ((1, 2), Packed(100 integers), 100)
    """
    if len(integers) <= _SHORT:
        return tuple(int(x) for x in integers)
    try:  # a copy, since a part of something larger would keep that as long
        return Packed(np.array(integers, dtype=np.int64))
    except OverflowError:
        return tuple(int(x) for x in integers)
