"""Parameters become constants, and never a part of the query's text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from tacit.errors import InvalidError
from tacit.query.sql.parameters import bind, typed_value

QUERY = "SELECT count(*) FROM t WHERE x = $x"
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def constant(value: object) -> exp.Expr:
    tree: Any = parse_one(bind(QUERY, {"x": value}), dialect="duckdb")
    right: exp.Expr = tree.args["where"].this.expression
    return right


@given(TEXTS)
def test_any_text_is_one_constant_that_reads_back(text: str) -> None:
    found = constant(text)
    assert isinstance(found, exp.Literal)
    assert found.is_string
    assert found.this == text


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (3, "3"),
        (-3, "(-3)"),
        (10**30, str(10**30)),
        (0.1, "0.1"),
        (-1e300, "(-1e+300)"),
        (Decimal("1.10"), "1.10"),
        (True, "TRUE"),
        (None, "NULL"),
        ("O'Hara; DROP TABLE t --", "'O''Hara; DROP TABLE t --'"),
        ("$x", "'$x'"),
        (date(2026, 1, 2), "CAST('2026-01-02' AS DATE)"),
        (datetime(2026, 1, 2, 3, 4), "CAST('2026-01-02 03:04:00' AS TIMESTAMP)"),  # noqa: DTZ001 - as values are
        (np.int64(7), "7"),
        (np.float64(0.5), "0.5"),
    ],
)
def test_values_have_their_types(value: object, sql: str) -> None:
    assert constant(value).sql("duckdb") == sql


@pytest.mark.parametrize("value", [nan, inf, b"x", [1], {"a": 1}, "a\0b", "\ud800", datetime.now(UTC), object()])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(InvalidError, match="a value that a query cannot contain") as caught:
        bind(QUERY, {"x": value})
    assert caught.value.argument == "params"


@pytest.mark.parametrize(
    ("query", "params", "message"),
    [
        (QUERY, {}, r"has the parameter \$x, and no value is given"),
        (QUERY, {"x": 1, "y": 2}, r"has no parameter \$y"),
        ("SELECT 1", {"y": 2}, r"has no parameter \$y"),
        ("SELECT ?", {"y": 2}, r"the parameter \?, which has no name"),
        ("SELECT $1", {"y": 2}, r"the parameter \$1, which has no name"),
        (QUERY, {"x y": 1}, "is not the name of a parameter"),
        (QUERY, {1: 1}, "is not the name of a parameter"),
        (QUERY, [1], "params must be"),
        ("SELECT 'a", {"x": 1}, "ends inside a quotation"),
    ],
)
def test_names_must_match(query: str, params: object, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        bind(query, params)


def test_a_query_without_parameters_stays_as_it_is() -> None:
    query = "select  x::INT, '$x', count(*) -- :y\nFROM t"
    assert bind(query, None) == query
    assert bind("SELECT $a WHERE x = :a", {"a": 1}) == "SELECT 1 WHERE x = 1"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12", None, 12),
        ("-12", None, -12),
        ("1e3", None, 1000.0),
        (".5", None, 0.5),
        ("TRUE", None, True),
        ("2026-02-28", None, date(2026, 2, 28)),
        ("2026-02-30", None, "2026-02-30"),
        ("2026-02-28 12:30", None, datetime(2026, 2, 28, 12, 30)),  # noqa: DTZ001 - as above
        ("Bern", None, "Bern"),
        ("", None, ""),
        ("3000", "text", "3000"),
        ("3", "real", 3.0),
        ("١٢", None, "١٢"),
    ],
)
def test_texts_have_the_type_of_their_form(text: str, kind: str | None, value: object) -> None:
    found = typed_value(text, kind)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "kind"), [("x", "integer"), ("2026-02-30", "date"), ("1", "number"), ("yes", "boolean")]
)
def test_a_text_that_is_not_of_its_type_is_refused(text: str, kind: str) -> None:
    with pytest.raises(InvalidError):
        typed_value(text, kind)
