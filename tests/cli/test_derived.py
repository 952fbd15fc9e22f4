"""Queries that compute with private aggregates, on the command line."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.test_query import POLICY
from cli_runs import run as tacit
from tacit.cli.demo import REGIONS, write_survey

T = "WITH t AS (SELECT region, count(*) AS n FROM survey GROUP BY region), u AS (SELECT count(*) AS m FROM survey) "
SHARES = T + "SELECT region, n / m AS share, rank() OVER (ORDER BY n DESC) AS place FROM t, u ORDER BY region"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_survey(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def test_a_plan_and_an_answer_are_printed_like_any_other(folder: Path) -> None:
    planned = tacit(folder, "plan", "policy.toml", SHARES, "--epsilon", "0.4")
    assert planned.returncode == 0
    assert "split over 2 private aggregates" in planned.stdout
    assert "share: computed; its interval is simulated" in planned.stdout
    answer = tacit(folder, "query", "policy.toml", SHARES, "--epsilon", "0.4", "--yes", "--out", "answer.csv")
    assert answer.returncode == 0
    assert "95% interval of share" in answer.stdout
    assert "place has no interval" in answer.stdout
    assert "Spent ε = 0.4" in answer.stderr
    assert (folder / "answer.csv").read_text().splitlines()[0] == "region,share,share_low,share_high,place"


def test_json_has_the_computation_and_its_releases(folder: Path) -> None:
    planned = json.loads(tacit(folder, "plan", "policy.toml", SHARES, "--epsilon", "0.4", "--json").stdout)
    assert [each["name"] for each in planned["released"]] == ["t", "u"]
    assert sum(each["cost"]["epsilon"] for each in planned["released"]) == pytest.approx(0.4)
    answer = json.loads(tacit(folder, "query", "policy.toml", SHARES, "--epsilon", "0.4", "--yes", "--json").stdout)
    assert [row["region"] for row in answer["rows"]] == sorted(REGIONS)
    assert set(answer["released"]) == {"t", "u"}
    assert set(answer["without_interval"]) == {"place"}
    assert answer["intervals"] == {"hold": "each"}


def test_a_failed_computation_prints_all_released_tables(folder: Path) -> None:
    sql = T + "SELECT CASE WHEN n > 20 THEN n * 9000000000000000000 END AS x FROM t, u"
    answer = tacit(folder, "query", "policy.toml", sql, "--epsilon", "0.4", "--yes")
    assert answer.returncode == 0
    assert "Out of Range" in answer.stdout + answer.stderr
    assert "t:" in answer.stdout
    assert "u:" in answer.stdout
    assert "north" in answer.stdout


def test_a_computation_that_cannot_run_costs_nothing(folder: Path) -> None:
    refused = tacit(folder, "query", "policy.toml", T + "SELECT nosuch FROM t", "--epsilon", "0.4", "--yes")
    assert refused.returncode == 3
    assert "Nothing was spent." in refused.stderr
