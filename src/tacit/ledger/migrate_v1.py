"""Ledgers of the first format, brought up to date in one transaction.

The first format had one chain over its charges and a table of outcomes beside it. Its charges become charges here, in
order, with their totals; the first record says what the old chain ended with, so that the old file can still be held
against it. A chain that does not hold is not brought over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from tacit.errors import LedgerError
from tacit.ledger.records import PENDING, Record, record
from tacit.version import VERSION

_NOTHING = Fraction(0), Fraction(0)
_BUDGET = re.compile(r"(?P<currency>basic|zcdp): (?P<loss>[\d/]+), delta (?P<delta>[\d/]+)$")


def migrated(connection: Connection, now: str, named: str) -> list[Record]:
    """Return the records of a ledger of the first format, and remove its tables."""
    try:
        about = {row.key: row.value for row in connection.execute(text("SELECT key, value FROM about"))}
        entries = [row._asdict() for row in connection.execute(text("SELECT * FROM entries ORDER BY number"))]
        ended = {row.number: row.outcome for row in connection.execute(text("SELECT number, outcome FROM outcomes"))}
        budget = _BUDGET.match(about.get("budget", ""))
    except (DBAPIError, AttributeError, TypeError):
        budget, about = None, {}
    if budget is None or about.get("version") != "1":
        raise LedgerError(
            f"The file {named} is no ledger, or one of an old format that is not known. Nothing was spent or changed. "
            "Name another file."
        )
    begun = {
        **budget.groupdict(),
        "neighbours": about["neighbours"],
        "first_format": _checked(entries, named),
        "software": f"tacit {VERSION}",
        "time": now,
    }
    try:
        records = list(_records(begun, entries, ended))
    except (KeyError, ValueError, TypeError, ArithmeticError):
        raise _changed(named, "one of its entries cannot be read") from None
    for name in ("entries", "outcomes", "about"):
        connection.execute(text(f"DROP TABLE {name}"))
    return records


def _checked(entries: list[dict[str, Any]], named: str) -> str:
    """Return the end of the old chain, or raise LedgerError."""
    chain = ""
    for place, entry in enumerate(entries, 1):
        row = {key: value for key, value in entry.items() if key != "chain"}
        chain = sha256((chain + json.dumps(row, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()
        if entry.get("chain") != chain or entry.get("number") != place:
            raise _changed(named, f"its entry {place} does not follow from those before")
    return chain


def _changed(named: str, why: str) -> LedgerError:
    return LedgerError(f"The ledger {named} was changed: {why}. Nothing was spent or changed now. Put a copy back.")


def _records(begun: Mapping[str, object], entries: list[dict[str, Any]], ended: Mapping[int, str]) -> Iterator[Record]:
    """Yield the first record, the charges and their outcomes."""
    last = record(0, "begin", begun, "")
    yield last
    before, own = _NOTHING, dict[str, tuple[Fraction, Fraction]]()
    for entry in entries:
        after, who = (Fraction(entry["loss"]), Fraction(entry["delta"])), entry["analyst"]
        was = own.get(who, _NOTHING)
        own[who] = was[0] + after[0] - before[0], was[1] + after[1] - before[1]
        before = after
        said = {
            **{key: entry[key] for key in ("question", "analyst", "loss", "delta")},
            "analyst_loss": str(own[who][0]),
            "analyst_delta": str(own[who][1]),
            "events": [json.loads(one) for one in json.loads(entry["events"])],
            "digest": "",
            "repeats": False,
            "key": None,
            "version": "",
            "since": 0,
            "first_format": entry["number"],
            "time": begun["time"],
        }
        last = charged = record(last.number + 1, "charge", said, last.link)
        yield charged
        outcome = ended.get(entry["number"], PENDING)
        if outcome != PENDING:
            end = {"charge": charged.number, "outcome": outcome, "answer": None, "time": begun["time"]}
            last = record(last.number + 1, "outcome", end, last.link)
            yield last
