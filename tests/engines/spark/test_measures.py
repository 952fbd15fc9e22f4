"""Values on their grid, exactly, and whole plans against brute force and DuckDB."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, inf, nan, nextafter

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from contract.examples import varied
from contract.homes import ARROW
from contract.plans import added_up, cells, key, plan, plans, table
from contract.tables import KINDS, Row, rows
from engines.duckdb.test_measures import HALF, exactly, grids
from spark_session import frame_of
from tacit.engines.duckdb.engine import open_duckdb
from tacit.engines.spark.dialect import SPARK
from tacit.engines.spark.engine import SparkEngine, json_list, open_spark
from tacit.engines.sql.builder import SQL, column
from tacit.engines.sql.measures import MeasureGrid, on_grid
from tacit.query.expressions import Column, Kind, Value
from tacit.query.plan import Measure, Plan

FEW = settings(deadline=None, derandomize=True, database=None, phases=[Phase.generate])
X = Column("x", "real")


def computed(table_: pa.Table, asked: Sequence[SQL]) -> list[Sequence[object]]:
    """Return some SQL over every row of a table, which has a column `place`."""
    opened = open_spark(frame_of(table_))
    named = ", ".join(f"{SPARK.text(sql)} AS r{place}" for place, sql in enumerate(asked))
    with opened._reading() as run:
        found = run(f"SELECT place, {named} FROM data", {})  # noqa: S608 - ours
    opened.close()
    return [row[1:] for row in sorted(found, key=lambda row: row[0])]


def check(asked: Sequence[MeasureGrid], values: list[float | None], arrow: pa.DataType) -> None:
    columns = {"x": pa.array(values, arrow), "place": pa.array(range(len(values)), pa.int64())}
    found = computed(pa.table(columns), [on_grid(column("x"), grid, SPARK) for grid in asked])
    for place, grid in enumerate(asked):
        assert [row[place] for row in found] == [exactly(value, grid) for value in values], grid


def near(grid: MeasureGrid) -> list[float]:
    """Return doubles at and around the ends of a grid, and half a step from them."""
    found: list[float] = []
    for end in (grid.low, grid.high, (grid.low + grid.high) // 2):
        for place in (end, end + 1, end + HALF, end - HALF):
            try:
                exact = float(place * grid.step)
            except OverflowError:
                continue
            found += [exact, nextafter(exact, inf), nextafter(exact, -inf)]
    return found


CORNERS = [
    MeasureGrid(X, Fraction(1), -5, 5),
    MeasureGrid(X, Fraction(1), 2**52 - 3, 2**53),
    MeasureGrid(X, Fraction(1), -(2**53), -(2**52) + 3),
    MeasureGrid(X, Fraction(1, 2**1074), 0, 2**62),
    MeasureGrid(X, Fraction(2) ** 1000, -1, 2**40),
    MeasureGrid(X, Fraction(1), -(2**119), -(2**119) + 2**62),
    MeasureGrid(X, Fraction(1), 2**119, 2**119 + 40),
    MeasureGrid(X, Fraction(1), -(2**61), 2**61),
    MeasureGrid(X, Fraction(1), -5, 2**60 + 1),
]


@settings(FEW, max_examples=2)
@given(varied(st.lists(grids("real"), min_size=20, max_size=20)), st.lists(st.floats(), max_size=20))
def test_doubles_are_put_on_the_grid_exactly(drawn: list[MeasureGrid], more: list[float]) -> None:
    asked = [*drawn, *CORNERS]
    values: list[float | None] = [None, nan, inf, -inf, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, *more]
    check(asked, values + [value for grid in asked for value in near(grid)], pa.float64())


@settings(FEW, max_examples=1)
@given(
    varied(st.lists(grids("integer"), min_size=20, max_size=20)),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20),
)
def test_integers_are_put_on_the_grid_exactly(drawn: list[MeasureGrid], more: list[int]) -> None:
    whole = Column("x", "integer")
    asked = [*drawn, MeasureGrid(whole, Fraction(2) ** 1000, 1, 2), MeasureGrid(whole, Fraction(1, 2**130), -5, 5)]
    values: list[int | None] = [None, 0, 1, -1, 2**63 - 1, -(2**63), *more]
    for grid in asked:
        for end in (grid.low, grid.high, grid.low + HALF, grid.high - HALF):
            exact = floor(end * grid.step)
            values += [one for one in (exact - 1, exact, exact + 1) if -(2**63) <= one < 2**63]
    check(asked, values, pa.int64())  # type: ignore[arg-type]


def test_sums_are_exact_whatever_their_parts() -> None:
    chance = random.Random(7)  # noqa: S311 - test data
    for most in (1, 2**22, 2**22 + 1, 2**31, 2**44, 2**60, 2**62):
        numbers = [most, -most, most, 0, *(chance.randint(-most, most) for _ in range(200)), most]
        sizes = [*map(abs, numbers)]
        held = pa.table({"x": pa.array(numbers, pa.int64()), "y": pa.array(sizes, pa.int64())})
        opened = open_spark(frame_of(held))
        sums = [
            SPARK.bounded(column("x"), most),
            SPARK.bounded(column("y"), most, one_unit=True),
            SPARK.total(column("x")),
        ]
        with opened._reading() as run:
            found = run(f"SELECT {', '.join(map(SPARK.text, sums))} FROM data", {})  # noqa: S608 - ours
        opened.close()
        assert found == [(sum(numbers), sum(sizes), sum(numbers))]


def opened_on(data: Sequence[Row]) -> tuple[SparkEngine, pa.Table]:
    columns = {name: pa.array([row[name] for row in data], ARROW[kind]) for name, kind in KINDS.items()}
    return open_spark(frame_of(pa.table(columns))), pa.table(columns)


@settings(FEW, max_examples=4)
@given(plans(groups=2**62), varied(rows(40)))
def test_plans_measure_what_brute_force_and_duckdb_say(asked: Plan, data: list[Row]) -> None:
    spark, arrow = opened_on(data)
    duckdb = open_duckdb(arrow, threads=1)
    try:
        found = spark.measure_with(asked, (1, 2**64 - 1))
        assert found == added_up(asked, cells(asked, data))
        assert found == duckdb.measure_with(asked, (3, 4))
    finally:
        spark.close()
        duckdb.close()


@settings(FEW, max_examples=2)
@given(plans(groups=2), varied(rows(40)))
def test_a_unit_keeps_as_many_cells_as_it_may(asked: Plan, data: list[Row]) -> None:
    spark, _ = opened_on(data)
    counted = plan(asked.table, Measure(value=None, per="unit"), keys=asked.keys, where=asked.where)
    expected = sum(min(counted.groups, len(own)) for own in cells(counted, data).values())
    try:
        assert sum(spark.measure(counted)[0]) == expected
        without = [row for row in data if row["u"] != 1]
        other, _ = opened_on(without)
        bound = asked.bundles[0].contribution * asked.groups
        whole, less = spark.measure_with(asked, (5, 6)), other.measure_with(asked, (5, 6))
        moved = sum(
            abs(a - b) for left, right in zip(whole, less, strict=True) for a, b in zip(left, right, strict=True)
        )
        assert moved <= bound
    finally:
        spark.close()


@pytest.mark.parametrize("kind", ["integer", "text", "real"])
def test_long_lists_of_keys_arrive_whole(kind: Kind) -> None:
    made: dict[Kind, Callable[[int], Value]] = {
        "integer": int,
        "real": lambda i: i / 7,
        "text": lambda i: f'it\'s "{i}" \\ \u0000 é 𐐀',
    }
    values = [made[kind](i) for i in range(20_000)] + [None]
    held = pa.table({"u": pa.array(range(len(values)), pa.int64()), "k": pa.array(values, ARROW[kind])})
    opened = open_spark(frame_of(held))
    asked = plan(table(kinds={"u": "integer", "k": kind}), Measure(value=None), keys=[key(Column("k", kind), *values)])
    assert opened.measure(asked) == [[1] * len(values)]
    opened.close()
    assert json_list(values[-2:]).endswith("null]")
