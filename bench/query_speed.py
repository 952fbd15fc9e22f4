"""How long one private answer takes, and how much memory, beside the plain grouping of the same engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from query_fresh import OPENDP, PLAIN, TACIT, Contestant
from query_serve import STATISTICS, Answer, Question, Unit
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, short

EPSILON = 1.0
FASTER = 8.0
MOST_MEMORY = 1.5
GRACE = 0.020  # seconds, for what does not grow with the rows
BY_UNIT = "plain `GROUP BY unit, key`"
HEADER = ["contestant", "seconds", "÷ plain", "first answer", "peak MB", "÷ plain"]

TEXT = """\
### One answer

`SELECT key, count(*), sum(x), avg(x) FROM t GROUP BY key`, 50 public text keys, over {rows:,} rows of {units:,} units
in a Parquet file. Units are bounded to 3 groups of 5 rows, at ε = {epsilon:g} for the whole question. The plain query
is DuckDB's `GROUP BY unit, key` with a count and a sum, folded into one row, or `GROUP BY key` where a row is its own
unit. Every answer comes from a fresh process on all cores, which was asked the same of a small table before: that
is the first answer, with all that is loaded or compiled then. Seconds, from opening the file to the last row, are
the best of so many rounds, in turns; a ratio is the median of those within rounds, with the least and the greatest
behind it. Peak MB is the most memory that the process held.

{tables}

OpenDP's Context asks for a count, a sum and a mean by identifier, with `truncate_per_group(5)` and
`truncate_num_groups(3)` and the same explicit keys. In this version the latter keeps two groups, though it pays for
three, and chooses them by name: its default, a choice by hash, fails when it is run."""


@dataclass(slots=True)
class Race:
    """One unit of privacy: who is asked, how often, and what was answered."""

    name: str
    unit: Unit | None
    entries: dict[str, Contestant]
    rounds: int
    statistics: tuple[str, ...] = tuple(STATISTICS)
    delta: float = 0.0
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def sit(self, path: Path, small: Path) -> None:
        """Run all entries in turns, once unmeasured."""
        print(f"{self.name} …", flush=True)
        question = Question(str(path), self.unit, self.statistics, EPSILON, delta=self.delta)
        asks = {name: partial(self._ask, name, question, small) for name in self.entries}
        self.missing = interleave(asks, self.rounds).missing
        self.answers = {name: found[1:] for name, found in self.answers.items()}

    def _ask(self, name: str, question: Question, small: Path) -> float:
        found = self.entries[name].ask("answer", question, small=str(small))
        self.answers.setdefault(name, []).append(found)
        return found["seconds"]

    def numbers(self, what: str) -> Rounds:
        """Return what was measured; each round had fresh processes, so it counts as a sitting."""
        found = {name: [[float(one[what])] for one in answers] for name, answers in self.answers.items()}  # type: ignore[literal-required]
        return Rounds(found, self.missing)


def races() -> list[Race]:
    """Return the races, to be run in this order."""
    both = {"tacit": TACIT, "plain": PLAIN}
    return [
        Race("integer units", "unit", both, 5),
        Race("text units", "unit_text", both, 5),
        Race("each row a unit", None, both, 9),
        Race("integer units, beside opendp", "unit", {**both, "opendp": OPENDP}, 2),
    ]


def report(found: Sequence[Race], rows: int, units: int) -> Part:
    """Lay out times and memory, and judge them."""
    tables = "\n\n".join(
        f"{race.name[0].upper()}{race.name[1:]}, {race.rounds} rounds:\n\n{times(race)}" for race in found
    )
    integers, texts, alone, beside = found
    verdicts = [
        judge(integers, BY_UNIT, 1.8),
        judge(texts, BY_UNIT, 2.2),
        _graced(alone),
        _faster(beside),
        *(_memory(race) for race in (integers, texts)),
    ]
    return Part(TEXT.format(rows=rows, units=units, epsilon=EPSILON, tables=tables), verdicts)


def times(race: Race) -> str:
    """Return a race's times and memory as a table."""
    seconds, first, peak = (race.numbers(what) for what in ("seconds", "first", "peak"))
    return table(
        HEADER,
        [
            [
                name,
                seconds.cell(name, lambda found: short(min(found))),
                str(seconds.ratio(name, "plain")),
                first.cell(name, lambda found: short(median(found))),
                peak.cell(name, lambda found: short(median(found))),
                str(peak.ratio(name, "plain")),
            ]
            for name in race.entries
        ],
    )


def judge(race: Race, plain: str, most: float) -> Verdict:
    """Judge tacit's time against that of a plain query."""
    ratio = race.numbers("seconds").ratio("tacit", "plain")
    met = ratio.value <= most if isinstance(ratio, Ratio) else None
    return Verdict(f"{race.name}: time ÷ {plain}", f"≤ {most:g}", str(ratio), met)


def _graced(race: Race) -> Verdict:
    """Judge the time beyond twice the plain query's, in the middle round."""
    what, target = f"{race.name}: time beyond 2 × plain `GROUP BY key`", f"≤ {1e3 * GRACE:g} ms"
    times = race.numbers("seconds")
    if times.missing:
        return Verdict(what, target, "; ".join(times.missing.values()), None)
    beyond = median(a[0] - 2 * b[0] for a, b in zip(times.numbers["tacit"], times.numbers["plain"], strict=True))
    return Verdict(what, target, f"{1e3 * beyond:.0f} ms", beyond <= GRACE)


def _faster(race: Race) -> Verdict:
    ratio = race.numbers("seconds").ratio("opendp", "tacit")
    met = ratio.value >= FASTER if isinstance(ratio, Ratio) else None
    return Verdict("integer units: time of opendp ÷ tacit", f"≥ {FASTER:g}", str(ratio), met)


def _memory(race: Race) -> Verdict:
    ratio = race.numbers("peak").ratio("tacit", "plain")
    met = ratio.value <= MOST_MEMORY if isinstance(ratio, Ratio) else None
    return Verdict(f"{race.name}: peak memory ÷ plain `GROUP BY unit, key`", f"≤ {MOST_MEMORY:g}", str(ratio), met)
