"""What every accountant does: read requests as JSON lines, time its own calls, answer in JSON lines.

Events arrive as tacit writes them in a ledger, and are read before the clock starts. A contestant gives makers:

* `epsilon(parts, delta, **manner)` returns a function of nothing that prices the parts, from nothing, and
  returns a lower and an upper end; where a contestant claims only one, the lower is 0;
* `charge(parts, event, **manner)` returns a function of nothing that gives a ledger with the parts in it, as a
  function that prices one more event on it.

A maker raises `Missing` for what it does not offer. What exceeds its time or memory is `Missing` too, and so
never waits for ever.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypedDict

from serve import Missing

Record = dict[str, object]
Parts = list[tuple[Record, int]]
Ends = tuple[float, float]
Epsilons = Callable[..., Callable[[], Ends]]
Charges = Callable[..., Callable[[], Callable[[], object]]]

MEMORY = 8 << 30


class Answer(TypedDict, total=False):
    """One answer; the fields that belong to the task."""

    seconds: float
    lower: float
    upper: float
    versions: dict[str, str]
    missing: str


class Accountant:
    """One library behind the common questions; each public method is a task."""

    def __init__(self, package: str, versions: dict[str, str], epsilon: Epsilons, charge: Charges | None) -> None:
        """Keep the makers."""
        self._package, self._versions, self._epsilon, self._charge = package, versions, epsilon, charge
        self._ledgers: dict[str, Callable[[], Callable[[], object]]] = {}

    def about(self) -> Answer:
        """Say which versions these are."""
        return {"versions": self._versions}

    def epsilon(self, parts: list[tuple[str, int]], delta: float, cap: float, manner: Record) -> Answer:
        """Return the ends of a bracket and the seconds that it took; nothing is remembered from earlier requests."""
        run = self._epsilon(read(parts), delta, **manner)
        _forget(self._package)
        with _capped(cap):
            start = perf_counter()
            lower, upper = run()
            return {"seconds": perf_counter() - start, "lower": lower, "upper": upper}

    def charge(self, parts: list[tuple[str, int]], event: str, calls: int, cap: float, manner: Record) -> Answer:
        """Return the seconds of pricing one more event on a ledger that is there already, over some calls."""
        if self._charge is None:
            raise Missing("not offered")
        name = json.dumps([parts, event, manner])
        if name not in self._ledgers:
            self._ledgers[name] = self._charge(read(parts), json.loads(event), **manner)
        spent = 0.0
        for _ in range(calls):
            price = self._ledgers[name]()
            with _capped(cap):
                start = perf_counter()
                price()
                spent += perf_counter() - start
        return {"seconds": spent / calls}


def read(parts: list[tuple[str, int]]) -> Parts:
    """Return the parts with their events as JSON objects."""
    return [(json.loads(line), count) for line, count in parts]


def serve(package: str, versions: dict[str, str], epsilon: Epsilons, charge: Charges | None = None) -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    accountant = Accountant(package, versions, epsilon, charge)
    tasks = {task: getattr(accountant, task) for task in ("about", "epsilon", "charge")}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = tasks[request.pop("task")](**request)
        except Missing as missing:
            reply = Answer(missing=str(missing))
        except MemoryError:
            reply = Answer(missing=f"more than {MEMORY >> 30} GB")
        print(json.dumps(reply), flush=True)


@contextmanager
def _capped(seconds: float) -> Iterator[None]:
    """Let what runs here run for so long and no longer."""

    def stop(*_: object) -> None:
        raise Missing(f"more than {seconds:g} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _forget(package: str) -> None:
    """Empty every cache that a package's modules hold, so that a second round costs what the first did."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            for held in list(vars(module).values()):
                if callable(clear := getattr(held, "cache_clear", None)):
                    clear()
