"""The released integers of many cells as arrays, and arithmetic on them that does not overflow.

Estimates and intervals are computed in whole columns. The formulas are those of one cell: they use +, -, * and // only,
so that they mean the same for Python's integers and for arrays of them.

**No integer overflows.** A formula states its `growth`: no intermediate result exceeds growth·max(1, |x|), where x is
the largest of the integers. If growth·max(1, |x|) ≤ 2^62, the arrays hold 64 bits and nothing wraps. Otherwise they
hold Python's integers, which have no limit. The choice affects the time only.

**Quotients are rounded once.** a/b of two integers up to 2^53 is computed in doubles: both are exact, and IEEE 754
rounds their quotient to the nearest double. Larger integers are divided by Python, which rounds to the nearest double
too. So a column has the same doubles as cells that are computed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, TypeVar

import numpy as np

from tacit.arrays import Bools, Floats, WideInts
from tacit.query.aggregates.statistic import Released
from tacit.query.histograms import pack
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle

IntervalEnds: TypeAlias = tuple[Floats, Floats]
"""The low and the high ends of intervals, one for each cell."""

Whole = TypeVar("Whole", int, WideInts)
_FITS, _EXACT = 2**62, 2**53


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """One bundle of many cells after noise: row i of `integers` has the integers of cell i, in order.

    The cells with True in `lower` have the noise of `lower_noise` in place of `noise`.
    """

    bundle: Bundle
    integers: WideInts
    noise: NoiseLaw
    lower_noise: NoiseLaw | None = None
    lower: Bools | None = None

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.integers)

    @property
    def width(self) -> int:
        """The number of integers of a cell."""
        return int(self.integers.shape[1])

    def cell(self, index: int) -> Released:
        """Return the bundle in one cell."""
        is_lower = self.lower_noise is not None and self.lower is not None and bool(self.lower[index])
        noise = self.lower_noise if is_lower and self.lower_noise is not None else self.noise
        return Released(self.bundle, pack(self.integers[index]), noise)

    def take(self, cells: slice | Sequence[int]) -> ReleasedColumn:
        """Return the bundle in some cells."""
        lower = None if self.lower is None else self.lower[cells]
        return ReleasedColumn(self.bundle, self.integers[cells], self.noise, self.lower_noise, lower)

    def followed_by(self, others: Sequence[ReleasedColumn]) -> ReleasedColumn:
        """Return the bundle in the cells of several columns, one after the other."""
        columns = [self, *others]
        masks = [column.lower for column in columns if column.lower is not None]
        integers = np.concatenate([column.integers for column in columns])
        lower = np.concatenate(masks) if masks else None
        return ReleasedColumn(self.bundle, integers, self.noise, self.lower_noise, lower)

    def columns(self, growth: int) -> list[WideInts]:
        """Return the integers as one array for each place in a cell, for a formula of this growth (see the module)."""
        fits = growth * max(1, largest(self.integers)) <= _FITS
        integers = self.integers if fits else self.integers.astype(object)
        return [integers[:, place] for place in range(self.width)]

    def around(self, beta: Fraction) -> tuple[WideInts, WideInts]:
        """Return ends that hold the first integer of each cell with probability ≥ 1-β; see `NoiseLaw.around`."""
        (noisy, *_) = self.columns(1)
        if self.lower is None or self.lower_noise is None:
            return self.noise.around_all(noisy, beta)
        parts = ((~self.lower, self.noise), (self.lower, self.lower_noise))
        ends = [(cells, law.around_all(noisy[cells], beta)) for cells, law in parts]
        low, high = (np.empty(len(noisy), dtype=np.result_type(*(pair[side] for _, pair in ends))) for side in (0, 1))
        for cells, pair in ends:
            low[cells], high[cells] = pair
        return low, high


def largest(integers: WideInts) -> int:
    """Return the largest absolute value, or 0 if there are no integers.

    >>> largest(np.array([3, -7])), largest(np.array([], dtype=np.int64))
    (7, 0)
    """
    return max(-int(integers.min()), int(integers.max())) if integers.size else 0


def nearest(above: Whole, below: int) -> Whole:
    """Return ⌊above/below + ½⌋, for below > 0; the growth is 2 + below.

    >>> nearest(7, 2), nearest(-7, 2), nearest(np.array([7, -7]), 2)
    (4, -3, array([ 4, -3]))
    """
    return (2 * above + below) // (2 * below)


def ceiling(above: Whole, below: int) -> Whole:
    """Return ⌈above/below⌉, for below > 0; the growth is 1.

    >>> ceiling(7, 2), ceiling(np.array([7, -7]), 2)
    (4, array([ 4, -3]))
    """
    return -(-above // below)


def as_floats(integers: WideInts) -> Floats:
    """Return integers as the nearest doubles.

    >>> as_floats(np.array([2**53 + 1]))
    array([9.00719925e+15])
    """
    return integers.astype(np.float64)


def quotients(above: WideInts, below: int) -> Floats:
    """Return above/below, rounded to the nearest doubles; see the module.

    >>> quotients(np.array([1, -2]), 3)
    array([ 0.33333333, -0.66666667])
    """
    if above.dtype == np.int64 and below <= _EXACT and largest(above) <= _EXACT:
        return np.asarray(above / below, dtype=np.float64)
    return np.asarray(above.astype(object) / below, dtype=np.float64)


def wide_integers(integers: Sequence[int] | WideInts) -> WideInts:
    """Return integers as an array: of 64 bits if all fit, else of Python's integers.

    >>> wide_integers([1, 2]).dtype, wide_integers([2**70]).dtype
    (dtype('int64'), dtype('O'))
    """
    if isinstance(integers, np.ndarray):
        return integers
    try:
        return np.array(integers, dtype=np.int64)
    except OverflowError:
        return np.array(integers, dtype=object)
