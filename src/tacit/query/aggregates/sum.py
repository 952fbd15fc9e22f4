"""`sum(x)`: values are clipped to their bounds, and a unit's rows are scaled down to its limits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from tacit.query.aggregates.grid import unit_bundle, value_grid
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
        sums = released[0]
        above, below = _as_ratio(sums)
        return (2 * above + below) // (2 * below) if _is_whole(sums) else above / below

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the noisy sum plus or minus the exact quantile of its noise."""
        del ask
        sums = released[0]
        middle, error = _weighted(sums), _spread(_weights(sums.bundle), sums.noise, confidence)
        low, high = (_in_steps(sums.bundle, middle + side * error) for side in (-1, 1))
        return (float(floor(low)), float(ceil(high))) if _is_whole(sums) else (float(low), float(high))

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
        return float(_in_steps(bundles[0], _spread(_weights(bundles[0]), noise[0], confidence)))


def sum_weights(ask: Ask, bundle: Bundle) -> tuple[Fraction, ...]:
    """Return the weights of a bundle's integers in a sum, in the value's unit of measurement."""
    del ask
    return tuple(_in_steps(bundle, weight) for weight in _weights(bundle))


def _in_steps(bundle: Bundle, steps: Fraction) -> Fraction:
    measure = bundle.measures[0]
    return steps / (1 << measure.fraction_bits) * measure.step


def _as_ratio(sums: Released) -> tuple[int, int]:
    """Return the sum as a ratio of whole numbers, which are fast; see `_weights`."""
    measure, integers = sums.bundle.measures[0], sums.integers
    above, below = integers[0] * measure.step.numerator, measure.step.denominator << measure.fraction_bits
    if len(integers) == 1:
        return above, below
    weighted = measure.high * integers[0] + measure.low * integers[1]
    return weighted * measure.step.numerator, below * (measure.high - measure.low)


def _weights(bundle: Bundle) -> tuple[Fraction, ...]:
    """Return the weights of the noisy integers in the sum: one integer, or the two sums of an average.

    Σx = (b·Σ(x - a) + a·Σ(b - x))/(b - a); see `query.aggregates.measure_sharing`.
    """
    measure = bundle.measures[0]
    if bundle.width == 1:
        return (Fraction(1),)
    return Fraction(measure.high, measure.high - measure.low), Fraction(measure.low, measure.high - measure.low)


def _weighted(sums: Released) -> Fraction:
    return sum((x * w for x, w in zip(sums.integers, _weights(sums.bundle), strict=False)), Fraction(0))


def _spread(weights: tuple[Fraction, ...], noise: NoiseLaw, confidence: ConfidenceLevel) -> Fraction:
    """Return the quantile of the sum's noise: exact for one integer, from their mixture for two."""
    beta = miss_rate(confidence)
    if len(weights) == 1:
        return Fraction(noise.quantile(beta))
    return Fraction(noise.spread(tuple(abs(float(weight)) for weight in weights), float(beta)))


def _is_whole(released: Released) -> bool:
    value = released.bundle.measures[0].value
    return value is not None and value.kind == "integer"
