"""Many laws side by side: their cumulants at once, and short ones merged before any transform.

A direct convolution of non-negative masses adds products without cancellation, so every sum is within a
relative (terms + 1)·2^-53: that is the `slack` of a merged law. Longer laws are convolved by transforms, whose
rounding is bounded as in `convolve`; the bound times the number of masses is the law's `error`, a bound of the sum
of all masses' errors. Masses sum to at most 1, so errors of that kind add up when laws are convolved. Masses
that are cut off at the ends of a tilted law, or that underflow, count as error too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.guarantees.pld.cells import Cells

CountedCells = Sequence[tuple[Cells, int]]
"""Laws on one grid, each with the number of its uses."""

_U = 2.0**-53
_FAINT = 2.0**-84
_UNDERFLOW = 1e-290
_LONGEST = 2048
_DIRECT, _SPARSE, _AT_ONCE = 128, 1024, 64


@dataclass(frozen=True, slots=True)
class Stack:
    """The laws one after another in flat arrays, without empty cells; law i starts at starts[i]."""

    losses: Floats
    logs: Floats
    starts: Ints
    sizes: Ints
    counts: Floats

    @classmethod
    def of(cls, parts: CountedCells) -> Stack:
        """Put laws side by side."""
        filled = [cells.mass > 0 for cells, _ in parts]
        sizes = np.array([int(where.sum()) for where in filled])
        mass = np.concatenate([cells.mass[where] for (cells, _), where in zip(parts, filled, strict=True)])
        return cls(
            np.concatenate([cells.losses[where] for (cells, _), where in zip(parts, filled, strict=True)]),
            np.log(mass),
            np.cumsum(sizes) - sizes,
            sizes,
            np.array([float(count) for _, count in parts]),
        )

    def cumulant(self, tilt: float) -> tuple[float, float, float]:
        """Return K, K' and K'' of the finite part of the total at one tilt; without the offsets."""
        power = self.logs + tilt * self.losses
        top = np.maximum.reduceat(power, self.starts)
        with np.errstate(under="ignore"):
            weight = np.exp(power - np.repeat(top, self.sizes))
        total = np.add.reduceat(weight, self.starts)
        mean = np.add.reduceat(weight * self.losses, self.starts) / total
        away = (self.losses - np.repeat(mean, self.sizes)) ** 2
        variance = np.add.reduceat(weight * away, self.starts) / total
        return (
            float(np.dot(self.counts, top + np.log(total))),
            float(np.dot(self.counts, mean)),
            float(np.dot(self.counts, variance)),
        )

    def rounding(self, tilt: float) -> float:
        """Bound the relative rounding of all tilted masses together: each comes from one sum of two numbers."""
        size = np.maximum.reduceat(np.abs(self.logs) + abs(tilt) * np.abs(self.losses), self.starts)
        return 2 * _U * float(np.dot(self.counts, size + 4))


@dataclass(frozen=True, slots=True)
class Short:
    """A tilted law without its faint ends, used `count` times.

    Each mass is within a relative `slack` of the truth, except for differences that sum to at most `error`.
    """

    start: int
    mass: Floats
    count: int
    slack: float = 0.0
    error: float = 0.0

    filled: int = 0


def merged(parts: CountedCells, tilt: float) -> list[Short]:
    """Return tilted laws whose convolution is the total's: those used once become one."""
    laws = [_powered(_cut(_tilted(cells, tilt, count), _FAINT / count)) for cells, count in parts]
    single = [law for law in laws if law.count == 1]
    while len(single) > 1:
        single = _halved(sorted(single, key=lambda law: (law.filled, law.mass.size)))
    return [law for law in laws if law.count > 1] + single


