"""Values on their grid, exactly; and what the proof does not cover is refused."""

from __future__ import annotations

from fractions import Fraction
from math import floor, inf, isinf, isnan, nextafter

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.sql.builder import column
from tacit.engines.sql.measures import MeasureGrid, check, grid_of, on_grid, presence_of
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Case, Column, Constant, Kind
from tacit.query.plan import Measure

X = Column("x", "real")
HALF = Fraction(1, 2)


def steps(values: list[float | None], grid: MeasureGrid, arrow: pa.DataType) -> list[int | None]:
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"x": pa.array(values, arrow)}))
        sql = on_grid(column("x"), grid, DUCKDB).sql("duckdb")
        return [found for (found,) in connection.execute(f"SELECT {sql} FROM t").fetchall()]  # noqa: S608


def exactly(value: float | None, grid: MeasureGrid) -> int | None:
    if value is None or isnan(value):
        return None
    if isinf(value):
        return grid.high - grid.low if value > 0 else 0
    return min(max(floor(Fraction(value) / grid.step + HALF), grid.low), grid.high) - grid.low


@st.composite
def grids(draw: st.DrawFn, kind: Kind) -> MeasureGrid:
    exponent = draw(st.integers(-8, 8) | st.integers(-1074, 1000))
    low = draw(st.integers(-20, 20) | st.integers(-(2**62), 2**62) | st.integers(-(2**119), 2**119))
    width = draw(st.integers(1, 40) | st.integers(1, 2**62))
    return MeasureGrid(Column("x", kind), Fraction(2) ** exponent, low, low + width)


@settings(deadline=None, max_examples=60)
@given(grids("real"), st.data())
@example(MeasureGrid(X, Fraction(1), -5, 5), None)
@example(MeasureGrid(X, Fraction(1), 2**52 - 3, 2**53), None)
@example(MeasureGrid(X, Fraction(1), -(2**53), -(2**52) + 3), None)
@example(MeasureGrid(X, Fraction(1, 2**1074), 0, 2**62), None)
@example(MeasureGrid(X, Fraction(2) ** 1000, -1, 2**40), None)
@example(MeasureGrid(X, Fraction(1), -5, 2**60 + 1), None)
def test_doubles_are_put_on_the_grid_exactly(grid: MeasureGrid, data: st.DataObject | None) -> None:
    values: list[float | None] = [
        None,
        float("nan"),
        inf,
        -inf,
        0.0,
        -0.0,
        0.5,
        -0.5,
        0.49999999999999994,
        5e-324,
        1e308,
    ]
    for end in (grid.low, grid.high):
        for near in (end, end + HALF, end - HALF):
            try:
                exact = float(near * grid.step)
            except OverflowError:
                continue
            values += [exact, nextafter(exact, inf), nextafter(exact, -inf)]
    if data is not None:
        values += data.draw(st.lists(st.floats(), max_size=5))
    assert steps(values, grid, pa.float64()) == [exactly(value, grid) for value in values]


@settings(deadline=None, max_examples=60)
@given(grids("integer"), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
@example(MeasureGrid(Column("x", "integer"), Fraction(2) ** 1000, 1, 2), [])
@example(MeasureGrid(Column("x", "integer"), Fraction(1, 2**130), -5, 5), [])
@example(MeasureGrid(Column("x", "integer"), Fraction(1, 8), 1, 3), [])
def test_integers_are_put_on_the_grid_exactly(grid: MeasureGrid, more: list[int]) -> None:
    values: list[int | None] = [None, 0, 1, -1, 2**63 - 1, -(2**63), *more]
    for end in (grid.low, grid.high):
        for near in (end, end + HALF, end - HALF):
            exact = floor(near * grid.step)
            values += [one for one in (exact - 1, exact, exact + 1) if -(2**63) <= one < 2**63]
    assert steps(values, grid, pa.int64()) == [exactly(value, grid) for value in values]  # type: ignore[arg-type]


def test_booleans_are_numbers() -> None:
    grid = MeasureGrid(Column("x", "boolean"), Fraction(1), 0, 1)
    assert steps([True, False, None], grid, pa.bool_()) == [1, 0, None]


def test_text_has_no_steps() -> None:
    with pytest.raises(InvalidError, match="Cannot sum"):
        on_grid(column("x"), MeasureGrid(Column("x", "text"), Fraction(1), 0, 1), DUCKDB)


def test_constant_measures_and_counts_of_units_ask_for_no_steps() -> None:
    assert grid_of(Measure(value=None)) is None
    assert grid_of(Measure(value=X)) is None
    assert grid_of(Measure(value=X, low=0, high=2, per="unit")) is None
    assert grid_of(Measure(value=X, low=0, high=2, offset=7)) == MeasureGrid(X, Fraction(1), 0, 2)


def test_only_a_bare_question_of_presence_is_simplified() -> None:
    there = Call("not", (Call("is_null", (X,), "boolean"),), "boolean")
    one, nothing = Constant(1, "integer"), Constant(None, "integer")
    bare = Case(((there, one),), None, "integer")
    assert presence_of(Measure(value=bare)) == X
    for other in (
        Case(((there, nothing),), None, "integer"),
        Case(((there, one),), one, "integer"),
        Case(((there, one), (there, one)), None, "integer"),
        Case(((there, Column("i", "integer")),), None, "integer"),
        Case(((Call("is_null", (X,), "boolean"), one),), None, "integer"),
    ):
        assert presence_of(Measure(value=other)) == other


@pytest.mark.parametrize(
    ("measure", "max_rows"),
    [
        (Measure(value=X, step=Fraction(3), low=0, high=2), 1),
        (Measure(value=X, step=Fraction(2, 3), low=0, high=2), 1),
        (Measure(value=X, step=Fraction(-1), low=0, high=2), 1),
        (Measure(value=X, low=2, high=0), 1),
        (Measure(value=X, low=2**121, high=2**121 + 1, offset=-(2**121)), 1),
        (Measure(value=X, low=0, high=2**62), 2),
        (Measure(value=X, low=0, high=2**52, fraction_bits=11), 1),
    ],
)
def test_measures_that_the_proof_does_not_cover_are_refused(measure: Measure, max_rows: int) -> None:
    with pytest.raises(InvalidError):
        check(measure, max_rows)


def test_measures_at_the_edge_of_the_proof_are_taken() -> None:
    check(Measure(value=X, low=-(2**62), high=2**62), 1)
    check(Measure(value=X, low=0, high=2**52, fraction_bits=10), 1)
    check(Measure(value=None, per="unit"), 10**9)
