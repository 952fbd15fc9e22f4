"""A ledger as JSON lines, one record each, and back: for safekeeping, for auditors, and to move house."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from os import PathLike

from sqlalchemy import insert

from tacit.errors import LedgerError
from tacit.ledger.checking import Report, replay, verify
from tacit.ledger.durable import DurableLedger
from tacit.ledger.opening import read_ledger
from tacit.ledger.records import FORMAT, Record
from tacit.ledger.stores import store
from tacit.ledger.tables import RECORDS, create, found, restore

_PARTS = ("number", "kind", "body", "link")


def export(ledger: DurableLedger) -> Iterator[str]:
    """Yield each record as one line of JSON."""
    for one in ledger.records():
        said = {"format": FORMAT, "number": one.number, "kind": one.kind, "body": one.body, "link": one.link}
        yield json.dumps(said, ensure_ascii=False, sort_keys=True)


def read_lines(lines: Iterable[str]) -> list[Record]:
    """Return the records of exported lines, or raise LedgerError."""
    records = []
    for place, line in enumerate(lines):
        try:
            said = json.loads(line)
            records.append(Record(*(said[part] for part in _PARTS)))
            known = said["format"] <= FORMAT
        except (ValueError, KeyError, TypeError):
            raise LedgerError(f"Line {place + 1} is no record of a ledger. Nothing was written.") from None
        if not known:
            raise LedgerError(f"Line {place + 1} was written by a newer version of tacit. Nothing was written.")
    return records


def load(lines: Iterable[str], place: str | PathLike[str]) -> Report:
    """Write an exported ledger to a place where there is none, if its chain and totals hold."""
    records = read_lines(lines)
    state, report = replay(records)
    if not report.holds:
        raise LedgerError(f"{report} Nothing was written.")
    shelf = store(place)
    try:
        with shelf.transaction() as connection:
            shelf.make_alone(connection)
            held = found(connection)
            if held == "nothing":
                create(connection)
                rows = [dict(zip(_PARTS, (one.number, one.kind, one.body, one.link), strict=True)) for one in records]
                connection.execute(insert(RECORDS), rows)
                restore(connection, state.derived())
        if held != "nothing":
            raise LedgerError(f"There is something at {shelf.named} already. Nothing was written. Say another place.")
    finally:
        shelf.close()
    ledger = read_ledger(place)
    try:
        return verify(ledger)
    finally:
        ledger.close()
