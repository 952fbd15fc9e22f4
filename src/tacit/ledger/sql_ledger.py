"""A ledger in a SQLite file or in PostgreSQL: every charge is on disk before tacit reads a row of the data.

A charge is one transaction. Under the lock of the head it reads the totals so far, asks the filter of the data's budget
and that of the analyst's limit, if there is one, and appends the charge with the totals after it; both must admit.
Amounts are rationals, written as text, so that ten times 0.1 is 1. A crash before the commit leaves nothing. A crash
after it leaves a pending charge. It stays charged, as it must, because reading may have started.

If the same analyst repeats a query with the same parameters on the same declared version of the data, tacit returns the
recorded answer. It is the same noisy answer, so repeating it is post-processing and free. A new version of the data
ends free repeats, but not the spending: a unit is all its rows in all versions. A new budget starts only if the steward
declares that the new version has other units. A ledger that was opened before that cannot spend the new budget.

**Lost records.** A `SqlLedger` stores the number and the link of the newest record that it has seen. Each transaction
checks that this record is still there. A link covers all records before it, so a backup that was restored under a
running process, or a standby that was promoted without the newest charges, is refused. The number is taken before the
transaction starts. So the transaction sees all that was committed when the number was stored, also by other threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import Connection, select

from tacit.errors import LedgerError, RefusedError, show_name
from tacit.guarantees.events import from_json
from tacit.guarantees.filters import Budget, Spent
from tacit.ledger import ANSWERED, PENDING, LedgerEntry, Request, Ticket, check_name
from tacit.ledger.admission import limit_of
from tacit.ledger.changes import append, change_budget, change_limit, change_policy, change_version, check_clock
from tacit.ledger.policies import Policies, RecordedPolicy
from tacit.ledger.records import Account, Head, Record, decode_total, key_name, left_of, left_under
from tacit.ledger.schema import CHARGES, DERIVED, RECORDS, REQUESTS, SqlTables, damaged, read_head
from tacit.ledger.seals import check_not_sealed
from tacit.ledger.sizes import new_sizes, recorded_size
from tacit.ledger.state import before_charge, charge_body, check_key, check_outcome, request_names
from tacit.ledger.storage import Store

_LARGEST_ANSWER = 20_000_000
_BATCH = 1000

TableRows: TypeAlias = Sequence[dict[str, object]]
"""The rows of one table."""

Snapshot: TypeAlias = tuple[Iterator[Record], Callable[[], dict[str, TableRows]]]
"""The records of a ledger, and a function that reads the derived tables, all at one moment."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The budget, the amount that all have spent, the limit that applies to an analyst, and the amount they spent."""

    budget: Budget
    spent: Spent
    limit: Budget | None
    own: Spent

    @property
    def left_in_all(self) -> Budget:
        """The amount that is left of the budget of all."""
        return left_of(self.budget, self.spent)

    @property
    def left(self) -> Budget:
        """The amount that is left for the analyst."""
        if self.limit is None:
            return self.left_in_all
        return left_under(self.budget, self.spent, self.limit, self.own)


