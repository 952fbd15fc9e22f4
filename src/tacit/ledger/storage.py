"""Databases for ledgers: how they are opened, how a transaction is made safe, and what their failures mean.

SQLite: a write-ahead log, synced in full at every commit; a transaction that writes takes the write lock before it
reads, so that totals cannot change between reading and appending. PostgreSQL: the row of `head` is locked first, which
does the same; commits wait for the disk. Transactions that only read see one moment, and stop nobody.

No connection to a file stays open between transactions, and a process opens its own to a server, a child after a fork
too. A file that was there and is gone is an error, never the beginning of an empty one. Each transaction on a file
checks that the file has one name (see `files`) and that no log stayed beside an earlier name (see `paths`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from os import PathLike, fspath
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote
from weakref import finalize

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from tacit.errors import InvalidError, LedgerError, show
from tacit.ledger.failures import LOCKED, FileUseError, said
from tacit.ledger.files import LedgerFile
from tacit.ledger.paths import record_path, recorded_paths
from tacit.ledger.schema import found

WAIT = 60.0
"""For how many seconds one waits for a lock that others hold."""

_REACH = 15
"""For how many seconds one waits for a server to answer at all."""

_LOCK = 7_261_984_412
"""The advisory lock under which tables are made in PostgreSQL."""

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")


class Store:
    """A database that holds a ledger."""

    def __init__(self, engine: Engine, named: str, file: LedgerFile | None = None) -> None:
        """Keep an engine, what people call it, and its file if it has one; its connections go when this goes."""
        self._engine, self.named, self._file, self._process = engine, named, file, [os.getpid()]
        finalize(self, _let_go, engine, self._process)

    @property
    def is_file(self) -> bool:
        """Whether it is a SQLite file."""
        return self._file is not None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Read and append, all or nothing, on disk when it ends; a failure of the database is a LedgerError."""
        with self._opened() as connection:
            is_recorded = self._record_path(connection)
            with connection.begin():
                self._check()  # waiting for the write lock takes time
                yield connection
            if not is_recorded:  # the transaction has created the ledger
                self._record_path(connection)
        if self._file is not None:
            self._file.check_after_commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read as of one moment; a failure of the database is a LedgerError."""
        with self._opened() as connection:
            options = {} if self.is_file else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            with connection.execution_options(reading=True, **options).begin():
                self._check()
                if self._file is not None:
                    self._file.check_logs(recorded_paths(connection))
                yield connection

    @contextmanager
    def _opened(self) -> Iterator[Connection]:
        if self._process != [os.getpid()]:
            self._engine.dispose(close=False)
            self._process[:] = [os.getpid()]
        try:
            with ExitStack() as stack:
                if self._file is not None:
                    stack.enter_context(self._file.transaction())
                connection = self._engine.connect()
                stack.callback(self._close, connection)
                yield connection
        except SQLAlchemyError as error:
            raise LedgerError(f"The ledger {self.named} {said(error, WAIT)}") from None

    def _check(self) -> None:
        """Raise LedgerError if the file has a second name, or is another one."""
        if self._file is not None:
            self._file.check()

    def _record_path(self, connection: Connection) -> bool:
        """Check the logs of earlier paths, and record this path; return False if there is no ledger to record it in."""
        if self._file is None:
            return True
        path = self._file.real_path
        connection.execution_options(reading=True)
        with connection.begin():
            paths = recorded_paths(connection)
            self._file.check_logs(paths)
            is_ledger = path in paths or found(connection) == "ledger"
        connection.execution_options(reading=False)
        if is_ledger and not paths.get(path) and not record_path(connection, path, WAIT):
            raise LedgerError(f"The ledger {self.named} {said(FileUseError(LOCKED), WAIT)}")
        return is_ledger

    def _close(self, connection: Connection) -> None:
        with ExitStack() as stack:
            if self._file is not None:
                stack.enter_context(self._file.closing())
            connection.close()

    def make_alone(self, connection: Connection) -> None:
        """Wait until no other process makes tables; a SQLite transaction has its lock already."""
        if not self.is_file:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))

    def close(self) -> None:
        """Let go of all connections."""
        _let_go(self._engine, self._process)


def _let_go(engine: Engine, process: list[int]) -> None:
    """Close connections, if they are this process's own: those of a parent are still in use."""
    if process == [os.getpid()]:
        engine.dispose()


