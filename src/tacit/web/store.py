"""The database of people, sessions and questions: the ledger's own, through the ledger's safe transactions."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import RLock
from time import time

from sqlalchemy import Connection, Table, insert, inspect, select
from sqlalchemy.dialects import postgresql, sqlite

from tacit.errors import LedgerError
from tacit.ledger.storage import open_store
from tacit.web.tables import FORMAT, SETTINGS, TABLES


class WebStore:
    """The tables of the server. Every method of `tacit.web` that needs them takes one."""

    def __init__(self, location: str) -> None:
        """Open the database, and create the tables if they are missing; raise LedgerError if it cannot be used."""
        self._store = open_store(location)
        self.turn: AbstractContextManager[object] = RLock() if self._store.is_file else nullcontext()
        """The turn of one thread to write. SQLite lets one write, and the others sleep longer than necessary."""
        try:
            self.secret = self._prepare()
        except BaseException:
            self._store.close()
            raise

    @property
    def names(self) -> tuple[str, str]:
        """The names of the database in messages, which no response may show."""
        return self._store.name, self._store.place

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Read and write in one transaction, on disk at the end; in SQLite one at a time."""
        with self.turn, self._store.writing() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read one snapshot."""
        with self._store.reading() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections."""
        self._store.close()

    def _prepare(self) -> bytes:
        with self._store.reading() as connection:
            is_ready = inspect(connection).has_table(SETTINGS.name)
        if not is_ready:
            with self._store.writing() as connection:
                self._store.lock_creation(connection)
                TABLES.create_all(connection)
                if _setting(connection, "format") is None:
                    rows = {"format": str(FORMAT), "secret": secrets.token_hex(32)}
                    connection.execute(insert(SETTINGS), [{"name": k, "value": v} for k, v in rows.items()])
        with self._store.reading() as connection:
            found, secret = _setting(connection, "format"), _setting(connection, "secret")
        if found != str(FORMAT) or secret is None:
            raise LedgerError(
                "The tables of the server have another format than this version of tacit.",
                hint="Upgrade tacit to the version that wrote them.",
            )
        return bytes.fromhex(secret)


def insert_new(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless there is one with its key; return whether it was inserted. Two workers may do it at once."""
    make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    query = make(table).values(**row).on_conflict_do_nothing().returning(*table.primary_key)
    return connection.execute(query).first() is not None


def _setting(connection: Connection, name: str) -> str | None:
    value = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar()
    return None if value is None else str(value)


def now() -> int:
    """Return the time in whole seconds, by the clock of this machine."""
    return int(time())
