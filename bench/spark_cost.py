"""Measure the CPU time and the exchanged bytes of queries on Spark, on a file and on a table in buckets by unit.

spark_cost.py                    two million rows; takes some minutes
spark_cost.py --rows 10000000    as many rows; does not write results
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import median

from engine_runs import run_queries
from report import machine, table, write_section

ROWS, ROUNDS = 2_000_000, 3
SOURCES = {"spark": "file", "spark in buckets": "buckets"}
ASKS = {
    "plain": "plain `GROUP BY unit, key`",
    "tacit": "count, sum, avg",
    "median": "median",
    "every": "count, sum, avg, median",
    "reach": "count, sum, avg, by reach",
    "median by reach": "median, by reach",
    "every by reach": "count, sum, avg, median, by reach",
}
TEXT = """\
## The cost of queries on Spark

The tables and the bounds are those of the section *Engines*, with {rows:,} rows. "Buckets" is the same table in 16
buckets by unit (`CLUSTERED BY (unit) INTO 16 BUCKETS`). CPU seconds are the sum of `executorCpuTime`, and exchanged
megabytes the sum of `shuffleWriteBytes`, over all stages of a query. Both depend less on other work of the machine than
seconds do. The queries run in turns in one process, first once unmeasured and then {rounds} times. The figures are
medians. In parentheses are the ratios to the plain grouping of the file."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The CPU seconds and the exchanged megabytes of one query."""

    cpu: float
    megabytes: float

    def cells(self, plain: Cost) -> list[str]:
        """Return the two cells of a table row, with the ratios to the plain grouping."""
        ratios = self.cpu / plain.cpu, self.megabytes / plain.megabytes
        return [f"{self.cpu:.2f} ({ratios[0]:.2f})", f"{self.megabytes:.1f} ({ratios[1]:.2f})"]


def costs(engine: str, rows: int, versions: dict[str, str]) -> dict[str, Cost] | str:
    """Return the cost of each query on one source, or the reason why it is missing."""
    print(f"{engine}, {rows:,} rows …", flush=True)
    reply = run_queries(engine, rows, 1 + ROUNDS, tuple(ASKS))
    if isinstance(reply, str):
        return reply
    versions |= reply["versions"]
    return {
        name: Cost(*(median(one[part] for one in rounds[1:]) for part in range(2)))
        for name, rounds in reply["costs"].items()
    }


def lay_out(measured: dict[str, dict[str, Cost]]) -> str:
    """Return the costs as a table."""
    heads = ["query", *(f"{name}, {part}" for name in measured for part in ("CPU s", "exchanged MB"))]
    plain = next(iter(measured.values()))["plain"]
    rows = [
        [title, *(cell for source in measured.values() for cell in source[ask].cells(plain))]
        for ask, title in ASKS.items()
    ]
    return table(heads, rows)


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
    parser = argparse.ArgumentParser(description="Measure the cost of queries on Spark.")
    parser.add_argument("--rows", type=int, help="try this size; do not write results")
    rows = parser.parse_args().rows
    versions: dict[str, str] = {}
    replies = {name: costs(engine, rows or ROWS, versions) for engine, name in SOURCES.items()}
    measured = {name: reply for name, reply in replies.items() if not isinstance(reply, str)}
    missing = [f"Not measured: {name}, {reply}." for name, reply in replies.items() if isinstance(reply, str)]
    parts = [TEXT.format(rows=rows or ROWS, rounds=ROUNDS), machine(versions)]
    text = "\n\n".join([*parts, *([lay_out(measured)] if measured else []), *missing])
    print(text)
    if rows is None:
        write_section("spark_cost", text)


if __name__ == "__main__":
    main()
