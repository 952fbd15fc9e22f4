"""Values on their grid in PostgreSQL, exactly; and doubles that follow IEEE 754 where the server would raise."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor, inf, isinf, isnan, ldexp, nextafter
from random import Random

import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postgres_server import database
from tacit.engines.postgres import doubles
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.sql.builder import SQL, column
from tacit.engines.sql.measures import MeasureGrid, on_grid
from tacit.query.expressions import Column, Kind
from tacit.query.expressions.functions import apply

Connection = psycopg.Connection[tuple[object, ...]]

X = Column("x", "real")
HALF = Fraction(1, 2)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with database() as made, psycopg.connect(made.admin, autocommit=True) as opened:
        yield opened


def computed(connection: Connection, sql: SQL, types: str, rows: Sequence[Sequence[object]]) -> list[object]:
    """Return an expression over columns, of types as PostgreSQL writes them, on every row."""
    connection.execute(f"DROP TABLE IF EXISTS t; CREATE TEMP TABLE t (place int, {types})".encode())
    with connection.cursor().copy(b"COPY t FROM STDIN") as copy:
        for place, row in enumerate(rows):
            copy.write_row((place, *row))
    return [found for (found,) in connection.execute(f"SELECT {POSTGRES.text(sql)} FROM t ORDER BY place".encode())]  # noqa: S608


def steps(connection: Connection, values: Sequence[object], grid: MeasureGrid, kind: str) -> list[object]:
    return computed(connection, on_grid(column("x"), grid, POSTGRES), f"x {kind}", [[one] for one in values])


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


@settings(deadline=None, max_examples=40)
@given(grids("real"), st.lists(st.floats(), max_size=5))
@example(MeasureGrid(X, Fraction(1), -5, 5), [])
@example(MeasureGrid(X, Fraction(1), 2**52 - 3, 2**53), [])
@example(MeasureGrid(X, Fraction(1), -(2**53), -(2**52) + 3), [])
@example(MeasureGrid(X, Fraction(1, 2**1074), 0, 2**62), [])
@example(MeasureGrid(X, Fraction(2) ** 1000, -1, 2**40), [])
@example(MeasureGrid(X, Fraction(2) ** 1030, -1, 2**40), [])
@example(MeasureGrid(X, Fraction(1), -5, 2**60 + 1), [-3.0, -1.0])
@example(MeasureGrid(X, Fraction(8), -1, 1), [1e-323, -1e-323, 1.9999999999999998, 2.0, -4.0, -4.000000000000001])
def test_doubles_are_put_on_the_grid_exactly(connection: Connection, grid: MeasureGrid, more: list[float]) -> None:
    values: list[float | None] = [None, float("nan"), inf, -inf, 0.0, -0.0, 0.5, -0.5, 0.49999999999999994]
    values += [5e-324, -5e-324, 1e308, *more]
    for end in (grid.low, grid.high):
        for near in (end, end + HALF, end - HALF):
            try:
                exact = float(near * grid.step)
            except OverflowError:
                continue
            values += [exact, nextafter(exact, inf), nextafter(exact, -inf)]
    found = steps(connection, values, grid, "float8")
    assert found == [exactly(value, grid) for value in values]


@settings(deadline=None, max_examples=40)
@given(grids("integer"), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
@example(MeasureGrid(Column("x", "integer"), Fraction(2) ** 1000, 1, 2), [])
@example(MeasureGrid(Column("x", "integer"), Fraction(1, 2**130), -5, 5), [])
@example(MeasureGrid(Column("x", "integer"), Fraction(1, 8), 1, 3), [])
@example(MeasureGrid(Column("x", "integer"), Fraction(2) ** 64, -1, 1), [])
@example(MeasureGrid(Column("x", "integer"), Fraction(2) ** 65, -(2**63), 1 - 2**63), [])
def test_integers_are_put_on_the_grid_exactly(connection: Connection, grid: MeasureGrid, more: list[int]) -> None:
    values: list[int | None] = [None, 0, 1, -1, 2**63 - 1, -(2**63), *more]
    for end in (grid.low, grid.high):
        for near in (end, end + HALF, end - HALF):
            exact = floor(near * grid.step)
            values += [one for one in (exact - 1, exact, exact + 1) if -(2**63) <= one < 2**63]
    assert steps(connection, values, grid, "int8") == [exactly(value, grid) for value in values]


def test_booleans_are_numbers(connection: Connection) -> None:
    grid = MeasureGrid(Column("x", "boolean"), Fraction(1), 0, 1)
    assert steps(connection, [True, False, None], grid, "bool") == [1, 0, None]


ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 5e-324, -5e-324, 8e307, -8e307, inf, -inf, math.nan, None]
ODD += [math.ldexp(1.0, power) for power in (1023, 970, 537, 512, 511, -51, -511, -512, -537, -538, -1022)]
ODD += [1.7976931348623157e308, -1.7976931348623157e308, nextafter(1.0, 0), nextafter(1.0, 2)]


def any_double(chance: Random) -> float | None:
    match chance.randrange(4):
        case 0:
            return chance.choice(ODD)
        case 1:
            return float(struct.unpack("<d", struct.pack("<Q", chance.getrandbits(64)))[0])
        case 2:
            return ldexp(chance.choice((1, -1)) * (1 + chance.random()), chance.randint(-1074, 1023))
        case _:
            return chance.uniform(-1000, 1000)


def two_doubles(chance: Random) -> tuple[float | None, float | None]:
    """Two doubles, often such that their product, quotient or sum is just about to overflow or to vanish."""
    a, b = any_double(chance), any_double(chance)
    if a is None or a == 0 or not math.isfinite(a) or chance.random() < 0.4:
        return a, b
    mantissa, exponent = math.frexp(a)
    near = 1 + chance.randint(-4, 4) * 2.0**-53
    try:
        match chance.randrange(5):
            case 0:
                b = ldexp(near / mantissa, 1024 - exponent)
            case 1:
                b = ldexp(near / mantissa, -1075 - exponent)
            case 2:
                b = ldexp(mantissa * near, exponent - 1024)
            case 3:
                b = ldexp(mantissa * near, exponent + 1075)
            case _:
                b = 1.7976931348623157e308 - abs(a) + chance.randint(-3, 3) * 2.0**970
    except OverflowError:
        pass
    return a, b


PAIRS = [two_doubles(Random(place)) for place in range(20_000)]  # noqa: S311 - test data
PAIRS += [(a, b) for a in ODD for b in ODD]
TINY = ldexp(1.0, -537)
PAIRS += [(TINY * (1 + 2.0**-52), TINY * 0.5 * (1 - 2.0**-53)), (TINY * (1 + 2.0**-28), TINY * 0.5 * (1 - 2.0**-28))]
"""Products of (1 ± e)·2^-1075 that are rounded to 2^-1075: one is a little above half of the least double."""


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("add", doubles.added(column("a"), column("b"))),
        ("multiply", doubles.multiplied(column("a"), column("b"))),
        ("divide", doubles.divided(column("a"), column("b"))),
        ("modulo", doubles.left_over(column("a"), column("b"))),
    ],
)
def test_doubles_follow_ieee_754_to_the_last_bit(connection: Connection, name: str, sql: SQL) -> None:
    found = computed(connection, sql, "a float8, b float8", PAIRS)
    cleaned = [None if isinstance(one, float) and isnan(one) else one for one in found]
    wrong = [
        (pair, one, apply(name, list(pair), "real"))
        for pair, one in zip(PAIRS, cleaned, strict=True)
        if one != apply(name, list(pair), "real")
    ]
    assert not wrong


@pytest.mark.parametrize("name", ["exp", "power"])
def test_powers_agree_but_for_their_last_bit(connection: Connection, name: str) -> None:
    sql = doubles.exponential(column("a")) if name == "exp" else doubles.powered(column("a"), column("b"))
    pairs = [pair for pair in PAIRS if not any(one is not None and isnan(one) for one in pair)]
    pairs += [(x, 0.0) for x in (709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412)]
    pairs += [
        (a, b) for a in (10.0, 0.1, -10.0, 2.0, -2.0, 0.5) for b in (308.0, 308.3, 309.0, 1024.0, 1074.0, -1075.0)
    ]
    found = computed(connection, sql, "a float8, b float8", pairs)
    wrong = [
        (pair, one, expected)
        for pair, one in zip(pairs, found, strict=True)
        if not close(one, expected := apply(name, list(pair)[: 1 if name == "exp" else 2], "real"))
    ]
    assert not wrong


def close(one: object, other: object) -> bool:
    """Return whether two doubles are equal or adjacent, or (near the largest) two apart."""
    if isinstance(one, float) and isinstance(other, float) and not isinf(one) and not isinf(other):
        return abs(one - other) <= 2 * math.ulp(other)
    return one == other
