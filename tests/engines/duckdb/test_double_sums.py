"""Sums of doubles are the exact integers of the grid, and a statement runs again if they might not be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor, inf, isfinite, isnan, nan, nextafter, ulp

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contract.plans import NAME, A, X, key, plan, table
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.duckdb.engine import open_duckdb
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.sql import double_sums
from tacit.engines.sql.builder import column
from tacit.engines.sql.double_sums import double_on_grid, most_rows, sums_doubles
from tacit.engines.sql.measures import MeasureGrid
from tacit.engines.sql.runner import ResultRows, StatementParameters, StatementRunner
from tacit.engines.sql.statement import integer_statement, statement
from tacit.query.plan import Measure, Plan

GRIDS = [
    MeasureGrid(X, Fraction(step), low, low + width)
    for step in (Fraction(1), Fraction(1, 2**17), Fraction(1, 2**1060), Fraction(2**40), Fraction(2**990))
    for low, width in ((0, 1), (0, 13_107_200), (-3, 7), (-(2**25), 2**25), (2**51 - 9, 9), (-(2**51), 5), (5, 2**20))
]
KEYS = [key(NAME, "a", "b")]
TYPES = {"u": "BIGINT", "name": "VARCHAR", "x": "DOUBLE"}
Row = tuple[str | None, float | None]


def d_of(value: float | None, grid: MeasureGrid) -> int | None:
    """Return d by its definition, in rational numbers."""
    if value is None or isnan(value):
        return None
    steps = floor(Fraction(value) / grid.step + Fraction(1, 2)) if isfinite(value) else value
    return int(min(max(steps, grid.low), grid.high)) - grid.low


def awkward(grid: MeasureGrid) -> list[float | None]:
    """Return values at, beside and between the steps of a grid, and values that are not numbers."""
    places = [grid.low, grid.high, (grid.low + grid.high) // 2, 0, 1, -1, -2]
    exact = [(place + shift) * grid.step for place in places for shift in (0, Fraction(1, 2), Fraction(-1, 2))]
    near = [float(end) for end in exact if abs(end) < Fraction(2) ** 1023]
    beside = [nextafter(value, side) for value in near for side in (-inf, inf)]
    return [*near, *beside, 0.0, -0.0, ulp(0.0), -ulp(0.0), 1e308, -1e308, 2.0**-1022, inf, -inf, nan, None, 0.3, -0.7]


@pytest.mark.parametrize(
    "grid",
    [grid for grid in GRIDS if sums_doubles(grid, DUCKDB)],
    ids=lambda grid: f"{grid.step}-{grid.low}-{grid.high}",
)
def test_a_row_has_the_d_of_the_definition(grid: MeasureGrid) -> None:
    values = awkward(grid)
    rows = pa.table({"v0": pa.array(values, pa.float64()), "place": range(len(values))})
    sql = f"SELECT {DUCKDB.text(double_on_grid(column('v0'), grid))} FROM rows ORDER BY place"  # noqa: S608 - of a test
    connection = duckdb.connect()
    connection.register("rows", rows)
    assert [found for (found,) in connection.execute(sql).fetchall()] == [d_of(value, grid) for value in values]


def test_most_of_these_grids_are_summed_as_doubles() -> None:
    assert sum(sums_doubles(grid, DUCKDB) for grid in GRIDS) >= 28


@pytest.mark.parametrize(
    "grid",
    [
        MeasureGrid(X, Fraction(1), 0, 2**25 + 1),
        MeasureGrid(X, Fraction(1), 2**51, 2**51 + 1),
        MeasureGrid(X, Fraction(2) ** 1020, 0, 2**10),
        MeasureGrid(X, Fraction(1, 2**1080), 0, 1),
        MeasureGrid(A, Fraction(1), 0, 1),
    ],
)
def test_other_grids_are_summed_as_integers(grid: MeasureGrid) -> None:
    assert not sums_doubles(grid, DUCKDB)


def test_other_engines_and_units_with_several_rows_have_sums_of_integers() -> None:
    assert not sums_doubles(GRIDS[0], POSTGRES)
    by_unit = plan(table(groups=1, rows=2), Measure(value=X, low=0, high=4), keys=KEYS)
    for asked, limits in ((by_unit, ()), (by_row(GRIDS[1]), ((1, 2**53 // 13_107_200),))):
        assert statement(asked, TYPES, DUCKDB).limits == limits
        assert integer_statement(asked, TYPES, DUCKDB).limits == ()


def test_the_sums_of_the_most_rows_are_doubles() -> None:
    """With one row more than most_rows, 2^53 + 1 could be a sum, and it is not a double."""
    for grid in GRIDS:
        width = grid.high - grid.low
        assert most_rows(grid) * width <= 2**53 < (most_rows(grid) + 1) * width
        assert most_rows(grid) >= 2**28


def by_row(grid: MeasureGrid) -> Plan:
    measure = Measure(value=X, step=grid.step, low=grid.low, high=grid.high)
    return plan(table(unit=None), measure, keys=KEYS)


def measured(rows: Sequence[Row], asked: Plan) -> tuple[list[int], int]:
    """Return the sums over rows (name, x), and the number of statements that ran."""
    names, values = ([row[index] for row in rows] for index in (0, 1))
    data = pa.table({"name": pa.array(names, pa.string()), "x": pa.array(values, pa.float64())})
    engine, ran = open_duckdb(data, threads=1), list[str]()
    with engine._reading() as run:

        def counting(sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
            ran.append(sql)
            return run.batches(sql, parameters)

        engine._shared = StatementRunner(counting)
        (sums,) = engine.measure(asked)
    engine.close()
    return sums, len(ran)


ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from([None, nan, 0.5, 3.0, 99.0])))


@settings(deadline=None, max_examples=30)
@given(ROWS, st.sampled_from(GRIDS[:7]), st.integers(1, 4))
@example([("a", 99.0)] * 3, GRIDS[1], 2)
@example([("a", 99.0)] * 3, GRIDS[1], 3)
def test_a_statement_with_too_many_rows_in_a_cell_runs_again_with_integers(
    rows: list[Row], grid: MeasureGrid, most: int
) -> None:
    present = {name: [d for n, x in rows if n == name and (d := d_of(x, grid)) is not None] for name in "ab"}
    expected = [sum(of_name) + grid.low * len(of_name) for of_name in present.values()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(double_sums, "_EXACT", most * (grid.high - grid.low))
        sums, ran = measured(rows, by_row(grid))
    assert sums == expected
    assert ran == (2 if max(map(len, present.values())) > most else 1)
