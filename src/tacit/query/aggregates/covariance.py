"""`covar_pop`, `covar_samp` and `corr` of two bounded columns; rows count where both values are there.

With t and s the places of the two values between their bounds, from 0 to 1 (`steps`), the four measures ts, t(1-s),
(1-t)s and (1-t)(1-s) are ≥ 0 and add up to exactly 1 for every row, in integers to W₁·W₂. So a unit moves their sums
A, B, C, D by at most max_rows in L1 together, and one noise scale serves all four. From them follow

    n = A + B + C + D,    Σt = A + B,    Σs = A + C,    population covariance (AD - BC)/n².

The contrast is Σ(t-m)(s-k) - θ·n, with n - 1 for n in a sample; with estimated means it is off by the product of their
noises over n, in second order (see `contrast`).

**Correlation** needs the variances too, that is E = Σt(1-t) and F = Σs(1-s), of which a row adds at most 1/4 to each.
All six are one bundle: a unit moves them by at most 3/2·max_rows. Two bundles with ε split evenly would have 2 scales
on A to D in place of 3/2, and 1 on E and F; A to D weigh more in the correlation. E and F are counted in units that are
1/2 to 1 of that of A to D. With the means m, k and r = √(Var s/Var t)

    Σ(t-m)(s-k) - θ/2·(r·Σ(t-m)² + Σ(s-k)²/r)

is 0 at the true θ, and its derivatives by m, k and r are 0 there; with estimates for them it is n·(cov - θ·√(Var t·Var
s)). Where either variance cannot be told from 0 at the same level, the correlation may be anything from -1 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tacit.query.aggregates.bracket import SIMULATED, bracket, hull, mean_range, ratio
from tacit.query.aggregates.contrast import Contrast, Noisy, Vector, noisy, outward
from tacit.query.aggregates.statistic import Confidence, Interval, Released, miss_rate
from tacit.query.aggregates.steps import Steps, factors, fraction_bits, rows_of, steps, summed, times
from tacit.query.expressions import Call, Case, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused

_MOST = {False: 1 / 4, True: 1 / 2}
_EVEN = 12
_SIDES = (np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4))
"""The weights of A, B, C and D in Σt, in Σs and in the number of rows."""


@dataclass(frozen=True, slots=True)
class Covariance:
    """The covariance of clamped values, of a `sample` or not; a unit's rows weigh as at most max_rows."""

    sample: bool

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Four products, bounded together."""
        one, other = (steps(value, bounds, table) for value, bounds in zip(ask.values, ask.bounds, strict=True))
        bits = fraction_bits(one.width * other.width)
        reach = max(1, rows_of(table) * one.width * other.width << bits)
        return (Bundle(measures=_products(one, other, bits), reach=reach, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """A covariance is a real number."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate, kept within what is possible; 0 where no row can be told from noise."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        return 0.0 if test is None else _size(released[0].bundle) * test.estimate(-most, most)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: Confidence) -> Interval:
        """Return the ends of all covariances that the test does not reject; all possible ones if it tells nothing."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        beta = float(miss_rate(confidence))
        low, high = (-most, most) if test is None else test.interval(-most, most, beta)
        if test is not None and beta < SIMULATED:
            corners, ones = _corners(test.noise, beta / 3), np.ones(4)
            own = bracket(test.noise, [mean.product for mean in corners], test.gamma, ones)
            low, high = hull((low, high), own.interval(-most, most, beta / 3))
        size = _size(released[0].bundle)
        return size * low, size * high

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: Confidence, assume: int | None
    ) -> float:
        """The quantile at the worst means, a corner of the bounds, over the assumed rows."""
        del ask
        size, unit = _size(bundles[0]), _row(bundles[0])
        most, rows = size * _MOST[self.sample], 0 if assume is None else assume - int(self.sample)
        if rows <= 0 or not unit:
            return most
        return min(most, size * noise[0].quantile(miss_rate(confidence)) / (unit * rows))

    def _contrast(self, one: Released) -> Contrast | None:
        unit = _row(one.bundle)
        if not unit:
            return None
        z = noisy(one, (unit,) * 4)
        rows = float(z.sums.sum())
        if not z.tells(rows - self.sample):
            return None
        mean = _Means.of(z, rows)
        bias, spread = z.quadratic([(-1 / rows, mean.one, mean.other)])
        left = float(mean.product @ z.sums) - (bias if mean.inside else 0.0)
        weights = mean.outward(z, rows).product, np.full(4, -1.0)
        return Contrast(z, left, rows - self.sample, weights, (spread, 0.0, 0.0))


class Correlation:
    """The correlation of clamped values; a unit's rows weigh as at most max_rows."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Four products, and what the two variances need, bounded together."""
        one, other = (steps(value, bounds, table) for value, bounds in zip(ask.values, ask.bounds, strict=True))
        if not one.width or not other.width:
            raise refused("corr takes two values that can vary, and the bounds of one have no width")
        both, larger = one.width * other.width, max(one.width, other.width)
        bits = max(fraction_bits(both), (larger // min(one.width, other.width)).bit_length())
        inner = _inner(one, other, both << bits), _inner(other, one, both << bits)
        each = (both << bits) + sum(measure.high << measure.fraction_bits for measure in inner)
        measures = *_products(one, other, bits), *inner
        return (Bundle(measures=measures, reach=rows_of(table) * each, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """A correlation is a real number."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate, from -1 to 1; 0 where the rows or their spread cannot be told from noise."""
        del ask
        test = _correlated(released[0], 1.0)
        return 0.0 if test is None else test.estimate(-1.0, 1.0)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: Confidence) -> Interval:
        """Return the ends of all correlations that the test does not reject; -1 and 1 where it tells nothing."""
        del ask
        beta = float(miss_rate(confidence))
        test = _correlated(released[0], beta)
        if test is None:
            return -1.0, 1.0
        ends = test.interval(-1.0, 1.0, beta)
        return ends if beta >= SIMULATED else hull(ends, _correlations(test.noise, beta / 5))

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: Confidence, assume: int | None
    ) -> float:
        """For the assumed rows, if both values spread evenly over their bounds and are not correlated: else 1.

        Then the four products weigh 1/4 each, and the variances are 1/12. Values with less spread have a larger error.
        """
        del ask
        if not assume:
            return 1.0
        z = noisy(Released(bundles[0], (0,) * 6, noise[0]), _rows(bundles[0]))
        weights = np.array([1 / 4, -1 / 4, -1 / 4, 1 / 4, 0.0, 0.0])
        low, high, beta = 0.0, assume / _EVEN, float(miss_rate(confidence))
        if z.beyond(weights, high) > beta:
            return 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if z.beyond(weights, middle) > beta else (low, middle)
        return min(1.0, high * _EVEN / assume)


@dataclass(frozen=True, slots=True)
class _Means:
    """Two means, kept between 0 and 1, and the weights of A, B, C, D in what is left of sums around them."""

    m: float
    k: float
    inside: bool

    @staticmethod
    def of(z: Noisy, rows: float) -> _Means:
        """Estimate them."""
        a, b, c = z.sums[:3].tolist()
        m, k = (min(max(x, 0.0), 1.0) for x in ((a + b) / rows, (a + c) / rows))
        return _Means(m, k, inside=(m, k) == ((a + b) / rows, (a + c) / rows))

    def outward(self, z: Noisy, rows: float) -> _Means:
        """Return them a standard deviation nearer to the bounds."""
        return _Means(
            outward(self.m, z.deviation(self.one) / rows), outward(self.k, z.deviation(self.other) / rows), self.inside
        )

    @property
    def one(self) -> Vector:
        """The weights in Σ(t-m)."""
        return np.array([1 - self.m, 1 - self.m, -self.m, -self.m])

    @property
    def other(self) -> Vector:
        """The weights in Σ(s-k)."""
        return np.array([1 - self.k, -self.k, 1 - self.k, -self.k])

    @property
    def product(self) -> Vector:
        """The weights in Σ(t-m)(s-k)."""
        return self.one * self.other


def _correlated(released: Released, beta: float) -> Contrast | None:
    """Return the test of correlations, or None if rows or spread cannot be told from noise at level β."""
    z = noisy(released, _rows(released.bundle))
    rows = float(z.sums[:4].sum())
    if not z.tells(rows):
        return None
    mean = _Means.of(z, rows)
    one, other, product = (np.append(weights, (0.0, 0.0)) for weights in (mean.one, mean.other, mean.product))
    # (t-m)² is (1-m)² where t counts and m² where it does not, less t(1-t)
    square, other_square = np.append(mean.one**2, (-1.0, 0.0)), np.append(mean.other**2, (0.0, -1.0))
    left, v, w = (float(weights @ z.sums) for weights in (product, square, other_square))
    if min(v, w) <= 0 or max(z.beyond(square, v), z.beyond(other_square, w)) >= beta:
        return None
    r, both = sqrt(w / v), sqrt(v * w)
    apart = square / v - other_square / w
    fixed = [(-1 / rows, one, other)]
    times_theta = [(r / 2 / rows, one, one), (1 / r / 2 / rows, other, other), (both / 8, apart, apart)]
    (bias, at_zero), (slope, _) = z.quadratic(fixed), z.quadratic(times_theta)
    up, down = (z.quadratic([*fixed, *((side * x, a, b) for x, a, b in times_theta)])[1] for side in (1, -1))
    spread = at_zero, (up - down) / 2, (up + down) / 2 - at_zero
    return Contrast(z, left - bias, both + slope, (product, -(r * square + other_square / r) / 2), spread)


def _corners(z: Noisy, beta: float) -> list[_Means]:
    """Return the extreme pairs of means that noise allows, each mean at level β."""
    one, other, rows = (np.append(side, np.zeros(len(z.sums) - 4)) for side in _SIDES)
    first, second = (mean_range(z, side, rows, beta) for side in (one, other))
    return [_Means(m, k, inside=True) for m in first for k in second]


def _correlations(z: Noisy, beta: float) -> Interval:
    """Return a range of correlations: two means, a sum of products and two of squares, each at level β."""
    corners = _corners(z, beta)
    estimated = _Means.of(z, float(z.sums[:4].sum()))
    low, high = corners[0], corners[-1]
    inner = _Means(min(max(estimated.m, low.m), high.m), min(max(estimated.k, low.k), high.k), inside=True)
    means = [*corners, inner]  # sums of squares are least at the estimated means
    product = [np.append(mean.product, (0.0, 0.0)) for mean in means]
    square = [np.append(mean.one**2, (-1.0, 0.0)) for mean in means]
    other = [np.append(mean.other**2, (0.0, -1.0)) for mean in means]
    return ratio(*(bracket(z, weights, 1.0, np.zeros(6)).sums(beta) for weights in (product, square, other)))


def _products(one: Steps, other: Steps, bits: int) -> tuple[Measure, ...]:
    """Return the measures of ts, t(1-s), (1-t)s and (1-t)(1-s)."""
    pairs = [(x, y) for x in (one.d, one.rest) for y in (other.d, other.rest)]
    return tuple(summed(times(x, y), one.width * other.width, bits) for x, y in pairs)


def _inner(own: Steps, other: Steps, unit: int) -> Measure:
    """Return the measure of t(1-t) where the other value is there too, in units of 1/2 to 1 of the products' unit."""
    there = Call("not", (Call("is_null", (other.d,), "boolean"),), "boolean")
    value = Case(((there, times(own.d, own.rest)),), None, "integer")
    return summed(value, own.width**2 // 4, (unit // own.width**2).bit_length() - 1)


def _row(bundle: Bundle) -> int:
    return bundle.measures[0].high << bundle.measures[0].fraction_bits


def _rows(bundle: Bundle) -> tuple[int, ...]:
    """Return what stands for 1 in each of a correlation's six integers."""
    pairs = zip(factors(bundle.measures[0].value), bundle.measures[4:], strict=True)
    return (*(_row(bundle),) * 4, *(own.width**2 << measure.fraction_bits for own, measure in pairs))


def _size(bundle: Bundle) -> float:
    one, other = factors(bundle.measures[0].value)
    return float(one.size * other.size)
