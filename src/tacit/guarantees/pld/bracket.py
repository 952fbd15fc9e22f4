"""ε(δ) and δ(ε) of a composition, bracketed to a width that is asked for.

The two sides have steps of their own: from below, many laws that do not share a grid lose up to half a step
each. Each side is refined until the bracket is as narrow as asked, until a finer step no longer helps, or
until the transform is as long as it may be; the bracket is returned either way, and is valid either way.
Coarse grids cost next to nothing, so refining begins there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isqrt, log
from typing import Protocol

import numpy as np

from tacit.errors import TacitError
from tacit.guarantees.events import PoissonSampled
from tacit.guarantees.pld import sampled
from tacit.guarantees.pld.cells import Cells
from tacit.guarantees.pld.convolve import Sum, total
from tacit.guarantees.pld.steps import LONGEST, Counted, Lawful, Steps

_FINEST = float(1 << 14)
_LARGEST_EPSILON = 1e4
_FAINTEST = 1e-300
_LEAST_DELTA = 1e-290
_HELPS = 0.25
_COARSE = 64
_COARSEST = 16
_TARGETS = (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


class Law(Protocol):
    """How an event's law is put on a grid: from above or from below, in one direction."""

    def __call__(self, event: Lawful, step: float, *, adding: bool, coarse: int) -> Cells:
        """Return the law."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two numbers that enclose the truth.

    >>> Bounds(lower=1.0, upper=1.5)
    Bounds(lower=1.0, upper=1.5)
    """

    lower: float
    upper: float


def epsilon_bounds(parts: Counted, delta: float, width: float) -> Bounds:
    """Bracket the least ε with δ(ε) ≤ δ, to a relative width if possible; out of range, nothing is known."""
    steps = Steps.of(parts)
    if delta < _LEAST_DELTA or not steps.in_range:
        return Bounds(0.0, inf)
    near = 1e-6 * width
    return _refine(
        parts,
        (delta, width),
        steps,
        lambda up: _epsilon_above(up, delta, near),
        lambda low: _epsilon_below(low, delta, near),
    )


def delta_bounds(parts: Counted, epsilon: float, width: float) -> Bounds:
    """Bracket δ(ε), to a relative width if possible; out of range, nothing is known."""
    steps = Steps.of(parts)
    if not steps.in_range:
        return Bounds(0.0, 1.0)
    reads = (lambda up: up.upper(epsilon)), (lambda low: low.lower(epsilon))
    rough = _refine(parts, (1e-6, 1.0), steps, *reads)
    return rough if rough.upper <= 0 else _refine(parts, (max(min(rough.upper, 0.5), 1e-290), width), steps, *reads)


def delta_curve(parts: Counted, epsilons: Sequence[float]) -> list[Bounds]:
    """Bracket δ at many ε, in rising order: the best bounds of a few compositions, each tuned to another δ."""
    steps = Steps.of(parts)
    if not steps.in_range:
        return [Bounds(0.0, 1.0)] * len(epsilons)
    at = np.sort(np.array(epsilons, dtype=np.float64))
    lower, upper = np.zeros(at.size), np.ones(at.size)
    for delta in _TARGETS:
        step = steps.step(delta, 1e-3, 4)
        ups = [_one(parts, sampled.upper, step, delta, way).uppers(at) for way in _ways(parts)]
        lows = [_one(parts, sampled.lower, step, delta, way).lowers(at) for way in _ways(parts)]
        upper, lower = np.minimum(upper, np.max(ups, axis=0)), np.maximum(lower, np.max(lows, axis=0))
    return [Bounds(min(low, high), high) for low, high in zip(lower.tolist(), upper.tolist(), strict=True)]