def _halved(laws: list[Short]) -> list[Short]:
    """Merge neighbours in pairs; those that need transforms of one length, all at once."""
    pairs = list(zip(laws[::2], laws[1::2], strict=False))
    done = laws[len(pairs) * 2 :]
    waiting: dict[int, list[tuple[Short, Short]]] = {}
    for left, right in pairs:
        if left.filled * right.filled <= _SPARSE or min(left.mass.size, right.mass.size) <= _DIRECT:
            done.append(_convolved(left, right))
        else:
            length = 1 << (left.mass.size + right.mass.size - 2).bit_length()
            waiting.setdefault(length, []).append((left, right))
    for length, group in waiting.items():
        for first in range(0, len(group), _AT_ONCE):
            done += _transformed(group[first : first + _AT_ONCE], length)
    return done


def _tilted(cells: Cells, tilt: float, count: int) -> Short:
    with np.errstate(under="ignore", divide="ignore"):
        power = np.log(cells.mass) + tilt * cells.losses
        weight = np.exp(power - power.max())
    return Short(cells.start, weight / weight.sum(), count, filled=int(np.count_nonzero(cells.mass)))


def _cut(law: Short, faint: float) -> Short:
    """Cut off both ends, each of at most `faint`."""
    if law.mass[0] > faint and law.mass[-1] > faint:
        return law
    first = int(np.searchsorted(np.cumsum(law.mass), faint))
    last = law.mass.size - int(np.searchsorted(np.cumsum(law.mass[::-1]), faint))
    if first >= last:
        return law
    error = law.error + 2 * faint + _UNDERFLOW
    return Short(law.start + first, law.mass[first:last], law.count, law.slack, error, min(law.filled, last - first))


def _convolved(left: Short, right: Short) -> Short:
    """Merge two laws directly: laws on few points by all sums of their indices, others term by term."""
    few, sparse = min(left.mass.size, right.mass.size), left.filled * right.filled <= _SPARSE
    with np.errstate(under="ignore"):
        mass = _scattered(left.mass, right.mass) if sparse else np.convolve(left.mass, right.mass)
    filled = min(left.filled * right.filled, mass.size)
    slack, error = left.slack + right.slack + (few + 2) * _U, left.error + right.error + _UNDERFLOW
    return _cut(Short(left.start + right.start, mass, 1, slack, error, filled), _FAINT)


def _scattered(left: Floats, right: Floats) -> Floats:
    """Return the convolution of two laws on few points: all sums of their indices."""
    i, j = np.flatnonzero(left), np.flatnonzero(right)
    with np.errstate(under="ignore"):
        products = np.outer(left[i], right[j]).ravel()
    return np.bincount(np.add.outer(i, j).ravel(), products, left.size + right.size - 1).astype(np.float64)


def _transformed(pairs: list[tuple[Short, Short]], length: int) -> list[Short]:
    """Merge pairs of laws by transforms of one length, each with a bound of the sum of its errors."""
    eta = 8 * _U * log2(length)
    first, second = (np.fft.rfft(_stacked([pair[i].mass for pair in pairs], length)) for i in (0, 1))
    product = first * second
    slips = eta * (np.abs(first) + np.abs(second) + eta) + (eta + 4 * _U) * np.abs(product)
    masses, slip = np.maximum(np.fft.irfft(product, length), 0.0), 2 * np.mean(slips, axis=1)
    merged_laws = []
    for (left, right), mass, each in zip(pairs, masses, slip.tolist(), strict=True):
        size = left.mass.size + right.mass.size - 1
        slack, error = left.slack + right.slack, left.error + right.error + size * each
        law = Short(left.start + right.start, mass[:size], 1, slack, error, size)
        merged_laws.append(_cut(law, size * each))
    return merged_laws


def _stacked(masses: list[Floats], length: int) -> Floats:
    rows = np.zeros((len(masses), length))
    for row, mass in zip(rows, masses, strict=True):
        row[: mass.size] = mass
    return rows


def _powered(law: Short) -> Short:
    """Return a short law convolved with itself `count` times, by squaring; a long law is returned unchanged."""
    if law.count == 1 or (law.mass.size - 1) * law.count > _LONGEST:
        return law
    power, left = Short(law.start, law.mass, 1, law.slack, law.error, law.filled), law.count
    result: Short | None = None
    while left:
        if left & 1:
            result = power if result is None else _convolved(result, power)
        left >>= 1
        power = _convolved(power, power) if left else power
    return result or power
