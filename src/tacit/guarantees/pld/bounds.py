"""Certified bounds on ε(δ) and δ(ε) of a composition, to a requested width.

**The step.** The error of the upper bound, about Σk·h²(1+λ)/12 in ε, suggests a step h of the grid. It is made
commensurate with the event that weighs most, so one law composed with itself often has no discretisation error.

**The two sides** have separate steps: from below, many laws that do not share a grid lose up to half a step each. Each
side is refined until the bracket has the requested width, until a finer step no longer helps, or until the transform
has its largest length. The bracket is valid in all three cases. Coarse grids cost almost nothing, so refining starts
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, expm1, floor, inf, isqrt, log, log1p, sqrt
from typing import Protocol, TypeAlias

import numpy as np

from tacit.errors import InternalError
from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    LossEvent,
    PoissonSampled,
    Unsampled,
)
from tacit.guarantees.pld import sampled
from tacit.guarantees.pld.cells import Cells
from tacit.guarantees.pld.convolve import TotalLoss, total
from tacit.guarantees.pld.laws import ATOMS, DEEP
from tacit.guarantees.profile import PrivacyProfile
from tacit.notebook import ShownAsFields

PldComponent: TypeAlias = LossEvent | PrivacyProfile
CountedComponents: TypeAlias = Sequence[tuple[PldComponent, int]]

_LONGEST = 1 << 21
_LEAST_SPREAD, _LARGEST_SIZE = 1e-9, 1e4
_FEW = 8
_FINEST = float(1 << 14)
_LARGEST_EPSILON = 1e4
_FAINTEST = 1e-300
_LEAST_DELTA = 1e-290
_HELPS = 0.25
_COARSE = 64
_COARSEST = 16
_TARGETS = (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


@dataclass(frozen=True, slots=True)
class Bounds(ShownAsFields):
    """Two numbers that enclose the truth.

    >>> Bounds(lower=1.0, upper=1.5)
    Bounds(lower=1.0, upper=1.5)
    """

    lower: float
    upper: float


class _GridLaw(Protocol):
    """A function that puts an event's law on a grid: from above or from below, in one direction."""

    def __call__(self, event: PldComponent, step: float, *, adding: bool, coarse: int) -> Cells:
        """Return the law."""


@dataclass(frozen=True, slots=True)
class LossSizes:
    """The sizes of the losses in a composition, from which the step of the grid is chosen."""

    main: PldComponent
    main_size: float
    spread: float
    furthest: float
    uses: int
    uneven: bool

    @classmethod
    def of(cls, parts: CountedComponents) -> LossSizes:
        """Collect the sizes of all events."""
        try:
            sizes = [_size(event) for event, _ in parts]
            weights = [count * x * x for (_, count), x in zip(parts, sizes, strict=True)]
        except OverflowError:
            return cls(parts[0][0], inf, inf, inf, 1, uneven=False)
        at = max(range(len(parts)), key=weights.__getitem__)
        far = max(_furthest(event, x) for (event, _), x in zip(parts, sizes, strict=True))
        uses = sum(count for _, count in parts)
        return cls(parts[at][0], sizes[at], sqrt(sum(weights)), far, uses, len(set(sizes)) > _FEW)

    @property
    def in_range(self) -> bool:
        """True if floats on a grid can hold losses of these sizes."""
        return self.furthest == 0 or (self.spread >= _LEAST_SPREAD and self.furthest <= _LARGEST_SIZE)

    def step(self, delta: float, width: float, finer: float) -> float:
        """Return the step that the error law suggests for a relative width at δ, divided by `finer`."""
        spread = max(self.spread, _LEAST_SPREAD)
        epsilon = spread * spread / 2 + spread * sqrt(2 * log(1 / delta) + 1)
        step = sqrt(3 * width * epsilon / (self.uses * (1 + epsilon / spread**2))) / finer
        step = min(step, max(self.main_size, spread / 16) / 4 / max(finer, 1.0), spread / 64 / max(finer, 1.0))
        least = max(20 * spread, self.furthest) / _LONGEST
        return _commensurate(self.main, max(step, least), least)


