"""Measure large answers: their seconds, and the memory that Python needs besides the engine.

operations.py                 all cases and 100,000 medians; writes the section of RESULTS.md; takes some minutes
operations.py --case NAME     one case in this process; prints the figures as JSON

To add a case, write a function that yields its steps, and list it in `CASES` with its targets. Each case runs twice in
fresh processes: once for the seconds, and once under tracemalloc for the memory, which slows Python down.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import operations_medians
import pyarrow as pa
from report import Part, Verdict, machine, table, verdict_table, write_section

import tacit as tc
from tacit.query.results.release import Release

TEXT = """\
## Large answers

Each case runs in a fresh process, on DuckDB with {cores} threads. CPU seconds are those of all threads of the process,
the engine's included. Wall seconds are those on the clock; the load of the machine was {load:.1f} at the end. Memory is
the peak that tracemalloc sees during a step beyond what was there before it: Python's objects and NumPy's arrays, not
the memory of DuckDB. Targets are for wall seconds.

{verdicts}

{findings}

{medians}

{machine}"""

SIDE = 1_000
KEYS = 2_000_000
FREQUENT = 20_000
RELEASED, ROWS_A_KEY = 500_000, 25
SEED = 20_260_801


Step = tuple[str, Callable[[], object]]
"""The name of a step of a case, and what runs."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case: its steps, its number of keys, and the largest wall seconds, megabytes, and bytes a key by step."""

    steps: Callable[[], Iterator[Step]]
    keys: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    megabytes: Mapping[str, float] = field(default_factory=dict)
    bytes_a_key: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one step."""

    name: str
    cpu: float
    wall: float
    megabytes: float


def million_groups() -> Iterator[Step]:
    """Yield the steps of a count and a sum by a million listed groups."""
    random = np.random.default_rng(SEED)
    rows = 2 * SIDE * SIDE
    data = pa.table(
        {name: random.integers(0, SIDE, rows) for name in ("a", "b")} | {"x": random.integers(0, 100, rows)}
    )
    keys = {"a": range(SIDE), "b": range(SIDE)}
    db = tc.open(data, unit=tc.ROW, keys=keys, bounds={"x": (0, 100)}, budget=tc.PureDP(epsilon=10))
    releases: list[Release] = []

    def query() -> None:
        releases.append(db.sql("SELECT a, b, count(*) AS n, sum(x) AS s FROM data GROUP BY a, b", epsilon=1))

    yield "query", query
    (answer,) = releases
    yield "intervals", answer.intervals
    yield "to_pandas", answer.to_pandas
    yield "to_arrow", answer.to_arrow
    yield "to_csv", answer.to_csv
    yield "print", lambda: str(answer)
    db.close()


def found_keys() -> Iterator[Step]:
    """Yield the steps of a count and a sum by two million keys that are not public; 20,000 are released."""
    random = np.random.default_rng(SEED)
    numbers = np.concatenate([np.arange(KEYS), random.integers(0, FREQUENT, KEYS)])
    data = pa.table({"k": [f"key number {n}" for n in numbers], "x": random.integers(0, 100, numbers.size)})
    db = tc.open(data, unit=tc.ROW, bounds={"x": (0, 100)}, budget=tc.ApproxDP(epsilon=10, delta=1e-3))
    query = "SELECT k, count(*) AS n, sum(x) AS s FROM data GROUP BY k"
    yield "query", lambda: db.sql(query, epsilon=1, delta=1e-6)
    db.close()


def released_keys() -> Iterator[Step]:
    """Yield the steps of the same query where almost all of 500,000 keys are released."""
    numbers = np.tile(np.arange(RELEASED), ROWS_A_KEY)
    data = pa.table({"k": pa.array([f"key number {n}" for n in range(RELEASED)]).take(numbers), "x": numbers % 100})
    db = tc.open(data, unit=tc.ROW, bounds={"x": (0, 100)}, budget=tc.ApproxDP(epsilon=10, delta=1e-3))
    query = "SELECT k, count(*) AS n, sum(x) AS s FROM data GROUP BY k"
    yield "query", lambda: db.sql(query, epsilon=4, delta=1e-6)
    db.close()


CASES = {
    "a million listed groups": Case(
        million_groups, SIDE**2, seconds={"query": 4, "intervals": 3}, megabytes={"query": 500}
    ),
    "two million found keys": Case(found_keys, KEYS, bytes_a_key={"query": 150}),
    "500,000 found keys, almost all released": Case(released_keys, RELEASED, bytes_a_key={"query": 150}),
}


def run_case(name: str, *, traced: bool) -> list[Figures]:
    """Run the steps of a case, with the memory of each if it is traced."""
    figures = []
    for step, run in CASES[name].steps():
        if traced:
            tracemalloc.start()
        cpu, wall = process_time(), perf_counter()
        result = run()
        cpu, wall = process_time() - cpu, perf_counter() - wall
        peak = tracemalloc.get_traced_memory()[1] / 1e6 if traced else 0.0
        tracemalloc.stop()
        del result
        figures.append(Figures(step, cpu, wall, peak))
    return figures


def ask(name: str) -> list[Figures]:
    """Run a case in two fresh processes, and return seconds of the first and memory of the second."""
    print(f"{name} …", flush=True)
    replies = []
    for flags in ([], ["--traced"]):
        command = [sys.executable, "-W", "ignore", str(Path(__file__)), "--case", name, *flags]
        completed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        replies.append([Figures(**each) for each in json.loads(completed.stdout.splitlines()[-1])])
    return [
        Figures(timed.name, timed.cpu, timed.wall, traced.megabytes) for timed, traced in zip(*replies, strict=True)
    ]


def verdicts(name: str, found: Figures) -> Iterator[Verdict]:
    """Yield the verdicts of one step of a case."""
    case, what = CASES[name], f"{name}: {found.name}"
    if found.name in case.seconds:
        most = case.seconds[found.name]
        yield Verdict(what, f"≤ {most:g} s", f"{found.wall:.1f} s", found.wall <= most)
    if found.name in case.megabytes:
        most = case.megabytes[found.name]
        yield Verdict(what, f"≤ {most:g} MB", f"{found.megabytes:.0f} MB", found.megabytes <= most)
    if found.name in case.bytes_a_key:
        most, each = case.bytes_a_key[found.name], found.megabytes * 1e6 / case.keys
        yield Verdict(what, f"≤ {most:g} bytes a key", f"{each:.0f} bytes a key", each <= most)


def report(figures: Mapping[str, list[Figures]], medians: Part) -> str:
    """Return the section."""
    rows = [
        [f"{name}: {each.name}", f"{each.cpu:.2f}", f"{each.wall:.2f}", f"{each.megabytes:.0f}"]
        for name, steps in figures.items()
        for each in steps
    ]
    reached = [verdict for name, steps in figures.items() for each in steps for verdict in verdicts(name, each)]
    return TEXT.format(
        cores=os.cpu_count(),
        load=os.getloadavg()[0],
        verdicts=verdict_table([*reached, *medians.verdicts]),
        findings=table(["step", "CPU s", "wall s", "Python MB"], rows),
        medians=medians.text,
        machine=machine({name: version(name) for name in ("tacit", "duckdb", "numpy")}),
    )


def main() -> None:
    """Run every case and write the section, or run one case."""
    parser = argparse.ArgumentParser(description="Measure large answers.")
    parser.add_argument("--case", choices=CASES, help="run this case alone, in this process")
    parser.add_argument("--traced", action="store_true", help="measure its memory")
    arguments = parser.parse_args()
    if arguments.case is not None:
        print(json.dumps([asdict(each) for each in run_case(arguments.case, traced=arguments.traced)]))
        return
    text = report({name: ask(name) for name in CASES}, operations_medians.measure())
    print(text)
    write_section("operations", text)


if __name__ == "__main__":
    main()
