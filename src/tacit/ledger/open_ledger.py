"""Opening a ledger: create it, migrate it from the first format, or compare it with the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

from sqlalchemy import Connection

from tacit.errors import LedgerError, RefusedError, show_name
from tacit.guarantees.events import Neighbours
from tacit.guarantees.filters import Budget, start
from tacit.ledger.changes import (
    change_budget,
    change_clock,
    change_limit,
    change_policy,
    change_version,
    clock,
    format_time,
)
from tacit.ledger.migrate_v1 import migrate
from tacit.ledger.policies import Policies
from tacit.ledger.records import Head, Record, encode_budget, record
from tacit.ledger.replay import LedgerState, replay
from tacit.ledger.schema import contents, create, read_head, write
from tacit.ledger.seals import check_not_sealed
from tacit.ledger.sql_ledger import SqlLedger
from tacit.ledger.state import before_charge
from tacit.ledger.storage import Store, missing, open_store
from tacit.version import VERSION


def open_ledger(
    location: str | PathLike[str],
    budget: Budget,
    neighbours: Neighbours,
    *,
    policies: Policies | None = None,
    analysts: Mapping[str, Budget] | None = None,
    version: str | None = None,
    accept: bool = False,
) -> SqlLedger:
    """Open a ledger, or create it. All changes are recorded in one transaction, or none is.

    Args:
        location: the path of a file, or a postgresql:// URL.
        budget: the budget of the data. A ledger keeps its budget unless a change is accepted.
        neighbours: the neighbour relation, which never changes.
        policies: the public facts about each table on which the guarantee depends.
        analysts: the limits of analysts under the budget of the data. A changed limit, or a first limit of an analyst
            who has already spent, must be accepted.
        version: the declared version of the data.
        accept: whether to record a changed budget, limit or policy, a clock that was wrong before, or another server.
    """
    with before_charge():
        encode_budget(budget)
        start(budget, neighbours)
        store = open_store(location)
        try:
            with store.writing() as connection:
                created = _prepare(store, connection, budget, neighbours)
                head = read_head(connection, store.name, lock=True)
                check_not_sealed(head, store.name)
                store.check_place(connection, accept=accept)
                opened_after = head.number
                _check_relation(head, neighbours, store.name)
                head = change_clock(connection, head, store.name, accept=accept)
                head = change_budget(connection, head, budget, store.name, accept=accept)
                head = change_policy(connection, head, policies or {}, store.name, accept=accept)
                for analyst, limit in (analysts or {}).items():
                    head = change_limit(connection, head, analyst, limit, store.name, accept=accept)
                head = _change_version(connection, head, version, store.name)
        except BaseException:
            store.close()
            raise
    return SqlLedger(store, head, version, created=created, opened_after=opened_after)


def read_ledger(location: str | PathLike[str]) -> SqlLedger:
    """Open an existing ledger without any change: to show it, to verify it, to copy it."""
    with before_charge():
        store = open_store(location, must_exist=True)
        try:
            with store.reading() as connection:
                _check_contents(contents(connection), store.name)
                head = read_head(connection, store.name)
        except BaseException:
            store.close()
            raise
    return SqlLedger(store, head, None)


def require_ledger(location: str | PathLike[str]) -> None:
    """Raise LedgerError unless a ledger exists at a location; change nothing there."""
    with before_charge():
        store = open_store(location, must_exist=True)
        try:
            with store.reading() as connection:
                if contents(connection) == "nothing":
                    raise missing(store.name)
        finally:
            store.close()


def create_ledger(connection: Connection, records: Sequence[Record], state: LedgerState) -> None:
    """Create the tables of a ledger, and insert records and the state after them."""
    create(connection)
    write(connection, records, state.rows())


def _check_contents(kind: str, name: str) -> None:
    if kind == "nothing":
        raise missing(name)
    if kind == "first":
        raise LedgerError(f"Ledger {name} has an older format.", hint="Upgrade it: `tacit ledger upgrade POLICY`.")
    _check_not_reserved(kind, name)
    if kind != "ledger":
        raise LedgerError(f"{name} is not a ledger.", hint="Name another file.")


def _check_not_reserved(kind: str, name: str) -> None:
    if kind == "reserved":
        raise LedgerError(
            f"{name} is reserved for a ledger that is being moved to it.",
            hint="Finish the move: `tacit ledger move OLD NEW`.",
        )


def upgrade_ledger(location: str | PathLike[str]) -> bool:
    """Upgrade a ledger of an older format; return False if it needs no upgrade.

    Only the first format needs it. Format 2 is read as it is, and becomes format 3 with the first record that needs it.
    """
    with before_charge():
        store = open_store(location, must_exist=True)
        try:
            with store.writing() as connection:
                kind = contents(connection)
                if kind == "first":
                    _insert(connection, migrate(connection, format_time(clock()), store.name), store.name)
                else:
                    _check_contents(kind, store.name)
                    read_head(connection, store.name)
        finally:
            store.close()
    return kind == "first"


def _prepare(store: Store, connection: Connection, budget: Budget, neighbours: Neighbours) -> bool:
    """Create a missing ledger, or migrate one of the first format; return whether it was created."""
    if contents(connection) == "ledger":
        return False
    store.lock_creation(connection)
    kind = contents(connection)
    _check_not_reserved(kind, store.name)
    if kind == "other":
        raise LedgerError(f"{store.name} is a database, but not a ledger.", hint="Name another file.")
    now = format_time(clock())
    if kind == "first":
        _insert(connection, migrate(connection, now, store.name), store.name)
    elif kind == "nothing":
        body = {**encode_budget(budget), "neighbours": neighbours, "software": f"tacit {VERSION}", "time": now}
        _insert(connection, [record(0, "begin", body, "")], store.name)
    return kind == "nothing"


def _insert(connection: Connection, records: Sequence[Record], name: str) -> None:
    """Insert records into a new ledger; raise LedgerError if they fail verification."""
    state, report = replay(records, name)
    if state is None:
        raise LedgerError(f"{report} Nothing was written.", hint="Restore it from a backup.")
    create_ledger(connection, records, state)


def _check_relation(head: Head, neighbours: Neighbours, name: str) -> None:
    if head.spent.neighbours != neighbours:
        raise RefusedError(
            f'Ledger {name} uses neighbours = "{head.spent.neighbours}", but the policy says "{neighbours}". The '
            "neighbour relation of a ledger cannot be changed.",
            hint="Restore it in the policy.",
        )


def _change_version(connection: Connection, head: Head, version: str | None, name: str) -> Head:
    """Record the data version. A version is required once the budget has been renewed for disjoint units."""
    if version is not None:
        return change_version(connection, head, version, name, disjoint=False)
    if head.since:
        raise RefusedError(
            f"The budget of ledger {name} is for data version {show_name(head.version)}, whose units are not those of "
            "earlier versions.",
            hint="State the version of these data: data_version, in the policy or in tc.open.",
        )
    return head
