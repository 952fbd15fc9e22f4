"""The databases of ledgers: how tacit opens them, makes transactions safe, and explains their failures.

SQLite: a write-ahead log, synced in full at every commit. A transaction that writes takes the write lock before it
reads, so that totals cannot change between reading and appending. PostgreSQL: a transaction locks the row of the head
first, which has the same effect; commits wait for the disk. Read-only transactions see one snapshot and block nobody.

No connection to a file stays open between transactions. Connections to a server come from a pool that all ledgers of a
process share (`server_pool`). A closed store can still be read: it opens a connection for each transaction and closes
it. If a file existed and is missing now, tacit raises an error and never creates an empty one. Each transaction on a
file checks that the file has one name and that no log stayed beside an earlier name (`ledger_file`).

The failures are listed by error code. Messages contain no text of the database, because it could quote its contents.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from os import PathLike, fspath
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote
from weakref import finalize

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import NullPool

from tacit import activity
from tacit.errors import CommitError, InvalidError, LedgerError, NoLedgerError, show, show_name
from tacit.ledger import server, server_pool
from tacit.ledger.file_locks import Failure
from tacit.ledger.ledger_file import FULL, NOT_FOUND, LedgerFile, record_path, recorded_paths
from tacit.ledger.schema import contents
from tacit.ledger.server_pool import Pool

WAIT = 60.0
"""The number of seconds to wait for a lock that others hold."""

_CONNECT_WAIT = 15
"""The number of seconds to wait for a server to accept a connection."""

_CREATION_LOCK = 7_261_984_412
"""The advisory lock under which tables are created in PostgreSQL."""

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")

# --- failures -------------------------------------------------------------------------------------------------------

_RESTORE = (
    "Restore it from a backup, and compare it with your latest receipt: `tacit ledger verify POLICY --receipt FILE`."
)
_PERMISSION = "Ask its owner for permission to write, then try again."
_READ_ONLY = Failure("cannot be written: it, its folder or its server is read-only", _PERMISSION)
_LOCKED = Failure(
    "is locked by another program, which did not release it within {wait:g} s", "End that program, then try again."
)
_UNREACHABLE = Failure(
    "could not be reached", "Check that its server runs and that its URL, user and password are right, then try again."
)
_CUT = Failure("could not be reached: its server ended the connection", "Wait until it runs again, then try again.")
_BUSY = Failure("could not be reached: its server has no free connection", "Wait a little, then try again.")
_DAMAGED = Failure("is corrupt", _RESTORE)
_FOREIGN = Failure(
    "is not a ledger: the file has another format",
    f"If it was a ledger, it is corrupt. {_RESTORE} Else name another file; a policy file is not a ledger.",
)
_UNKNOWN = Failure("could not be used: its tables are not those of a ledger", _RESTORE)

_SQLITE = {
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_CANTOPEN: NOT_FOUND,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _FOREIGN,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_IOERR: Failure(
        "could not be read or written: the disk is full or fails", "Check the disk, then try again."
    ),
}
_POSTGRES = {
    "42501": Failure("is not accessible to this user of its server", _PERMISSION),
    "25006": _READ_ONLY,
    "53100": FULL,
    "55P03": _LOCKED,
    "08": _UNREACHABLE,
    "57": _CUT,
    "25P03": _CUT,
    "53": _BUSY,
    "XX": _DAMAGED,
}


def _failure(error: SQLAlchemyError) -> Failure:
    """Return the meaning of a database error, by its code."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    if isinstance(error, PoolTimeoutError):
        return _BUSY
    if isinstance(error, IntegrityError):
        return _UNKNOWN
    if isinstance(code, int):
        return _SQLITE.get(code & 0xFF, _UNKNOWN)
    if isinstance(state, str):
        return _POSTGRES.get(state) or _POSTGRES.get(state[:2], _UNKNOWN)
    if isinstance(error, DBAPIError) and (error.connection_invalidated or type(cause).__name__ == "OperationalError"):
        return _UNREACHABLE
    return _UNKNOWN


# --- stores ---------------------------------------------------------------------------------------------------------


