"""The cells of an answer after noise: one by one, or as columns.

An answer of a million groups is stored as columns: eight bytes for each integer and each key. A `Cell` is made when it
is read. Values, HAVING and ORDER BY are computed from whole columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tacit.arrays import Objects, as_objects, concatenated
from tacit.query.aggregates import COLUMNAR, STATISTICS
from tacit.query.aggregates.released_columns import ReleasedColumn
from tacit.query.aggregates.statistic import Released
from tacit.query.evaluate import evaluate_output
from tacit.query.expressions import Kind, Value
from tacit.query.expressions.functions import of_kind
from tacit.query.plan import Aggregate, Grouped, Noisy, Order, Output, Plan

ValueColumn: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64] | Objects
"""The values of one column: `tolist` returns them as Python values."""

_NUMBERS = ("integer", "real")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell after noise: its keys, its integers by bundle, and the estimates of the aggregates."""

    keys: tuple[Value, ...]
    released: tuple[Released, ...]
    estimates: tuple[Value, ...]


class CellColumns(Sequence[Cell]):
    """Cells as columns: an array for each key, each bundle and the estimates of each aggregate."""

    __slots__ = ("bundles", "estimates", "keys", "size")

    def __init__(
        self,
        size: int,
        keys: Sequence[Objects],
        bundles: Sequence[ReleasedColumn],
        estimates: Sequence[ValueColumn],
    ) -> None:
        """Store columns, which must not change afterwards."""
        self.size, self.keys, self.bundles, self.estimates = size, tuple(keys), tuple(bundles), tuple(estimates)

    @classmethod
    def of(cls, plan: Plan, size: int, keys: Sequence[Objects], bundles: Sequence[ReleasedColumn]) -> CellColumns:
        """Return the cells of a plan with the estimates of its aggregates."""
        return cls(size, keys, bundles, [_estimates(each, size, bundles) for each in plan.aggregates])

    @classmethod
    def join(cls, parts: list[CellColumns], keys: Sequence[Objects]) -> CellColumns:
        """Return the cells of one or more parts, one after the other; empty the list.

        `keys` are the keys of all cells; the parts have slices of them. Each column is freed before the next is made.
        """
        if len(parts) == 1:
            return parts.pop()
        size = sum(map(len, parts))
        bundles = [list(some) for some in zip(*(part.bundles for part in parts), strict=True)]
        estimates = [list(some) for some in zip(*(part.estimates for part in parts), strict=True)]
        parts.clear()
        joined: list[ReleasedColumn] = []
        while bundles:
            joined.append(_followed(bundles.pop(0)))
        values: list[ValueColumn] = []
        while estimates:
            values.append(_joined(estimates.pop(0)))
        return cls(size, keys, joined, values)

    def __len__(self) -> int:
        """Return the number of cells."""
        return self.size

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> CellColumns: ...
    def __getitem__(self, index: int | slice) -> Cell | CellColumns:
        """Return one cell, or a slice of them as columns."""
        if isinstance(index, slice):
            return self._some(index, len(range(self.size)[index]))
        place = range(self.size)[index]
        return Cell(
            tuple(column[place] for column in self.keys),
            tuple(bundle.cell(place) for bundle in self.bundles),
            tuple(column[place : place + 1].tolist()[0] for column in self.estimates),
        )

    def take(self, places: Sequence[int]) -> CellColumns:
        """Return the cells at some places, in this order."""
        return self._some(list(places), len(places))

    def _some(self, places: slice | list[int], size: int) -> CellColumns:
        return CellColumns(
            size,
            [column[places] for column in self.keys],
            [bundle.take(places) for bundle in self.bundles],
            [column[places] for column in self.estimates],
        )

    def __eq__(self, other: object) -> bool:
        """Return whether the other object has the same cells."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_are_equal, self, other))

    __hash__ = None  # type: ignore[assignment]  # arrays are not hashed

    def __repr__(self) -> str:
        """Return the number of cells, not a million of them."""
        return f"CellColumns({self.size} cells)"

    def values(self, output: Output) -> ValueColumn:
        """Return the values of an output; see `evaluate_output`."""
        if isinstance(output, Noisy):
            return _of_kind(self.estimates[output.place], output.kind)
        if isinstance(output, Grouped):
            return _of_kind(self.keys[output.place], output.kind)
        return as_objects([evaluate_output(output, *pair) for pair in self._rows()])

    def _rows(self) -> list[tuple[tuple[Value, ...], tuple[Value, ...]]]:
        """Return the estimates and the keys of each cell."""
        empty = [()] * self.size
        estimates = list(zip(*(column.tolist() for column in self.estimates), strict=True)) or empty
        return list(zip(estimates, self.key_tuples(), strict=True))

    def key_tuples(self) -> list[tuple[Value, ...]]:
        """Return the keys of each cell."""
        return list(zip(*(column.tolist() for column in self.keys), strict=True)) if self.keys else [()] * self.size


def _are_equal(first: object, second: object) -> bool:
    return first == second


def output_values(cells: Sequence[Cell], output: Output) -> ValueColumn:
    """Return the values of an output in some cells."""
    if isinstance(cells, CellColumns):
        return cells.values(output)
    return as_objects([evaluate_output(output, cell.estimates, cell.keys) for cell in cells])


def chosen_cells(plan: Plan, cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cells that HAVING, ORDER BY and LIMIT of a plan choose, in their order."""
    places: Sequence[int] = range(len(cells))
    if plan.having is not None:
        places = [place for place, value in enumerate(output_values(cells, plan.having).tolist()) if value is True]
    for order in reversed(plan.order):
        places = _ordered(places, output_values(cells, order.by).tolist(), order)
    places = places[plan.offset : None if plan.limit is None else plan.offset + plan.limit]
    if places == range(len(cells)):
        return cells
    return cells.take(places) if isinstance(cells, CellColumns) else tuple(cells[place] for place in places)


