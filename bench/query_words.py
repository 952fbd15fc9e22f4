"""Groups that nobody listed: how long it takes to find them, and how many are shown at equal ε and δ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

from query_data import WORD_UNITS
from query_fresh import Contestant, opendp, pipeline_dp
from query_serve import MAX_GROUPS, MAX_ROWS, Question
from query_speed import BY_UNIT, EPSILON, Race, judge, times
from report import Part, Verdict, table
from rounds import short
from serve import Missing

TACIT, PLAIN = Contestant("tacit_query_words"), Contestant("duckdb_query_words")
OPENDP, PIPELINE_DP = opendp("words"), pipeline_dp("words")
ENTRIES = {"tacit": (TACIT, 20), "opendp": (OPENDP, 10), "PipelineDP": (PIPELINE_DP, 5)}
ASKED = {"keys": "keys alone", "units": "keys with their units", "count": "keys with their rows"}
DELTA, SLOWEST, ROUNDS = 1e-6, 3.0, 4

TEXT = """\
### Groups that nobody listed

`SELECT key, count(*) FROM t GROUP BY key` at ε = {epsilon:g} and δ = {delta:g}, units bounded to {groups} groups of
{rows_each} rows; 100,000 text keys that are not public, {rows:,} rows, {units:,} units. The plain query is DuckDB's
`GROUP BY unit, key` with a count, folded into one row. {rounds} rounds; opendp is asked once.

{times}

How many groups are shown, in the mean of so many releases with its standard error, on {words:,} units of two keys each
by Zipf's law and one to five rows of each; the bounds, ε and δ are the same. OpenDP counts rows; for keys alone and for
units it is asked with one row a unit and group, which shows the most. PipelineDP chooses by its default, the optimal
strategy. The target is met if the mean is no less than the best other's, up to three standard errors.

{keys}"""


@dataclass(frozen=True, slots=True)
class Shown:
    """How many groups are shown: the mean over releases and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        """Write both."""
        return f"{self.mean:,.1f} ± {self.error:.1f}"


def measure(path: Path, words: Path, small: Path, rows: int) -> Part:
    """Time, count what is shown, and judge."""
    race = Race("unlisted keys", "unit", {"tacit": TACIT, "plain": PLAIN}, ROUNDS, statistics=("count",), delta=DELTA)
    race.sit(path, small)
    beside = _beside(path, small)
    found = {name: {asked: _shown(name, asked, words) for asked in ASKED} for name in ENTRIES}
    lines = [[name, f"{ENTRIES[name][1]}", *map(str, shown.values())] for name, shown in found.items()]
    text = TEXT.format(
        epsilon=EPSILON,
        delta=DELTA,
        groups=MAX_GROUPS,
        rows_each=MAX_ROWS,
        rows=rows,
        units=rows // 10,
        rounds=ROUNDS,
        words=WORD_UNITS,
        times=f"{times(race)}\n\n{beside}",
        keys=table(["contestant", "releases", *ASKED.values()], lines),
    )
    return Part(text, [judge(race, BY_UNIT, SLOWEST), *(_verdict(asked, found) for asked in ASKED)])


def _beside(path: Path, small: Path) -> str:
    """Return what opendp takes, in a sentence."""
    print("unlisted keys, opendp …", flush=True)
    question = Question(str(path), "unit", ("count",), EPSILON, delta=DELTA)
    try:
        found = OPENDP.ask("answer", question, small=str(small))
    except Missing as missing:
        return f"OpenDP, the same question: {missing}."
    return f"OpenDP, the same question: {short(found['seconds'])} s, peak {short(found['peak'])} MB."


def _shown(name: str, asked: str, path: Path) -> Shown | str:
    """Return how many groups are shown, or why none are."""
    who, releases = ENTRIES[name]
    print(f"{ASKED[asked]}, {name} …", flush=True)
    try:
        found = who.ask("errors", Question(str(path), "unit", (asked,), EPSILON, releases, delta=DELTA))["values"]
    except Missing as missing:
        return str(missing)
    numbers = [one for (one,) in found[asked]]
    return Shown(mean(numbers), stdev(numbers) / sqrt(len(numbers)))


def _verdict(asked: str, found: Mapping[str, Mapping[str, Shown | str]]) -> Verdict:
    what = f"groups shown, {ASKED[asked]} ÷ the most of the others"
    numbers = {name: one for name, shown in found.items() if isinstance(one := shown[asked], Shown)}
    ours = numbers.pop("tacit", None)
    if ours is None or not numbers:
        return Verdict(what, "≥ 1", "–", None)
    best = max(numbers, key=lambda name: numbers[name].mean)
    theirs = numbers[best]
    ratio = ours.mean / theirs.mean
    chance = 3 * ratio * sqrt((ours.error / ours.mean) ** 2 + (theirs.error / theirs.mean) ** 2)
    return Verdict(what, "≥ 1, up to chance", f"{short(ratio)} ± {chance:.2g} ({best})", ratio + chance >= 1)