class Store:
    """A database that holds a ledger: a SQLite file, or a PostgreSQL server."""

    def __init__(self, engine: Engine, name: str, place: str, *, file: LedgerFile | None = None) -> None:
        """Store an engine and its names.

        Args:
            engine: the engine.
            name: the name of the ledger in messages.
            place: the path or the URL, without a password, for those who must find the ledger.
            file: the file, if there is one.
        """
        self._engine, self.name, self.place, self._file = engine, name, place, file
        self._identity, self.server_replaced = "", False
        self._finish: Callable[[], object] = _nothing
        self._pool: Pool | None = None

    @classmethod
    def on_server(cls, pool: Pool, name: str, place: str) -> Store:
        """Return a store whose connections are those of a pool; `close`, or its end, gives the pool back."""
        store = cls(pool.engine, name, place)
        store._pool, store._finish = pool, finalize(store, server_pool.give_back, pool)
        return store

    @property
    def is_file(self) -> bool:
        """True for a SQLite file."""
        return self._file is not None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Read and append in one transaction, which is on disk at the end.

        Raises:
            CommitError: the database failed during or after the commit.
            LedgerError: the database failed before; nothing was changed.
        """
        is_committing = False
        try:
            with self._connection() as connection:
                is_recorded = self._record_path(connection)
                with connection.begin() as transaction:
                    self._check()  # waiting for the write lock takes time
                    self._check_server(connection, writing=True)
                    yield connection
                    is_committing = True
                    transaction.commit()
                if not is_recorded:  # the transaction has created the ledger
                    self._record_path(connection)
        except SQLAlchemyError as error:
            raise self._error(_failure(error), is_committing=is_committing) from None
        if self._file is not None:
            self._file.check_after_commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read one snapshot; a failure of the database is a LedgerError."""
        options = {} if self.is_file else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        try:
            with (
                self._connection() as connection,
                connection.execution_options(reading=True, **options).begin(),
            ):
                self._check()
                self._check_server(connection, writing=False)
                if self._file is not None:
                    self._file.check_logs(recorded_paths(connection))
                yield connection
        except SQLAlchemyError as error:
            raise self._error(_failure(error)) from None

    def _error(self, failure: Failure, *, is_committing: bool = False) -> LedgerError:
        fact = failure.fact.replace("{wait:g}", f"{WAIT:g}")  # not str.format: a path may have braces
        if is_committing:
            return CommitError(
                f"Ledger {self.name} {fact}. The last record may or may not be stored.", hint=failure.hint
            )
        return LedgerError(f"Ledger {self.name} {fact}.", hint=failure.hint)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with ExitStack() as stack:
            if self._file is not None:
                stack.enter_context(self._file.transaction())
            if self._pool is not None:  # also of a closed store, so that the last transaction closes the connection
                server_pool.take_again(self._pool)
                stack.callback(server_pool.give_back, self._pool)
            connection = self._engine.connect()
            stack.callback(self._close, connection)
            yield connection

    def _check_server(self, connection: Connection, *, writing: bool) -> None:
        """Raise LedgerError if a server is a standby, or is not the one that this process used before."""
        if self._file is not None:
            return
        if not writing:
            server.check_primary(connection, self.name)
            return
        server.prepare(connection, self.name, wait=WAIT)
        if self._identity:
            server.check_unchanged(connection, self._identity, self.name)

    def check_place(self, connection: Connection, *, accept: bool) -> None:
        """Compare a server with the one on which the ledger was opened before; under the lock of the head.

        Args:
            connection: a connection in a transaction that writes.
            accept: whether the steward accepts another server.
        """
        if self._file is None:
            self._identity = server.identity(connection)
            self.server_replaced = server.check_stored(connection, self._identity, self.name, accept=accept)
            if server.has_unsafe_standbys(connection):
                activity.note("warning", "a standby of the ledger's server is not synchronous", ledger=self.name)
                warnings.warn(server.standby_warning(self.name), stacklevel=2)

    def _check(self) -> None:
        """Raise LedgerError if the file has a second name, or was replaced."""
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
            is_ledger = path in paths or contents(connection) == "ledger"
        connection.execution_options(reading=False)
        if is_ledger and not paths.get(path) and not record_path(connection, path, WAIT):
            raise self._error(_LOCKED)
        return is_ledger

    def _close(self, connection: Connection) -> None:
        with ExitStack() as stack:
            if self._file is not None:
                stack.enter_context(self._file.closing())
            connection.close()

    def lock_creation(self, connection: Connection) -> None:
        """Wait until no other process creates tables. A SQLite transaction has its lock already."""
        if not self.is_file:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})"))

    def close(self) -> None:
        """Close all connections, unless another store of this process uses them."""
        self._finish()


