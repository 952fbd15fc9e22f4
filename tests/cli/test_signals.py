"""Ctrl-C and SIGTERM in the shell: JSON stays JSON, and a charged query is recorded as failed. The log on stderr."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_runs import Done, run
from tacit.cli.demo import write_survey
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import LedgerError
from tacit.ledger.open_ledger import read_ledger
from tacit.ledger.sql_ledger import SqlLedger

POLICY = """
budget = { epsilon = 1.0 }
ledger = "survey.ledger"

[tables.survey]
source = "survey.csv"
unit = "person_id"
max_groups = 1
max_rows = 2
"""
COUNT = "SELECT count(*) AS n FROM survey"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_survey(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def query(folder: Path, *more: str) -> Done:
    return run(folder, "query", "policy.toml", COUNT, "--epsilon", "0.25", "--yes", *more)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_signal_while_the_data_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int, *, as_json: bool
) -> None:
    def interrupt(*_: object) -> None:
        os.kill(os.getpid(), number)

    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(DuckDBEngine, "measure", interrupt)
    done = query(folder, *(["--json"] if as_json else []))
    assert done.returncode == code
    assert not done.stdout
    message = json.loads(done.stderr)["error"]["message"] if as_json else done.stderr
    assert "If the query was already charged, the charge stays." in message
    if as_json:
        assert json.loads(done.stderr)["error"] == {"kind": "Abort", "code": code, "message": message}
    ledger = read_ledger(folder / "survey.ledger")
    assert [entry.outcome for entry in ledger.entries()] == ["failed"]
    assert handlers == {each: signal.getsignal(each) for each in handlers}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_a_statement_of_duckdb(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    """DuckDB replaces the error of a signal's handler by its own if the statement runs in the main thread."""
    ended: list[float] = []

    def measure(engine: DuckDBEngine, *_: object) -> None:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
        timer.start()
        try:
            list(engine._batches("SELECT count(*) FROM range(1000000000) AS t(i) WHERE i * i % 7 = 3", {}))
        finally:
            timer.join()
            ended.extend(engine._connection.execute("SELECT 1").fetchall()[0])  # the statement no longer runs

    monkeypatch.setattr(DuckDBEngine, "measure", measure)
    done = query(folder)
    assert done.returncode == code
    assert "If the query was already charged, the charge stays." in done.stderr
    assert ended == [1]
    assert [entry.outcome for entry in read_ledger(folder / "survey.ledger").entries()] == ["failed"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_charge_is_json_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    monkeypatch.setattr("tacit.cli.query_text.read_query", lambda *_: os.kill(os.getpid(), number))
    done = query(folder, "--json")
    assert done.returncode == code
    assert json.loads(done.stderr)["error"]["code"] == code
    assert not (folder / "survey.ledger").exists()


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch, *, as_json: bool) -> None:
    def fail(*_: object) -> None:
        raise LedgerError("The disk is full.", hint="Then try again.")

    query(folder)
    monkeypatch.setattr(SqlLedger, "finish", fail)
    done = query(folder, *(["--json"] if as_json else []))
    assert done.returncode == 0
    line = done.stderr.splitlines()[0]
    message = json.loads(line)["warning"]["message"] if as_json else line.removeprefix("Warning: ")
    assert message.startswith("The query was answered, but its outcome could not be recorded")
    assert message.endswith("The disk is full.")


@pytest.fixture
def quiet() -> Iterator[None]:
    """Remove the handler that a command adds, and reset the level."""
    logger = logging.getLogger("tacit")
    handlers, level = logger.handlers[:], logger.level
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.mark.usefixtures("quiet")
def test_the_log_goes_to_stderr(folder: Path) -> None:
    done = run(folder, "--log-level", "info", "query", "policy.toml", COUNT, "--epsilon", "0.25", "--json")
    assert json.loads(done.stdout)["rows"]
    first, second = done.stderr.splitlines()
    assert " tacit INFO charge record=2 query=" in first
    assert second.endswith(" tacit INFO answer record=2")
    assert "survey" not in done.stderr


@pytest.mark.usefixtures("quiet")
def test_without_the_option_there_is_no_log(folder: Path) -> None:
    assert not query(folder, "--json").stderr
    wrong = run(folder, "--log-level", "loud", "plan", "policy.toml", COUNT)
    assert wrong.returncode == 2
    assert "debug, info, warning, error" in wrong.stderr
