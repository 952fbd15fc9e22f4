"""Compare the errors of answers at the same ε: each statistic alone, and count, sum and mean in one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
from query_data import truth
from query_fresh import OPENDP, PIPELINE_DP, SMARTNOISE, TACIT, TUMULT, Contestant
from query_serve import EVERY, KEYS, STATISTICS, Query
from report import Part, Verdict, table
from rounds import short
from serve import Missing

EPSILON = 1.0
LONGEST = 100_000
CHANCE = 1.05  # two to three standard errors of the ratio of two such quantiles
SINGLE = {"median", "quantile"}  # see `query_single`
ALONE = [(name,) for name in EVERY if name not in SINGLE]
QUERIES = [*ALONE, tuple(STATISTICS)]
KNOWN = {"mean", "units", "variance", "deviation"}  # the tuned query differs for these

TEXT = """\
### Error at equal ε

The 95 % quantile of |released − true| over 50 groups of about 2,400 rows. The number of releases is in the header.
ε = {epsilon:g} for the whole query, without δ. Each statistic is first queried alone;
then count, sum and mean are queried together ("of all"). x is in [0, 100], with mean 40. Every unit of this table is
within every bound: it has two groups of at most five rows, and the bounds allow and charge for 3 × 5. All errors are
therefore noise. A ratio above {chance:g} is unlikely to be chance. "Units" and
"different" count distinct units and values. Variance and deviation are those of the population. "Tuned" is opendp with
the queries of an expert: for a mean, a count and a sum of x − 50, which also give the sum; for variance and deviation,
a sum of squares as well; for units, one row per unit.

{findings}{notes}"""
NOTES = """\


PipelineDP derives count and sum from the values that it releases for the mean. SmartNoise bounds the rows of a unit in
the whole table, to 15. Its ε is per column; the bench sets it so that `get_privacy_cost` returns {epsilon:g} for the
query. Tumult supports one statistic per query, so ε is divided evenly by three."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A contestant, its number of releases, and whether its queries are tuned."""

    contestant: Contestant
    times: int
    tuned: bool = False


ENTRIES = {
    "tacit": Entry(TACIT, 200),
    "opendp": Entry(OPENDP, 240),
    "opendp, tuned": Entry(OPENDP, 240, tuned=True),
}
MORE = {"PipelineDP": Entry(PIPELINE_DP, 20), "SmartNoise": Entry(SMARTNOISE, 20), "Tumult": Entry(TUMULT, 6)}

Errors = dict[str, float | str]


def measure(path: Path, *, everyone: bool) -> Part:
    """Run all queries on all contestants, and return the errors and the verdicts."""
    entries = ENTRIES | (MORE if everyone else {})
    true_values = truth(path)
    results = {name: _errors(name, entry, path, true_values) for name, entry in entries.items()}
    rows = [[label, *(_cell(results[name][label]) for name in entries)] for label in results["tacit"]]
    header = ["statistic", *(f"{name} ({entry.times:,})" for name, entry in entries.items())]
    text = TEXT.format(
        epsilon=EPSILON,
        chance=CHANCE,
        findings=table(header, rows),
        notes=NOTES.format(epsilon=EPSILON) if everyone else "",
    )
    return Part(text, [_verdict(label, results) for label in results["tacit"]])


def _errors(name: str, entry: Entry, path: Path, true_values: Mapping[str, np.ndarray]) -> Errors:
    """Return the error of each statistic, alone and in one query, or the reason why it is missing."""
    results: Errors = {}
    for statistics in QUERIES:
        suffix = "alone" if len(statistics) == 1 else "of all"
        if entry.tuned and not KNOWN & set(statistics):  # the tuned query is the same
            results |= {f"{statistic} {suffix}": "–" for statistic in statistics}
            continue
        print(f"errors of {name}: {', '.join(statistics)} …", flush=True)
        query = Query(str(path), "unit", statistics, EPSILON, entry.times, entry.tuned, LONGEST)
        try:
            values = entry.contestant.ask("errors", query)["values"]
        except Missing as missing:
            results |= {f"{statistic} {suffix}": str(missing) for statistic in statistics}
            continue
        for statistic in statistics:
            distance = np.abs(np.array(values[statistic], dtype=float).reshape(-1, len(KEYS)) - true_values[statistic])
            results[f"{statistic} {suffix}"] = float(
                np.quantile(np.where(np.isnan(distance), inf, distance), 0.95, method="higher")
            )
    return results


def _cell(results: float | str) -> str:
    return results if isinstance(results, str) else short(results)


def _verdict(label: str, results: Mapping[str, Errors]) -> Verdict:
    """Compare the error of tacit with the smallest error of the other libraries."""
    numbers = {name: error for name, errors in results.items() if not isinstance(error := errors[label], str)}
    ours = numbers.pop("tacit", None)
    title, target = f"error of {label} ÷ best other library", f"≤ {CHANCE:g}"
    if ours is None or not numbers:
        return Verdict(title, target, "–", None)
    best = min(numbers, key=lambda name: numbers.get(name, inf))
    ratio = ours / numbers[best]
    return Verdict(title, target, f"{short(ratio)} ({best})", ratio <= CHANCE)
