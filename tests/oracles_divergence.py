"""The hockey-stick divergence of two discrete Laplace laws: Σ_z (P(z) - e^ε·Q(z))₊, in closed form at 60 digits.

The logarithm of P(z)/Q(z) is linear in z to the left of both centres, between them and to the right. On each of
the three stretches it exceeds ε on an interval, and both laws' masses of intervals are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mpmath import MPContext

MP = MPContext()
MP.dps = 60

Real = Any
"""A number of mpmath, which has no type annotations."""


def real(x: float | Fraction) -> Real:
    """Return x at 60 digits; a Fraction is divided there."""
    return MP.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else MP.mpf(x)


@dataclass(frozen=True)
class Shifted:
    """Pr[z] = tanh(1/2s)·e^(-|z-centre|/s)."""

    centre: int
    scale: Real

    def log(self, z: Real) -> Real:
        return MP.log(MP.tanh(1 / (2 * self.scale))) - abs(z - self.centre) / self.scale

    def slope(self, high: Real) -> Real:
        """Return the slope of the logarithm on a stretch that ends here."""
        return (1 if high <= self.centre else -1) / self.scale

    def upto(self, z: Real) -> Real:
        """Return Pr[Z ≤ z] for an integer or ±∞."""
        if z in {MP.inf, -MP.inf}:
            return MP.mpf(1 if z > 0 else 0)
        k = z - self.centre
        r = MP.exp(-1 / self.scale)
        return MP.exp(k / self.scale) / (1 + r) if k < 0 else 1 - MP.exp(-(k + 1) / self.scale) / (1 + r)

    def mass(self, low: Real, high: Real) -> Real:
        return self.upto(high) - self.upto(low - 1)


def hockey_stick(p: Shifted, q: Shifted, epsilon: Real) -> Real:
    """Return the least δ for which P ≤ e^ε·Q + δ on every set."""
    left, right = sorted([p.centre, q.centre])
    stretches = [(-MP.inf, left), (left + 1, right - 1), (max(right, left + 1), MP.inf)]
    return sum((_excess(p, q, epsilon, low, high) for low, high in stretches if low <= high), start=MP.mpf(0))


def _excess(p: Shifted, q: Shifted, epsilon: Real, low: Real, high: Real) -> Real:
    """Add up over one stretch, on which ln P/Q - ε = level + slope·(z - at)."""
    at = high if low == -MP.inf else low
    level, slope = p.log(at) - q.log(at) - epsilon, p.slope(high) - q.slope(high)
    if slope > 0:
        low = max(low, at + MP.floor(-level / slope) + 1)
    elif slope < 0:
        high = min(high, at + MP.ceil(-level / slope) - 1)
    elif level <= 0:
        return MP.mpf(0)
    return p.mass(low, high) - MP.exp(epsilon) * q.mass(low, high) if low <= high else MP.mpf(0)
