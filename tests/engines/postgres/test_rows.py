"""What PostgreSQL computes from a row is what the language of expressions says."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.expressions import KINDS, LIBRARY, POSSIBLE, VALUES, calls_of, expressions
from postgres_server import database
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.postgres.engine import PostgresEngine, open_postgres
from tacit.engines.sql.layers import Rows
from tacit.errors import InvalidError
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, Value, walk
from tacit.query.expressions.casts import CASTS
from tacit.query.expressions.functions import FUNCTIONS

CHANCE = random.Random(20261115)  # noqa: S311 - test data
DATA: list[dict[str, Value]] = [
    {
        name: CHANCE.choice([one for one in VALUES[kind] if not (isinstance(one, str) and "\0" in one)])
        for name, kind in KINDS.items()
    }
    for _ in range(400)
]
X, Y, I, S, B = (  # noqa: E741 - an integer column
    Column("x", "real"),
    Column("y", "real"),
    Column("i", "integer"),
    Column("s", "text"),
    Column("b", "boolean"),
)
PLACE = Column("place", "integer")


@pytest.fixture(scope="module")
def source() -> Iterator[PostgresEngine]:
    with database() as made:
        rows = [{**row, "place": place} for place, row in enumerate(DATA)]
        made.fill("t", {**KINDS, "place": "integer"}, rows)
        opened = open_postgres(made.reader)
        yield opened
        opened.close()


def layers(source: str, rows: Rows) -> str:
    return ", ".join(f"{name} AS ({select})" for name, select in rows.selects(source))


def computed(source: PostgresEngine, expression: Expression) -> list[Value]:
    """Return an expression's value on every row of DATA."""
    rows = Rows(POSTGRES, source._types, [expression, PLACE])
    value, order = (POSTGRES.text(rows.value(one)) for one in (expression, PLACE))
    last = rows.selects(source._views["t"])[-1][0]
    sql = f"WITH {layers(source._views['t'], rows)} SELECT {value} FROM {last} ORDER BY {order}"  # noqa: S608
    with source._reading() as run:
        return [found for (found,) in run(sql, {})]


def alike(one: Value, other: Value, slack: float = 0.0) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isfinite(one) and math.isclose(one, other, rel_tol=slack, abs_tol=0.0))
    return one == other and type(one) is type(other)


def has_nul(expression: Expression) -> bool:
    """Whether a constant has the character that PostgreSQL cannot hold; such a question is refused."""
    return any(isinstance(part, Constant) and "\0" in str(part.value) for part in walk(expression))


def differences(
    source: PostgresEngine, expression: Expression, slack: float = 0.0
) -> list[tuple[Sequence[Value], Value, Value]]:
    if has_nul(expression):
        return []
    found = computed(source, expression)
    return [
        (list(row.values()), one, other)
        for row, one, other in zip(DATA, found, [evaluate(expression, row) for row in DATA], strict=True)
        if not alike(one, other, slack)
    ]


@pytest.mark.parametrize("kind", list(VALUES))
def test_expressions_mean_in_sql_what_they_mean_in_python(source: PostgresEngine, kind: Kind) -> None:
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
def test_a_function_means_in_sql_what_it_means_in_python(source: PostgresEngine, name: str, kind: Kind) -> None:
    @settings(deadline=None, max_examples=20)
    @given(calls_of(name, kind, 0), st.booleans())
    def check(expression: Expression, seen: bool) -> None:  # noqa: FBT001 - drawn
        assert not differences(source, Call("is_null", (expression,), "boolean") if seen else expression)

    check()


@pytest.mark.parametrize(("one", "other"), list(CASTS))
def test_a_cast_means_in_sql_what_it_means_in_python(source: PostgresEngine, one: Kind, other: Kind) -> None:
    for column in (Column(name, kind) for name, kind in KINDS.items() if kind == one):
        assert not differences(source, Cast(column, other))


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_logarithms_and_powers_agree_but_for_their_last_bits(source: PostgresEngine, name: str) -> None:
    arguments = (X, Y)[: len(FUNCTIONS[name].takes)]
    assert not differences(source, Call(name, arguments, "real"), slack=1e-14)


def test_every_listed_function_can_be_written() -> None:
    assert set(POSTGRES.forms) == set(FUNCTIONS)


def test_nested_guards_grow_with_their_depth_and_not_exponentially(source: PostgresEngine) -> None:
    nested: Expression = X
    lengths = []
    for _ in range(20):
        nested = Call("ln", (Call("divide", (Constant(1.0, "real"), nested), "real"),), "real")
        rows = Rows(POSTGRES, {"x": "float8"}, [nested])
        rows.value(nested)
        lengths.append(len(layers("t", rows)))
    assert lengths[19] < 3 * lengths[9]
    assert not differences(source, nested, slack=1e-9)


def test_nan_is_null_wherever_it_comes_from(source: PostgresEngine) -> None:
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


EXTREME = [5e-324, -5e-324, 1e308, -1e308, 1e19, 0.0, 1.0, math.inf, -math.inf, 2.0**-1022, 1e-310]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "modulo", "power"])
def test_constants_that_the_server_computes_in_advance_do_not_raise(source: PostgresEngine, name: str) -> None:
    for constant in (Constant(one, "real") for one in EXTREME):
        for arguments in ((X, constant), (constant, X)):
            assert not differences(source, Call(name, arguments, "real"), slack=1e-14 if name == "power" else 0.0)


def test_constants_that_cannot_be_cast_do_not_raise(source: PostgresEngine) -> None:
    too_large = Cast(Constant("99999999999999999999", "text"), "integer")
    no_day = Cast(Call("lower", (Constant("2023-02-30", "text"),), "text"), "date")
    assert not differences(source, Case(((B, too_large),), I, "integer"))
    assert not differences(source, Case(((B, no_day),), Column("d", "date"), "date"))


def test_a_text_that_postgresql_cannot_hold_is_refused() -> None:
    rows = Rows(POSTGRES, {"s": "text"}, [])
    rows.value(Call("equal", (S, Constant("a\0", "text")), "boolean"))
    with pytest.raises(InvalidError, match="NUL"):
        rows.selects("t")
