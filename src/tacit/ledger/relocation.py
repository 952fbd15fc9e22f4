"""Move a ledger to another place: a file, or a PostgreSQL server. The old ledger is sealed.

    tc.ledger.move("clinic.ledger", "postgresql://db.example.org/clinic")

**Statement.** At every moment at most one of the two places admits charges, also if the process is killed.

1. *Reserve.* The new place must be empty. A transaction writes a random token there. A place with a token admits
   nothing.
2. *Rehearse.* tacit verifies the old ledger, and writes a copy to the new place in a transaction that it rolls back. So
   a missing permission or a full disk is found before anything is sealed.
3. *Seal.* A transaction appends a `seal` with the token and the new place to the old ledger, under the lock of its
   head. The old ledger admits nothing after it, and older versions of tacit refuse its format.
4. *Copy.* A transaction replaces the token at the new place by all records up to the seal, and a record `moved`.
5. *Verify.* tacit verifies the new ledger.

Before step 3 is committed, the new place has a token and no ledger. After it, the old ledger is sealed. The new place
admits charges only after step 4, and step 4 checks that its token is that of the seal. No other place has this token,
so a seal is continued at one place only. After a crash, the same command continues where it stopped. Between steps 3
and 4 neither place admits charges.

If the new place is lost after the seal, `lost=True` seals the old ledger again, for another place. The steward then
declares that nobody can ever use the lost place: two continued ledgers would be two budgets. If the place is a file
that this process can read and that has the ledger, the declaration is refused.

If a query was charged before the seal and its outcome arrives after it, it stays pending in the new ledger. Its charge
stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import datetime
from os import PathLike
from pathlib import Path
from secrets import token_hex

from sqlalchemy import Connection, insert, select

from tacit.errors import LedgerError
from tacit.ledger.changes import append, clock, format_time
from tacit.ledger.open_ledger import create_ledger, read_ledger
from tacit.ledger.records import MOVED, SEAL, Record, record
from tacit.ledger.replay import LedgerState, VerifyReport, replay, verify
from tacit.ledger.schema import RECORDS, RESERVATION, contents, read_head
from tacit.ledger.state import before_charge
from tacit.ledger.storage import Store, open_store


class _RehearsedError(Exception):
    """The copy can be written; the transaction is rolled back."""


def move(old: str | PathLike[str], new: str | PathLike[str], *, lost: bool = False) -> VerifyReport:
    """Move a ledger to an empty place, seal the old one, and return the report on the new one.

    Args:
        old: the path of a file, or a postgresql:// URL.
        new: the path or URL of an empty place.
        lost: whether the steward declares that the place of an earlier, unfinished move is lost.
    """
    with before_charge():
        source, target = open_store(old, must_exist=True), open_store(new)
        try:
            last = _last_seal(source)
            if last is not None and lost:
                _refuse_present(last)
            token = _reserve(target, last, lost=lost)
            if token is not None:
                _rehearse(old, target)
                _seal(source, token, target.place, lost=lost)
                _copy(old, target, token)
        finally:
            source.close()
            target.close()
        return _verified(new)


def _last_seal(source: Store) -> Record | None:
    """Return the seal of the old ledger, or None if it is not sealed."""
    with source.reading() as connection:
        if contents(connection) != "ledger":
            raise LedgerError(
                f"{source.name} is not a ledger of this format.",
                hint="If it has an older format, upgrade it: `tacit ledger upgrade POLICY`.",
            )
        head = read_head(connection, source.name)
        return _record(connection, head.number) if head.moved_to else None


def _record(connection: Connection, number: int) -> Record | None:
    row = connection.execute(select(RECORDS).where(RECORDS.c.number == number)).one_or_none()
    return None if row is None else Record(*row)


def _reserve(target: Store, seal: Record | None, *, lost: bool) -> str | None:
    """Write a token to the new place, or return the one that is there; None if the ledger was moved there already."""
    with target.writing() as connection:
        target.lock_creation(connection)
        kind = contents(connection)
        if kind == "ledger" and seal is not None and _continues(connection, seal):
            return None
        if kind not in ("nothing", "reserved"):
            raise _not_moved(f"{target.name} already exists and is not empty.", "Choose another place.")
        token = _token(connection) if kind == "reserved" else None
        if seal is not None and not lost and token != seal.fields["token"]:
            raise _not_moved(
                f"The ledger is already sealed for {seal.fields['to']}.",
                "Finish that move. If that place is lost for ever, declare it with --lost, or lost=True in Python.",
            )
        if token is None:
            token = token_hex(16)
            RESERVATION.create(connection)
            connection.execute(insert(RESERVATION), {"token": token})
        return token


def _continues(connection: Connection, seal: Record) -> bool:
    """Return whether a ledger continues the sealed one; the sealed ledger itself and copies of it do not."""
    after = _record(connection, seal.number + 1)
    return _record(connection, seal.number) == seal and after is not None and after.kind == MOVED


def _refuse_present(seal: Record) -> None:
    """Raise LedgerError if the place of a seal is a file that has the ledger: it is not lost.

    A file that cannot be read or is corrupt counts as lost.
    """
    place, is_there = seal.fields["to"], False
    if "://" not in place and Path(place).is_file():
        store = open_store(place, must_exist=True)
        with closing(store), suppress(LedgerError), store.reading() as connection:
            is_there = contents(connection) == "ledger" and _continues(connection, seal)
    if is_there:
        raise _not_moved(f"{place} is not lost: the ledger was moved there.", "Move it from there.")


def _token(connection: Connection) -> str | None:
    return connection.execute(select(RESERVATION.c.token)).scalar_one_or_none()


def _not_moved(fact: str, hint: str) -> LedgerError:
    return LedgerError(f"{fact} Nothing was moved.", hint=hint)


def _rehearse(old: str | PathLike[str], target: Store) -> None:
    """Verify the old ledger, and write its copy to the new place in a transaction that is rolled back."""
    ledger = read_ledger(old)
    try:
        report = verify(ledger)
        if not report.holds:
            raise _not_moved(str(report), "Restore it from a backup.")
        records = ledger.records()
    finally:
        ledger.close()
    try:
        with target.writing() as connection:
            create_ledger(connection, records, _state(records))
            raise _RehearsedError  # noqa: TRY301 - it rolls the transaction back
    except _RehearsedError:
        pass


def _state(records: Sequence[Record]) -> LedgerState:
    state, report = replay(records, "in the copy")
    if state is None:
        raise _not_moved(str(report), "Restore the ledger from a backup.")
    return state


def _seal(source: Store, token: str, place: str, *, lost: bool) -> None:
    """Seal the old ledger for a token, unless it is sealed for it already."""
    with source.writing() as connection:
        head = read_head(connection, source.name, lock=True)
        last = _record(connection, head.number) if head.moved_to else None
        if last is not None and last.fields["token"] == token:
            return
        if last is not None and not lost:
            raise _not_moved(f"The ledger is already sealed for {last.fields['to']}.", "Finish that move.")
        append(connection, head, SEAL, {"token": token, "to": place}, source.name)


def _copy(old: str | PathLike[str], target: Store, token: str) -> None:
    """Write all records of the sealed ledger and a record `moved` to the new place, in place of its token."""
    ledger = read_ledger(old)
    try:
        records = ledger.records()
    finally:
        ledger.close()
    seal = records[-1]
    if seal.kind != SEAL or seal.fields["token"] != token:
        raise _not_moved("The old ledger is sealed for another place.", "Finish that move.")
    time = format_time(max(clock(), datetime.fromisoformat(seal.fields["time"])))
    records.append(record(seal.number + 1, MOVED, {"token": token, "time": time}, seal.link))
    with target.writing() as connection:
        target.lock_creation(connection)
        if contents(connection) != "reserved" or _token(connection) != token:
            raise _not_moved(f"{target.name} is no longer reserved for this ledger.", "Run the command again.")
        RESERVATION.drop(connection)
        create_ledger(connection, records, _state(records))


def _verified(new: str | PathLike[str]) -> VerifyReport:
    ledger = read_ledger(new)
    try:
        return verify(ledger)
    finally:
        ledger.close()
