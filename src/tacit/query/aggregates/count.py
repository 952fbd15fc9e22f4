"""Counts of rows, units and distinct values: `count(*)`, `count(x)`, `count(DISTINCT unit)`, `count(DISTINCT x)`.

**Sensitivity of `count(DISTINCT x)`.** Let K be the values that tacit keeps of a unit in a cell: at most M = max_rows
of the values of its rows, and at most R = reach pairs of a cell and a value in all cells, chosen by a keyed hash of the
unit, the cell and the value. K depends on the unit's rows and on the key alone, never on other units. Let A be the
values kept of all other units. The cell's count is |A ∪ K|.

* Add/remove: without the unit the count is |A|. It differs by |K - A| ≤ |K|, and only in the at most g cells that tacit
  keeps of the unit. |K| is at most min(M, R) in a cell and at most min(R, g·M) in all cells.
* Change one: the unit's rows become others, and K becomes L. The count moves by |K - A| - |L - A|, where both are from
  0 to min(M, R). It moves in at most c = min(2g, cells) cells, those kept of the unit before or after. So it moves as
  `noise_law` states for one integer a cell that is ≥ 0.

**Sensitivity of `count(DISTINCT unit)`.** A unit in k of its kept cells has the weight w = min(1, R/k) in each,
⌊w·2^bits⌋ as an integer. So its integers are at most 2^bits in a cell and, since k·w ≤ R, at most R·2^bits together.
If the groups are discovered, the numbers of units are released by their selection, and no reach applies to them.

Unlike a sum, a unit's distinct count cannot be scaled down: three tenths of a value is not a value. NULL and NaN do not
count as values; 0.0 and -0.0 count as one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import add

from tacit.arrays import WideInts
from tacit.query.aggregates.grid import reach_of, unit_bundle, weight_bits
from tacit.query.aggregates.released_columns import IntervalEnds, ReleasedColumn, as_floats, ceiling, nearest
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Call, Case, Constant, Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy


class Count:
    """The number of rows; a unit counts as at most the rows that its limits allow."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return one measure: the weight of every row, or of every row with a value."""
        bits = weight_bits(table)
        measure = Measure(value=_present(ask.values[0]) if ask.values else None, fraction_bits=bits)
        return (unit_bundle((measure,), 1 << bits, table, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a count, which is whole."""
        del ask
        return "integer"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> int:
        """Return the noisy number, which may be negative; or the rows that the sums of an average imply.

        A count of weighted rows is rounded to a whole number.
        """
        sums, width = released[0], len(released[0].integers)
        return nearest(sum(sums.integers[: _terms(ask, width)]), _one(sums.bundle, width))

    def estimates(self, ask: Ask, released: Sequence[ReleasedColumn]) -> WideInts:
        """Return the estimates in many cells."""
        sums, width = released[0], released[0].width
        terms, one = _terms(ask, width), _one(sums.bundle, width)
        return nearest(_total(sums.columns(2 * terms + one)[:terms]), one)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the noisy integer plus or minus the exact quantile of its noise."""
        sums, beta = released[0], miss_rate(confidence)
        if len(sums.integers) == 1:
            low, high = sums.noise.around(sums.integers[0], beta)
            return float(low // _weight(sums.bundle)), float(-(-high // _weight(sums.bundle)))
        middle = sum(sums.integers[: _sums(ask)])
        spread, row = sums.noise.spread((1.0,) * _sums(ask), float(beta)), _row_sum(sums.bundle)
        return (middle - spread) / row, (middle + spread) / row

    def intervals(self, ask: Ask, released: Sequence[ReleasedColumn], confidence: ConfidenceLevel) -> IntervalEnds:
        """Return the intervals in many cells."""
        sums, beta = released[0], miss_rate(confidence)
        if sums.width == 1:
            low, high = sums.around(beta)
            return as_floats(low // _weight(sums.bundle)), as_floats(ceiling(high, _weight(sums.bundle)))
        middle = as_floats(_total(sums.columns(_sums(ask))[: _sums(ask)]))
        spread, row = sums.noise.spread((1.0,) * _sums(ask), float(beta)), _row_sum(sums.bundle)
        return (middle - spread) / row, (middle + spread) / row

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the exact quantile of the noise."""
        del assume
        beta = miss_rate(confidence)
        if bundles[0].width == 1:
            return noise[0].quantile(beta) / _weight(bundles[0])
        return noise[0].spread((1.0,) * _sums(ask), float(beta)) / _row_sum(bundles[0])


class CountUnits(Count):
    """The number of units that have a row in the cell; a unit in more groups than its reach has a weight below 1."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return one measure: 1 for every unit in the cell, or its weight if a reach may be below its groups."""
        del ask
        reach, groups = reach_of(table), table.max_groups
        if reach is None or (groups is not None and groups <= reach):
            return (Bundle(measures=(Measure(value=None, per="unit"),), contribution=1, nonnegative=True),)
        bits = weight_bits(table)
        measure = Measure(value=None, per="unit", fraction_bits=bits)
        return (Bundle(measures=(measure,), contribution=1 << bits, nonnegative=True, total=reach << bits),)


class CountDistinct(Count):
    """The number of distinct values; a unit contributes no more than its limits allow."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return one measure that counts values, not rows."""
        measure = Measure(value=ask.values[0], per="value")
        return (unit_bundle((measure,), 1, table, nonnegative=True),)


def count_weights(ask: Ask, bundle: Bundle) -> tuple[Fraction, ...]:
    """Return the weights of a bundle's integers in a count of rows; integers that it does not need have no weight."""
    if bundle.width == 1:
        return (Fraction(1, _weight(bundle)),)
    return (Fraction(1, _row_sum(bundle)),) * _sums(ask)


def is_unit_count(ask: Ask, table: TablePolicy) -> bool:
    """Return whether an aggregate is the number of a group's units.

    `count(DISTINCT unit)` is. So is `count(*)` where each row is a unit; and where max_rows = 1, since a unit's n rows
    in a group then add n·1/n = 1. With a reach they may add less.
    """
    one = table.unit is None or (table.max_rows == 1 and table.reach is None)
    rows = ask.function == "count" and not ask.values and one
    return rows or ask.function == "count_units"


def _sums(ask: Ask) -> int:
    """Return how many of the sums x - a, b - x, and b - a for absent rows count rows (see `measure_sharing`)."""
    return 2 if ask.values else 3


def _terms(ask: Ask, width: int) -> int:
    """Return how many of the integers of a cell add up to the count."""
    return 1 if width == 1 else _sums(ask)


def _one(bundle: Bundle, width: int) -> int:
    """Return the amount that a row or a unit of weight 1 adds to these integers."""
    return _weight(bundle) if width == 1 else _row_sum(bundle)


def _total(columns: Sequence[WideInts]) -> WideInts:
    """Return the sum of some columns."""
    return reduce(add, columns)


def _row_sum(bundle: Bundle) -> int:
    """Return the amount that one row adds to these sums."""
    measure = bundle.measures[0]
    return (measure.high - measure.low) << measure.fraction_bits


def _weight(bundle: Bundle) -> int:
    """Return the integer of a row or a unit of weight 1."""
    return 1 << bundle.measures[0].fraction_bits


def _present(value: Expression) -> Expression:
    """Return 1 if there is a value, else NULL."""
    present = Call("not", (Call("is_null", (value,), "boolean"),), "boolean")
    return Case(((present, Constant(1, "integer")),), None, "integer")
