"""Databases for ledgers: how they are opened, how a transaction is made safe, and what their failures mean.

SQLite: a write-ahead log, synced in full at every commit; a transaction takes the write lock before it reads, so that
totals cannot change between reading and appending. PostgreSQL: the row of `head` is locked first, which does the same;
commits wait for the disk. Each process opens its own connections, a child after a fork too.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from time import sleep

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from tacit.errors import InvalidError, LedgerError, show

_ATTEMPTS = 10
_WAIT = 60
_LOCK = 7_261_984_412
"""The advisory lock under which tables are made in PostgreSQL."""


class Store:
    """A database that holds a ledger."""

    def __init__(self, engine: Engine, named: str) -> None:
        """Keep an engine and what people call it."""
        self._engine, self.named, self._process = engine, named, os.getpid()

    @property
    def is_file(self) -> bool:
        """Whether it is a SQLite file."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Read and append, all or nothing, on disk when it ends; a failure of the database is a LedgerError."""
        if os.getpid() != self._process:
            self._engine.dispose(close=False)
            self._process = os.getpid()
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            said = _said(error)
            raise LedgerError(f"The ledger {self.named} {said}") from None

    def make_alone(self, connection: Connection) -> None:
        """Wait until no other process makes tables; a SQLite transaction has its lock already."""
        if not self.is_file:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def store(place: str | PathLike[str], *, must_exist: bool = False) -> Store:
    """Return the database of a ledger: a file's path, or a postgresql:// URL.

    Args:
        place: where it is.
        must_exist: whether a file that is not there is an error.
    """
    written = fspath(place)
    if "://" in written:
        return _server(written)
    path = Path(written).expanduser()
    if not path.parent.is_dir():
        raise LedgerError(f"The ledger {path} cannot be made: there is no folder {path.parent}. Nothing was spent.")
    if path.is_dir():
        raise LedgerError(f"The ledger {path} is a folder, not a file. Nothing was spent.")
    if must_exist and not path.exists():
        raise LedgerError(
            f"There is no ledger {path}. Nothing was spent. Say where it is, or ask a question to begin one."
        )
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": _WAIT}, poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return Store(engine, str(path))


def _server(written: str) -> Store:
    """Return a PostgreSQL database; its URL is never shown, since it may hold a password."""
    scheme = written.partition("://")[0]
    try:
        url = make_url(written)
    except ArgumentError:
        url = None
    if url is None or scheme not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise InvalidError("ledger", show(f"{scheme}://…"), "the path of a file, or a postgresql:// URL")
    try:
        engine = create_engine(url.set(drivername="postgresql+psycopg"), pool_pre_ping=True, pool_size=2)
    except ImportError:
        raise LedgerError(
            "A ledger in PostgreSQL needs the package psycopg. Nothing was spent. Install it with: pip install "
            "'tacit[postgres]'"
        ) from None
    event.listen(engine, "begin", _begin_server)
    return Store(engine, f"at {scheme}://…")


def _prepare(connection: object, _: object) -> None:
    """Write ahead, sync fully, and leave transactions to us."""
    connection.isolation_level = None  # type: ignore[attr-defined]
    cursor = connection.cursor()  # type: ignore[attr-defined]
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA trusted_schema=OFF")
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
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_server(connection: Connection) -> None:
    connection.exec_driver_sql("SET LOCAL synchronous_commit = on")


_MEANINGS = {
    sqlite3.SQLITE_READONLY: "cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_BUSY: f"is locked by another program, which did not let go of it within {_WAIT} s",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: look at its path and permissions",
    sqlite3.SQLITE_CORRUPT: "is damaged: put a copy back and run `tacit ledger … verify` with a receipt",
    sqlite3.SQLITE_NOTADB: "is no ledger: the file is something else",
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk failed or is full",
}


def _said(error: SQLAlchemyError) -> str:
    """Say what a failure means, without a word of the database's own, which could quote what is in it."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    code = getattr(cause, "sqlite_errorcode", None)
    meaning = _MEANINGS.get(code & 0xFF) if isinstance(code, int) else None
    if meaning is None:
        meaning = "could not be reached" if getattr(error, "connection_invalidated", False) else "could not be used"
    return f"{meaning}. Nothing was answered, and no charge that was recorded is lost. Ask the data's steward."
