"""Queries from files, pipes and parameters, and answers in files."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cli_runs import run as tacit
from tacit.cli.answer_files import _markdown
from tacit.cli.demo import write_survey
from tacit.query.results.table import Table

POLICY = """
budget = { epsilon = 100 }
ledger = "survey.ledger"

[tables.survey]
source = "survey.csv"
unit = "person_id"
reach = 2

[tables.survey.columns]
income = { bounds = [0, 200_000] }
region = { keys = ["north", "south", "east", "west"] }
"""
QUERY = "SELECT region, count(*) AS n FROM survey GROUP BY region"
COUNT = "SELECT count(*) AS n FROM survey WHERE region = $region"
SPEND = ("--epsilon", "1", "--yes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_survey(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "query.sql").write_text(QUERY + ";\n-- a comment\n", encoding="utf-8")
    return tmp_path


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


def test_a_query_comes_from_a_file_or_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (("-f", "query.sql"), ("--file", "-"), ("-",), ()):
        piped(monkeypatch, b"\xef\xbb\xbf" + QUERY.encode())
        done = tacit(folder, "plan", "policy.toml", *arguments, "--epsilon", "1", "--json")
        assert done.returncode == 0, done.stderr
        assert "GROUP BY region" in json.loads(done.stdout)["question"]


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (("-f", "query.sql", QUERY), "two queries"),
        (("-f", "none.sql"), "Cannot read 'none.sql'"),
        (("-f", "bytes.sql"), "not text in UTF-8"),
        (("-f", "large.sql"), "more than 1,000,000 bytes"),
        ((), "contains no statement"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], fact: str
) -> None:
    (folder / "bytes.sql").write_bytes(b"SELECT '\xff'")
    (folder / "large.sql").write_bytes(b" " * 1_000_001)
    piped(monkeypatch, b"")
    done = tacit(folder, "query", "policy.toml", *arguments, *SPEND)
    assert (done.returncode, fact in done.stderr) == (2, True), done.stderr


def test_a_parameter_is_a_constant(folder: Path) -> None:
    planned = tacit(folder, "plan", "policy.toml", COUNT, "--param", "region=it's $region", "--epsilon", "1", "--json")
    assert json.loads(planned.stdout)["question"].endswith("region = 'it''s $region'")
    both = ("--param", "region=north", "--param", "least:real=3")
    done = tacit(folder, "query", "policy.toml", f"{COUNT} AND income > :least", *both, *SPEND, "--json")
    assert json.loads(done.stdout)["question"].endswith("region = 'north' AND income > 3.0")


@pytest.mark.parametrize(
    ("params", "fact"),
    [
        ((), "no value is given"),
        (("region",), "name=value"),
        (("region=a", "region=b"), "given twice"),
        (("region:town=a",), "one of the types"),
        (("region:integer=a",), "not a value of type integer"),
        (("region=a", "x=1"), "has no parameter $x"),
    ],
)
def test_wrong_parameters_are_refused(folder: Path, params: tuple[str, ...], fact: str) -> None:
    given = [part for param in params for part in ("--param", param)]
    done = tacit(folder, "query", "policy.toml", COUNT, *given, *SPEND)
    assert (done.returncode, fact in done.stderr) == (2, True), done.stderr


def test_an_answer_goes_to_a_file(folder: Path) -> None:
    rows: dict[str, Any] = {}
    for name in ("a.csv", "a.parquet", "a.json", "a.md"):
        done = tacit(folder, "query", "policy.toml", QUERY, *SPEND, "--out", name)
        assert f"Wrote the answer to {name}." in done.stderr
        again = tacit(folder, "query", "policy.toml", QUERY, *SPEND, "--out", name)
        assert (again.returncode, "already exists" in again.stderr) == (2, True)
        rows[name] = folder / name
    assert rows["a.csv"].read_text(encoding="utf-8").splitlines()[0] == "region,n,n_low,n_high"
    assert pq.read_table(rows["a.parquet"]).column_names == ["region", "n", "n_low", "n_high"]
    assert len(json.loads(rows["a.json"].read_text(encoding="utf-8"))["rows"]) == 4
    text = rows["a.md"].read_text(encoding="utf-8")
    assert text.startswith("| region | n | n\\_low | n\\_high |\n| --- | ---: | ---: | ---: |\n| north |")
    assert tacit(folder, "query", "policy.toml", QUERY, *SPEND, "--out", "a.md", "--force").returncode == 0


@pytest.mark.parametrize(
    ("name", "fact"), [("a.xls", ".parquet, .json, .md"), ("no/a.csv", "Cannot write"), ("policy.toml", "--out")]
)
def test_a_file_that_cannot_be_written_is_refused_before_the_charge(folder: Path, name: str, fact: str) -> None:
    done = tacit(folder, "query", "policy.toml", QUERY, *SPEND, "--out", name, "--force")
    assert (done.returncode, fact in done.stderr) == (2, True)
    assert not (folder / "survey.ledger").exists()


def test_files_keep_null_apart_from_an_empty_text_and_markup_apart_from_text() -> None:
    table = Table(("a|b", "n"), ("text", "real"), ((None, "", 'x,"y"', "*z*"), (1.5, None, 0.0, -2.0)))
    assert table.to_csv() == 'a|b,n\n,1.5\n"",\n"x,""y""",0\n*z*,-2\n'
    assert _markdown(table, ["A note."]).splitlines() == [
        *("| a\\|b | n |", "| --- | ---: |", "| NULL | 1.5 |", "|  | NULL |", '| x,"y" | 0 |', "| \\*z\\* | -2 |"),
        *("", "A note."),
    ]


def test_a_plan_creates_no_ledger(folder: Path) -> None:
    planned = tacit(folder, "plan", "policy.toml", QUERY, "--epsilon", "1")
    assert "The ledger does not exist yet" in planned.stderr
    assert "Left: ε = 100 of ε = 100." in planned.stderr
    content = json.loads(tacit(folder, "plan", "policy.toml", QUERY, "--epsilon", "101", "--json").stdout)
    assert (content["left"], content["fits"], content["ledger_begun"]) == ({"epsilon": 100}, False, False)
    assert not (folder / "survey.ledger").exists()
    assert tacit(folder, "query", "policy.toml", QUERY, *SPEND).returncode == 0
    content = json.loads(tacit(folder, "plan", "policy.toml", QUERY, "--epsilon", "1", "--json").stdout)
    assert content["left"] == {"epsilon": 99}


def test_the_ledger_has_commands_and_the_policy_may_come_first(folder: Path) -> None:
    assert tacit(folder, "query", "policy.toml", QUERY, *SPEND).returncode == 0
    shown = [tacit(folder, "ledger", *form).stdout for form in (["policy.toml"], ["show", "policy.toml"])]
    assert shown[0] == shown[1] != ""
    for form in (["verify", "policy.toml", "--json"], ["policy.toml", "--json", "verify"]):
        assert json.loads(tacit(folder, "ledger", *form).stdout)["holds"] is True
    unknown = tacit(folder, "ledger", "verfy", "policy.toml")
    assert unknown.returncode == 2
    assert "verify" in tacit(folder, "ledger", "--help").stdout


def test_a_pipe_has_no_lines_and_no_colours_and_ascii_spells_greek(folder: Path) -> None:
    command = [sys.executable, "-m", "tacit", "query", "policy.toml", QUERY, *SPEND]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)  # noqa: S603 - ours
    assert done.stdout.isascii()
    assert done.stderr.isascii()
    assert b"\x1b" not in done.stdout
    assert b"..." in done.stdout
    assert b"?" not in done.stdout + done.stderr
