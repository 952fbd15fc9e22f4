"""The SQL translator: text to plan to price, and plan to the SQL of each engine.

The first byte chooses the database (see `_choices`); the rest is the text of the query, in UTF-8.

* Every text is planned, or refused with a listed error.
* The plan has a text and an error, and its statements parse in the dialect of its engine.
* On DuckDB the statements also run, on rows with NULL, NaN, infinities and the extremes of every type. A query whose
  plan was accepted must not fail on a row. No message has a value of the rows.
"""
# ruff: noqa: DTZ001 - the timestamps of the rows have no time zone

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import date, datetime
from functools import cache
from math import inf, nan
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import sqlglot

import tacit as tc
from fuzz.rule import BrokenRuleError, Refusal, require, value_or_refusal
from tacit.database import Database
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.spark.dialect import SPARK
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.engine import StatementEngine
from tacit.engines.sql.runner import StatementRunner
from tacit.errors import TacitError
from tacit.guarantees.filters import Budget
from tacit.json_forms import quote_json
from tacit.ledger.memory import MemoryLedger
from tacit.query.plan import Plan
from tacit.quotes import DerivedQuote, SessionQuote

Engine = Literal["duckdb", "postgres", "spark"]

SECRET = "Xq7_row_value"  # noqa: S105 - no password
"""A value of the rows, which no message may have."""
ROWS: Mapping[str, Any] = {
    "person_id": pa.array([1, 1, 2, 3, None, -(2**63)], pa.int64()),
    "region": pa.array(["north", "south", "", None, SECRET, "e\u0301"], pa.string()),
    "income": pa.array([0.0, nan, inf, -inf, None, 1.7976931348623157e308], pa.float64()),
    "age": pa.array([0, 2**63 - 1, -(2**63), None, 17, 120], pa.int64()),
    "urban": pa.array([True, False, None, True, False, None], pa.bool_()),
    "note": pa.array([SECRET, "", None, "%_\\", "1e400", "2024-02-30"], pa.string()),
    "day": pa.array(
        [date(1, 1, 1), date(9999, 12, 31), None, date(2024, 2, 29), date(1970, 1, 1), date(2000, 1, 1)], pa.date32()
    ),
    "seen": pa.array(
        [
            datetime(1, 1, 1),
            datetime(9999, 12, 31, 23, 59, 59),
            None,
            datetime(2024, 2, 29, 12),
            None,
            datetime(1970, 1, 1),
        ],
        pa.timestamp("us"),
    ),
}
REGIONS = {"name": ["north", "south", None], "zone": ["n", "s", ""], "rank": [1, 2, None]}
_TYPES: Mapping[Engine, Mapping[str, str]] = {
    "duckdb": {},
    "postgres": {
        "BIGINT": "int8",
        "VARCHAR": "text",
        "DOUBLE": "float8",
        "BOOLEAN": "bool",
        "DATE": "date",
        "TIMESTAMP": "timestamp",
    },
    "spark": {
        "BIGINT": "bigint",
        "VARCHAR": "string",
        "DOUBLE": "double",
        "BOOLEAN": "boolean",
        "DATE": "date",
        "TIMESTAMP": "timestamp_ntz",
    },
}
_DIALECTS: Mapping[Engine, Dialect] = {"postgres": POSTGRES, "spark": SPARK}
_PARAMETER = re.compile(r"\$(\w{1,30})")
_PARAMETERS = ("north", 3, 2.5, True, None, date(2024, 2, 29))


