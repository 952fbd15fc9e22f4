"""The settings of engines as options of commands, in the environment and in the policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runs import run as tacit
from tacit.cli.demo import write_survey

POLICY = """
budget = { epsilon = 1.0 }
ledger = "survey.ledger"
engine = { timeout = 600 }

[tables.survey]
source = "survey.csv"
each_row = true

[tables.survey.columns]
income = { type = "integer", bounds = [0, 200_000] }
region = { keys = ["north", "south"] }
"""
COUNT = "SELECT count(*) AS n FROM survey"
COMMANDS = {
    "query": (COUNT,),
    "plan": (COUNT,),
    "histogram": ("income", "--bins", "2"),
    "crosstab": ("region",),
    "bounds": ("income",),
    "limits": (COUNT,),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_survey(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("timeout", "0"),
        ("timeout", "1e-9"),
        ("timeout", "nan"),
        ("memory", "8G"),
        ("threads", "0"),
        ("temporary", "no"),
    ],
)
def test_every_command_that_opens_a_database_takes_the_settings(
    folder: Path, command: str, option: str, value: str
) -> None:
    words = (command, "policy.toml", *COMMANDS[command], "--epsilon", "0.1")
    done = tacit(folder, *words, f"--{option}", value)
    assert done.returncode == 2
    reason = "The temporary directory does not exist" if option == "temporary" else f"{option} must be "
    assert reason in done.stderr
    assert not (folder / "survey.ledger").exists()


def test_settings_of_the_environment_and_of_options_reach_the_query(folder: Path) -> None:
    words = ("query", "policy.toml", COUNT, "--epsilon", "0.1", "--yes", "--json")
    good = ("--timeout", "60", "--memory", "1 GB", "--threads", "2", "--temporary", str(folder))
    assert len(json.loads(tacit(folder, *words, *good, TACIT_MEMORY="8G").stdout)["rows"]) == 1
    wrong = tacit(folder, *words, TACIT_MEMORY="8G")
    assert (wrong.returncode, "TACIT_MEMORY must be" in json.loads(wrong.stderr)["error"]["message"]) == (2, True)


def test_a_query_that_is_stopped_ends_with_the_code_of_a_source_and_stays_charged(folder: Path) -> None:
    (folder / "survey.csv").write_text("region,income\n" + "north,1\nsouth,2\n" * 1_000_000, encoding="utf-8")
    words = ("policy.toml", "SELECT region, avg(income) AS a FROM survey GROUP BY region", "--epsilon", "0.1")
    stopped = tacit(folder, "query", *words, "--yes", "--timeout", "0.01")
    assert stopped.returncode == 4
    assert "time limit of 0.01 s" in stopped.stderr
    assert "the charge stands" in stopped.stderr
    left = json.loads(tacit(folder, "ledger", "show", "policy.toml", "--json").stdout)["left"]
    assert left == {"epsilon": 0.9}
