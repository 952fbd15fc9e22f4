"""`tacit itemsets`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from cli_runs import run

POLICY = """
budget = { epsilon = 1_000_000, delta = 0.1 }
ledger = "p.ledger"
[tables.t]
source = "t.parquet"
unit = "person"
reach = 1
[tables.t.columns]
product = { keys = ["bread", "milk"] }
"""
ASKED = ("itemsets", "p.toml", "--basket", "order_id", "--item", "product", "--k", "3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [(n, item) for n in range(90) for item in ("bread", *["milk"][n % 2 :])]
    pd.DataFrame(
        {"person": [n for n, _ in rows], "order_id": [n for n, _ in rows], "product": [item for _, item in rows]}
    ).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def test_itemsets_are_printed_and_written_to_files(folder: Path) -> None:
    files = ("--out", "x.csv", "--chart", "x.svg", "--rules", "--min-confidence", "0.4")
    done = run(folder, *ASKED, "--epsilon", "100000", "--yes", "--json", *files)
    shown = json.loads(done.stdout)
    assert sorted((sorted(one["items"]), one["support"]) for one in shown["sets"]) == [
        (["bread"], 90),
        (["bread", "milk"], 45),
        (["milk"], 45),
    ]
    assert {(rule["antecedent"], rule["consequent"]) for rule in shown["rules"]} == {
        ("milk", "bread"),
        ("bread", "milk"),
    }
    assert sorted(pd.read_csv(folder / "x.csv")["antecedent"]) == ["bread", "milk"]
    assert "itemsets of t" in (folder / "x.svg").read_text()
    text = run(folder, *ASKED, "--epsilon", "100000", "--yes", "--rules")
    assert "All intervals hold together" in text.stdout
    assert "antecedent" in text.stdout


def test_a_plan_spends_nothing_and_bad_options_are_refused(folder: Path) -> None:
    done = run(folder, *ASKED, "--epsilon", "0.5", "--plan", "--json")
    assert json.loads(done.stdout)["cost"] == {"epsilon": 0.5}
    assert not (folder / "p.ledger").exists()
    bad = run(folder, *ASKED, "--epsilon", "0.5", "--yes", "--min-lift", "2")
    assert bad.returncode == 2
    assert "--rules" in bad.stderr
    assert not (folder / "p.ledger").exists()
