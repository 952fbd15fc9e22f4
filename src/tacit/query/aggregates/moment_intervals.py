"""Intervals of variances, covariances and correlations, which are not linear functions of noisy sums.

**Contrasts** (`Contrast`). Let z be noisy sums over rows, N their noise, and θ the statistic. Each statistic has a
contrast: a weighted sum c·z that is noise alone, c·N, for the true θ and the true nuisance values (means, a ratio of
spreads). For a variance the contrast is Σ(x-m)² - θ·n, with the mean m. Estimates replace the nuisance values. For
these contrasts that matters in second order only, because their derivative by the nuisance values is 0 at the truth:

    T(θ) = α - θ·γ = c(θ)·N + Q + …,    Q quadratic in N, over the number of rows.

So the test of θ compares T(θ) - E[Q] with the law of c(θ)·N, stretched by √(1 + Var Q / Var c·N). The interval holds
all θ that the test does not reject. The estimate is the θ with T(θ) = E[Q]: θ = (α - E[Q])/γ, which removes the bias of
second order. Weights are computed at means one standard deviation nearer to their bounds than estimated. There the
noise has the largest weight; an estimate that noise has moved inward would make the interval too short.

If the number of rows is at most twice the scale of its noise, the interval is the whole possible range. Coverage for
few rows is not proved but simulated: `tests/query/aggregates/test_moments.py` tries groups from a tenth of the noise's
scale up, means at their bounds, no spread and the largest spread, for Laplace and for Gaussian noise. Coverage is 95 %
to within half a percent, or above. It is below 97 % from ten standard deviations of the count on.

**Brackets** (`Bracket`), at more than 95 % confidence, by the union bound. There the square in Q decides, which its
variance does not describe: at β = 1/8000 the test above rejects the truth up to five times as often as it should
(60,000 releases of 50 rows at a bound, Laplace noise of scale 5). So below β = 1/20 nothing is approximated:

* *Means.* At the true mean m the sum Σ(t-m) is 0 without noise, and with noise it is noise of known weights. With
  probability 1 - β₁ it stays within the quantile of that noise, so m is in a range that the noisy sums give. The range
  narrows the weights, and the weights narrow the range. Both follow from the same event, so this can be repeated.
* *Contrasts.* At the true means and the true θ the contrast, such as Σ(t-m)² - θ·n, is noise of known weights too. With
  probability 1 - β₂ it stays within its quantile. The means are somewhere in their ranges. So the sums are computed at
  the means that make them least and largest, and each weight where its absolute value is largest. Noise of independent
  symmetric unimodal laws has larger quantiles with larger weights (Birnbaum, Annals of Mathematical Statistics 19(1),
  1948), so this is the safe side. A θ is kept unless it is rejected for all means.

If the β of all steps add up to β, the interval holds with probability at least 1 - β for groups of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, inf, sqrt

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.noise_law import NoiseLaw

_HALVINGS = 40
_APART = 1.003
_SMALL = 1e-3
_FEW = 2
_ROUNDS = 2
_DOUBLINGS = 200
_FARTHEST = 1e100

SIMULATED = 0.05
"""The least β for which the test of `Contrast` is used alone."""

Quadratic = Sequence[tuple[float, Floats, Floats]]
"""Q = Σ factor·(u·N)(w·N)."""


@dataclass(frozen=True, slots=True)
class NoisySums:
    """Noisy sums over rows: `sums` in rows, `scales` of the noise, and `steps` of the grid."""

    sums: Floats
    scales: Floats
    steps: Floats
    law: NoiseLaw

    @property
    def variances(self) -> Floats:
        """The variance of the noise on each sum."""
        return self.scales**2 * (2.0 if self.law.law == "laplace" else 1.0)

    def deviation(self, weights: Floats) -> float:
        """Return the standard deviation of the noise of a weighted sum."""
        return sqrt(float(weights**2 @ self.variances))

    def shows(self, rows: float) -> bool:
        """Return whether a noisy number of rows is clearly above 0."""
        return rows > _FEW * float(self.scales[0])

    def beyond(self, weights: Floats, size: float) -> float:
        """Return the probability that the noise of a weighted sum is larger, less one grid step of each term."""
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
        diagonal, excess = np.diag(h), 3.0 if self.law.law == "laplace" else 0.0
        return float(diagonal @ v), float(2 * v @ h**2 @ v + excess * diagonal**2 @ v**2)

    def quantile(self, weights: Floats, beta: float) -> float:
        """Return a bound that the noise of a weighted sum exceeds with probability at most β; the safe end."""
        low, high = 0.0, max(self.deviation(weights), 1e-300)
        while self.beyond(weights, high) > beta:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.beyond(weights, middle) > beta else (low, middle)
        return high


def noisy_sums(released: Released, rows: Sequence[int]) -> NoisySums:
    """Return released integers as sums over rows; `rows` are the amounts that a row of full weight adds to each."""
    units = np.array(rows, dtype=np.float64)
    sums = np.array([x / unit for x, unit in zip(released.integers, rows, strict=True)])
    return NoisySums(sums, released.noise.scale / units, 1 / units, released.noise)


@dataclass(frozen=True, slots=True)
class Contrast:
    """Tests of all θ by `alpha` - θ·`gamma`, whose noise has the weights c₀ + θ·c₁.

    `spread` is the variance of the second-order term Q, as a polynomial of θ.
    """

    noise: NoisySums
    alpha: float
    gamma: float
    weights: tuple[Floats, Floats]
    spread: tuple[float, float, float]

    def estimate(self, low: float, high: float) -> float:
        """Return the θ with T(θ) = E[Q], clipped to the possible range."""
        return min(max(self.alpha / self.gamma, low), high) if self.gamma > 0 else (low + high) / 2

    def chance(self, theta: float) -> float:
        """Return the probability that noise alone is as large as the contrast at this θ."""
        weights = self.weights[0] + theta * self.weights[1]
        first, second, third = self.spread
        extra = max(first + theta * (second + theta * third), 0.0)
        stretch = sqrt(1 + extra / max(self.noise.deviation(weights) ** 2, 1e-300))
        return self.noise.beyond(weights, abs(self.alpha - theta * self.gamma) / stretch)

    def interval(self, low: float, high: float, beta: float) -> Interval:
        """Return the ends of all θ that are not rejected at level β, within the possible range."""
        return self._edge(low, low, high, beta), self._edge(high, low, high, beta)

    def _edge(self, end: float, low: float, high: float, beta: float) -> float:
        """Return where the test begins to reject between the estimate and an end, by bisection.

        The contrast grows linearly from 0 at the estimate. Its quantile is convex in θ, because it is that of a sum
        with weights that are linear in θ. So if the end is rejected, the two cross once.
        """
        if self.chance(end) > beta:
            return end
        inner, outer = self.estimate(low, high), end
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if self.chance(middle) > beta else (inner, middle)
        return outer  # the safe end


def second_order(
    noise: NoisySums,
    ends: tuple[float, float],
    weights: tuple[Floats, Floats],
    fixed: Quadratic,
    times_theta: Quadratic,
) -> Contrast:
    """Return the contrast α - θ·γ, corrected for the mean of its second-order term.

    Args:
        noise: the noisy sums.
        ends: α and γ.
        weights: the weights c₀ and c₁ of the noise.
        fixed: the part of Q without θ.
        times_theta: the part of Q that θ multiplies.
    """
    (bias, at_zero), (slope, _) = noise.quadratic(fixed), noise.quadratic(times_theta)
    up, down = (noise.quadratic([*fixed, *((side * x, a, b) for x, a, b in times_theta)])[1] for side in (1, -1))
    spread = at_zero, (up - down) / 2, (up + down) / 2 - at_zero
    return Contrast(noise, ends[0] - bias, ends[1] + slope, weights, spread)


def unbounded(test: Contrast, beta: float) -> Interval:
    """Return the ends of all θ that are not rejected at level β, of a statistic whose range has no known end.

    Each end is searched by doubling; if 2^200 times the estimate's scale is not rejected, it is infinite.
    """
    middle = test.alpha / test.gamma
    distance = max(abs(middle), test.noise.quantile(test.weights[0], beta) / test.gamma, 1e-300)
    low, high = (_far_end(test, middle, side * distance, beta) for side in (-1, 1))
    inner, outer = max(low, -_FARTHEST), min(high, _FARTHEST)
    found = test.interval(inner, outer, beta)
    return (low if low == -inf else found[0]), (high if high == inf else found[1])


def _far_end(test: Contrast, middle: float, distance: float, beta: float) -> float:
    """Return a θ on one side that is rejected; ±infinity if no θ within 2^200 distances is."""
    for _ in range(_DOUBLINGS):
        if not abs(middle + distance) < _FARTHEST:
            break
        if test.chance(middle + distance) <= beta:
            return middle + distance
        distance *= 2
    return inf if distance > 0 else -inf


def outward(mean: float, deviation: float) -> float:
    """Return a mean between 0 and 1, moved by a standard deviation toward the nearer bound."""
    return max(mean - deviation, 0.0) if mean < 1 / 2 else min(mean + deviation, 1.0)


@dataclass(frozen=True, slots=True)
class Bracket:
    """A contrast whose means are known up to ranges.

    `alpha` are the least and the largest weighted sum, `weights` the least and the largest weight of each noisy sum,
    both for θ = 0. θ subtracts `gamma` from the sum and `per_row` from the weights.
    """

    noise: NoisySums
    alpha: Interval
    gamma: float
    weights: tuple[Floats, Floats]
    per_row: Floats

    def interval(self, low: float, high: float, beta: float) -> Interval:
        """Return the ends of all θ that are not rejected at level β, within the possible range."""
        least, most = (min(max(end / self.gamma, low), high) for end in self.alpha)
        return self._edge(least, low, beta), self._edge(most, high, beta)

    def _edge(self, inner: float, outer: float, beta: float) -> float:
        """Return where rejection begins between an accepted θ and an end; the quantile is convex in θ: one crossing."""
        if self._chance(outer) > beta:
            return outer
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if self._chance(middle) > beta else (inner, middle)
        return outer  # the safe end

    def _chance(self, theta: float) -> float:
        """Return the probability that noise alone is as large as the contrast at this θ and the best means."""
        least, most = (end - theta * self.gamma for end in self.alpha)
        if least <= 0 <= most:
            return 1.0
        sizes = [np.abs(weights - theta * self.per_row) for weights in self.weights]
        return self.noise.beyond(np.maximum(*sizes), max(least, -most))

    def sums(self, beta: float) -> Interval:
        """Return bounds of the weighted sum without noise, for θ = 0."""
        reach = self.noise.quantile(np.maximum(*map(np.abs, self.weights)), beta)
        return self.alpha[0] - reach, self.alpha[1] + reach


def mean_range(noise: NoisySums, first: Floats, per_row: Floats, beta: float) -> Interval:
    """Return a range that holds the mean, from 0 to 1, with probability at least 1 - β.

    Args:
        noise: the noisy sums; their number of rows must be above 0.
        first: the weights of Σt.
        per_row: the weights of the number of rows.
        beta: the probability that the mean is outside the range.
    """
    total, rows = float(first @ noise.sums), float(per_row @ noise.sums)
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        reach = noise.quantile(np.maximum(np.abs(first - low * per_row), np.abs(first - high * per_row)), beta)
        low, high = max(low, (total - reach) / rows), min(high, (total + reach) / rows)
        if low > high:  # no mean fits: the noise was beyond its quantile
            return 0.0, 1.0
    return low, high


def bracket(noise: NoisySums, corners: Sequence[Floats], gamma: float, per_row: Floats) -> Bracket:
    """Return the bracket of a contrast from its weights at the extreme means.

    Args:
        noise: the noisy sums.
        corners: the weights at means where each weight, and the weighted sum, is least or largest.
        gamma: the factor of θ in the weighted sum.
        per_row: the factors of θ in the weights.
    """
    sums = [float(weights @ noise.sums) for weights in corners]
    return Bracket(noise, (min(sums), max(sums)), gamma, (np.min(corners, axis=0), np.max(corners, axis=0)), per_row)


def ratio(product: Interval, first: Interval, second: Interval) -> Interval:
    """Return the range of a correlation from the ranges of Σ(t-m)(s-k), Σ(t-m)² and Σ(s-k)².

    >>> ratio((1.0, 2.0), (4.0, 4.0), (1.0, 4.0)), ratio((1.0, 2.0), (-1.0, 4.0), (1.0, 4.0))
    ((0.25, 1.0), (-1.0, 1.0))
    """
    if first[0] <= 0 or second[0] <= 0:
        return -1.0, 1.0
    small, large = (sqrt(a * b) for a, b in zip(first, second, strict=True))
    low = product[0] / (large if product[0] > 0 else small)
    high = product[1] / (small if product[1] > 0 else large)
    return max(-1.0, min(low, 1.0)), min(1.0, max(high, -1.0))


def quotient(dividend: Interval, divisor: Interval) -> Interval:
    """Return the range of a quotient; (-∞, ∞) if the divisor may be 0 or less.

    >>> quotient((-1.0, 2.0), (2.0, 4.0)), quotient((1.0, 2.0), (0.0, 4.0))
    ((-0.5, 1.0), (-inf, inf))
    """
    if divisor[0] <= 0:
        return -inf, inf
    ends = [x / y for x in dividend for y in divisor]
    return min(ends), max(ends)


def hull(first: Interval, second: Interval) -> Interval:
    """Return the smallest interval that contains both."""
    return min(first[0], second[0]), max(first[1], second[1])


def _laplace(scales: Sequence[float], t: float) -> float:
    """Return Pr[|Σ bᵢ·Lᵢ| > t] = Σ e^(-t/bᵢ)·Π bᵢ²/(bᵢ² - bⱼ²) for Laplace variables, scales in increasing order.

    Nearly equal scales are moved apart, upward, by 0.3 %. So the products stay below 10^9, and the sum is exact to
    10^-7.
    """
    moved: list[float] = []
    for scale in scales:
        least = moved[-1] * _APART if moved else _SMALL * scales[-1]
        moved.append(max(scale, least))
    total = 0.0
    for index, scale in enumerate(moved):
        weight = exp(-t / scale)
        for other in moved[:index] + moved[index + 1 :]:
            weight *= scale * scale / (scale * scale - other * other)
        total += weight
    return total


def _gaussian(scales: Floats, t: float) -> float:
    return erfc(t / sqrt(2 * float(scales @ scales)))
