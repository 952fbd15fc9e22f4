"""Sums of doubles that are exact integers, if every row is a unit: DuckDB adds them faster than integers.

A row has the same d as in `measures`, as a double. Let W = high - low, and let a group have n rows with a value.

**Rows.** Only grids whose ends are doubles of at most 2^51 steps are summed so. A value is clamped to the ends, and
y = value/step is exact, because it is scaled by a power of two; if it underflows, the result is 0 either way. For
low ≥ 0, ⌊y + ½⌋ is ROUND(y), which rounds halves away from 0. Otherwise it is ⌊(⌊2y⌋ + 1)/2⌋ with |2y| ≤ 2^52, so that
every intermediate result is a double. The difference d = ⌊y + ½⌋ - low is an integer from 0 to W < 2^52.

**Sums.** All d are integers ≥ 0. If n·W ≤ 2^53, every partial sum in any order is an integer of at most 2^53, so each
addition is exact. The statement returns n as well, which counts the same rows. `Statement.read` checks n·W ≤ 2^53
for each cell, which has all rows of its groups. If a cell has more rows, the whole statement runs again with integers
(`integer_statement`): the query takes twice as long, and its answer is exact. W ≤ 2^25, so that happens only if a cell
has more than 2^28 rows, about 268 million.

**Nothing fails.** n < 2^63, so the sum is finite and below 2^89, and its cast to 128 bits cannot fail. NULL and NaN
have no d.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from tacit.engines.sql.builder import SQL, call, cast, infix, powers, product, real, when
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.measures import MeasureGrid, clamped, real_ends

_EXACT = 2**53
_WIDEST = 2**25
_FARTHEST = 2**51


def sums_doubles(grid: MeasureGrid, dialect: Dialect) -> bool:
    """Return whether d of a grid is summed as a double."""
    ends = [Fraction(end) for end in real_ends(grid)]
    return (
        dialect.sums_doubles
        and grid.value.kind == "real"
        and grid.high - grid.low <= _WIDEST
        and max(abs(grid.low), abs(grid.high)) <= _FARTHEST
        and ends == [grid.low * grid.step, grid.high * grid.step]
    )


def most_rows(grid: MeasureGrid) -> int:
    """Return the largest number of rows whose sum of d is exact.

    >>> from tacit.query.expressions import Column
    >>> most_rows(MeasureGrid(Column("x", "real"), Fraction(1), -(2**20), 0)) == 2**33
    True
    """
    return _EXACT // (grid.high - grid.low)


def double_on_grid(value: SQL, grid: MeasureGrid) -> SQL:
    """Return d of a named value as a double; it is NULL if the value is NULL or NaN."""
    inside = clamped(value, grid)
    if grid.low >= 0:
        steps = call("ROUND", product([inside, *powers(1 / grid.step)]))
    else:
        twice = call("FLOOR", product([inside, *powers(2 / grid.step)]))
        steps = call("FLOOR", infix(exp.Mul, infix(exp.Add, twice, real(1.0)), real(0.5)))
    d = infix(exp.Sub, steps, real(float(grid.low))) if grid.low else steps
    return when((exp.Not(this=call("ISNAN", value)), d))


def double_sum(name: SQL) -> SQL:
    """Return the sum of d as an integer of 128 bits."""
    return cast(call("SUM", name), "HUGEINT")
