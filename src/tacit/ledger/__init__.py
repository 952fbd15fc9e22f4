"""The ledger: an append-only history of what was spent. tacit charges it before it reads a row of the data.

A ledger belongs to the data. `charge` asks the filter of the ledger's budget whether it admits all events of a query,
and records the charge before it returns. Only then may tacit read the data. `finish` records the outcome. A charge is
never refunded, because reading may have started.

    tc.ledger.verify(db.ledger)     check the chain and all totals, and receipts
    tc.ledger.export(db.ledger)     copy the ledger as JSON lines
    tc.ledger.load(lines, path)     write a copy to a new ledger
    tc.ledger.move(old, new)        move the ledger to another place, and seal the old one
    tc.ledger.history               what was spent, by whom, and what is left

* `records`      the records, each chained to the one before, and the state they describe
* `state`        the rules: when a record is valid, and what it changes
* `sizes`, `seals`  the rules of two kinds of records: public sizes, and ledgers that were moved
* `policies`     the part of a policy that is recorded
* `memory`       a ledger that ends with its process
* `sql_ledger`   a ledger in a SQLite file or in PostgreSQL
* `open_ledger`  creating and opening a SQL ledger
* `changes`      appending records; budget, limits, policy and data version
* `schema`       the SQL tables
* `storage`      databases, their transactions and their failures
* `ledger_file`  the file of a SQLite ledger: one name, one log
* `file_locks`   locks on the names of that file
* `server`       the PostgreSQL server of a ledger: primary, standbys, timeline
* `server_pool`  connections to such servers, shared by all ledgers of a process
* `migrate_v1`   ledgers of the first format
* `replay`       applying all records again, and `verify`
* `backup`       `export` and `load`
* `relocation`   `move`: reserve the new place, seal the old ledger, copy
* `history`      reports on what was spent
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.events import Event
from tacit.guarantees.filters import Budget, Spent
from tacit.ledger.records import ANSWERED, FAILED, PENDING
from tacit.notebook import ShownAsFields

if TYPE_CHECKING:
    from tacit.ledger import history
    from tacit.ledger.backup import export, load
    from tacit.ledger.relocation import move
    from tacit.ledger.replay import verify

__all__ = [
    "ANSWERED",
    "FAILED",
    "OUTSIDE",
    "PENDING",
    "Ledger",
    "LedgerEntry",
    "Request",
    "TableSize",
    "Ticket",
    "check_name",
    "described",
    "export",
    "history",
    "load",
    "move",
    "shown_outcome",
    "verify",
]

OUTSIDE = "Outside SQL: "
"""The first words of the question of a charge for a release outside SQL."""

_LONGEST = 200
_LAZY = {"export": "backup", "load": "backup", "move": "relocation", "verify": "replay"}


def __getattr__(name: str) -> object:
    """Import the functions that need SQLAlchemy only when they are used: `import tacit` stays fast."""
    if name == "history":
        return import_module("tacit.ledger.history")
    if name in _LAZY:
        return getattr(import_module(f"tacit.ledger.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'tacit.ledger' has no attribute {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """The public number of rows, or of other units (`noun`), of a table under a declared version of the data.

    Attributes:
        size: the public number of rows or units.
    """

    version: str
    table: str
    size: int
    noun: str = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A query to charge.

    `digest` identifies the query with all its parameters, the policy and the declared version of the data. If
    `repeats` is set, a request of the same analyst with the same digest gets the recorded answer. `key` is the caller's
    own name for this request: a second request under the same key gets the recorded answer too, and no other query may
    use the key. `sizes` are the public sizes that the query uses: the ledger records each, and refuses another size of
    a table under the same version.

    Attributes:
        question: the query or the note that the ledger records.
        events: what is charged.
        analyst: the name of the analyst; empty for none.
    """

    question: str
    events: tuple[Event, ...]
    analyst: str = ""
    digest: str = ""
    key: str | None = None
    repeats: bool = False
    sizes: tuple[TableSize, ...] = ()

    def __post_init__(self) -> None:
        """Check the names, and that a query that may be repeated has a digest."""
        check_name(self.analyst, "analyst")
        if self.key is not None and not check_name(self.key, "request"):
            raise InvalidError("request is empty.", argument="request", hint="Give a name, or leave request out.")
        if not self.digest and (self.repeats or self.key is not None):
            raise InvalidError("A query that may be repeated needs a digest.", argument="digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """Permission to read the data once: the number of the charge, and its link in the chain.

    If `answer` is set, nothing was charged and nothing may be read: it is the recorded answer.

    Attributes:
        number: the number of the charge.
        head: the link of its record in the chain.
    """

    number: int
    head: str
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(ShownAsFields):
    """A charge: the query, its events, the time, and the outcome ("pending" until it has ended).

    `total` is the total spent after it; `since` is the number of the record with which that budget started.

    Attributes:
        number: the number of the charge.
        question: the query or the note.
        analyst: the name of the analyst; empty for none.
        events: what was charged.
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
    def name(self) -> str:
        """The name of the ledger in messages: a path, the scheme of a URL, or "in memory"."""

    @property
    def created(self) -> bool:
        """True if a stored ledger did not exist before it was opened; False for a ledger in memory."""

    @property
    def budget(self) -> Budget:
        """The budget of the data."""

    @property
    def spent(self) -> Spent:
        """The total spent."""

    @property
    def head(self) -> tuple[int, str]:
        """The number and the link of the last record; in memory the link is empty."""

    @property
    def since(self) -> int:
        """The number of the record with which the current budget started."""

    @property
    def tables(self) -> frozenset[str]:
        """The names of all private tables that were opened with this ledger, as far as it knows."""

    def open_tables(self, names: Iterable[str]) -> None:
        """Note that private tables of these names are open with this ledger."""

    def size_of(self, version: str, table: str) -> int | None:
        """Return the recorded size of a table under a declared version of the data; None if there is no record."""

    def spent_by(self, analyst: str) -> Spent:
        """Return the total that one analyst has spent."""

    def limit_of(self, analyst: str) -> Budget | None:
        """Return the limit that applies to one analyst: their own, or that of all unlisted ones, if any."""

    def recorded(self, request: Request) -> Ticket | None:
        """Return the recorded answer to this query, if there is one; charge nothing.

        Args:
            request: the query.
        """

    def charge(self, request: Request) -> Ticket:
        """Charge all events or none, durably; raise BudgetError if they do not fit.

        If the query has a recorded answer, return it and charge nothing.

        Args:
            request: the query.
        """

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record the outcome of a charge: "answered", with the answer, or "failed"; it stays charged.

        Args:
            number: the number of the charge.
            outcome: "answered" or "failed".
            answer: the answer to record, if it may be repeated.
        """

    def entries(self) -> Sequence[LedgerEntry]:
        """Return the charges, oldest first."""

    def close(self) -> None:
        """Close files and connections; the history stays."""


def check_name(name: object, argument: str) -> str:
    """Return a name that a person can read, or raise InvalidError.

    >>> check_name("Ann Lee", "analyst")
    'Ann Lee'

    Args:
        name: the name.
        argument: the argument to name in the error.
    """
    if not isinstance(name, str) or len(name) > _LONGEST or not name.isprintable() or name != name.strip():
        raise bad_value(argument, name, f"a name of up to {_LONGEST} printable characters")
    return name


def shown_outcome(entry: LedgerEntry) -> str:
    """Return the outcome of a charge; a release outside SQL is charged, and tacit does not answer it.

    Args:
        entry: the charge.
    """
    return "charged" if entry.outcome == ANSWERED and entry.question.startswith(OUTSIDE) else entry.outcome


def described(entry: LedgerEntry) -> Mapping[str, object]:
    """Return the public fields of an entry, which hold no value of the data."""
    return {
        "number": entry.number,
        "time": entry.time,
        "analyst": entry.analyst,
        "question": entry.question,
        "outcome": shown_outcome(entry),
    }
