"""Private SQL, beside plain DuckDB and opendp on polars: how long, how much memory, and how far off at equal ε.

query.py            ten million rows; tacit, plain DuckDB, opendp; for unlisted groups PipelineDP too
query.py --all      with the errors of PipelineDP, SmartNoise SQL and Tumult, each in an environment of its own
query.py --large    a hundred million rows as well: minutes, and some 2 GB of disk
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import query_data
import query_errors
import query_large
import query_quantiles
import query_speed
import query_tables
import query_targets
import query_words
from query_fresh import OPENDP, PIPELINE_DP, PLAIN, SMARTNOISE, TACIT, TUMULT
from report import Part, Verdict, machine, verdict_table, write_section
from serve import Missing

from noise import CHANGED, fingerprint
from tacit import TacitError

INTRODUCTION = """\
## Private SQL

All cores, every answer from a fresh process."""


def versions(*, everyone: bool) -> dict[str, str]:
    """Return the version of every library that is there."""
    found: dict[str, str] = {}
    for contestant in (TACIT, PLAIN, OPENDP, *((PIPELINE_DP, SMARTNOISE, TUMULT) if everyone else ())):
        try:
            found |= contestant.ask("about")["versions"]
        except Missing:
            continue
    return found


def measure(*, everyone: bool, huge: bool, rows: int) -> list[Part]:
    """Make the tables and measure everything."""
    path, small = query_data.large(rows), query_data.small()
    unlisted, words, incomes = query_data.unlisted(rows), query_data.words(), query_data.incomes(rows)
    parts: dict[str, Callable[[], Part]] = {
        "one answer": partial(_speed, path, small, rows),
        "ten quantiles": partial(query_quantiles.measure, incomes, small, rows),
        "groups that nobody listed": partial(query_words.measure, unlisted, words, small, rows),
        "tables with margins": query_tables.measure,
        "errors in place of ε": query_targets.measure,
        "errors": partial(query_errors.measure, small, everyone=everyone),
    }
    if huge:
        parts["a hundred million rows"] = partial(query_large.measure, small)
    return [_timed(name, part) for name, part in parts.items()]


def _timed(name: str, part: Callable[[], Part]) -> Part:
    """Return what was found, or why nothing was: the other parts are worth having."""
    start = perf_counter()
    try:
        found = part()
    except (Missing, TacitError) as failed:
        found = Part(f"### Not measured: {name}\n\n{failed}", [Verdict(name, "–", str(failed), None)])
    print(f"{name}: {perf_counter() - start:.0f} s", flush=True)
    return found


def _speed(path: Path, small: Path, rows: int) -> Part:
    races = query_speed.races()
    for race in races:
        race.sit(path, small)
    return query_speed.report(races, rows, rows // 10)


def lay_out(parts: Sequence[Part]) -> str:
    """Return all verdicts, then all findings."""
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(part.text for part in parts)])


def main() -> None:
    """Measure, print, and write the section of RESULTS.md."""
    parser = argparse.ArgumentParser(description="Private SQL beside plain DuckDB and its peers.")
    parser.add_argument("--all", action="store_true", help="ask PipelineDP, SmartNoise SQL and Tumult too")
    parser.add_argument("--large", action="store_true", help="ask of a hundred million rows too")
    parser.add_argument(
        "--rows",
        type=int,
        default=query_data.ROWS,
        help="fewer rows for a trial, a multiple of a million; nothing is written then",
    )
    asked = parser.parse_args()
    before = fingerprint()
    facts = machine(versions(everyone=asked.all))
    findings = lay_out(measure(everyone=asked.all, huge=asked.large, rows=asked.rows))
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    text = "\n\n".join([INTRODUCTION, facts, *warning, findings])
    print(text)
    if asked.rows == query_data.ROWS:  # a trial is not for the record
        write_section("query", text)


if __name__ == "__main__":
    main()
