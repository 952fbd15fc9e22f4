"""Serve one library of the attack bench: read requests as JSON lines, run releases, write the outputs as JSON lines.

A library passes a factory for each kind of release that it has:

* `number(value, law)` and `total(rows, upper, single)` return a function that releases once. The noise is for ε = 1 and
  a change of 1, or of `upper`; the Gaussian law has δ = 1e-6;
* `failing(rows)` returns a function that asks a query which fails if 1 is in the rows, and a function that returns the
  ε that the library has counted so far (None: the library does not count);
* `keys(rows)` returns a function that releases which values are in the rows, for ε = 1 and δ = 1e-6.

A factory raises `Missing` if its library does not offer that. With arguments, a worker prints outputs and ends:
`python bench/workers/attack_opendp.py nan-row on 5`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from multiprocessing import get_context
from time import perf_counter_ns
from typing import Any

from attack_cases import CASES
from serve import Missing

Release = Callable[[], Any]
Factories = dict[str, Callable[..., Any]]


class Library:
    """One library with the common interface. Each public method is a task."""

    def __init__(self, versions: dict[str, str], factories: Factories) -> None:
        """Store the factories."""
        self._versions, self._factories = versions, factories

    def about(self) -> dict[str, Any]:
        """Return the versions of the library."""
        return {"versions": self._versions}

    def run(self, case: str, side: str, count: int) -> dict[str, Any]:
        """Return the outputs of `count` releases; an exception is an output, as a text."""
        release = self._release(case, side)
        return {"outputs": [output(release) for _ in range(count)]}

    def charged(self, count: int) -> dict[str, Any]:
        """Ask the failing query `count` times; return how often it failed, and the ε that was counted."""
        release, spent = self._factory("failing")(CASES["failing-row"].on)
        failed = sum(str(output(release)).startswith("raised") for _ in range(count))
        return {"failed": failed, "spent": spent()}

    def forked(self, count: int) -> dict[str, Any]:
        """Return how many of `count` releases are equal in two children that this process forks."""
        release = (
            self._release("laplace-bits", "on") if "number" in self._factories else self._release("nan-row", "against")
        )
        release()
        context = get_context("fork")
        children = []
        for _ in range(2):
            ours, theirs = context.Pipe(duplex=False)
            child = context.Process(target=_send, args=(theirs, release, count))
            child.start()
            children.append((child, ours))
        first, second = (pipe.recv() for _, pipe in children)
        for child, _ in children:
            child.join()
        return {"equal": sum(a == b for a, b in zip(first, second, strict=True))}

    def timed(self, count: int) -> dict[str, Any]:
        """Return the nanoseconds and the size of the noise of each of `count` releases of the integer 0."""
        release = self._factory("number")(0, law="laplace")
        durations, noise = [], []
        for _ in range(count):
            start = perf_counter_ns()
            result = release()
            durations.append(perf_counter_ns() - start)
            noise.append(abs(result))
        return {"durations": durations, "noise": noise}

    def _release(self, name: str, side: str) -> Release:
        case = CASES[name]
        made = self._factory(case.kind)(getattr(case, side), **case.options)
        return made[0] if case.kind == "failing" else made

    def _factory(self, kind: str) -> Callable[..., Any]:
        if kind not in self._factories:
            raise Missing("not offered")
        return self._factories[kind]


def output(release: Release) -> object:
    """Return the output of one release. An exception is a text with its class."""
    try:
        return release()
    except Missing:
        raise
    except Exception as error:  # noqa: BLE001 - an exception is an output
        return f"raised {type(error).__name__}"


def serve(versions: dict[str, str], **factories: Callable[..., Any]) -> None:
    """Reply to requests until the input ends; or run the case that the command line names."""
    library = Library(versions, factories)
    if len(sys.argv) > 1:
        case, side, count = sys.argv[1:]
        print(*library.run(case, side, int(count))["outputs"], sep="\n")
        return
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(library, request.pop("task"))(**request)
        except Missing as missing:
            reply = {"missing": str(missing)}
        except Exception as error:  # noqa: BLE001 - the library refuses this release
            reply = {"refused": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(reply), flush=True)


def _send(pipe: Any, release: Release, count: int) -> None:  # noqa: ANN401 - a connection
    pipe.send([release() for _ in range(count)])
