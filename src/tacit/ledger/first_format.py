"""Ledgers of the first format, brought up to date in one transaction.

The first format had one chain over its charges and a table of outcomes beside it. Its charges become charges here, in
order, with their totals; the first record says what the old chain ended with, so that the old file can still be held
against it. A chain that does not hold is not brought over.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, text, update

from tacit.errors import LedgerError
from tacit.ledger import PENDING
from tacit.ledger.records import record
from tacit.ledger.tables import ANALYSTS, CHARGES, HEAD, RECORDS, begin

_NOTHING = Fraction(0), Fraction(0)
_BUDGET = re.compile(r"(?P<currency>\w+): (?P<loss>[\d/]+), delta (?P<delta>[\d/]+)$")


def migrate(connection: Connection, named: str) -> None:
    """Write a ledger of the first format once more, in this one, and remove its old tables."""
    about = {row.key: row.value for row in connection.execute(text("SELECT key, value FROM about"))}
    budget = _BUDGET.match(about.get("budget", ""))
    if budget is None or about.get("version") != "1":
        raise LedgerError(f"The ledger {named} has an old format that is not known. Nothing was spent or changed.")
    entries = [row._asdict() for row in connection.execute(text("SELECT * FROM entries ORDER BY number"))]
    ended = {row.number: row.outcome for row in connection.execute(text("SELECT number, outcome FROM outcomes"))}
    old = _checked(entries, named)
    begin(connection, {**budget.groupdict(), "neighbours": about["neighbours"], "first_format": old})
    _write(connection, entries, ended)
    for name in ("entries", "outcomes", "about"):
        connection.execute(text(f"DROP TABLE {name}"))


def _checked(entries: list[dict[str, Any]], named: str) -> str:
    """Return the end of the old chain, or raise LedgerError."""
    chain = ""
    for place, entry in enumerate(entries, 1):
        row = {key: value for key, value in entry.items() if key != "chain"}
        chain = sha256((chain + json.dumps(row, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()
        if entry["chain"] != chain or entry["number"] != place:
            raise LedgerError(
                f"The ledger {named} was changed: its entry {place} does not follow from those before. Nothing was "
                "spent. Put a copy back."
            )
    return chain


def _write(connection: Connection, entries: list[dict[str, Any]], ended: dict[int, str]) -> None:
    """Append the charges and their outcomes, and bring the head and all totals up to them."""
    head = connection.execute(text(f"SELECT link, time FROM {HEAD.name}")).one()  # noqa: S608 - our own name
    number, link, now = 0, head.link, head.time
    before, own = _NOTHING, dict[str, tuple[Fraction, Fraction]]()
    for entry in entries:
        after = Fraction(entry["loss"]), Fraction(entry["delta"])
        was = own.get(entry["analyst"], _NOTHING)
        own[entry["analyst"]] = was[0] + after[0] - before[0], was[1] + after[1] - before[1]
        before = after
        events = [json.loads(one) for one in json.loads(entry["events"])]
        said = {
            **{key: entry[key] for key in ("question", "analyst", "loss", "delta")},
            **dict(zip(("analyst_loss", "analyst_delta"), map(str, own[entry["analyst"]]), strict=True)),
            "events": events,
            "digest": "",
            "repeats": False,
            "key": None,
            "version": "",
            "time": now,
        }
        charged = record(number + 1, "charge", said, link)
        written, outcome = [charged], ended.get(entry["number"], PENDING)
        if outcome != PENDING:
            end = {"charge": charged.number, "outcome": outcome, "answer": None, "time": now}
            written.append(record(charged.number + 1, "outcome", end, charged.link))
        for one in written:
            values = {"number": one.number, "kind": one.kind, "body": one.body, "link": one.link}
            connection.execute(insert(RECORDS), values)
        last = written[-1]
        row = {"number": charged.number, "outcome": outcome, "ended": None if last is charged else last.number}
        connection.execute(insert(CHARGES), row)
        number, link = last.number, last.link
        moved = {"number": number, "link": link, "loss": entry["loss"], "delta": entry["delta"]}
        connection.execute(update(HEAD).values(**moved))
    for analyst, (loss, delta) in own.items():
        values = {"name": analyst, "loss": str(loss), "delta": str(delta), "budget": None}
        connection.execute(insert(ANALYSTS), values)
