"""One database in many threads, and in processes that were forked: exact, or refused before the charge."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from threading import Barrier, Thread

import polars as pl
import pytest

import tacit as tc
from children import ended, forked
from tacit.database import Database
from tacit.errors import SourceError
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "people.parquet"
    pl.DataFrame({"person": range(200), "age": [i % 80 for i in range(200)]}).write_parquet(file)
    return file


def opened(data: Path, ledger: Path | None, epsilon: float) -> Database:
    budget = tc.PureDP(epsilon=epsilon)
    return tc.open(data, unit="person", max_groups=1, max_rows=1, budget=budget, ledger=ledger)


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Run a task in threads that start together, and raise here what one of them raised."""
    gate, errors = Barrier(count), list[BaseException]()

    def run(index: int) -> None:
        gate.wait()
        try:
            work(index)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("in_file", [False, True])
def test_threads_share_one_database(data: Path, tmp_path: Path, *, in_file: bool) -> None:
    db = opened(data, tmp_path / "l.ledger" if in_file else None, epsilon=10_000)
    answers: dict[int, object] = {}

    def ask(index: int) -> None:
        for limit in range(index, 40, 8):
            query = f"SELECT count(*) AS n FROM people WHERE age < {limit}"  # noqa: S608 - a number
            answers[limit] = db.sql(query, epsilon=200).rows()

    in_threads(ask, 8)
    ages = [i % 80 for i in range(200)]
    assert answers == {limit: [(sum(age < limit for age in ages),)] for limit in range(40)}
    assert db.ledger.spent.loss == 40 * 200
    entries = db.ledger.entries()
    assert {entry.outcome for entry in entries} == {"answered"}
    assert len({entry.number for entry in entries}) == 40


@pytest.mark.parametrize("in_file", [False, True])
def test_threads_never_spend_more_than_there_is(data: Path, tmp_path: Path, *, in_file: bool) -> None:
    db = opened(data, tmp_path / "l.ledger" if in_file else None, epsilon=1)
    refused = []

    def ask(_: int) -> None:
        for _ in range(3):
            try:
                db.sql("SELECT count(*) AS n FROM people", epsilon=0.1)
            except tc.BudgetError:
                refused.append(1)

    in_threads(ask, 8)
    assert db.ledger.spent.loss == 1
    assert len(refused) == 14


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_opens_its_own_data_and_shares_the_ledger(data: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "l.ledger"
    db = opened(data, ledger, epsilon=1)
    db.sql("SELECT count(*) AS n FROM people", epsilon=0.1)

    def child() -> None:
        with pytest.raises(SourceError, match=r"child of the process.*Open the source separately.*Nothing was spent\."):
            db.sql("SELECT count(*) AS n FROM people", epsilon=0.1)
        db.close()
        own = opened(data, ledger, epsilon=1)
        own.sql("SELECT count(*) AS n FROM people", epsilon=0.1)

    children = [forked(child) for _ in range(3)]
    db.sql("SELECT count(*) AS n FROM people", epsilon=0.1)
    assert [ended(each) for each in children] == [0] * 3
    assert db.ledger.spent.loss == Fraction(5, 10)
    assert isinstance(db.ledger, SqlLedger)
    assert verify(db.ledger).holds
