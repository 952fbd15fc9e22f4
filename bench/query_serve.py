"""The question of the query bench, and what every contestant does with it in a process of its own.

A contestant gives one maker: `make(question)` does all that can be done before an answer and returns a function
of nothing that answers, with one number a group for each statistic. Everything is timed here, so that all are
timed by the same code:

* "answer" makes and asks once on a small table, for whatever is loaded or compiled at the first question; then
  makes and asks on the table itself, at an ε not used before;
* "errors" makes once and asks many times.

One process answers one request and ends.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Literal, TypedDict

from serve import Missing

KEYS = [f"region {i:02}" for i in range(50)]
LOW, HIGH = 0, 100
MAX_GROUPS, MAX_ROWS = 3, 5
LONGEST = 10_000_000  # rows in a group, for those who must know
STATISTICS = {"count": "count(*)", "sum": "sum(x)", "mean": "avg(x)"}  # what one question asks for together
HIGHEST = 0.9
EVERY = STATISTICS | {
    "units": "count(DISTINCT unit)",
    "variance": "var_pop(x)",
    "deviation": "stddev_pop(x)",
    "median": "median(x)",
    "quantile": f"quantile_cont(x, {HIGHEST})",
    "different": "count(DISTINCT x)",
}
RANKS = tuple(f"{(2 * i + 1) / 20:g}" for i in range(10))  # 0.05, 0.15, …, 0.95
MOST, BINS = 200_000, 4_096  # of the values whose quantiles are asked for

Unit = Literal["unit", "unit_text"]
Columns = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Question:
    """Which statistics, by group, of which table, for whose privacy (None: a row's), at which ε and δ in all.

    `times` is how often it will be asked; `knowing` asks as one would who knows the library's noise.
    """

    path: str
    unit: Unit | None
    statistics: tuple[str, ...]
    epsilon: float
    times: int = 1
    knowing: bool = False
    longest: int = LONGEST
    delta: float = 0.0


Make = Callable[[Question], Callable[[], Columns]]


class Answer(TypedDict, total=False):
    """One answer; the fields that belong to the task."""

    seconds: float
    first: float
    peak: float
    values: dict[str, list[list[float]]]
    versions: dict[str, str]
    missing: str


def serve(versions: dict[str, str], make: Make) -> None:
    """Answer the one request that is there to read."""
    request = json.load(sys.stdin)
    task = request.pop("task")
    tasks: dict[str, Callable[..., Answer]] = {
        "about": Answer,
        "answer": partial(answer, make),
        "errors": partial(errors, make),
    }
    try:
        reply = tasks[task](**request) | {"versions": versions}
    except Missing as missing:
        reply = Answer(missing=str(missing))
    print(json.dumps(reply))


def answer(make: Make, small: str, **asked: object) -> Answer:
    """Return the seconds of one answer, those of the first answer of this process, and its peak of memory."""
    question = read(asked)
    first = _seconds(make, read(asked | {"path": small, "epsilon": question.epsilon / 2}))
    seconds = _seconds(make, question)
    return {"first": first, "seconds": seconds, "peak": peak()}


def errors(make: Make, **asked: object) -> Answer:
    """Return each statistic's values, group by group, of as many answers as are asked for."""
    question = read(asked)
    ask = make(question)
    found = [ask() for _ in range(question.times)]
    return {"values": {name: [columns[name] for columns in found] for name in question.statistics}}


def read(asked: dict[str, object]) -> Question:
    """Return the question that a request holds."""
    return Question(**(asked | {"statistics": tuple(asked["statistics"])}))  # type: ignore[arg-type]  # as JSON has it


def peak() -> float:
    """Return the most memory that this process has held, in MB.

    The kernel's own count for what was executed last is asked first: that of getrusage begins with the parent's.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (1e6 if sys.platform == "darwin" else 1e3)
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def _seconds(make: Make, question: Question) -> float:
    start = perf_counter()
    make(question)()
    return perf_counter() - start
