"""`tacit init`, `tacit plan`, `tacit query` as a user runs them."""

from __future__ import annotations

import json
import os
import pty
import sys
import tomllib
from pathlib import Path
from select import select

import duckdb
import pytest

from cli_runs import run as tacit
from tacit.cli.demo import REGIONS, write_survey

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
    write_survey(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def test_init_lists_every_column_and_guesses_nothing(folder: Path) -> None:
    done = tacit(folder, "init", "survey.csv")
    assert done.returncode == 0
    for column in ("person_id", "region", "urban", "age", "income"):
        assert column in done.stdout
    assert "north" not in done.stdout


def test_a_plan_costs_nothing_and_a_query_spends_across_runs(folder: Path) -> None:
    planned = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "0.6", "--assume", "1000", "--json")
    assert json.loads(planned.stdout)["cost"] == {"epsilon": 0.6}
    assert sum(part["epsilon"] for part in json.loads(planned.stdout)["shares"]) == pytest.approx(0.6)
    first = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.6", "--yes", "--json")
    assert [row["region"] for row in json.loads(first.stdout)["rows"]] == list(REGIONS)
    second = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.6", "--yes")
    assert second.returncode == 3
    assert "costs epsilon = 0.6 but only 0.4 is left" in second.stderr
    assert not second.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "fact"),
    [
        (("SELECT sum(age) FROM survey", "--epsilon", "0.1"), 3, "policy hides"),
        (("SELECT income FROM survey", "--epsilon", "0.1"), 3, "selects rows"),
        (("SELECT count(*) FROM survy", "--epsilon", "0.1"), 2, "survey"),
        (("SELECT count(*) FROM survey",), 2, "epsilon"),
        (("SELECT count(* FROM survey", "--epsilon", "0.1"), 2, "parentheses"),
    ],
    ids=["hidden", "rows", "typo", "no epsilon", "syntax"],
)
def test_refusals_say_why_spend_nothing_and_exit_with_their_code(
    folder: Path, arguments: tuple[str, ...], code: int, fact: str
) -> None:
    done = tacit(folder, "query", "policy.toml", *arguments, "--yes")
    assert (done.returncode, fact in done.stderr) == (code, True)
    assert not done.stdout
    left = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "1", "--yes", "--json")
    assert left.returncode == 0


def test_a_missing_source_exits_with_its_code(folder: Path) -> None:
    (folder / "survey.csv").unlink()
    done = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.1", "--yes")
    assert done.returncode == 4
    assert "There is no such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_secret_of_the_environment_is_never_printed(folder: Path) -> None:
    source = "postgresql://reader:${CLINIC_PASSWORD}@db.example.org/clinic"
    (folder / "policy.toml").write_text(POLICY.replace("survey.csv", source), encoding="utf-8")
    done = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "0.1", CLINIC_PASSWORD="hunter2")  # noqa: S106 - none
    assert done.returncode == 4
    assert "tables.survey: The PostgreSQL server could not be reached" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout


def test_without_a_ledger_nothing_can_be_asked_only_planned(folder: Path) -> None:
    (folder / "policy.toml").write_text(POLICY.replace('ledger = "survey.ledger"', ""), encoding="utf-8")
    done = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.1", "--yes")
    assert done.returncode == 3
    assert 'ledger = "' in done.stderr
    assert "Nothing was spent." in done.stderr
    assert not done.stdout
    planned = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "0.1")
    assert planned.returncode == 0
    assert 'needs a ledger = "…"' in planned.stderr


def spent(folder: Path) -> float:
    planned = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "0.1", "--json")
    return 1 - float(json.loads(planned.stdout)["left"]["epsilon"])


@pytest.mark.parametrize("chart", ["chart.xyz", "nowhere/chart.svg", "."])
def test_a_chart_that_cannot_be_written_is_refused_before_the_charge(folder: Path, chart: str) -> None:
    done = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.1", "--yes", "--chart", chart)
    assert done.returncode == 2
    assert "--chart" in done.stderr
    assert not done.stdout
    assert spent(folder) == 0


def test_a_chart_comes_after_the_answer(folder: Path) -> None:
    done = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "0.1", "--yes", "--chart", "chart.svg")
    assert done.returncode == 0
    assert "north" in done.stdout
    assert "Wrote the chart to chart.svg" in done.stderr
    assert (folder / "chart.svg").read_text().startswith("<svg")


def test_an_answer_that_cannot_be_drawn_is_shown_with_a_friendly_note(folder: Path) -> None:
    empty = f"{QUESTION} HAVING count(*) > 1000000000"
    done = tacit(folder, "query", "policy.toml", empty, "--epsilon", "0.1", "--yes", "--chart", "chart.svg")
    assert done.returncode == 0
    assert "income" in done.stdout
    assert "No chart was drawn. " in done.stderr
    assert "nothing was" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Spent ε = 0.1; left ε = 0.9." in done.stderr


