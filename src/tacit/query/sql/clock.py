"""current_date, now() and their kin: constants of the query.

They are replaced by the date or the time at which the query is planned, before anything else reads the query. So the
plan, the receipt and the recorded answer hold the date itself, and the same text on another day is another query. The
time is that of the policy's time zone, in whole seconds. Without a time zone in the policy it is UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from sqlglot import exp

from tacit.query.evaluate import evaluate
from tacit.query.expressions import Column
from tacit.query.expressions.local_time import local_time
from tacit.query.sql.grammar import parse_text
from tacit.query.sql.names import to_sql

_WORDS = re.compile(r"current_|today|now|timestamp", re.IGNORECASE)
_DATES = (exp.CurrentDate,)
_TIMES = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp)
_NAMES = frozenset({"now", "get_current_timestamp", "transaction_timestamp", "statement_timestamp", "clock_timestamp"})


def time_in_zone(instant: datetime, zone: str | None) -> datetime:
    """Return the local time of an instant in a time zone, without its zone and its fraction of a second.

    >>> time_in_zone(datetime(2026, 3, 29, 1, 30, tzinfo=UTC), "Europe/Zurich")
    datetime.datetime(2026, 3, 29, 3, 30)
    """
    utc = instant.astimezone(UTC).replace(tzinfo=None, microsecond=0)
    local = evaluate(local_time(Column("now", "timestamp"), zone or "UTC"), {"now": utc})
    return local if isinstance(local, datetime) else utc


def with_time(sql: str, now: datetime) -> str:
    """Return a query with the current date and time as constants; without them, the query itself.

    >>> with_time("SELECT count(*) FROM t WHERE day < current_date", datetime(2026, 11, 18, 9, 30))
    "SELECT COUNT(*) FROM t WHERE day < CAST('2026-11-18' AS DATE)"
    """
    if _WORDS.search(str(sql)) is None:
        return sql
    tree = parse_text(sql)
    found = [(node, kind) for node in tree.walk() if (kind := _kind(node)) is not None]
    for node, kind in found:
        text = now.date().isoformat() if kind == "DATE" else now.isoformat(sep=" ")
        node.replace(exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, dialect="duckdb")))
    return to_sql(tree) if found else sql


def _kind(node: exp.Expr) -> str | None:
    """Return the type of the constant for a node; None if it does not read the clock."""
    if any(node.args.get(name) for name in ("expressions", "zone")) or (
        isinstance(node, _DATES) and node.args.get("this")
    ):
        return None
    if isinstance(node, _DATES):
        return "DATE"
    named = isinstance(node, exp.Anonymous) and str(node.this).casefold() in _NAMES
    return "TIMESTAMP" if named or isinstance(node, _TIMES) else None
