"""Connections to a PostgreSQL server: how it is reached, how long tacit waits, and which settings it fixes.

Only the driver sees the URL. The driver also reads environment variables, service files and password files. No message
shows any of it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from threading import Timer
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tacit.engines.postgres.privileges import check_role
from tacit.errors import MissingDriverError, NoSourceError, SourceError
from tacit.query.policy.engine_settings import EngineSettings
from tacit.query.policy.locations import scheme

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]
    Cursor = psycopg.Cursor[tuple[Any, ...]]

SCHEMES = ("postgresql", "postgres")
NO_RESOURCES: Mapping[str, str] = MappingProxyType({})
UNREACHED = "The PostgreSQL server could not be reached."
NO_ENTRY = "The PostgreSQL server refused this user."
NO_CREDENTIALS = "The PostgreSQL server asks for a password, and none is set."
_HINTS = {
    UNREACHED: "Check that it runs, that host and port are right in the URL, the environment (PGHOST, PGPORT) or the "
    "service file, and that a named service exists. The driver's message and the URL are not shown.",
    NO_ENTRY: "Check that database, user and password are right in the URL, the environment (PGUSER, PGPASSWORD …), "
    "the service file or the password file, and that the server's pg_hba.conf allows this machine. The server's "
    "message and the URL are not shown.",
    NO_CREDENTIALS: "Put it into the password file (~/.pgpass), the service file or the environment (PGPASSWORD), "
    "rather than into the URL.",
}
_URL = "Use a URL such as postgresql://user@host/database or postgresql:///?service=name."
_GRACE = 15.0
_REACH = 15
_OLDEST = 16
_LONG_NUMBER = 4000
_KEEPALIVE = {
    "connect_timeout": _REACH,
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "tacit",
    "client_encoding": "UTF8",
}
_PARTS_OF_MEMORY = 16
_MOST_WORK_MEM = 2_147_483_647  # kilobytes, the largest value of the setting
_FIXED = ("application_name", "client_encoding")
_SETTINGS = {
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "row_security": "off",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "jit": "off",
    "work_mem": "64MB",
    "lock_timeout": "60s",
    "idle_in_transaction_session_timeout": "600s",
}


class Url:
    """A URL that only the driver reads; it is not printed with an engine or its attributes."""

    __slots__ = ("reveal",)

    def __init__(self, text: str) -> None:
        """Store the text where neither `vars` nor `repr` nor a pickle finds it."""
        self.reveal: Callable[[], str] = lambda: text

    def __repr__(self) -> str:
        """Return a constant text."""
        return "<a URL that is not shown>"


@dataclass(slots=True)
class OwnedConnection:
    """A connection and the process that opened it; no other process may use it or close it."""

    connection: Connection
    process: int

    @property
    def is_ours(self) -> bool:
        """True if this process opened the connection."""
        return self.process == os.getpid()

    def close(self) -> None:
        """Close the connection if this process opened it."""
        if self.is_ours:
            self.connection.close()


def checked_url(source: object) -> Url:
    """Return a source that is a URL of PostgreSQL; otherwise raise NoSourceError, which shows only its scheme."""
    if not isinstance(source, str) or scheme(source) not in SCHEMES:
        other = scheme(source) if isinstance(source, str) else None
        kind = f"A source of type {type(source).__name__}" if other is None else f"The URL {other}://…"
        raise NoSourceError(f"{kind} is not a PostgreSQL database.", hint=_URL)
    psycopg = driver()
    try:
        psycopg.conninfo.conninfo_to_dict(source)
        is_readable = "\0" not in source
    except (psycopg.Error, UnicodeError):
        is_readable = False
    if not is_readable:
        raise NoSourceError(f"The URL {scheme(source)}://… cannot be parsed.", hint=_URL)
    return Url(source)


def driver() -> Any:  # noqa: ANN401 - a module
    """Return the package psycopg, or raise MissingDriverError."""
    try:
        import psycopg  # noqa: PLC0415 - it is an extra
        import psycopg.types.numeric  # noqa: PLC0415 - as above
    except ImportError:
        raise MissingDriverError("psycopg", "A table in PostgreSQL", extra="postgres") from None
    return psycopg


def connect(url: Url) -> Connection:
    """Return a new connection, or raise SourceError with a constant text."""
    psycopg, connection, failure = driver(), None, UNREACHED
    try:
        given = psycopg.conninfo.conninfo_to_dict(url.reveal())
        options = {name: value for name, value in _KEEPALIVE.items() if name not in given or name in _FIXED}
        connection = psycopg.connect(url.reveal(), **options, prepare_threshold=None, cursor_factory=psycopg.RawCursor)
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.adapters.register_loader("numeric", _integer_loader())
    except Exception as error:  # noqa: BLE001 - its text may quote the URL
        failure = _reason(error)
    if connection is None:  # outside of `except`, so that not even the context carries the driver's text
        raise SourceError(failure, hint=_HINTS[failure])
    return connection  # type: ignore[no-any-return]  # the driver is loaded at run time


def _reason(error: Exception) -> str:
    """Return which of three constant texts applies; only the driver's text says how far it came."""
    if getattr(getattr(error, "pgconn", None), "needs_password", False):
        return NO_CREDENTIALS
    return NO_ENTRY if "FATAL:" in str(error) else UNREACHED


