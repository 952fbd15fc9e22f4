"""A ledger as JSON lines, one record each, and back: for safekeeping, for auditors, and to move house.

The last line says how many records there were and the head of their chain, so that a copy that was cut off is told.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from os import PathLike

from tacit.errors import LedgerError
from tacit.ledger.open_ledger import read_ledger
from tacit.ledger.records import FORMAT, Record, canonical
from tacit.ledger.schema import create, found, write
from tacit.ledger.sql_ledger import DurableLedger
from tacit.ledger.storage import store
from tacit.ledger.verify import Report, replay, verify

_PARTS = {"number": int, "kind": str, "body": str, "link": str}


def export(ledger: DurableLedger) -> Generator[str, None, None]:
    """Yield each record as one line of JSON, and a last line that says where they end."""
    count, link = 0, ""
    with ledger.snapshot() as (records, _):
        for one in records:
            said = {"format": FORMAT, "number": one.number, "kind": one.kind, "body": one.body, "link": one.link}
            count, link = count + 1, one.link
            yield canonical(said)
    yield canonical({"format": FORMAT, "records": count, "head": link})


def read_lines(lines: Iterable[str]) -> list[Record]:
    """Return the records of exported lines, or raise LedgerError."""
    records: list[Record] = []
    end: tuple[object, object] | None = None
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        said = _object(line, place)
        if end is not None:
            raise LedgerError(f"Line {place} comes after the end of the ledger. Nothing was written.")
        if "records" in said:
            end = said["records"], said.get("head")
            continue
        parts = [said.get(part) for part in _PARTS]
        if not all(type(part) is kind for part, kind in zip(parts, _PARTS.values(), strict=True)):
            raise _no_record(place)
        records.append(Record(*parts))  # type: ignore[arg-type]  # checked above
    if end != (len(records), records[-1].link if records else ""):
        raise LedgerError(
            "The lines do not end where the ledger ended: some are missing. Nothing was written. Export it again."
        )
    return records


def _object(line: str, place: int) -> dict[str, object]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("format"), int):
        raise _no_record(place)
    if said["format"] != FORMAT:
        raise LedgerError(
            f"Line {place} was written by another version of tacit, likely a newer one. Nothing was written. Install "
            "that version."
        )
    return said


def _no_record(place: int) -> LedgerError:
    return LedgerError(f"Line {place} is no record of a ledger. Nothing was written. Export it again.")


def load(lines: Iterable[str], place: str | PathLike[str]) -> Report:
    """Write an exported ledger to a place where there is none, if its chain and totals hold."""
    records = read_lines(lines)
    _, report = replay(records)
    if not report.holds:
        raise LedgerError(f"{report} Nothing was written.")
    shelf = store(place)
    try:
        with shelf.writing() as connection:
            shelf.make_alone(connection)
            if found(connection) != "nothing":
                raise LedgerError(
                    f"There is something at {shelf.named} already. Nothing was written. Say another place."
                )
            create(connection)
            write(connection, records)
    finally:
        shelf.close()
    ledger = read_ledger(place)
    try:
        return verify(ledger)
    finally:
        ledger.close()
