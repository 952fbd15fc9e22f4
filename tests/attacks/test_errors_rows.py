"""Errors as oracles: an expression that fails on one person's row tells that the person is in the data, at no cost.

Two tables differ in one person, whose rows make a plain engine fail: casts, overflow, logarithms, dates out of range,
patterns, huge texts. The textbook runs the query and charges the answer; its error shows the person, names a value, and
costs nothing. tacit's outcome must be the same on both tables: an answer of the same shape for the same charge, or the
same refusal with the same text. `tests/contract/test_rows.py` compares every function with its definition.
"""
# ruff: noqa: DTZ001 - local times

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime

import duckdb
import pyarrow as pa
import pytest

import tacit as tc
from attacks.references import TextbookDatabase
from postgres_server import database
from tacit.database import Database
from tacit.query.expressions import Kind

CANARY = "Semmelweis"
MOST = 2**63 - 1
PLAIN: dict[str, object] = {
    "person": 1,
    "a": 3,
    "b": 2,
    "x": 1.5,
    "y": 2.5,
    "s": "12",
    "day": "2024-02-29",
    "flag": "true",
    "pattern": "a",
    "d": date(2024, 2, 29),
    "t": datetime(2024, 2, 29, 12),
}
HOSTILE: list[dict[str, object]] = [
    {"a": -MOST - 1, "b": -1},
    {"a": MOST, "b": MOST},
    {"a": 300, "b": 0},
    {"x": -1.0, "y": 0.5},
    {"x": 1e308, "y": 1e308},
    {"x": float("nan")},
    {"x": float("inf"), "y": 0.0},
    {"s": CANARY},
    {"s": "9" * 400},
    {"s": "1e999"},
    {"day": CANARY},
    {"day": "2024-02-30"},
    {"flag": CANARY},
    {"pattern": "("},
    {"d": date(9999, 12, 31), "t": datetime(9999, 12, 31)},
    {"d": date(1, 1, 1), "a": -MOST},
    {"s": "x" * 10**6},
    {"s": "\U0010ffff" * 1000},
]
TYPES = {
    "person": pa.int64(),
    "a": pa.int64(),
    "b": pa.int64(),
    "x": pa.float64(),
    "y": pa.float64(),
    "s": pa.string(),
    "day": pa.string(),
    "flag": pa.string(),
    "pattern": pa.string(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
}
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("person", "a", "b"), "integer"),
    **dict.fromkeys(("x", "y"), "real"),
    **dict.fromkeys(("s", "day", "flag", "pattern"), "text"),
    "d": "date",
    "t": "timestamp",
}
EVERYBODY = [{**PLAIN, "person": person} for person in range(40)]
WITH_HER = [*EVERYBODY, *({**PLAIN, "person": 41, **row} for row in HOSTILE)]

FAILS = [
    "CAST(s AS BIGINT) > 0",
    "CAST(s AS DOUBLE) > 0",
    "CAST(day AS DATE) > d",
    "CAST(day AS TIMESTAMP) > t",
    "CAST(flag AS BOOLEAN)",
    "a * b > 0",
    "a + b > 0",
    "a - b > 0",
    "abs(a) > 0",
    "a // b > 0",
    "CAST(x AS BIGINT) > 0",
    "CAST(x * 1e6 AS INTEGER) > 0",
    "CAST(a AS TINYINT) > 0",
    "CAST(a AS SMALLINT) > 0",
    "d + CAST(a AS INTEGER) > d",
    "t + INTERVAL (a) HOUR > t",
    "d + INTERVAL (b) YEAR > d",
    "regexp_matches(s, pattern)",
    "make_date(a, 1, 1) > d",
    "strptime(day, '%Y-%m-%d') > t",
    "chr(CAST(a AS INTEGER)) > 'a'",
    "factorial(CAST(a AS INTEGER)) > 1",
]
"""Conditions with which DuckDB's own SQL fails on a row of hers."""

