"""Every program of `examples/` runs as its page says."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from postgres_server import database

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = {"analyst/week.py", "clinic/publish.py", "dashboard/check.py", "engines/ask.py", "partner/prepare.py",
            "telemetry/simulate.py"}  # fmt: skip
PARTS = {"telemetry/browsers.mjs", "telemetry/estimate.py", "telemetry/collect.py", "telemetry/survey.py"}
DASHBOARD = EXAMPLES / "dashboard"


def run(program: str, *arguments: object, code: int = 0) -> str:
    """Run a program of the examples; return what it prints."""
    command: list[str | Path] = [sys.executable, "-W", "error", EXAMPLES / program, *map(str, arguments)]
    done = subprocess.run(  # noqa: S603 - our own programs
        command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_every_program_is_run_and_every_folder_has_a_page() -> None:
    found = {str(path.relative_to(EXAMPLES)) for kind in ("py", "mjs") for path in EXAMPLES.rglob(f"*.{kind}")}
    assert found == PROGRAMS | PARTS
    index = (EXAMPLES / "README.md").read_text("utf-8")
    for folder in {path.partition("/")[0] for path in found}:
        assert f"({folder}/README.md)" in index
        assert (EXAMPLES / folder / "README.md").is_file()


def test_a_clinic_publishes_a_year_and_a_second_run_is_free(tmp_path: Path) -> None:
    first = run("clinic/publish.py", tmp_path)
    assert "36 tables, spent PureDP(epsilon=3.0), left PureDP(epsilon=0.0)" in first
    assert "are valid: the chain, the totals and the limits" in first
    published = {path: path.read_text("utf-8") for path in tmp_path.rglob("*.csv")}
    assert len(published) == 36
    assert run("clinic/publish.py", tmp_path) == first
    assert {path: path.read_text("utf-8") for path in tmp_path.rglob("*.csv")} == published


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_browsers_report_and_no_report_is_lost(tmp_path: Path) -> None:
    printed = run("telemetry/simulate.py", tmp_path, "--people", 400)
    assert "engine: 400 reports, 0 malformed" in printed
    assert "crash: 400 reports, 0 malformed" in printed
    assert "15 saw" not in printed
    assert "20 saw a crash" in printed


def test_a_partner_gets_two_files(tmp_path: Path) -> None:
    run("partner/prepare.py", tmp_path)
    rows = list(csv.DictReader((tmp_path / "anonymous.csv").read_text("utf-8").splitlines()))
    classes = {(row["age"], row["postcode"], row["sex"]) for row in rows}
    assert all(sum((row["age"], row["postcode"], row["sex"]) == each for row in rows) >= 5 for each in classes)
    assert 1_900 < len((tmp_path / "synthetic.csv").read_text("utf-8").splitlines()) < 2_100
    assert "homogeneity: 0 of" in (tmp_path / "anonymous.txt").read_text("utf-8")


def test_an_analyst_stays_within_the_budget(tmp_path: Path) -> None:
    printed = run("analyst/week.py", tmp_path)
    assert "Monday's question again cost nothing: True" in printed
    assert "Nothing was spent." in printed


def values(printed: str) -> str:
    """Return an answer without its intervals: their ends are noisy and can move by 1."""
    return re.sub(r"\d+ … \d+", "", printed)


def test_engines_print_the_same_numbers_without_noise(tmp_path: Path) -> None:
    expected = values(run("engines/ask.py", tmp_path / "duckdb", "--huge"))
    assert "medicine  10145" in expected
    with database() as server:
        run("engines/ask.py", tmp_path, "--load", server.admin, "--reader", server.role)
        printed = run("engines/ask.py", tmp_path / "postgres", "--huge", "--postgres", server.reader)
        assert values(printed) == expected


@pytest.mark.long
def test_spark_prints_the_same_numbers_without_noise(tmp_path: Path) -> None:
    printed = run("engines/ask.py", tmp_path, "--huge", "--spark")
    assert values(printed) == values(run("engines/ask.py", tmp_path / "duckdb", "--huge"))


def test_a_dashboard_is_checked_without_the_data(tmp_path: Path) -> None:
    text = (DASHBOARD / "dashboard.toml").read_text("utf-8")
    policy = DASHBOARD / "policy.toml"
    assert ": the dashboard fits" in run("dashboard/check.py", DASHBOARD / "dashboard.toml", policy)
    often = tmp_path / "often.toml"
    often.write_text(text.replace("refreshes = 52", "refreshes = 365"), encoding="utf-8")
    assert "too much" in run("dashboard/check.py", often, policy, code=3)
    refused = tmp_path / "refused.toml"
    refused.write_text(text.replace("avg(amount)", "avg(amuont)"), encoding="utf-8")
    assert "basket: Unknown column 'amuont'. Did you mean 'amount'?" in run(
        "dashboard/check.py", refused, policy, code=2
    )
