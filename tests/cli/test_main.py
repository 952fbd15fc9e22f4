"""The reference of the command line names every command, option and exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer.main

from cli_runs import run
from tacit.cli.main import app
from tacit.cli.output import _KINDS, error_kind, exit_code
from tacit.errors import (
    BudgetError,
    InternalError,
    InvalidError,
    LedgerError,
    NoSourceError,
    RefusedError,
    SourceError,
    TacitError,
    UnreadableFileError,
    UnusedOptionError,
)
from tacit.query.policy.mistakes import Mistake, PolicyError

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_group(app).commands


def test_the_page_lists_exactly_the_commands() -> None:
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
        ("plan",),
    ],
    ids=" ".join,
)
def test_usage_errors_are_json_with_the_option_json(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, *words, "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout, error["kind"], error["code"]) == (2, "", "UsageError", 2)
    assert error["message"]
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
        (InvalidError("x", argument="sql"), 2),
        (UnusedOptionError("--k", "with --draft"), 2),
        (InternalError("x"), 1),
        (TacitError("x"), 2),
        (RefusedError("x"), 3),
        (BudgetError("x"), 3),
        (SourceError("x"), 4),
        (NoSourceError("x"), 4),
        (LedgerError("x"), 4),
    ],
)
def test_every_error_has_its_documented_code(error: TacitError, code: int) -> None:
    assert exit_code(error) == code
    assert f"\n| {code} |" in PAGE


def test_the_kind_of_an_error_in_json_is_a_documented_class() -> None:
    assert error_kind(UnreadableFileError("a.csv", "it is empty.")) == "InvalidError"
    assert error_kind(LedgerError("x")) == "LedgerError"
    assert error_kind(NoSourceError("x")) == "NoSourceError"
    assert error_kind(TacitError("x")) == "TacitError"
    assert error_kind(PolicyError("a.toml", [Mistake(3, "unit", "is required")])) == "PolicyError"
    for kind in _KINDS:
        assert f"`{kind}`" in PAGE


def test_an_error_is_printed_with_its_hint(tmp_path: Path) -> None:
    done = run(tmp_path, "anonymize", "x.csv", "--quasi", "zip", "--draft", "--k", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: --k has no effect with --draft. Remove it.\n"
