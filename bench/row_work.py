"""Measure the time that one private row can add to a query, at the public limits, on every engine.

row_work.py    DuckDB, PostgreSQL, Spark; takes some minutes
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from statistics import median

from peers import HERE
from report import machine, table, write_section

ENGINES = ("duckdb", "postgres", "spark")
ROUNDS = 5
CAP = 1800

TEXT = """\
## Work aimed at one row

The queries select one of 2,000 people (`WHERE person = 42`). They make her row take as much work as the limits allow
(1,000 joined rows, 1,000,000 steps). Each query runs on the table with her row and on the table without it, in turns,
{rounds} times after one unmeasured run. Seconds are medians of whole queries, from SQL text to answer. The difference
is the time that her row adds. If it is negative, it is within the spread of the rounds."""

JOINED = "FROM t JOIN calendar AS c ON c.k = t.k WHERE person = 42"
OPTIONS = ", ".join(map(str, range(900)))
ROOTS = "sqrt(c.b + " * 12 + "v" + ")" * 12

QUERIES = {
    "a plain count": "SELECT count(*) AS n FROM t WHERE person = 42",
    "1,000 joined rows": f"SELECT count(*) AS n {JOINED}",
    "two joins, 961 rows, different values": "SELECT count(DISTINCT a.a * 31 + b.a) AS n FROM t JOIN month AS a ON a.k = t.k JOIN month AS b ON b.k = t.k WHERE person = 42",  # noqa: E501 - fixed text
    "1,000 joined rows, 900 options of IN": f"SELECT count(*) AS n {JOINED} AND c.a IN ({OPTIONS})",
    "1,000 joined rows, nested functions": "SELECT "
    + ", ".join(f"sum(clamp({ROOTS} + {i}, 0, 10)) AS s{i}" for i in range(20))
    + f" {JOINED}",
    "1,000 joined rows, 20 medians": "SELECT "
    + ", ".join(f"median(clamp(v + c.b + {i}, 0, 100)) AS m{i}" for i in range(20))
    + f" {JOINED}",
    "a text of 3,000 letters in lower and in upper case": f"SELECT count(*) AS n FROM t WHERE lower(CASE WHEN person = 42 THEN '{'É' * 3000}' ELSE '' END) = upper(CASE WHEN person = 42 THEN '{'é' * 3000}' ELSE '' END)",  # noqa: E501, S608 - fixed text
    "a pattern on a text of 9,000 letters": f"SELECT count(*) AS n FROM t WHERE CASE WHEN person = 42 THEN '{'a' * 9000}' ELSE '' END LIKE '{'%_a' * 33}%b'",  # noqa: E501, S608 - fixed text
}


@dataclass(frozen=True, slots=True)
class Timing:
    """One query on one engine: the bounds on the work of a row, and the seconds of every round."""

    rows: int
    steps: int
    present: list[float]
    absent: list[float]

    def cells(self) -> list[str]:
        """Return the cells of a table row."""
        present, absent = median(self.present), median(self.absent)
        return [f"{self.rows:,}", f"{self.steps:,}", f"{absent:.3f}", f"{present:.3f}", f"{present - absent:+.3f}"]


def time_engine(engine: str, versions: dict[str, str]) -> dict[str, Timing] | None:
    """Time one engine in a fresh process; return None if that fails."""
    print(f"{engine} …", flush=True)
    request = {"engine": engine, "queries": QUERIES, "rounds": ROUNDS}
    try:
        completed = subprocess.run(
            [sys.executable, "-W", "ignore", str(HERE / "workers" / "engine_row_work.py")],
            check=True,
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            text=True,
            timeout=CAP,
            env=os.environ,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    reply = json.loads(completed.stdout.splitlines()[-1])
    versions |= reply["versions"]
    return {name: Timing(**timing) for name, timing in reply["results"].items()}


def main() -> None:
    """Time every engine and write the section."""
    versions: dict[str, str] = {}
    lines: list[list[str]] = []
    for engine in ENGINES:
        timings = time_engine(engine, versions)
        if timings is None:
            lines.append([engine, "failed", *[""] * 5])
        else:
            lines += [[engine, name, *timing.cells()] for name, timing in timings.items()]
    header = ["engine", "query", "joined rows", "steps", "without, s", "with, s", "difference, s"]
    parts = [TEXT.format(rounds=ROUNDS), table(header, lines), machine(versions)]
    write_section("row_work", "\n\n".join(parts))
    print(parts[1])


if __name__ == "__main__":
    main()
