"""`tacit synthesize`."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from cli_runs import run
from tacit.cli import synthesize

POLICY = """
budget = { epsilon = 1_000_000 }
ledger = "p.ledger"
[tables.t]
source = "t.parquet"
each_row = true
[tables.t.columns]
age = { bounds = [0, 89] }
sex = { keys = ["f", "m"] }
ward = { keys = ["A", "B", "C"] }
"""
ASK = ("synthesize", "p.toml", "--bins", "age=0,30,89", "--epsilon", "1000", "--yes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"age": [n % 90 for n in range(1_800)], "sex": ["f", "m"] * 900, "ward": ["A", "B", "C"] * 600}
    pd.DataFrame({**rows, "old": [n % 90 > 60 for n in range(1_800)]}).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def test_rows_go_to_stdout_and_the_report_to_stderr(folder: Path) -> None:
    done = run(folder, *ASK, "--n", "50", "--given", "sex=f", "--given", "old=true", "--constraint", "age >= 30")
    frame = pd.read_csv(StringIO(done.stdout))
    assert len(frame) == 50
    assert set(frame["sex"]) == {"f"}
    assert frame["old"].all()
    assert frame["age"].min() >= 30
    assert "100% for the model" in done.stderr
    assert "Spent ε = 1000" in done.stderr


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.json"])
def test_rows_are_written_to_files(folder: Path, name: str) -> None:
    files = ("--out", name, "--chart", "x.svg")
    done = run(folder, *ASK, "--columns", "age, old", "--target", "old", "--report", *files)
    assert "mean over 2 tables of one column" in done.stdout
    assert "rows to " in done.stderr
    if name == "x.csv":
        assert abs(len(pd.read_csv(folder / name)) - 1_800) < 9
    elif name == "x.parquet":
        assert list(pd.read_parquet(folder / name)) == ["age", "old"]
    else:
        assert abs(len(json.loads((folder / name).read_text())["table"]) - 1_800) < 9
    assert "Expected distance" in (folder / "x.svg").read_text()
    assert "already exists" in run(folder, *ASK, "--out", name).stderr


def test_json_has_the_rows_the_report_and_the_receipt(folder: Path) -> None:
    found = json.loads(run(folder, *ASK, "--n", "3", "--json").stdout)
    assert len(found["table"]) == found["rows"] == 3
    assert found["cost"] == {"epsilon": 1000}
    assert found["report"]["expected"][0]["columns"] == ["age"]
    assert found["left"] == {"epsilon": 999_000}


def test_a_plan_spends_nothing_and_creates_no_ledger(folder: Path) -> None:
    found = json.loads(run(folder, *ASK, "--plan", "--json").stdout)
    assert found["cost"] == {"epsilon": 1000}
    assert set(found["error"]) == {"a count of one column (σ)", "a count of two columns (σ)"}
    assert not (folder / "p.ledger").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--given", "sex"), "COLUMN=VALUE such as sex=F"),
        (("--given", "age=x"), "a value of the type integer"),
        (("--given", "old=1"), "a value of the type boolean"),
        (("--given", "sex=q"), "not a public value"),
        (("--columns", "sex,,ward"), "names of columns"),
        (("--constraint", "age > 900"), "No row of public values"),
        (("--mode", "quality"), "no price in ε alone"),
        (("--out", "x.txt"), "ends in one of .csv"),
    ],
)
def test_bad_options_spend_nothing(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run(folder, *ASK, *arguments)
    assert done.returncode in (2, 3)
    assert message in done.stderr
    assert not (folder / "p.ledger").exists()


def test_the_bar_advances_to_the_end() -> None:
    steps: list[int] = []
    bar = synthesize.ProgressBar(advance=steps.append)
    for part in (0.1, 0.1, 0.5, 2.0):
        bar(part, "")
    assert steps == [10, 40, 50]
