"""The consent of every command that charges: one path for `tacit query`, `tacit limits` and `tacit bounds`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.cli import bounds, limits, query
from tacit.cli.charge import Access
from tacit.cli.demo import write_survey
from tacit.cli.output import STOPPED
from tacit.cli.query import Cost, QueryOptions
from tacit.opening import open as open_database

POLICY = """
budget = { epsilon = 1.0 }
ledger = "survey.ledger"

[tables.survey]
source = "survey.csv"
unit = "person_id"
reach = 2

[tables.survey.columns]
income = { type = "real" }
"""
NEW = "Created a new ledger at "
Command = Callable[[Access], int]


def _query(access: Access) -> int:
    cost = Cost(epsilon=0.1)
    asked = QueryOptions(
        sql="SELECT count(*) AS n FROM survey", params={}, cost=cost, confidence=0.95, assume=None, limits={}, cut={}
    )
    files = query.AnswerFiles(chart=None, out=None, force=False)
    return query.query(access, asked, files, json=False, yes=False)


def _limits(access: Access) -> int:
    asked = limits.ReportOptions(
        sql=None, params={}, epsilon=0.1, rho=None, spend=None, table=None, confidence=0.95, bounds={}
    )
    return limits.run(access, asked, json=False, yes=False, chart=None)


def _bounds(access: Access) -> int:
    names: dict[str, Any] = dict.fromkeys(("rho", "where", "table", "request"))
    asked = bounds.BoundsOptions(column="income", epsilon=0.1, confidence=0.95, **names)
    return bounds.run(access, asked, json=False, yes=False)


COMMANDS = [_query, _limits, _bounds]


@pytest.fixture
def access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Access:
    write_survey(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    return Access(policy="policy.toml", ledger=None, analyst="")


def types(monkeypatch: pytest.MonkeyPatch, answer: str | type[BaseException]) -> None:
    def reply(*_: object) -> str:
        if isinstance(answer, str):
            return answer
        raise answer

    monkeypatch.setattr("builtins.input", reply)


def spent() -> float:
    with open_database("policy.toml") as db:
        return float(db.ledger.spent.loss)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("typed", "code", "cost"), [("y", 0, 0.1), ("no", 0, 0), (EOFError, STOPPED, 0), (KeyboardInterrupt, STOPPED, 0)]
)
def test_a_charge_needs_consent(
    access: Access,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: Command,
    typed: str | type[BaseException],
    code: int,
    cost: float,
) -> None:
    types(monkeypatch, typed)
    assert command(access) == code
    shown = capsys.readouterr()
    assert shown.err.count(NEW) == bool(cost)
    assert shown.err.count("The ledger does not exist yet") == 1
    assert "costs ε = 0.1" in shown.err
    assert "Left: ε = 1 of ε = 1." in shown.err
    assert ("Nothing was spent." in shown.err) == (cost == 0)
    assert ("Spent ε = 0.1; left ε = 0.9." in shown.err) == bool(shown.out) == bool(cost)
    assert spent() == pytest.approx(cost)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupted_read_says_that_a_charge_stays(
    access: Access, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: Command
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    types(monkeypatch, "y")
    monkeypatch.setattr("tacit.database.Session.answer", interrupt)
    assert command(access) == STOPPED
    shown = capsys.readouterr()
    assert "If the query was already charged, the charge stays." in shown.err
    assert not shown.out
