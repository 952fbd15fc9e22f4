"""A measure with bins as a statement: one histogram pass.

    layers, located  as in `plan`, with the number of a row's bin as d0, NULL where it has none
    kept or chosen   the cells that each unit keeps: by the same hashes of the same rows as for any other measure, those
                     without a bin among them, so that all statements of a plan keep the same
    pairs            by (unit, cell, bin): n, how many rows
    weighed          with t, how many rows the unit has in all bins of the cell
    answer           by (cell, bin): the sums over units of each unit's integers

**A unit's integer** in a bin is n·2^fraction_bits if t ≤ max_rows, else n·F // t with F = max_rows·2^fraction_bits ≤
2^62 (what is larger is refused by `measures.check`). Over the bins of a cell Σn = t, so the integers add up to
at most F: t·2^fraction_bits ≤ F in the first case, Σ n·F/t = F in the second, and `//` rounds down.

**Nothing overflows.** n ≤ t. In the first case n·2^fraction_bits ≤ F ≤ 2^62. If t·F ≤ 2^60, n·F fits 64 bits; else it
is computed in 128 bits, n·F < 2^63·2^62, and n·F // t ≤ F fits 64 again. The sum over units is exact in every dialect.

If every row is its own unit the rows of a bin are counted.
"""
# ruff: noqa: S608 - every part of these texts is our own, or written by `rows` from checked expressions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.builder import SQL, cast, column, infix, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.measures import Grid
from tacit.engines.sql.statement import (
    Parts,
    Wanted,
    cell_of,
    chooses,
    kept_by_word,
    key_joins,
    lists_of,
    located,
    written,
)
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Constant, Value
from tacit.query.plan import Bundle, Measure, Plan

_NEAR = 2**60
_PARAMETERS = 4


