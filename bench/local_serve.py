"""What every contestant of the local model does: read requests as JSON lines, time its own calls, answer in JSON lines.

A contestant gives two makers, and everything is timed here, so that all are timed by the same code:

* `client(protocol, epsilon, d)` returns a function of a list of values that makes a report of each;
* `server(protocol, epsilon, d)` returns a function of such reports that estimates the count of every value.

Making is outside the clock, and so are the reports that a server is timed with. A maker raises `Missing` for what it
does not offer.
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
    """One library behind the common questions; each public method is a task."""

    def __init__(self, versions: dict[str, str], client: Clients, server: Servers, values: Callable[..., Any]) -> None:
        """Keep the makers, each made thing cached; one set of reports at a time, since they can be large."""
        self._versions = versions
        self._client, self._server = lru_cache(client), lru_cache(server)
        self._values = values
        self._people = lru_cache(maxsize=2)(self._choose)
        self._drawn = lru_cache(maxsize=1)(self._draw)

    def about(self) -> Reply:
        """Say which versions these are."""
        return {"versions": self._versions}

    def randomize(self, protocol: str, epsilon: float, d: int, n: int) -> Reply:
        """Return the seconds of a report, over n of them."""
        run, values = self._client(protocol, epsilon, d), self._people(d, n)
        return {"seconds": _timed(lambda: run(values)) / n}

    def aggregate(self, protocol: str, epsilon: float, d: int, n: int) -> Reply:
        """Return the seconds that a server spends on a report, over n of them, the estimates included."""
        run = self._server(protocol, epsilon, d)
        reports = self._drawn(protocol, epsilon, d, n)
        return {"seconds": _timed(lambda: run(reports)) / n}

    def _draw(self, protocol: str, epsilon: float, d: int, n: int) -> object:
        return self._client(protocol, epsilon, d)(self._people(d, n))

    def _choose(self, d: int, n: int) -> list[int]:
        made: list[int] = self._values(random.Random(n).choices(range(d), k=n))  # noqa: S311 - the same people each time
        return made


def _timed(run: Callable[[], object]) -> float:
    """Return the mean seconds of as many calls as fill a fifth of a second, so that no short pause decides."""
    start, calls = perf_counter(), 0
    while True:
        run()
        calls += 1
        if (spent := perf_counter() - start) >= LEAST:
            return spent / calls


def serve(
    versions: dict[str, str], *, client: Clients, server: Servers, values: Callable[[list[int]], Any] = list
) -> None:
    """Answer requests until the input ends; `values` turns a list of people into what the library likes best."""
    contestant = Contestant(versions, client, server, values)
    tasks = {task: getattr(contestant, task) for task in ("about", "randomize", "aggregate")}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = tasks[request.pop("task")](**request)
        except Missing as missing:
            reply = Reply(missing=str(missing))
        except Exception as failed:  # noqa: BLE001 - a peer that breaks is told, and the rest goes on
            reply = Reply(missing=f"fails ({type(failed).__name__})")
        print(json.dumps(reply), flush=True)
