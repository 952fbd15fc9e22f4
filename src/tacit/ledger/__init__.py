"""What has been spent: append-only, charged before a row is read.

A ledger belongs to the data. `charge` admits a question's events by the one filter that its budget fixes, all
or none, and records them before it returns; only then may the data be read. `close` records how it ended.
Nothing is ever given back once reading began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tacit.guarantees.events import Event
from tacit.guarantees.filters import Budget, Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: what was asked, what it ran, and how it ended ("pending" until it has)."""

    number: int
    question: str
    analyst: str
    events: tuple[Event, ...]
    outcome: str


class Ledger(Protocol):
    """A budget and its history."""

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""

    @property
    def spent(self) -> Spent:
        """What has been spent."""

    def charge(self, question: str, events: Sequence[Event], *, analyst: str = "") -> int:
        """Admit all events or none, durably, and return the entry's number; BudgetError if they do not fit."""

    def close(self, number: int, outcome: str) -> None:
        """Record how an entry ended: "answered" or "failed"; it stays charged either way."""

    def entries(self) -> Sequence[Entry]:
        """Return the history, oldest first."""


def described(entry: Entry) -> Mapping[str, object]:
    """Return an entry for people: never a value of the data."""
    return {"number": entry.number, "question": entry.question, "analyst": entry.analyst, "outcome": entry.outcome}
