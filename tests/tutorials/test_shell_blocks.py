"""The commands of the tutorials run as they are written, on the files that the tutorials make."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import tacit as tc
from cli_runs import Done, run
from web.running import running

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorial"
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "make_notebooks.py"))
_BLOCK = re.compile(r"^```(sh|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ELSEWHERE = ("pip install ", "tacit serve --demo")
"""Commands that other tests run: those of the packages and of the notebooks."""
POLICY = """
budget = { epsilon = 4.0, delta = 1e-5 }
ledger = "visits.ledger"
[tables.visits]
source = "visits.csv"
each_row = true
[tables.visits.columns]
age = { bounds = [18, 90] }
first = { type = "boolean" }
day = { keys = ["Mon", "Tue", "Wed", "Thu", "Fri"] }
missed = { keys = ["no", "yes"] }
"""
PASSWORD = "correct horse battery\n"  # noqa: S105 - of a person in a test


def run_blocks(page: str, folder: Path) -> dict[str, Done]:
    """Run the commands of a page and write its files, in its order; return what each command printed."""
    done: dict[str, Done] = {}
    for kind, block in _BLOCK.findall((TUTORIALS / f"{page}.md").read_text("utf-8")):
        if kind == "toml":
            name = re.match(r"# (\S+)\n", block)
            assert name is not None
            (folder / name[1]).write_text(block, "utf-8")
            continue
        for line in block.splitlines():
            if not line.startswith(_ELSEWHERE):
                done[line] = run_line(line, folder)
    return done


def run_line(line: str, folder: Path) -> Done:
    """Run one command line, with `> file` at its end."""
    words, target = shlex.split(line), None
    if words[-2:-1] == [">"]:
        *words, _, target = words
    assert words[0] == "tacit"
    if words[1] == "serve":
        with running(folder, *words[2:]) as server:
            assert server.stop() == 0
        return Done(0, "", server.log.read_text("utf-8"))
    with patch.object(sys, "stdin", StringIO(PASSWORD)):
        done = run(folder, *words[1:])
    assert done.returncode == 0, done.stderr
    if target is not None:
        (folder / target).write_text(done.stdout, "utf-8")
    return done


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Return a folder with the table of the first tutorial."""
    names: dict[str, Any] = {}
    cells = TOOL["read_cells"](TUTORIALS / "ask-a-database.md")
    TOOL["run_cells"]([cell for cell in cells if cell.code][:1], names, outputs=False)
    (tmp_path / "visits.csv").write_bytes(names["file"].read_bytes())
    return tmp_path


def test_the_first_tutorial_leads_to_an_answer_and_a_server(clinic: Path) -> None:
    done = run_blocks("ask-a-database", clinic)
    query, ledger = (
        next(each for line, each in done.items() if word in line) for word in ("tacit query", "ledger show")
    )
    counts = {words[0]: int(words[1]) for words in map(str.split, query.stdout.splitlines()[1:4])}
    assert counts.keys() == {"Eyes", "Heart", "Lungs"}
    assert all(abs(n - 533) < 400 for n in counts.values())  # noise of scale 6: beyond with probability e^-60
    assert "Left: ε = 1.5" in ledger.stderr
    done = run_blocks("workbench", clinic)
    assert next(each for line, each in done.items() if "user token" in line).stdout.startswith("tacit_")
    assert "Serving on" in done["tacit serve visits.toml"].stderr


@pytest.mark.parametrize("page", ["first-release", "survey"])
def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("yes\n" * 300 + "no\n" * 700, "utf-8")
    assert run_blocks(page, tmp_path)


def test_the_commands_make_synthetic_rows_and_a_classifier(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    code = [cell for cell in TOOL["read_cells"](TUTORIALS / "synthetic-table.md") if cell.code]
    table = next(number for number, cell in enumerate(code) if "np.random" in cell.source)
    TOOL["run_cells"]([code[0], code[table]], names, outputs=False)
    names["train"].to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "visits.toml").write_text(POLICY, "utf-8")
    run_blocks("synthetic-table", tmp_path)
    assert len((tmp_path / "rows.csv").read_text("utf-8").splitlines()) == 16_001
    assert list(tc.learn.Classifier.load(tmp_path / "missed.json").classes) == ["no", "yes"]


def test_no_page_has_a_command_that_no_test_runs() -> None:
    for page in TUTORIALS.glob("*.md"):
        if page.stem not in {"ask-a-database", "workbench", "first-release", "survey", "synthetic-table"}:
            assert not [block for kind, block in _BLOCK.findall(page.read_text("utf-8")) if kind == "sh"], page


def test_the_first_tutorial_answers_ten_questions_in_a_short_paragraph_each() -> None:
    text = (TUTORIALS / "ask-a-database.md").read_text("utf-8")
    questions = re.findall(r"^### ([^\n]*\?)\n\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert len(questions) == 10
    assert {question: len(answer.split()) for question, answer in questions if len(answer.split()) > 80} == {}
