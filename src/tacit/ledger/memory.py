"""A ledger that lives as long as its process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock

from tacit.errors import BudgetError, InvalidError, RefusedError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.filters import Budget, Spent, admit_all, start
from tacit.ledger import ANSWERED, FAILED, PENDING, Entry, Request, Ticket, check_name
from tacit.ledger.limits import check_currency, check_delta


class MemoryLedger:
    """A budget and its history in memory; one question at a time is admitted, whatever the number of threads.

    A child process has a copy of it, which could be spent once more: there it refuses.

    >>> from tacit.guarantees.values import PureDP
    >>> ledger = MemoryLedger(PureDP(epsilon=1), "add/remove")
    >>> float(ledger.spent.loss)
    0.0
    """

    def __init__(self, budget: Budget, neighbours: Neighbours, analysts: Mapping[str, Budget] | None = None) -> None:
        """Begin with nothing spent."""
        self._budget, self._nothing = budget, start(budget, neighbours)
        self._spent, self._limits = self._nothing, dict(analysts or {})
        for name, most in self._limits.items():
            check_name(name, "analyst")
            check_currency(name, most, budget)
            check_delta(name, most, budget)
        self._by: dict[str, Spent] = {}
        self._entries: list[Entry] = []
        self._answers: dict[tuple[str, str], Ticket] = {}
        self._keys: dict[tuple[str, str], str] = {}
        self._names: dict[int, list[tuple[str, str]]] = {}
        self._lock, self._process = Lock(), os.getpid()

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._budget

    @property
    def spent(self) -> Spent:
        """What has been spent."""
        return self._spent

    def spent_by(self, analyst: str) -> Spent:
        """Return what one analyst has spent."""
        return self._by.get(analyst, self._nothing)

    def limit_of(self, analyst: str) -> Budget | None:
        """Return what one analyst may spend, if that is limited."""
        return self._limits.get(analyst)

    def recorded(self, request: Request) -> Ticket | None:
        """Return the answer that this very question got before, if it did; nothing is charged."""
        self._check_process()
        with self._lock:
            return self._before(request)

    def charge(self, request: Request) -> Ticket:
        """Admit all events or none; or return the answer that this very question got before."""
        self._check_process()
        with self._lock:
            before = self._before(request)
            if before is not None:
                return before
            total = admit_all(self._spent, self._budget, request.events)
            own = self._admitted(request, total)
            number = len(self._entries) + 1
            entry = Entry(
                number=number,
                question=request.question,
                analyst=request.analyst,
                events=request.events,
                outcome=PENDING,
                time=datetime.now(UTC).isoformat(timespec="milliseconds"),
                total=total,
            )
            self._entries.append(entry)
            self._spent, self._by[request.analyst] = total, own
            self._names[number] = _names(request)
            if request.key is not None:
                self._keys[request.analyst, request.key] = request.digest
            return Ticket(number=number, head="")

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RefusedError(
                "The budget lives in the memory of the process that opened the data, and this is a child of it: it "
                "would be spent twice. Nothing was spent. Give the data a ledger in a file: ledger='data.ledger'."
            )

    def _before(self, request: Request) -> Ticket | None:
        named = (request.analyst, request.key or "")
        if request.key is not None and self._keys.get(named, request.digest) != request.digest:
            raise RefusedError(
                f"The request {show(request.key)} was made before with another question, other parameters or another "
                "version of the data. Nothing was spent. Give this one another name."
            )
        return next((self._answers[name] for name in _names(request) if name in self._answers), None)

    def _admitted(self, request: Request, total: Spent) -> Spent:
        own, most = self.spent_by(request.analyst), self.limit_of(request.analyst)
        if most is None:
            loss, delta = total.loss - self._spent.loss, total.delta - self._spent.delta
            return replace(own, loss=own.loss + loss, delta=own.delta + delta)
        try:
            return admit_all(own, most, request.events)
        except BudgetError as error:
            raise BudgetError(f"{error} This is the analyst's own budget, under that of the data.") from None

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record how a charge ended; it stays charged."""
        if outcome not in (ANSWERED, FAILED):
            raise InvalidError("outcome", show(outcome), "'answered' or 'failed'")
        with self._lock:
            if number not in range(1, len(self._entries) + 1) or self._entries[number - 1].outcome != PENDING:
                raise InvalidError("number", show(number), "the number of a charge that has not ended")
            self._entries[number - 1] = replace(self._entries[number - 1], outcome=outcome)
            for name in self._names[number] if answer is not None and outcome == ANSWERED else ():
                self._answers[name] = Ticket(number=number, head="", answer=answer)

    def entries(self) -> Sequence[Entry]:
        """Return the charges, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def close(self) -> None:
        """Nothing is open."""


def _names(request: Request) -> list[tuple[str, str]]:
    """Return the names under which an answer can be found again."""
    names = [(request.analyst, f"question {request.digest}")] if request.repeats else []
    return names + ([] if request.key is None else [(request.analyst, f"key {request.key}")])
