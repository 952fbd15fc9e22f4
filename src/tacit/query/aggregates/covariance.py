"""`covar_pop`, `covar_samp` and `corr` of two bounded columns; a row counts if it has both values.

Let t and s be the positions of the two values between their bounds, from 0 to 1 (`grid`). The four measures ts, t(1-s),
(1-t)s and (1-t)(1-s) are ≥ 0 and add up to exactly 1 for every row, in integers to W₁·W₂. So a unit moves their sums
A, B, C, D by at most max_rows in L1 together, and all four have one noise scale. From them follow

    n = A + B + C + D,    Σt = A + B,    Σs = A + C,    population covariance (AD - BC)/n².

The contrast is Σ(t-m)(s-k) - θ·n, with n - 1 in place of n for a sample. With estimated means it is off by the product
of their noises over n, in second order (see `moment_intervals`).

**Correlation** needs the variances too, that is E = Σt(1-t) and F = Σs(1-s). A row adds at most 1/4 to each. All six
sums are one bundle: a unit moves them by at most 3/2·max_rows. Two bundles with ε split evenly would have 2 scales on A
to D in place of 3/2, and 1 on E and F; A to D matter more for the correlation. E and F are counted in steps of 1/2 to 1
times the step of A to D. With the means m, k and r = √(Var s/Var t)

    Σ(t-m)(s-k) - θ/2·(r·Σ(t-m)² + Σ(s-k)²/r)

is 0 at the true θ, and its derivatives by m, k and r are 0 there. With estimates for them it is
n·(cov - θ·√(Var t·Var s)). If a test at the same level does not reject that either variance is 0, the interval of the
correlation is from -1 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tacit.query.aggregates.grid import (
    factors,
    fraction_bits,
    steps_of,
    unit_bundle,
)
from tacit.query.aggregates.moment_intervals import (
    SIMULATED,
    Contrast,
    bracket,
    hull,
    noisy_sums,
    ratio,
    second_order,
)
from tacit.query.aggregates.pair_sums import (
    EVEN,
    MeanPair,
    PairSums,
    extreme_means,
    mean_corners,
    pair_bundle,
    pair_row,
    products,
)
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy

_MOST = {False: 1 / 4, True: 1 / 2}


@dataclass(frozen=True, slots=True)
class Covariance:
    """The covariance of clipped values, of a `sample` or not; a unit's rows count as at most max_rows."""

    sample: bool

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return four products, bounded together."""
        first, second = steps_of(ask, table)
        bits = fraction_bits(first.width * second.width)
        row = first.width * second.width << bits
        return (unit_bundle(products(first, second, bits), row, table, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a covariance."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate, clipped to the possible range; 0 if the rows do not exceed their noise."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        return 0.0 if test is None else _size(released[0].bundle) * test.estimate(-most, most)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the ends of all covariances that the test does not reject; the possible range if there is no test."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        beta = float(miss_rate(confidence))
        low, high = (-most, most) if test is None else test.interval(-most, most, beta)
        if test is not None and beta < SIMULATED:
            corners, ones = extreme_means(test.noise, beta / 3), np.ones(4)
            means = bracket(test.noise, [mean.product for mean in corners], test.gamma, ones)
            low, high = hull((low, high), means.interval(-most, most, beta / 3))
        size = _size(released[0].bundle)
        return size * low, size * high

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the quantile at the worst means, a corner of the bounds, divided by the assumed rows."""
        del ask
        size, unit = _size(bundles[0]), pair_row(bundles[0])
        most, rows = size * _MOST[self.sample], 0 if assume is None else assume - int(self.sample)
        if rows <= 0 or not unit:
            return most
        return min(most, size * noise[0].quantile(miss_rate(confidence)) / (unit * rows))

    def _contrast(self, sums: Released) -> Contrast | None:
        unit = pair_row(sums.bundle)
        if not unit:
            return None
        z = noisy_sums(sums, (unit,) * 4)
        rows = float(z.sums.sum())
        if not z.shows(rows - self.sample):
            return None
        mean = MeanPair.of(z, rows)
        bias, spread = z.quadratic([(-1 / rows, mean.first, mean.second)])
        left = float(mean.product @ z.sums) - (bias if mean.inside else 0.0)
        weights = mean.outward(z, rows).product, np.full(4, -1.0)
        return Contrast(z, left, rows - self.sample, weights, (spread, 0.0, 0.0))


class Correlation:
    """The correlation of clipped values; a unit's rows count as at most max_rows."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return four products and the two sums for the variances, bounded together."""
        return (pair_bundle(ask, table),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a correlation."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate, from -1 to 1; 0 if the rows or their spread do not exceed noise."""
        del ask
        test = _correlated(released[0], 1.0)
        return 0.0 if test is None else test.estimate(-1.0, 1.0)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the ends of all correlations that the test does not reject; -1 and 1 if there is no test."""
        del ask
        beta = float(miss_rate(confidence))
        sums, test = PairSums.of(released[0]), _correlated(released[0], beta)
        if sums is None or test is None:
            return -1.0, 1.0
        ends = test.interval(-1.0, 1.0, beta)
        return ends if beta >= SIMULATED else hull(ends, _correlations(sums, beta / 5))

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the error for the assumed rows; 1 without an assumption.

        It supposes that both values are uniform over their bounds and not correlated. Then the four products have
        weights of 1/4 each, and the variances are 1/12. Values with less spread have a larger error.
        """
        del ask
        if not assume:
            return 1.0
        sums = PairSums.uniform(bundles[0], noise[0], assume)
        z, weights = sums.noise, sums.product(sums.means)
        low, high, beta = 0.0, assume / EVEN, float(miss_rate(confidence))
        if z.beyond(weights, high) > beta:
            return 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if z.beyond(weights, middle) > beta else (low, middle)
        return min(1.0, high * EVEN / assume)


def _correlated(released: Released, beta: float) -> Contrast | None:
    """Return the test of correlations, or None if rows or spread do not exceed noise at level β."""
    sums = PairSums.of(released)
    if sums is None:
        return None
    z, rows, mean = sums.noise, sums.rows, sums.means
    first, second, product = (sums.padded(weights) for weights in (mean.first, mean.second, mean.product))
    first_square, second_square = sums.first_square(mean), sums.second_square(mean)
    left, v, w = map(sums.value, (product, first_square, second_square))
    if min(v, w) <= 0 or max(z.beyond(first_square, v), z.beyond(second_square, w)) >= beta:
        return None
    r, both = sqrt(w / v), sqrt(v * w)
    difference = first_square / v - second_square / w
    fixed = [(-1 / rows, first, second)]
    times_theta = [
        (r / 2 / rows, first, first),
        (1 / r / 2 / rows, second, second),
        (both / 8, difference, difference),
    ]
    weights = product, -(r * first_square + second_square / r) / 2
    return second_order(z, (left, both), weights, fixed, times_theta)


def _correlations(sums: PairSums, beta: float) -> Interval:
    """Return a range of correlations from two means, a sum of products and two sums of squares, each at level β."""
    means, z = mean_corners(sums.noise, beta), sums.noise
    every = ([weigh(mean) for mean in means] for weigh in (sums.product, sums.first_square, sums.second_square))
    return ratio(*(bracket(z, weights, 1.0, np.zeros(6)).sums(beta) for weights in every))


def _size(bundle: Bundle) -> float:
    first, second = factors(bundle.measures[0].value)
    return float(first.size * second.size)