def _size(event: PldComponent) -> float:
    """Return the approximate size of the event's privacy loss: its ε, or μ for Gaussian noise."""
    match event:
        case GaussianNoise(sigma=s, l2=d):
            return float(d / s)
        case DiscreteGaussianNoise(variance=v, l2_squared=d):
            return sqrt(d / float(v))
        case DiscreteLaplaceNoise(scale=s, l1=d) | LaplaceNoise(scale=s, l1=d):
            return float(d / s)
        case PoissonSampled(rate=rate, of=of):
            return _sampled_size(float(rate), of)
        case PrivacyProfile(points=points):
            return points[-1][0] / 4
        case _:
            return float(event.epsilon)


def _sampled_size(rate: float, event: Unsampled) -> float:
    """Return about ln(1+γ(e^ε-1)), or γ√(e^(μ²)-1) for Gaussian noise, but at most the size without sampling."""
    whole = _size(event)
    gaussian = isinstance(event, (GaussianNoise, DiscreteGaussianNoise))
    growth = sqrt(expm1(min(whole * whole, 600.0))) if gaussian else expm1(min(whole, 600.0))
    return min(whole, log1p(rate * growth))


def _furthest(event: PldComponent, its_size: float) -> float:
    """Return about the largest loss for which an array has an entry."""
    if isinstance(event, PoissonSampled):
        one_sided = -log1p(-float(event.rate)) if isinstance(event.of, ApproxRelease) and float(event.rate) < 1 else 0.0
        return max(_furthest(event.of, _size(event.of)), one_sided)
    if isinstance(event, PrivacyProfile):
        return event.points[-1][0]
    wide = isinstance(event, (GaussianNoise, DiscreteGaussianNoise))
    return its_size * (DEEP + its_size if wide else 1.0)


def _commensurate(event: PldComponent, step: float, least: float) -> float:
    """Return a step close to `step` and at least `least` whose multiples are, nearly, the event's losses."""
    match event:
        case DiscreteGaussianNoise(variance=v, l2_squared=d) if v <= ATOMS:
            unit = isqrt(d) / (2 * float(v))
            if unit > step and unit / ceil(unit / step) < least:
                return step
        case DiscreteLaplaceNoise(scale=s) if float(1 / s) < step:
            return max(1, floor(float(s) * step)) / float(s)
        case DiscreteLaplaceNoise(scale=s):
            unit = float(1 / s)
        case GaussianNoise() | DiscreteGaussianNoise() | PoissonSampled() | PrivacyProfile():
            return step
        case _:
            unit = _size(event)
    if unit > step:
        return unit / ceil(unit / step)
    return unit * floor(step / unit) if unit > _LEAST_SPREAD * step else step


def epsilon_bounds(parts: CountedComponents, delta: float, width: float) -> Bounds:
    """Bracket the least ε with δ(ε) ≤ δ, to a relative width if possible; out of range, the bounds are trivial."""
    sizes = LossSizes.of(parts)
    if delta < _LEAST_DELTA or not sizes.in_range:
        return Bounds(0.0, inf)
    near = 1e-6 * width
    return _refine(
        parts,
        (delta, width),
        sizes,
        lambda up: _epsilon_above(up, delta, near),
        lambda low: _epsilon_below(low, delta, near),
    )


def delta_bounds(parts: CountedComponents, epsilon: float, width: float) -> Bounds:
    """Bracket δ(ε), to a relative width if possible; out of range, the bounds are trivial."""
    sizes = LossSizes.of(parts)
    if not sizes.in_range:
        return Bounds(0.0, 1.0)
    reads = (lambda up: up.upper(epsilon)), (lambda low: low.lower(epsilon))
    rough = _refine(parts, (1e-6, 1.0), sizes, *reads)
    return rough if rough.upper <= 0 else _refine(parts, (max(min(rough.upper, 0.5), 1e-290), width), sizes, *reads)


