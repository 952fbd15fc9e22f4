"""The reference of the command line names every command, option and exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer.main

from cli_runs import run
from tacit.cli.main import app
from tacit.cli.output import exit_code
from tacit.errors import BudgetError, InvalidError, NoSourceError, RefusedError, SourceError, TacitError

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_group(app).commands


def test_every_command_is_documented_and_none_that_is_not_there() -> None:
    documented = set(re.findall(r"^\| `tacit (\w+)[^|]*` \|", PAGE, re.MULTILINE))
    assert documented == set(COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("check", "x.csv", "--k", "2"),
        ("anonymize", "x.csv", "--k", "five"),
        ("local", "choose", "--epsilon", "big"),
        ("local", "guess"),
        ("plan", "policy.toml"),
    ],
    ids=" ".join,
)
def test_errors_of_usage_speak_json_where_it_is_asked_for(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, *words, "--json")
    told = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout, told["kind"], told["code"]) == (2, "", "UsageError", 2)
    assert told["message"]
    plain = run(tmp_path, *words)
    assert (plain.returncode, "Usage: " in plain.stderr) == (2, True)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_is_documented(name: str) -> None:
    documented = set(re.findall(r"`(--?[\w-]+)`", PAGE))
    for parameter in COMMANDS[name].params:
        spelled = [option for option in parameter.opts if option.startswith("-")]
        assert set(spelled) <= documented, (name, spelled)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidError("sql", "x", "y"), 2),
        (TacitError("x"), 2),
        (RefusedError("x"), 3),
        (BudgetError("x"), 3),
        (SourceError("x"), 4),
        (NoSourceError("x", "y"), 4),
    ],
)
def test_every_error_has_its_documented_code(error: TacitError, code: int) -> None:
    assert exit_code(error) == code
    assert f"\n| {code} |" in PAGE
