"""Sums of two values at once, which covariances, correlations and lines of least squares are computed from.

Let t and s be the positions of the two values between their bounds, from 0 to 1 (`grid`). A row counts if it has both.
The four products are A = Σts, B = Σt(1-s), C = Σ(1-t)s and D = Σ(1-t)(1-s). They are ≥ 0 and add up to the number of
rows: for every row to exactly 1, in integers to W₁·W₂. `covariance` and `regression` have the sensitivities.

For variances there are E = Σt(1-t) and F = Σs(1-s) too, or F alone. A row adds at most 1/4 to each. They are counted in
steps of 1/2 to 1 times the step of the products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.grid import (
    ValueSteps,
    factors,
    fraction_bits,
    steps_of,
    times,
    unit_bundle,
    whole_measure,
)
from tacit.query.aggregates.moment_intervals import NoisySums, mean_range, noisy_sums, outward
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Call, Case
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused

EVEN = 12
"""One over the variance of values that are uniform between 0 and 1."""

_SIDES = (np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4))
"""The weights of A, B, C and D in Σt, in Σs and in the number of rows."""


@dataclass(frozen=True, slots=True)
class MeanPair:
    """Two means, clipped to [0, 1], and the weights of A, B, C, D in sums of deviations from them."""

    m: float
    k: float
    inside: bool

    @staticmethod
    def of(z: NoisySums, rows: float) -> MeanPair:
        """Estimate the means."""
        a, b, c = z.sums[:3].tolist()
        m, k = (min(max(x, 0.0), 1.0) for x in ((a + b) / rows, (a + c) / rows))
        return MeanPair(m, k, inside=(m, k) == ((a + b) / rows, (a + c) / rows))

    def outward(self, z: NoisySums, rows: float) -> MeanPair:
        """Return the means moved by a standard deviation toward the bounds."""
        return MeanPair(
            outward(self.m, z.deviation(self.first) / rows),
            outward(self.k, z.deviation(self.second) / rows),
            self.inside,
        )

    @property
    def first(self) -> Floats:
        """The weights in Σ(t-m)."""
        return np.array([1 - self.m, 1 - self.m, -self.m, -self.m])

    @property
    def second(self) -> Floats:
        """The weights in Σ(s-k)."""
        return np.array([1 - self.k, -self.k, 1 - self.k, -self.k])

    @property
    def product(self) -> Floats:
        """The weights in Σ(t-m)(s-k)."""
        return self.first * self.second


@dataclass(frozen=True, slots=True)
class PairSums:
    """Noisy sums of pairs, and the weights of linear functions of them at estimated means."""

    noise: NoisySums
    rows: float
    means: MeanPair

    @staticmethod
    def of(released: Released) -> PairSums | None:
        """Return the sums of `pair_bundle`, or None if the rows do not exceed their noise."""
        z = noisy_sums(released, pair_rows(released.bundle))
        rows = float(z.sums[:4].sum())
        return PairSums(z, rows, MeanPair.of(z, rows)) if z.shows(rows) else None

    @staticmethod
    def uniform(bundle: Bundle, noise: NoiseLaw, rows: int) -> PairSums:
        """Return sums to expect before the query: those of values that are uniform, so that their means are 1/2."""
        z = noisy_sums(Released(bundle, (0,) * len(bundle.measures), noise), pair_rows(bundle))
        return PairSums(z, float(rows), MeanPair(1 / 2, 1 / 2, inside=True))

    def padded(self, weights: Floats) -> Floats:
        """Return weights of the four products as weights of all sums."""
        return np.append(weights, np.zeros(len(self.noise.sums) - 4))

    def first_square(self, means: MeanPair) -> Floats:
        """Return the weights of Σ(t-m)², which is Σ of t·(1-m)² + (1-t)·m² - t(1-t), in six sums."""
        weights = self.padded(means.first**2)
        weights[-2] = -1.0
        return weights

    def second_square(self, means: MeanPair) -> Floats:
        """Return the weights of Σ(s-k)², which is Σ of s·(1-k)² + (1-s)·k² - s(1-s), in five or six sums."""
        weights = self.padded(means.second**2)
        weights[-1] = -1.0
        return weights

    def product(self, means: MeanPair) -> Floats:
        """Return the weights of Σ(t-m)(s-k)."""
        return self.padded(means.product)

    def value(self, weights: Floats) -> float:
        """Return a weighted sum."""
        return float(weights @ self.noise.sums)


def extreme_means(z: NoisySums, beta: float) -> list[MeanPair]:
    """Return the extreme pairs of possible means, each mean at level β."""
    first, second, rows = (np.append(side, np.zeros(len(z.sums) - 4)) for side in _SIDES)
    ranges = [mean_range(z, side, rows, beta) for side in (first, second)]
    return [MeanPair(m, k, inside=True) for m in ranges[0] for k in ranges[1]]


def mean_corners(z: NoisySums, beta: float) -> list[MeanPair]:
    """Return the extreme pairs of possible means, and the possible pair nearest to the estimate.

    There, sums of products are least or largest, and sums of squares are least.
    """
    corners = extreme_means(z, beta)
    estimated = MeanPair.of(z, float(z.sums[:4].sum()))
    low, high = corners[0], corners[-1]
    inner = MeanPair(min(max(estimated.m, low.m), high.m), min(max(estimated.k, low.k), high.k), inside=True)
    return [*corners, inner]


def pair_bundle(ask: Ask, table: TablePolicy, *, both: bool = True) -> Bundle:
    """Return four products and the sums for the variances of both values, or of the second alone, bounded together."""
    first, second = steps_of(ask, table)
    if not first.width or not second.width:
        raise refused(f"{ask.function} needs two values that can vary, but the bounds of one have no width")
    product, larger = first.width * second.width, max(first.width, second.width)
    bits = max(fraction_bits(product), (larger // min(first.width, second.width)).bit_length())
    inner = [_inner(first, second, product << bits)] * both + [_inner(second, first, product << bits)]
    each = (product << bits) + sum(measure.high << measure.fraction_bits for measure in inner)
    return unit_bundle((*products(first, second, bits), *inner), each, table, nonnegative=True)


def _inner(value: ValueSteps, other: ValueSteps, unit: int) -> Measure:
    """Return the measure of t(1-t) of rows that have both values, in steps of 1/2 to 1 times the products' step."""
    present = Call("not", (Call("is_null", (other.d,), "boolean"),), "boolean")
    spread = Case(((present, times(value.d, value.rest)),), None, "integer")
    return whole_measure(spread, value.width**2 // 4, (unit // value.width**2).bit_length() - 1)


def products(first: ValueSteps, second: ValueSteps, bits: int) -> tuple[Measure, ...]:
    """Return the measures of ts, t(1-s), (1-t)s and (1-t)(1-s)."""
    pairs = [(x, y) for x in (first.d, first.rest) for y in (second.d, second.rest)]
    return tuple(whole_measure(times(x, y), first.width * second.width, bits) for x, y in pairs)


def pair_row(bundle: Bundle) -> int:
    """Return the integer that represents one row in the sums of products."""
    return bundle.measures[0].high << bundle.measures[0].fraction_bits


def pair_steps(bundle: Bundle) -> tuple[ValueSteps, ValueSteps]:
    """Return the steps of the two values of a bundle of products."""
    return factors(bundle.measures[0].value)


def pair_rows(bundle: Bundle) -> tuple[int, ...]:
    """Return the integer that represents 1 in each of the five or six sums of `pair_bundle`."""
    inner = bundle.measures[4:]
    pairs = zip(pair_steps(bundle)[-len(inner) :], inner, strict=True)
    return (*(pair_row(bundle),) * 4, *(steps.width**2 << measure.fraction_bits for steps, measure in pairs))
