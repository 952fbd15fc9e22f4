"""A plan: a checked query in parts that engines, accountants and people can read. Immutable.

    SQL ──parse──► Plan ──price──► noise, events ──ledger──► charge ──engine──► exact integers ──noise──► Release

If groups are discovered in the data, the engine calls back into `results.release` to choose them: it passes the exact
numbers of units of the groups, and gets back the groups that partition selection keeps.

A query reads the data through **measures** only. A measure is an integer for each (unit, cell). A cell is one
combination of public keys. The engine adds the integers up over units. The contribution of one unit to a cell is
bounded here, in one way for all measures:

* A row's value is clamped to its bounds and put on the grid, x = ⌊value/step + ½⌋. It is clamped again as an integer to
  [low, high] and becomes v = sign·x + offset. Rows with NULL or NaN count for nothing; but if the measure has an
  `absent`, they count like other rows, with `absent` as their v.
* The values of a unit's n rows in the cell are added up to V. If n > max_rows, V·max_rows/n is used instead. This times
  2^fraction_bits, truncated toward zero, is the unit's integer. Its size is at most `contribution` =
  max_rows·max|v|·2^fraction_bits.
* With a `reach`, every row has the weight min(1, reach/N, max_rows/n), the smallest and never a product. N is the
  number of the unit's rows in all cells that it keeps, with or without a value. A limit that is not given does not
  count. V is the sum of the weighted values. If there is no max_rows and all cells are listed, the weight depends on
  the unit alone: each row is truncated alone, v·reach·2^fraction_bits/N toward zero, and nothing is grouped by unit and
  cell. Otherwise V·2^fraction_bits is truncated. The weights of a unit's rows add up to at most min(max_rows, reach) in
  a cell and to at most reach in all cells. Truncation makes no integer larger. So `contribution` is
  min(max_rows, reach)·max|v|·2^fraction_bits, and over all cells the unit's integers add up to at most `total` =
  reach·max|v|·2^fraction_bits.
* A measure with `beyond` = C > reach is of the rows that a reach R cuts, up to C rows a unit. It needs a plan that
  weighs rows one by one. A row of a unit with N > R rows has the weight (min(N, C) - R)/N, and all other rows have the
  weight 0. Each row is truncated alone, v·(min(N, C) - R)·2^fraction_bits/N toward zero. The weights of a unit's N rows
  add up to min(N, C) - R ≤ C - R in all cells together, whatever N is. Truncation makes no integer larger. So both
  `contribution` and `total` are (C - R)·max|v|·2^fraction_bits, those of a reach of C - R. The two weights of a row of
  such a unit add up to R/N + (min(N, C) - R)/N = min(1, C/N), its weight with a reach of C. Its two integers are
  truncated apart: in absolute value their sum is less than 2 below |v|·min(1, C/N)·2^fraction_bits.
* A measure with `per="unit"` is 2^fraction_bits for a unit that has at least one row in the cell (with a `value` that
  is not NULL), and `contribution` is 2^fraction_bits. With a reach below the number k of cells that the unit keeps it
  is ⌊reach·2^fraction_bits/k⌋, and `total` is reach·2^fraction_bits. That does not apply to discovered groups.
* A measure with `bins` > 1 is a vector. `value` is the number of a row's bin, and there is one integer for each bin:
  that of the unit's rows in the bin, scaled by max_rows/n as above, where n counts the unit's rows of all bins in the
  cell, and by reach/N. So the sum of the vector is at most `contribution`.
* A measure with `per="value"` counts the different values in the cell. At most max_rows of the values that a unit's
  rows have there are kept, chosen by the keyed hash, and a value counts once for all units that have it. That is not a
  sum over units, but one unit more or less still changes it by at most `contribution` = max_rows. With a reach, at most
  reach of the unit's pairs (cell, value) are kept, chosen by the same hash.
* A measure with `per="size"` or `per="groups"` is a vector for the whole answer: one integer in the bin of the number
  of the unit's rows, or of its groups (see `unit_sizes`).
* At most max_groups of a unit's cells are kept, chosen by a keyed hash, not by the values.

Measures that are bounded together form a **bundle**: `contribution` bounds the sum of absolute values of a unit's
integers in one cell over all measures of the bundle. One bundle has one noise scale. A bundle may be measured coarsely:
integers are added up over blocks of bins, or over the keys that it does not name, before they get noise. Every integer
goes into one sum, so the bound on the sum of absolute values still holds.

**A public size.** If the number of rows (or of units) is public, `size` is that number. A bundle may then be
`combined`: its measures, with that of all rows first, give one integer that gets noise, and `contribution` bounds the
change of that integer if one row changes (`aggregates.sized_moments`). The cells of a grouped plan with a size add up
to it: each row is in one of them. A row whose key is not listed counts under the value of the key's `default`. With
`rest`, the rows in no other cell are one more cell, after the listed ones.

A key without listed values is **open**: its groups are discovered in the data, privately (see
`pricing.partition_selection`). The listed values of several keys may be **tuples**: then the cells are these
combinations, not the product of the keys' values (`key_tuples`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from math import prod
from typing import Literal, TypeAlias

from tacit.errors import InternalError, show_name
from tacit.query.expressions import Expression, Kind, Value
from tacit.query.joins import Join
from tacit.query.key_tuples import Determined, KeyTuples, listed_cells
from tacit.query.policy import TablePolicy
from tacit.query.rank_target import Draw, RankTarget
from tacit.query.unit_tables import UnitTable
from tacit.safe_text import visible

_TWO = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One integer for each (unit, cell); see the module. If `value` is None, each row counts as v = 1.

    `beyond` is the number C of rows a unit up to which the rows that a reach cuts are measured; None for the rows that
    the reach keeps.
    """

    value: Expression | None
    step: Fraction = Fraction(1)
    low: int = 1
    high: int = 1
    sign: Literal[1, 0, -1] = 1
    offset: int = 0
    absent: int | None = None
    per: Literal["row", "unit", "value", "size", "groups"] = "row"
    fraction_bits: int = 0
    bins: int = 1
    beyond: int | None = None

    def __repr__(self) -> str:
        """Return all fields, but `beyond` only if there is one, because ledgers hold hashes of this text."""
        return _text(self, "beyond")

    @property
    def extremes(self) -> tuple[int, int]:
        """The smallest and the largest v of one row."""
        ends = [self.sign * self.low + self.offset, self.sign * self.high + self.offset]
        ends += [] if self.absent is None else [self.absent]
        return min(ends), max(ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """The form of the one integer of a bundle that gets noise; see `aggregates.sized_moments`.

    `size` is the public number of rows, which the first measure must have counted. The integer is a multiple of `step`,
    divided by it.
    """

    form: Literal["total", "spread"]
    size: int
    step: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Measures that share one noise scale; `contribution` bounds Σ|integers| of one unit in one cell.

    `total` bounds the same sum over all cells if the table has a reach; None stands for no bound but that of a cell.
    `block` is the number of neighbouring bins that are added up to one integer. `over` are the indices of the factors
    by which the integers stay separate; None stands for all. If the bundle is `combined`, one integer gets noise, and
    `contribution` bounds its change. With `rank` the integers get no noise: a rank among them is drawn instead (see
    `rank_law`). If it has `values`, its bins or its measures are totals of so many values; no integer gets noise,
    and one of the values is drawn (see `choice_law`): one with a large total, or with a small one if `least`.
    """

    measures: tuple[Measure, ...]
    contribution: int
    nonnegative: bool
    weight: Fraction = Fraction(1)
    block: int = 1
    over: tuple[int, ...] | None = None
    total: int | None = None
    combined: Combination | None = None
    rank: RankTarget | None = None
    values: int | None = None
    least: bool = False

    def __repr__(self) -> str:
        """Return all fields as older versions did, because ledgers hold hashes of this text.

        There `contribution` was named `reach`, and there was no `total`, `combined`, `rank`, `values` or `least`.
        """
        fields = {
            "measures": self.measures,
            "reach": self.contribution,
            "nonnegative": self.nonnegative,
            "weight": self.weight,
            "block": self.block,
            "over": self.over,
            **({} if self.total is None else {"total": self.total}),
            **({} if self.combined is None else {"combined": self.combined}),
            **({} if self.rank is None else {"rank": self.rank}),
            **({} if self.values is None else {"values": self.values}),
            **({"least": True} if self.least else {}),
        }
        return f"Bundle({', '.join(f'{name}={value!r}' for name, value in fields.items())})"

    @property
    def width(self) -> int:
        """The number of integers that are released in each cell."""
        if self.combined is not None:
            return 1
        if self.rank is not None:
            return self.rank.integers
        return sum(-(-measure.bins // self.block) for measure in self.measures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A group key: its name in the result, its expression over a row, and its public values, in order.

    A key without values is open: partition selection discovers its values. `default` is the index of the value under
    which rows with other values count; None if they do not count.
    """

    name: str
    expression: Expression
    values: tuple[Value, ...] | None
    default: int | None = None

    def __repr__(self) -> str:
        """Return all fields, but `default` only if there is one, because ledgers hold hashes of this text."""
        return _text(self, "default")

    @property
    def listed(self) -> tuple[Value, ...]:
        """The values of the key; an InternalError if it is open."""
        if self.values is None:
            raise InternalError(f"the key {show_name(self.name)} has no listed values.")
        return self.values


Bounds: TypeAlias = tuple[Fraction, Fraction]
"""The lower and the upper bound of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """An aggregate function with its values, their bounds, and its parameter, such as the q of a quantile.

    For a table that adds up, `sizes` are the numbers of values of its keys. `size` is the public number of rows or
    units that the aggregate uses; with `rest`, one more cell of the table has the rows in no other cell. `draw` says
    how a quantile is drawn.
    """

    function: str
    values: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()
    parameter: Fraction | None = None
    sizes: tuple[int, ...] = ()
    size: int | None = None
    rest: bool = False
    draw: Draw | None = None

    def __repr__(self) -> str:
        """Return all fields, but the last three only if they are set, because ledgers hold hashes of this text."""
        return _text(self, "size", "rest", "draw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One aggregate of the query, its SQL text, and the indices of the bundles that it is computed from.

    `cut` is the index of the bundle that measures the rows that its reach cuts; None if they are not measured.
    """

    ask: Ask
    bundles: tuple[int, ...]
    sql: str
    cut: int | None = None

    def __repr__(self) -> str:
        """Return all fields, but `cut` only if there is one, because ledgers hold hashes of this text."""
        return _text(self, "cut")


def _text(value: Measure | Aggregate | Key | Ask | Plan, *optional: str) -> str:
    """Return the text that a dataclass prints, without optional fields that have their default."""
    names = [
        each.name for each in fields(value) if each.name not in optional or getattr(value, each.name) != each.default
    ]
    return f"{type(value).__qualname__}({', '.join(f'{name}={getattr(value, name)!r}' for name in names)})"


@dataclass(frozen=True, slots=True)
class Noisy:
    """An output: the released aggregate at this index of the plan."""

    place: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Grouped:
    """An output: the key at this index of the plan."""

    place: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Constantly:
    """An output: a constant."""

    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Computed:
    """An output: a function of released values. It is post-processing, which costs nothing."""

    function: str
    arguments: tuple[Output, ...]
    kind: Kind


Output: TypeAlias = Noisy | Grouped | Determined | Constantly | Computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One term of ORDER BY, over released values."""

    by: Output
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A query that tacit can answer privately.

    `sql` is the query, generated from the parsed tree without comments. `where` keeps the rows for which it is true. A
    cell is one element of the product of the `factors`, in that order; without keys there is one cell. With `joins`,
    each row of `table` is combined with the matching rows of other tables, and `table` has the columns of all of them.
    The keys `within` make no cells, but only rows with one of their listed values count. `size` is the public number of
    rows or units, if the plan uses it (see the module). `tuples` are listed combinations of keys; their places count
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
        return _text(self, "within", "size", "rest", "tuples", "units")

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
            return table.groups
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
        """True if a row's weight depends on its unit alone, so that rows are weighed one by one (see the module)."""
        return (
            self.table.unit is not None
            and self.table.reach is not None
            and self.table.max_rows is None
            and not self.open
        )
