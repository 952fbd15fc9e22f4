"""A ledger in memory, which ends with its process.

It is the state machine of `state` without a store. It numbers its charges from 1, and has no chain of records.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock

from tacit.errors import RefusedError
from tacit.guarantees.events import Neighbours
from tacit.guarantees.filters import Budget, Spent
from tacit.ledger import ANSWERED, PENDING, LedgerEntry, Request, Ticket
from tacit.ledger.admission import limit_of
from tacit.ledger.records import Account, Head, MemoryTables, Record, RecordBody, canonical
from tacit.ledger.sizes import new_sizes, recorded_size
from tacit.ledger.state import (
    apply_new,
    before_charge,
    charge_body,
    check_key,
    check_new_limit,
    check_outcome,
    request_names,
)


class MemoryLedger:
    """A budget and its history in memory. It admits one query at a time, from any number of threads.

    A child process has a copy of it. The copy refuses to charge, because the budget would be spent twice.

    >>> from tacit.guarantees.values import PureDP
    >>> ledger = MemoryLedger(PureDP(epsilon=1), "add/remove")
    >>> float(ledger.spent.loss)
    0.0
    """

    name = "in memory"
    created = False
    since = 0

    def __init__(self, budget: Budget, neighbours: Neighbours, analysts: Mapping[str, Budget] | None = None) -> None:
        """Start with nothing spent."""
        self._head, self._tables = Head.begin(budget, neighbours), MemoryTables(self.name)
        for analyst, limit in (analysts or {}).items():
            check_new_limit(analyst, limit, self._head)
            self._tables.set_account(analyst, Account(self._head.nothing, limit))
        self._entries: list[LedgerEntry] = []
        self._requests: list[Request] = []
        self._answers: dict[str, Ticket] = {}
        self._open_tables: frozenset[str] = frozenset()
        self._lock, self._process = Lock(), os.getpid()

    @property
    def budget(self) -> Budget:
        """The budget of the data."""
        return self._head.budget

    @property
    def spent(self) -> Spent:
        """The total spent."""
        return self._head.spent

    @property
    def head(self) -> tuple[int, str]:
        """The number of the last charge, and an empty link."""
        return len(self._entries), ""

    @property
    def tables(self) -> frozenset[str]:
        """The names of the private tables that were opened with this ledger."""
        return self._open_tables

    def open_tables(self, names: Iterable[str]) -> None:
        """Note that private tables of these names are open with this ledger."""
        self._open_tables |= frozenset(names)

    def size_of(self, version: str, table: str) -> int | None:
        """Return the recorded size of a table under a version, or None."""
        return recorded_size(version, table, self._tables)

    def spent_by(self, analyst: str) -> Spent:
        """Return the total that one analyst has spent."""
        return self._tables.account(analyst, self._head.nothing).spent

    def limit_of(self, analyst: str) -> Budget | None:
        """Return the limit that applies to one analyst, if there is one."""
        return limit_of(analyst, self._head.nothing, self._tables)

    def recorded(self, request: Request) -> Ticket | None:
        """Return the recorded answer to this query, if there is one; charge nothing."""
        with before_charge():
            self._check_process()
            with self._lock:
                return self._find_answer(request)

    def charge(self, request: Request) -> Ticket:
        """Charge all events or none; if this query has a recorded answer, return it instead."""
        with before_charge():
            self._check_process()
            with self._lock:
                return self._find_answer(request) or self._charge(request)

    def _charge(self, request: Request) -> Ticket:
        number = len(self._entries) + 1
        sizes, charge = new_sizes(request.sizes, self._tables), charge_body(self._head, request, self._tables)
        for size in sizes:
            self._apply(number - 1, "size", size)
        self._apply(number, "charge", charge)
        entry = LedgerEntry(
            number=number,
            question=request.question,
            analyst=request.analyst,
            events=request.events,
            outcome=PENDING,
            time=self._head.time,
            total=self._head.spent,
        )
        self._entries.append(entry)
        self._requests.append(request)
        return Ticket(number=number, head="")

    def _apply(self, number: int, kind: str, body: RecordBody) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._head = apply_new(self._head, Record(number, kind, canonical({**body, "time": now}), ""), self._tables)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RefusedError(
                "The budget is in the memory of the process that opened the data, and this process is its child: the "
                "budget would be spent twice.",
                hint="Give the data a ledger in a file: ledger='data.ledger'.",
            )

    def _find_answer(self, request: Request) -> Ticket | None:
        check_key(request.analyst, request.key, request.digest, self._tables)
        names = request_names(self._head.version, request)
        return next((self._answers[name] for name in names if name in self._answers), None)

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record the outcome of a charge; it stays charged."""
        charge = check_outcome(number, outcome)
        with self._lock:
            self._apply(charge, "outcome", {"charge": charge, "outcome": outcome, "answer": None})
            self._entries[charge - 1] = replace(self._entries[charge - 1], outcome=outcome)
            if answer is not None and outcome == ANSWERED:
                for name in request_names(self._head.version, self._requests[charge - 1]):
                    self._answers[name] = Ticket(number=charge, head="", answer=answer)

    def entries(self) -> Sequence[LedgerEntry]:
        """Return the charges, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def _repr_html_(self) -> str:
        """Return the charges and what is left as HTML, for notebooks."""
        from tacit.ledger.history import history_html  # noqa: PLC0415 - it imports charts

        return history_html(self)

    def close(self) -> None:
        """Do nothing: no file or connection is open."""
