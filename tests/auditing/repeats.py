"""Many releases of one query on a table that is read once.

The engine's integers are a function of the table for the queries that are audited this way: they choose no groups of a
unit at random. So a release that reads them again has the same law as one that remembers them. Everything else of a
release runs again: the choice of limits, the noise and the estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tacit as tc
from auditing.audits import Outputs, Sides
from tacit.database import Database
from tacit.query.histograms import Absorb
from tacit.query.plan import Plan
from tacit.query.results.release import Release
from tacit.quotes import SessionQuote

Columns = Mapping[str, Sequence[object]]
Ask = Callable[[Database], Any]
"""Return the quote of a query."""


class Remembered:
    """An engine that reads the rows of each plan once."""

    def __init__(self, engine: Any) -> None:  # noqa: ANN401 - an engine
        self._engine = engine
        self._found: dict[str, tuple[Any, list[tuple[Any, list[Any]]]]] = {}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        return getattr(self._engine, name)

    def measure(self, plan: Plan, absorb: Absorb | None = None) -> Any:  # noqa: ANN401 - its integers
        key = f"{plan.sql} {plan.table.reach} {[bundle.measures for bundle in plan.bundles]}"
        if key not in self._found:
            blocks: list[tuple[Any, list[Any]]] = []
            keep = None if absorb is None else lambda at, parts: blocks.append((at, [np.array(part) for part in parts]))
            self._found[key] = self._engine.measure(plan, keep), blocks
        exact, blocks = self._found[key]
        for at, parts in blocks:
            absorb(at, (part.copy() for part in parts))  # type: ignore[misc]  # as when they were read
        return exact


def released(quote: SessionQuote, runs: int) -> Outputs:
    """Release a quote so often, without charging it."""
    session = quote.session
    session._tables = {name: (policy, Remembered(engine)) for name, (policy, engine) in session._tables.items()}
    return [output(session._released(quote, {})) for _ in range(runs)]


def output(release: Release) -> tuple[object, ...]:
    """Return what a release shows: the noisy integers, the values, and the limits that were chosen."""
    cells = release.cells
    integers = [int(number) for cell in cells for bundle in cell.released for number in bundle.integers]
    values = [value for cell in cells for value in cell.estimates]
    chosen = release.context.get("settled")
    return (*integers, *values, *(() if chosen is None else (str(chosen),)))


def repeat(
    ask: Ask,
    *pairs: tuple[Columns, Columns],
    **policy: Any,  # noqa: ANN401 - arguments of tc.open
) -> Callable[[int], list[Sides]]:
    """Return a function that releases a query on both tables of each pair."""

    def side(columns: Columns, runs: int) -> Outputs:
        with tc.open(columns, **{"name": "t", "budget": tc.PureDP(epsilon=10**6), **policy}) as database:
            return released(ask(database), runs)

    return lambda runs: [(side(one, runs), side(other, runs)) for one, other in pairs]
