"""`tacit classify`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from cli_runs import run

POLICY = """
budget = { epsilon = 1_000, delta = 1e-6 }
ledger = "p.ledger"
[tables.t]
source = "t.parquet"
each_row = true
[tables.t.columns]
age = { bounds = [0, 90] }
sex = { keys = ["f", "m"], required = true }
ill = { keys = [0, 1], required = true }
"""
SURE = ("--epsilon", "100", "--delta", "1e-9", "--yes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"age": [n % 90 for n in range(900)], "sex": ["f", "m"] * 450, "ill": [int(n % 90 > 44) for n in range(900)]}
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def test_a_classifier_is_printed_charted_and_saved(folder: Path) -> None:
    columns = ("--columns", "age,sex", "--bins", "age=0,45,90", "--accuracy", "0.1")
    done = run(folder, "classify", "p.toml", "ill", *columns, *SURE, "--save", "m.json", "--chart", "m.svg")
    assert done.returncode == 0, done.stderr
    assert "Logistic regression of 2 columns" in done.stdout
    assert "Spent ε = 100" in done.stderr
    model = tc.learn.Classifier.load(folder / "m.json")
    assert list(model.predict({"age": [10, 80], "sex": ["f", "m"]})) == [0, 1]
    assert "age=[45, 90]" in (folder / "m.svg").read_text()
    again = run(folder, "classify", "p.toml", "ill", *columns, *SURE, "--save", "m.json")
    assert again.returncode == 2
    assert "Nothing was spent." in again.stderr


def test_json_has_the_model_and_the_positive_value_is_read(folder: Path) -> None:
    some = ("--bins", "age=2", "--positive", "0", "--method", "naive Bayes")
    done = run(folder, "classify", "p.toml", "ill", *some, *SURE, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["classes"] == [1, 0]
    assert answer["method"] == "naive Bayes"
    assert answer["left"]["epsilon"] == 900


def test_a_plan_spends_nothing(folder: Path) -> None:
    done = run(folder, "classify", "p.toml", "ill", "--epsilon", "1", "--plan", "--json")
    planned = json.loads(done.stdout)
    assert planned["cost"] == {"epsilon": 1.0}
    assert planned["fits"]
    assert not (folder / "p.ledger").exists()


def test_mistakes_spend_nothing(folder: Path) -> None:
    for wrong in (("--columns", "age,,sex"), ("--positive", "maybe"), ("--method", "tree"), ("--save", "no/m.json")):
        done = run(folder, "classify", "p.toml", "ill", *SURE, *wrong)
        assert done.returncode == 2, wrong
        assert not (folder / "p.ledger").exists()
