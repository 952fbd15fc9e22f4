"""The same question on every engine: how long, beside that engine's own plain grouping, and beside Tumult on Spark.

engines.py            one and ten million rows; DuckDB, PostgreSQL, Spark; Tumult at ten million
engines.py --large    a hundred million rows on DuckDB, PostgreSQL and Spark as well: half an hour more
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import query_data
from peers import HERE
from query_fresh import TUMULT, Late
from query_serve import STATISTICS, Question
from report import Verdict, machine, table, verdict_table, write_section
from rounds import short
from serve import Missing

ENGINES = ("duckdb", "postgres", "spark")
ROUNDS = 3
CAP = 3600
MOST = {"postgres": 2.0, "spark": 2.0}
FASTER = 5.0
PATIENCE = 240
"""Seconds for which Tumult is waited for, start-up included."""
ASKS = {"tacit": ("the same question", tuple(STATISTICS)), "count": ("the count alone", ("count",))}
"""What Tumult is asked, by the name of ours."""

TEXT = """\
## Engines

`SELECT key, count(*), sum(x), avg(x) FROM t GROUP BY key`, 50 public text keys, integer units bounded to 3 groups of 5
rows, ε = 1; a tenth as many units as rows. The plain query is the engine's own `GROUP BY unit, key` with a count and a
sum, folded into one row. Both run in turns in one process on all cores, once unmeasured and then {rounds} times (a
hundred million rows: once, at first sight); tacit's seconds are from `tc.open` to the last row, the plain query's from
sending it. DuckDB and Spark (`local[*]`, 8 GB) read a Parquet file, PostgreSQL a table with the settings it comes with.
A ratio is the median of those within rounds, with the least and the greatest behind it. Tumult runs in the same kind of
Spark, asks for each statistic by itself as its interface wants it, has answered on a small table before, is asked once,
and is stopped after {patience} s."""


@dataclass(frozen=True, slots=True)
class Race:
    """One engine at one size: seconds of every round."""

    engine: str
    rows: int
    plain: list[float]
    tacit: list[float]
    count: list[float] | None = None

    @property
    def ratios(self) -> list[float]:
        """Tacit's seconds over the plain query's, round by round."""
        return [ours / plain for ours, plain in zip(self.tacit, self.plain, strict=True)]

    @property
    def ratio(self) -> str:
        """The median and the range of the ratios."""
        return f"{short(median(self.ratios))} ({short(min(self.ratios))}–{short(max(self.ratios))})"


def race(engine: str, rows: int, versions: dict[str, str]) -> Race | str:
    """Return what a fresh process measures, or why there is nothing."""
    print(f"{engine}, {rows:,} rows …", flush=True)
    once = rows > query_data.ROWS
    asks = ("plain", "tacit") if once else ("plain", "tacit", "count")
    rounds = 1 if once else 1 + ROUNDS
    request = {"engine": engine, "path": str(query_data.large(rows)), "rounds": rounds, "asks": asks}
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / "workers" / "engine_query.py")],
            check=True,
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            text=True,
            timeout=CAP,
            env=os.environ | {"PYTHONPATH": str(HERE)},
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
        return f"failed: {type(failed).__name__}"
    reply = json.loads(done.stdout.splitlines()[-1])
    versions |= reply["versions"]
    return Race(engine, rows, *(reply["seconds"][name][0 if once else 1 :] for name in asks))


@dataclass(frozen=True, slots=True)
class Peer:
    """Tumult's seconds, or those after which it was stopped."""

    seconds: float
    late: bool = False

    def over(self, ours: float) -> str:
        """How many times ours that is, at least if it was stopped."""
        return f"{'> ' if self.late else ''}{short(self.seconds / ours)}"

    @property
    def shown(self) -> str:
        """The seconds, at least if it was stopped."""
        return f"{'> ' if self.late else ''}{short(self.seconds)}"