def _nothing() -> None:
    """Close nothing: no connection to a file stays open."""


def open_store(location: str | PathLike[str], *, must_exist: bool = False) -> Store:
    """Return the database of a ledger.

    Args:
        location: the path of a file, or a postgresql:// URL.
        must_exist: whether to raise LedgerError if the file does not exist.
    """
    name: object = fspath(location)
    if not isinstance(name, str) or "\0" in name or not name:
        raise _invalid_location(show(name))
    if "://" in name:
        return _open_server(name)
    try:
        path = Path(name).expanduser().absolute()
    except RuntimeError:  # ~name of an unknown user
        raise _invalid_location(show(name)) from None
    if not path.parent.is_dir():
        raise LedgerError(
            f"Ledger {name} cannot be created: folder {path.parent} does not exist.",
            hint="Create the folder, or name another file.",
        )
    if path.is_dir():
        raise LedgerError(f"Ledger {name} is a folder.", hint="Name a file in it.")
    if must_exist and not path.exists():
        raise missing(name)
    file = LedgerFile(path, name)
    return Store(_file_engine(file), name, str(path), file=file)


def _invalid_location(shown: str) -> InvalidError:
    return InvalidError(f"ledger must be the path of a file, or a postgresql:// URL, not {shown}.", argument="ledger")


def missing(name: str) -> NoLedgerError:
    """Return the error for a location without a ledger."""
    return NoLedgerError(
        f"Ledger {name} does not exist yet, so nothing was ever spent through it.",
        hint="The first query creates it. If you expected an existing ledger, stop and restore it: move it back, or "
        "load a copy with `tacit ledger import POLICY COPY`.",
    )


def _file_engine(file: LedgerFile) -> Engine:
    """Return an engine on a file. `LedgerFile.transaction` creates the file if it does not exist."""

    def connect() -> sqlite3.Connection:
        uri = f"file:{quote(str(file.path))}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False)
        try:
            _configure(connection)
        except BaseException:
            with file.closing():
                connection.close()
            raise
        return connection

    engine = create_engine(URL.create("sqlite", database=str(file.path)), creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


def _open_server(location: str) -> Store:
    """Return a PostgreSQL database. Its URL is never shown, since it may hold a password."""
    scheme = location.partition("://")[0]
    try:
        url = make_url(location) if scheme in _SCHEMES else None
    except (ArgumentError, ValueError):  # ValueError: the port is not a number
        url = None
    if url is None:
        raise _invalid_location(show_name(f"{scheme}://…") if scheme.isidentifier() else "a URL of an unknown scheme")
    url = url.set(drivername="postgresql+psycopg")
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(_CONNECT_WAIT)})
    try:
        pool = server_pool.take(url)
    except ImportError:
        raise LedgerError(
            "A ledger in PostgreSQL requires psycopg, which is not installed.",
            hint="Install it: pip install 'tacit[postgres]'.",
        ) from None
    return Store.on_server(pool, "postgresql://…", _place(url))


def _place(url: URL) -> str:
    """Return the host, the port and the database of a URL, without its user and its secrets.

    >>> _place(make_url("postgresql+psycopg://ann:secret@db.example.org:5433/clinic?sslpassword=x"))
    'postgresql://db.example.org:5433/clinic'
    """
    host = url.host or url.query.get("host", "")
    port = "" if url.port is None else f":{url.port}"
    return f"postgresql://{host if isinstance(host, str) else ','.join(host)}{port}/{url.database or ''}"


def _configure(connection: sqlite3.Connection) -> None:
    """Write ahead and sync fully. Read bytes that are not UTF-8, in a damaged file, so that `verify` reports them."""
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    with closing(connection.cursor()) as cursor:
        cursor.execute("PRAGMA trusted_schema=OFF")
        _write_ahead(cursor)
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA fullfsync=ON")


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to a write-ahead log. SQLite does not always wait for others that do the same, despite its timeout."""
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
