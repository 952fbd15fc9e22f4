"""What one private row can add to a question's duration, at the public limits, on every engine.

row_work.py    DuckDB, PostgreSQL, Spark; some minutes
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

Questions aimed at one of 2,000 people (`WHERE person = 42`), written so that her row takes as much work as the limits
allow (1,000 joined rows, 1,000,000 steps). Each is asked of the table with her row and of the table without it, in
turns, {rounds} times after one unmeasured. Seconds are medians of whole questions, from SQL text to answer; the
difference is what her row adds, and is within the spread of the rounds where it is negative."""

JOINED = "FROM t JOIN calendar AS c ON c.k = t.k WHERE person = 42"
OPTIONS = ", ".join(map(str, range(900)))
ROOTS = "sqrt(c.b + " * 12 + "v" + ")" * 12

QUESTIONS = {
    "a plain count": "SELECT count(*) AS n FROM t WHERE person = 42",
    "1,000 joined rows": f"SELECT count(*) AS n {JOINED}",
    "two joins, 961 rows, different values": "SELECT count(DISTINCT a.a * 31 + b.a) AS n FROM t JOIN month AS a ON a.k = t.k JOIN month AS b ON b.k = t.k WHERE person = 42",  # noqa: E501 - our own words
    "1,000 joined rows, 900 options of IN": f"SELECT count(*) AS n {JOINED} AND c.a IN ({OPTIONS})",
    "1,000 joined rows, nested functions": "SELECT "
    + ", ".join(f"sum(clamp({ROOTS} + {i}, 0, 10)) AS s{i}" for i in range(20))
    + f" {JOINED}",
    "1,000 joined rows, 20 medians": "SELECT "
    + ", ".join(f"median(clamp(v + c.b + {i}, 0, 100)) AS m{i}" for i in range(20))
    + f" {JOINED}",
    "a text of 3,000 letters in lower and in upper case": f"SELECT count(*) AS n FROM t WHERE lower(CASE WHEN person = 42 THEN '{'É' * 3000}' ELSE '' END) = upper(CASE WHEN person = 42 THEN '{'é' * 3000}' ELSE '' END)",  # noqa: E501, S608 - our own words
    "a pattern on a text of 9,000 letters": f"SELECT count(*) AS n FROM t WHERE CASE WHEN person = 42 THEN '{'a' * 9000}' ELSE '' END LIKE '{'%_a' * 33}%b'",  # noqa: E501, S608 - our own words
}


@dataclass(frozen=True, slots=True)
class Timing:
    """One question on one engine: the bound on the work of a row, and the seconds of every round."""

    rows: int
    steps: int
    present: list[float]
    absent: list[float]

    def cells(self) -> list[str]:
        """Return the numbers for the table."""
        present, absent = median(self.present), median(self.absent)
        return [f"{self.rows:,}", f"{self.steps:,}", f"{absent:.3f}", f"{present:.3f}", f"{present - absent:+.3f}"]


def measured(engine: str, versions: dict[str, str]) -> dict[str, Timing] | None:
    """Return what a fresh process measures; None if it fails."""
    print(f"{engine} …", flush=True)
    request = {"engine": engine, "questions": QUESTIONS, "rounds": ROUNDS}
    try:
        done = subprocess.run(
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
    reply = json.loads(done.stdout.splitlines()[-1])
    versions |= reply["versions"]
    return {name: Timing(**timing) for name, timing in reply["found"].items()}


def main() -> None:
    """Measure every engine and write the section."""
    versions: dict[str, str] = {}
    lines: list[list[str]] = []
    for engine in ENGINES:
        timings = measured(engine, versions)
        if timings is None:
            lines.append([engine, "failed", *[""] * 5])
        else:
            lines += [[engine, name, *timing.cells()] for name, timing in timings.items()]
    header = ["engine", "question", "joined rows", "steps", "without, s", "with, s", "difference, s"]
    parts = [TEXT.format(rounds=ROUNDS), table(header, lines), machine(versions)]
    write_section("row_work", "\n\n".join(parts))
    print(parts[1])


if __name__ == "__main__":
    main()
