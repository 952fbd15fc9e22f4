"""What DuckDB computes from a row is what the language of expressions says."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.homes import ARROW
from engines.expressions import KINDS, LIBRARY, POSSIBLE, VALUES, calls_of, expressions
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb
from tacit.engines.sql.layers import Rows
from tacit.engines.sql.statement import SOURCE
from tacit.errors import InvalidError
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, Value
from tacit.query.expressions.casts import CASTS
from tacit.query.expressions.functions import FUNCTIONS

CHANCE = random.Random(20261115)  # noqa: S311 - test data
DATA: list[dict[str, Value]] = [{name: CHANCE.choice(VALUES[kind]) for name, kind in KINDS.items()} for _ in range(400)]
X, Y, I, S, B = (  # noqa: E741 - an integer column
    Column("x", "real"),
    Column("y", "real"),
    Column("i", "integer"),
    Column("s", "text"),
    Column("b", "boolean"),
)


@pytest.fixture(scope="module")
def source() -> Iterator[DuckDBEngine]:
    columns = {name: pa.array([row[name] for row in DATA], ARROW[kind]) for name, kind in KINDS.items()}
    columns["place"] = pa.array(range(len(DATA)), pa.int64())
    opened = open_duckdb(pa.table(columns), threads=1)
    yield opened
    opened.close()


def layers(rows: Rows) -> str:
    return ", ".join(f"{name} AS ({select})" for name, select in rows.selects(SOURCE))


def computed(source: DuckDBEngine, expression: Expression) -> list[Value]:
    """Return an expression's value on every row of DATA."""
    place = Column("place", "integer")
    rows = Rows(DUCKDB, source._types, [expression, place])
    value, order = rows.value(expression).sql("duckdb"), rows.value(place).sql("duckdb")
    last = rows.selects(SOURCE)[-1][0]
    sql = f"WITH {layers(rows)} SELECT {value} FROM {last} ORDER BY {order}"  # noqa: S608
    return [found for (found,) in source._connection.execute(sql).fetchall()]


def alike(one: Value, other: Value, slack: float = 0.0) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isfinite(one) and math.isclose(one, other, rel_tol=slack, abs_tol=0.0))
    return one == other and type(one) is type(other)


def differences(
    source: DuckDBEngine, expression: Expression, slack: float = 0.0
) -> list[tuple[Sequence[Value], Value, Value]]:
    found = computed(source, expression)
    expected = [evaluate(expression, row) for row in DATA]
    return [
        (list(row.values()), one, other)
        for row, one, other in zip(DATA, found, expected, strict=True)
        if not alike(one, other, slack)
    ]


@pytest.mark.parametrize("kind", list(VALUES))
def test_expressions_mean_in_sql_what_they_mean_in_python(source: DuckDBEngine, kind: Kind) -> None:
    @settings(deadline=None, max_examples=60)
    @given(expressions(kind, 3))
    def check(expression: Expression) -> None:
        assert not differences(source, expression)

    check()


def kinds_of(name: str) -> list[Kind]:
    """Return the kinds that a function can give."""
    function = FUNCTIONS[name]
    if function.gives != "same":
        return [function.gives]
    return next(POSSIBLE[takes] for takes in function.takes if takes in ("number", "any", "moment"))


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in sorted(set(FUNCTIONS) - LIBRARY) for kind in kinds_of(name)]
)
def test_a_function_means_in_sql_what_it_means_in_python(source: DuckDBEngine, name: str, kind: Kind) -> None:
    @settings(deadline=None, max_examples=20)
    @given(calls_of(name, kind, 0), st.booleans())
    def check(expression: Expression, seen: bool) -> None:  # noqa: FBT001 - drawn
        assert not differences(source, Call("is_null", (expression,), "boolean") if seen else expression)

    check()


@pytest.mark.parametrize(("one", "other"), list(CASTS))
def test_a_cast_means_in_sql_what_it_means_in_python(source: DuckDBEngine, one: Kind, other: Kind) -> None:
    for column in (Column(name, kind) for name, kind in KINDS.items() if kind == one):
        assert not differences(source, Cast(column, other))


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_logarithms_and_powers_agree_but_for_their_last_bits(source: DuckDBEngine, name: str) -> None:
    arguments = (X, Y)[: len(FUNCTIONS[name].takes)]
    assert not differences(source, Call(name, arguments, "real"), slack=1e-14)


def test_every_listed_function_can_be_written() -> None:
    assert set(DUCKDB.forms) == set(FUNCTIONS)


def test_a_part_that_is_used_twice_is_computed_once() -> None:
    shared = Call("multiply", (X, Y), "real")
    both = Call("and", tuple(Call("less", (shared, one), "boolean") for one in (X, Y)), "boolean")
    rows = Rows(DUCKDB, {"x": "DOUBLE", "y": "DOUBLE"}, [both])
    rows.value(both)
    assert layers(rows).count("*") == 1 + len(rows.selects(SOURCE)) - 1  # SELECT * in every layer but the first


def test_nested_guards_grow_with_their_depth_and_not_exponentially() -> None:
    nested: Expression = X
    lengths = []
    for _ in range(20):
        nested = Call("ln", (Call("divide", (Constant(1.0, "real"), nested), "real"),), "real")
        rows = Rows(DUCKDB, {"x": "DOUBLE"}, [nested])
        rows.value(nested)
        lengths.append(len(layers(rows)))
    assert lengths[19] < 3 * lengths[9]


def test_no_text_nests_deeper_than_parsers_like(source: DuckDBEngine) -> None:
    deep: Expression = Cast(B, "integer")
    for _ in range(60):
        deep = Call("negate", (deep,), "integer")
    assert computed(source, deep) == [None if row["b"] is None else int(bool(row["b"])) for row in DATA]
    rows = Rows(DUCKDB, source._types, [deep])
    rows.value(deep)
    assert layers(rows).count("(((((((((((((((") == 0


def test_nan_is_null_wherever_it_comes_from(source: DuckDBEngine) -> None:
    undefined = Call("subtract", (Call("divide", (X, Y), "real"), Call("multiply", (X, Y), "real")), "real")
    for whole in (
        Call("is_null", (undefined,), "boolean"),
        Call("less", (undefined, Constant(0.0, "real")), "boolean"),
        Call("coalesce", (undefined, Constant(1.0, "real")), "real"),
        Call("greatest", (undefined, X), "real"),
        Case(((Call("equal", (undefined, undefined), "boolean"), I),), None, "integer"),
        Cast(undefined, "integer"),
        undefined,
    ):
        assert not differences(source, whole)


def test_a_column_that_the_source_does_not_have_is_refused() -> None:
    rows = Rows(DUCKDB, {"x": "DOUBLE"}, [S])
    with pytest.raises(InvalidError, match="columns of the source"):
        rows.value(S)


def test_text_that_is_no_unicode_is_refused() -> None:
    rows = Rows(DUCKDB, {"s": "VARCHAR"}, [])
    with pytest.raises(InvalidError, match="Unicode"):
        rows.value(Call("equal", (S, Constant("\ud800", "text")), "boolean"))
