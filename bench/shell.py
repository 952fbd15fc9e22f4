"""Time commands as a user waits for them: `tacit --help`, `tacit plan` and `tacit query` on a small file.

Each run is a new process, from its start to its end. The package is installed in the environment of this script, and
Python has its compiled bytecode, as after `pip install`. `tacit query` charges a ledger in a file, so it waits for the
disk. Every query has another price: none is answered from the ledger.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter

from report import Verdict, machine, table, verdict_table, write_section
from rounds import Rounds, interleave, short

ROUNDS = 12
ROWS = 1_000
SQL = "SELECT ward, count(*) AS n, avg(cost) AS cost FROM visits GROUP BY ward"
POLICY = """\
budget = { epsilon = 1000 }
ledger = "visits.ledger"

[tables.visits]
source = "visits.csv"
unit = "patient"
max_groups = 3
max_rows = 5

[tables.visits.columns]
cost = { bounds = [0, 20_000] }
ward = { keys = ["A", "B", "C"] }
"""
TARGETS = {"tacit --help": 0.25, "tacit plan": 0.5, "tacit query": 0.5}
REFERENCES = ("python -c pass", "import duckdb")
_turn = count(1)
_processor: dict[str, list[float]] = {}

INTRODUCTION = """\
## The shell

Seconds of a command on a file with {rows:,} rows, in a new process, from start to end. The contestants run in turns, in
{rounds} rounds. "best" is the shortest round: other programs on the machine can only lengthen a run. "processor" is the
least processor time of a run, which other programs change less. The load of the machine was {load:.1f} on {cores} cores
when the last round ended. A ratio is the median over the rounds of the ratio within a round. The last two lines are for
comparison: a Python that does nothing, and one that imports DuckDB."""


def write_files(folder: Path) -> None:
    """Write the table and its policy."""
    rows = (f"{row // 3},{'ABC'[row % 3]},{row * 7919 % 9000}\n" for row in range(ROWS))
    (folder / "visits.csv").write_text("patient,ward,cost\n" + "".join(rows))
    (folder / "visits.toml").write_text(POLICY)


def seconds(folder: Path, name: str, words: Callable[[], list[str]]) -> float:
    """Return the wall-clock seconds of a process, and note its processor time."""
    command = [sys.executable, *words()]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    start, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    wall, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    _processor.setdefault(name, []).append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return wall


def contestants(folder: Path) -> dict[str, Callable[[], float]]:
    """Return a run of each command."""
    script = str(Path(sys.executable).with_name("tacit"))
    words: dict[str, Callable[[], list[str]]] = {
        "tacit --help": lambda: [script, "--help"],
        "tacit plan": lambda: [script, "plan", "visits.toml", SQL, "--epsilon", "0.5"],
        "tacit query": lambda: [script, "query", "visits.toml", SQL, "--yes", "--epsilon", f"{1 + next(_turn) / 1000}"],
        "python -c pass": lambda: ["-c", "pass"],
        "import duckdb": lambda: ["-c", "import duckdb"],
    }
    return {name: partial(seconds, folder, name, each) for name, each in words.items()}


def best(rounds: Rounds, name: str) -> float:
    """Return the shortest run of a contestant."""
    return min(rounds.numbers[name][0])


def ratio_text(rounds: Rounds, above: str, below: str) -> str:
    """Return the median ratio of two contestants; all rounds are one session, so it has no range."""
    ratio = rounds.ratio(above, below)
    return ratio if isinstance(ratio, str) else short(ratio.value)


def main() -> None:
    """Run all rounds and write the section."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        rounds = interleave(contestants(folder), ROUNDS)
    names = (*TARGETS, *REFERENCES)
    rows = [
        [
            name,
            f"{best(rounds, name):.3f}",
            f"{min(_processor[name]):.3f}",
            *(ratio_text(rounds, name, reference) for reference in REFERENCES),
        ]
        for name in names
    ]
    verdicts = [
        Verdict(f"{name}, best seconds", f"≤ {target}", f"{best(rounds, name):.3f}", best(rounds, name) <= target)
        for name, target in TARGETS.items()
    ]
    versions = {name: version(name) for name in ("duckdb", "numpy", "sqlalchemy", "sqlglot", "tacit", "typer")}
    text = "\n\n".join(
        [
            INTRODUCTION.format(rows=ROWS, rounds=ROUNDS, load=os.getloadavg()[0], cores=os.cpu_count()),
            machine(versions),
            verdict_table(verdicts),
            table(["command", "best", "processor", *(f"÷ {reference}" for reference in REFERENCES)], rows),
        ]
    )
    write_section("shell", text)
    print(text)


if __name__ == "__main__":
    main()