def _ordered(places: Sequence[int], values: Sequence[Value], order: Order) -> list[int]:
    """Sort places by the values of one term of ORDER BY, stably, with NULLs first or last."""
    nulls = [place for place in places if values[place] is None]
    others = [place for place in places if values[place] is not None]
    others.sort(key=values.__getitem__, reverse=order.descending)  # type: ignore[arg-type]  # of one kind
    return [*nulls, *others] if order.nulls_first else [*others, *nulls]


def _estimates(aggregate: Aggregate, size: int, bundles: Sequence[ReleasedColumn]) -> ValueColumn:
    """Return the estimates of an aggregate in all cells."""
    ask, own = aggregate.ask, [bundles[index] for index in aggregate.bundles]
    if ask.function in COLUMNAR:
        return COLUMNAR[ask.function].estimates(ask, own)
    estimate: Callable[[int], Value] = lambda place: STATISTICS[ask.function].estimate(  # noqa: E731 - of one cell
        ask, [bundle.cell(place) for bundle in own]
    )
    return as_objects([estimate(place) for place in range(size)])


def _of_kind(column: ValueColumn, kind: Kind) -> ValueColumn:
    """Return values as their kind requires; see `of_kind`."""
    if column.dtype == np.int64:
        return column.astype(np.float64) if kind == "real" else column
    if column.dtype == np.float64:
        if not np.isnan(column).any():
            return column
    elif kind not in _NUMBERS:
        return column
    return as_objects([of_kind(value, kind) for value in column.tolist()])


def _followed(parts: Sequence[ReleasedColumn]) -> ReleasedColumn:
    return parts[0].followed_by(parts[1:])


def _joined(columns: Sequence[ValueColumn]) -> ValueColumn:
    """Return columns one after the other; as objects if their types differ, so that no value changes."""
    if len({column.dtype for column in columns}) > 1:
        columns = [as_objects(column.tolist()) for column in columns]
    return concatenated(columns)
