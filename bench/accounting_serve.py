"""Serve one accountant: read requests as JSON lines, time the calls, and write replies as JSON lines.

Requests hold events in the format of tacit's ledger. They are parsed before the clock starts. A contestant passes these
factories:

* `epsilon(parts, delta, **manner)` returns a function without arguments. It prices the parts without any cache and
  returns a lower and an upper bound. If the library gives no lower bound, the lower bound is 0.
* `charge(parts, event, **manner)` returns a function without arguments. It returns a ledger that holds the parts, as a
  function that prices one more event.

A factory raises `Missing` for a case that its library does not support. A call that exceeds its time or memory raises
`Missing` too.
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
    """One reply. Each task sets some of the fields."""

    seconds: float
    lower: float
    upper: float
    versions: dict[str, str]
    missing: str


class Accountant:
    """One library with the common interface. Each public method is a task."""

    def __init__(self, package: str, versions: dict[str, str], epsilon: Epsilons, charge: Charges | None) -> None:
        """Store the factories."""
        self._package, self._versions, self._epsilon, self._charge = package, versions, epsilon, charge
        self._ledgers: dict[str, Callable[[], Callable[[], object]]] = {}

    def about(self) -> Answer:
        """Return the versions of the library."""
        return {"versions": self._versions}

    def epsilon(self, parts: list[tuple[str, int]], delta: float, cap: float, manner: Record) -> Answer:
        """Return the bounds and the seconds. All caches are cleared first."""
        run = self._epsilon(read(parts), delta, **manner)
        _forget(self._package)
        with _capped(cap):
            start = perf_counter()
            lower, upper = run()
            return {"seconds": perf_counter() - start, "lower": lower, "upper": upper}

    def charge(self, parts: list[tuple[str, int]], event: str, calls: int, cap: float, manner: Record) -> Answer:
        """Return the mean seconds to price one more event on an existing ledger, over `calls` calls."""
        if self._charge is None:
            raise Missing("not supported")
        name = json.dumps([parts, event, manner])
        if name not in self._ledgers:
            self._ledgers[name] = self._charge(read(parts), json.loads(event), **manner)
        elapsed = 0.0
        for _ in range(calls):
            price = self._ledgers[name]()
            with _capped(cap):
                start = perf_counter()
                price()
                elapsed += perf_counter() - start
        return {"seconds": elapsed / calls}


def read(parts: list[tuple[str, int]]) -> Parts:
    """Return the parts with their events as JSON objects."""
    return [(json.loads(line), count) for line, count in parts]


def serve(package: str, versions: dict[str, str], epsilon: Epsilons, charge: Charges | None = None) -> None:
    """Reply to requests until the input ends."""
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
    """Raise `Missing` if the body takes longer than `seconds`."""

    def stop(*_: object) -> None:
        raise Missing(f"more than {seconds:g} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _forget(package: str) -> None:
    """Clear all caches in the modules of a package, so that every round costs the same."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            for member in list(vars(module).values()):
                if callable(clear := getattr(member, "cache_clear", None)):
                    clear()
