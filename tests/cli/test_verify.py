"""`tacit verify`: receipts from files and from standard input, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from receipt_examples import examples
from receipt_mutations import changed
from tacit.cli import verify as group
from tacit.cli.main import app
from tacit.errors import InvalidError, UnreadableFileError


def written(folder: Path, content: object) -> str:
    file = folder / "receipt.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return str(file)


def test_a_receipt_that_holds_ends_with_code_0(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["verify", written(tmp_path, examples()["count"])])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "The receipt of a query holds."
    assert "  checked: the charge is within the promise" in lines
    assert any(line.startswith("  not checked: that the program measured") for line in lines)


def test_a_receipt_that_does_not_hold_ends_with_code_3(tmp_path: Path) -> None:
    forged = changed(examples()["count"], ("privacy", "promise", "epsilon"), 0.1)
    done = CliRunner().invoke(app, ["verify", written(tmp_path, forged)])
    assert done.exit_code == 3
    assert done.stdout.startswith(
        "The receipt of a query does NOT hold.\n  wrong: the receipt.privacy: the charge costs"
    )


def test_an_answer_from_standard_input_in_json() -> None:
    done = CliRunner().invoke(app, ["verify", "-", "--json"], input=json.dumps({"receipt": examples()["marginals"]}))
    found = json.loads(done.stdout)
    assert (done.exit_code, found["holds"], found["kind"], found["problems"]) == (0, True, "marginals", [])
    assert found["checked"]
    assert found["unchecked"]


def test_files_that_cannot_be_read_are_errors_of_usage(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        group.verify(str(tmp_path / "none.json"), json=False)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableFileError):
        group.verify(str(binary), json=False)
    with pytest.raises(InvalidError, match="not a receipt"):
        group.verify(written(tmp_path, {"rows": [1]}), json=False)


def test_texts_of_a_receipt_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    forged = changed(examples()["computed"], ("released", 0, "name"), "\x1b[2J")
    done = CliRunner().invoke(app, ["verify", written(tmp_path, forged)])
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
