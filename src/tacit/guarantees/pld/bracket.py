"""ε(δ) and δ(ε) of a composition, bracketed to a width that is asked for.

The step is chosen by the error law of the upper bound, about Σk·h²(1+λ)/12 in ε, and made commensurate with
the event that weighs most, so that one law composed with itself often has no discretisation error at all. From
below, many laws that do not share a grid lose up to half a step each; so the two sides have steps of their own.
Each is refined until the bracket is as narrow as asked, until a finer step no longer helps, or until the transform
is as long as it may be; the bracket is returned either way, and is valid either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, expm1, floor, inf, isqrt, log, log1p, sqrt
from typing import Protocol, TypeAlias

import numpy as np

from tacit.guarantees.events import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    Unsampled,
)
from tacit.guarantees.pld import laws, sampled
from tacit.guarantees.pld.cells import Cells
from tacit.guarantees.pld.convolve import Sum, total
from tacit.guarantees.profile import PrivacyProfile

Lawful: TypeAlias = Event | PrivacyProfile
Counted: TypeAlias = Sequence[tuple[Lawful, int]]


class Law(Protocol):
    """How an event's law is put on a grid: from above or from below, in one direction."""

    def __call__(self, event: Lawful, step: float, *, adding: bool) -> Cells:
        """Return the law."""


