"""δ(ε) of many laws together, with certified bounds.

The total loss of independent mechanisms is the sum of their losses, so its law is a convolution: a product of
Fourier transforms. Plain transforms lose everything below 1e-16 of the total mass. So the law is first tilted:
each mass is multiplied by e^(λx) and divided by M(λ) = Σ mass·e^(λx), which makes the losses around ε likely. After
the transform the tilt is undone: Pr[S = x] = P̃(x)·e^(K(λ) - λx) with K = Σ ln M. Then errors are relative to the
masses that matter. (The tilt is Esscher's; λ solves K(λ) - λK'(λ) = ln δ, so that the tilted mean is
near the ε that belongs to δ.) Many short laws are merged by `merge` before they are transformed.

**Margins for certainty.** Let u = 2^-53 and n the transform's length.

* *Wrapping.* The transform adds up all masses whose indices agree modulo n. The tilted mass T outside the
  window is at most e^(K(λ±s) - K(λ) ∓ s·end) for any s > 0 (Chernoff). From above, mass that wraps into the window
  only adds, and the mass above the window is bounded by min over s of e^(K(s) - s·end). From below,
  T·e^(K-λε), the most that wrapped mass can add, is subtracted.
* *Merging.* If the tilted masses of a merged law err by E in total, this adds at most E·e^(K-λε) above ε.
* *Rounding.* In a transform of masses summing to at most 1, each path from a mass to an entry passes log₂n
  butterflies, and each errs by less than 8u of its sum; so an entry errs by at most η = 8u·log₂n. A
  power k of it errs by kη(|f|+η)^(k-1), and a product accordingly; the inverse transform averages these and
  adds η times the mean modulus. That number is added to (or subtracted from) every mass of the window.
* *Masses.* Each law's masses are within a relative slack; its tilt, its M and the undoing of the tilt round like
  one sum ln mass + λx. A factor e^(±4Σ) of both covers them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, exp, expm1, inf, log, log1p, log2, sqrt

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.guarantees.pld.merge import CountedCells, Short, Stack, merged

_U = 2.0**-53
_WIDE = 10.0
_LONGEST = 1 << 23
_SMALL = 1 << 16
_BYS = (4.0, 8.0, 12.0, 2.0, 1.0, 0.5, 0.25)
"""Further tilts in Chernoff's inequality, in standard deviations; small ones for heavy tails."""
_ENOUGH = -200.0
_FAR = 600.0
_NARROWEST = 32.0
_NEAR = 0.25
"""The largest distance of K(λ) - λK'(λ) from ln δ. Any λ is valid; a good one uses the window well."""


