"""The work of functions of a row: nested calls do not multiply the SQL, and long texts take no long time."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from time import perf_counter

import pytest

from contract.tables import Opener
from row_evaluator import evaluate
from row_values import row_values
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.spark.dialect import SPARK
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Layers
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, Value
from tacit.query.expressions.functions import FUNCTIONS

Nest = Callable[[Expression], Expression]

TYPES: dict[Dialect, tuple[str, str]] = {
    DUCKDB: ("VARCHAR", "DOUBLE"),
    POSTGRES: ("text", "float8"),
    SPARK: ("string", "double"),
}
S, X = Column("s", "text"), Column("x", "real")


def number(value: int) -> Constant:
    return Constant(value, "integer")


def text(value: str) -> Constant:
    return Constant(value, "text")


def on_text(name: str, *more: Expression) -> Nest:
    return lambda inner: Call(name, (inner, *more), "text")


def on_real(name: str, *more: Expression) -> Nest:
    return lambda inner: Call(name, (inner, *more), "real")


OF_TEXT: dict[str, Nest] = {
    "lower": on_text("lower"),
    "upper": on_text("upper"),
    "trim": on_text("trim"),
    "substring": on_text("substring", number(2), number(10_000)),
    "left": on_text("left", number(10_000)),
    "right": on_text("right", number(10_000)),
    "replace": on_text("replace", text("ab"), text("a")),
    "concat": on_text("concat", text("a")),
    "coalesce": on_text("coalesce", S),
    "nullif": on_text("nullif", text("a")),
    "least": on_text("least", S),
    "greatest": on_text("greatest", S),
    "like": lambda inner: Case(((Call("like", (inner, text("%_a%b")), "boolean"), inner),), S, "text"),
    "starts_with": lambda inner: Case(((Call("starts_with", (inner, S), "boolean"), inner),), S, "text"),
    "integer": lambda inner: Cast(Cast(inner, "integer"), "text"),
    "boolean": lambda inner: Cast(Cast(inner, "boolean"), "text"),
    "date": lambda inner: Cast(Cast(inner, "date"), "text"),
    "timestamp": lambda inner: Cast(Cast(Cast(inner, "timestamp"), "date"), "text"),
}
OF_REALS: dict[str, Nest] = {
    **{name: on_real(name) for name in ("negate", "abs", "floor", "ceil", "round", "sqrt", "ln", "exp")},
    **{name: on_real(name, X) for name in ("add", "subtract", "multiply", "divide", "modulo", "power")},
    "clamp": on_real("clamp", Constant(0.0, "real"), Constant(1.0, "real")),
    "integer": lambda inner: Cast(Cast(inner, "integer"), "real"),
    "text": lambda inner: Cast(Cast(Cast(inner, "integer"), "text"), "real"),
}
NESTS = [(S, nest, name) for name, nest in OF_TEXT.items()] + [(X, nest, name) for name, nest in OF_REALS.items()]


def size(dialect: Dialect, expression: Expression) -> int:
    """Return how many characters an expression has as SQL."""
    types = dict(zip(("s", "x"), TYPES[dialect], strict=True))
    rows = Layers(dialect, types, [expression])
    rows.value(expression)
    deepest, type(dialect).deepest = type(dialect).deepest, None
    try:
        return sum(len(select) for _, select in rows.selects("t"))
    finally:
        type(dialect).deepest = deepest


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("leaf", "nest"), [one[:2] for one in NESTS], ids=[f"{a.name}-{b}" for a, _, b in NESTS])
@pytest.mark.parametrize("dialect", TYPES, ids=lambda dialect: dialect.name)
def test_nested_calls_do_not_multiply_the_sql(dialect: Dialect, leaf: Expression, nest: Nest) -> None:
    """An operand that is written twice in place doubles the SQL for each call: 2^7 times as much for 15 as for 8."""
    some, many = (size(dialect, nested(leaf, nest, calls)) for calls in (8, 15))
    assert many < 3 * some


def nested(leaf: Expression, nest: Nest, calls: int) -> Expression:
    return reduce(lambda inner, _: nest(inner), range(calls), leaf)


LONG: dict[str, str] = {
    "letters": "a" * 20_000,
    "accents": "aé" * 10_000,
    "digits": "1" * 20_000,
    "blanks": " " * 20_000,
    "point": "1" * 10_000 + "." + "1" * 10_000 + "x",
    "between": "1" * 6_000 + " " * 6_000 + "1" * 6_000,
    "exponent": "1e" + "9" * 20_000,
}
KINDS: dict[str, Kind] = {"s": "text"}
ASKED: dict[str, Expression] = {
    **{name: nest(nest(S)) for name, nest in OF_TEXT.items()},
    "needle": Call("replace", (S, text("b" + "a" * 5_000), text("")), "text"),
    "length": Call("length", (S,), "integer"),
    "real": Cast(S, "real"),
    "equal": Call("equal", (S, text("a" * 9_000)), "boolean"),
    "in": Call("in", (S, *(text(f"{place}" * 10) for place in range(500))), "boolean"),
}


PARTS = ("date_trunc", "ordinal")
"""Functions whose text is the name of a part of a time."""


def test_every_function_of_a_text_is_tried() -> None:
    of_text = {name for name, one in FUNCTIONS.items() if one.takes[0] == "text" and name not in PARTS}
    assert of_text <= set(OF_TEXT) | set(ASKED)


@pytest.mark.long
@pytest.mark.parametrize("name", ASKED)
def test_a_long_text_takes_no_long_time(engine: Opener, name: str) -> None:
    data: list[dict[str, Value]] = [{"s": one} for one in LONG.values()]
    row_values(engine, KINDS, [{"s": "a"}], [S])  # the first statement of a session takes longer than others
    start = perf_counter()
    found = row_values(engine, KINDS, data, [ASKED[name]])
    assert perf_counter() - start < 30
    assert found == [(evaluate(ASKED[name], row),) for row in data]
