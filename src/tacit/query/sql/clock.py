"""current_date, now() and their kin: constants of the query.

They are replaced by the date or the time at which the query is planned, before anything else reads the query. So the
plan, the receipt and the recorded answer hold the date itself, and the same text on another day is another query. The
time is that of the policy's time zone, in whole seconds. Without a time zone in the policy it is UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlglot import exp

from tacit.query.evaluate import evaluate
from tacit.query.expressions import Column
from tacit.query.expressions.local_time import local_time

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


def with_time(tree: exp.Expr, now: datetime) -> exp.Expr:
    """Return a parsed tree with the current date and time as constants; a call with arguments stays as it is."""
    for node in list(tree.walk()):
        kind = _kind(node)
        if kind is not None and node is not tree:
            text = now.date().isoformat() if kind == "DATE" else now.isoformat(sep=" ")
            node.replace(exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, dialect="duckdb")))
    return tree


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
