"""`tacit histogram` and `tacit crosstab`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from cli_runs import run

POLICY = """
budget = { epsilon = 1_000_000 }
ledger = "p.ledger"
[tables.t]
source = "t.parquet"
each_row = true
[tables.t.columns]
age = { bounds = [0, 90] }
sex = { keys = ["f", "m"] }
ward = { keys = ["A", "B", "C"] }
"""
SURE = ("--epsilon", "1000", "--yes", "--json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"age": [n % 90 for n in range(180)], "sex": ["f", "m"] * 90, "ward": ["A", "B", "C"] * 60}
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def test_a_histogram_counts_bins(folder: Path) -> None:
    done = run(folder, "histogram", "p.toml", "age", "--bins", "0,30,90", *SURE)
    assert [(row["age"], row["count"]) for row in json.loads(done.stdout)["rows"]] == [
        ("[0, 30)", 60),
        ("[30, 90]", 120),
    ]
    equal = run(folder, "histogram", "p.toml", "age", "--bins", "3", "--by", "sex", *SURE)
    assert [row["count"] for row in json.loads(equal.stdout)["rows"]] == [30] * 6
    where = run(folder, "histogram", "p.toml", "age", "--bins", "0,90", "--where", "sex = 'f'", *SURE)
    assert [row["count"] for row in json.loads(where.stdout)["rows"]] == [90]


def test_a_crosstab_counts_combinations_and_is_written_to_files(folder: Path) -> None:
    files = ("--out", "x.csv", "--chart", "x.svg")
    done = run(folder, "crosstab", "p.toml", "sex", "ward", *SURE, *files)
    assert [row["count"] for row in json.loads(done.stdout)["rows"]] == [30] * 6
    assert pd.read_csv(folder / "x.csv")["count"].tolist() == [30] * 6
    assert "Counts by sex and ward" in (folder / "x.svg").read_text()


def test_a_plan_spends_nothing_and_creates_no_ledger(folder: Path) -> None:
    for table in (("histogram", "p.toml", "age", "--bins", "3"), ("crosstab", "p.toml", "sex", "ward")):
        done = run(folder, *table, "--epsilon", "0.5", "--plan", "--json")
        assert json.loads(done.stdout)["cost"] == {"epsilon": 0.5}
        assert "costs ε = 0.5" in run(folder, *table, "--epsilon", "0.5", "--plan").stdout
    assert not (folder / "p.ledger").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("histogram", "p.toml", "age", "--bins", "0,x"), "--bins must be edges"),
        (("histogram", "p.toml", "age", "--bins", "2.5"), "--bins must be edges"),
        (("histogram", "p.toml", "age", "--bins", "9,1"), "increasing order"),
        (("histogram", "p.toml", "age", "--bins", "0"), "a number of bins ≥ 1"),
        (("histogram", "p.toml", "ages", "--bins", "0,9"), "Did you mean 'age'"),
        (("crosstab", "p.toml", "sex", "wart"), "Did you mean 'ward'"),
    ],
)
def test_wrong_tables_are_refused_before_the_charge(arguments: tuple[str, ...], message: str, folder: Path) -> None:
    done = run(folder, *arguments, "--epsilon", "1", "--yes")
    assert done.returncode == 2
    assert message in done.stderr
