"""`regr_slope(y, x)`, `regr_intercept(y, x)` and `regr_r2(y, x)`: the line of least squares; y comes first, as in SQL.

A row counts if it has both values. Let t and s be the positions of y and x between their bounds (`grid`). The measures
are the four products of `covariance` and F = Σs(1-s), as one bundle. The products add up to 1 for every row and s(1-s)
is at most 1/4, so a unit moves the five sums by at most 5/4·max_rows in L1. If the query has `corr(y, x)` or
`regr_r2(y, x)` too, the six sums of the correlation are used for all (`measure_sharing`). Slope and intercept of one
pair share one bundle.

Let n, m, k be the number of rows and the means of t and s, v and c the variance of s and the covariance, all from the
sums (C_ss = n·v, C_ts = n·c). In the contrasts below a sum of weights w over rows means w·z; its noise is w·N.

**Slope** θ = c/v, in units of t over s. The contrast is

    T(θ) = Σ(t-m)(s-k) - θ·Σ(s-k)²,

0 at the true θ, with derivatives 0 there: by m it is -Σ(s-k) = 0, by k it is -Σ(t-m) + 2θ·Σ(s-k) = 0. With a_t, a_s the
noises of Σ(t-m) and Σ(s-k), the term of second order is Q = (-a_t·a_s + θ·a_s²)/n.

**Intercept** φ is the line's value where x = 0, that is at s = s₀, in units of t: φ = m - θ·ū with ū = k - s₀. The
contrast is that equation times C_ss:

    T(φ) = (m - φ)·C_ss - ū·C_ts.

Its term of first order is the noise of the weights v·(t-m) + (m-φ)·(s-k)² - c·(s-k) - ū·(t-m)(s-k). With b, d and a₀
the noises of Σ(s-k)², Σ(t-m)(s-k) and n, the term of second order is

    Q = (a_t·(b - v·a₀) - m·a_s² - a_s·(d - c·a₀) + ū·a_t·a_s + φ·a_s²)/n.

`moment_intervals` turns a contrast into an estimate and an interval. Neither statistic has a range that bounds imply:
the slope is unbounded as v goes to 0. If a test at the level of the interval does not reject that v is 0, the interval
is (-∞, ∞) and the estimate is 0 for the slope, and m for the intercept. SQL's answer is NULL then; tacit cannot tell.

**Above 95 % confidence** nothing is approximated: by the union bound, with β/5 each, the two means, Σ(t-m)(s-k),
Σ(s-k)² and n are in ranges (`covariance`), and the slope and the intercept in the quotients of these.

**r²** is the square of the correlation, and its interval is the image of that of the correlation. Where y has no
spread SQL returns 1; there the interval is from 0 to 1.

A public number of rows is not used: without it A to D fix n up to their noise, and the contrasts at means within the
bounds have less noise than n·Σde - Σd·Σe has (`sized_moments`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tacit.query.aggregates.covariance import Correlation
from tacit.query.aggregates.moment_intervals import (
    SIMULATED,
    Contrast,
    Quadratic,
    bracket,
    hull,
    quotient,
    second_order,
    unbounded,
)
from tacit.query.aggregates.pair_sums import EVEN, PairSums, mean_corners, pair_bundle, pair_steps
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy


@dataclass(frozen=True, slots=True)
class Regression:
    """The slope of the line of least squares, or its intercept, of clipped values."""

    intercept: bool = False

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return four products and the sum for the variance of x, bounded together."""
        return (pair_bundle(ask, table, both=False),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a slope."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate; if rows or the spread of x do not exceed noise, a flat line at the mean of y."""
        del ask
        line = PairSums.of(released[0])
        test = None if line is None else self._contrast(line, released[0].bundle, 1.0)
        if test is not None:
            found = min(max(test.alpha / test.gamma, -_LARGEST), _LARGEST)
        else:
            found = 0.0 if not self.intercept else 1 / 2 if line is None else line.means.m
        return self._scaled(found, released[0].bundle)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the ends of all values that the test does not reject; (-∞, ∞) if there is no test."""
        del ask
        beta, bundle = float(miss_rate(confidence)), released[0].bundle
        line = PairSums.of(released[0])
        test = None if line is None else self._contrast(line, bundle, beta)
        if line is None or test is None:
            return -inf, inf
        ends = unbounded(test, beta)
        if beta < SIMULATED:
            ends = hull(ends, self._ranges(line, bundle, beta / 5))
        low, high = (self._scaled(end, bundle) for end in ends)
        return low, high

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the error for the assumed rows; infinity without an assumption.

        It supposes that both values are uniform over their bounds and not correlated, as for a correlation. Then the
        variances are 1/12, and the means 1/2. A narrower x has a larger error.
        """
        del ask
        if not assume:
            return inf
        sums = PairSums.uniform(bundles[0], noise[0], assume)
        z, weights = sums.noise, sums.product(sums.means)
        if self.intercept:
            first = sums.padded(sums.means.first)
            weights = first / EVEN - (1 / 2 - _zero(bundles[0])) * weights
        beta = float(miss_rate(confidence))
        if z.beyond(weights, assume / EVEN) > beta and not self.intercept:
            return inf
        size = self._scaled(1.0, bundles[0]) - self._scaled(0.0, bundles[0])
        return size * z.quantile(weights, beta) * EVEN / assume

    def _contrast(self, line: PairSums, bundle: Bundle, beta: float) -> Contrast | None:
        """Return the test, or None if the spread of x does not exceed its noise at level β."""
        z, rows, means = line.noise, line.rows, line.means
        square, product = line.second_square(means), line.product(means)
        spread = line.value(square)
        if spread <= 0 or z.beyond(square, spread) >= beta:
            return None
        first, second, ones = (line.padded(each) for each in (means.first, means.second, np.ones(4)))
        times_theta: Quadratic = [(1 / rows, second, second)]
        if self.intercept:
            v, c = spread / rows, line.value(product) / rows
            away = means.k - _zero(bundle)
            weights = v * first + means.m * square - c * second - away * product
            fixed = [
                (1 / rows, first, square - v * ones),
                (-means.m / rows, second, second),
                (-1 / rows, second, product - c * ones),
                (away / rows, first, second),
            ]
            alpha = means.m * spread - away * line.value(product)
        else:
            weights, fixed, alpha = product, [(-1 / rows, first, second)], line.value(product)
        return second_order(z, (alpha, spread), (weights, -square), fixed, times_theta)

    def _ranges(self, line: PairSums, bundle: Bundle, beta: float) -> Interval:
        """Return a range from two means, a sum of products and a sum of squares, each at level β."""
        z = line.noise
        means = mean_corners(z, beta)
        none = np.zeros(len(z.sums))
        products = bracket(z, [line.product(mean) for mean in means], 1.0, none).sums(beta)
        squares = bracket(z, [line.second_square(mean) for mean in means], 1.0, none).sums(beta)
        low, high = quotient(products, squares)
        if not self.intercept:
            return low, high
        zero = _zero(bundle)
        ends = [mean.m - slope * (mean.k - zero) for mean in means[:4] for slope in (low, high)]
        return (-inf, inf) if not np.isfinite(ends).all() else (min(ends), max(ends))

    def _scaled(self, found: float, bundle: Bundle) -> float:
        """Return a slope or an intercept of t and s in the units of y and x."""
        y, x = pair_steps(bundle)
        if not self.intercept:
            return found * float(y.size / x.size)
        return float(y.first * y.step) + found * float(y.size) if abs(found) < inf else found


class RSquared:
    """The square of the correlation of clipped values."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the six sums of the correlation."""
        return (pair_bundle(ask, table),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a share."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the square of the estimated correlation."""
        return Correlation().estimate(ask, released) ** 2

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the squares of all correlations in their interval."""
        low, high = Correlation().interval(ask, released, confidence)
        ends = low * low, high * high
        return (0.0 if low <= 0 <= high else min(ends)), max(ends)

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the error if the correlation is off by e: |ρ̂² - ρ²| ≤ 2e, because |ρ̂ + ρ| ≤ 2; at most 1."""
        return min(1.0, 2 * Correlation().error(ask, bundles, noise, confidence, assume))


_LARGEST = 1e300


def _zero(bundle: Bundle) -> float:
    """Return s₀, the position of x = 0 between the bounds of x."""
    _, x = pair_steps(bundle)
    return -x.first / x.width
