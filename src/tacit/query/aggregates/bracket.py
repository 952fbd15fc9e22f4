"""Intervals of variances, covariances and correlations at more than 95 % confidence, by the union bound.

The test of `contrast` treats what estimated means add in second order by its variance. At 95 % simulations confirm it.
Farther out the law of the square decides: at β = 1/8000 that test rejects the truth up to five times as often as it
should (60,000 releases of 50 rows at a bound, Laplace noise of scale 5). So below β = 1/20 nothing is approximated:

**Means.** At the true mean m the sum Σ(t-m) is 0 without noise, and with noise it is noise of known weights. With
probability 1 - β₁ it stays within the quantile of that noise, so m lies in a range that the noisy sums give. The range
narrows the weights, and these the range: both follow from the same event, so this can be repeated.

**Contrasts.** At the true means and the true θ the contrast, such as Σ(t-m)² - θ·n, is noise of known weights too. With
probability 1 - β₂ it stays within its quantile. The means are somewhere in their ranges: the sums are taken at the
means that make them least and largest, and each weight where its size is largest. Noise of independent symmetric
unimodal laws reaches farther with larger weights (Birnbaum, Annals of Mathematical Statistics 19(1), 1948), so this is
the safe side. A θ is kept unless it is rejected for all means.

With the β of all steps adding up to β, the interval holds with probability at least 1 - β for groups of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tacit.query.aggregates.contrast import Noisy, Vector
from tacit.query.aggregates.statistic import Interval

_HALVINGS = 40
_ROUNDS = 2

SIMULATED = 0.05
"""The least β for which the test of `contrast` is used alone."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """A contrast whose means are known to lie in ranges.

    `alpha` are the least and the largest weighted sum, `weights` the least and the largest weight of each noisy sum,
    both for θ = 0. θ takes `gamma` off the sum and `per_row` off the weights.
    """

    noise: Noisy
    alpha: Interval
    gamma: float
    weights: tuple[Vector, Vector]
    per_row: Vector

    def interval(self, low: float, high: float, beta: float) -> Interval:
        """Return the ends of all θ that are not rejected at level β, within what is possible."""
        least, most = (min(max(end / self.gamma, low), high) for end in self.alpha)
        return self._edge(least, low, beta), self._edge(most, high, beta)

    def _edge(self, inner: float, outer: float, beta: float) -> float:
        """Bisect between a θ that is kept and an end; the quantile is convex in θ, so it is crossed once."""
        if self._chance(outer) > beta:
            return outer
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if self._chance(middle) > beta else (inner, middle)
        return outer  # the safe end

    def _chance(self, theta: float) -> float:
        """Return how likely noise alone is as large as what is left for this θ at the best means."""
        least, most = (end - theta * self.gamma for end in self.alpha)
        if least <= 0 <= most:
            return 1.0
        sizes = [np.abs(weights - theta * self.per_row) for weights in self.weights]
        return self.noise.beyond(np.maximum(*sizes), max(least, -most))

    def sums(self, beta: float) -> Interval:
        """Return bounds of the weighted sum without noise, for θ = 0."""
        reach = _reach(self.noise, np.maximum(*map(np.abs, self.weights)), beta)
        return self.alpha[0] - reach, self.alpha[1] + reach


def mean_range(noise: Noisy, first: Vector, per_row: Vector, beta: float) -> Interval:
    """Return a range that holds the mean, from 0 to 1, with probability at least 1 - β.

    Args:
        noise: the noisy sums; their number of rows must be above 0.
        first: the weights of Σt.
        per_row: the weights of the number of rows.
        beta: how often the mean may lie elsewhere.
    """
    total, rows = float(first @ noise.sums), float(per_row @ noise.sums)
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        reach = _reach(noise, np.maximum(np.abs(first - low * per_row), np.abs(first - high * per_row)), beta)
        low, high = max(low, (total - reach) / rows), min(high, (total + reach) / rows)
        if low > high:  # no mean is possible: the noise was beyond its quantile
            return 0.0, 1.0
    return low, high


def bracket(noise: Noisy, corners: Sequence[Vector], gamma: float, per_row: Vector) -> Bracket:
    """Return the bracket of a contrast from its weights at the means that are extreme.

    Args:
        noise: the noisy sums.
        corners: the weights at means where each weight, and the weighted sum, is least or largest.
        gamma: what θ takes off the weighted sum.
        per_row: what θ takes off each weight.
    """
    sums = [float(weights @ noise.sums) for weights in corners]
    return Bracket(noise, (min(sums), max(sums)), gamma, (np.min(corners, axis=0), np.max(corners, axis=0)), per_row)


def ratio(product: Interval, one: Interval, other: Interval) -> Interval:
    """Return the range of a correlation from those of Σ(t-m)(s-k), Σ(t-m)² and Σ(s-k)².

    >>> ratio((1.0, 2.0), (4.0, 4.0), (1.0, 4.0)), ratio((1.0, 2.0), (-1.0, 4.0), (1.0, 4.0))
    ((0.25, 1.0), (-1.0, 1.0))
    """
    if one[0] <= 0 or other[0] <= 0:
        return -1.0, 1.0
    small, large = (sqrt(a * b) for a, b in zip(one, other, strict=True))
    low = product[0] / (large if product[0] > 0 else small)
    high = product[1] / (small if product[1] > 0 else large)
    return max(-1.0, min(low, 1.0)), min(1.0, max(high, -1.0))


def hull(one: Interval, other: Interval) -> Interval:
    """Return the smallest interval that holds both."""
    return min(one[0], other[0]), max(one[1], other[1])


def _reach(noise: Noisy, weights: Vector, beta: float) -> float:
    """Return a size that the noise of a weighted sum exceeds with probability at most β; the safe end."""
    low, high = 0.0, max(noise.deviation(weights), 1e-300)
    while noise.beyond(weights, high) > beta:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if noise.beyond(weights, middle) > beta else (low, middle)
    return high