class SqlLedger:
    """A budget and its history in a SQLite file or in PostgreSQL."""

    def __init__(
        self, store: Store, head: Head, version: str | None, *, created: bool = False, opened_after: int = 0
    ) -> None:
        """Store the database that `open_ledger` has prepared.

        Args:
            store: the database.
            head: the head of the ledger.
            version: the declared version of the data, if there is one.
            created: whether this process created the ledger.
            opened_after: the number of the last record before the records that opening appended.
        """
        self._store, self._budget, self._since, self._version = store, head.budget, head.since, version
        self._created, self.opened_after = created, opened_after
        self._open_tables: frozenset[str] = frozenset()
        self._seen = head.number, head.link

    @property
    def name(self) -> str:
        """The name of the ledger in messages: its path, or the scheme of its URL."""
        return self._store.name

    @property
    def created(self) -> bool:
        """True if the ledger did not exist before it was opened."""
        return self._created

    @property
    def server_replaced(self) -> bool:
        """True if the steward accepted another server, or a server that was promoted or restored, at the opening."""
        return self._store.server_replaced

    @property
    def budget(self) -> Budget:
        """The budget of the data, as of the last time the ledger was read."""
        return self._budget

    @property
    def spent(self) -> Spent:
        """The total spent by all who share the ledger."""
        with self._reading() as (_, head):
            return head.spent

    @property
    def head(self) -> tuple[int, str]:
        """The number and the link of the last record."""
        with self._reading() as (_, head):
            return head.number, head.link

    @property
    def moved_to(self) -> str:
        """The new place of the ledger if it is sealed, else an empty text."""
        with self._reading() as (_, head):
            return head.moved_to

    @property
    def since(self) -> int:
        """The number of the record with which the current budget started."""
        with self._reading() as (_, head):
            return head.since

    @property
    def policy(self) -> RecordedPolicy:
        """The recorded parts of each table's policy."""
        with self._reading() as (_, head):
            return head.policy

    @property
    def tables(self) -> frozenset[str]:
        """The names of the private tables in the recorded policy, and of those that this process opened."""
        with self._reading() as (_, head):
            return self._open_tables | frozenset(head.policy)

    def open_tables(self, names: Iterable[str]) -> None:
        """Note that private tables of these names are open with this ledger."""
        self._open_tables |= frozenset(names)

    def size_of(self, version: str, table: str) -> int | None:
        """Return the recorded size of a table under a version, or None."""
        with self._store.reading() as connection:
            return recorded_size(version, table, SqlTables(connection, self.name))

    def spent_by(self, analyst: str) -> Spent:
        """Return the total that one analyst has spent."""
        return self._account(analyst).spent

    def limit_of(self, analyst: str) -> Budget | None:
        """Return the limit that applies to one analyst, if there is one."""
        check_name(analyst, "analyst")
        with self._reading() as (connection, head):
            return limit_of(analyst, head.nothing, SqlTables(connection, self.name))

    def standing(self, analyst: str) -> Standing:
        """Return what one analyst and all have spent, and the limit that applies, all at one moment."""
        check_name(analyst, "analyst")
        with self._reading() as (connection, head):
            tables = SqlTables(connection, self.name)
            own = tables.account(analyst, head.nothing).spent
            return Standing(head.budget, head.spent, limit_of(analyst, head.nothing, tables), own)

    def recorded(self, request: Request) -> Ticket | None:
        """Return the recorded answer to this query, if there is one; charge nothing."""
        if request.key is None and not request.repeats:
            return None
        with before_charge(), self._reading() as (connection, head):
            check_not_sealed(head, self.name)
            self._check_version(head)
            return self._find_answer(connection, head, request)

    def charged_as(self, analyst: str, key: str) -> int | None:
        """Return the number of an analyst's newest charge under a request key, answered or not; None without one."""
        check_name(analyst, "analyst")
        with self._reading() as (connection, _):
            known = SqlTables(connection, self.name).request(key_name(analyst, key))
            return None if known is None else known[0]

    def charge(self, request: Request) -> Ticket:
        """Charge all events or none, on disk; if this query has a recorded answer, return it instead."""
        with before_charge(), self._writing() as (connection, head):
            check_not_sealed(head, self.name)
            self._check_version(head)
            check_clock(head, self.name)
            answered = self._find_answer(connection, head, request)
            if answered is not None:
                return answered
            after = head
            for size in new_sizes(request.sizes, SqlTables(connection, self.name)):
                after = append(connection, after, "size", size, self.name)
            body = charge_body(after, request, SqlTables(connection, self.name))
            after = append(connection, after, "charge", body, self.name)
        self._see(after)
        return Ticket(number=after.number, head=after.link)

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record the outcome of a charge; it stays charged. An answer of more than 20 MB is not stored."""
        charge = check_outcome(number, outcome)
        is_stored = answer is not None and outcome == ANSWERED and len(answer) <= _LARGEST_ANSWER
        body = {"charge": charge, "outcome": outcome, "answer": answer if is_stored else None}
        with self._writing() as (connection, head):
            after = append(connection, head, "outcome", body, self.name)
        self._see(after)

    def entries(self) -> Sequence[LedgerEntry]:
        """Return the charges, oldest first."""
        with self._reading() as (connection, head):
            nothing = head.nothing
            joined = RECORDS.outerjoin(CHARGES, RECORDS.c.number == CHARGES.c.number)
            query = select(RECORDS, CHARGES.c.outcome).select_from(joined).where(RECORDS.c.kind == "charge")
            rows = connection.execute(query.order_by(RECORDS.c.number)).all()
        try:
            return [_entry(Record(*row[:4]), row[4] or PENDING, nothing) for row in rows]
        except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
            raise damaged(self.name) from None

    def records(self) -> list[Record]:
        """Return every record, oldest first."""
        with self.snapshot() as (records, _):
            return list(records)

    def derived(self) -> dict[str, TableRows]:
        """Return the rows of the derived tables."""
        with self.snapshot() as (_, derived):
            return derived()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read the records, one after the other, and the derived tables, all at one moment."""
        with self._store.reading() as connection:

            def derived() -> dict[str, TableRows]:
                return {
                    table.name: [dict(row) for row in connection.execute(select(table)).mappings()] for table in DERIVED
                }

            with closing(_records(connection)) as records:
                yield records, derived

    def _repr_html_(self) -> str:
        """Return the charges and what is left as HTML, for notebooks."""
        from tacit.ledger.history import history_html  # noqa: PLC0415 - it imports charts

        return history_html(self)

    def close(self) -> None:
        """Close the connections to the database."""
        self._store.close()

    # --- changes by stewards ------------------------------------------------------------------------------------------

    def set_budget(self, budget: Budget) -> None:
        """Record a new budget in the same currency. It must cover what is spent."""
        with self._writing() as (connection, head):
            self._budget = change_budget(connection, head, budget, self.name, accept=True).budget

    def set_limit(self, analyst: str, budget: Budget | None) -> None:
        """Record the limit of one analyst under the budget of the data; None removes it."""
        with self._writing() as (connection, head):
            change_limit(connection, head, analyst, budget, self.name, accept=True)

    def set_policy(self, policies: Policies, *, accept: bool = False) -> None:
        """Record the policy of the tables. After a charge a change must be accepted, and the unit can never change."""
        with self._writing() as (connection, head):
            change_policy(connection, head, policies, self.name, accept=accept)

    def set_version(self, version: str, *, disjoint: bool = False) -> None:
        """Record a new declared version of the data; recorded answers of other versions are no longer repeated.

        With `disjoint` the steward declares that no unit of this version was in an earlier version. The budget then
        starts again, for ledgers that are opened with this version. A ledger that was opened before cannot charge it.
        """
        with self._writing() as (connection, head):
            change_version(connection, head, version, self.name, disjoint=disjoint)

    # --- helpers ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[tuple[Connection, Head]]:
        """Read one snapshot, with its head."""
        seen = self._seen
        with self._store.reading() as connection:
            yield connection, self._head(connection, read_head(connection, self.name), seen)

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, Head]]:
        """Read and append in one transaction, under the lock of the head."""
        seen = self._seen
        with self._store.writing() as connection:
            yield connection, self._head(connection, read_head(connection, self.name, lock=True), seen)

    def _head(self, connection: Connection, head: Head, seen: tuple[int, str]) -> Head:
        """Return the head, after the check that no record is lost."""
        self._check_seen(connection, head, seen)
        self._see(head)
        self._budget = head.budget
        return head

    def _check_seen(self, connection: Connection, head: Head, seen: tuple[int, str]) -> None:
        """Raise LedgerError if a record that this process has seen is missing or was changed."""
        number, link = seen
        query = select(RECORDS.c.link).where(RECORDS.c.number == number)
        if link != (head.link if head.number == number else connection.execute(query).scalar()):
            raise LedgerError(
                f"Ledger {self.name} has lost charges: record {number}, which this process has seen, is not there. A "
                "backup was restored, or a standby was promoted that lacked the newest charges.",
                hint="Restore the lost records, or do not use their part of the budget. Then open the ledger again.",
            )

    def _see(self, head: Head) -> None:
        """Store the newest committed record that this process has seen."""
        self._seen = max(self._seen, (head.number, head.link))

    def _account(self, analyst: str) -> Account:
        check_name(analyst, "analyst")
        with self._reading() as (connection, head):
            return SqlTables(connection, self.name).account(analyst, head.nothing)

    def _check_version(self, head: Head) -> None:
        if head.since != self._since or self._version not in (None, head.version):
            raise RefusedError(
                f"Ledger {self.name} is now at data version {show_name(head.version)}, which is not the version that "
                "was opened.",
                hint="Open the data of that version, and query again.",
            )

    def _find_answer(self, connection: Connection, head: Head, request: Request) -> Ticket | None:
        """Return the ticket of a recorded answer, if there is one; refuse a key that was used for another query."""
        check_key(request.analyst, request.key, request.digest, SqlTables(connection, self.name))
        for name in request_names(head.version, request):
            query = (
                select(REQUESTS.c.number, CHARGES.c.ended)
                .join(CHARGES, CHARGES.c.number == REQUESTS.c.number)
                .where(REQUESTS.c.name == name, CHARGES.c.outcome == ANSWERED)
            )
            for number, ended in connection.execute(query).all():
                answer = self._body(connection, ended).get("answer")
                if isinstance(answer, str):
                    link = connection.execute(select(RECORDS.c.link).where(RECORDS.c.number == number)).scalar_one()
                    return Ticket(number=number, head=link, answer=answer)
        return None

    def _body(self, connection: Connection, number: int) -> dict[str, object]:
        body = connection.execute(select(RECORDS.c.body).where(RECORDS.c.number == number)).scalar()
        try:
            return dict(json.loads(body or ""))
        except (TypeError, ValueError, RecursionError):
            raise damaged(self.name) from None


def _records(connection: Connection) -> Generator[Record, None, None]:
    query = select(RECORDS).order_by(RECORDS.c.number).execution_options(yield_per=_BATCH)
    with connection.execute(query) as rows:
        for row in rows:
            yield Record(*row)


def _entry(record: Record, outcome: str, nothing: Spent) -> LedgerEntry:
    body = record.fields
    return LedgerEntry(
        number=record.number,
        question=body["question"],
        analyst=body["analyst"],
        events=tuple(from_json(json.dumps(event)) for event in body["events"]),
        outcome=outcome,
        time=body["time"],
        total=decode_total(nothing, body["loss"], body["delta"]),
        since=body["since"],
    )
