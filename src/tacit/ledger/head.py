"""The head of a ledger: reading it under its lock, and moving it on with every record that is appended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import MultipleResultsFound

from tacit.errors import LedgerError
from tacit.guarantees.filters import Budget, Spent, start
from tacit.ledger.records import FORMAT, Body, Head, budget_read, record, total_read
from tacit.ledger.schema import ANALYSTS, HEAD, RECORDS

SET_BACK = timedelta(minutes=5)
"""How far the clocks of machines that share a ledger may be apart."""


def clock() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def written(time: datetime) -> str:
    """Return a time as records have it."""
    return time.isoformat(timespec="milliseconds")


def read_head(connection: Connection, named: str, *, lock: bool = False) -> Head:
    """Return where a ledger stands; with `lock`, nobody else moves it before the transaction ends."""
    version = select(HEAD.c.format)
    try:
        found = connection.execute(version.with_for_update() if lock else version).scalar_one_or_none()
        _check_format(found, named)
        row = connection.execute(select(HEAD)).mappings().one()
        return _head(dict(row))
    except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError, MultipleResultsFound):
        raise damaged(named) from None


def damaged(named: str) -> LedgerError:
    """Return the error for a ledger that cannot be what was written."""
    return LedgerError(
        f"The ledger {named} is damaged: what it says of its totals cannot be read. Nothing was answered or spent. Put "
        "a copy back, and hold it against your latest receipt: `tacit ledger POLICY verify --receipt FILE`."
    )


def _check_format(found: object, named: str) -> None:
    if found is None:
        raise LedgerError(
            f"The ledger {named} has lost its head, the row that says what is spent. Nothing was answered or spent. "
            "Put a copy back."
        )
    if found != FORMAT:
        raise LedgerError(
            f"The ledger {named} was written by another version of tacit, likely a newer one (format {found}; this one "
            f"knows {FORMAT}). Nothing was spent or changed. Install that version."
        )


def _head(row: Mapping[str, Any]) -> Head:
    budget = budget_read(json.loads(row["budget"]))
    nothing = start(budget, row["neighbours"])
    if not isinstance(row["number"], int) or not isinstance(row["since"], int):
        raise TypeError("number")
    return Head(
        number=row["number"],
        link=row["link"],
        spent=total_read(nothing, row["loss"], row["delta"]),
        budget=budget,
        policy=json.loads(row["policy"]),
        version=row["version"],
        since=row["since"],
        time=written(datetime.fromisoformat(row["time"]).astimezone(UTC)),
    )


def append(connection: Connection, head: Head, kind: str, said: Body, **changed: object) -> Head:
    """Append a record, and return the head that stands at it, with what it changed."""
    now = written(max(clock(), datetime.fromisoformat(head.time))) if kind != "clock" else written(clock())
    added = record(head.number + 1, kind, {**said, "time": now}, head.link)
    moved = replace(head, number=added.number, link=added.link, time=now, **changed)  # type: ignore[arg-type]  # its fields
    values = {"number": added.number, "kind": kind, "body": added.body, "link": added.link}
    connection.execute(insert(RECORDS), values)
    before = head.row()
    different = {name: value for name, value in moved.row().items() if before[name] != value}
    connection.execute(update(HEAD).values(**different))
    return moved


def check_clock(head: Head, named: str) -> None:
    """Raise LedgerError if the clock was set back: times are for people and decide nothing, but must not mislead."""
    now, before = clock(), datetime.fromisoformat(head.time)
    if now < before - SET_BACK:
        raise LedgerError(
            f"This machine's clock is at {now:%Y-%m-%d %H:%M} UTC, before the last record of the ledger {named} "
            f"({before:%Y-%m-%d %H:%M}). Nothing was spent. Set the clock right, then ask again. If it is right now "
            "and was wrong then, say so: `tacit ledger POLICY accept`, or accept=True in Python."
        )


def read_analyst(connection: Connection, head: Head, analyst: str, named: str) -> tuple[Spent, Budget | None]:
    """Return what one analyst has spent, and their own limit."""
    row = connection.execute(select(ANALYSTS).where(ANALYSTS.c.name == analyst)).one_or_none()
    if row is None:
        return head.nothing, None
    try:
        spent = total_read(head.nothing, row.loss, row.delta)
        return spent, None if row.budget is None else budget_read(json.loads(row.budget))
    except (KeyError, ValueError, TypeError, ArithmeticError):
        raise damaged(named) from None
