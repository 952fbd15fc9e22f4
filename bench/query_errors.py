"""How far off answers are at the same ε: each statistic asked alone, and all three in one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
from query_data import truth
from query_fresh import OPENDP, PIPELINE_DP, SMARTNOISE, TACIT, TUMULT, Contestant
from query_serve import KEYS, STATISTICS, Question
from report import Part, Verdict, table
from rounds import short
from serve import Missing

EPSILON = 1.0
LONGEST = 100_000
CHANCE = 1.05  # four standard errors of the ratio of two such quantiles
ALONE = [(name,) for name in STATISTICS]
QUESTIONS = [*ALONE, tuple(STATISTICS)]

TEXT = """\
### Error at equal ε

The 95 % quantile of |released − true|, over 50 groups of some 2,400 rows and so many releases, at ε = {epsilon:g} for
the whole question, without δ: each statistic asked alone, then all three in one question. x is in [0, 100] and averages
40. Every unit of this table is within every bound (two groups of at most five rows, where 3 × 5 are allowed and
paid for), so that all errors are noise. A ratio above {chance:g} is more than chance. “Knowing” is opendp asked, where
a mean is asked for, by one who knows what it adds: a count and a sum of x − 50, from which the others follow.

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
    "tacit": Entry(TACIT, 400),
    "opendp": Entry(OPENDP, 400),
    "opendp, knowing": Entry(OPENDP, 400, knowing=True),
}
MORE = {"PipelineDP": Entry(PIPELINE_DP, 60), "SmartNoise": Entry(SMARTNOISE, 60), "Tumult": Entry(TUMULT, 20)}

Found = dict[str, float | str]


def measure(path: Path, *, everyone: bool) -> Part:
    """Ask everyone everything, lay out the errors, and judge tacit's."""
    entries = ENTRIES | (MORE if everyone else {})
    true = truth(path)
    found = {name: _errors(name, entry, path, true) for name, entry in entries.items()}
    rows = [[name, f"{entry.times:,}", *map(_cell, found[name].values())] for name, entry in entries.items()]
    header = [
        "contestant",
        "releases",
        *(f"{name} alone" for name in STATISTICS),
        *(f"{name} of all" for name in STATISTICS),
    ]
    text = TEXT.format(
        epsilon=EPSILON,
        chance=CHANCE,
        findings=table(header, rows),
        notes=NOTES.format(epsilon=EPSILON) if everyone else "",
    )
    return Part(text, [_verdict(label, found) for label in found["tacit"]])


def _errors(name: str, entry: Entry, path: Path, true: Mapping[str, np.ndarray]) -> Found:
    """Return the error of each statistic, alone and of all, or why there is none."""
    print(f"errors of {name} …", flush=True)
    found: Found = {}
    for statistics in QUESTIONS:
        if entry.knowing and "mean" not in statistics:  # asked the same way
            found |= {f"{one} alone": "–" for one in statistics}
            continue
        question = Question(str(path), "unit", statistics, EPSILON, entry.times, entry.knowing, LONGEST)
        way = "alone" if len(statistics) == 1 else "of all"
        try:
            values = entry.contestant.ask("errors", question)["values"]
        except Missing as missing:
            found |= {f"{one} {way}": str(missing) for one in statistics}
            continue
        for one in statistics:
            off = np.abs(np.array(values[one]).reshape(-1, len(KEYS)) - true[one])
            found[f"{one} {way}"] = float(np.quantile(off, 0.95))
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