@dataclass(frozen=True, slots=True)
class BinStatement:
    """A statement that gives rows (cell, bin, sum), and its parameters."""

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    cells: int
    bins: int
    factor: int
    draws: bool

    def read(self, rows: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the integers of every bin of every cell, the bin counting fastest; what is absent is 0."""
        found = [0] * (self.cells * self.bins)
        for cell, number, total in rows:
            found[cell * self.bins + number] = total * self.factor
        return [found]


def split(plan: Plan) -> list[tuple[tuple[int, ...], Plan]]:
    """Return plans for one statement each, together with the places of their measures among those of the whole plan.

    Measures that are plain sums are asked together. One with bins, or a count of different values, is asked alone, and
    once if there are equal ones.
    """
    asked = [measure for bundle in plan.bundles for measure in bundle.measures]
    places: dict[Measure | None, list[int]] = {}
    for place, measure in enumerate(asked):
        places.setdefault(measure if measure.bins > 1 or measure.per == "value" else None, []).append(place)
    return [
        (tuple(own), replace(plan, bundles=(_bundle([asked[place] for place in own] if one is None else [one]),)))
        for one, own in places.items()
    ]


def _bundle(asked: Sequence[Measure]) -> Bundle:
    return Bundle(measures=tuple(asked), reach=1, nonnegative=False)


def is_binned(plan: Plan) -> bool:
    """Whether a plan of `split` is one measure with bins."""
    return plan.bundles[0].measures[0].bins > 1


def bin_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> BinStatement:
    """Return the statement of a plan of one measure with bins, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    max_rows = 1 if plan.table.unit is None else plan.table.rows
    measures.check(measure, max_rows)
    checked_bins(measure)
    wanted = Wanted({grid_of(measure): "d0"}, {})
    make = _by_row if plan.table.unit is None else _by_unit
    parts, last, summed = make(plan, types, wanted, measure, dialect)
    total = dialect.text(total_of(plan, measure, summed, dialect))
    sql = f"WITH {written(parts)}\nSELECT cell, d0, {total} FROM {last} GROUP BY cell, d0"
    factor = 1 << measure.fraction_bits if plan.table.unit is None else 1
    return BinStatement(sql, lists_of(plan), plan.listed, measure.bins, factor, chooses(plan))


def total_of(plan: Plan, measure: Measure, summed: SQL, dialect: Dialect) -> SQL:
    """Return the sum over units of each unit's integer, or over rows of how many there are."""
    if plan.table.unit is None:
        return dialect.total(summed)
    return dialect.bounded(summed, plan.table.rows << measure.fraction_bits)


def checked_bins(measure: Measure) -> None:
    """Raise InvalidError unless it is rows that are counted in bins."""
    if measure.per != "row" or measure.extremes != (1, 1):
        raise InvalidError("measure", "bins of something else than rows", "bins in which rows are counted")


def grid_of(measure: Measure) -> Grid:
    """Return the grid on which d is the number of a row's bin: that of `steps` itself, which needs no second look.

    Numbers beyond the bins are moved to the nearest one, so that none is ever outside.
    """
    value = measure.value
    if value is None:
        raise InvalidError("measure", "bins of nothing", "bins of a value")
    if isinstance(value, Call) and value.function == "steps" and len(value.arguments) == _PARAMETERS:
        exponent, low, high = (part.value for part in value.arguments[1:] if isinstance(part, Constant))
        if isinstance(exponent, int) and isinstance(low, int) and isinstance(high, int) and high - low < measure.bins:
            return Grid(value.arguments[0], Fraction(2) ** exponent, low, high)
    return Grid(value, Fraction(1), 0, measure.bins - 1)


def _by_row(
    plan: Plan, types: Mapping[str, str], wanted: Wanted, measure: Measure, dialect: Dialect
) -> tuple[Parts, str, SQL]:
    """Return the parts, what the answer is made from, and what is summed, where every row is its own unit."""
    del measure
    parts = located(plan, types, wanted, dialect, coded=False)
    by = ", ".join([*(f"g{place}" for place in range(len(plan.keys))), "d0"])
    parts.append(("sums", "", f"SELECT {by}, COUNT(*) AS n FROM located WHERE d0 IS NOT NULL GROUP BY {by}"))
    found = f"SELECT {dialect.text(cell_of(plan))} AS cell, sums.* FROM sums{key_joins(plan, dialect)}"
    return parts, f"({found}) AS found", column("n")


def _by_unit(
    plan: Plan, types: Mapping[str, str], wanted: Wanted, measure: Measure, dialect: Dialect
) -> tuple[Parts, str, SQL]:
    """Return the same where units have rows."""
    by_word = plan.listed <= dialect.most_bits
    parts = located(plan, types, wanted, dialect, coded=True)
    source, there = "located", "WHERE d0 IS NOT NULL "
    if chooses(plan) and by_word:
        parts, source = kept_by_word(plan, parts, dialect)
        there = "AND d0 IS NOT NULL "
    numbered = chooses(plan) and not by_word
    counted = f"SELECT u, cell, d0, COUNT(*) AS n FROM {source} {'' if numbered else there}GROUP BY u, cell, d0"
    parts.append(("pairs", "", counted))
    if numbered:  # a cell has a row for each of its bins here, so that cells are numbered and not rows
        parts.append(("chosen", "", contribution_bounding.numbered(plan.groups, dialect, rank="DENSE_RANK")))
    t = f"CAST(SUM(n) OVER (PARTITION BY u, cell) AS {dialect.type_of('BIGINT')})"
    weighed = f"SELECT cell, d0, n, {t} AS t FROM {'chosen WHERE d0 IS NOT NULL' if numbered else 'pairs'}"
    return [*parts, ("weighed", "", weighed)], "weighed", integer_of(measure, plan.table.rows, dialect)


def integer_of(measure: Measure, max_rows: int, dialect: Dialect) -> SQL:
    """Return a unit's integer in a bin, from n and t."""
    n, t, most = column("n"), column("t"), max_rows << measure.fraction_bits
    branches = [(infix(exp.LTE, t, whole(max_rows)), infix(exp.Mul, n, whole(1 << measure.fraction_bits)))]
    if _NEAR // most > max_rows:
        near = dialect.quotient(infix(exp.Mul, n, whole(most)), t, "BIGINT")
        branches.append((infix(exp.LTE, t, whole(_NEAR // most)), near))
    far = infix(exp.Mul, cast(n, "HUGEINT"), whole(most, "HUGEINT"))
    return when(*branches, otherwise=cast(dialect.quotient(far, cast(t, "HUGEINT"), "HUGEINT"), "BIGINT"))
