"""Ledgers under two programs at once, kills in between, and clocks that jump.

Each attack is deterministic: the second question is asked, or the process is killed, at the moment when the first has
its exact numbers. `tests/ledger/test_crashes.py` and `test_crowds.py` have random moments, full disks and 32 processes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from children import ended, forked
from known_bad import BudgetByDay, JsonLedger
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import LedgerError
from tacit.ledger import changes
from tacit.ledger.replay import VerifyReport, verify
from tacit.ledger.sql_ledger import SqlLedger

PEOPLE = pd.DataFrame({"id": range(40)})
COUNT = "SELECT count(*) AS n FROM t"


def opened(ledger: Path, **more: Any) -> Database:  # noqa: ANN401
    terms: dict[str, Any] = {"unit": "id", "max_groups": 1, "max_rows": 1, "budget": tc.PureDP(epsilon=1)}
    return tc.open(PEOPLE, name="t", ledger=ledger, **terms, **more)


def checked(db: Database) -> VerifyReport:
    assert isinstance(db.ledger, SqlLedger)
    return verify(db.ledger)


def while_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something at each moment when the exact numbers were read and nothing was answered."""
    measure = DuckDBEngine.measure

    def interrupted(self: DuckDBEngine, *arguments: Any) -> Any:  # noqa: ANN401
        numbers = measure(self, *arguments)
        act()
        return numbers

    monkeypatch.setattr(DuckDBEngine, "measure", interrupted)


# --- two at once ----------------------------------------------------------------------------------------------------


def test_questions_inside_the_reading_of_another_share_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question of 0.4 asks another before it answers: the reference answers ten, tacit two."""
    answered: list[str] = []
    reference = JsonLedger(tmp_path / "l.json", 1)

    def nested() -> None:
        answered.append("reference")
        if answered.count("reference") < 10:
            reference.ask(0.4, nested)

    reference.ask(0.4, nested)
    assert answered.count("reference") == 10
    with opened(tmp_path / "l") as one, opened(tmp_path / "l") as other:
        turns = [one, other] * 5

        def ask_another() -> None:
            if turns:
                with suppress(tc.BudgetError):
                    answered.append(str(turns.pop().sql(COUNT, epsilon=0.4)))

        while_reading(monkeypatch, ask_another)
        ask_another()
        assert len(answered) == 10 + 2
        assert one.ledger.spent.loss == other.ledger.spent.loss == Fraction(4, 5)
        assert checked(one).holds


# --- kill -9 --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_process_that_is_killed_with_the_numbers_in_its_hands_has_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time and failure are observations too. Ten kills: the reference has charged nothing, tacit all that there is."""

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    reference, ledger = tmp_path / "l.json", tmp_path / "l"
    opened(ledger).close()
    while_reading(monkeypatch, die)
    for _ in range(10):
        child = forked(lambda: JsonLedger(reference, 1).ask(0.25, die))
        assert ended(child) == -signal.SIGKILL
    assert JsonLedger(reference, 1).spent == 0
    codes = [ended(forked(lambda: opened(ledger).sql(COUNT, epsilon=0.25))) for _ in range(6)]
    assert codes == [-signal.SIGKILL] * 4 + [1, 1]
    monkeypatch.undo()
    with opened(ledger) as db:
        assert db.ledger.spent.loss == 1
        assert [entry.outcome for entry in db.ledger.entries()] == ["pending"] * 4
        assert checked(db).holds
        with pytest.raises(tc.BudgetError):
            db.sql(COUNT, epsilon=1e-9)


# --- clocks ---------------------------------------------------------------------------------------------------------


def test_no_clock_brings_a_budget_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A year later, a century later, and back again: the budget is spent once."""
    now = datetime.now(UTC)
    moments = [now + timedelta(days=days) for days in (0, 1, 366, 36_500, 0, -366)]
    clock = iter([moments[0].timestamp(), *(moment.timestamp() for moment in moments)])
    reference = BudgetByDay(1, lambda: next(clock))
    assert sum(reference.ask(1) for _ in moments) > 1
    answered = 0
    with opened(tmp_path / "l") as db:
        for moment in moments:
            monkeypatch.setattr(changes, "clock", lambda moment=moment: moment)
            with suppress(tc.BudgetError, LedgerError):
                db.sql(COUNT, epsilon=1)
                answered += 1
            assert db.ledger.spent.loss <= 1
        assert answered == 1


def test_no_declared_time_or_version_in_a_question_brings_a_budget_back(tmp_path: Path) -> None:
    """A policy of a later day, another version of the data and another name of the analyst have the same budget."""
    ledger = tmp_path / "l"
    answered = 0
    for name in ("2026-01", "2026-02", "2027"):
        for analyst in ("ann", "Ann", "bob"):
            with opened(ledger, data_version=name, analyst=analyst) as db, suppress(tc.BudgetError):
                db.sql(COUNT, epsilon=0.4)
                answered += 1
    assert answered == 2
