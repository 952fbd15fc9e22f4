"""Private SQL, beside plain DuckDB and opendp on polars: how long, how much memory, and how far off at equal ε.

query.py            ten million rows; tacit, plain DuckDB, opendp
query.py --all      with the errors of PipelineDP, SmartNoise SQL and Tumult, each in an environment of its own
query.py --large    a hundred million rows as well: minutes, and some 2 GB of disk
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import query_data
import query_errors
import query_large
import query_speed
from query_fresh import OPENDP, PIPELINE_DP, PLAIN, SMARTNOISE, TACIT, TUMULT
from report import Part, machine, verdict_table, write_section
from serve import Missing

from noise import CHANGED, fingerprint

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


def measure(*, everyone: bool, huge: bool) -> list[Part]:
    """Make the tables and measure everything."""
    path, small = query_data.large(), query_data.small()
    races = query_speed.races()
    for race in races:
        race.sit(path, small)
    speed = query_speed.report(races, query_data.ROWS, query_data.UNITS)
    parts = [speed, query_errors.measure(small, everyone=everyone)]
    return [*parts, query_large.measure(small)] if huge else parts


def lay_out(parts: Sequence[Part]) -> str:
    """Return all verdicts, then all findings."""
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(part.text for part in parts)])


def main() -> None:
    """Measure, print, and write the section of RESULTS.md."""
    parser = argparse.ArgumentParser(description="Private SQL beside plain DuckDB and its peers.")
    parser.add_argument("--all", action="store_true", help="ask PipelineDP, SmartNoise SQL and Tumult too")
    parser.add_argument("--large", action="store_true", help="ask of a hundred million rows too")
    asked = parser.parse_args()
    before = fingerprint()
    facts = machine(versions(everyone=asked.all))
    findings = lay_out(measure(everyone=asked.all, huge=asked.large))
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    text = "\n\n".join([INTRODUCTION, facts, *warning, findings])
    print(text)
    write_section("query", text)


if __name__ == "__main__":
    main()
