"""δ(ε) of many laws together, with certified bounds.

The total loss of independent mechanisms is the sum of their losses, so its law is a convolution: a product of
Fourier transforms. Plain transforms lose everything below 1e-16 of the total mass. So the law is first tilted:
each mass is multiplied by e^(λx) and divided by M(λ) = Σ mass·e^(λx), which makes the losses around ε likely;
after the transform the tilt is undone, Pr[S = x] = P̃(x)·e^(K(λ) - λx) with K = Σ ln M. Then errors are
relative to what matters. (The tilt is Esscher's; λ solves K(λ) - λK'(λ) = ln δ, so that the tilted mean is
near the ε that belongs to δ.)

**What is added for certainty.** Let u = 2^-53 and n the transform's length.

* *Wrapping.* The transform adds up all masses whose places agree modulo n. The tilted mass T outside the
  window is at most e^(K(λ±s) - K(λ) ∓ s·end) for any s > 0 (Chernoff). From above, what wraps into the window
  only adds, and what is missing above the window is bounded by min over s of e^(K(s) - s·end). From below,
  T·e^(K-λε) is subtracted, the most that wrapped mass can add.
* *Rounding.* A transform of masses summing to 1 errs by at most η = 8u·log₂n in each entry; so does a power k of it by
  kη(|f|+η)^(k-1), and a product accordingly; the inverse transform averages these and adds η times the mean
  modulus. That number is added to (or subtracted from) every mass of the window.
* *Masses.* Each law's masses, its M and the undoing of the tilt are within a few times its slack; a factor
  e^(±4Σslack) covers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, expm1, inf, log, log1p, log2, sqrt

import numpy as np
import numpy.typing as npt

from tacit.guarantees.pld.cells import Cells, Floats

Parts = Sequence[tuple[Cells, int]]

_U = 2.0**-53
_WIDE = 10.0
_LONGEST = 1 << 23
_SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class Sum:
    """The law of a total loss around where a δ is reached: enough to bound δ(ε) there from one side."""

    losses: Floats
    tilted: Floats
    cumulant: float
    tilt: float
    infinite: float
    given_away: float
    error: float
    wrapped: float
    above: float
    factor: float
    whole: bool

    def upper(self, epsilon: float) -> float:
        """Bound δ(ε) from above; below a window that does not hold the whole law nothing is known."""
        if epsilon < self.losses[0] and not self.whole:
            return 1.0
        total = self._integral(epsilon, np.maximum(self.tilted, 0.0) + self.error)
        return min(1.0, total * self.factor + self.above + self.infinite)

    def lower(self, epsilon: float) -> float:
        """Bound δ(ε) from below."""
        total = self._integral(epsilon, np.maximum(self.tilted - self.error, 0.0))
        wrapped = self.wrapped * exp(min(self.cumulant - self.tilt * epsilon, 700.0))
        return max(0.0, total / self.factor - wrapped) + self.given_away

    def _integral(self, epsilon: float, tilted: Floats) -> float:
        at = int(np.searchsorted(self.losses, epsilon, side="right"))
        x = self.losses[at:]
        weight = np.exp(np.minimum(self.cumulant - self.tilt * x, 700.0)) * -np.expm1(epsilon - x)
        return float(np.dot(tilted[at:], weight))


def cumulant(parts: Parts, tilt: float) -> tuple[float, float, float]:
    """Return K, K' and K'' of the finite part of the total at one tilt; the offsets are left out."""
    value = mean = variance = 0.0
    for cells, count in parts:
        x = cells.losses
        top = float(x[-1] if tilt > 0 else x[0])
        weight = cells.mass * np.exp(tilt * (x - top))
        total = float(weight.sum())
        at = float(np.dot(weight, x)) / total
        value += count * (tilt * top + log(total))
        mean += count * at
        variance += count * float(np.dot(weight, (x - at) ** 2)) / total
    return value, mean, variance


def choose_tilt(parts: Parts, delta: float) -> float:
    """Return λ with K(λ) - λK'(λ) ≈ ln δ, but no larger than leaves the tilted law a few steps wide."""
    step, low, high = parts[0][0].step, 0.0, 1.0

    def enough(tilt: float) -> bool:
        value, mean, variance = cumulant(parts, tilt)
        return value - tilt * mean <= log(delta) or variance < (4 * step) ** 2

    while not enough(high) and high < 2.0**40:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low


