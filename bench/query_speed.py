"""Measure time and memory of one private answer, compared with the plain grouping of the same engine.

query_speed.py                      run these races alone and print their times; do not write results
query_speed.py "each row a unit"    run only this race
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import query_data
from query_fresh import OPENDP, PLAIN, TACIT, Contestant
from query_serve import STATISTICS, Answer, Query, Unit
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, short

EPSILON = 1.0
FASTER = 8.0
MOST_MEMORY = 1.5
MOST_BY_ROW = 1.4
BY_UNIT, BY_KEY = "plain `GROUP BY unit, key`", "plain `GROUP BY key`"
HEADER = ["contestant", "seconds", "÷ plain", "first answer", "peak MB", "÷ plain"]

TEXT = """\
### One answer

`SELECT key, count(*), sum(x), avg(x) FROM t GROUP BY key`, 50 public text keys, over {rows:,} rows of {units:,} units
in a Parquet file. A unit contributes to at most 3 groups with at most 5 rows each; ε = {epsilon:g} for the whole query.
The plain query is DuckDB's `GROUP BY unit, key` with a count and a sum, reduced to one row. If each row is a unit, it
is `GROUP BY key`. Every answer is computed in a fresh process on all cores. The process first runs the same query on a
small table. That is the first answer, and its time includes loading and compiling. Seconds are from opening the file
to the last row: the best of the stated number of rounds, in turns. A ratio is the median of the ratios within rounds,
with the lowest and the highest in parentheses. Peak MB is the peak memory of the process.

{tables}

OpenDP's Context computes a count, a sum and a mean by identifier, with `truncate_per_group(5)`,
`truncate_num_groups(3)` and the same explicit keys. In this version `truncate_num_groups(3)` keeps two groups although
it pays for three. The bench selects the groups by name, because the default selection by hash raises an error."""


@dataclass(slots=True)
class Race:
    """A comparison with one unit of privacy: the contestants, the number of rounds, and the replies."""

    name: str
    unit: Unit | None
    entries: dict[str, Contestant]
    rounds: int
    statistics: tuple[str, ...] = tuple(STATISTICS)
    delta: float = 0.0
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def run_session(self, path: Path, small: Path) -> None:
        """Run all entries in turns, first once unmeasured."""
        print(f"{self.name} …", flush=True)
        query = Query(str(path), self.unit, self.statistics, EPSILON, delta=self.delta)
        asks = {name: partial(self._ask, name, query, small) for name in self.entries}
        self.missing = interleave(asks, self.rounds).missing
        self.answers = {name: replies[1:] for name, replies in self.answers.items()}

    def _ask(self, name: str, query: Query, small: Path) -> float:
        reply = self.entries[name].ask("answer", query, small=str(small))
        self.answers.setdefault(name, []).append(reply)
        return reply["seconds"]

    def numbers(self, measure: str) -> Rounds:
        """Return one measurement. Each round has fresh processes, so it counts as a session."""
        numbers = {name: [[float(reply[measure])] for reply in answers] for name, answers in self.answers.items()}  # type: ignore[literal-required]
        return Rounds(numbers, self.missing)


def races() -> list[Race]:
    """Return the races in the order in which they run."""
    both = {"tacit": TACIT, "plain": PLAIN}
    return [
        Race("integer units", "unit", both, 5),
        Race("text units", "unit_text", both, 5),
        Race("each row a unit", None, both, 9),
        Race("integer units, beside opendp", "unit", {**both, "opendp": OPENDP}, 2),
    ]


def report(races_run: Sequence[Race], rows: int, units: int) -> Part:
    """Return times, memory and the verdicts."""
    tables = "\n\n".join(
        f"{race.name[0].upper()}{race.name[1:]}, {race.rounds} rounds:\n\n{times(race)}" for race in races_run
    )
    integers, texts, alone, beside = races_run
    verdicts = [
        judge(integers, BY_UNIT, 1.8),
        judge(texts, BY_UNIT, 2.2),
        judge(alone, BY_KEY, MOST_BY_ROW),
        _faster(beside),
        *(_memory(race) for race in (integers, texts)),
    ]
    return Part(TEXT.format(rows=rows, units=units, epsilon=EPSILON, tables=tables), verdicts)


def times(race: Race) -> str:
    """Return the times and the memory of a race as a table."""
    seconds, first, peak = (race.numbers(measure) for measure in ("seconds", "first", "peak"))
    return table(
        HEADER,
        [
            [
                name,
                seconds.cell(name, lambda values: short(min(values))),
                str(seconds.ratio(name, "plain")),
                first.cell(name, lambda values: short(median(values))),
                peak.cell(name, lambda values: short(median(values))),
                str(peak.ratio(name, "plain")),
            ]
            for name in race.entries
        ],
    )


def judge(race: Race, plain: str, most: float) -> Verdict:
    """Compare the time of tacit with that of a plain query."""
    ratio = race.numbers("seconds").ratio("tacit", "plain")
    met = ratio.value <= most if isinstance(ratio, Ratio) else None
    return Verdict(f"{race.name}: time ÷ {plain}", f"≤ {most:g}", str(ratio), met)


def _faster(race: Race) -> Verdict:
    ratio = race.numbers("seconds").ratio("opendp", "tacit")
    met = ratio.value >= FASTER if isinstance(ratio, Ratio) else None
    return Verdict("integer units: time of opendp ÷ tacit", f"≥ {FASTER:g}", str(ratio), met)


def _memory(race: Race) -> Verdict:
    ratio = race.numbers("peak").ratio("tacit", "plain")
    met = ratio.value <= MOST_MEMORY if isinstance(ratio, Ratio) else None
    return Verdict(f"{race.name}: peak memory ÷ plain `GROUP BY unit, key`", f"≤ {MOST_MEMORY:g}", str(ratio), met)


def main() -> None:
    """Run some races and print their times."""
    every = {race.name: race for race in races()}
    parser = argparse.ArgumentParser(description="Time one private answer; do not write results.")
    parser.add_argument("race", nargs="*", choices=[*every, []], help="only these races")
    names = parser.parse_args().race or list(every)
    for race in (every[name] for name in names):
        race.run_session(query_data.large(), query_data.small())
        print(f"{times(race)}\n\ntacit ÷ plain: {race.numbers('seconds').ratio('tacit', 'plain')}\n")


if __name__ == "__main__":
    main()
