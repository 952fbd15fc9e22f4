"""A question, checked and made of parts that engines, accountants and people can all read. Immutable.

    SQL ──parse──► Plan ──price──► noise, events ──ledger──► charge ──engine──► exact integers ──noise──► Release

The data are touched through **measures** only. A measure is an integer for each (unit, cell), a cell being one
combination of public keys; the engine adds it up over units. What one unit can add to a cell is bounded here,
once and for all measures:

* a row's value is clamped to its bounds, put on the grid, x = ⌊value/step + ½⌋, clamped again as an integer to
  [low, high], and becomes v = sign·x + offset; rows where it is NULL or NaN count for nothing, or, if the measure
  has an `absent`, they count like others, with that as their v;
* the values of a unit's n rows in the cell are added up to V; if n > max_rows, V·max_rows/n is taken instead.
  Times 2^fraction_bits, truncated toward zero, that is the unit's integer. Its size is at most `reach` =
  max_rows·max|v|·2^fraction_bits;
* a measure with `per="unit"` is 1 for a unit that has a row in the cell at all (where `value` is not NULL),
  and `reach` is 1;
* a measure with `bins` > 1 is a vector: `value` is the number of a row's bin, and there is one integer for each
  bin: that of the unit's rows in the bin, scaled by max_rows/n as above, n counting the unit's rows of all bins in
  the cell. So the vector's sum is at most `reach`;
* a measure with `per="value"` counts the different values in the cell: of the values that a unit's rows have
  there at most max_rows are kept, chosen by the keyed hash, and a value counts once, whichever units have it.
  That is no sum over units, but one unit more or less still moves it by at most `reach` = max_rows;
* of a unit's cells at most max_groups are kept, chosen by a keyed hash, not by the values.

Measures that are bounded together form a **bundle**: `reach` bounds the sum of absolute values of a unit's
integers in one cell over all measures of the bundle. One bundle has one noise scale. A bundle may be measured coarsely:
integers are added up over blocks of bins, or over the keys that it does not name, before they get their noise. Every
integer goes into one sum, so that the sum of absolute values stays as it is.

A key without listed values is **open**: its groups are found in the data, privately (see `selection`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from tacit.query.expressions import Expression, Kind, Value
from tacit.query.joins import Join
from tacit.query.policy import TablePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One integer for each (unit, cell); see the module. `value` None stands for the row itself: v = 1."""

    value: Expression | None
    step: Fraction = Fraction(1)
    low: int = 1
    high: int = 1
    sign: Literal[1, 0, -1] = 1
    offset: int = 0
    absent: int | None = None
    per: Literal["row", "unit", "value"] = "row"
    fraction_bits: int = 0
    bins: int = 1

    @property
    def extremes(self) -> tuple[int, int]:
        """The least and the largest v of one row."""
        ends = [self.sign * self.low + self.offset, self.sign * self.high + self.offset]
        ends += [] if self.absent is None else [self.absent]
        return min(ends), max(ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Measures that share one noise scale; `reach` bounds Σ|integers| of one unit in one cell, over all of them.

    `block` is how many neighbouring bins are added up to one integer; `over` are the places of the keys by which the
    integers stay apart, all keys if it is None.
    """

    measures: tuple[Measure, ...]
    reach: int
    nonnegative: bool
    weight: Fraction = Fraction(1)
    block: int = 1
    over: tuple[int, ...] | None = None

    @property
    def width(self) -> int:
        """How many integers there are in each cell."""
        return sum(-(-measure.bins // self.block) for measure in self.measures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Something to group by: its name in the result, how a row gets it, and the public values it may take, in order.

    Without values it is open: which values it takes is found privately.
    """

    name: str
    expression: Expression
    values: tuple[Value, ...] | None

    @property
    def listed(self) -> tuple[Value, ...]:
        """The values of a key that is not open."""
        if self.values is None:
            raise ValueError(f"the key {self.name} is open")
        return self.values


Bounds: TypeAlias = tuple[Fraction, Fraction]
"""The least and the largest value that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What an aggregate is asked: which it is, of what values with what bounds, and its parameter: a quantile's q.

    Of a table that adds up, `sizes` are how many values its keys have.
    """

    function: str
    values: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()
    parameter: Fraction | None = None
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One aggregate of the question, as it is written, and the places of the bundles that it is computed from."""

    ask: Ask
    bundles: tuple[int, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class Noisy:
    """In an output: the aggregate at this place of the plan, as released."""

    place: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Grouped:
    """In an output: the key at this place of the plan."""

    place: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Constantly:
    """In an output: a constant."""

    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Computed:
    """In an output: a function of released values; post-processing, which is free."""

    function: str
    arguments: tuple[Output, ...]
    kind: Kind


Output: TypeAlias = Noisy | Grouped | Constantly | Computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One term of ORDER BY, over released values."""

    by: Output
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A question that can be answered privately.

    `sql` is the question as we read it, regenerated without comments. `where` keeps the rows for which it is
    true. A cell is one element of the product of the keys' values, in that order; without keys there is one cell.
    With `joins` the rows are those of `table` with the rows that match of other tables, and `table` has all columns.
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

    @property
    def open(self) -> bool:
        """Whether the groups are to be found in the data, privately; listed keys then only narrow them down."""
        return any(key.values is None for key in self.keys)

    @property
    def cells(self) -> int | None:
        """How many cells are released; None if that is found in the data."""
        count = 1
        for key in self.keys:
            if key.values is None:
                return None
            count *= len(key.values)
        return count

    @property
    def listed(self) -> int:
        """How many cells are released, of a question whose groups are listed."""
        if self.cells is None:
            raise ValueError("the groups are not listed")
        return self.cells

    @property
    def groups(self) -> int:
        """In how many cells one unit can be: only one where each row is a unit."""
        if self.table.unit is None or self.cells in (0, 1):
            return 1
        return self.table.groups if self.cells is None else min(self.table.groups, self.cells)