TOTAL = [
    *FAILS,
    "-a > 0",
    "ln(x) > 0",
    "sqrt(x) > 0",
    "CAST(s AS UUID) IS NULL",
    "error(s) IS NULL",
    "a % b > 0",
    "b % a > 0",
    "a / b > 0",
    "x / y > 0",
    "x % y > 0",
    "power(x, y) > 0",
    "exp(x) > 0",
    "round(x, 3) > 0",
    "s || s || s <> ''",
    "upper(s) > lower(s)",
    "replace(s, '9', '999') <> ''",
    "length(s) * a > 0",
    "s LIKE '%S_m%'",
    "left(s, 3) = 'Sem'",
    "date_trunc('month', t) > d",
    "date_diff('microsecond', t, d) > 0",
    "last_day(d) > d",
    "strftime(t, '%Y-%m') > '2024'",
    "extract(epoch FROM t) * a > 0",
    "coalesce(x, a) > 0",
    "CASE WHEN person = 41 THEN CAST(s AS BIGINT) ELSE 0 END IS NULL",
    "least(a, x, b) > 0",
    "yearweek(d) > 0",
    "CASE WHEN a / b > 0 THEN ln(x) ELSE sqrt(x) END > 0",
    "a BETWEEN b AND CAST(s AS BIGINT)",
]


def table(rows: list[dict[str, object]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})


def opened(rows: list[dict[str, object]]) -> Database:
    return tc.open(
        table(rows), name="t", unit="person", max_groups=2, max_rows=3, budget=tc.ApproxDP(epsilon=10**9, delta=0.1)
    )


@pytest.fixture(scope="module")
def neighbours() -> Iterator[tuple[Database, Database]]:
    with opened(EVERYBODY) as without, opened(WITH_HER) as with_her:
        yield without, with_her


def outcome(db: Database, sql: str, delta: float | None = None) -> tuple[object, ...]:
    """Return the class of an outcome, its text or its shape, and the charge."""
    before = db.ledger.spent.loss
    try:
        answer = db.sql(sql, epsilon=1, delta=delta)
    except tc.TacitError as error:
        return type(error).__name__, str(error), db.ledger.spent.loss - before
    return "answer", [type(each) for each in answer.rows()[0]] if delta is None else "", db.ledger.spent.loss - before


