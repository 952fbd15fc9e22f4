"""The tables that an outer query reads: released ones, and before the charge dummies of the same shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice, product
from typing import Protocol

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.statistic import Interval
from tacit.query.expressions import Kind, Value
from tacit.query.plan import Constantly, Grouped, Key, Output, Plan
from tacit.query.results.noise_draws import flat, is_fitted
from tacit.query.results.release import Release
from tacit.query.results.table import Table

FEW_ROWS = 2_000
"""The number of rows of a small table with made-up values."""
_NUMBERS = ("integer", "real")
_DUMMIES: Mapping[Kind, tuple[Value, Value]] = {
    "integer": (1, 2),
    "real": (1.5, 2.5),
    "text": ("a", "b"),
    "boolean": (False, True),
    "date": (date(2000, 1, 1), date(2000, 1, 2)),
    "timestamp": (datetime(2000, 1, 1), datetime(2000, 1, 2)),  # noqa: DTZ001 - local times
}


@dataclass(frozen=True, slots=True)
class OuterTable:
    """A table by columns. With `draws` it holds several tables, and the rows of each have its number."""

    name: str
    columns: tuple[tuple[str, Kind], ...]
    values: Sequence[Sequence[Value]]
    draws: Sequence[int] | None = None


class Computation(Protocol):
    """Runs an outer query on tables; each method returns None if it fails or takes too long."""

    def run(self, tables: Sequence[OuterTable], sql: str) -> Table | None:
        """Return the result of a query."""

    def run_draws(self, tables: Sequence[OuterTable], sql: str, count: int) -> list[list[tuple[Value, ...]]] | None:
        """Return the rows of a query for each draw of its tables."""


def empty_table(name: str, plan: Plan) -> OuterTable:
    """Return the table of a plan without rows."""
    columns = tuple((column, output.kind) for column, output in plan.outputs)
    return OuterTable(name, columns, tuple(() for _ in columns))


def dummy_table(name: str, plan: Plan, most: int | None = None) -> OuterTable:
    """Return a table with the listed keys of a plan, or so many of them, and made-up values."""
    groups = product(*map(_dummy_keys, plan.keys)) if plan.open else plan.listed_groups()
    keys = list(islice(groups, most))
    values = [[_dummy(output, cell, number) for number, cell in enumerate(keys)] for _, output in plan.outputs]
    return OuterTable(name, tuple((column, output.kind) for column, output in plan.outputs), values)


def _dummy_keys(key: Key) -> Sequence[Value]:
    return _DUMMIES[key.expression.kind] if key.values is None else key.values


def _dummy(output: Output, keys: Sequence[Value], number: int) -> Value:
    match output:
        case Grouped(place=place):
            return keys[place]
        case Constantly(value=value):
            return value
    first = _DUMMIES[output.kind][0]
    return first + number if isinstance(first, (int, float)) and not isinstance(first, bool) else first


def released_table(name: str, release: Release) -> OuterTable:
    """Return a released table."""
    table = release.table
    return OuterTable(name, tuple(zip(table.names, table.kinds, strict=True)), table.columns)


def drawn_table(name: str, release: Release, drawn: Mapping[str, Floats], count: int) -> OuterTable:
    """Return so many copies of a released table, with draws in place of some columns."""
    table, fitted = release.table, is_fitted(release.plan)
    columns: list[tuple[str, Kind]] = []
    values: list[Sequence[Value]] = []
    for column, kind, released in zip(table.names, table.kinds, table.columns, strict=True):
        whole = column in drawn and kind == "integer" and not fitted
        columns.append((column, "real" if column in drawn and not whole else kind))
        values.append(flat(drawn[column]) if column in drawn else list(released) * count)
        if whole:
            values[-1] = flat(np.rint(drawn[column]))
    return OuterTable(name, tuple(columns), values, np.repeat(np.arange(count), len(table)).tolist())


def end_table(name: str, release: Release, ends: Mapping[str, Sequence[Interval]], side: int) -> OuterTable:
    """Return a released table with the low (0) or the high (1) ends of intervals in place of some columns."""
    table = release.table
    return OuterTable(
        name,
        tuple(
            (column, "real" if column in ends else kind) for column, kind in zip(table.names, table.kinds, strict=True)
        ),
        [
            [pair[side] for pair in ends[column]] if column in ends else values
            for column, values in zip(table.names, table.columns, strict=True)
        ],
    )
