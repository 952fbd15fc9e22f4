"""Serve one other library of the bench on limits: one process reads one request, replies, and ends.

A request names a table, the public keys of its groups, the values of ε and the number of releases. The reply has an
`Answer` for each question: count or sum, of every group or of the whole table, at each ε. A part of each ε, `SHARE`,
chooses the limits; the rest answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

SHARE = 0.1
LOW, HIGH = 0, 100
Statistic = Literal["count", "sum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A table and the releases that are asked for."""

    path: str
    keys: list[str]
    epsilons: list[float]
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The releases of one question: the limit that each of them chose, and its numbers in the order of the keys."""

    statistic: Statistic
    grouped: bool
    epsilon: float
    limits: list[float]
    values: list[list[float]]


def serve(versions: dict[str, str], answers: Callable[[Request], Iterator[Answer]]) -> None:
    """Reply to the request on the standard input."""
    request = json.loads(sys.stdin.readline())
    results = [] if request.pop("task") == "about" else [asdict(answer) for answer in answers(Request(**request))]
    print(json.dumps({"versions": versions, "answers": results}), flush=True)
