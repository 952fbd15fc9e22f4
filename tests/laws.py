"""The stated laws, for the statistical tests: chances of bins, tails and windows of digits.

Closed forms at 60 digits, or sums; floats only at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import cos, exp, pi, sin, sqrt
from typing import Any, Protocol

from mpmath import MPContext
from scipy.special import ndtr

MP = MPContext()
MP.dps = 60

SPREAD = [0.1, 0.25, 0.45, 0.7, 1.0, 1.4, 2.0, 2.8, 3.8, 5.0, 8.0, 12.0]
BELL = [0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.8, 2.2, 2.7, 3.3, 4.0, 5.0]


class Law(Protocol):
    """A law on the integers."""

    def edges(self) -> list[int]:
        """Return the edges that cut the integers into bins: the bulk evenly, and the far tail."""

    def chances(self, edges: Sequence[int]) -> list[float]:
        """Return the chances of (-∞, e_0), [e_0, e_1), …, [e_last, ∞)."""

    def window(self, low: int, width: int) -> list[float]:
        """Return the chances of the values of binary digits low, …, low+width-1 (two's complement)."""


def mpf(x: Fraction) -> Any:  # noqa: ANN401 - mpmath is not typed
    """Return x at 60 digits."""
    return MP.mpf(x.numerator) / x.denominator


def both_sides(scale: float, multiples: list[float]) -> list[int]:
    """Cut at multiples of the scale on both sides, and around zero."""
    right = {1 + int(scale * m) for m in multiples} | {1}
    return sorted(right | {1 - edge for edge in right})


def masses(upto: Sequence[Any]) -> list[float]:
    """Turn the distribution function at e_0 - 1, e_1 - 1, … into the chances of the bins."""
    return [float(b - a) for a, b in pairwise([MP.mpf(0), *upto, MP.mpf(1)])]


@dataclass(frozen=True)
class Geometric:
    """Pr[k] = (1-r)·r^k for k ≥ 0, r = e^(-1/s)."""

    scale: Fraction

    def edges(self) -> list[int]:
        return sorted({1 + int(self.scale * Fraction(m)) for m in SPREAD} | {0, 1})

    def chances(self, edges: Sequence[int]) -> list[float]:
        return masses([-MP.expm1(-max(e, 0) / mpf(self.scale)) for e in edges])

    def window(self, low: int, width: int) -> list[float]:
        x = (1 << low) / mpf(self.scale)
        first = MP.expm1(-x) / MP.expm1(-x * (1 << width))
        return [float(first * MP.exp(-j * x)) for j in range(1 << width)]

    def tail(self, multiple: int) -> tuple[int, float]:
        """Return t and Pr[|K| > t], t at this multiple of the scale."""
        t = int(multiple * self.scale)
        return t, float(MP.exp(-(t + 1) / mpf(self.scale)))


@dataclass(frozen=True)
class Laplace:
    """Pr[k] = tanh(1/2s)·e^(-|k|/s)."""

    scale: Fraction

    def edges(self) -> list[int]:
        return both_sides(float(self.scale), SPREAD)

    def chances(self, edges: Sequence[int]) -> list[float]:
        return masses([self._upto(edge - 1) for edge in edges])

    def _upto(self, k: int) -> Any:  # noqa: ANN401
        s = mpf(self.scale)
        return MP.exp(k / s) / (1 + MP.exp(-1 / s)) if k < 0 else 1 - self._upto(-1 - k)

    def window(self, low: int, width: int) -> list[float]:
        """Σ over c in the window of Σ_m Pr[c + mM] = tanh(1/2s)·(r^c + r^(M-c))/(1-r^M), M = 2^(low+width)."""
        s, step, period = mpf(self.scale), 1 << low, 1 << low + width
        scale = MP.tanh(1 / (2 * s)) / -MP.expm1(-period / s) * MP.expm1(-step / s) / MP.expm1(-1 / s)
        starts = range(0, period, step)
        return [float(scale * (MP.exp(-x / s) + MP.exp((x + step - 1 - period) / s))) for x in starts]

    def tail(self, multiple: int) -> tuple[int, float]:
        """Return t and Pr[|K| > t], t at this multiple of the scale."""
        t = int(multiple * self.scale)
        return t, float(2 * self._upto(-1 - t))


@dataclass(frozen=True)
class Gaussian:
    """Pr[k] ∝ e^(-k²/2σ²)."""

    variance: Fraction

    @property
    def sigma(self) -> float:
        return sqrt(self.variance)

    def edges(self) -> list[int]:
        return both_sides(self.sigma, BELL)

    def chances(self, edges: Sequence[int]) -> list[float]:
        """By a sum up to σ = 1000; beyond, by the midpoint rule, within a relative z²/24σ² ≤ 2e-6 of it."""
        if self.sigma > 1000:
            return masses([float(ndtr((edge - 0.5) / self.sigma)) for edge in edges])
        reach = int(12 * self.sigma) + 3
        weights = {k: exp(-float(k * k / (2 * self.variance))) for k in range(-reach, reach + 1)}
        cuts = [-reach, *edges, reach + 1]
        total = sum(weights.values())
        return [sum(weights[k] for k in range(a, b)) / total for a, b in pairwise(cuts)]

    def window(self, low: int, width: int) -> list[float]:
        """By the characteristic function: Pr[K mod M = c] = Σ_h φ(h/M)·e^(-2πihc/M)/M, for M ≤ 16σ, σ ≥ 4."""
        step, period = 1 << low, 1 << low + width
        assert period <= 16 * self.sigma
        assert self.sigma >= 4
        waves = [
            (2 * pi * h / period, exp(-2 * (pi * h * self.sigma / period) ** 2) * dirichlet(h / period, step))
            for h in range(1, min(60, period // 2))
        ]
        middles = [x + (step - 1) / 2 for x in range(0, period, step)]
        return [(1 + 2 * sum(b * cos(a * x) for a, b in waves)) / (1 << width) for x in middles]

    def tail(self, multiple: int) -> tuple[int, float]:
        """Return t and Pr[|K| > t], t at this multiple of σ."""
        t = int(multiple * self.sigma)
        chances = self.chances([-t, t + 1])
        return t, 2 * chances[0]


def dirichlet(frequency: float, count: int) -> float:
    """Return the mean of e^(2πi·frequency·c) over `count` successive integers c, up to its phase."""
    return sin(pi * frequency * count) / (count * sin(pi * frequency))
