"""`sum(x)`: values clamped to their bounds, a unit's rows in a cell scaled down to max_rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from tacit.query.aggregates.grid import grid
from tacit.query.aggregates.statistic import Confidence, Interval, Released, miss_rate
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy


class Sum:
    """A sum; a unit adds at most max_rows times the larger bound's size to a cell."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """One measure: the value on its grid."""
        value = ask.values[0]
        g = grid(value, ask.bounds[0], table)
        measure = Measure(value=value, step=g.step, low=g.low, high=g.high, fraction_bits=g.fraction_bits)
        reach = max(1, table.rows * max(abs(g.low), abs(g.high)) << g.fraction_bits)
        return (Bundle(measures=(measure,), reach=reach, nonnegative=g.low >= 0 or g.high <= 0),)

    def kind(self, ask: Ask) -> Kind:
        """A sum of whole numbers is shown as one."""
        return "integer" if ask.values[0].kind == "integer" else "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int:
        """The noisy integer in steps; a sum of whole numbers rounded to one, which is post-processing."""
        del ask
        one = released[0]
        above, below = _as_ratio(one)
        return (2 * above + below) // (2 * below) if _is_whole(one) else above / below

    def interval(self, ask: Ask, released: Sequence[Released], confidence: Confidence) -> Interval:
        """The noisy integer give or take the exact quantile of its noise."""
        del ask
        one = released[0]
        middle, reach = _weighed(one), _spread(_weights(one.bundle), one.noise, confidence)
        low, high = (_in_steps(one.bundle, middle + side * reach) for side in (-1, 1))
        return (float(floor(low)), float(ceil(high))) if _is_whole(one) else (float(low), float(high))

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: Confidence, assume: int | None
    ) -> float:
        """The exact quantile of the noise, in the value's own measure."""
        del ask, assume
        return float(_in_steps(bundles[0], _spread(_weights(bundles[0]), noise[0], confidence)))


def _in_steps(bundle: Bundle, steps: Fraction) -> Fraction:
    measure = bundle.measures[0]
    return steps / (1 << measure.fraction_bits) * measure.step


def _as_ratio(one: Released) -> tuple[int, int]:
    """Return the sum as a ratio of whole numbers, which are quick; see `_weights`."""
    measure, integers = one.bundle.measures[0], one.integers
    above, below = integers[0] * measure.step.numerator, measure.step.denominator << measure.fraction_bits
    if len(integers) == 1:
        return above, below
    weighed = measure.high * integers[0] + measure.low * integers[1]
    return weighed * measure.step.numerator, below * (measure.high - measure.low)


def _weights(bundle: Bundle) -> tuple[Fraction, ...]:
    """Return what the sum is made of: the noisy integer itself, or the two sums that an average needs.

    Σx = (b·Σ(x - a) + a·Σ(b - x))/(b - a); see `query.aggregates.measure_sharing`.
    """
    measure = bundle.measures[0]
    if bundle.width == 1:
        return (Fraction(1),)
    return Fraction(measure.high, measure.high - measure.low), Fraction(measure.low, measure.high - measure.low)


def _weighed(one: Released) -> Fraction:
    return sum((x * w for x, w in zip(one.integers, _weights(one.bundle), strict=False)), Fraction(0))


def _spread(weights: tuple[Fraction, ...], noise: NoiseLaw, confidence: Confidence) -> Fraction:
    """Return how far the noise of the sum reaches: exactly for one integer, for two by their mixture."""
    beta = miss_rate(confidence)
    if len(weights) == 1:
        return Fraction(noise.quantile(beta))
    return Fraction(noise.spread(tuple(abs(float(weight)) for weight in weights), float(beta)))


def _is_whole(released: Released) -> bool:
    value = released.bundle.measures[0].value
    return value is not None and value.kind == "integer"
