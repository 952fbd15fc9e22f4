"""Expected numbers of the samplers, by mpmath and plain sums, as integers: x means ⌊x·2^point⌋.

Every oracle is right to within `SLACK` units of its last bit.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import isqrt
from typing import Any

from mpmath import MPContext

SLACK = 1 << 8


@cache
def context(precision: int) -> Any:  # noqa: ANN401 - mpmath is not typed
    """Return mpmath with this number of bits."""
    mp = MPContext()
    mp.prec = precision
    return mp


def exp_neg(gamma: Fraction, point: int) -> int:
    """Return e^(-γ)."""
    mp = context(point + 64)
    power = mp.exp(-mp.mpf(gamma.numerator) / gamma.denominator)
    return int(mp.floor(mp.ldexp(power, point)))


def logistic(x: Fraction, point: int) -> int:
    """Return 1/(1+e^x), through the hyperbolic tangent: (1 - tanh(x/2))/2."""
    mp = context(point + 64)
    half = (1 - mp.tanh(mp.mpf(x.numerator) / x.denominator / 2)) / 2
    return int(mp.floor(mp.ldexp(half, point)))


@dataclass(frozen=True)
class Inverse:
    """A law on the integers by its distribution function: `steps[j]` means Pr[X ≤ first + j]."""

    first: int
    steps: list[int]

    def outcome(self, uniform: int) -> int:
        """Return the least k with U < F(k); fail if U is too near a step to decide."""
        at = bisect_right(self.steps, uniform)
        near = self.steps[max(at - 1, 0) : at + 1]
        assert all(abs(step - uniform) > SLACK for step in near), "the oracle needs more bits here"
        return self.first + at

    def enclosed(self, k: int, low: int, high: int, drop: int) -> bool:
        """Return whether F(k) is between two numbers with `drop` fewer bits."""
        at = k - self.first
        step = self.steps[at] if 0 <= at < len(self.steps) else (at >= 0) * self.steps[-1]
        return low << drop <= step + SLACK and step - SLACK <= high << drop


def from_weights(first: int, weights: list[int], point: int) -> Inverse:
    """Add weights up and divide by their sum."""
    sums = list(accumulate(weights))
    return Inverse(first, [(part << point) // sums[-1] for part in sums])


def laplace(scale: Fraction, point: int) -> Inverse:
    """Return the law of weights e^(-|k|/s), one exponential each, until they vanish."""
    reach = int(scale * point * 7 / 10) + 2
    right = [exp_neg(k / scale, point + 64) for k in range(reach + 1)]
    return from_weights(-reach, right[:0:-1] + right, point)


def difference(scale: Fraction, base: int, point: int) -> Inverse:
    """Return the difference of two geometric variables cut to {0,…,B-1}, by adding up all pairs."""
    power = [exp_neg(k / scale, point + 64) for k in range(2 * base)]
    right = [sum(power[d : 2 * base - 1 - d : 2]) for d in range(base)]
    return from_weights(1 - base, right[:0:-1] + right, point)


def gaussian(variance: Fraction, point: int) -> Inverse:
    """Return the law of weights e^(-k²/2σ²), one exponential each, until they vanish."""
    right = gaussian_weights(variance, point)
    return from_weights(1 - len(right), right[:0:-1] + right, point)


def gaussian_twice_zero(variance: Fraction, point: int) -> Inverse:
    """Return the same on signed indices, where -1-i means a second i."""
    right = gaussian_weights(variance, point)
    return from_weights(-len(right), right[::-1] + right, point)


def gaussian_weights(variance: Fraction, point: int) -> list[int]:
    """Return e^(-i²/2σ²) for i = 0, 1, …, until it vanishes."""
    reach = isqrt(int(2 * variance * (point + 64) * 7 / 10)) + 2
    return [exp_neg(i * i / (2 * variance), point + 64) for i in range(reach + 1)]
