"""`count(*)`, `count(x)`: rows, or rows with a value; `count(distinct unit)`: units."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.expressions import Call, Case, Constant, Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Measure
from tacit.query.policy import TablePolicy


class Count:
    """Rows, a unit's counted up to max_rows in each cell."""

    def bundles(
        self, value: Expression | None, bounds: tuple[Fraction, Fraction] | None, table: TablePolicy
    ) -> tuple[Bundle, ...]:
        """One measure: 1 for every row, or for every row with a value; a unit adds at most max_rows."""
        del bounds
        measure = Measure(value=None if value is None else _present(value))
        return (Bundle(measures=(measure,), reach=table.rows, nonnegative=True),)

    def kind(self, value: Expression | None) -> Kind:
        """A count is whole."""
        del value
        return "integer"

    def estimate(self, released: Sequence[Released]) -> int:
        """The noisy integer itself, which may be negative."""
        return released[0].integers[0]

    def interval(self, released: Sequence[Released], confidence: float) -> Interval:
        """The noisy integer give or take the exact quantile of its noise."""
        found, reach = released[0].integers[0], released[0].noise.quantile(1 - Fraction(repr(confidence)))
        return float(found - reach), float(found + reach)

    def error(
        self, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: float, assume: int | None
    ) -> float:
        """The exact quantile of the noise."""
        del bundles, assume
        return float(noise[0].quantile(1 - Fraction(repr(confidence))))


class CountUnits(Count):
    """Units that have a row in the cell."""

    def bundles(
        self, value: Expression | None, bounds: tuple[Fraction, Fraction] | None, table: TablePolicy
    ) -> tuple[Bundle, ...]:
        """One measure: 1 for every unit in the cell."""
        del value, bounds, table
        return (Bundle(measures=(Measure(value=None, per="unit"),), reach=1, nonnegative=True),)


def _present(value: Expression) -> Expression:
    """Return 1 where a value is there, else NULL."""
    there = Call("not", (Call("is_null", (value,), "boolean"),), "boolean")
    return Case(((there, Constant(1, "integer")),), None, "integer")