FORMS: dict[str, str] = {
    "WHERE": "SELECT count(*) AS n FROM t WHERE {}",
    "a value": "SELECT sum(CASE WHEN {} THEN 1 ELSE 0 END) AS n, count({}) AS m FROM t",
    "a group": "SELECT {} AS g, count(*) AS n FROM t GROUP BY g ORDER BY g",
    "distinct values": "SELECT count(DISTINCT {}) AS n FROM t",
    "people": "SELECT count(*) AS n FROM (SELECT person, bool_or({}) AS c FROM t GROUP BY person) WHERE c",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("condition", TOTAL)
def test_her_rows_change_no_outcome(neighbours: tuple[Database, Database], condition: str, form: str) -> None:
    sql = FORMS[form].replace("{}", f"({condition})")
    without, with_her = (outcome(db, sql) for db in neighbours)
    assert without == with_her
    assert without[0] in ("answer", "RefusedError", "InvalidError")
    assert (without[2] == 1) == (without[0] == "answer")


@pytest.fixture(scope="module")
def textbooks() -> tuple[TextbookDatabase, TextbookDatabase]:
    return TextbookDatabase(table(EVERYBODY)), TextbookDatabase(table(WITH_HER))


def textbook_outcome(db: TextbookDatabase, sql: str) -> tuple[str, str, float]:
    before = db.spent
    try:
        db.answer(sql, 1)
    except duckdb.Error as error:
        return type(error).__name__, str(error), db.spent - before
    return "answer", "", db.spent - before


@pytest.mark.parametrize("condition", FAILS)
def test_the_textbook_fails_for_her_alone_and_charges_nothing(
    textbooks: tuple[TextbookDatabase, TextbookDatabase], condition: str
) -> None:
    sql = FORMS["a value"].replace("{}", f"({condition})")
    without, with_her = (textbook_outcome(db, sql) for db in textbooks)
    assert with_her[0] != "answer"
    assert with_her[2] == 0
    assert without == ("answer", "", 1)


def test_the_textbook_shows_her_value(textbooks: tuple[TextbookDatabase, TextbookDatabase]) -> None:
    sql = f"SELECT count(*) AS n FROM t WHERE CAST(CASE WHEN s = '{CANARY}' THEN s END AS BIGINT) > 0"  # noqa: S608
    assert CANARY in textbook_outcome(textbooks[1], sql)[1]


VERBS: dict[str, Callable[[Database], object]] = {
    "count": lambda db: db.count(epsilon=1),
    "sum": lambda db: db.sum("x", bounds={"x": (0, 1)}, epsilon=1),
    "mean": lambda db: db.mean("y", bounds={"y": (0, 1)}, epsilon=1),
    "median": lambda db: db.median("a", bounds={"a": (0, 10)}, epsilon=1),
    "std": lambda db: db.std("x", bounds={"x": (0, 1)}, epsilon=1),
    "histogram": lambda db: db.histogram("x", bins=[0, 1, 2], epsilon=1),
    "top": lambda db: db.top("s", 3, epsilon=1, delta=1e-6),
    "bounds": lambda db: db.bounds("x", epsilon=1),
}


@pytest.mark.parametrize("verb", VERBS)
def test_her_rows_change_no_outcome_of_a_verb(neighbours: tuple[Database, Database], verb: str) -> None:
    outcomes = []
    for db in neighbours:
        before = db.ledger.spent.loss
        try:
            name = type(VERBS[verb](db)).__name__
        except tc.TacitError as error:
            name = repr(error)
        outcomes.append((name, db.ledger.spent.loss - before))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1] == 1


def test_found_groups_with_her_values_change_no_outcome(neighbours: tuple[Database, Database]) -> None:
    for key in ("s", "CAST(s AS BIGINT)", "x", "lower(s)", "d", "a // b"):
        sql = f"SELECT {key} AS g, count(*) AS n FROM t GROUP BY g"  # noqa: S608 - built here
        without, with_her = (outcome(db, sql, delta=1e-9) for db in neighbours)
        assert without == with_her
        assert without[0] == "answer"


def is_supported(db: Database, sql: str) -> bool:
    """Return whether a query is supported; nothing is read."""
    try:
        db.plan(sql, epsilon=1)
    except tc.TacitError:
        return False
    return True


def test_her_rows_change_no_outcome_on_postgresql() -> None:
    """One statement has many conditions: a row on which one of them failed would end it."""
    rows = [{**row, "s": str(row["s"])[:1000]} for row in WITH_HER]
    with database() as place:
        opened_tables = []
        for name, some in (("without", EVERYBODY), ("with_her", rows)):
            place.fill(name, KINDS, some)  # type: ignore[arg-type]  # rows of values
            opened_tables.append(
                tc.open(
                    place.reader,
                    table=name,
                    name="t",
                    unit="person",
                    max_groups=2,
                    max_rows=3,
                    budget=tc.ApproxDP(epsilon=10**9, delta=0.1),
                )
            )
        answered = [each for each in TOTAL if is_supported(opened_tables[0], FORMS["a value"].replace("{}", each))]
        assert len(answered) > 30
        for first in range(0, len(answered), 10):
            items = ", ".join(f"count_if({each}) AS n{at}" for at, each in enumerate(answered[first : first + 10]))
            without, with_her = (outcome(db, f"SELECT {items} FROM t") for db in opened_tables)  # noqa: S608
            assert without == with_her
            assert without[0] == "answer"
        for db in opened_tables:
            db.close()
