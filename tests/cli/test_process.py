"""One command in a separate process: what it imports, and how it ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

POLICY = """
budget = { epsilon = 9 }
ledger = "visits.ledger"

[tables.visits]
source = "visits.csv"
unit = "patient"
max_groups = 1
max_rows = 1

[tables.visits.columns]
ward = { keys = ["A", "B"] }
"""
SQL = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
OPTIONAL = {"altair", "fastapi", "numba", "pandas", "polars", "psycopg", "pyarrow", "pyspark", "scipy", "vl_convert"}
HEAVY = {"cryptography", "duckdb", "numpy", "pydantic", "rich", "sqlalchemy", "sqlglot"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("patient,ward\n1,A\n2,A\n3,B\n")
    (tmp_path / "visits.toml").write_text(POLICY)
    return tmp_path


def start(folder: Path, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, *options, "-m", "tacit", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def imported(folder: Path, *words: str) -> set[str]:
    done = start(folder, *words, options=("-X", "importtime"))
    assert done.returncode == 0
    return set(re.findall(r"^import time:.*\| +([\w.]+)$", done.stderr, re.MULTILINE))


def packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_help_imports_no_heavy_package(folder: Path) -> None:
    modules = imported(folder, "--help")
    assert "tacit.cli.query_commands" in modules
    assert not packages(modules) & (HEAVY | OPTIONAL)


@pytest.mark.parametrize(
    ("words", "unused"), [(("plan",), {"cryptography", "rich"}), (("query", "--yes"), {"rich"})], ids=["plan", "query"]
)
def test_a_query_imports_only_what_it_needs(folder: Path, words: tuple[str, ...], unused: set[str]) -> None:
    modules = imported(folder, *words, "visits.toml", SQL, "--epsilon", "1")
    assert HEAVY - unused <= packages(modules)
    assert not packages(modules) & (OPTIONAL | unused)
    assert not {"tacit.anonymity", "tacit.local", "tacit.mechanisms.calibrate"} & modules


def test_a_charge_is_in_the_ledger_and_the_file_is_closed(folder: Path) -> None:
    done = start(folder, "query", "visits.toml", SQL, "--epsilon", "1", "--yes")
    assert (done.returncode, len(done.stdout.splitlines()) > 2) == (0, True)
    assert "Spent ε = 1; left ε = 8." in done.stderr
    assert sorted(file.name for file in folder.iterdir()) == ["visits.csv", "visits.ledger", "visits.toml"]
    assert "Left: ε = 8 of ε = 9." in start(folder, "plan", "visits.toml", SQL, "--epsilon", "1").stderr


def ended(out: int | TextIO, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process with a thread and a function for the end. Both print without a flush."""
    program = (
        "import atexit, sys, threading; from tacit.__main__ import run;"
        "atexit.register(print, 'registered');"
        "threading.Thread(target=lambda: (threading.main_thread().join(), print('joined'))).start();"
        f"sys.argv = ['tacit', *{list(words)!r}]; run()"
    )
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(  # noqa: S603 - as above
        [sys.executable, "-c", program], stdout=out, stderr=subprocess.PIPE, env=buffered, text=True, check=False
    )


@pytest.mark.parametrize(("words", "code"), [(("--version",), 0), (("plan",), 2)], ids=["done", "usage"])
def test_the_end_joins_threads_calls_atexit_and_keeps_the_code(words: tuple[str, ...], code: int) -> None:
    done = ended(subprocess.PIPE, *words)
    assert (done.returncode, done.stdout.split()[-2:]) == (code, ["joined", "registered"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_output_that_cannot_be_written_at_the_end_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        done = ended(full, "plan")  # it prints to stderr only
    assert (done.returncode, "No space left on device" in done.stderr) == (120, True)


def redirected(folder: Path, streams: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a query in a shell that redirects its streams."""
    query = [sys.executable, "-m", "tacit", "query", "visits.toml", SQL, "--epsilon", "1", "--yes", *words]
    return subprocess.run(  # noqa: S603 - as above
        ["/bin/sh", "-c", f'"$@" {streams}', "sh", *query], cwd=folder, capture_output=True, text=True, check=False
    )


def charges(folder: Path) -> int:
    return start(folder, "ledger", "show", "visits.toml").stdout.count("SELECT")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix closes streams")
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_closed_output_is_refused_before_the_charge(folder: Path, words: tuple[str, ...]) -> None:
    done = redirected(folder, ">&-", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Standard output is closed." in done.stderr
    assert "Nothing was spent." in done.stderr
    assert not (folder / "visits.ledger").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="as above")
def test_closed_input_and_errors_do_not_lose_the_answer(folder: Path) -> None:
    done = redirected(folder, "<&- 2>&-")
    assert (done.returncode, done.stdout.split()[0], charges(folder)) == (0, "ward", 1)
    assert start(folder, "ledger", "verify", "visits.toml").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_an_answer_that_cannot_be_written_is_reported_as_charged(folder: Path) -> None:
    done = redirected(folder, ">/dev/full")
    assert (done.returncode, charges(folder)) == (4, 1)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    assert "The query was charged, but its answer could not be written: No space left on device." in line
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("package", ["tacit", "tacit.mechanisms"])
def test_the_names_of_a_package_are_imported_on_their_first_use(package: str) -> None:
    program = (
        f"import sys, {package} as package; before = 'numpy' in sys.modules;"
        "print(before, [name for name in package.__all__ if not hasattr(package, name)], hasattr(package, 'absent'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - as above
    assert done.stdout.split() == ["False", "[]", "False"]