def _one(parts: Counted, law: Law, step: float, delta: float, adding: bool) -> Sum:  # noqa: FBT001 - of two ways
    uses = sum(count for _, count in parts)
    coarse = max(1, min(_COARSEST, isqrt(uses // 8)))  # k uses err by k·h², so one of them may have cells of √k·h
    return total([(law(event, step, adding=adding, coarse=coarse if n == 1 else 1), n) for event, n in parts], delta)


def _ways(parts: Counted) -> tuple[bool, ...]:
    """Return the directions to compose: only a sample tells removal from addition."""
    return (False, True) if any(isinstance(event, PoissonSampled) for event, _ in parts) else (False,)


def total_law(parts: Counted, delta: float) -> tuple[list[float], list[float], float]:
    """Return the losses and masses of the total, from above, and the mass at infinity: the bulk and the tail of δ."""
    step = Steps.of(parts).step(delta, 1e-2, 1)
    each_way = [_one(parts, sampled.upper, step, delta, way) for way in _ways(parts)]
    worst = max(range(len(each_way)), key=lambda way: _epsilon_above(each_way[way], delta, 1e-6))
    tail, bulk = each_way[worst], _one(parts, sampled.upper, step, 1.0, bool(worst))  # at δ = 1 nothing is tilted
    masses: dict[int, float] = {}
    for law, least in ((bulk, -inf), (tail, tail.centre - 3 * tail.spread)):
        for x, mass in zip(*(column.tolist() for column in law.law()), strict=True):
            if x > least:
                masses[round(x / step)] = max(mass, masses.get(round(x / step), 0.0))
    kept = sorted(place for place, mass in masses.items() if mass > 0)
    return [place * step for place in kept], [masses[place] for place in kept], tail.infinite


def _refine(
    parts: Counted,
    goal: tuple[float, float],
    steps: Steps,
    above: Callable[[Sum], float],
    below: Callable[[Sum], float],
) -> Bounds:
    """Refine the two sides in turn, each until its own change is below its share of the width."""
    upper = _Side(parts, goal, steps, sampled.upper, above, finer=2.0 if steps.uneven else 1 / 16)
    lower = _Side(parts, goal, steps, sampled.lower, below, finer=16.0 if steps.uneven else 1 / 16)
    width = goal[1]
    while (apart := upper.best - lower.best) > width * upper.best and not (upper.done and lower.done):
        # The side that moved more when last refined is the one that is further off.
        side = lower if upper.done or (not lower.done and lower.moved >= upper.moved) else upper
        side.refine(apart)
    return _uncrossed(lower.best, upper.best)


def _uncrossed(lower: float, upper: float) -> Bounds:
    """Return the bracket; ends that cross by more than the last digits prove a defect, and nothing is promised then."""
    if lower > upper * (1 + 1e-9) + 1e-290:
        raise TacitError(
            "The two bounds of a privacy loss cross, which is a defect in tacit: please report it. Nothing was spent."
        )
    return Bounds(min(lower, upper), upper)


class _Side:
    """One end of a bracket as its step shrinks."""

    def __init__(
        self,
        parts: Counted,
        goal: tuple[float, float],
        steps: Steps,
        law: Law,
        read: Callable[[Sum], float],
        finer: float,
    ) -> None:
        self._parts, self._goal, self._steps, self._law, self._read = parts, goal, steps, law, read
        self._finer, self._from_above, self._ways, self._step = finer, law is sampled.upper, _ways(parts), inf
        self.done, self.moved, self._idle = False, inf, 0
        self.best = self._last = self._bound()

    def _bound(self) -> float:
        self._step = self._steps.step(*self._goal, self._finer)
        return max(self._one_way(adding=adding) for adding in self._ways)

    def _one_way(self, *, adding: bool) -> float:
        found = _one(self._parts, self._law, self._step, self._goal[0], adding)
        self.done = self.done or self._finer >= _FINEST or found.losses.size >= LONGEST
        return self._read(found)

    def refine(self, apart: float) -> None:
        """Divide the step by 4; stop for good if twice running that moves the bound by little."""
        self._finer *= 4
        while self._steps.step(*self._goal, self._finer) >= self._step and self._finer < _FINEST:
            self._finer *= 4  # a bound on the step hides the first refinements
        before, self._last = self._last, self._bound()
        self.best = min(self.best, self._last) if self._from_above else max(self.best, self._last)
        self.moved = abs(self._last - before) if max(before, self._last) < inf else inf
        still = self.moved <= _HELPS * min(apart, self._goal[1] * self.best) if self.best < inf else self.moved == 0
        self._idle = self._idle + 1 if still else 0
        self.done = self.done or (self._idle > 1 and self._finer >= _COARSE)


def _epsilon_above(law: Sum, delta: float, near: float) -> float:
    """Return an ε at which δ(ε) ≤ δ: the least that the law from above shows, or a little more."""
    curve = law.above_curve()
    if curve(0.0) <= delta:
        return 0.0
    low, high, stride = 0.0, max(law.centre, law.spread), law.spread
    while curve(high) > delta:
        low, high, stride = high, high + stride, 2 * stride
        if high > _LARGEST_EPSILON * 2**40:
            return inf
    return _crossing(curve, delta, (low, high), near)[1]


def _epsilon_below(law: Sum, delta: float, near: float) -> float:
    """Return an ε with δ(ε) > δ, or 0; sought from the centre, since far below its window the law knows little."""
    if law.given_away > delta:
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
    """Return two near ε with curve > δ at the first and ≤ δ at the second, given two such.

    ln δ(ε) is nearly straight, so most turns take the secant's point, moved a little toward the far end.
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
