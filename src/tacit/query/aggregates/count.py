"""`count(*)`, `count(x)`: rows, or rows with a value; `count(distinct unit)`: units."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.query.aggregates.statistic import Confidence, Interval, Released, miss_rate
from tacit.query.expressions import Call, Case, Constant, Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy


class Count:
    """Rows, a unit's counted up to max_rows in each cell."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """One measure: 1 for every row, or for every row with a value; a unit adds at most max_rows."""
        measure = Measure(value=_present(ask.values[0]) if ask.values else None)
        return (Bundle(measures=(measure,), reach=table.rows, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """A count is whole."""
        del ask
        return "integer"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> int:
        """The noisy integer itself, which may be negative; or what the sums that an average needs say of the rows."""
        one = released[0]
        if len(one.integers) == 1:
            return one.integers[0]
        whole = _whole(one.bundle)
        return (2 * sum(one.integers[: _sums(ask)]) + whole) // (2 * whole)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: Confidence) -> Interval:
        """The noisy integer give or take the exact quantile of its noise."""
        one, beta = released[0], miss_rate(confidence)
        if len(one.integers) == 1:
            low, high = one.noise.around(one.integers[0], beta)
            return float(low), float(high)
        middle = sum(one.integers[: _sums(ask)])
        spread, whole = one.noise.spread((1.0,) * _sums(ask), float(beta)), _whole(one.bundle)
        return (middle - spread) / whole, (middle + spread) / whole

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: Confidence, assume: int | None
    ) -> float:
        """The exact quantile of the noise."""
        del assume
        beta = miss_rate(confidence)
        if bundles[0].width == 1:
            return float(noise[0].quantile(beta))
        return noise[0].spread((1.0,) * _sums(ask), float(beta)) / _whole(bundles[0])


class CountUnits(Count):
    """Units that have a row in the cell."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """One measure: 1 for every unit in the cell."""
        del ask, table
        return (Bundle(measures=(Measure(value=None, per="unit"),), reach=1, nonnegative=True),)


def _sums(ask: Ask) -> int:
    """Return how many of the sums x - a, b - x, and b - a for absent rows count rows (`pricing.measure_sharing`)."""
    return 2 if ask.values else 3


def _whole(bundle: Bundle) -> int:
    """Return what one row adds to these sums."""
    measure = bundle.measures[0]
    return (measure.high - measure.low) << measure.fraction_bits


def _present(value: Expression) -> Expression:
    """Return 1 where a value is there, else NULL."""
    there = Call("not", (Call("is_null", (value,), "boolean"),), "boolean")
    return Case(((there, Constant(1, "integer")),), None, "integer")
