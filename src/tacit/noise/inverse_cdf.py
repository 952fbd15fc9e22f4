"""Exact draws from a law on the integers by inverting its distribution function.

For a uniform U and the steps F_0 ≤ F_1 ≤ … of the distribution function, X = first + #{j : U ≥ F_j} has exactly that
law. A law is a function `steps(n)` that returns the integer below its first step and an enclosure (lo, hi) of every
step times 2^n, in order and with hi - lo ≤ 2. At n = 64 the lower ends become a table of words. If the word of a draw
is inside an enclosure (probability at most 2^-63 a step), more bits and finer enclosures decide it. A law on all
integers lists the steps that matter at n bits; its first enclosure starts at 0 and its last ends at 2^n. All further
steps are inside those two, so the far tail is reached as well.

The table can be read in two ways, with one law:

* `draw_fully` compares each word with every step: the same work for every outcome. For small arrays.
* `draw_guided` finds 16 bits in a guide. If all 2^48 continuations agree, the guide holds the outcome. Otherwise (at
  most two cells a step) it draws 48 more bits and searches the steps. For large arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Ints, Words
from tacit.errors import InternalError
from tacit.noise.bits import BitSource, extend, words

Enclosure = tuple[int, int]
"""Integers (lo, hi) around a real number times a power of two."""

CdfSteps = Callable[[int], tuple[int, list[Enclosure]]]
"""n -> the integer below the first step, and an enclosure of each step times 2^n."""

_UNCLEAR = np.iinfo(np.int16).min
_TOP = (1 << 64) - 1


class CdfTable:
    """The distribution function of one law on the integers, as a table to draw from."""

    def __init__(self, steps: CdfSteps) -> None:
        """Enclose the steps at 64 bits. The guide is built when it is first used."""
        self.steps = steps
        self.first, enclosed = steps(64)
        if any(hi - lo > 2 for lo, hi in enclosed):  # noqa: PLR2004 - the width that `gap < 2` needs
            raise InternalError("A step of this law is not enclosed tightly enough to draw from it.")
        self.low = np.array([min(lo, _TOP) for lo, _ in enclosed], dtype=np.uint64)
        self._guide: npt.NDArray[np.int16] | None = None

    @property
    def last(self) -> int:
        """The greatest integer of the table."""
        return self.first + len(self.low)

    def draw_fully(self, size: int, bits: BitSource) -> Ints:
        """Draw `size` integers; compare each word with every step."""
        uniform = words(bits, np.uint64, size)
        gap = uniform[:, None] - self.low  # modulo 2^64
        index = np.count_nonzero(uniform[:, None] >= self.low, axis=1)
        return self._settle(index, np.any(gap < np.uint64(2), axis=1), uniform, bits)

    def draw_guided(self, size: int, bits: BitSource) -> Ints:
        """Draw `size` integers through the 16-bit guide."""
        cell = words(bits, np.uint16, size)
        index = self.guide.take(cell, mode="clip")
        result = index.astype(np.int64)
        result += self.first
        unclear = np.flatnonzero(index == _UNCLEAR)
        if unclear.size:
            result[unclear] = self._search(cell[unclear], bits)
        return result

    def _search(self, cell: npt.NDArray[np.uint16], bits: BitSource) -> Ints:
        """Finish the draws that their first 16 bits do not decide: draw 48 more bits and search the steps."""
        rest = words(bits, np.uint64, cell.size) >> np.uint64(16)
        uniform = cell.astype(np.uint64) << np.uint64(48) | rest
        index = np.searchsorted(self.low, uniform, side="right")
        near = self.low[np.maximum(index - 1, 0)]
        return self._settle(index, (index > 0) & (uniform - near < np.uint64(2)), uniform, bits)

    def _settle(
        self,
        index: npt.NDArray[np.intp],
        tied: Bools,
        uniform: Words,
        bits: BitSource,
    ) -> Ints:
        """Turn table indices into integers; decide the ties with more bits."""
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
        """The index of the outcome of each 16-bit cell, or a mark if its words do not agree."""
        if self._guide is None:
            edge = np.arange(65536, dtype=np.uint64) << np.uint64(48)
            top = edge + np.uint64((1 << 48) - 1)
            index = np.searchsorted(self.low, edge, side="right")
            clear = index == np.searchsorted(self.low, top, side="right")
            near = self.low[np.maximum(index - 1, 0)]
            clear &= (index == 0) | (edge - near >= np.uint64(2))
            self._guide = np.where(clear, index, _UNCLEAR).astype(np.int16)
        return self._guide
