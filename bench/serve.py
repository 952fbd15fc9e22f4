"""Serve one library of the noise bench: read requests as JSON lines, time the calls, and write replies as JSON lines.

All contestants use this module, so that the same code times all of them. A contestant passes two factories:

* `draws(law, scale, size)` returns a function without arguments that makes `size` draws;
* `release(law, kind, level)` returns a function that releases one number. The level is ε for the Laplace law and σ for
  the Gaussian; the kind is "int" or "float".

The clock includes the factories for the task "fresh" only. A factory raises `Missing` for a case that its library does
not support.
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


class Missing(Exception):  # noqa: N818 - not an error: the reply is "not supported"
    """The contestant does not support the request."""


class Reply(TypedDict, total=False):
    """One reply. Each task sets some of the fields."""

    seconds: float
    durations: list[int]
    noise: list[float]
    versions: dict[str, str]
    missing: str


class Contestant:
    """One library with the common interface. Each public method is a task."""

    def __init__(self, versions: dict[str, str], draws: Draws | None, releases: Releases | None) -> None:
        """Store the factories with caches."""
        self._versions = versions
        self._draws = lru_cache(draws or _none)
        self._releases = releases or _none
        self._cached_releases = lru_cache(self._releases)

    def about(self) -> Reply:
        """Return the versions of the library."""
        return {"versions": self._versions}

    def draw(self, law: str, scale: float, size: int) -> Reply:
        """Return the seconds per draw of an array."""
        run = self._draws(law, scale, size)
        start = perf_counter()
        run()
        return {"seconds": (perf_counter() - start) / size}

    def release(self, law: str, kind: str, level: float, count: int) -> Reply:
        """Return the mean seconds to release a number, over `count` releases."""
        run, value = self._cached_releases(law, kind, level), _value(kind)
        start = perf_counter()
        for _ in range(count):
            run(value)
        return {"seconds": (perf_counter() - start) / count}

    def fresh(self, law: str, kind: str, levels: list[float]) -> Reply:
        """Return the mean seconds to create a mechanism and release once, over new levels."""
        value = _value(kind)
        start = perf_counter()
        for level in levels:
            self._releases(law, kind, level)(value)
        return {"seconds": (perf_counter() - start) / len(levels)}

    def channel(self, law: str, kind: str, level: float, count: int) -> Reply:
        """Return the nanoseconds and the noise of each of `count` releases."""
        run, value = self._cached_releases(law, kind, level), _value(kind)
        durations, noise = [], []
        for _ in range(count):
            start = perf_counter_ns()
            result = run(value)
            end = perf_counter_ns()
            durations.append(end - start)
            noise.append(result - value)
        return {"durations": durations, "noise": noise}


def serve(versions: dict[str, str], *, draws: Draws | None = None, releases: Releases | None = None) -> None:
    """Reply to requests until the input ends."""
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
    raise Missing("not supported")


def _value(kind: str) -> float:
    return VALUE if kind == "int" else float(VALUE)