def _integer_loader() -> type:
    psycopg = driver()

    class IntegerLoader(psycopg.adapt.Loader):  # type: ignore[name-defined, misc]  # the driver is loaded at run time
        """Reads a NUMERIC as an integer if it is written as a short one, otherwise as a Decimal."""

        def load(self, data: bytes) -> int | Decimal:
            text = bytes(data).decode()
            return int(text) if text.lstrip("-").isdecimal() and len(text) < _LONG_NUMBER else Decimal(text)

    return IntegerLoader


def set_local(timeout: float, resources: Mapping[str, str] = NO_RESOURCES) -> str:
    """Return the statements that fix, in a transaction, all settings that could change a result or block forever.

    `resources` are settings that change how much of the server a statement uses.
    """
    settings = {**_SETTINGS, **resources, "statement_timeout": milliseconds(timeout)}
    return "; ".join(f"SET LOCAL {name} TO '{value}'" for name, value in settings.items())


def milliseconds(seconds: float) -> str:
    """Return a time limit as PostgreSQL writes it; it is rounded up, because 0 would switch it off."""
    return f"{max(1, ceil(seconds * 1000))}ms"


def resources_of(settings: EngineSettings) -> dict[str, str]:
    """Return the settings of a transaction that bound what it uses of the server.

    `work_mem` is the memory of one sort, and half of that of one hash table. A statement has a few of them at once, in
    up to three processes, so each gets a sixteenth. One thread is the process that leads the others.
    """
    resources: dict[str, str] = {}
    if settings.memory is not None:
        resources["work_mem"] = f"{min(settings.memory // 1024 // _PARTS_OF_MEMORY, _MOST_WORK_MEM)}kB"
    if settings.threads is not None:
        resources["max_parallel_workers_per_gather"] = str(settings.threads - 1)
    return resources


def check_server(connection: Connection) -> None:
    """Raise NoSourceError if the server is too old, its encoding is not UTF8, or its role may do more than read."""
    version = connection.info.server_version // 10_000
    if version < _OLDEST:
        raise NoSourceError(
            f"The server runs PostgreSQL {version}.", hint=f"tacit needs PostgreSQL {_OLDEST} or newer: upgrade it."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise NoSourceError(
            f"The encoding of the database is {encoding}.", hint="Use a database whose encoding is UTF8."
        )
    check_role(connection)


@contextmanager
def watched(connection: Connection, seconds: float) -> Iterator[None]:
    """Close the connection's socket if the server does not answer for a while after its own time limit."""
    watch = Timer(seconds + _GRACE, _hang_up, (connection.fileno(),))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _hang_up(descriptor: int) -> None:
    """Shut a socket down, so that the thread that waits for it wakes up."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as line:
        line.shutdown(socket.SHUT_RDWR)
