"""Measures: the integers of each unit that a query reads, and the bundles in which they get noise.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tacit.query.expressions import Expression
from tacit.query.plan.field_text import field_text
from tacit.query.rank_target import RankTarget


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
        return field_text(self, "beyond")

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
