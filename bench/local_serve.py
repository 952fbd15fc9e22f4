"""Serve one library of the local model: read requests as JSON lines, time the calls, and write replies as JSON lines.

All contestants use this module, so that the same code times all of them. A contestant passes two factories:

* `client(protocol, epsilon, d)` returns a function that takes a list of values and makes a report of each;
* `server(protocol, epsilon, d)` returns a function that takes such reports and estimates the count of every value.

The clock does not include the factories, or making the reports for a server. A factory raises `Missing` for a protocol
that its library does not support.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from typing import Any

from serve import Missing, Reply

LEAST = 0.2

Client = Callable[[list[int]], Any]
Server = Callable[[Any], object]
Clients = Callable[[str, float, int], Client]
Servers = Callable[[str, float, int], Server]


class Contestant:
    """One library with the common interface. Each public method is a task."""

    def __init__(self, versions: dict[str, str], client: Clients, server: Servers, values: Callable[..., Any]) -> None:
        """Store the factories with caches. Only one set of reports is cached, because it can be large."""
        self._versions = versions
        self._client, self._server = lru_cache(client), lru_cache(server)
        self._values = values
        self._cached_values = lru_cache(maxsize=2)(self._choose)
        self._cached_reports = lru_cache(maxsize=1)(self._draw)

    def about(self) -> Reply:
        """Return the versions of the library."""
        return {"versions": self._versions}

    def randomize(self, protocol: str, epsilon: float, d: int, n: int) -> Reply:
        """Return the mean seconds to make a report, over n reports."""
        run, values = self._client(protocol, epsilon, d), self._cached_values(d, n)
        return {"seconds": _timed(lambda: run(values)) / n}

    def aggregate(self, protocol: str, epsilon: float, d: int, n: int) -> Reply:
        """Return the mean seconds of the server per report, over n reports, including the estimates."""
        run = self._server(protocol, epsilon, d)
        reports = self._cached_reports(protocol, epsilon, d, n)
        return {"seconds": _timed(lambda: run(reports)) / n}

    def _draw(self, protocol: str, epsilon: float, d: int, n: int) -> object:
        return self._client(protocol, epsilon, d)(self._cached_values(d, n))

    def _choose(self, d: int, n: int) -> list[int]:
        values: list[int] = self._values(random.Random(n).choices(range(d), k=n))  # noqa: S311 - the same values in each run
        return values


def _timed(run: Callable[[], object]) -> float:
    """Return the mean seconds of a call. Call for at least LEAST seconds, so that short pauses do not matter."""
    start, calls = perf_counter(), 0
    while True:
        run()
        calls += 1
        if (elapsed := perf_counter() - start) >= LEAST:
            return elapsed / calls


def serve(
    versions: dict[str, str], *, client: Clients, server: Servers, values: Callable[[list[int]], Any] = list
) -> None:
    """Reply to requests until the input ends. `values` converts a list of values to the library's input type."""
    contestant = Contestant(versions, client, server, values)
    tasks = {task: getattr(contestant, task) for task in ("about", "randomize", "aggregate")}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = tasks[request.pop("task")](**request)
        except Missing as missing:
            reply = Reply(missing=str(missing))
        except Exception as error:  # noqa: BLE001 - report the failure and continue
            reply = Reply(missing=f"fails ({type(error).__name__})")
        print(json.dumps(reply), flush=True)
