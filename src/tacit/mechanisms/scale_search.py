"""Searches for the least noise: a bisection over floats, and a faster search for expensive prices.

`least` finds the least float that satisfies a cheap condition.

`search` finds the least scale whose price is within a target, in few evaluations of an expensive price. A price ε at δ
is measured by its Gaussian size, the μ of the continuous Gaussian noise that costs as much. For many uses of any law
it is nearly inversely proportional to the scale, so ln μ against ln s is nearly a line of slope -1: the first step
along this line usually comes within a percent, and a secant then ends the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, isfinite, log, nextafter

from tacit.errors import InvalidError, TooMuchNoiseError
from tacit.guarantees.conversions import gaussian_delta
from tacit.guarantees.exact import Exact
from tacit.guarantees.pld import Bounds

CLOSE = 3e-4
"""The largest relative distance from the least scale at which the search may end."""
_ROUNDING = 1 + CLOSE / 100
_TURNS, _HALVING = 60, 4
_FLATTEST, _STEEPEST = -0.2, -20.0
_SMALLEST, _LARGEST = 1e-300, 1e300

Points = list[tuple[float, float]]


def ratio(a: Fraction, b: Fraction) -> float:
    """Return a/b as a float from which a search can start, away from the ends of the floats."""
    return float(min(max(a / b, Fraction(1, 10**290)), Fraction(10**290)))


def least(accurate: Callable[[float], bool], guess: float) -> float:
    """Return the least float x > 0 for which `accurate` holds, if it holds from some x on.

    The result always satisfies `accurate`. The float just below the end of the search does not, or its noise would not
    fit into 64 bits.
    """

    def holds(x: float) -> bool:
        try:
            return accurate(x)
        except TooMuchNoiseError:
            return False

    high = min(max(guess, 1e-290), 1e290)
    while not holds(high):
        high *= 2
        if high > _LARGEST:
            raise InvalidError("No noise scale meets this error.", argument="error", hint="Ask for a larger error.")
    low = high
    while holds(low):
        high, low = low, low / 2
        if low < _SMALLEST:
            return high
    while nextafter(low, high) < high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high  # the accurate end


@dataclass(frozen=True, slots=True)
class Target:
    """The budget: ε at δ."""

    epsilon: Fraction
    delta: Fraction

    def mu(self, epsilon: float) -> float:
        """Return the Gaussian size of an ε at this δ."""
        return 1 / least(lambda sigma: gaussian_delta(1 / sigma, epsilon) <= self.delta, 1.0)


@dataclass(frozen=True, slots=True)
class ScaleFit:
    """A scale that fits, its price if it was computed, and the last computed price."""

    scale: Fraction
    price: Bounds | None
    last: Bounds


def search(price: Callable[[Fraction], Bounds], target: Target, first: float | Fraction, fits: Fraction) -> ScaleFit:
    """Return nearly the least scale whose price is within the target; at most `fits`.

    Its price is the target up to the cost of changing the scale by a fraction `CLOSE`, or a scale smaller by `CLOSE`
    does not fit. Every fourth step halves, so the search ends for any curve.

    Args:
        price: a bracket of ε for a scale.
        target: the budget.
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
    return ScaleFit(high, best, last)


def _rounded(scale: float) -> Fraction:
    """Return the scale with seven digits, which can be printed in full."""
    return Exact(float(f"{scale:.6e}")).fraction


def _slope(tried: Points) -> float:
    """Return the slope of the line through the last two points; -1 if there are fewer."""
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
