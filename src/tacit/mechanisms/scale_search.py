"""The least noise scale whose price is within a target, in few evaluations of a price that is dear.

A price ε at δ is measured by its Gaussian size, the μ of the continuous Gaussian noise that costs as much. That of
many uses is nearly inversely proportional to the scale, whatever their law, so that ln μ against ln s is
nearly a line of slope -1: the first step along it mostly lands within a percent, and a secant then ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, isfinite, log

from tacit.guarantees.conversions import gaussian_delta
from tacit.guarantees.exact import Exact
from tacit.guarantees.pld import Bounds
from tacit.mechanisms.validation import least

CLOSE = 3e-4
"""How far from the least scale the search may end, relatively."""
_ROUNDING = 1 + CLOSE / 100
_TURNS, _HALVING = 60, 4
_FLATTEST, _STEEPEST = -0.2, -20.0

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Target:
    """What may be spent: ε at δ."""

    epsilon: Fraction
    delta: Fraction

    def mu(self, epsilon: float) -> float:
        """Return the Gaussian size of an ε at this δ."""
        return 1 / least(lambda sigma: gaussian_delta(1 / sigma, epsilon) <= self.delta, 1.0)


@dataclass(frozen=True, slots=True)
class Found:
    """A scale that fits, its price if it was asked for, and the last price that was."""

    scale: Fraction
    price: Bounds | None
    last: Bounds


def search(price: Callable[[Fraction], Bounds], target: Target, first: float | Fraction, fits: Fraction) -> Found:
    """Return a scale whose price is within the target, and nearly the least; at most the one known to fit.

    It exhausts the target but for what a change of the scale by a fraction `CLOSE` costs, or a scale smaller by
    `CLOSE` does not fit. Every fourth step halves, so the search ends whatever the curve.

    Args:
        price: a bracket of ε for a scale.
        target: what may be spent.
        first: the scale to try first, below `fits` or equal to it.
        fits: a scale that is known to fit by other means.
    """
    low, high, best, last = 0.0, fits, None, Bounds(0.0, inf)
    goal, guess, tried = log(target.mu(float(target.epsilon))), first, Points()
    for turn in range(1, _TURNS):
        scale = guess if isinstance(guess, Fraction) else _rounded(guess)
        last = price(scale)
        if isfinite(last.upper):
            tried.append((log(scale), log(target.mu(last.upper))))
        if last.upper <= target.epsilon:
            high, best = scale, last
        else:
            low = float(scale)
        near = goal + CLOSE * max(_slope(tried), -1)
        if high <= low * (1 + CLOSE) * _ROUNDING or (best is last and tried[-1][1] >= near):
            break
        guess = _next(tried, (goal + near) / 2, low, float(high), halve=turn % _HALVING == 0)
    return Found(high, best, last)


def _rounded(scale: float) -> Fraction:
    """Return a scale of seven digits: as good, and shown in full."""
    return Exact(float(f"{scale:.6e}")).fraction


def _slope(tried: Points) -> float:
    """Return the slope of the line through the last two points; -1 without them."""
    if len(tried) < 2 or tried[-1][0] == tried[-2][0]:  # noqa: PLR2004 - two points
        return -1.0
    (x, y), (u, v) = tried[-1], tried[-2]
    return min(max((y - v) / (x - u), _STEEPEST), _FLATTEST)


def _next(tried: Points, goal: float, low: float, high: float, *, halve: bool) -> float:
    """Return where the line through the last two points meets the goal, kept strictly between low and high."""
    if halve:
        return (low * high) ** 0.5 if low else high / 2
    guess = exp(tried[-1][0] + (goal - tried[-1][1]) / _slope(tried)) if tried else high
    return max(low * (1 + CLOSE), min(guess, high / (1 + CLOSE)))
