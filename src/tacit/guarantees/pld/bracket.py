"""ε(δ) and δ(ε) of a composition, bracketed to a width that is asked for.

The step is chosen by the error law of the upper bound, about Σk·h²(1+λ)/12 in ε, and made commensurate with
the event that weighs most, so that one law composed with itself often has no discretisation error at all. Then
it is refined until the bracket is as narrow as asked, or until the transform is as long as it may be; the
bracket is returned either way, and is valid either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isqrt, log, sqrt

from tacit.guarantees.events import DiscreteGaussianNoise, DiscreteLaplaceNoise, Event, GaussianNoise, LaplaceNoise
from tacit.guarantees.pld import laws
from tacit.guarantees.pld.convolve import Sum, total

Counted = Sequence[tuple[Event, int]]

_LONGEST, _FINEST = 1 << 21, 1 << 14
_LARGEST_EPSILON = 1e4
_ATOMS = 4096**2


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
    return _refine(parts, delta, width, lambda up, low: Bounds(_solve(low.lower, delta)[0], _solve(up.upper, delta)[1]))


def delta_bounds(parts: Counted, epsilon: float, width: float) -> Bounds:
    """Bracket δ(ε), to a relative width if possible."""

    def read(up: Sum, low: Sum) -> Bounds:
        return Bounds(low.lower(epsilon), up.upper(epsilon))

    rough = _refine(parts, 1e-6, width, read)
    return rough if rough.upper <= 0 else _refine(parts, max(min(rough.upper, 0.5), 1e-290), width, read)


def _refine(parts: Counted, delta: float, width: float, read: Callable[[Sum, Sum], Bounds]) -> Bounds:
    best, finer = Bounds(0.0, float("inf")), 1
    while True:
        step = first_step(parts, delta, width, finer)
        up = total([(laws.upper(event, step), count) for event, count in parts], delta)
        low = total([(laws.lower(event, step), count) for event, count in parts], delta)
        found = read(up, low)
        best = Bounds(max(best.lower, found.lower), min(best.upper, found.upper))
        done = best.upper - best.lower <= width * best.upper
        if done or finer >= _FINEST or max(up.losses.size, low.losses.size) >= _LONGEST // 2:
            return best
        finer *= 4


def _solve(curve: Callable[[float], float], delta: float) -> tuple[float, float]:
    """Return two neighbouring ε ≥ 0 with curve > δ at the first (or 0) and ≤ δ at the second (or infinity)."""
    if curve(0.0) <= delta:
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while curve(high) > delta:
        low, high = high, 2 * high
        if high > _LARGEST_EPSILON * 2**40:
            return low, float("inf")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return low, high
