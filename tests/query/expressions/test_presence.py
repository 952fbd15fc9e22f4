"""Expressions that are proved to be never NULL have a value on every row of finite or missing values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import nan

import pytest

from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Column, Constant, Expression, Value
from tacit.query.expressions.presence import is_always_present, with_stand_in
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.key_values import own_column, possible_values
from tacit.query.sql.parse import parse

BOUNDS = (Fraction(-3), Fraction(5))
T = TablePolicy(
    name="t",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="change one",
    columns={
        "x": ColumnPolicy(kind="real", bounds=BOUNDS, required=True),
        "n": ColumnPolicy(kind="integer", bounds=BOUNDS, required=True),
        "z": ColumnPolicy(kind="real", bounds=BOUNDS),
        "b": ColumnPolicy(kind="boolean", required=True),
        "c": ColumnPolicy(kind="boolean"),
    },
)
ROWS: list[dict[str, Value]] = [
    {"x": x, "n": n, "z": z, "b": b, "c": c}
    for x, n, z, b, c in product(
        (None, nan, 0.0, -7.0, 9.5), (None, 0, 3, -(2**63)), (None, 1.0), (None, True), (None, False)
    )
]
PRESENT = [
    "x + n",
    "x - z * 0 + coalesce(z, 0)",
    "coalesce(z, n)",
    "-x * n",
    "abs(floor(x)) + ceil(n)",
    "round(x, 1) + sign(n)",
    "clamp(x, 0, 1)",
    "least(z, x)",
    "greatest(x, z)",
    "CASE WHEN c THEN 1 WHEN z > 2 THEN x ELSE n END",
    "CASE WHEN z IS NULL THEN 0 ELSE 1 END",
    "CAST(b AS INTEGER)",
    "CAST(n AS DOUBLE)",
    "CAST(x > 2 AND NOT b OR n IN (1, 2) AS INTEGER)",
]
ABSENT = [
    "z",
    "x + z",
    "CASE WHEN b THEN 1 END",
    "CASE WHEN b THEN z ELSE 1 END",
    "nullif(x, 0)",
    "clamp(x / n, 0, 1)",
    "clamp(sqrt(x), 0, 1)",
    "clamp(ln(x), 0, 1)",
    "n % 3",
    "CAST(c AS INTEGER)",
    "CAST(z > 2 AS INTEGER)",
    "CAST(x IN (1, NULL) AS INTEGER)",
    "coalesce(z, nullif(x, 1))",
]


def value(text: str) -> Expression:
    plan = parse(f"SELECT sum({text}) AS s FROM t", {"t": T})  # noqa: S608 - the parser reads it, no engine
    return plan.aggregates[0].ask.values[0]


@pytest.mark.parametrize("text", PRESENT[2:] + PRESENT[:1])
def test_a_value_that_is_proved_to_be_present_is_never_null(text: str) -> None:
    expression = value(text)
    assert is_always_present(expression)
    assert all(evaluate(expression, row) is not None for row in ROWS)


@pytest.mark.parametrize("text", [*ABSENT, PRESENT[1]])
def test_a_value_that_may_be_null_is_not_proved_to_be_present(text: str) -> None:
    expression = value(text)
    assert not is_always_present(expression)


@pytest.mark.parametrize("text", ABSENT[:7])
def test_and_it_is_null_on_some_row(text: str) -> None:
    assert any(evaluate(value(text), row) is None for row in ROWS)


def test_a_column_with_a_constant_for_null_is_still_that_column() -> None:
    pair = Call("coalesce", (Column("x", "real"), Constant(0.0, "real")), "real")
    other = Call("coalesce", (Column("x", "real"), Constant(1.0, "real")), "real")
    assert with_stand_in(pair) == (Column("x", "real"), Constant(0.0, "real"))
    assert own_column(pair, T) == Column("x", "real")
    assert own_column(other, T) is None  # the query's own coalesce
    assert own_column(Call("coalesce", (Column("z", "real"), Constant(0.0, "real")), "real"), T) is None
    assert own_column(Column("z", "real"), T) == Column("z", "real")
    assert own_column(Constant(1, "integer"), T) is None


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("b", {False, True}),
        ("c", {False, True, None}),
        ("x > 1", {False, True}),
        ("z > 1", {False, True, None}),
        ("CASE WHEN c THEN 'p' ELSE 'q' END", {"p", "q"}),
        ("CASE WHEN c THEN 'p' END", {"p", None}),
        ("n", None),
        ("floor(x)", None),
    ],
)
def test_possible_values_are_all_that_a_row_can_have(key: str, values: set[Value] | None) -> None:
    sql = f"SELECT {key} AS k, count(*) AS c FROM t GROUP BY k"  # noqa: S608 - the parser reads it, no engine
    expression = parse(sql, {"t": T}).keys[0].expression
    found = possible_values(expression)
    assert found == values
    assert found is None or {evaluate(expression, row) for row in ROWS} <= found
