"""`sum(x)`: values clamped to their bounds, a unit's rows in a cell scaled down to max_rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from tacit.query.aggregates.grid import grid
from tacit.query.aggregates.statistic import Interval, Released
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
        exact = _in_steps(released[0], released[0].integers[0])
        return round(exact) if _is_whole(released[0]) else float(exact)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: float) -> Interval:
        """The noisy integer give or take the exact quantile of its noise."""
        del ask
        one = released[0]
        reach = one.noise.quantile(1 - Fraction(repr(confidence)))
        low, high = (_in_steps(one, one.integers[0] + side * reach) for side in (-1, 1))
        return (float(floor(low)), float(ceil(high))) if _is_whole(one) else (float(low), float(high))

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: float, assume: int | None
    ) -> float:
        """The exact quantile of the noise, in the value's own measure."""
        del ask, assume
        measure = bundles[0].measures[0]
        steps = noise[0].quantile(1 - Fraction(repr(confidence)))
        return float(Fraction(steps, 1 << measure.fraction_bits) * measure.step)


def _in_steps(released: Released, integer: int) -> Fraction:
    measure = released.bundle.measures[0]
    return Fraction(integer, 1 << measure.fraction_bits) * measure.step


def _is_whole(released: Released) -> bool:
    value = released.bundle.measures[0].value
    return value is not None and value.kind == "integer"
