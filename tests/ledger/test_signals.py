"""SIGTERM, SIGINT and SIGKILL at each step of a query: the records in the ledger, and the next query.

| step | SIGKILL, SIGTERM without a handler | SIGINT, SIGTERM with a handler that raises |
|---|---|---|
| before the commit of the charge | nothing | nothing |
| after it, until the answer | pending | failed (or pending, before the reading begins) |
| after the outcome | answered | answered |

A charge is never refunded. A query whose outcome is pending or failed is charged again when it is repeated.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from children import ended, forked
from ledgers import ONE, Site, Sites
from tacit import opening
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.ledger.open_ledger import read_ledger
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

STEPS: dict[str, tuple[type, str, str]] = {
    "before the charge": (SqlLedger, "charge", "before"),
    "after the charge": (SqlLedger, "charge", "after"),
    "while reading": (DuckDBEngine, "measure", "before"),
    "after reading": (DuckDBEngine, "measure", "after"),
    "before the outcome": (SqlLedger, "finish", "before"),
    "after the outcome": (SqlLedger, "finish", "after"),
}
EXPECTED = {
    "before the charge": ([], []),
    "after the charge": (["pending"], ["pending"]),
    "while reading": (["pending"], ["failed"]),
    "after reading": (["pending"], ["failed"]),
    "before the outcome": (["pending"], ["pending"]),
    "after the outcome": (["answered"], ["answered"]),
}
"""The outcomes in the ledger after a signal that ends the process at once, and after one that Python handles."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "people.parquet"
    pl.DataFrame({"person": range(50)}).write_parquet(file)
    return file


def opened(data: Path, site: Site) -> Database:
    return opening.open(
        data, unit="person", max_groups=1, max_rows=1, budget=ONE, ledger=site.location, data_version="1"
    )


def query_with_signal(db: Database, step: str, number: int) -> None:
    """Run a query in this process, and send it a signal at one step."""
    home, name, when = STEPS[step]
    original: Callable[..., object] = getattr(home, name)

    def interrupted(*arguments: object, **options: object) -> object:
        if when == "before":
            os.kill(os.getpid(), number)
        result = original(*arguments, **options)
        if when == "after":
            os.kill(os.getpid(), number)
        return result

    setattr(home, name, interrupted)
    db.sql("SELECT count(*) AS n FROM people", epsilon=0.25)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_at_each_step(sites: Sites, data: Path, kind: str, step: str, number: signal.Signals) -> None:
    site = sites(kind)
    opened(data, site).close()

    def work() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        query_with_signal(opened(data, site), step, number)

    code = ended(forked(work))
    assert code == (1 if number == signal.SIGINT else -number)
    ledger = read_ledger(site.location)
    expected = EXPECTED[step][number == signal.SIGINT]
    assert [entry.outcome for entry in ledger.entries()] == expected
    assert ledger.spent.loss * 4 == len(expected)
    assert verify(ledger).holds
    ledger.close()
    with opened(data, site) as db:
        again = db.sql("SELECT count(*) AS n FROM people", epsilon=0.25)
        assert again.repeated == (expected == ["answered"])
        assert db.ledger.spent.loss * 4 == len(expected) + (not again.repeated)
