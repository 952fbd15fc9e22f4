"""A ledger that survives: one SQLite file, written and synced before a row of the data is read.

Each charge is one immediate transaction: the totals so far are read under the write lock, the filter admits or
refuses, and the entry is appended with the totals after it. Totals are rationals, written as text. Entries are
chained by SHA-256, each over the one before, so that a changed or removed entry shows. Outcomes are appended
to a table of their own; entries are never changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from hashlib import sha256
from os import PathLike, fspath
from time import sleep

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    insert,
    select,
)
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import InvalidError, SourceError, show
from tacit.guarantees.events import Event, Neighbours, from_json, to_json
from tacit.guarantees.filters import Budget, Spent, admit_all, limit, start
from tacit.ledger import Entry

VERSION = "1"
_ATTEMPTS = 10
_FAILED = "The ledger could not be read or written; nothing was answered. Ask the data's steward to look at it."

_tables = MetaData()
_about = Table("about", _tables, Column("key", String, primary_key=True), Column("value", String, nullable=False))
_entries = Table(
    "entries",
    _tables,
    Column("number", Integer, primary_key=True),
    Column("question", String, nullable=False),
    Column("analyst", String, nullable=False),
    Column("events", String, nullable=False),
    Column("loss", String, nullable=False),
    Column("delta", String, nullable=False),
    Column("chain", String, nullable=False),
)
_outcomes = Table(
    "outcomes",
    _tables,
    Column("number", Integer, primary_key=True),
    Column("outcome", String, nullable=False),
)


class DurableLedger:
    """A budget and its history in a SQLite file."""

    def __init__(self, engine: Engine, budget: Budget, neighbours: Neighbours) -> None:
        """Open the file, or begin one; a file that was begun with another budget or relation is refused."""
        self._engine, self._budget, self._start = engine, budget, start(budget, neighbours)
        about = {"version": VERSION, "budget": _written(budget), "neighbours": neighbours}
        with self._transaction() as connection:
            _tables.create_all(connection)
            found = {row[0]: row[1] for row in connection.execute(select(_about))}
            if not found:
                connection.execute(insert(_about), [{"key": key, "value": value} for key, value in about.items()])
        for key, value in about.items():
            if found and found.get(key) != value:
                want = f"one that was begun with {key} = {value}"
                raise InvalidError("ledger", f"one with {key} = {found.get(key)}", want)

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._budget

    @property
    def spent(self) -> Spent:
        """What has been spent, by all who share the ledger."""
        with self._transaction() as connection:
            return self._totals(connection)[0]

    def charge(self, question: str, events: Sequence[Event], *, analyst: str = "") -> int:
        """Admit all events or none, on disk, and return the entry's number."""
        with self._transaction() as connection:
            total, number, chain = self._totals(connection)
            total = admit_all(total, self._budget, events)
            row = {
                "number": number + 1,
                "question": question,
                "analyst": analyst,
                "events": json.dumps([to_json(one) for one in events]),
                "loss": str(total.loss),
                "delta": str(total.delta),
            }
            connection.execute(insert(_entries), {**row, "chain": _chained(chain, row)})
            return number + 1

    def close(self, number: int, outcome: str) -> None:
        """Record how an entry ended; it stays charged."""
        with self._transaction() as connection:
            connection.execute(insert(_outcomes), {"number": number, "outcome": outcome})

    def entries(self) -> Sequence[Entry]:
        """Return the history, oldest first."""
        with self._transaction() as connection:
            ended = {row[0]: row[1] for row in connection.execute(select(_outcomes))}
            rows = connection.execute(select(_entries).order_by(_entries.c.number)).mappings().all()
        return [
            Entry(
                number=row["number"],
                question=row["question"],
                analyst=row["analyst"],
                events=tuple(from_json(text) for text in json.loads(row["events"])),
                outcome=ended.get(row["number"], "pending"),
            )
            for row in rows
        ]

    def _totals(self, connection: Connection) -> tuple[Spent, int, str]:
        """Return the totals, the last entry's number and its chain."""
        last = connection.execute(select(_entries).order_by(_entries.c.number.desc()).limit(1)).mappings().first()
        if last is None:
            return self._start, 0, ""
        neighbours, order = self._start.neighbours, limit(self._budget).order
        spent = Spent(
            currency=self._start.currency,
            loss=Fraction(last["loss"]),
            delta=Fraction(last["delta"]),
            order=order,
            neighbours=neighbours,
        )
        return spent, last["number"], last["chain"]

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError:
            raise SourceError(_FAILED) from None


def open_ledger(place: str | PathLike[str], budget: Budget, neighbours: Neighbours) -> DurableLedger:
    """Open a ledger file, or begin one."""
    text = fspath(place)
    if "://" in text:
        raise InvalidError("ledger", show(text.split("://", maxsplit=1)[0] + "://…"), "the path of a file")
    engine = create_engine(f"sqlite:///{text}", connect_args={"timeout": 60})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return DurableLedger(engine, budget, neighbours)


def _prepare(connection: object, _: object) -> None:
    """Write ahead, sync fully, and leave transactions to us."""
    connection.isolation_level = None  # type: ignore[attr-defined]
    cursor = connection.cursor()  # type: ignore[attr-defined]
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to a write-ahead log; SQLite does not wait for others who do the same, whatever its timeout."""
    for attempt in range(_ATTEMPTS):
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt == _ATTEMPTS - 1:
                raise
            sleep(0.01 * 2**attempt)
        else:
            return


def _begin(connection: Connection) -> None:
    """Take the write lock at once, so that totals cannot change between reading and appending."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _chained(before: str, row: dict[str, object]) -> str:
    return sha256((before + json.dumps(row, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()


def _written(budget: Budget) -> str:
    most = limit(budget)
    return f"{most.currency}: {most.loss}, delta {most.delta}" + (f", order {most.order}" if most.order else "")
