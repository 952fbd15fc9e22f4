"""Unit tables: the tables that a subquery makes by grouping by the unit. Immutable, like the plan.

    SELECT avg(v) FROM (SELECT person_id, count(*) AS v FROM visits GROUP BY person_id)

The rows below (of one table, of a join, or of another unit table) that meet `where` are grouped by their unit, and by
the values of `keys`. Each group becomes one row: its unit, and columns computed from its keys and its aggregates.

**Grouped by the unit alone, each unit has at most one row.** Let D be the private tables and u a unit. The rows below
belong to one unit each, and those of u are a function of the rows of u in D (`joins`; by induction for a unit table).
Rows whose unit is NULL are left out first. A group holds rows of one unit, so the row of u is a function of the rows of
u in D, and exists only if u has a row below that meets `where`, and if `having` is true of it. If u comes or goes, that
one row comes or goes, and no other row changes. If the rows of u become others, that row becomes another, or comes, or
goes. So the unit table is a table in which each row is a unit, under the same neighbours: its policy has no unit
column, and no limit applies. The number of units is public only if no row and no group is left out (`is_whole`).

**Grouped by the unit and by other columns**, u has one row for each combination of values in its rows, and their number
has no bound. All of them are functions of the rows of u. So the unit table is a table with a unit column like any
other, and the limits max_groups, max_rows and reach apply to *its* rows.

**Values are exact and total**, so that all engines agree and no row makes a query fail. NaN counts as NULL, and all
aggregates skip NULL. Without a value an aggregate is NULL, except a count, which is 0.

| function | value |
|---|---|
| count | the number of rows, or of rows with a value |
| count_distinct | the number of different values; -0.0 is 0.0 |
| min, max | the least or the largest value: of text by code point, of conditions false before true; -0.0 is 0.0 |
| bool_or, bool_and | whether the condition is true of one row, or of all rows |
| sum of whole numbers | the exact sum S, cut to 64 bits: the nearest 64-bit integer |
| sum of reals | S·step. S = Σ⌊x/step + ½⌋, cut to ±`most`, as a double |
| avg | (q + r/n)·step in doubles. q = S/n truncated toward zero, r = S - q·n; S is exact, and not cut |

A real has a proved range, and its step is a power of two: 2^-35 of the larger end of the range (`unit_grid`). S has at
most 2^63 summands of at most 2^36 steps, so no sum overflows 128 bits. S is cut to 63 bits before it becomes a double.
So that conversion, the two divisions and the sum are single operations of IEEE 754, which all engines round equally.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Literal, TypeAlias

from tacit.query.expressions import Expression, Kind
from tacit.query.joins import Join
from tacit.query.policy import TablePolicy

UnitFunction: TypeAlias = Literal["count", "count_distinct", "sum", "avg", "min", "max", "bool_or", "bool_and"]

UNIT = "u"
"""The name of the unit's column while groups are aggregated."""

_PRECISION = 35
_SMALLEST_EXPONENT = -1000
_MOST_STEPS = 2**62
_LARGEST_POWER = 1023
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitGrid:
    """The grid on which reals are summed: its step, and the steps of the ends of their range."""

    step: Fraction
    low: int
    high: int

    @property
    def most(self) -> int:
        """The largest |S| that is turned into a double; times the step it is at most 2^1023, so it does not overflow.

        >>> unit_grid(Fraction(0), Fraction(1)).most == 2**62
        True
        """
        return min(_MOST_STEPS, floor(Fraction(2) ** _LARGEST_POWER / self.step))


def unit_grid(low: Fraction, high: Fraction) -> UnitGrid:
    """Return the grid for reals between two ends.

    >>> unit_grid(Fraction(0), Fraction(100)).step == Fraction(128, 2**35)
    True
    """
    largest = max(abs(low), abs(high))
    exponent = _SMALLEST_EXPONENT + _PRECISION
    if largest:
        guess = largest.numerator.bit_length() - largest.denominator.bit_length()
        exponent = max(exponent, next(e for e in range(guess - 1, guess + 2) if largest <= Fraction(2) ** e))
    step = Fraction(2) ** (exponent - _PRECISION)
    return UnitGrid(step=step, low=floor(low / step + _HALF), high=floor(high / step + _HALF))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitAggregate:
    """An aggregate of one group's rows, and its name. Without a `value`, all rows count.

    A sum or an average of reals has a `grid`.
    """

    name: str
    function: UnitFunction
    kind: Kind
    value: Expression | None = None
    grid: UnitGrid | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """A table with one row for each unit, or for each unit and the values of some `keys`; see the module.

    `rows` is the policy of the rows below, which are those of its table, or of the unit table `below`, after `joins`.
    `unit` is their unit's column, which the unit table calls `unit_name`. `columns` are its other columns, computed
    from the keys and the aggregates by their names, as is `having`.
    """

    rows: TablePolicy
    unit: str
    unit_name: str
    columns: tuple[tuple[str, Expression], ...]
    aggregates: tuple[UnitAggregate, ...] = ()
    keys: tuple[tuple[str, Expression], ...] = ()
    where: Expression | None = None
    having: Expression | None = None
    joins: tuple[Join, ...] = ()
    below: UnitTable | None = None

    @property
    def is_one_row(self) -> bool:
        """True if each unit has at most one row."""
        return not self.keys

    @property
    def is_whole(self) -> bool:
        """True if every unit of the private table has a row: no condition, no HAVING, no join that drops rows."""
        left = all(join.kind == "left" and not join.private for join in self.joins)
        every = self.where is None and self.having is None and left
        return every and (self.below is None or self.below.is_whole)

    @property
    def levels(self) -> Iterator[UnitTable]:
        """This unit table and those below it, the lowest last."""
        level: UnitTable | None = self
        while level is not None:
            yield level
            level = level.below

    @property
    def all_joins(self) -> tuple[Join, ...]:
        """The joins of all levels."""
        return tuple(join for level in self.levels for join in level.joins)
