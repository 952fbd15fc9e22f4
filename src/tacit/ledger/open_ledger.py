"""Opening a ledger: making one, bringing an old one up to date, and holding it against the policy that asks."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from sqlalchemy import Connection

from tacit.errors import LedgerError, RefusedError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.filters import Budget, start
from tacit.ledger.changes import settle_budget, settle_clock, settle_limit, settle_policy, settle_version
from tacit.ledger.head import clock, read_head, written
from tacit.ledger.migrate_v1 import migrated
from tacit.ledger.policies import Policies
from tacit.ledger.records import Head, budget_said, record
from tacit.ledger.schema import create, found, write
from tacit.ledger.sql_ledger import DurableLedger
from tacit.ledger.storage import Store, missing, store
from tacit.version import VERSION


def open_ledger(
    place: str | PathLike[str],
    budget: Budget,
    neighbours: Neighbours,
    *,
    policies: Policies | None = None,
    analysts: Mapping[str, Budget] | None = None,
    version: str | None = None,
    accept: bool = False,
) -> DurableLedger:
    """Open a ledger, or begin one; all that changes is recorded in one transaction, or nothing is.

    Args:
        place: a file's path, or a postgresql:// URL.
        budget: what may be spent in all; a ledger keeps the one it was begun with unless a change is accepted.
        neighbours: the relation of neighbours, which never changes.
        policies: what is public about each table, as far as the promise rests on it.
        analysts: what some analysts may spend, under the budget of all; another limit than the recorded one, or a first
            one for an analyst who has spent already, must be accepted.
        version: the declared version of the data.
        accept: whether a changed budget, limit or policy is meant, and shall be recorded; or a clock that was wrong
            before.
    """
    budget_said(budget)
    start(budget, neighbours)
    shelf = store(place)
    try:
        with shelf.writing() as connection:
            begun = _prepare(shelf, connection, budget, neighbours)
            head = read_head(connection, shelf.named, lock=True)
            after = head.number
            _check_relation(head, neighbours, shelf.named)
            head = settle_clock(connection, head, shelf.named, accept=accept)
            head = settle_budget(connection, head, budget, shelf.named, accept=accept)
            head = settle_policy(connection, head, policies or {}, accept=accept)
            for analyst, most in (analysts or {}).items():
                head = settle_limit(connection, head, analyst, most, shelf.named, accept=accept)
            head = _settle_version(connection, head, version, shelf.named)
    except BaseException:
        shelf.close()
        raise
    return DurableLedger(shelf, head, version, begun=begun, after=after)


def read_ledger(place: str | PathLike[str]) -> DurableLedger:
    """Open a ledger that is there, as it is: to look at it, to check it, to copy it."""
    shelf = store(place, must_exist=True)
    try:
        with shelf.reading() as connection:
            _check_held(found(connection), shelf.named)
            head = read_head(connection, shelf.named)
    except BaseException:
        shelf.close()
        raise
    return DurableLedger(shelf, head, None)


def require_ledger(place: str | PathLike[str]) -> None:
    """Raise LedgerError unless a ledger was begun in a place; nothing is made or changed there."""
    shelf = store(place, must_exist=True)
    try:
        with shelf.reading() as connection:
            if found(connection) == "nothing":
                raise missing(shelf.named)
    finally:
        shelf.close()


def _check_held(held: str, named: str) -> None:
    if held == "nothing":
        raise missing(named)
    if held != "ledger":
        why = "of an older format: ask a question to renew it" if held == "first" else "no ledger: name another"
        raise LedgerError(f"What is at {named} is {why}. Nothing was changed.")


def _prepare(shelf: Store, connection: Connection, budget: Budget, neighbours: Neighbours) -> bool:
    """Make a ledger where there is none, and bring an old one up to date; return whether there was none."""
    if found(connection) == "ledger":
        return False
    shelf.make_alone(connection)
    held = found(connection)
    if held == "other":
        raise LedgerError(
            f"The file {shelf.named} is a database, but no ledger. Nothing was spent or changed. Name another file."
        )
    now = written(clock())
    if held == "first":
        records = migrated(connection, now, shelf.named)
        create(connection)
        write(connection, records)
    elif held == "nothing":
        create(connection)
        said = {**budget_said(budget), "neighbours": neighbours, "software": f"tacit {VERSION}", "time": now}
        write(connection, [record(0, "begin", said, "")])
    return held == "nothing"


def _check_relation(head: Head, neighbours: Neighbours, named: str) -> None:
    if head.spent.neighbours != neighbours:
        raise RefusedError(
            f"The ledger {named} was begun for neighbours that {head.spent.neighbours!r}, not {neighbours!r}; that can "
            "never change. Nothing was spent. Put it back in the policy."
        )


def _settle_version(connection: Connection, head: Head, version: str | None, named: str) -> Head:
    """Record the version that is asked of; where a budget began afresh for one, it must be said."""
    if version is not None:
        return settle_version(connection, head, version, disjoint=False)
    if head.since:
        raise RefusedError(
            f"The budget of the ledger {named} is for the version {show(head.version)} of the data, of other units "
            "than before. Nothing was spent. Say which version this is: data_version, in the policy or in tc.open."
        )
    return head
