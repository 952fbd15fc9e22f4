"""Compare private SQL with plain DuckDB and with opendp on polars: time, memory, and error at equal ε.

query.py            ten million rows; tacit, plain DuckDB, opendp; for discovered groups also PipelineDP
query.py --all      also the errors of PipelineDP, SmartNoise SQL and Tumult, each in a separate environment
query.py --large    also a hundred million rows: some minutes more, and about 2 GB of disk
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

All cores. Every answer is computed in a fresh process."""


def versions(*, everyone: bool) -> dict[str, str]:
    """Return the version of every library that is installed."""
    results: dict[str, str] = {}
    for contestant in (TACIT, PLAIN, OPENDP, *((PIPELINE_DP, SMARTNOISE, TUMULT) if everyone else ())):
        try:
            results |= contestant.ask("about")["versions"]
        except Missing:
            continue
    return results


def measure(*, everyone: bool, huge: bool, rows: int) -> list[Part]:
    """Create the tables and run all parts."""
    path, small = query_data.large(rows), query_data.small()
    unlisted, words, incomes = query_data.unlisted(rows), query_data.words(), query_data.incomes(rows)
    parts: dict[str, Callable[[], Part]] = {
        "one answer": partial(_speed, path, small, rows),
        "ten quantiles": partial(query_quantiles.measure, incomes, small, rows),
        "discovered groups": partial(query_words.measure, unlisted, words, small, rows),
        "tables with margins": query_tables.measure,
        "errors in place of ε": query_targets.measure,
        "errors": partial(query_errors.measure, small, everyone=everyone),
    }
    if huge:
        parts["a hundred million rows"] = partial(query_large.measure, small)
    return [_timed(name, part) for name, part in parts.items()]


def _timed(name: str, part: Callable[[], Part]) -> Part:
    """Return the report of a part. If the part fails, return the reason, so that the other parts still run."""
    start = perf_counter()
    try:
        results = part()
    except (Missing, TacitError) as error:
        results = Part(f"### Not measured: {name}\n\n{error}", [Verdict(name, "–", str(error), None)])
    print(f"{name}: {perf_counter() - start:.0f} s", flush=True)
    return results


def _speed(path: Path, small: Path, rows: int) -> Part:
    races = query_speed.races()
    for race in races:
        race.run_session(path, small)
    return query_speed.report(races, rows, rows // 10)


def lay_out(parts: Sequence[Part]) -> str:
    """Return all verdicts, then all tables."""
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(part.text for part in parts)])


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
    parser = argparse.ArgumentParser(description="Compare private SQL with plain DuckDB and other libraries.")
    parser.add_argument("--all", action="store_true", help="also run PipelineDP, SmartNoise SQL and Tumult")
    parser.add_argument("--large", action="store_true", help="also use a hundred million rows")
    parser.add_argument(
        "--rows",
        type=int,
        default=query_data.ROWS,
        help="try with fewer rows, a multiple of a million; do not write results",
    )
    arguments = parser.parse_args()
    before = fingerprint()
    facts = machine(versions(everyone=arguments.all))
    findings = lay_out(measure(everyone=arguments.all, huge=arguments.large, rows=arguments.rows))
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    text = "\n\n".join([INTRODUCTION, facts, *warning, findings])
    print(text)
    if arguments.rows == query_data.ROWS:  # a trial does not write results
        write_section("query", text)


if __name__ == "__main__":
    main()
