"""What has been spent: append-only, charged before a row is read.

A ledger belongs to the data. `charge` admits a question's events by the one filter that its budget fixes, all or none,
and records them before it returns; only then may the data be read. `finish` records how it ended. Nothing is ever
given back once reading began.

* `memory`    a ledger that lives as long as its process
* `durable`   one that survives: a SQLite file, or PostgreSQL for many machines
* `opening`   beginning one, opening one, and holding it against the policy that asks
* `limits`    what an analyst's own limit must be
* `settling`  what stewards change: budget, limits, policy, version of the data
* `records`   what is written: records, each chained to the one before
* `tables`    where they are written
* `heads`     the last record and the totals after it
* `stores`    databases, their locks and transactions
* `failures`  what their failures mean
* `replaying` what records say, computed again from the first on
* `checking`  `verify`: the chain and all totals, and receipts
* `copies`    export and import as JSON lines
* `history`   what was spent, by whom, and what it would have cost as one plan
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tacit.errors import InvalidError, show
from tacit.guarantees.events import Event
from tacit.guarantees.filters import Budget, Spent
from tacit.ledger.records import ANSWERED, FAILED, PENDING

__all__ = ["ANSWERED", "FAILED", "PENDING", "Entry", "Ledger", "Request", "Ticket", "check_name", "described"]

_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be charged.

    `digest` stands for the question with all its parameters, the policy and the declared version of the data. If it
    `repeats`, the same digest by the same analyst is answered from the record. `key` is the asker's own name for this
    very question: asked again under it, it is answered from the record too, and no other question may have it.
    """

    question: str
    events: tuple[Event, ...]
    analyst: str = ""
    digest: str = ""
    key: str | None = None
    repeats: bool = False

    def __post_init__(self) -> None:
        """Refuse names that could deceive a reader, and repeats of a question that nothing stands for."""
        check_name(self.analyst, "analyst")
        if self.key is not None and not check_name(self.key, "request"):
            raise InvalidError("request", "an empty one", "a name, or left out")
        if not self.digest and (self.repeats or self.key is not None):
            raise InvalidError("digest", "none", "given for a question that may be repeated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """Leave to read the data once: the record's number, and the head of the chain after it.

    With an `answer` nothing was charged and nothing may be read: it is the one that was recorded.
    """

    number: int
    head: str
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: what was asked, what it ran, when, and how it ended ("pending" until it has).

    `total` is what was spent after it; `since` the record with which that budget began.
    """

    number: int
    question: str
    analyst: str
    events: tuple[Event, ...]
    outcome: str
    time: str = ""
    total: Spent | None = field(default=None, compare=False)
    since: int = field(default=0, compare=False)


class Ledger(Protocol):
    """A budget and its history."""

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""

    @property
    def spent(self) -> Spent:
        """What has been spent."""

    def spent_by(self, analyst: str) -> Spent:
        """Return what one analyst has spent."""

    def limit_of(self, analyst: str) -> Budget | None:
        """Return what one analyst may spend, if that is limited."""

    def recorded(self, request: Request) -> Ticket | None:
        """Return the answer that this very question got before, if it did; nothing is charged."""

    def charge(self, request: Request) -> Ticket:
        """Admit all events or none, durably; BudgetError if they do not fit. A recorded answer comes back free."""

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record how a charge ended: "answered", with the answer, or "failed"; it stays charged either way."""

    def entries(self) -> Sequence[Entry]:
        """Return the charges, oldest first."""

    def close(self) -> None:
        """Let go of what is open; the record stays."""


def check_name(name: object, argument: str) -> str:
    """Return a name that a person can read, or raise InvalidError.

    >>> check_name("Ann Lee", "analyst")
    'Ann Lee'
    """
    if not isinstance(name, str) or len(name) > _LONGEST or not name.isprintable() or name != name.strip():
        raise InvalidError(argument, show(name), f"a name of up to {_LONGEST} printable characters")
    return name


def described(entry: Entry) -> Mapping[str, object]:
    """Return an entry for people: never a value of the data."""
    return {
        "number": entry.number,
        "time": entry.time,
        "analyst": entry.analyst,
        "question": entry.question,
        "outcome": entry.outcome,
    }
