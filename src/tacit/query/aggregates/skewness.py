"""`skewness(x)`: the sample skewness of a bounded column, as DuckDB defines it, from four sums.

    G = √(n(n-1))/(n-2) · g,    g = μ₃/v^(3/2),    μ₃ and v the central moments of the population.

**Sensitivity.** Let d = 0 … W be the position of a value between its bounds (`grid`), and t = d/W. The four measures
(W-d)³, 3d(W-d)², 3d²(W-d) and d³ are ≥ 0 and add up to exactly W³ for every row, by the binomial theorem, in integers.
So a unit moves their sums z₀ … z₃ (in rows) by at most max_rows in L1 together; truncation makes no integer larger. A
cube takes three times the bits of a value, so there are at most 2^13 steps, and fewer if a unit may count as many rows:
bits = (39 - log₂ rows)/3, from 10 to 13. Rounding x to a step of (b-a)/2^13 matters for columns that are concentrated
on a small part of their bounds; there noise matters more.

With B_i = C(3,i)·t^i·(1-t)^(3-i) a cubic in t has the weights of its Bernstein coefficients:
1 = ΣB_i;  (t-m)³ has ((1-m)^i·(-m)^(3-i))_i;  a square or a linear function is raised in degree.

**Estimate and interval** (`moment_intervals`). Let A_j = Σ(t-m)^j at the estimated mean m, so that A₁ = 0. The contrast
for g is the statistic times n·v^(3/2):

    T(g) = Σ(t-m)³ - g·n·v^(3/2).

Its term of first order, with derivatives by the nuisance values m and v that are 0 at the truth, is the noise of
(t-m)³ - 3v·(t-m) - g·√v·(3/2·(t-m)² - v/2). With a_j the noise of A_j, the term of second order is

    Q = -3·a₁·(a₂ - v·a₀)/n - g·(-3/2·√v·a₁² + 3/8·(a₂ - v·a₀)²/√v)/n.

These follow from Σ(t-mean)³ = A₃ - 3A₁A₂/n + 2A₁³/n² and n·v = A₂ - A₁²/n, expanded at A₁ = 0. The factor of the sample
uses the noisy n; its derivative by n is about -3/2n², so noise in n moves it far less than noise moves g.

|g| ≤ (n-2)/√(n-1), so it has no bound that does not depend on n. If a test at the level of the interval does not reject
that v is 0, or there are at most twice as many rows as the scale of their noise, the interval is (-∞, ∞) and the
estimate 0. SQL's answer for two rows, and for rows that are all equal, is NULL; tacit cannot tell.

**Above 95 % confidence** nothing is approximated: with β/4 each, the mean, A₃, A₂ and n are in ranges, by the union
bound; a cubic in m is least or largest at the ends of the range of m, or where its derivative is 0.

Coverage at 95 % is simulated, not proved (`tests/query/aggregates/test_regression.py`). It is 94.3 % where a few of
many rows are at a bound (10,000 releases).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, inf, sqrt

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.grid import (
    fraction_bits,
    rows_of,
    times,
    unit_bundle,
    value_steps,
    whole,
    whole_measure,
)
from tacit.query.aggregates.moment_intervals import (
    SIMULATED,
    Contrast,
    NoisySums,
    bracket,
    hull,
    mean_range,
    noisy_sums,
    second_order,
    unbounded,
)
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused

_MOST_BITS, _LEAST_BITS, _CUBE_BITS = 13, 10, 39
_EVEN = 12**1.5
"""One over v^(3/2) of values that are uniform between 0 and 1."""

_FEWEST = 3.0
_ONES, _MEAN = np.ones(4), np.array([0.0, 1 / 3, 2 / 3, 1.0])
"""The weights of n and of Σt."""


class Skewness:
    """The sample skewness of clipped values; a unit's rows count as at most max_rows."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return four measures, (W-d)³, 3d(W-d)², 3d²(W-d) and d³, bounded together."""
        few = max(_LEAST_BITS, min(_MOST_BITS, (_CUBE_BITS - rows_of(table).bit_length() + 1) // 3))
        steps = value_steps(ask.values[0], ask.bounds[0], table, few)
        if not steps.width:
            raise refused("skewness needs a value that can vary, but its bounds have no width")
        cube = steps.width**3
        bits = fraction_bits(cube)
        measures = tuple(
            whole_measure(_power(steps.d, steps.rest, power), _largest(steps.width, power), bits) for power in range(4)
        )
        return (unit_bundle(measures, cube << bits, table, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a skewness."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate; 0 if the rows or their spread do not exceed noise."""
        del ask
        z = _sums(released[0])
        test = _contrast(z, 1.0)
        rows = float(z.sums.sum())
        return 0.0 if test is None else _factor(rows) * test.estimate(-sqrt(rows), sqrt(rows))

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the ends of all values that the test does not reject; (-∞, ∞) if there is no test."""
        del ask
        z, beta = _sums(released[0]), float(miss_rate(confidence))
        test = _contrast(z, beta)
        if test is None:
            return -inf, inf
        rows = float(z.sums.sum())
        low, high = (_factor(rows) * end for end in unbounded(test, beta))
        return (low, high) if beta >= SIMULATED else hull((low, high), _ranges(z, beta / 4))

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the error for the assumed rows; infinity without an assumption.

        It supposes that the value is uniform over its bounds. A value with less spread has a larger error.
        """
        del ask
        if assume is None or assume < _FEWEST:
            return inf
        z = _sums(Released(bundles[0], (0,) * 4, noise[0]))
        weights = _cubic(1 / 2) - 3 / 12 * (_MEAN - 1 / 2)
        return _factor(float(assume)) * z.quantile(weights, float(miss_rate(confidence))) * _EVEN / assume


def _contrast(z: NoisySums, beta: float) -> Contrast | None:
    """Return the test of g, or None if rows or spread do not exceed noise at level β."""
    rows = float(z.sums.sum())
    if not z.shows(rows) or rows < _FEWEST:
        return None
    m = min(max(float(_MEAN @ z.sums) / rows, 0.0), 1.0)
    linear, square, cubic = _MEAN - m, _square(m), _cubic(m)
    spread = float(square @ z.sums)
    if spread <= 0 or z.beyond(square, spread) >= beta:
        return None
    v = spread / rows
    root, of_spread = sqrt(v), square - v * _ONES
    fixed = [(-3 / rows, linear, of_spread)]
    times_theta = [(3 / 2 * root / rows, linear, linear), (-3 / 8 / root / rows, of_spread, of_spread)]
    weights = cubic - 3 * v * linear, -root * (3 / 2 * square - v / 2 * _ONES)
    return second_order(z, (float(cubic @ z.sums), rows * v * root), weights, fixed, times_theta)


def _ranges(z: NoisySums, beta: float) -> Interval:
    """Return a range from the mean, the sums of cubes and squares and the number of rows, each at level β."""
    least, most = mean_range(z, _MEAN, _ONES, beta)
    critical = np.array([1 / 3, 2 / 3, float(_MEAN @ z.sums) / float(z.sums.sum()), *_roots(z)])
    means = [least, most, *np.clip(critical, least, most).tolist()]
    none = np.zeros(4)
    cubes = bracket(z, [_cubic(m) for m in means], 1.0, none).sums(beta)
    squares = bracket(z, [_square(m) for m in means], 1.0, none).sums(beta)
    rows = bracket(z, [_ONES], 1.0, none).sums(beta)
    if squares[0] <= 0 or rows[0] < _FEWEST:
        return -inf, inf
    # G = c·√n·A₃/A₂^(3/2), where c·√n falls until _TURNING and then grows
    factors = [_factor(n) * sqrt(n) for n in (*rows, min(max(_TURNING, rows[0]), rows[1]))]
    ends = [cube * size / square**1.5 for cube in cubes for square in squares for size in (min(factors), max(factors))]
    return min(ends), max(ends)


_TURNING = 3 + sqrt(5)
"""Where √(n(n-1))/(n-2)·√n is least: its logarithm has the derivative (n² - 6n + 4)/(2n(n-1)(n-2))."""


def _roots(z: NoisySums) -> list[float]:
    """Return the means at which the derivative of Σ(t-m)³, a multiple of Σ(t-m)², is 0."""
    rows, first, second = (float(weights @ z.sums) for weights in (_ONES, _MEAN, _square(0.0)))
    inside = first * first - rows * second
    return [(first + side * sqrt(inside)) / rows for side in (-1, 1)] if inside >= 0 else []


def _factor(rows: float) -> float:
    """Return √(n(n-1))/(n-2), the factor of a sample of n rows, for at least 3 rows."""
    n = max(rows, _FEWEST)
    return sqrt(n * (n - 1)) / (n - 2)


def _cubic(m: float) -> Floats:
    """Return the weights of the four sums in Σ(t-m)³."""
    return np.array([(1 - m) ** i * (-m) ** (3 - i) for i in range(4)])


def _square(m: float) -> Floats:
    """Return the weights of the four sums in Σ(t-m)²; the coefficients of degree 2 are raised to degree 3."""
    a, b, c = m * m, -m * (1 - m), (1 - m) ** 2
    return np.array([a, (a + 2 * b) / 3, (2 * b + c) / 3, c])


def _power(d: Expression, rest: Expression, power: int) -> Expression:
    """Return C(3, p)·d^p·(W-d)^(3-p)."""
    first, second, third = (d,) * power + (rest,) * (3 - power)
    product = times(times(first, second), third)
    return product if comb(3, power) == 1 else times(whole(comb(3, power)), product)


def _largest(width: int, power: int) -> int:
    """Return an upper bound of C(3, p)·d^p·(W-d)^(3-p): W³, or 4/9·W³ at d = W/3 or 2W/3."""
    return width**3 if power in (0, 3) else 4 * width**3 // 9


def _sums(released: Released) -> NoisySums:
    return noisy_sums(released, (released.bundle.measures[3].high << released.bundle.measures[3].fraction_bits,) * 4)