def tumult(path: Path, small: Path, versions: dict[str, str], statistics: tuple[str, ...]) -> Peer | str:
    """Return the seconds of Tumult's answer, once it has answered on a small table; or why there is none."""
    print(f"tumult, {', '.join(statistics)} …", flush=True)
    question = Question(str(path), "unit", statistics, 1.0)
    try:
        versions |= TUMULT.ask("about")["versions"]
        return Peer(TUMULT.ask("answer", question, cap=PATIENCE, small=str(small))["seconds"])
    except Late:
        return Peer(PATIENCE, late=True)
    except Missing as missing:
        return str(missing)


def judge(races: list[Race | str], peers: dict[str, Peer | str]) -> list[Verdict]:
    """Judge what was asked for at ten million rows."""
    found = {one.engine: one for one in races if isinstance(one, Race) and one.rows == query_data.ROWS}
    verdicts = [
        Verdict(
            f"{engine}: time ÷ its own `GROUP BY unit, key`, 10 M rows",
            f"≤ {most:g}",
            found[engine].ratio if engine in found else "–",
            median(found[engine].ratios) <= most if engine in found else None,
        )
        for engine, most in MOST.items()
    ]
    return verdicts + [_beside(found.get("spark"), name, peer) for name, peer in peers.items()]


def _beside(ours: Race | None, name: str, peer: Peer | str) -> Verdict:
    what = f"Tumult ÷ tacit, {ASKS[name][0]} on Spark, 10 M rows"
    if ours is None or isinstance(peer, str):
        return Verdict(what, f"≥ {FASTER:g}", peer if isinstance(peer, str) else "–", met=None)
    seconds = median(getattr(ours, name))
    enough = peer.seconds / seconds >= FASTER
    return Verdict(what, f"≥ {FASTER:g}", peer.over(seconds), None if peer.late and not enough else enough)


def lay_out(races: list[Race | str], peers: dict[str, Peer | str]) -> str:
    """Return the times as a table."""
    rows = [
        [
            one.engine,
            f"{one.rows:,}",
            *("–" if seconds is None else short(median(seconds)) for seconds in (one.plain, one.tacit, one.count)),
            one.ratio,
        ]
        for one in races
        if isinstance(one, Race)
    ]
    shown = {name: peer.shown if isinstance(peer, Peer) else peer for name, peer in peers.items()}
    if shown:
        rows.append(["Tumult on Spark", f"{query_data.ROWS:,}", "–", *(shown[name] for name in ASKS), "–"])
    missing = "\n".join(f"Not measured: {one}." for one in races if isinstance(one, str))
    heads = ["engine", "rows", "plain s", "question s", "count alone s", "question ÷ plain"]
    return table(heads, rows) + (f"\n\n{missing}" if missing else "")


def main() -> None:
    """Measure, print, and write the section of RESULTS.md."""
    parser = argparse.ArgumentParser(description="One question on every engine.")
    parser.add_argument("--large", action="store_true", help="a hundred million rows too")
    parser.add_argument(
        "--engine", choices=ENGINES, action="append", help="a trial of some engines; nothing is written"
    )
    parser.add_argument("--rows", type=int, action="append", help="a trial of some sizes; nothing is written")
    asked = parser.parse_args()
    sizes = asked.rows or [1_000_000, query_data.ROWS, *([100_000_000] if asked.large else [])]
    versions: dict[str, str] = {}
    races = [race(engine, rows, versions) for rows in sizes for engine in asked.engine or ENGINES]
    trial = bool(asked.engine or asked.rows)
    tables = (query_data.large(), query_data.small())
    peers = {} if trial else {name: tumult(*tables, versions, wanted) for name, (_, wanted) in ASKS.items()}
    findings = [verdict_table(judge(races, peers)), lay_out(races, peers)]
    text = "\n\n".join([TEXT.format(rounds=ROUNDS, patience=PATIENCE), machine(versions), *findings])
    print(text)
    if not trial:
        write_section("engines", text)


if __name__ == "__main__":
    main()
