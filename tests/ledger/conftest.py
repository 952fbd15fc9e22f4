"""Ledgers on SQLite and on PostgreSQL: the same tests on both."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.pool import NullPool

import postgres_server
from ledgers import Places, Shelf


@pytest.fixture(scope="session")
def server() -> str:
    """The URL of a PostgreSQL server; see `postgres_server`."""
    return postgres_server.server()


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder, in memory where that can be had: disks are slow to sync."""
    quick = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
    with TemporaryDirectory(dir=quick if os.access(quick, os.W_OK) else None) as made:
        yield Path(made)


@pytest.fixture
def places(request: pytest.FixtureRequest, folder: Path) -> Iterator[Places]:
    """Makes empty places for ledgers: in a file, in a schema of a database ("postgresql"), or in one of its own."""
    made: list[Shelf] = []
    undo: list[str] = []

    def make(kind: str) -> Shelf:
        if kind == "sqlite":
            found = Shelf(str(folder / f"clinic{len(made)}.ledger"))
        else:
            url, name = make_url(request.getfixturevalue("server")).set(drivername="postgresql"), f"t{uuid4().hex}"
            _run(url, f"CREATE {'SCHEMA' if kind == 'postgresql' else 'DATABASE'} {name}")
            undo.append(f"DROP SCHEMA {name} CASCADE" if kind == "postgresql" else f"DROP DATABASE {name} WITH (FORCE)")
            options = {"options": f"-csearch_path={name}"}
            url = url.update_query_dict(options) if kind == "postgresql" else url.set(database=name)
            found = Shelf(url.render_as_string(hide_password=False))
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()
    for sql in undo:
        _run(make_url(request.getfixturevalue("server")), sql)


@pytest.fixture(params=["sqlite", "postgresql"])
def shelf(request: pytest.FixtureRequest, places: Places) -> Shelf:
    """An empty place for a ledger, in a file and in a database."""
    return places(request.param)


def _run(url: URL, sql: str) -> None:
    admin = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with admin.connect() as connection:
        connection.execute(text(sql))
