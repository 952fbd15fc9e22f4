"""Migrate ledgers of the first format, in one transaction.

The first format had one chain over its charges, and a separate table of outcomes. Each of its charges becomes a charge
here, in order and with its totals. The first record has the last link of the old chain, so that the old file can still
be compared with it. A ledger with a broken chain is not migrated.
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
from tacit.ledger.records import PENDING, Record, record, stored_amount
from tacit.version import VERSION

_ZERO = Fraction(0), Fraction(0)
_BUDGET = re.compile(r"(?P<currency>basic|zcdp): (?P<loss>[\d/]+), delta (?P<delta>[\d/]+)$")


def migrate(connection: Connection, now: str, name: str) -> list[Record]:
    """Return the records of a ledger of the first format, and drop its tables."""
    try:
        about = {row.key: row.value for row in connection.execute(text("SELECT key, value FROM about"))}
        entries = [row._asdict() for row in connection.execute(text("SELECT * FROM entries ORDER BY number"))]
        outcomes = {row.number: row.outcome for row in connection.execute(text("SELECT number, outcome FROM outcomes"))}
        budget = _BUDGET.match(about.get("budget", ""))
    except (DBAPIError, AttributeError, TypeError):
        budget, about = None, {}
    if budget is None or about.get("version") != "1":
        raise LedgerError(f"{name} is not a ledger, or has an unknown old format.", hint="Name another file.")
    begin = {
        **budget.groupdict(),
        "neighbours": about["neighbours"],
        "first_format": _last_link(entries, name),
        "software": f"tacit {VERSION}",
        "time": now,
    }
    try:
        records = list(_records(begin, entries, outcomes))
    except (KeyError, ValueError, TypeError, ArithmeticError):
        raise _corrupt(name, "one of its entries cannot be read") from None
    for table in ("entries", "outcomes", "about"):
        connection.execute(text(f"DROP TABLE {table}"))
    return records


def _last_link(entries: list[dict[str, Any]], name: str) -> str:
    """Return the last link of the old chain, or raise LedgerError if the chain is broken."""
    chain = ""
    for number, entry in enumerate(entries, 1):
        row = {key: value for key, value in entry.items() if key != "chain"}
        chain = sha256((chain + json.dumps(row, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()
        if entry.get("chain") != chain or entry.get("number") != number:
            raise _corrupt(name, f"its entry {number} does not follow from those before it")
    return chain


def _corrupt(name: str, why: str) -> LedgerError:
    return LedgerError(f"Ledger {name} is corrupt: {why}.", hint="Restore it from a backup.")


def _records(
    begin: Mapping[str, object], entries: list[dict[str, Any]], outcomes: Mapping[int, str]
) -> Iterator[Record]:
    """Yield the first record, the charges and their outcomes."""
    last = record(0, "begin", begin, "")
    yield last
    before, totals = _ZERO, dict[str, tuple[Fraction, Fraction]]()
    for entry in entries:
        after, analyst = (stored_amount(entry["loss"]), stored_amount(entry["delta"])), entry["analyst"]
        loss, delta = totals.get(analyst, _ZERO)
        totals[analyst] = loss + after[0] - before[0], delta + after[1] - before[1]
        before = after
        body = {
            **{key: entry[key] for key in ("question", "analyst", "loss", "delta")},
            "analyst_loss": str(totals[analyst][0]),
            "analyst_delta": str(totals[analyst][1]),
            "events": [json.loads(event) for event in json.loads(entry["events"])],
            "digest": "",
            "repeats": False,
            "key": None,
            "version": "",
            "since": 0,
            "first_format": entry["number"],
            "time": begin["time"],
        }
        last = charge = record(last.number + 1, "charge", body, last.link)
        yield charge
        outcome = outcomes.get(entry["number"], PENDING)
        if outcome != PENDING:
            end = {"charge": charge.number, "outcome": outcome, "answer": None, "time": begin["time"]}
            last = record(last.number + 1, "outcome", end, last.link)
            yield last
