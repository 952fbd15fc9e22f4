"""Serve one contestant of the query bench: one process reads one request, replies, and ends.

All contestants use this module, so that the same code times all of them. A contestant passes one factory,
`make(query)`. It prepares the query and returns a function without arguments that returns, for each statistic, one
number per group. The tasks are:

* "answer": make and run the query once on a small table, which loads and compiles what the first query needs. Then
  make and run it on the table itself, at an ε that was not used before.
* "errors": make the query once and run it many times.
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
REACH = MAX_GROUPS * MAX_ROWS
LONGEST = 10_000_000  # maximum number of rows in a group, for libraries that need it
STATISTICS = {"count": "count(*)", "sum": "sum(x)", "mean": "avg(x)"}  # the statistics of one query
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
MOST, BINS = 200_000, 4_096  # for the values of the quantile query

Unit = Literal["unit", "unit_text"]
Columns = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Query:
    """A query: the table, the unit of privacy (None: each row), the statistics by group, and the total ε and δ.

    `times` is the number of runs. If `tuned` is true, the worker sends the query that an expert would write.
    """

    path: str
    unit: Unit | None
    statistics: tuple[str, ...]
    epsilon: float
    times: int = 1
    tuned: bool = False
    longest: int = LONGEST
    delta: float = 0.0


Make = Callable[[Query], Callable[[], Columns]]


class Answer(TypedDict, total=False):
    """One reply. Each task sets some of the fields."""

    seconds: float
    first: float
    peak: float
    values: dict[str, list[list[float]]]
    versions: dict[str, str]
    missing: str


def serve(versions: dict[str, str], make: Make) -> None:
    """Reply to the request on the standard input."""
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


def answer(make: Make, small: str, **request: object) -> Answer:
    """Return the seconds of one answer, those of the first answer of this process, and the peak memory."""
    query = read(request)
    first = _seconds(make, read(request | {"path": small, "epsilon": query.epsilon / 2}))
    seconds = _seconds(make, query)
    return {"first": first, "seconds": seconds, "peak": peak()}


def errors(make: Make, **request: object) -> Answer:
    """Return the values of each statistic, for each group and each run."""
    query = read(request)
    ask = make(query)
    answers = [ask() for _ in range(query.times)]
    return {"values": {name: [columns[name] for columns in answers] for name in query.statistics}}


def read(request: dict[str, object]) -> Query:
    """Return the query of a request."""
    return Query(**(request | {"statistics": tuple(request["statistics"])}))  # type: ignore[arg-type]  # from JSON


def peak() -> float:
    """Return the peak memory of this process in MB.

    Read the kernel's figure for this program first, because getrusage includes the parent process before exec.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (1e6 if sys.platform == "darwin" else 1e3)
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def _seconds(make: Make, query: Query) -> float:
    start = perf_counter()
    make(query)()
    return perf_counter() - start
