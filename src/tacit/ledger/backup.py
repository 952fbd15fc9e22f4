"""Export a ledger as JSON lines, one record each, and import it: for backups, for auditors, and to move it.

The last line has the number of records and the link of the last one, so that a truncated copy is detected.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from os import PathLike

from tacit.errors import LedgerError
from tacit.ledger import Ledger
from tacit.ledger.open_ledger import create_ledger, read_ledger
from tacit.ledger.records import FORMAT, MOVED, OLDEST_FORMAT, SEAL, Record, canonical
from tacit.ledger.replay import VerifyReport, replay, stored, verify
from tacit.ledger.schema import contents
from tacit.ledger.storage import open_store

_FIELDS = {"number": int, "kind": str, "body": str, "link": str}


def export(ledger: Ledger) -> Generator[str, None, None]:
    """Yield each record as one line of JSON, and a last line with the number of records.

    Args:
        ledger: the ledger, which is in a file or in PostgreSQL and stays open.
    """
    ledger = stored(ledger)
    count, link, needed = 0, "", OLDEST_FORMAT
    with ledger.snapshot() as (records, _):
        for record in records:
            count, link = count + 1, record.link
            needed = FORMAT if record.kind in (SEAL, MOVED) else needed
            yield canonical({"format": needed, **{name: getattr(record, name) for name in _FIELDS}})
    yield canonical({"format": needed, "records": count, "head": link})


def read_lines(lines: Iterable[str]) -> list[Record]:
    """Return the records of exported lines, or raise LedgerError."""
    records: list[Record] = []
    end: tuple[object, object] | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = _parse(line, number)
        if end is not None:
            raise _not_loaded(f"Line {number} comes after the end of the ledger.")
        if "records" in fields:
            end = fields["records"], fields.get("head")
            continue
        values = [fields.get(name) for name in _FIELDS]
        if not all(type(value) is kind for value, kind in zip(values, _FIELDS.values(), strict=True)):
            raise _not_loaded(f"Line {number} is not a ledger record.")
        records.append(Record(*values))  # type: ignore[arg-type]  # checked above
    if end != (len(records), records[-1].link if records else ""):
        raise _not_loaded("The copy is incomplete: lines are missing.")
    return records


def _parse(line: str, number: int) -> dict[str, object]:
    """Return the fields of a line, or raise LedgerError."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("format"), int):
        raise _not_loaded(f"Line {number} is not a ledger record.")
    if fields["format"] not in range(OLDEST_FORMAT, FORMAT + 1):
        raise _not_loaded(
            f"Line {number} was written by another version of tacit, probably a newer one.", "Install that version."
        )
    return fields


def _not_loaded(fact: str, hint: str = "Export the ledger again.") -> LedgerError:
    return LedgerError(f"{fact} Nothing was written.", hint=hint)


def load(lines: Iterable[str], location: str | PathLike[str]) -> VerifyReport:
    """Write an exported ledger to an empty location, if the copy is valid; return the report on the new ledger.

    Args:
        lines: the exported lines.
        location: the path of a file, or a postgresql:// URL.
    """
    records = read_lines(lines)
    state, report = replay(records, "in the copy")
    if state is None:
        raise _not_loaded(str(report))
    store = open_store(location)
    try:
        with store.writing() as connection:
            store.lock_creation(connection)
            if contents(connection) != "nothing":
                raise _not_loaded(f"{store.name} already exists and is not empty.", "Choose another location.")
            create_ledger(connection, records, state)
    finally:
        store.close()
    ledger = read_ledger(location)
    try:
        return verify(ledger)
    finally:
        ledger.close()