def store(place: str | PathLike[str], *, must_exist: bool = False) -> Store:
    """Return the database of a ledger: a file's path, or a postgresql:// URL.

    Args:
        place: where it is.
        must_exist: whether a file that is not there is an error.
    """
    written: object = fspath(place)
    if not isinstance(written, str) or "\0" in written or not written:
        raise InvalidError("ledger", show(written), "the path of a file, or a postgresql:// URL")
    if "://" in written:
        return _server(written)
    path = Path(written).expanduser().absolute()
    if not path.parent.is_dir():
        raise LedgerError(
            f"The ledger {written} cannot be made: there is no folder {path.parent}. Nothing was spent. Make the "
            "folder, or name another place."
        )
    if path.is_dir():
        raise LedgerError(f"The ledger {written} is a folder. Nothing was spent. Name a file in it.")
    if must_exist and not path.exists():
        raise missing(written)
    file = LedgerFile(path, written)
    return Store(_engine(file), written, file)


def missing(named: str) -> LedgerError:
    """Return the error for a place where no ledger was begun."""
    return LedgerError(
        f"There is no ledger {named} yet, so nothing was ever spent through it. Nothing was spent or made now; the "
        "first question begins it. If there was one before, stop and restore it: put it back in its place, or load a "
        "copy with `tacit ledger POLICY import COPY`."
    )


def _engine(file: LedgerFile) -> Engine:
    """Return an engine on a file, which `LedgerFile.transaction` has made if it was not there."""

    def connect() -> sqlite3.Connection:
        uri = f"file:{quote(str(file.path))}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection)
        except BaseException:
            with file.closing():
                connection.close()
            raise
        return connection

    engine = create_engine(URL.create("sqlite", database=str(file.path)), creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


def _server(written: str) -> Store:
    """Return a PostgreSQL database; its URL is never shown, since it may hold a password."""
    scheme = written.partition("://")[0]
    try:
        url = make_url(written) if scheme in _SCHEMES else None
    except (ArgumentError, ValueError):  # the latter for a port that is no number
        url = None
    if url is None:
        shown = f"{scheme}://…" if scheme.isidentifier() else "a URL of an unknown scheme"
        raise InvalidError("ledger", show(shown), "the path of a file, or a postgresql:// URL")
    url = url.set(drivername="postgresql+psycopg")
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(_REACH)})
    try:
        engine = create_engine(url, pool_pre_ping=True, pool_size=2, isolation_level="READ COMMITTED")
    except ImportError:
        raise LedgerError(
            "A ledger in PostgreSQL needs the package psycopg. Nothing was spent. Install it with: pip install "
            "'tacit[postgres]'"
        ) from None
    event.listen(engine, "begin", _begin_server)
    return Store(engine, "at postgresql://…")


def _prepare(connection: sqlite3.Connection) -> None:
    """Write ahead and sync fully; bytes that are no text, in a damaged file, are still read, so that they are told."""
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    with closing(connection.cursor()) as cursor:
        cursor.execute("PRAGMA trusted_schema=OFF")
        _write_ahead(cursor)
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA fullfsync=ON")


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to a write-ahead log; SQLite does not always wait for others who do the same, whatever its timeout."""
    until, pause = monotonic() + WAIT, 0.005
    while cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
            sleep(pause)
            pause = min(2 * pause, 0.25)


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("outside_transaction"):
        connection.exec_driver_sql("BEGIN" if options.get("reading") else "BEGIN IMMEDIATE")


def _begin_server(connection: Connection) -> None:
    """Wait for the disk, for others at most so long, and let nobody who is gone hold others up."""
    if connection.get_execution_options().get("reading"):
        return
    connection.exec_driver_sql(
        "SELECT set_config('synchronous_commit', 'on', true), "
        f"set_config('lock_timeout', '{WAIT * 1000:.0f}', true), "
        f"set_config('idle_in_transaction_session_timeout', '{WAIT * 1000:.0f}', true)"
    )
