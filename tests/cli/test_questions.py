"""`tacit init`, `tacit plan`, `tacit query` as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli import survey

QUESTION = "SELECT region, count(*) AS n, avg(income) AS income FROM survey GROUP BY region"
POLICY = """
budget = { epsilon = 1.0 }
ledger = "survey.ledger"

[tables.survey]
source = "survey.csv"
unit = "person_id"
max_groups = 1
max_rows = 2

[tables.survey.columns]
income = { bounds = [0, 200_000] }
region = { keys = ["north", "south", "east", "west"] }
age = { hidden = true }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    survey.write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def tacit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit", *arguments]
    return subprocess.run(  # noqa: S603 - our own program
        command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def test_init_lists_every_column_and_guesses_nothing(folder: Path) -> None:
    done = tacit(folder, "init", "survey.csv")
    assert done.returncode == 0
    for column in ("person_id", "region", "urban", "age", "income"):
        assert column in done.stdout
    assert "north" not in done.stdout


def test_a_plan_costs_nothing_and_a_query_spends_across_runs(folder: Path) -> None:
    planned = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "0.6", "--assume", "1000", "--json")
    assert json.loads(planned.stdout)["cost"] == {"epsilon": 0.6}
    first = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.6", "--yes", "--json")
    assert [row["region"] for row in json.loads(first.stdout)["rows"]] == list(survey.REGIONS)
    second = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.6", "--yes")
    assert second.returncode == 3
    assert "costs epsilon = 0.6 but only 0.4 is left" in second.stderr
    assert not second.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("SELECT sum(age) FROM survey", "--epsilon", "0.1"), 3, "hidden"),
        (("SELECT income FROM survey", "--epsilon", "0.1"), 3, "rows themselves"),
        (("SELECT count(*) FROM survy", "--epsilon", "0.1"), 2, "survey"),
        (("SELECT count(*) FROM survey",), 2, "epsilon"),
        (("SELECT count(* FROM survey", "--epsilon", "0.1"), 2, "sql"),
    ],
    ids=["hidden", "rows", "typo", "no epsilon", "syntax"],
)
def test_refusals_say_why_spend_nothing_and_exit_with_their_code(
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = tacit(folder, "query", "policy.toml", *arguments, "--yes")
    assert (done.returncode, said in done.stderr) == (code, True)
    assert not done.stdout
    left = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "1", "--yes", "--json")
    assert left.returncode == 0


def test_a_missing_source_exits_with_its_code(folder: Path) -> None:
    (folder / "survey.csv").unlink()
    done = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.1", "--yes")
    assert done.returncode in (2, 4)
    assert "Traceback" not in done.stderr
