"""Compare discovered groups: the time, and the number of groups shown at equal ε and δ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

from query_data import WORD_UNITS
from query_fresh import Contestant, opendp, pipeline_dp
from query_serve import MAX_GROUPS, MAX_ROWS, Query
from query_speed import BY_UNIT, EPSILON, Race, judge, times
from report import Part, Verdict, table
from rounds import short
from serve import Missing

TACIT, PLAIN = Contestant("tacit_query_words"), Contestant("duckdb_query_words")
OPENDP, PIPELINE_DP = opendp("words"), pipeline_dp("words")
ENTRIES = {"tacit": (TACIT, 20), "opendp": (OPENDP, 10), "PipelineDP": (PIPELINE_DP, 5)}
QUERIES = {"keys": "keys alone", "units": "keys with their units", "count": "keys with their rows"}
DELTA, SLOWEST, ROUNDS = 1e-6, 3.0, 4

TEXT = """\
### Discovered groups

`SELECT key, count(*) FROM t GROUP BY key` at ε = {epsilon:g} and δ = {delta:g}. A unit contributes to at most {groups}
groups with at most {rows_each} rows each. There are 100,000 text keys, which are not public, {rows:,} rows and
{units:,} units. The plain query is DuckDB's `GROUP BY unit, key` with a count, reduced to one row. {rounds} rounds;
opendp runs once.

{times}

The number of groups shown: the mean over the stated number of releases and its standard error. The table has {words:,}
units with two keys each, drawn from Zipf's law, and one to five rows per key. The bounds, ε and δ are the same. OpenDP
counts rows. For the keys alone and for units, OpenDP keeps one row per unit and group, which shows the most groups.
PipelineDP uses its default strategy, the optimal one. The target is met if the mean is at least the mean of the best
other library, within three standard errors.

{keys}"""


@dataclass(frozen=True, slots=True)
class GroupCount:
    """The number of groups shown: the mean over the releases and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        """Return the mean and the standard error."""
        return f"{self.mean:,.1f} ± {self.error:.1f}"


def measure(path: Path, words: Path, small: Path, rows: int) -> Part:
    """Measure the time and the number of groups, and return the verdicts."""
    race = Race("unlisted keys", "unit", {"tacit": TACIT, "plain": PLAIN}, ROUNDS, statistics=("count",), delta=DELTA)
    race.run_session(path, small)
    beside = _beside(path, small)
    results = {name: {kind: _count_groups(name, kind, words) for kind in QUERIES} for name in ENTRIES}
    lines = [[name, f"{ENTRIES[name][1]}", *map(str, counts.values())] for name, counts in results.items()]
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
        keys=table(["contestant", "releases", *QUERIES.values()], lines),
    )
    return Part(text, [judge(race, BY_UNIT, SLOWEST), *(_verdict(kind, results) for kind in QUERIES)])


def _beside(path: Path, small: Path) -> str:
    """Return a sentence with the time and the memory of opendp."""
    print("unlisted keys, opendp …", flush=True)
    query = Query(str(path), "unit", ("count",), EPSILON, delta=DELTA)
    try:
        results = OPENDP.ask("answer", query, small=str(small))
    except Missing as missing:
        return f"OpenDP, the same query: {missing}."
    return f"OpenDP, the same query: {short(results['seconds'])} s, peak {short(results['peak'])} MB."


def _count_groups(name: str, kind: str, path: Path) -> GroupCount | str:
    """Return the number of groups shown, or the reason why it is missing."""
    contestant, releases = ENTRIES[name]
    print(f"{QUERIES[kind]}, {name} …", flush=True)
    try:
        results = contestant.ask("errors", Query(str(path), "unit", (kind,), EPSILON, releases, delta=DELTA))["values"]
    except Missing as missing:
        return str(missing)
    numbers = [count for (count,) in results[kind]]
    return GroupCount(mean(numbers), stdev(numbers) / sqrt(len(numbers)))


def _verdict(kind: str, results: Mapping[str, Mapping[str, GroupCount | str]]) -> Verdict:
    title = f"groups shown, {QUERIES[kind]} ÷ best other library"
    numbers = {name: count for name, counts in results.items() if isinstance(count := counts[kind], GroupCount)}
    ours = numbers.pop("tacit", None)
    if ours is None or not numbers:
        return Verdict(title, "≥ 1", "–", None)
    best = max(numbers, key=lambda name: numbers[name].mean)
    theirs = numbers[best]
    ratio = ours.mean / theirs.mean
    chance = 3 * ratio * sqrt((ours.error / ours.mean) ** 2 + (theirs.error / theirs.mean) ** 2)
    return Verdict(title, "≥ 1, within chance", f"{short(ratio)} ± {chance:.2g} ({best})", ratio + chance >= 1)