@dataclass(frozen=True, slots=True)
class TotalLoss:
    """The law of a total loss around the ε of a δ: enough to bound δ(ε) there from one side."""

    losses: Floats
    tilted: Floats
    cumulant: float
    tilt: float
    infinite: float
    infinite_below: float
    error: float
    astray: float
    wrapped: float
    above: float
    factor: float
    whole: bool
    centre: float = 0.0
    spread: float = 1.0

    def upper(self, epsilon: float) -> float:
        """Bound δ(ε) from above; below a window that does not hold the whole law, the bound is 1."""
        return float(self.uppers(np.array([epsilon]))[0])

    def lower(self, epsilon: float) -> float:
        """Bound δ(ε) from below."""
        return float(self.lowers(np.array([epsilon]))[0])

    def above_curve(self) -> Callable[[float], float]:
        """Return `upper` as a fast function of ε, a little larger."""
        curve = self._curve(np.maximum(self.tilted, 0.0) + self.error)

        def upper(epsilon: float) -> float:
            if epsilon < self.losses[0] and not self.whole:
                return 1.0
            value, slip = curve(epsilon)
            most = value + slip + self.astray * float(self._most(np.array(epsilon)))
            return min(1.0, most * self.factor + self.above + self.infinite)

        return upper

    def below_curve(self) -> Callable[[float], float]:
        """Return `lower` as a fast function of ε, a little smaller."""
        curve = self._curve(np.maximum(self.tilted - self.error, 0.0))

        def lower(epsilon: float) -> float:
            value, slip = curve(epsilon)
            less = slip + (self.wrapped + self.astray) * float(self._most(np.array(epsilon)))
            return max(0.0, value / self.factor - less) + self.infinite_below

        return lower

    def _curve(self, tilted: Floats) -> Callable[[float], tuple[float, float]]:
        """Return E[(1-e^(ε-L))₊] = A - e^(ε-c)·B and a bound of its rounding, A = Pr[L > ε] and B = E[e^(c-L); L > ε].

        A and B are running sums of n non-negative terms, so each is within a relative (n+4)u.
        """
        mass, c = tilted * self._most(self.losses), self.centre
        with np.errstate(over="ignore", under="ignore"):
            tails = np.cumsum(mass[::-1])[::-1]
            rests = np.cumsum((mass * np.exp(np.clip(c - self.losses, -700.0, 700.0)))[::-1])[::-1]

        def curve(epsilon: float) -> tuple[float, float]:
            first = int(np.searchsorted(self.losses, epsilon, side="right"))
            if first == self.losses.size:
                return 0.0, 0.0
            if self.losses[-1] - self.losses[0] > _FAR:
                return float(np.dot(mass[first:], -np.expm1(epsilon - self.losses[first:]))), 0.0
            tail, rest = float(tails[first]), float(rests[first]) * exp(epsilon - c)
            return max(0.0, tail - rest), (self.losses.size + 8) * 2 * _U * (tail + rest)

        return curve

    def uppers(self, epsilons: Floats) -> Floats:
        """Bound δ from above at many ε, in rising order."""
        total = self._integrals(epsilons, np.maximum(self.tilted, 0.0) + self.error) + self.astray * self._most(
            epsilons
        )
        bound = np.minimum(total * self.factor + self.above + self.infinite, 1.0)
        return bound if self.whole else np.where(epsilons < self.losses[0], 1.0, bound)

    def lowers(self, epsilons: Floats) -> Floats:
        """Bound δ from below at many ε, in rising order."""
        total = self._integrals(epsilons, np.maximum(self.tilted - self.error, 0.0))
        less = (self.wrapped + self.astray) * self._most(epsilons)
        return np.maximum(total / self.factor - less, 0.0) + self.infinite_below

    def _most(self, epsilons: Floats) -> Floats:
        """Return the largest mass above ε that a tilted mass of 1 can be."""
        return np.asarray(np.exp(np.minimum(self.cumulant - self.tilt * epsilons, 700.0)))

    def _integrals(self, epsilons: Floats, tilted: Floats) -> Floats:
        """Return E[(1-e^(ε-L))₊] at many ε, in rising order; the losses between two of them are added up once.

        With c(ε) = E[e^(ε-L); L > ε], the part beyond the next ε' = ε + Δ is δ(ε') + (1-e^(-Δ))·c(ε'). Nothing
        cancels.
        """
        first = int(np.searchsorted(self.losses, epsilons[0], side="right"))
        x = self.losses[first:]
        mass = tilted[first:] * self._most(x)
        at = np.searchsorted(epsilons, x, side="left") - 1  # each loss belongs to the last ε below it
        down = epsilons[at] - x
        gains = np.bincount(at, mass * -np.expm1(down), epsilons.size)
        rests = np.bincount(at, mass * np.exp(down), epsilons.size)
        shrink = np.exp(-np.diff(epsilons, append=epsilons[-1]))
        for i in range(epsilons.size - 2, -1, -1):
            gains[i] += gains[i + 1] + (1 - shrink[i]) * rests[i + 1]
            rests[i] += shrink[i] * rests[i + 1]
        return np.asarray(gains)

    def law(self) -> tuple[Floats, Floats]:
        """Return the finite losses in the window and their masses, for charts. Masses below the errors become 0."""
        noise = self.error + self.astray
        power = np.minimum(self.cumulant - self.tilt * self.losses, 700.0)
        return self.losses, np.where(self.tilted > 10 * noise, self.tilted, 0.0) * np.exp(power)


def _choose_tilt(stack: Stack, delta: float, step: float) -> float:
    """Return λ with K(λ) - λK'(λ) ≈ ln δ, limited so that the tilted law keeps some width.

    If δ is near the probability of the largest loss, λ would go to infinity, and so would the weight of errors.
    """
    low, high, target = 0.0, 1.0, log(delta)
    narrow = max((4 * step) ** 2, stack.cumulant(0.0)[2] / _NARROWEST**2)

    def gap(tilt: float) -> float:
        """Return a number above 0 if λ is too small; it falls in λ, since its derivative is -λK''."""
        value, mean, variance = stack.cumulant(tilt)
        return -inf if variance < narrow else value - tilt * mean - target

    at_low, at_high = -target, gap(high)
    while at_high > _NEAR and high < 2.0**40:
        low, high, at_low, at_high = high, 2 * high, at_high, gap(2 * high)
    for _ in range(60):
        if at_low <= _NEAR or high - low < 1e-3 * high:
            break
        # Between the two the gap is nearly quadratic in λ: a secant in λ², kept off the ends.
        share = at_low / (at_low - at_high) if at_high > -inf else 0.5
        middle = sqrt(low * low + min(max(share, 0.05), 0.95) * (high * high - low * low))
        at_middle = gap(middle)
        low, high, at_low, at_high = (
            (middle, high, at_middle, at_high) if at_middle > 0 else (low, middle, at_low, at_middle)
        )
    return low


