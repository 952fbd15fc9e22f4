"""Exact draws from a law on the integers by inverting its distribution function.

X = first + #{j : U ≥ F_j} for a uniform U and the steps F_0 ≤ F_1 ≤ … of the distribution function has
exactly that law. A law is a function `steps(n)` that returns the integer below its first step and an
enclosure (lo, hi) of every step times 2^n, in order and with hi - lo ≤ 2. At n = 64 the lower ends become a
table of words; a draw whose word is inside an enclosure (probability at most 2^-63 a step) is decided with
more bits and finer enclosures. A law without end lists the steps that matter at n bits, the first enclosure
beginning at 0 and the last ending at 2^n: all further steps lie inside those two, so the far tail is
reached as well.

Two ways to read the table, with one law:

* `draw_fully` compares each word with every step: the same work for every outcome. For small arrays.
* `draw_guided` looks 16 bits up in a guide. Where all 2^48 continuations agree the guide holds the outcome;
  elsewhere (at most two cells a step) 48 more bits are drawn and the steps are searched. For large arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.noise.bits import BitSource, extend, words

Steps = Callable[[int], tuple[int, list[tuple[int, int]]]]

_UNCLEAR = np.iinfo(np.int16).min
_TOP = (1 << 64) - 1


class Table:
    """One law on the integers, ready to be drawn from."""

    def __init__(self, steps: Steps) -> None:
        """Enclose the steps at 64 bits; no guide yet."""
        self.steps = steps
        self.first, enclosed = steps(64)
        if any(hi - lo > 2 for lo, hi in enclosed):  # noqa: PLR2004 - the width that `gap < 2` stands on
            raise ArithmeticError("a step of this law is not enclosed tightly enough to be drawn from")
        self.low = np.array([min(lo, _TOP) for lo, _ in enclosed], dtype=np.uint64)
        self._guide: npt.NDArray[np.int16] | None = None

    @property
    def last(self) -> int:
        """The greatest integer of the table."""
        return self.first + len(self.low)

    def draw_fully(self, size: int, bits: BitSource) -> Ints:
        """Draw `size` integers, comparing each word with every step."""
        uniform = words(bits, np.uint64, size)
        gap = uniform[:, None] - self.low  # modulo 2^64
        index = np.count_nonzero(uniform[:, None] >= self.low, axis=1)
        return self._settle(index, np.any(gap < np.uint64(2), axis=1), uniform, bits)

    def draw_guided(self, size: int, bits: BitSource) -> Ints:
        """Draw `size` integers through the 16-bit guide."""
        cell = words(bits, np.uint16, size)
        found = self.guide.take(cell, mode="clip")
        result = found.astype(np.int64)
        result += self.first
        unclear = np.flatnonzero(found == _UNCLEAR)
        if unclear.size:
            result[unclear] = self._search(cell[unclear], bits)
        return result

    def _search(self, cell: npt.NDArray[np.uint16], bits: BitSource) -> Ints:
        """Finish draws whose first 16 bits do not decide: 48 bits more, and a search of the steps."""
        rest = words(bits, np.uint64, cell.size) >> np.uint64(16)
        uniform = cell.astype(np.uint64) << np.uint64(48) | rest
        index = np.searchsorted(self.low, uniform, side="right")
        near = self.low[np.maximum(index - 1, 0)]
        return self._settle(index, (index > 0) & (uniform - near < np.uint64(2)), uniform, bits)

    def _settle(
        self,
        index: npt.NDArray[np.intp],
        tied: npt.NDArray[np.bool_],
        uniform: npt.NDArray[np.uint64],
        bits: BitSource,
    ) -> Ints:
        result = index.astype(np.int64) + self.first
        if tied.any():
            for i in np.flatnonzero(tied):
                result[i] = self.invert(int(uniform[i]), 64, bits)
        return result

    def invert(self, prefix: int, known: int, bits: BitSource) -> int:
        """Return the exact outcome for a uniform real whose first `known` bits are `prefix`."""
        while True:
            first, enclosed = self.steps(known)
            passed = sum(hi <= prefix for _, hi in enclosed)
            if passed == len(enclosed) or prefix < enclosed[passed][0]:
                return first + passed
            prefix, known = extend(bits, prefix, 64), known + 64

    @property
    def guide(self) -> npt.NDArray[np.int16]:
        """For each 16-bit cell the index of its outcome, or a mark where its words do not agree."""
        if self._guide is None:
            edge = np.arange(65536, dtype=np.uint64) << np.uint64(48)
            top = edge + np.uint64((1 << 48) - 1)
            index = np.searchsorted(self.low, edge, side="right")
            clear = index == np.searchsorted(self.low, top, side="right")
            near = self.low[np.maximum(index - 1, 0)]
            clear &= (index == 0) | (edge - near >= np.uint64(2))
            self._guide = np.where(clear, index, _UNCLEAR).astype(np.int16)
        return self._guide