def delta_curve(parts: CountedComponents, epsilons: Sequence[float]) -> list[Bounds]:
    """Bracket δ at many ε, in rising order: the best bounds of a few compositions, each tuned to another δ."""
    sizes = LossSizes.of(parts)
    if not sizes.in_range:
        return [Bounds(0.0, 1.0)] * len(epsilons)
    at = np.sort(np.array(epsilons, dtype=np.float64))
    lower, upper = np.zeros(at.size), np.ones(at.size)
    for delta in _TARGETS:
        step = sizes.step(delta, 1e-3, 4)
        ups = [_total(parts, sampled.upper, step, delta, way).uppers(at) for way in _ways(parts)]
        lows = [_total(parts, sampled.lower, step, delta, way).lowers(at) for way in _ways(parts)]
        upper, lower = np.minimum(upper, np.max(ups, axis=0)), np.maximum(lower, np.max(lows, axis=0))
    return [Bounds(min(low, high), high) for low, high in zip(lower.tolist(), upper.tolist(), strict=True)]


def _total(parts: CountedComponents, law: _GridLaw, step: float, delta: float, adding: bool) -> TotalLoss:  # noqa: FBT001 - of two ways
    uses = sum(count for _, count in parts)
    coarse = max(1, min(_COARSEST, isqrt(uses // 8)))  # k uses err by k·h², so one of them may have cells of √k·h
    return total([(law(event, step, adding=adding, coarse=coarse if n == 1 else 1), n) for event, n in parts], delta)


def _ways(parts: CountedComponents) -> tuple[bool, ...]:
    """Return the directions to compose: removal and addition differ only for samples."""
    return (False, True) if any(isinstance(event, PoissonSampled) for event, _ in parts) else (False,)


def total_law(parts: CountedComponents, delta: float) -> tuple[list[float], list[float], float]:
    """Return the losses and masses of the total, from above, and the mass at infinity. The tail is that of δ."""
    step = LossSizes.of(parts).step(delta, 1e-2, 1)
    each_way = [_total(parts, sampled.upper, step, delta, way) for way in _ways(parts)]
    worst = max(range(len(each_way)), key=lambda way: _epsilon_above(each_way[way], delta, 1e-6))
    tail, bulk = each_way[worst], _total(parts, sampled.upper, step, 1.0, bool(worst))  # at δ = 1 nothing is tilted
    masses: dict[int, float] = {}
    for law, least in ((bulk, -inf), (tail, tail.centre - 3 * tail.spread)):
        for x, mass in zip(*(column.tolist() for column in law.law()), strict=True):
            if x > least:
                masses[round(x / step)] = max(mass, masses.get(round(x / step), 0.0))
    indices = sorted(index for index, mass in masses.items() if mass > 0)
    return [index * step for index in indices], [masses[index] for index in indices], tail.infinite


def _refine(
    parts: CountedComponents,
    goal: tuple[float, float],
    sizes: LossSizes,
    above: Callable[[TotalLoss], float],
    below: Callable[[TotalLoss], float],
) -> Bounds:
    """Refine the two sides in turn, each until its change is below its share of the width."""
    upper = _Side(parts, goal, sizes, sampled.upper, above, finer=2.0 if sizes.uneven else 1 / 16)
    lower = _Side(parts, goal, sizes, sampled.lower, below, finer=16.0 if sizes.uneven else 1 / 16)
    width = goal[1]
    while (apart := upper.best - lower.best) > width * upper.best and not (upper.done and lower.done):
        # The side that moved more when last refined is the one that is further off.
        side = lower if upper.done or (not lower.done and lower.moved >= upper.moved) else upper
        side.refine(apart)
    return _uncrossed(lower.best, upper.best)


def _uncrossed(lower: float, upper: float) -> Bounds:
    """Return the bracket; raise InternalError if its ends cross by more than rounding."""
    if lower > upper * (1 + 1e-9) + 1e-290:
        raise InternalError("The two bounds of a privacy loss cross.")
    return Bounds(min(lower, upper), upper)


class _Side:
    """One end of a bracket as its step shrinks."""

    def __init__(
        self,
        parts: CountedComponents,
        goal: tuple[float, float],
        sizes: LossSizes,
        law: _GridLaw,
        read: Callable[[TotalLoss], float],
        finer: float,
    ) -> None:
        self._parts, self._goal, self._sizes, self._law, self._read = parts, goal, sizes, law, read
        self._finer, self._from_above, self._ways, self._step = finer, law is sampled.upper, _ways(parts), inf
        self.done, self.moved, self._idle = False, inf, 0
        self.best = self._last = self._bound()

    def _bound(self) -> float:
        self._step = self._sizes.step(*self._goal, self._finer)
        return max(self._one_way(adding=adding) for adding in self._ways)

    def _one_way(self, *, adding: bool) -> float:
        loss = _total(self._parts, self._law, self._step, self._goal[0], adding)
        self.done = self.done or self._finer >= _FINEST or loss.losses.size >= _LONGEST
        return self._read(loss)

    def refine(self, apart: float) -> None:
        """Divide the step by 4; stop for good if that moves the bound by little twice in a row."""
        self._finer *= 4
        while self._sizes.step(*self._goal, self._finer) >= self._step and self._finer < _FINEST:
            self._finer *= 4  # the bounds on the step hide the first refinements
        before, self._last = self._last, self._bound()
        self.best = min(self.best, self._last) if self._from_above else max(self.best, self._last)
        self.moved = abs(self._last - before) if max(before, self._last) < inf else inf
        still = self.moved <= _HELPS * min(apart, self._goal[1] * self.best) if self.best < inf else self.moved == 0
        self._idle = self._idle + 1 if still else 0
        self.done = self.done or (self._idle > 1 and self._finer >= _COARSE)


def _epsilon_above(law: TotalLoss, delta: float, near: float) -> float:
    """Return an ε at which δ(ε) ≤ δ: the least by the law from above, or a little more."""
    curve = law.above_curve()
    if curve(0.0) <= delta:
        return 0.0
    low, high, stride = 0.0, max(law.centre, law.spread), law.spread
    while curve(high) > delta:
        low, high, stride = high, high + stride, 2 * stride
        if high > _LARGEST_EPSILON * 2**40:
            return inf
    return _crossing(curve, delta, (low, high), near)[1]


def _epsilon_below(law: TotalLoss, delta: float, near: float) -> float:
    """Return an ε with δ(ε) > δ, or 0.

    The search starts at the centre, since far below its window the law is uncertain.
    """
    if law.infinite_below > delta:
        return inf
    curve = law.below_curve()
    low, stride = law.centre, law.spread / 4
    high = low
    while curve(low) <= delta:
        if low <= 0:
            return 0.0
        low, high, stride = max(0.0, low - stride), low, 1.5 * stride
    while curve(high) > delta:
        low, high, stride = high, high + stride, 1.5 * stride
        if high > _LARGEST_EPSILON * 2**40:
            return low
    return _crossing(curve, delta, (low, high), near)[0]


def _crossing(
    curve: Callable[[float], float], delta: float, ends: tuple[float, float], near: float
) -> tuple[float, float]:
    """Narrow two ε with curve > δ at the first and ≤ δ at the second.

    ln δ(ε) is nearly straight, so most turns use the secant's point, moved a little toward the far end.
    """
    low, high = ends
    at_low, at_high = (log(max(curve(x), _FAINTEST) / delta) for x in (low, high))
    for turn in range(100):
        if high - low <= near * high:
            break
        share = at_low / (at_low - at_high) if turn % 4 < 3 and at_high < at_low < inf else 0.5  # noqa: PLR2004 - every fourth turn halves
        share += (0.3 if turn % 2 else -0.3) * near * high / (high - low)
        middle = low + min(max(share, 1e-3), 1 - 1e-3) * (high - low)
        at = log(max(curve(middle), _FAINTEST) / delta)
        low, high, at_low, at_high = (middle, high, at, at_high) if at > 0 else (low, middle, at_low, at)
    return low, high
