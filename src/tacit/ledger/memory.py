"""A ledger that lives as long as its process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from tacit.guarantees.events import Event, Neighbours
from tacit.guarantees.filters import Budget, Spent, admit_all, start
from tacit.ledger import Entry


class MemoryLedger:
    """A budget and its history in memory; one question at a time is admitted, whatever the number of threads.

    >>> from tacit.guarantees.values import PureDP
    >>> ledger = MemoryLedger(PureDP(epsilon=1), "add/remove")
    >>> float(ledger.spent.loss)
    0.0
    """

    def __init__(self, budget: Budget, neighbours: Neighbours) -> None:
        """Begin with nothing spent."""
        self._budget, self._spent = budget, start(budget, neighbours)
        self._entries: list[Entry] = []
        self._lock = Lock()

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._budget

    @property
    def spent(self) -> Spent:
        """What has been spent."""
        return self._spent

    def charge(self, question: str, events: Sequence[Event], *, analyst: str = "") -> int:
        """Admit all events or none, and return the entry's number."""
        with self._lock:
            total = admit_all(self._spent, self._budget, events)
            number = len(self._entries) + 1
            entry = Entry(number=number, question=question, analyst=analyst, events=tuple(events), outcome="pending")
            self._entries.append(entry)
            self._spent = total
            return number

    def close(self, number: int, outcome: str) -> None:
        """Record how an entry ended; it stays charged."""
        with self._lock:
            self._entries[number - 1] = replace(self._entries[number - 1], outcome=outcome)

    def entries(self) -> Sequence[Entry]:
        """Return the history, oldest first."""
        with self._lock:
            return tuple(self._entries)
