"""`tacit marginals`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from cli_runs import run

POLICY = """
budget = { epsilon = 1_000_000, delta = 1e-6 }
ledger = "p.ledger"
[tables.t]
source = "t.parquet"
each_row = true
[tables.t.columns]
age = { bounds = [0, 90] }
sex = { keys = ["f", "m"], required = true }
ward = { keys = ["A", "B", "C"], required = true }
"""
SURE = ("--epsilon", "100000", "--yes", "--json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"age": [n % 90 for n in range(180)], "sex": ["f", "m"] * 90, "ward": ["A", "B", "C"] * 60}
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def test_listed_marginals_are_printed_and_written(folder: Path) -> None:
    sets = ("--marginal", "age,sex", "--marginal", "ward", "--bins", "age=0,30,90")
    done = run(folder, "marginals", "p.toml", *sets, *SURE, "--out", "x.csv", "--chart", "x.svg")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [each["columns"] for each in answer["marginals"]] == [["age", "sex"], ["ward"]]
    counts = [round(row["count"]) for row in answer["marginals"][0]["rows"]]
    assert counts == [30, 30, 60, 60, 0, 0]
    written = pd.read_csv(folder / "x.csv")
    assert list(written.columns) == ["age", "sex", "ward", "count", "low", "high"]
    assert len(written) == 9
    assert "Counts by age and sex" in (folder / "x.svg").read_text()


def test_all_marginals_up_to_some_ways_are_printed_as_tables(folder: Path) -> None:
    done = run(folder, "marginals", "p.toml", "--ways", "2", "--epsilon", "100000", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("each count ±") == 3
    assert "Spent" in done.stderr


def test_a_plan_names_the_error_of_each_marginal_and_spends_nothing(folder: Path) -> None:
    pair = ("--ways", "2", "--columns", "sex,ward", "--epsilon", "1", "--plan")
    planned = json.loads(run(folder, "marginals", "p.toml", *pair, "--json").stdout)
    assert set(planned["error"]) == {"sex", "ward", "sex, ward"}
    assert planned["cost"] == {"epsilon": 1.0}
    assert planned["fits"]
    assert "expected error of sex, ward" in run(folder, "marginals", "p.toml", *pair).stdout
    assert not (folder / "p.ledger").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "Give either a list of marginals or ways"),
        (("--marginal", "age,"), "--marginal must be"),
        (("--marginal", "age"), "has no public values"),
        (("--marginal", "age", "--bins", "age"), "--bins must be"),
        (("--marginal", "town"), "Unknown column"),
    ],
)
def test_usage_errors_spend_nothing_and_create_no_ledger(folder: Path, options: tuple[str, ...], text: str) -> None:
    done = run(folder, "marginals", "p.toml", *options, "--epsilon", "1", "--yes")
    assert done.returncode == 2
    assert text in done.stderr
    assert not (folder / "p.ledger").exists()
