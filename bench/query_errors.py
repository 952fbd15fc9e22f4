"""How far off answers are at the same ε: each statistic asked alone, and count, sum and mean in one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
from query_data import truth
from query_fresh import OPENDP, PIPELINE_DP, SMARTNOISE, TACIT, TUMULT, Contestant
from query_serve import EVERY, HIGHEST, KEYS, STATISTICS, Question
from report import Part, Verdict, table
from rounds import short
from serve import Missing

EPSILON = 1.0
LONGEST = 100_000
CHANCE = 1.05  # two to three standard errors of the ratio of two such quantiles
ALONE = [(name,) for name in EVERY]
QUESTIONS = [*ALONE, tuple(STATISTICS)]
KNOWN = {"mean", "units", "variance", "deviation"}  # one who knows asks for these in another way
SLOW = {"median", "quantile"}

TEXT = """\
### Error at equal ε

The 95 % quantile of |released − true|, over 50 groups of some 2,400 rows and so many releases (half as many of
quantiles), at ε = {epsilon:g} for the whole question, without δ: each statistic asked alone, then count, sum and mean
in one question. x is in [0, 100] and averages 40. Every unit of this table is within every bound (two groups of at
most five rows, where 3 × 5 are allowed and paid for), so that all errors are noise. A ratio above {chance:g} is hardly
chance. The quantile is that at {highest:g}; units and values are counted if they are different; variance and
deviation are the population's. “Knowing” is opendp asked by one who knows what it adds: for a mean a count and a sum of
x − 50, from which the others follow; for the spread a sum of squares as well; for units one row each.

{findings}{notes}"""
NOTES = """

PipelineDP derives count and sum from what it releases for the mean. SmartNoise bounds a unit's rows in all, to 15;
its ε is each column's, and is set so that `get_privacy_cost` says {epsilon:g} for the question. Tumult answers one
statistic a question; ε is split evenly over three."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A contestant, how many releases it makes, and whether it is asked knowingly."""

    contestant: Contestant
    times: int
    knowing: bool = False


ENTRIES = {
    "tacit": Entry(TACIT, 200),
    "opendp": Entry(OPENDP, 240),
    "opendp, knowing": Entry(OPENDP, 240, knowing=True),
}
MORE = {"PipelineDP": Entry(PIPELINE_DP, 20), "SmartNoise": Entry(SMARTNOISE, 20), "Tumult": Entry(TUMULT, 6)}

Found = dict[str, float | str]


def measure(path: Path, *, everyone: bool) -> Part:
    """Ask everyone everything, lay out the errors, and judge tacit's."""
    entries = ENTRIES | (MORE if everyone else {})
    true = truth(path)
    found = {name: _errors(name, entry, path, true) for name, entry in entries.items()}
    rows = [[label, *(_cell(found[name][label]) for name in entries)] for label in found["tacit"]]
    header = ["statistic", *(f"{name} ({entry.times:,})" for name, entry in entries.items())]
    text = TEXT.format(
        epsilon=EPSILON,
        chance=CHANCE,
        highest=HIGHEST,
        findings=table(header, rows),
        notes=NOTES.format(epsilon=EPSILON) if everyone else "",
    )
    return Part(text, [_verdict(label, found) for label in found["tacit"]])


def _errors(name: str, entry: Entry, path: Path, true: Mapping[str, np.ndarray]) -> Found:
    """Return the error of each statistic, alone and of all, or why there is none."""
    found: Found = {}
    for statistics in QUESTIONS:
        way = "alone" if len(statistics) == 1 else "of all"
        if entry.knowing and not KNOWN & set(statistics):  # asked the same way
            found |= {f"{one} {way}": "–" for one in statistics}
            continue
        print(f"errors of {name}: {', '.join(statistics)} …", flush=True)
        times = entry.times // (2 if SLOW & set(statistics) else 1)
        question = Question(str(path), "unit", statistics, EPSILON, times, entry.knowing, LONGEST)
        try:
            values = entry.contestant.ask("errors", question)["values"]
        except Missing as missing:
            found |= {f"{one} {way}": str(missing) for one in statistics}
            continue
        for one in statistics:
            off = np.abs(np.array(values[one], dtype=float).reshape(-1, len(KEYS)) - true[one])
            found[f"{one} {way}"] = float(np.quantile(np.where(np.isnan(off), inf, off), 0.95, method="higher"))
    return found


def _cell(found: float | str) -> str:
    return found if isinstance(found, str) else short(found)


def _verdict(label: str, found: Mapping[str, Found]) -> Verdict:
    """Compare tacit's error with the least of the others'."""
    numbers = {name: error for name, errors in found.items() if not isinstance(error := errors[label], str)}
    ours = numbers.pop("tacit", None)
    what, target = f"error of {label} ÷ the best other's", f"≤ {CHANCE:g}"
    if ours is None or not numbers:
        return Verdict(what, target, "–", None)
    best = min(numbers, key=lambda name: numbers.get(name, inf))
    ratio = ours / numbers[best]
    return Verdict(what, target, f"{short(ratio)} ({best})", ratio <= CHANCE)