def test_a_plan_says_what_is_left_and_warns_if_it_does_not_fit(folder: Path) -> None:
    fits = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "0.6", "--delta", "0")
    assert "Left: ε = 1 of ε = 1." in fits.stderr
    assert "does not suffice" not in fits.stderr
    assert "costs ε = 0.6." in fits.stdout
    over = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "1.6")
    assert over.returncode == 0
    assert "The budget does not suffice. This query costs epsilon = 1.6 but only 1.0 is left" in over.stderr
    quote = json.loads(tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "1.6", "--json").stdout)
    assert (quote["fits"], quote["left"]) == (False, {"epsilon": 1.0})


def test_rho_on_a_budget_in_epsilon_is_refused_in_plain_words(folder: Path) -> None:
    done = tacit(folder, "query", "policy.toml", QUESTION, "--rho", "0.1", "--yes")
    assert done.returncode == 2
    assert "The budget is in ε, so rho cannot be used." in done.stderr
    assert spent(folder) == 0


def test_errors_are_json_on_stderr_where_that_is_asked_for(folder: Path) -> None:
    done = tacit(folder, "query", "policy.toml", "SELECT income FROM survey", "--epsilon", "0.1", "--json")
    error = json.loads(done.stderr)["error"]
    assert (error["kind"], error["code"], done.returncode) == ("RefusedError", 3, 3)
    assert "selects rows" in error["message"]
    assert not done.stdout


def test_the_confidence_is_printed_and_an_unspent_delta_is_reported(folder: Path) -> None:
    (folder / "policy.toml").write_text(
        POLICY.replace("epsilon = 1.0", "epsilon = 1.0, delta = 1e-6"), encoding="utf-8"
    )
    arguments = ("--epsilon", "0.1", "--delta", "1e-7", "--confidence", "0.5", "--yes")
    done = tacit(folder, "query", "policy.toml", "SELECT count(*) AS n FROM survey", *arguments)
    assert "50% interval of n" in done.stdout
    assert "No δ was spent." in done.stderr
    assert "Spent ε = 0.1;" in done.stderr


@pytest.mark.parametrize(
    ("typed", "code", "charges"), [("y\n", 0, 1), ("n\n", 0, 0), ("\x04", 130, 0), ("\x03", 130, 0)]
)
def test_on_a_terminal_the_plan_is_shown_and_the_answer_waits(
    folder: Path, typed: str, code: int, charges: int
) -> None:
    command = [sys.executable, "-m", "tacit", "query", "policy.toml", QUESTION, "--epsilon", "0.1"]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execv(command[0], command)  # noqa: S606 - our own program
    text = _until(terminal, b"[y/N]")
    text += _typed(terminal, typed)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == code
    assert b"costs \xce\xb5 = 0.1" in text
    assert (b"Nothing was spent." in text) == (not charges)
    assert b"Traceback" not in text
    assert round(spent(folder) / 0.1) == charges


def _typed(terminal: int, keys: str) -> bytes:
    """Type some keys until the program ends, and return what it shows.

    A program that a signal reaches just before it waits for a key learns of it with the next key only, so that Ctrl-C
    must be typed again.
    """
    text = b""
    for _ in range(20):
        os.write(terminal, keys.encode())
        text += _until(terminal, b"\0", seconds=3)
        if text.endswith(b"\0"):
            return text
    raise AssertionError(text)


def _until(terminal: int, mark: bytes, seconds: float = 60) -> bytes:
    """Read a terminal up to a mark, to its end, which is marked by a zero, or until nothing comes for some seconds."""
    text = b""
    while mark not in text and select([terminal], [], [], seconds)[0]:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            return text + b"\0"
        if not part:
            return text + b"\0"
        text += part
    return text


def test_init_names_the_table_of_a_database(folder: Path) -> None:
    with duckdb.connect(folder / "census.duckdb") as connection:
        connection.execute("CREATE TABLE adult (id INTEGER, age INTEGER); CREATE TABLE other (id INTEGER)")
    done = tacit(folder, "init", "census.duckdb", "--table", "adult")
    assert tomllib.loads(done.stdout)["tables"]["adult"]["table"] == "adult"
    unnamed = tacit(folder, "init", "census.duckdb")
    assert unnamed.returncode == 2
    assert "'adult', 'other'" in unnamed.stderr


def test_init_of_a_csv_file_leaves_types_to_be_chosen(folder: Path) -> None:
    done = tacit(folder, "init", "survey.csv")
    assert "This source has no types" in done.stdout
    assert tomllib.loads(done.stdout)["tables"]["survey"]["columns"]["age"] == {}
