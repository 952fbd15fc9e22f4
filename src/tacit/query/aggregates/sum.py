"""`sum(x)`: values are clipped to their bounds, and a unit's rows are scaled down to its limits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from tacit.arrays import Floats, WideInts
from tacit.query.aggregates.grid import unit_bundle, value_grid
from tacit.query.aggregates.released_columns import (
    IntervalEnds,
    ReleasedColumn,
    Whole,
    as_floats,
    ceiling,
    nearest,
    quotients,
)
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy


class Sum:
    """A sum; a unit adds at most the larger absolute bound times the rows as which it counts."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return one measure: the value on its grid."""
        value = ask.values[0]
        g = value_grid(value, ask.bounds[0], table)
        measure = Measure(value=value, step=g.step, low=g.low, high=g.high, fraction_bits=g.fraction_bits)
        row = max(abs(g.low), abs(g.high)) << g.fraction_bits
        return (unit_bundle((measure,), row, table, nonnegative=g.low >= 0 or g.high <= 0),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the sum: integer if the values are."""
        return "integer" if ask.values[0].kind == "integer" else "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int:
        """Return the noisy sum; a sum of whole numbers is rounded to a whole number, which is post-processing."""
        del ask
        above, below = _as_ratio(released[0].bundle, released[0].integers)
        return nearest(above, below) if _is_whole(released[0].bundle) else above / below

    def estimates(self, ask: Ask, released: Sequence[ReleasedColumn]) -> WideInts | Floats:
        """Return the estimates in many cells."""
        del ask
        sums = released[0]
        below, growth = _denominator(sums.bundle), _growth(sums.bundle)
        above, _ = _as_ratio(sums.bundle, sums.columns(2 * growth + below))
        return nearest(above, below) if _is_whole(sums.bundle) else quotients(above, below)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the noisy sum plus or minus the exact quantile of its noise."""
        del ask
        sums = released[0]
        low, high, below = _ends(sums.bundle, sums.integers, _error(sums.bundle, sums.noise, confidence))
        if _is_whole(sums.bundle):
            return float(low // below), float(ceiling(high, below))
        return low / below, high / below

    def intervals(self, ask: Ask, released: Sequence[ReleasedColumn], confidence: ConfidenceLevel) -> IntervalEnds:
        """Return the intervals in many cells."""
        del ask
        sums = released[0]
        bundle, error = sums.bundle, _error(sums.bundle, sums.noise, confidence)
        common = lcm(_denominator(bundle), error.denominator)
        growth = common // _denominator(bundle) * _growth(bundle) + error.numerator * (common // error.denominator)
        low, high, below = _ends(bundle, sums.columns(growth + common), error)
        if _is_whole(bundle):
            return as_floats(low // below), as_floats(ceiling(high, below))
        return quotients(low, below), quotients(high, below)

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the exact quantile of the noise, in the value's unit of measurement."""
        del ask, assume
        return float(_error(bundles[0], noise[0], confidence))


def sum_weights(ask: Ask, bundle: Bundle) -> tuple[Fraction, ...]:
    """Return the weights of a bundle's integers in a sum, in the value's unit of measurement."""
    del ask
    return tuple(_in_steps(bundle, weight) for weight in _weights(bundle))


def _in_steps(bundle: Bundle, steps: Fraction) -> Fraction:
    measure = bundle.measures[0]
    return steps / (1 << measure.fraction_bits) * measure.step


def _as_ratio(bundle: Bundle, integers: Sequence[Whole]) -> tuple[Whole, int]:
    """Return the sum as a ratio of whole numbers, which are fast; see `_weights`."""
    measure = bundle.measures[0]
    if bundle.width == 1:
        return integers[0] * measure.step.numerator, _denominator(bundle)
    weighted = integers[0] * measure.high + integers[1] * measure.low
    return weighted * measure.step.numerator, _denominator(bundle)


def _ends(bundle: Bundle, integers: Sequence[Whole], error: Fraction) -> tuple[Whole, Whole, int]:
    """Return the numerators of the sum minus and plus an error, and their denominator."""
    above, below = _as_ratio(bundle, integers)
    common = lcm(below, error.denominator)
    middle, moved = above * (common // below), error.numerator * (common // error.denominator)
    return middle - moved, middle + moved, common


def _denominator(bundle: Bundle) -> int:
    """Return the denominator of the sum as a ratio."""
    measure = bundle.measures[0]
    below = measure.step.denominator << measure.fraction_bits
    return below if bundle.width == 1 else below * (measure.high - measure.low)


def _growth(bundle: Bundle) -> int:
    """Return the growth of the numerator of that ratio; see `released_columns`."""
    measure = bundle.measures[0]
    weights = 1 if bundle.width == 1 else abs(measure.high) + abs(measure.low)
    return weights * measure.step.numerator


def _weights(bundle: Bundle) -> tuple[Fraction, ...]:
    """Return the weights of the noisy integers in the sum: one integer, or the two sums of an average.

    Σx = (b·Σ(x - a) + a·Σ(b - x))/(b - a); see `query.aggregates.measure_sharing`.
    """
    measure = bundle.measures[0]
    if bundle.width == 1:
        return (Fraction(1),)
    return Fraction(measure.high, measure.high - measure.low), Fraction(measure.low, measure.high - measure.low)


def _error(bundle: Bundle, noise: NoiseLaw, confidence: ConfidenceLevel) -> Fraction:
    """Return the quantile of the sum's noise, in the value's unit of measurement."""
    return _in_steps(bundle, _spread(_weights(bundle), noise, confidence))


def _spread(weights: tuple[Fraction, ...], noise: NoiseLaw, confidence: ConfidenceLevel) -> Fraction:
    """Return the quantile of the sum's noise: exact for one integer, from their mixture for two."""
    beta = miss_rate(confidence)
    if len(weights) == 1:
        return Fraction(noise.quantile(beta))
    return Fraction(noise.spread(tuple(abs(float(weight)) for weight in weights), float(beta)))


def _is_whole(bundle: Bundle) -> bool:
    value = bundle.measures[0].value
    return value is not None and value.kind == "integer"
