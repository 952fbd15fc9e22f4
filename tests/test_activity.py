"""The log and the counters: one line and one count for each event, never the text of a query or a value of the data."""

from __future__ import annotations

import json
import logging
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest

import tacit as tc
from children import ended, forked
from tacit import activity
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import LedgerError, RefusedError, SourceError
from tacit.ledger.sql_ledger import SqlLedger

SECRET = "SELECT count(*) AS n FROM visits WHERE doctor = 'Semmelweis'"  # noqa: S105 - a name that no log may show
PEOPLE = pd.DataFrame({"patient": range(31), "doctor": ["Semmelweis"] * 31})


def counted(work: Callable[[], object]) -> dict[str, int]:
    """Return how much each counter grew, without those that did not."""
    before = tc.counters()
    work()
    return {name: count - before[name] for name, count in tc.counters().items() if count != before[name]}


def opened(ledger: Path | None = None, **more: object) -> Database:
    terms = {"unit": "patient", "max_groups": 1, "max_rows": 1, "name": "visits", "budget": tc.PureDP(epsilon=1)}
    return tc.open(PEOPLE, ledger=ledger, **terms, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("in_file", [False, True])
def test_each_event_has_a_line_and_a_count(tmp_path: Path, caplog: pytest.LogCaptureFixture, *, in_file: bool) -> None:
    caplog.set_level(logging.INFO, logger="tacit")
    db = opened(tmp_path / "v.ledger" if in_file else None, analyst="ann", data_version="1")
    assert counted(lambda: db.sql(SECRET, epsilon=0.25)) == {"charges": 1, "answers": 1}
    assert counted(lambda: db.sql(SECRET, epsilon=0.25)) == {"replays": 1}
    with pytest.raises(tc.BudgetError):
        db.sql(SECRET, epsilon=5)
    with pytest.raises(tc.RefusedError):
        db.sql("SELECT doctor FROM visits", epsilon=0.1)
    assert counted(lambda: db.charge(tc.PureDP(epsilon=0.25), note="Semmelweis")) == {"charges": 1, "answers": 1}
    number = db.ledger.entries()[0].number
    lines = [record.getMessage() for record in caplog.records]
    digest = activity.query_hash(db.ledger.entries()[0].question)
    assert lines[:3] == [
        f"charge record={number} analyst=ann query={digest}",
        f"answer record={number} analyst=ann",
        f"replay record={number} analyst=ann query={digest}",
    ]
    assert lines[3:5] == ["refusal error=BudgetError", "refusal error=RefusedError"]
    assert [record.levelname for record in caplog.records[:5]] == ["INFO"] * 3 + ["WARNING"] * 2
    assert len(lines) == 7
    assert not any(text in line for line in lines for text in ("Semmelweis", "doctor", "visits", "31"))


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: db.sql("SELECT count(*) AS n FROM visits", epsilon=5),
        lambda db: db.sql("SELECT count(*) AS n FROM visits", error=1e-9),
        lambda db: db.sql("SELECT count(*) AS n FROM visits WHERE docter = 'x'", epsilon=0.1),
        lambda db: db.count(epsilon=5),
        lambda db: tc.declare([db.plan("SELECT count(*) AS n FROM visits", epsilon=5)] * 2).ask(),
        lambda db: db.charge(tc.PureDP(epsilon=5), note="a model"),
    ],
)
def test_a_refusal_is_counted_once(ask: Callable[[object], object], tmp_path: Path) -> None:
    db = opened(tmp_path / "v.ledger")

    def refuse() -> None:
        with pytest.raises(tc.TacitError, match=r"Nothing was spent\."):
            ask(db)

    assert counted(refuse) == {"refusals": 1}


def test_a_failure_after_the_charge_is_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Semmelweis")

    db = opened()
    monkeypatch.setattr(DuckDBEngine, "measure", fail)

    def ask() -> None:
        with pytest.raises(SourceError):
            db.sql("SELECT count(*) AS n FROM visits", epsilon=0.25)

    assert counted(ask) == {"charges": 1, "failures": 1}
    assert [record.getMessage() for record in caplog.records] == ["failure record=1 error=SourceError"]


def test_an_outcome_that_cannot_be_recorded_is_a_warning_beside_the_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    db = opened(tmp_path / "v.ledger")

    def fail(*_: object) -> None:
        raise LedgerError("Ledger v.ledger cannot be written: the disk is full.", hint="Then try again.")

    monkeypatch.setattr(SqlLedger, "finish", fail)

    def ask() -> None:
        with pytest.warns(UserWarning, match="answered, but its outcome could not be recorded") as caught:
            assert db.sql("SELECT count(*) AS n FROM visits", epsilon=0.25).rows()
        assert "try again" not in str(caught[0].message)  # it would be charged again
        assert "othing was" not in str(caught[0].message)

    assert counted(ask) == {"charges": 1, "answers": 1, "warnings": 1}


def test_nothing_is_printed_unless_a_program_asks_for_it(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("tacit")
    assert any(isinstance(handler, logging.NullHandler) for handler in logger.handlers)
    script = (
        "import tacit as tc\n"
        "db = tc.open({'id': [1, 2]}, unit='id', max_groups=1, max_rows=1, name='t', budget=tc.PureDP(epsilon=1))\n"
        "try:\n    db.sql('SELECT id FROM t', epsilon=1)\nexcept tc.RefusedError:\n    pass\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script, "script", "exec"), {})  # noqa: S102 - ours
    assert capfd.readouterr() == ("", "")


def test_a_name_cannot_start_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    activity.note("warning", ledger="a\nfailure record=1\x1b[2J")
    (record,) = caplog.records
    assert "\n" not in record.getMessage()
    assert "\x1b" not in record.getMessage()


@pytest.mark.parametrize("name", ["eve record=99 analyst=bob", 'eve" record="9', "eve=1", "eve\\"])
def test_a_name_cannot_add_a_fact_to_a_line_of_the_log(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tacit")
    activity.note("charge", record=1, analyst=name, query="abc")
    (line,) = [record.getMessage() for record in caplog.records]
    words = re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^\s"])+', line)
    assert [word.partition("=")[0] for word in words] == ["charge", "record", "analyst", "query"]
    assert json.loads(words[2].removeprefix("analyst=")) == name


def test_a_log_that_fails_does_not_lose_an_answer() -> None:
    db, log = opened(), logging.getLogger("tacit")

    def fail(_: logging.LogRecord) -> bool:
        raise ValueError

    before = log.level
    log.addFilter(fail)
    log.setLevel(logging.INFO)
    try:
        assert counted(lambda: db.count(epsilon=0.25)) == {"charges": 1, "answers": 1}
    finally:
        log.removeFilter(fail)
        log.setLevel(before)
    assert [entry.outcome for entry in db.ledger.entries()] == ["answered"]


def test_counters_are_exact_in_threads_and_start_again_in_a_child() -> None:
    def many() -> None:
        for _ in range(500):
            activity.note("retry")

    def work() -> None:
        threads = [Thread(target=many) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert counted(work) == {"retries": 4000}
    if hasattr(os, "fork"):

        def in_child() -> None:
            assert set(tc.counters().values()) == {0}
            activity.note("charge")
            assert tc.counters()["charges"] == 1

        assert ended(forked(in_child)) == 0


def test_an_error_that_is_raised_again_is_counted_once() -> None:
    error = RefusedError("no")

    def refuse() -> None:
        for _ in range(3):
            activity.note_refusal(error)

    assert counted(refuse) == {"refusals": 1}
    assert error.unspent