def total(parts: CountedCells, delta: float) -> TotalLoss:
    """Convolve laws of one step around the ε that belongs to δ."""
    if any(not cells.mass.any() for cells, _ in parts):
        return _all_infinite()
    step, stack = parts[0][0].step, Stack.of(parts)
    tilt = _choose_tilt(stack, delta, step)
    value, mean, variance = stack.cumulant(tilt)
    spread = max(sqrt(variance), 2 * step)
    first, length, whole = _window(parts, mean, spread)
    short = merged(parts, tilt)
    spectrum, error = _product(short, length)
    ends = first * step, (first + length - 1) * step
    wrapped, above = (0.0, 0.0) if whole else _beyond(stack, tilt, value, ends, spread)
    offset = sum(cells.offset * count for cells, count in parts)
    slack = sum(cells.slack * count for cells, count in parts) + sum(law.slack * law.count for law in short)
    slack += stack.rounding(tilt)
    return TotalLoss(
        losses=np.arange(first, first + length, dtype=np.float64) * step + offset,
        tilted=np.roll(np.fft.irfft(spectrum, length), -(first % length)),
        cumulant=value + tilt * offset,
        tilt=tilt,
        infinite=_infinite(parts),
        infinite_below=-expm1(sum(count * log1p(-min(cells.infinite, 1 - _U)) for cells, count in parts))
        * (1 - 2.0**-40),
        error=error,
        astray=sum(law.error * law.count for law in short),
        wrapped=wrapped,
        above=above,
        factor=exp(min(4 * slack, 50.0)),
        whole=whole,
        centre=mean + offset,
        spread=spread,
    )


def _all_infinite() -> TotalLoss:
    """Return the law of a total that may always be infinite: δ(ε) = 1."""
    empty = np.zeros(1)
    return TotalLoss(empty, empty, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, whole=True)


def _infinite(parts: CountedCells) -> float:
    """Bound Pr[S = ∞] from above: 1 - Π(1-pᵢ). If a dominating law's masses exceed 1, use Σpᵢ times their excess."""
    if all(float(cells.mass.sum()) + cells.infinite <= 1 + 2.0**-40 for cells, _ in parts):
        return -expm1(sum(count * log1p(-min(cells.infinite, 1 - _U)) for cells, count in parts)) * (1 + 2.0**-40)
    growth = sum(count * log(max(1.0, float(cells.mass.sum()))) for cells, count in parts)
    return sum(count * cells.infinite for cells, count in parts) * exp(min(growth, 50.0))


def _window(parts: CountedCells, mean: float, spread: float) -> tuple[int, int, bool]:
    """Return the first index and the length of the window, and whether it holds the whole law."""
    lowest = sum(cells.start * count for cells, count in parts)
    size = sum((cells.mass.size - 1) * count for cells, count in parts) + 1
    step = parts[0][0].step
    length = min(1 << ceil(log2(2 * _WIDE * spread / step + 2)), _LONGEST)
    if size <= max(length, _SMALL):
        return lowest, 1 << ceil(log2(size + 1)), True
    return round(mean / step) - length // 2, length, False


def _product(laws: Sequence[Short], length: int) -> tuple[npt.NDArray[np.complex128], float]:
    """Return the transform of the tilted total, and a bound on the rounding of each mass of its inverse."""
    slip = 8 * _U * log2(length)
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    largest, slips = np.ones(length // 2 + 1), np.zeros(length // 2 + 1)
    for law in laws:
        index = (law.start + np.arange(law.mass.size)) % length
        transform = np.fft.rfft(np.bincount(index, law.mass, length))
        size = np.abs(transform) + slip
        slips += law.count * slip / size
        with np.errstate(under="ignore"):
            spectrum *= transform if law.count == 1 else _power(transform, law.count)
            largest *= np.minimum(size, 1.0) ** law.count
    # rfft holds half of the frequencies: the mean over all is at most twice that over these.
    return spectrum, 2 * float(np.mean(largest * (2 * slips + slip)))


def _power(transform: npt.NDArray[np.complex128], count: int) -> npt.NDArray[np.complex128]:
    """Return f^k by e^(k·ln f): the logarithm's rounding is far below that of f itself; zeros stay zeros."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power: npt.NDArray[np.complex128] = np.exp(count * np.log(transform))
        return np.nan_to_num(power)


def _beyond(stack: Stack, tilt: float, value: float, ends: tuple[float, float], spread: float) -> tuple[float, float]:
    """Bound the tilted mass outside the window, and the plain mass above it, by Chernoff's inequality."""
    below = above = plain = 0.0
    for by in _BYS:
        s = by / spread
        up = stack.cumulant(tilt + s)[0]
        plain, above = min(plain, up - (tilt + s) * ends[1]), min(above, up - value - s * ends[1])
        if below > _ENOUGH:
            below = min(below, stack.cumulant(tilt - s)[0] - value + s * ends[0])
        if max(below, above, plain) < _ENOUGH:
            break
    return exp(below) + exp(above), exp(plain)
