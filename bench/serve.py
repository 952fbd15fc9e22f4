"""What every contestant does: read requests as JSON lines, time its own calls, answer in JSON lines.

A contestant gives two makers, and everything is timed here, so that all are timed by the same code:

* `draws(law, scale, size)` returns a function of nothing that makes `size` draws;
* `release(law, kind, level)` returns a function of one number that releases it, where the level is ε for the
  Laplace law and σ for the Gaussian, and the kind is "int" or "float".

Making is outside the clock except for the task "fresh". A maker raises `Missing` for what it does not offer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter, perf_counter_ns
from typing import TypedDict

Draws = Callable[[str, float, int], Callable[[], object]]
Releases = Callable[[str, str, float], Callable[[float], float]]

VALUE = 337


class Missing(Exception):  # noqa: N818 - not an error: the answer is "not offered"
    """This contestant does not offer what was asked for."""


class Reply(TypedDict, total=False):
    """One answer; the fields that belong to the task."""

    seconds: float
    durations: list[int]
    noise: list[float]
    versions: dict[str, str]
    missing: str


class Contestant:
    """One library behind the common questions; each public method is a task."""

    def __init__(self, versions: dict[str, str], draws: Draws | None, releases: Releases | None) -> None:
        """Keep the makers, each made thing cached."""
        self._versions = versions
        self._draws = lru_cache(draws or _none)
        self._releases = releases or _none
        self._kept = lru_cache(self._releases)

    def about(self) -> Reply:
        """Say which versions these are."""
        return {"versions": self._versions}

    def draw(self, law: str, scale: float, size: int) -> Reply:
        """Return the seconds that one draw of an array takes, by the draw."""
        run = self._draws(law, scale, size)
        start = perf_counter()
        run()
        return {"seconds": (perf_counter() - start) / size}

    def release(self, law: str, kind: str, level: float, count: int) -> Reply:
        """Return the seconds of one release of a number, over `count` of them."""
        run, value = self._kept(law, kind, level), _value(kind)
        start = perf_counter()
        for _ in range(count):
            run(value)
        return {"seconds": (perf_counter() - start) / count}

    def fresh(self, law: str, kind: str, levels: list[float]) -> Reply:
        """Return the seconds to make a mechanism and release once, over levels never used before."""
        value = _value(kind)
        start = perf_counter()
        for level in levels:
            self._releases(law, kind, level)(value)
        return {"seconds": (perf_counter() - start) / len(levels)}

    def channel(self, law: str, kind: str, level: float, count: int) -> Reply:
        """Return the nanoseconds and the noise of each of `count` releases."""
        run, value = self._kept(law, kind, level), _value(kind)
        durations, noise = [], []
        for _ in range(count):
            start = perf_counter_ns()
            result = run(value)
            end = perf_counter_ns()
            durations.append(end - start)
            noise.append(result - value)
        return {"durations": durations, "noise": noise}


def serve(versions: dict[str, str], *, draws: Draws | None = None, releases: Releases | None = None) -> None:
    """Answer requests until the input ends."""
    contestant = Contestant(versions, draws, releases)
    tasks = {task: getattr(contestant, task) for task in ("about", "draw", "release", "fresh", "channel")}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = tasks[request.pop("task")](**request)
        except Missing as missing:
            reply = Reply(missing=str(missing))
        print(json.dumps(reply), flush=True)


def _none(*_: object) -> Callable[..., float]:
    raise Missing("not offered")


def _value(kind: str) -> float:
    return VALUE if kind == "int" else float(VALUE)
