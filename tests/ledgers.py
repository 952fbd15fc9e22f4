"""Helpers for tests of ledgers: requests to charge, and locations of ledgers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from tacit.guarantees.events import Neighbours, PureRelease
from tacit.guarantees.filters import Budget
from tacit.guarantees.values import PureDP
from tacit.ledger import Request
from tacit.ledger.open_ledger import open_ledger
from tacit.ledger.sql_ledger import SqlLedger

ONE = PureDP(epsilon=1)


def pure(epsilon: str | Fraction) -> PureRelease:
    return PureRelease(epsilon=Fraction(epsilon))


def ask(*epsilons: str, question: str = "q", **more: Any) -> Request:  # noqa: ANN401 - passed on
    """Return a request that costs the given ε, or 0.1 by default."""
    return Request(question=question, events=tuple(map(pure, epsilons or ("0.1",))), **more)


def again(digest: str, *epsilons: str, **more: Any) -> Request:  # noqa: ANN401 - passed on
    """Return a request that may be repeated."""
    return ask(*epsilons, question=f"q{digest}", digest=digest, repeats=True, **more)


class Site:
    """A location for one ledger, which tests open again and again."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._ledgers: list[SqlLedger] = []

    @property
    def is_file(self) -> bool:
        return "://" not in self.location

    def open(self, budget: Budget = ONE, neighbours: Neighbours = "add/remove", **more: Any) -> SqlLedger:  # noqa: ANN401
        ledger = open_ledger(self.location, budget, neighbours, **more)
        self._ledgers.append(ledger)
        return ledger

    def run(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        """Run a statement on the database, outside the ledger."""
        url = make_url(f"sqlite:///{self.location}" if self.is_file else self.location)
        url = url if self.is_file else url.set(drivername="postgresql+psycopg")
        with create_engine(url, poolclass=NullPool).begin() as connection:
            result = connection.execute(text(sql), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    def close(self) -> None:
        for ledger in self._ledgers:
            ledger.close()


Sites = Callable[[str], Site]


def can_mount(folder: Path) -> bool:
    """Return whether this process may mount, in a namespace that ends with the command."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-m", "mount", "--bind", str(folder), str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 - our own