class UnreadEngine(StatementEngine):
    """An engine that translates plans for a server that is not there."""

    def __init__(self, dialect: Dialect, name: str, types: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(name, {table: table for table in types}, types)
        self.dialect = dialect

    def _reading(self) -> AbstractContextManager[StatementRunner]:
        raise NotImplementedError

    def public_rows(self, table: str, kinds: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        del table
        return list(zip(*(REGIONS[name] for name in kinds), strict=True))

    def close(self) -> None:
        """Do nothing: no connection is open."""


@cache
def database(engine: Engine, *, by_row: bool, zcdp: bool) -> Database:
    """Return a database on an engine: of people or of rows, in ε or in ρ."""
    budget: Budget = tc.ZCDP(rho=1e9) if zcdp else tc.ApproxDP(epsilon=1e9, delta=0.5)
    opened = tc.open(
        pa.table(dict(ROWS)),
        name="survey",
        unit=tc.ROW if by_row else "person_id",
        neighbours="change one" if by_row else None,
        max_groups=None if by_row else 2,
        max_rows=None if by_row else 3,
        bounds={"income": (0, 200_000), "age": (0, 120), "day": (date(2000, 1, 1), date(2030, 1, 1))},
        keys={"region": ["north", "south"]},
        required=["urban"],
        public={"regions": REGIONS},
        budget=budget,
        threads=1,
    )
    if engine == "duckdb":
        return opened
    policies = opened.session.tables
    unread = UnreadEngine(_DIALECTS[engine], "survey", _types_on(engine, opened))
    ledger = MemoryLedger(budget, policies["survey"].neighbours)
    return Database({name: (policy, unread) for name, policy in policies.items()}, ledger, version="fuzz")


def _types_on(engine: Engine, opened: Database) -> dict[str, dict[str, str]]:
    """Return the types of all columns as another engine names them."""
    source = opened.session.engine("survey")
    if not isinstance(source, StatementEngine):
        raise TypeError("not an engine of SQL")
    names = _TYPES[engine]
    return {table: {name: names[kind] for name, kind in types.items()} for table, types in source._tables.items()}


def _choices(byte: int) -> tuple[Engine, dict[str, Any], dict[str, Any]]:
    """Return the engine, the rest of the database and the options that a byte chooses.

    Its last two bits are the engine, the next one the unit, the next one the currency, the next two the options.
    """
    engine: Engine = ("duckdb", "postgres", "spark", "duckdb")[byte & 3]
    zcdp = bool(byte & 8)
    cost = {"rho": 0.5} if zcdp else {"epsilon": 1}
    options: dict[str, Any] = (
        cost,
        cost if zcdp else {**cost, "delta": 1e-6},
        {"error": 50},
        {**cost, "reach": 2, "confidence": 0.9, "intervals": False, "assume": 7},
    )[byte >> 4 & 3]
    return engine, {"by_row": bool(byte & 4), "zcdp": zcdp}, options


def check(data: bytes) -> None:
    """Plan a query, translate it for an engine, and run it on DuckDB."""
    if not data:
        return
    engine, which, options = _choices(data[0])
    text = data[1:].decode("utf-8", "surrogateescape")
    opened = database(engine, **which)
    names = dict.fromkeys(_PARAMETER.findall(text))
    if names:
        options["params"] = dict(zip(names, _PARAMETERS, strict=False))
    quote = value_or_refusal(lambda: opened.plan(text, **options), secrets=[SECRET], given=text)
    if isinstance(quote, Refusal):
        return
    value_or_refusal(lambda: (str(quote), repr(quote), json.dumps(quote_json(quote))))
    for each in quote.inner if isinstance(quote, DerivedQuote) else [quote]:
        _check_statements(engine, opened, each)


def _check_statements(engine: Engine, opened: Database, quote: SessionQuote) -> None:
    """Check that the statements of a plan parse, and on DuckDB that they run."""
    source = opened.session.engine_of(quote.plan)
    if not isinstance(source, StatementEngine):
        raise TypeError("not an engine of SQL")
    source.check(quote.plan)
    if engine != "duckdb":
        for statement in _texts(source._last):
            with suppress(RecursionError):  # of sqlglot, which reads what the engine would read
                parsed = sqlglot.parse(statement, dialect=engine)
                require(len(parsed) == 1, "A plan is not one statement.")
        return
    value_or_refusal(lambda: _run(source, quote.plan), secrets=[SECRET])


def _run(source: StatementEngine, plan: Plan) -> None:
    """Run the statements of a plan, which must not fail on a row."""
    try:
        if plan.open:
            source.find(plan, lambda units: np.arange(len(units)))
        else:
            source.measure(plan)
    except TacitError as error:
        raise BrokenRuleError(f"A plan that was accepted fails on a row: {plan.sql}") from error


def _texts(statements: object) -> Iterator[str]:
    """Yield the SQL of all statements in some nested values."""
    sql = getattr(statements, "sql", None)
    if isinstance(sql, str) and hasattr(statements, "parameters"):
        yield sql
    elif isinstance(statements, Iterable) and not isinstance(statements, (str, bytes, Mapping)):
        for each in statements:
            yield from _texts(each)
    elif hasattr(statements, "first"):
        yield from _texts((getattr(statements, "first", ()), getattr(statements, "second", ())))
