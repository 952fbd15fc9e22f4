"""Time the same query on every engine, compared with the engine's plain grouping and with Tumult on Spark.

engines.py            one and ten million rows; DuckDB, PostgreSQL, Spark; Tumult at ten million
engines.py --large    also a hundred million rows on DuckDB, PostgreSQL and Spark: half an hour more
engines.py --median   instead the median by key, alone and with the same query, at one and ten million rows
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import query_data
from engine_runs import run_queries
from query_fresh import TUMULT, TimedOut
from query_serve import STATISTICS, Query
from report import Verdict, machine, table, verdict_table, write_section
from rounds import short
from serve import Missing

ENGINES = ("duckdb", "postgres", "spark")
ROUNDS = 3
MOST = {"postgres": 2.0, "spark": 2.0}
MOST_BY_REACH = {"duckdb": 0.9, "postgres": 1.1, "spark": 1.1}
FASTER = 5.0
PATIENCE = 240
"""The time limit for Tumult in seconds, including its start."""
ASKS = {"tacit": ("the same query", tuple(STATISTICS)), "count": ("the count alone", ("count",))}
"""The queries for Tumult, by the name of the same query of tacit."""

TEXT = """\
## Engines

`SELECT key, count(*), sum(x), avg(x) FROM t GROUP BY key`, 50 public text keys, ε = 1. The units are integers;
their number is a tenth of the number of rows. A unit contributes to at most 3 groups with at most 5 rows each
("query"), or counts as at most 15 rows wherever they are ("by reach"). The plain query is the engine's
`GROUP BY unit, key` with a count and a sum, reduced to one row. All queries run in turns in one process on all cores,
first once unmeasured and then {rounds} times. With a hundred million rows they run once, without an unmeasured run.
The seconds of tacit are from `tc.open` to the last row; those of the plain query start when it is sent. DuckDB and
Spark (`local[*]`, 8 GB) read a Parquet file. PostgreSQL reads a table with default settings. A ratio is the median of
the ratios within rounds, with the lowest and the highest in parentheses.
Tumult runs on the same Spark configuration. Its interface needs a separate query for each statistic. It first answers
on a small table, then runs once, and is stopped after {patience} s."""


MEDIAN_TEXT = """\
## Medians on every engine

