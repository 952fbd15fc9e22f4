"""Intervals for what is no linear function of noisy sums: variances, covariances, correlations.

Let z be noisy sums over rows, N their noise, and θ what is asked. Each of these statistics has a **contrast**: for the
true θ and the true values of what else must be known (means, a ratio of spreads), a weighted sum c·z is noise alone,
c·N. For a variance it is Σ(x-m)² - θ·n, with the mean m. What else must be known is put in as it is estimated, and for
these contrasts that matters in second order only, since their derivative by it is 0 at the truth:

    T(θ) = α - θ·γ = c(θ)·N + Q + …,    Q quadratic in N, over the number of rows.

So the test of θ compares T(θ) - E[Q] with the law of c(θ)·N, stretched by √(1 + Var Q / Var c·N). The interval holds
all θ that are not rejected, and the estimate is the one for which nothing is left: θ = (α - E[Q])/γ, which takes the
bias of second order away. Weights are taken at means a standard deviation nearer to their bounds than estimated: there
the noise weighs most, and an estimate that noise has moved inward would make the interval too short.

Where the number of rows is no more than twice the scale of its noise, nothing can be told: the interval is everything
that is possible. Coverage is not proved for few rows but simulated: `tests/query/aggregates/test_moments.py` tries
groups from a tenth of the noise's scale up, means at their bounds, no spread and all of it, for Laplace and for
Gaussian noise; it stays at 95 % to within half a percent or above, and below 97 % from ten standard deviations of the
count on. At more than 95 % confidence the square in Q decides, which its variance does not describe: see `bracket`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, sqrt

import numpy as np
import numpy.typing as npt

from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.noise_law import NoiseLaw

_HALVINGS = 40
_APART = 1.003
_SMALL = 1e-3
_FEW = 2

Vector = npt.NDArray[np.float64]
Quadratic = Sequence[tuple[float, Vector, Vector]]
"""Q = Σ factor·(u·N)(w·N)."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """Sums over rows with their noise: `sums` counts in rows, `scales` are those of the noise, `steps` the grid's."""

    sums: Vector
    scales: Vector
    steps: Vector
    law: NoiseLaw

    @property
    def variances(self) -> Vector:
        """The variance of the noise on each sum."""
        return self.scales**2 * (2.0 if self.law.law == "laplace" else 1.0)

    def deviation(self, weights: Vector) -> float:
        """Return the standard deviation of the noise of a weighted sum."""
        return sqrt(float(weights**2 @ self.variances))

    def tells(self, rows: float) -> bool:
        """Whether a noisy number of rows can be told from none."""
        return rows > _FEW * float(self.scales[0])

    def beyond(self, weights: Vector, size: float) -> float:
        """Return how likely the noise of a weighted sum is larger than this; a step of the grid each is let pass."""
        scales = np.abs(weights) * self.scales
        rest = size - float(np.abs(weights) @ self.steps)
        if rest <= 0:
            return 1.0
        return _laplace(sorted(scales.tolist()), rest) if self.law.law == "laplace" else _gaussian(scales, rest)

    def quadratic(self, parts: Quadratic) -> tuple[float, float]:
        """Return the mean and the variance of a quadratic function of the noise.

        With its matrix H and independent noise of variances V: Σ HᵢᵢVᵢ, and 2·Σ Hᵢⱼ²VᵢVⱼ + κ·Σ Hᵢᵢ²Vᵢ², where κ is
        the excess of the law's fourth moment: 3 for Laplace noise, 0 for Gaussian.
        """
        v = self.variances
        h = sum((factor * (np.outer(u, w) + np.outer(w, u)) / 2 for factor, u, w in parts), np.zeros((len(v), len(v))))
        own, excess = np.diag(h), 3.0 if self.law.law == "laplace" else 0.0
        return float(own @ v), float(2 * v @ h**2 @ v + excess * own**2 @ v**2)


def noisy(released: Released, rows: Sequence[int]) -> Noisy:
    """Return released integers as sums over rows; `rows` says what a row of full weight adds to each."""
    units = np.array(rows, dtype=np.float64)
    sums = np.array([x / unit for x, unit in zip(released.integers, rows, strict=True)])
    return Noisy(sums, released.noise.scale / units, 1 / units, released.noise)


@dataclass(frozen=True, slots=True)
class Contrast:
    """Tests of all θ: of `alpha` - θ·`gamma`, whose noise has the weights c₀ + θ·c₁.

    `spread` is the variance of what is left in second order, as a polynomial of θ.
    """

    noise: Noisy
    alpha: float
    gamma: float
    weights: tuple[Vector, Vector]
    spread: tuple[float, float, float]

    def estimate(self, low: float, high: float) -> float:
        """Return the θ for which nothing is left, kept within what is possible."""
        return min(max(self.alpha / self.gamma, low), high) if self.gamma > 0 else (low + high) / 2

    def chance(self, theta: float) -> float:
        """Return how likely noise alone is as far off as what would be left for this θ."""
        weights = self.weights[0] + theta * self.weights[1]
        first, second, third = self.spread
        extra = max(first + theta * (second + theta * third), 0.0)
        stretch = sqrt(1 + extra / max(self.noise.deviation(weights) ** 2, 1e-300))
        return self.noise.beyond(weights, abs(self.alpha - theta * self.gamma) / stretch)

    def interval(self, low: float, high: float, beta: float) -> Interval:
        """Return the ends of all θ that are not rejected at level β, within what is possible."""
        return self._edge(low, low, high, beta), self._edge(high, low, high, beta)

    def _edge(self, end: float, low: float, high: float, beta: float) -> float:
        """Return where the test begins to reject between the estimate and an end, by bisection.

        What is left grows in a straight line from 0 at the estimate, and its quantile is convex in θ, being that of a
        sum with weights that are linear in θ: if the end is rejected, they cross once.
        """
        if self.chance(end) > beta:
            return end
        inner, outer = self.estimate(low, high), end
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if self.chance(middle) > beta else (inner, middle)
        return outer  # the safe end


def outward(mean: float, deviation: float) -> float:
    """Return a mean between 0 and 1 moved by a standard deviation toward the bound that is nearer."""
    return max(mean - deviation, 0.0) if mean < 1 / 2 else min(mean + deviation, 1.0)


def _laplace(scales: Sequence[float], t: float) -> float:
    """Return Pr[|Σ bᵢ·Lᵢ| > t] = Σ e^(-t/bᵢ)·Π bᵢ²/(bᵢ² - bⱼ²) for Laplace variables, scales in increasing order.

    Scales that are alike are moved apart, upward, by 0.3 %: the products stay below 10^9, and the sum exact to 10^-7.
    """
    moved: list[float] = []
    for scale in scales:
        least = moved[-1] * _APART if moved else _SMALL * scales[-1]
        moved.append(max(scale, least))
    total = 0.0
    for place, one in enumerate(moved):
        weight = exp(-t / one)
        for other in moved[:place] + moved[place + 1 :]:
            weight *= one * one / (one * one - other * other)
        total += weight
    return total


def _gaussian(scales: Vector, t: float) -> float:
    return erfc(t / sqrt(2 * float(scales @ scales)))
