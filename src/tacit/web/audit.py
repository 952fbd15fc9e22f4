"""The audit log: who asked what and when, who signed in, who changed what. It has the text of questions, never values.

It is beside the ledger, not part of its chain: the ledger proves what was charged, the audit log also has what was
refused. Plans are not in it: they read no private row and spend nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from tacit.safe_text import visible
from tacit.web.store import WebStore, now
from tacit.web.tables import AUDIT

_LONGEST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the audit log."""

    number: int
    time: int
    person: str
    action: str
    dataset: str
    detail: str
    outcome: str
    record: int | None


def write(
    connection: Connection,
    person: str,
    action: str,
    *,
    dataset: str = "",
    detail: str = "",
    outcome: str = "done",
    record: int | None = None,
) -> None:
    """Write a line within a transaction."""
    row = {"person": person, "action": action, "dataset": dataset, "outcome": outcome, "record": record}
    connection.execute(insert(AUDIT).values(time=now(), detail=visible(detail[:_LONGEST]), **row))


def note(
    store: WebStore, person: str, action: str, *, dataset: str = "", detail: str = "", outcome: str = "done"
) -> None:
    """Write a line in a separate transaction."""
    with store.writing() as connection:
        write(connection, person, action, dataset=dataset, detail=detail, outcome=outcome)


def entries(
    store: WebStore, *, person: str | None = None, before: int | None = None, most: int = 100
) -> tuple[list[Entry], str | None]:
    """Return lines, newest first, and the cursor of those before them."""
    query = select(AUDIT).order_by(AUDIT.c.number.desc()).limit(most + 1)
    if person is not None:
        query = query.where(AUDIT.c.person == person)
    if before is not None:
        query = query.where(AUDIT.c.number < before)
    with store.reading() as connection:
        rows = [Entry(**row) for row in connection.execute(query).mappings()]
    return rows[:most], str(rows[most - 1].number) if len(rows) > most else None