`SELECT key, median(x) FROM t GROUP BY key` ("median"), and the same with `count(*)`, `sum(x)` and `avg(x)` ("every").
The tables, the plain query and the bounds of 3 groups of 5 rows are those of the section *Engines*. All queries run in
turns in one process, first once unmeasured and then {rounds} times. Seconds are medians. A ratio is the median of the
ratios within rounds, with the lowest and the highest in parentheses."""


@dataclass(frozen=True, slots=True)
class Race:
    """The seconds of every round on one engine at one size."""

    engine: str
    rows: int
    plain: list[float]
    tacit: list[float]
    reach: list[float]
    count: list[float] | None = None

    def ratios(self, seconds: list[float]) -> list[float]:
        """Return some seconds divided by those of the plain query, for each round."""
        return [ours / plain for ours, plain in zip(seconds, self.plain, strict=True)]

    def ratio(self, seconds: list[float]) -> str:
        """Return the median and the range of these ratios."""
        ratios = self.ratios(seconds)
        return f"{short(median(ratios))} ({short(min(ratios))}–{short(max(ratios))})"


def race(engine: str, rows: int, versions: dict[str, str]) -> Race | str:
    """Time one engine in a fresh process; return the reason if that fails."""
    print(f"{engine}, {rows:,} rows …", flush=True)
    once = rows > query_data.ROWS
    asks = ("plain", "tacit", "reach") if once else ("plain", "tacit", "reach", "count")
    rounds = 1 if once else 1 + ROUNDS
    reply = run_queries(engine, rows, rounds, asks)
    if isinstance(reply, str):
        return reply
    versions |= reply["versions"]
    return Race(engine, rows, *(reply["seconds"][name][0 if once else 1 :] for name in asks))


@dataclass(frozen=True, slots=True)
class Peer:
    """The seconds of Tumult, or the time limit if it was stopped."""

    seconds: float
    stopped: bool = False

    def over(self, ours: float) -> str:
        """Return the ratio to the seconds of tacit; a lower bound if Tumult was stopped."""
        return f"{'> ' if self.stopped else ''}{short(self.seconds / ours)}"

    @property
    def text(self) -> str:
        """The seconds; a lower bound if Tumult was stopped."""
        return f"{'> ' if self.stopped else ''}{short(self.seconds)}"


def tumult(path: Path, small: Path, versions: dict[str, str], statistics: tuple[str, ...]) -> Peer | str:
    """Return the seconds of Tumult, which first answers on a small table, or the reason why they are missing."""
    print(f"tumult, {', '.join(statistics)} …", flush=True)
    query = Query(str(path), "unit", statistics, 1.0)
    try:
        versions |= TUMULT.ask("about")["versions"]
        return Peer(TUMULT.ask("answer", query, cap=PATIENCE, small=str(small))["seconds"])
    except TimedOut:
        return Peer(PATIENCE, stopped=True)
    except Missing as missing:
        return str(missing)


def judge(races: list[Race | str], peers: dict[str, Peer | str]) -> list[Verdict]:
    """Compare the results at ten million rows with the targets."""
    races_by_engine = {
        entry.engine: entry for entry in races if isinstance(entry, Race) and entry.rows == query_data.ROWS
    }
    verdicts = [
        _limit(races_by_engine.get(engine), engine, name, limit)
        for name, limits in (("tacit", MOST), ("reach", MOST_BY_REACH))
        for engine, limit in limits.items()
    ]
    return verdicts + [_beside(races_by_engine.get("spark"), name, peer) for name, peer in peers.items()]


def _limit(found: Race | None, engine: str, name: str, limit: float) -> Verdict:
    title = f"{engine}{', by reach' if name == 'reach' else ''}: time ÷ plain `GROUP BY unit, key`, 10 M rows"
    if found is None:
        return Verdict(title, f"≤ {limit:g}", "–", met=None)
    seconds: list[float] = getattr(found, name)
    return Verdict(title, f"≤ {limit:g}", found.ratio(seconds), median(found.ratios(seconds)) <= limit)


def _beside(ours: Race | None, name: str, peer: Peer | str) -> Verdict:
    title = f"Tumult ÷ tacit, {ASKS[name][0]} on Spark, 10 M rows"
    if ours is None or isinstance(peer, str):
        return Verdict(title, f"≥ {FASTER:g}", peer if isinstance(peer, str) else "–", met=None)
    seconds = median(getattr(ours, name))
    enough = peer.seconds / seconds >= FASTER
    return Verdict(title, f"≥ {FASTER:g}", peer.over(seconds), None if peer.stopped and not enough else enough)


def lay_out(races: list[Race | str], peers: dict[str, Peer | str]) -> str:
    """Return the times as a table."""
    rows = [
        [
            entry.engine,
            f"{entry.rows:,}",
            *(
                "–" if seconds is None else short(median(seconds))
                for seconds in (entry.plain, entry.tacit, entry.reach, entry.count)
            ),
            entry.ratio(entry.tacit),
            entry.ratio(entry.reach),
        ]
        for entry in races
        if isinstance(entry, Race)
    ]
    text = {name: peer.text if isinstance(peer, Peer) else peer for name, peer in peers.items()}
    if text:
        rows.append(["Tumult on Spark", f"{query_data.ROWS:,}", "–", text["tacit"], "–", text["count"], "–", "–"])
    missing = "\n".join(f"Not measured: {entry}." for entry in races if isinstance(entry, str))
    heads = ["engine", "rows", "plain s", "query s", "by reach s", "count alone s", "query ÷ plain", "by reach ÷ plain"]
    return table(heads, rows) + (f"\n\n{missing}" if missing else "")


def time_medians(engines: Sequence[str], sizes: Sequence[int]) -> str:
    """Time the median on some engines at some sizes, and return the section."""
    versions: dict[str, str] = {}
    lines, missing = [], []
    for rows in sizes:
        for engine in engines:
            print(f"{engine}, {rows:,} rows …", flush=True)
            reply = run_queries(engine, rows, 1 + ROUNDS, ("plain", "median", "every"))
            if isinstance(reply, str):
                missing.append(f"Not measured: {engine}, {rows:,} rows, {reply}.")
                continue
            versions |= reply["versions"]
            plain, alone, every = (reply["seconds"][name][1:] for name in ("plain", "median", "every"))
            entry = Race(engine, rows, plain, every, alone)
            seconds = [short(median(some)) for some in (plain, alone, every)]
            lines.append([engine, f"{rows:,}", *seconds, entry.ratio(alone), entry.ratio(every)])
    heads = ["engine", "rows", "plain s", "median s", "every s", "median ÷ plain", "every ÷ plain"]
    parts = [MEDIAN_TEXT.format(rounds=ROUNDS), machine(versions), table(heads, lines), "\n".join(missing)]
    return "\n\n".join(part for part in parts if part)


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
    parser = argparse.ArgumentParser(description="Time one query on every engine.")
    parser.add_argument("--large", action="store_true", help="also use a hundred million rows")
    parser.add_argument("--median", action="store_true", help="time medians instead")
    parser.add_argument("--engine", choices=ENGINES, action="append", help="try only this engine; do not write results")
    parser.add_argument("--rows", type=int, action="append", help="try only this size; do not write results")
    arguments = parser.parse_args()
    sizes = arguments.rows or [1_000_000, query_data.ROWS, *([100_000_000] if arguments.large else [])]
    trial = bool(arguments.engine or arguments.rows)
    if arguments.median:
        text = time_medians(arguments.engine or ENGINES, sizes)
        print(text)
        if not trial:
            write_section("medians", text)
        return
    versions: dict[str, str] = {}
    races = [race(engine, rows, versions) for rows in sizes for engine in arguments.engine or ENGINES]
    tables = (query_data.large(), query_data.small())
    peers = {} if trial else {name: tumult(*tables, versions, statistics) for name, (_, statistics) in ASKS.items()}
    findings = [verdict_table(judge(races, peers)), lay_out(races, peers)]
    text = "\n\n".join([TEXT.format(rounds=ROUNDS, patience=PATIENCE), machine(versions), *findings])
    print(text)
    if not trial:
        write_section("engines", text)


if __name__ == "__main__":
    main()