_LONGEST, _FINEST = 1 << 21, 1 << 14
_LARGEST_EPSILON = 1e4
_ATOMS = 4096**2
_FAINTEST = 1e-300
_LEAST_SPREAD = 1e-9
_LARGEST_SIZE = 1e4
_LEAST_DELTA = 1e-290
_HELPS = 0.02
_FEW = 8
_TARGETS = (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
_COARSE = 16


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two numbers that enclose the truth.

    >>> Bounds(lower=1.0, upper=1.5)
    Bounds(lower=1.0, upper=1.5)
    """

    lower: float
    upper: float


def size(event: Lawful) -> float:
    """Return about how large the event's privacy loss is: its ε, or μ for Gaussian noise."""
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
    """Return about ln(1+γ(e^ε-1)), or for Gaussian noise the standard deviation γ√(e^(μ²)-1); at most the whole."""
    whole = size(event)
    gaussian = isinstance(event, (GaussianNoise, DiscreteGaussianNoise))
    growth = sqrt(expm1(min(whole * whole, 600.0))) if gaussian else expm1(min(whole, 600.0))
    return min(whole, log1p(rate * growth))


def furthest(event: Lawful) -> float:
    """Return about the largest loss for which an array has a place."""
    if isinstance(event, PoissonSampled):
        return furthest(event.of)
    if isinstance(event, PrivacyProfile):
        return event.points[-1][0]
    wide = isinstance(event, (GaussianNoise, DiscreteGaussianNoise))
    return size(event) * (laws.DEEP + size(event) if wide else 1.0)


def commensurate(event: Lawful, wanted: float, least: float) -> float:
    """Return a step of about the wanted size, and not below the least, on which the event's losses lie, or nearly."""
    match event:
        case DiscreteGaussianNoise(variance=v, l2_squared=d) if v <= _ATOMS:
            unit = isqrt(d) / (2 * float(v))
            wanted = unit if unit >= least else wanted
        case DiscreteLaplaceNoise(scale=s) if float(1 / s) < wanted:
            return max(1, floor(float(s) * wanted)) / float(s)
        case DiscreteLaplaceNoise(scale=s):
            unit = float(1 / s)
        case GaussianNoise() | DiscreteGaussianNoise() | PoissonSampled() | PrivacyProfile():
            return wanted
        case _:
            unit = size(event)
    if unit > wanted:
        return unit / ceil(unit / wanted)
    return unit * floor(wanted / unit) if unit > _LEAST_SPREAD * wanted else wanted


def first_step(parts: Counted, delta: float, width: float, finer: int) -> float:
    """Return the step that the error law suggests, divided by `finer`, commensurate with the event that weighs most."""
    spread = max(sqrt(sum(count * size(event) ** 2 for event, count in parts)), _LEAST_SPREAD)
    epsilon = spread * spread / 2 + spread * sqrt(2 * log(1 / delta) + 1)
    tilt = epsilon / spread**2
    wanted = sqrt(3 * width * epsilon / (sum(count for _, count in parts) * (1 + tilt)))
    main = max(parts, key=lambda part: part[1] * size(part[0]) ** 2)[0]
    least = max(20 * spread, *(furthest(event) for event, _ in parts)) / _LONGEST
    return commensurate(main, max(min(wanted, max(size(main), spread / 16) / 4, spread / 64) / finer, least), least)


def epsilon_bounds(parts: Counted, delta: float, width: float) -> Bounds:
    """Bracket the least ε with δ(ε) ≤ δ, to a relative width if possible; out of range, nothing is known."""
    if delta < _LEAST_DELTA or not _in_range(parts):
        return Bounds(0.0, inf)
    return _refine(parts, delta, width, lambda up: _epsilon_above(up, delta), lambda low: _epsilon_below(low, delta))


def delta_bounds(parts: Counted, epsilon: float, width: float) -> Bounds:
    """Bracket δ(ε), to a relative width if possible; out of range, nothing is known."""
    if not _in_range(parts):
        return Bounds(0.0, 1.0)
    reads = (lambda up: up.upper(epsilon)), (lambda low: low.lower(epsilon))
    rough = _refine(parts, 1e-6, 1.0, *reads)
    return rough if rough.upper <= 0 else _refine(parts, max(min(rough.upper, 0.5), 1e-290), width, *reads)


def delta_curve(parts: Counted, epsilons: Sequence[float]) -> list[Bounds]:
    """Bracket δ at many ε, in rising order: the best bounds of a few compositions, each tuned to another δ."""
    if not _in_range(parts):
        return [Bounds(0.0, 1.0)] * len(epsilons)
    at = np.sort(np.array(epsilons, dtype=np.float64))
    lower, upper = np.zeros(at.size), np.ones(at.size)
    for delta in _TARGETS:
        step = first_step(parts, delta, 1e-3, 4)
        ups = [_one(parts, sampled.upper, step, delta, way).uppers(at) for way in _ways(parts)]
        lows = [_one(parts, sampled.lower, step, delta, way).lowers(at) for way in _ways(parts)]
        upper, lower = np.minimum(upper, np.max(ups, axis=0)), np.maximum(lower, np.max(lows, axis=0))
    return [Bounds(min(low, high), high) for low, high in zip(lower.tolist(), upper.tolist(), strict=True)]


def _one(parts: Counted, law: Law, step: float, delta: float, adding: bool) -> Sum:  # noqa: FBT001 - of two ways
    return total([(law(event, step, adding=adding), count) for event, count in parts], delta)


def _ways(parts: Counted) -> tuple[bool, ...]:
    """Return the directions to compose: only a sample tells removal from addition."""
    return (False, True) if any(isinstance(event, PoissonSampled) for event, _ in parts) else (False,)


def total_law(parts: Counted, delta: float) -> tuple[list[float], list[float], float]:
    """Return the losses and masses of the total, from above, and the mass at infinity: the bulk and the tail of δ."""
    step = first_step(parts, delta, 1e-2, 1)
    each_way = [_one(parts, sampled.upper, step, delta, way) for way in _ways(parts)]
    worst = max(range(len(each_way)), key=lambda way: _epsilon_above(each_way[way], delta))
    tail, bulk = each_way[worst], _one(parts, sampled.upper, step, 0.5, bool(worst))
    masses: dict[int, float] = {}
    for law in (bulk, tail):
        for x, mass in zip(*(column.tolist() for column in law.law()), strict=True):
            masses[round(x / step)] = max(mass, masses.get(round(x / step), 0.0))
    kept = sorted(place for place, mass in masses.items() if mass > 0)
    return [place * step for place in kept], [masses[place] for place in kept], tail.infinite


def _in_range(parts: Counted) -> bool:
    """Whether the losses are of sizes that floats on a grid can hold."""
    try:
        spread = sqrt(sum(count * size(event) ** 2 for event, count in parts))
        return spread == 0 or (spread >= _LEAST_SPREAD and max(size(event) for event, _ in parts) <= _LARGEST_SIZE)
    except OverflowError:
        return False


def _refine(
    parts: Counted, delta: float, width: float, above: Callable[[Sum], float], below: Callable[[Sum], float]
) -> Bounds:
    """Refine the two sides in turn, each until its own change is below its share of the width."""
    uneven = len({size(event) for event, _ in parts}) > _FEW
    upper = _Side(parts, delta, width, sampled.upper, above, finer=2 if uneven else 1)
    lower = _Side(parts, delta, width, sampled.lower, below, finer=16 if uneven else 1)
    while (apart := upper.best - lower.best) > width * upper.best and not (upper.done and lower.done):
        # The side that moved more when last refined is the one that is further off.
        side = lower if upper.done or (not lower.done and lower.moved >= upper.moved) else upper
        side.refine(apart)
    return Bounds(lower.best, upper.best)


class _Side:
    """One end of a bracket as its step shrinks."""

    def __init__(
        self,
        parts: Counted,
        delta: float,
        width: float,
        law: Law,
        read: Callable[[Sum], float],
        finer: int,
    ) -> None:
        self._parts, self._delta, self._width, self._law, self._read = parts, delta, width, law, read
        self._finer, self._from_above = finer, law is sampled.upper
        self._ways = _ways(parts)
        self.done, self.moved, self._idle = False, inf, 0
        self.best = self._bound()

    def _bound(self) -> float:
        step = first_step(self._parts, self._delta, self._width, self._finer)
        return max(self._one_way(step, adding=adding) for adding in self._ways)

    def _one_way(self, step: float, *, adding: bool) -> float:
        found = _one(self._parts, self._law, step, self._delta, adding)
        self.done = self.done or self._finer >= _FINEST or found.losses.size >= _LONGEST
        return self._read(found)

    def refine(self, apart: float) -> None:
        """Divide the step by 4; stop for good if that moves the bound by little (early on, twice running)."""
        self._finer *= 4
        before, found = self.best, self._bound()
        self.best = min(before, found) if self._from_above else max(before, found)
        self.moved = abs(self.best - before) if before < inf else inf
        self._idle = self._idle + 1 if self.moved < _HELPS * apart else 0
        self.done = self.done or self._idle > (1 if self._finer <= _COARSE else 0)


def _epsilon_above(law: Sum, delta: float) -> float:
    """Return an ε at which δ(ε) ≤ δ: the least that the law from above shows."""
    if law.upper(0.0) <= delta:
        return 0.0
    low, high, stride = 0.0, max(law.centre, law.spread), law.spread
    while law.upper(high) > delta:
        low, high, stride = high, high + stride, 2 * stride
        if high > _LARGEST_EPSILON * 2**40:
            return inf
    return _crossing(law.upper, delta, low, high)[1]


def _epsilon_below(law: Sum, delta: float) -> float:
    """Return an ε with δ(ε) > δ, or 0; sought downwards, since far below its window the law knows little."""
    low, stride = law.centre + 2 * law.spread, law.spread / 4
    high = low
    while law.lower(low) <= delta:
        if low <= 0:
            return 0.0
        low, high, stride = max(0.0, low - stride), low, 1.5 * stride
    return low if law.lower(high) > delta else _crossing(law.lower, delta, low, high)[0]


def _crossing(curve: Callable[[float], float], delta: float, low: float, high: float) -> tuple[float, float]:
    """Return two near ε with curve > δ at the first and ≤ δ at the second, given two such.

    ln δ(ε) is nearly straight, so most turns take the secant's point.
    """
    at_low, at_high = (log(max(curve(x), _FAINTEST) / delta) for x in (low, high))
    for turn in range(80):
        if high - low <= 1e-13 * high:
            break
        share = at_low / (at_low - at_high) if turn % 3 < 2 and at_high < at_low < inf else 0.5  # noqa: PLR2004
        middle = low + min(max(share, 1e-3), 1 - 1e-3) * (high - low)
        at = log(max(curve(middle), _FAINTEST) / delta)
        low, high, at_low, at_high = (middle, high, at, at_high) if at > 0 else (low, middle, at_low, at)
    return low, high
