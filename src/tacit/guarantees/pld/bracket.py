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
from math import ceil, floor, inf, isqrt, log, sqrt

from tacit.guarantees.events import DiscreteGaussianNoise, DiscreteLaplaceNoise, Event, GaussianNoise, LaplaceNoise
from tacit.guarantees.pld import laws
from tacit.guarantees.pld.cells import Cells
from tacit.guarantees.pld.convolve import Sum, total

Counted = Sequence[tuple[Event, int]]

_LONGEST, _FINEST = 1 << 21, 1 << 14
_LARGEST_EPSILON = 1e4
_ATOMS = 4096**2
_FAINTEST = 1e-300
_HELPS = 0.02
_FEW = 8


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two numbers that enclose the truth.

    >>> Bounds(lower=1.0, upper=1.5)
    Bounds(lower=1.0, upper=1.5)
    """

    lower: float
    upper: float


def size(event: Event) -> float:
    """Return about how large the event's privacy loss is: its ε, or μ for Gaussian noise."""
    match event:
        case GaussianNoise(sigma=s, l2=d):
            return float(d / s)
        case DiscreteGaussianNoise(variance=v, l2_squared=d):
            return sqrt(d / float(v))
        case DiscreteLaplaceNoise(scale=s, l1=d) | LaplaceNoise(scale=s, l1=d):
            return float(d / s)
        case _:
            return float(event.epsilon)


def commensurate(event: Event, wanted: float, least: float) -> float:
    """Return a step of about the wanted size, and not below the least, on which the event's losses lie, or nearly."""
    match event:
        case DiscreteGaussianNoise(variance=v, l2_squared=d) if v <= _ATOMS:
            unit = isqrt(d) / (2 * float(v))
            wanted = unit if unit >= least else wanted
        case DiscreteLaplaceNoise(scale=s, coordinates=1) if float(1 / s) < wanted:
            return max(1, floor(float(s) * wanted)) / float(s)
        case DiscreteLaplaceNoise(scale=s, coordinates=1):
            unit = float(1 / s)
        case GaussianNoise() | DiscreteGaussianNoise():
            return wanted
        case _:
            unit = size(event)
    return unit / ceil(unit / wanted) if unit > wanted else unit * floor(wanted / unit)


def first_step(parts: Counted, delta: float, width: float, finer: int) -> float:
    """Return the step that the error law suggests, divided by `finer`, commensurate with the event that weighs most."""
    spread = sqrt(sum(count * size(event) ** 2 for event, count in parts))
    epsilon = spread * spread / 2 + spread * sqrt(2 * log(1 / delta) + 1)
    tilt = epsilon / spread**2
    wanted = sqrt(3 * width * epsilon / (sum(count for _, count in parts) * (1 + tilt)))
    main = max(parts, key=lambda part: part[1] * size(part[0]) ** 2)[0]
    least = 20 * spread / _LONGEST
    return commensurate(main, max(min(wanted, size(main) / 4, spread / 64) / finer, least), least)


def epsilon_bounds(parts: Counted, delta: float, width: float) -> Bounds:
    """Bracket the least ε with δ(ε) ≤ δ, to a relative width if possible."""
    return _refine(parts, delta, width, lambda up: _epsilon_above(up, delta), lambda low: _epsilon_below(low, delta))


def delta_bounds(parts: Counted, epsilon: float, width: float) -> Bounds:
    """Bracket δ(ε), to a relative width if possible."""
    reads = (lambda up: up.upper(epsilon)), (lambda low: low.lower(epsilon))
    rough = _refine(parts, 1e-6, 1.0, *reads)
    return rough if rough.upper <= 0 else _refine(parts, max(min(rough.upper, 0.5), 1e-290), width, *reads)


def _refine(
    parts: Counted, delta: float, width: float, above: Callable[[Sum], float], below: Callable[[Sum], float]
) -> Bounds:
    """Refine the two sides in turn, each until its own change is below its share of the width."""
    uneven = len({size(event) for event, _ in parts}) > _FEW
    upper = _Side(parts, delta, width, laws.upper, above, finer=2 if uneven else 1)
    lower = _Side(parts, delta, width, laws.lower, below, finer=16 if uneven else 1)
    while (apart := upper.best - lower.best) > width * upper.best and not (upper.done and lower.done):
        # The side that moved more when last refined is the one that is further off.
        side = lower if upper.done or (not lower.done and lower.moved >= upper.moved) else upper
        side.refine(apart)
    return Bounds(lower.best, upper.best)


class _Side:
    """One end of a bracket as its step shrinks."""

    def __init__(  # noqa: PLR0913, PLR0917 - what to bound, how well, and from which side
        self,
        parts: Counted,
        delta: float,
        width: float,
        law: Callable[[Event, float], Cells],
        read: Callable[[Sum], float],
        finer: int,
    ) -> None:
        self._parts, self._delta, self._width, self._law, self._read = parts, delta, width, law, read
        self._finer = finer
        self.done, self.moved, self._idle = False, inf, 0
        self.best = self._bound()

    def _bound(self) -> float:
        step = first_step(self._parts, self._delta, self._width, self._finer)
        found = total([(self._law(event, step), count) for event, count in self._parts], self._delta)
        self.done = self._finer >= _FINEST or found.losses.size >= _LONGEST // 2
        return self._read(found)

    def refine(self, apart: float) -> None:
        """Divide the step by 4; stop for good if twice running that moves the bound by little of what is missing."""
        self._finer *= 4
        before, found = self.best, self._bound()
        self.best = min(before, found) if self._law is laws.upper else max(before, found)
        self.moved = abs(self.best - before) if before < inf else inf
        self._idle = self._idle + 1 if self.moved < _HELPS * apart else 0
        self.done = self.done or self._idle > 1


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
    """Return two near ε with curve > δ at the first and ≤ δ at the second, given two such; ln δ(ε) is nearly straight."""
    at_low, at_high = (log(max(curve(x), _FAINTEST) / delta) for x in (low, high))
    for turn in range(80):
        if high - low <= 1e-13 * high:
            break
        share = at_low / (at_low - at_high) if turn % 3 < 2 and at_high < at_low < inf else 0.5  # noqa: PLR2004
        middle = low + min(max(share, 1e-3), 1 - 1e-3) * (high - low)
        at = log(max(curve(middle), _FAINTEST) / delta)
        low, high, at_low, at_high = (middle, high, at, at_high) if at > 0 else (low, middle, at_low, at)
    return low, high