def total(parts: Parts, delta: float) -> Sum:
    """Convolve laws of one step around the ε that belongs to δ."""
    step, tilt = parts[0][0].step, choose_tilt(parts, delta)
    value, mean, variance = cumulant(parts, tilt)
    spread = max(sqrt(variance), 2 * step)
    first, length, whole = _window(parts, mean, spread)
    spectrum, error = _product(parts, tilt, length)
    ends = first * step, (first + length - 1) * step
    offset = sum(cells.offset * count for cells, count in parts)
    slack = sum(cells.slack * count for cells, count in parts)
    return Sum(
        losses=np.arange(first, first + length, dtype=np.float64) * step + offset,
        tilted=np.roll(np.fft.irfft(spectrum, length), -(first % length)),
        cumulant=value + tilt * offset,
        tilt=tilt,
        infinite=_infinite(parts),
        given_away=-expm1(sum(count * log1p(-min(cells.infinite, 1 - _U)) for cells, count in parts)) * (1 - 2.0**-40),
        error=error,
        wrapped=0.0 if whole else _outside(parts, tilt, value, ends, spread),
        above=0.0 if whole else _above(parts, tilt, ends[1], spread),
        factor=exp(min(4 * slack, 50.0)),
        whole=whole,
    )


def _infinite(parts: Parts) -> float:
    """Bound Pr[S = ∞] from above: 1 - Π(1-pᵢ); or Σpᵢ times how much a dominating law's masses may exceed 1."""
    if all(float(cells.mass.sum()) + cells.infinite <= 1 + 2.0**-40 for cells, _ in parts):
        return -expm1(sum(count * log1p(-min(cells.infinite, 1 - _U)) for cells, count in parts)) * (1 + 2.0**-40)
    growth = sum(count * log(max(1.0, float(cells.mass.sum()))) for cells, count in parts)
    return sum(count * cells.infinite for cells, count in parts) * exp(min(growth, 50.0))


def _window(parts: Parts, mean: float, spread: float) -> tuple[int, int, bool]:
    """Return the first place and the length of the window, and whether it holds the whole law."""
    lowest = sum(cells.start * count for cells, count in parts)
    size = sum((cells.mass.size - 1) * count for cells, count in parts) + 1
    step = parts[0][0].step
    length = min(1 << ceil(log2(2 * _WIDE * spread / step + 2)), _LONGEST)
    if size <= max(length, _SMALL):
        return lowest, 1 << ceil(log2(size + 1)), True
    return round(mean / step) - length // 2, length, False


def _product(parts: Parts, tilt: float, length: int) -> tuple[npt.NDArray[np.complex128], float]:
    """Return the transform of the tilted total, and a bound of what rounding adds to any mass of its inverse."""
    slip = 8 * _U * log2(length)
    logs = np.zeros(length // 2 + 1, dtype=np.complex128)
    moduli, slips = np.zeros(length // 2 + 1), np.zeros(length // 2 + 1)
    for cells, count in parts:
        transform = np.fft.rfft(_tilted(cells, tilt, length))
        size = np.abs(transform) + slip
        with np.errstate(divide="ignore", invalid="ignore"):  # a zero stays a zero below
            logs += count * np.log(transform)
        moduli += count * np.log(size)
        slips += count * slip / size
    largest = np.exp(np.minimum(moduli, 0.0))
    with np.errstate(invalid="ignore", under="ignore"):
        spectrum = np.exp(logs)
    # rfft holds half of the frequencies: the mean over all is at most twice that over these.
    return np.nan_to_num(spectrum), 2 * float(np.mean(largest * (2 * slips + slip)))


def _tilted(cells: Cells, tilt: float, length: int) -> Floats:
    """Return the tilted masses of one law, wrapped modulo the length."""
    x = cells.losses
    weight = cells.mass * np.exp(tilt * (x - float(x[-1])))
    place = (cells.start + np.arange(cells.mass.size)) % length
    return np.bincount(place, weight / weight.sum(), length).astype(np.float64)


def _outside(parts: Parts, tilt: float, value: float, ends: tuple[float, float], spread: float) -> float:
    """Bound the tilted mass outside the window by Chernoff's inequality on both sides."""
    bounds = [inf, inf]
    for by in (4.0, 8.0, 12.0):
        for side, end in enumerate(ends):
            s = by / spread if side else -by / spread
            moved = cumulant(parts, tilt + s)[0] - value - s * end
            bounds[side] = min(bounds[side], moved)
    return exp(min(bounds[0], 0.0)) + exp(min(bounds[1], 0.0))


def _above(parts: Parts, tilt: float, end: float, spread: float) -> float:
    """Bound Pr[end < S < ∞] by Chernoff's inequality."""
    return exp(min(0.0, *(cumulant(parts, s)[0] - s * end for s in (tilt + by / spread for by in (4.0, 8.0, 12.0)))))
