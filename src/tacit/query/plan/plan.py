"""The plan of a query, its cells, and what bounds the groups of a unit.

A key without listed values is **open**: its groups are discovered in the data, privately (see
`pricing.partition_selection`). The listed values of several keys may be **tuples**: then the cells are these
combinations, not the product of the keys' values (`key_tuples`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tacit.errors import InternalError
from tacit.query.expressions import Expression, Value
from tacit.query.joins import Join
from tacit.query.key_tuples import KeyTuples, listed_cells
from tacit.query.plan.aggregates import Aggregate
from tacit.query.plan.field_text import field_text
from tacit.query.plan.keys import Key
from tacit.query.plan.measures import Bundle
from tacit.query.plan.outputs import Order, Output
from tacit.query.policy import TablePolicy
from tacit.query.unit_tables import UnitTable
from tacit.safe_text import visible

_TWO = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A query that tacit can answer privately.

    `sql` is the query, generated from the parsed tree without comments. `where` keeps the rows for which it is true. A
    cell is one element of the product of the `factors`, in that order; without keys there is one cell. With `joins`,
    each row of `table` is combined with the matching rows of other tables, and `table` has the columns of all of them.
    The keys `within` make no cells, but only rows with one of their listed values count. `size` is the public number of
    rows or units, if the plan uses it (see `measures`). `tuples` are listed combinations of keys; their places count
    through `keys` and then `within`. If the rows are those of a subquery that groups by the unit, `units` is that
    subquery, and `table` is the policy of its rows, under the name of its private table.
    """

    sql: str
    table: TablePolicy
    where: Expression | None
    keys: tuple[Key, ...]
    bundles: tuple[Bundle, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[tuple[str, Output], ...]
    having: Output | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    joins: tuple[Join, ...] = ()
    within: tuple[Key, ...] = ()
    size: int | None = None
    rest: bool = False
    tuples: tuple[KeyTuples, ...] = ()
    units: UnitTable | None = None

    def __repr__(self) -> str:
        """Return all fields as older versions did, because ledgers hold hashes of this text; they had no last five."""
        return field_text(self, "within", "size", "rest", "tuples", "units")

    @property
    def unit(self) -> str | None:
        """The column that names the unit of a row; None if each row of the private table is a unit."""
        return self.table.unit if self.units is None else self.units.unit_name

    @property
    def private_unit(self) -> str | None:
        """The column of the private table that names the unit; None if each row of that table is a unit."""
        return self.table.unit if self.units is None else list(self.units.levels)[-1].unit

    @property
    def all_joins(self) -> tuple[Join, ...]:
        """The joins of the plan, and those inside subqueries that group by the unit."""
        return self.joins if self.units is None else (*self.units.all_joins, *self.joins)

    def __str__(self) -> str:
        """Return the query, its table and its groups in words."""
        unit = "row" if self.table.unit is None else self.table.unit
        lines = [self.sql, f"Table {self.table.name}; unit: {unit}; neighbours: {self.table.neighbours}"]
        keys = [f"{key.name} ({'found' if key.values is None else f'{len(key.values):,} values'})" for key in self.keys]
        lines += [f"Groups: {', '.join(keys)}"] if keys else []
        lines.append(f"Aggregates: {', '.join(each.sql for each in self.aggregates)}")
        return "\n".join(map(visible, lines))

    @property
    def open(self) -> bool:
        """True if the groups are discovered in the data, privately; listed keys then restrict them."""
        return any(key.values is None for key in self.keys)

    @property
    def cells(self) -> int | None:
        """The number of released cells; None if the groups are discovered in the data."""
        return None if self.open else prod(factor.size for factor in self.factors)

    @property
    def factors(self) -> tuple[KeyTuples, ...]:
        """The listed keys as combinations; a cell is one element of their product. Discovered keys are left out."""
        return tuple(factor for factor in self.restrictions if factor.places[-1] < len(self.keys))

    @property
    def restrictions(self) -> tuple[KeyTuples, ...]:
        """The factors, and the same of the keys `within`, in the order of their first keys."""
        joint = {place for factor in self.tuples for place in factor.places}
        alone = [
            KeyTuples(places=(place,), columns=(key.values,), default=key.default)
            for place, key in enumerate((*self.keys, *self.within))
            if key.values is not None and place not in joint
        ]
        return tuple(sorted((*alone, *self.tuples), key=lambda factor: factor.places[0]))

    def listed_groups(self) -> Iterator[tuple[Value, ...]]:
        """Return the keys of all listed cells, in the order of the cells."""
        return listed_cells(self.factors)

    @property
    def listed(self) -> int:
        """The number of released cells; an InternalError if the groups are discovered in the data."""
        if self.cells is None:
            raise InternalError("the groups of the plan are not listed.")
        return self.cells

    @property
    def measured_cells(self) -> int:
        """The number of cells that the engine measures: the listed ones, and the rest if the plan has it."""
        return self.listed + self.rest

    @property
    def adds_up(self) -> bool:
        """True if the measured cells add up to the public size."""
        return self.size is not None and bool(self.keys)

    @property
    def halves(self) -> bool:
        """True if two measured cells add up to the public size: then one of them determines the other."""
        return self.adds_up and self.measured_cells == _TWO

    @property
    def groups(self) -> int:
        """The largest number of cells of one unit; 1 if each row is a unit.

        Without max_groups it is the number of listed cells. Discovered groups need max_groups.
        """
        table = self.table
        if table.unit is None or self.cells in (0, 1):
            return 1
        if self.cells is None:
            return table.groups_of([key.name for key in self.keys if key.values is None])
        if table.max_groups is None:
            table.check_limited()
            return self.cells
        return min(table.max_groups, self.cells)

    @property
    def cap(self) -> int | None:
        """The number of rows a unit up to which the rows that the reach cuts are measured; None if they are not."""
        caps = [measure.beyond for bundle in self.bundles for measure in bundle.measures if measure.beyond is not None]
        return caps[0] if caps else None

    @property
    def weighs_rows(self) -> bool:
        """True if a row's weight depends on its unit alone, so that rows are weighed one by one (see `measures`)."""
        return (
            self.table.unit is not None
            and self.table.reach is not None
            and self.table.max_rows is None
            and not self.open
        )
