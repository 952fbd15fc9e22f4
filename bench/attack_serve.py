"""Serve one library of the attack bench: read requests as JSON lines, run releases, write the outputs as JSON lines.

A library passes a factory for each kind of release that it has:

* `number(value, law)` and `sum(rows, upper, …)` return a function that releases once. The noise is for ε = 1 and a
  change of 1, or of one row within the bounds; the Gaussian law has δ = 1e-6;
* `failing(rows)` returns a function that asks a query which fails if 1 is in the rows, and a function that returns the
  ε that the library has counted so far;
* `keys(rows)` returns a function that releases which values are in the rows, for ε = 1 and δ = 1e-6.

A factory raises `Missing` if its library does not offer that. `neighbours` is the relation of the library's claim, and
`claim(kind)` returns its ε and δ if the library states them. With arguments, a worker prints outputs and ends:
`python bench/workers/attack_opendp.py nan-row on 5`; the sides are `on` and `against`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from multiprocessing import get_context
from time import perf_counter_ns
from typing import Any, Literal

from attack_cases import CASES
from serve import Missing

Release = Callable[[], Any]
Neighbours = Literal["change one", "add/remove"]
Claim = Callable[[str], tuple[float, float]]
Factories = dict[str, Callable[..., Any]]


class Library:
    """One library with the common interface. Each public method is a task."""

    def __init__(
        self, versions: dict[str, str], neighbours: Neighbours, claim: Claim | None, factories: Factories
    ) -> None:
        """Store the factories and the claim."""
        self._versions, self._neighbours, self._claim, self._factories = versions, neighbours, claim, factories

    def about(self) -> dict[str, Any]:
        """Return the versions of the library, and the relation of its claim."""
        return {"versions": self._versions, "neighbours": self._neighbours}

    def claim(self, case: str) -> dict[str, Any]:
        """Return the ε and δ that the library states for a case, or those of the case."""
        attacked = CASES[case]
        epsilon, delta = self._claim(attacked.kind) if self._claim else (attacked.epsilon, attacked.delta)
        return {"epsilon": epsilon, "delta": delta}

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
        return {"equal": sum(bool(a == b) for a, b in zip(first, second, strict=True))}

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
        other = case.removed if self._neighbours == "add/remove" else case.changed
        made = self._factory(case.kind)(case.on if side == "on" else other, **case.options)
        release: Release = made[0] if case.kind == "failing" else made
        return release

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


def serve(
    versions: dict[str, str],
    *,
    neighbours: Neighbours = "change one",
    claim: Claim | None = None,
    **factories: Callable[..., Any],
) -> None:
    """Reply to requests until the input ends; or run the case that the command line names."""
    library = Library(versions, neighbours, claim, factories)
    if len(sys.argv) > 1:
        case, side, count = sys.argv[1:]
        reply = _reply(library, {"task": "run", "case": case, "side": side, "count": int(count)})
        print(*reply.get("outputs", [reply]), sep="\n")
        return
    for line in sys.stdin:
        print(json.dumps(_reply(library, json.loads(line))), flush=True)


def _reply(library: Library, request: dict[str, Any]) -> dict[str, Any]:
    try:
        reply: dict[str, Any] = getattr(library, request.pop("task"))(**request)
    except Missing as missing:
        return {"missing": str(missing)}
    except Exception as error:  # noqa: BLE001 - the library refuses this release
        return {"refused": f"{type(error).__name__}: {error}"[:200]}
    return reply


def _send(pipe: Any, release: Release, count: int) -> None:  # noqa: ANN401 - a connection
    pipe.send([release() for _ in range(count)])
