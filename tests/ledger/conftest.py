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
from ledgers import Site, Sites


@pytest.fixture(scope="session")
def server() -> str:
    """The URL of a PostgreSQL server; see `postgres_server`."""
    return postgres_server.server()


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder, in memory if possible, because disks are slow to sync."""
    memory = Path("/dev/shm")  # noqa: S108 - a separate folder is created there
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)


@pytest.fixture
def sites(request: pytest.FixtureRequest, folder: Path) -> Iterator[Sites]:
    """A function that returns an empty site: "sqlite", a schema ("postgresql") or a separate database ("database")."""
    created: list[Site] = []
    undo: list[str] = []

    def make(kind: str) -> Site:
        if kind == "sqlite":
            site = Site(str(folder / f"clinic{len(created)}.ledger"))
        else:
            url, name = make_url(request.getfixturevalue("server")).set(drivername="postgresql"), f"t{uuid4().hex}"
            _run(url, f"CREATE {'SCHEMA' if kind == 'postgresql' else 'DATABASE'} {name}")
            undo.append(f"DROP SCHEMA {name} CASCADE" if kind == "postgresql" else f"DROP DATABASE {name} WITH (FORCE)")
            options = {"options": f"-csearch_path={name}"}
            url = url.update_query_dict(options) if kind == "postgresql" else url.set(database=name)
            site = Site(url.render_as_string(hide_password=False))
        created.append(site)
        return site

    yield make
    for site in created:
        site.close()
    for sql in undo:
        _run(make_url(request.getfixturevalue("server")), sql)


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, sites: Sites) -> Site:
    """An empty location for a ledger, in a file and in a database."""
    return sites(request.param)


def _run(url: URL, sql: str) -> None:
    admin = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with admin.connect() as connection:
        connection.execute(text(sql))
