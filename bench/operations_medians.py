"""Measure 100,000 medians: seconds, and the peak of memory in the asking process beside the need that a plan states.

operations_medians.py [GROUPS]    prints one table; takes some minutes
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from report import Part, Verdict, table

GROUPS, ROWS = 100_000, 1_000_000
MOST_KILOBYTES = 10.0
ITEMS = {
    "a median, drawn": "median(x) AS m",
    "eight quantiles of a tree": ", ".join(f"quantile_cont(x, 0.{digit}) AS q{digit}" for digit in range(1, 9)),
}

TEXT = """\
### {groups:,} medians

One million rows, each a unit, in {groups:,} public groups; values in [0, 200,000], which have 3,126 bins. DuckDB, one
process, ε = 1. CPU seconds of the whole query, from SQL text to answer; the peak of the resident memory above that
before the query, with what DuckDB uses; the need that tacit states before the charge.

{table}"""


@dataclass(frozen=True, slots=True)
class Run:
    """One query: its seconds of CPU and on the clock, its peak and its stated need in bytes."""

    cpu: float
    wall: float
    peak: int
    need: int


def measure(groups: int = GROUPS) -> Part:
    """Measure each query in its own process, and return the report and the verdicts."""
    runs = {name: _in_process(groups, items) for name, items in ITEMS.items()}
    rows = [
        [
            name,
            f"{run.cpu:.0f}",
            f"{run.wall:.0f}",
            f"{run.peak / 1e6:,.0f}",
            f"{run.peak / 1e3 / groups:.2f}",
            f"{run.need / 1e6:,.0f}",
        ]
        for name, run in runs.items()
    ]
    verdicts = [
        Verdict(
            f"{name}, {groups:,} groups",
            f"at most {MOST_KILOBYTES:g} kB a group",
            row[4],
            float(row[4]) <= MOST_KILOBYTES,
        )
        for (name, _), row in zip(runs.items(), rows, strict=True)
    ]
    head = ["query", "CPU s", "clock s", "peak MB", "kB a group", "stated need MB"]
    return Part(TEXT.format(groups=groups, table=table(head, rows)), verdicts)


def _in_process(groups: int, items: str) -> Run:
    command = [sys.executable, "-W", "ignore", __file__, "--serve", str(groups), items]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Run(**json.loads(done.stdout))


def _serve(groups: int, items: str) -> Run:
    import numpy as np  # noqa: PLC0415 - only in the measured process
    import polars as pl  # noqa: PLC0415 - as above

    import tacit as tc  # noqa: PLC0415 - as above
    from tacit.query.memory_need import memory_need  # noqa: PLC0415 - as above

    random = np.random.default_rng(1)
    frame = pl.DataFrame({"k": random.integers(0, groups, ROWS), "x": random.gamma(2, 20_000, ROWS)})
    db = tc.open(
        frame,
        name="t",
        unit=tc.ROW,
        bounds={"x": (0, 200_000)},
        keys={"k": list(range(groups))},
        budget=tc.PureDP(epsilon=10),
    )
    db.sql("SELECT median(x) AS m FROM t", epsilon=1)
    before, peaks, done = _resident(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peaks[0] = max(peaks[0], _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    cpu, wall = time.process_time(), time.perf_counter()
    answer = db.sql(f"SELECT k, {items} FROM t GROUP BY k", epsilon=1)  # noqa: S608 - fixed text
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    done.set()
    watcher.join()
    return Run(cpu, wall, peaks[0] - before, memory_need(answer.plan) or 0)


def _resident() -> int:
    """Return the bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        print(json.dumps(asdict(_serve(int(sys.argv[2]), sys.argv[3]))), flush=True)
        os._exit(0)  # nothing is left to clean up, and the process is large
    print(measure(int(sys.argv[1]) if sys.argv[1:] else GROUPS).text)
