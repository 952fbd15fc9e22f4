"""Commands in separate processes, with data, queries and arguments that contain control characters."""

from __future__ import annotations

import csv
import json
import os
import pty
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Protocol

import pytest

from command_server import CommandServer
from hostile_text import KEYS, acting
from tacit.query.policy.toml_lines import string

KEPT = [key for key in KEYS if key.strip() == key and "\r" not in key]
LITERAL = "x\x1b[31m\u202e\nLeft: ε = 99 of ε = 99. [red]y[/red] :bomb:"
QUESTION = f"SELECT k, count(*) AS n FROM rows WHERE k <> '{LITERAL}' GROUP BY k"  # noqa: S608 - what is tested
POLICY = """
budget = {{ epsilon = 100.0 }}
ledger = "rows.ledger"

[tables.rows]
source = "rows.csv"
unit = "person"
max_groups = 1
max_rows = 1

[tables.rows.columns]
k = {{ keys = [{keys}] }}
"""


class Tacit(Protocol):
    """Run a command in a separate process; return stdout and stderr."""

    def __call__(self, folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]: ...


@pytest.fixture(scope="module")
def tacit() -> Iterator[Tacit]:
    with CommandServer() as server:

        def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
            done = server.run(folder, *arguments)
            assert done.returncode == code, done.stderr
            return done.stdout, done.stderr

        yield run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows, a policy, and a ledger with one question."""
    path = tmp_path_factory.mktemp("hostile")
    with (path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(
            [["person", "k", "sick"], *([f"{n}", KEPT[n % len(KEPT)], "flu"] for n in range(4 * len(KEPT)))]
        )
    policy = POLICY.format(keys=", ".join(map(string, KEPT)))
    (path / "policy.toml").write_text(policy, encoding="utf-8")
    return path


def test_plan_query_and_ledger_show_escapes(tacit: Tacit, folder: Path) -> None:
    out, err = tacit(folder, "plan", "policy.toml", QUESTION, "--epsilon", "1")
    assert not acting(out + err)
    assert "\\x1b[31m\\u202e\\nLeft: ε = 99 of ε = 99. [red]y[/red] :bomb:" in out
    assert [line for line in (out + err).splitlines() if line.startswith("Left:")] == ["Left: ε = 100 of ε = 100."]
    out, err = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "1", "--yes")
    assert not acting(out + err)
    assert out.count("\n") == len(KEPT) + 1 + 2  # the last lines say what is not counted
    out, err = tacit(folder, "ledger", "policy.toml", "show")
    assert not acting(out + err)
    assert "\\x1b[31m\\u202e\\nLeft" in out


def test_a_ledger_that_another_program_wrote_to_shows_escapes(tacit: Tacit, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    tacit(copy, "query", "policy.toml", "SELECT count(*) AS n FROM rows", "--epsilon", "1", "--yes")
    with closing(sqlite3.connect(copy / "rows.ledger")) as connection, connection:
        for change in (('"analyst":""', '"analyst":"ann\\u3164"'), ('"time":"', '"time":"\\u001b[31m')):
            connection.execute("UPDATE tacit_records SET body = replace(body, ?, ?)", change)
        connection.execute("UPDATE tacit_charges SET outcome = ?", ["x\x1b[31m\u202e"])
    out, err = tacit(copy, "ledger", "policy.toml", "show")
    assert not acting(out + err)
    assert out.count("ann\\u3164") >= 2
    assert "  \\x1b[31m20" in out
    assert "x\\x1b[31m\\u202e" in out
    out, err = tacit(copy, "ledger", "policy.toml", "verify", code=3)
    assert not acting(out + err)


def test_json_reads_back_exactly_and_is_safe_to_show(tacit: Tacit, folder: Path) -> None:
    out, err = tacit(folder, "query", "policy.toml", QUESTION, "--epsilon", "1", "--yes", "--json")
    assert not acting(out + err)
    answer = json.loads(out, parse_constant=pytest.fail)
    assert [row["k"] for row in answer["rows"]] == KEPT
    assert answer["receipt"]["privacy"]["public_keys"]["k"] == KEPT
    assert LITERAL in answer["question"]
    out, _ = tacit(folder, "ledger", "policy.toml", "show", "--json")
    assert not acting(out)
    assert any(LITERAL in entry["question"] for entry in json.loads(out)["entries"])


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        ["--\x1b[31m\u202e"],
        ["\x1b[31m\u202e"],
        ["plan", "gone\x1b[31m\u202e.toml", "SELECT 1", "--epsilon", "1"],
        ["plan", "policy.toml", 'SELECT count(*) FROM "a\x1b[31m\u202e"', "--epsilon", "1"],
        ["plan", "policy.toml", "SELECT count(*) FROM rows", "--epsilon", "\x1b[31m\u202e"],
        ["check", "rows.csv", "--quasi", "a\x1b[31m\u202e"],
    ],
    ids=["option", "command", "file", "table", "number", "column"],
)
def test_errors_on_stderr_show_escapes(tacit: Tacit, folder: Path, arguments: list[str], as_json: bool) -> None:  # noqa: FBT001 - a parameter
    out, err = tacit(folder, *arguments, *(["--json"] if as_json else []), code=2)
    assert not acting(out + err)
    assert "\x1b" not in err
    assert err
    if as_json:
        assert json.loads(err)["error"]["code"] == 2


def test_microdata_commands_show_escapes_and_pipe_exact_values(tacit: Tacit, folder: Path) -> None:
    out, err = tacit(folder, "attack", "rows.csv", "--kind", "homogeneity", "--quasi", "k", "--sensitive", "sick")
    assert not acting(out + err)
    out, _ = tacit(
        folder, "attack", "rows.csv", "--kind", "homogeneity", "--quasi", "k", "--sensitive", "sick", "--json"
    )
    assert not acting(out)
    assert {victim["published"]["k"] for victim in json.loads(out)["victims"]} == set(KEPT)
    piped, err = tacit(folder, *ANONYMIZE)
    assert not acting(err)
    assert {row[0] for row in csv.reader(StringIO(piped, newline=""))} == {"k", *KEPT}
    guarded, _ = tacit(folder, *ANONYMIZE, "--spreadsheet")
    assert {row[0] for row in csv.reader(StringIO(guarded, newline=""))} >= {"'=cmd|' /C calc'!A0", "''=1+1", "-5.3"}
    draft, _ = tacit(folder, "anonymize", "rows.csv", "--quasi", "k", "--draft")
    assert not acting(draft)


ANONYMIZE = ("anonymize", "rows.csv", "--quasi", "k", "--sensitive", "sick", "--k", "4")


def test_csv_on_a_terminal_shows_escapes(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from tacit.cli import main; main()", *ANONYMIZE]
    with subprocess.Popen(command, cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL) as running:  # noqa: S603 - our own program
        os.close(theirs)
        shown = b""
        while block := _read(ours):
            shown += block
    os.close(ours)
    assert running.returncode == 0
    text = shown.decode("utf-8").replace("\r\n", "\n")
    assert "a\\x1b[31mb" in text
    assert not acting(text)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


def test_spreadsheet_is_refused_where_it_does_nothing(tacit: Tacit, folder: Path) -> None:
    _, err = tacit(folder, *ANONYMIZE, "--spreadsheet", "--out", "out.parquet", code=2)
    assert "--spreadsheet has no effect with the Parquet file 'out.parquet'" in err
    assert not (folder / "out.parquet").exists()
