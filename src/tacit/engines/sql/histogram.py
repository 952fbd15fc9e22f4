"""A measure with bins as a statement: one pass that returns a histogram.

    layers, located  as in `statement`, with the number of a row's bin as d0, or NULL if it has no bin
    kept or chosen   the cells that each unit keeps, by the same hashes of the same rows as for any other measure,
                     including rows without a bin, so that all statements of a plan keep the same cells
    pairs            by (unit, cell, bin): n, the number of rows
    weighed          the same with t, the number of the unit's rows in all bins of the cell
    answer           by (cell, bin): the sums over units of each unit's integers

**A unit's integer** in a bin is n·2^fraction_bits if t ≤ max_rows, and otherwise n·F // t with
F = max_rows·2^fraction_bits ≤ 2^62 (`measures.check` refuses larger ones). Over the bins of a cell Σn = t, so the
integers add up to at most F: t·2^fraction_bits ≤ F in the first case, Σ n·F/t = F in the second, and `//` rounds down.

**Nothing overflows.** n ≤ t. In the first case n·2^fraction_bits ≤ F ≤ 2^62. If t·F ≤ 2^60, n·F fits 64 bits.
Otherwise it is computed in 128 bits, n·F < 2^63·2^62, and n·F // t ≤ F fits 64 bits again. The sum over units is exact
in every dialect.

**With a reach** R a unit's integer is n·2^fraction_bits·min(1, max_rows/t, R/T), rounded down, where T counts its rows
in all cells, with and without a bin (`measures.scaled_down`). Without max_rows rows are weighed one by one (`weights`).

If every row is a unit, the rows of a bin are counted.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.builder import SQL, CommonTables, cast, column, infix, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.key_lists import cell_of, key_joins, key_lists
from tacit.engines.sql.measures import MeasureGrid, UnitLimits, scaled_down, unclamped
from tacit.engines.sql.statement import (
    MeasureColumns,
    checked_rows,
    chooses_cells,
    keep_by_words,
    kept_rows,
    located_rows,
    reach_of,
    weighs,
    with_clause,
)
from tacit.engines.sql.weights import weighed_rows, weight
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Constant, Value
from tacit.query.histograms import BinRows, Counts, dense_blocks, groups_at_once
from tacit.query.plan import Bundle, Measure, Plan

_NEAR = 2**60
_PARAMETERS = 4


@dataclass(frozen=True, slots=True)
class BinStatement:
    """A statement that returns rows (cell, bin, sum), and its parameters."""

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    cells: int
    bins: int
    factor: int
    draws: bool

    def read(self, rows: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the integers of every bin of every cell, the bin changing fastest; a missing bin is 0."""
        integers = [0] * (self.cells * self.bins)
        for cell, number, total in rows:
            integers[cell * self.bins + number] = total * self.factor
        return [integers]

    def blocks(self, batches: Iterable[BinRows]) -> Iterator[Counts]:
        """Yield the same integers, those of some cells at a time, from batches of the rows of `sorted_sql`."""
        return dense_blocks(batches, self.cells, self.bins, self.factor)

    @property
    def sorted_sql(self) -> str:
        """The statement with its rows sorted by cell; one block needs no order."""
        return self.sql if self.cells <= groups_at_once(self.bins) else f"{self.sql}\nORDER BY 1"


def split(plan: Plan) -> list[tuple[tuple[int, ...], Plan]]:
    """Return a plan for each statement, with the indices of its measures among those of the whole plan.

    Measures that are plain sums share a statement. If rows are weighed one by one, counts of units share a second one.
    A measure with bins, or a count of distinct values, has its statement alone, and equal ones share it.
    """
    requested = [measure for bundle in plan.bundles for measure in bundle.measures]
    indices: dict[Measure | str, list[int]] = {}
    for index, measure in enumerate(requested):
        shared = "units" if plan.weighs_rows and measure.per == "unit" else "sums"
        indices.setdefault(measure if measure.bins > 1 or measure.per == "value" else shared, []).append(index)
    return [
        (
            tuple(some),
            replace(plan, bundles=(_bundle([requested[i] for i in some] if isinstance(key, str) else [key]),)),
        )
        for key, some in indices.items()
    ]


def _bundle(requested: Sequence[Measure]) -> Bundle:
    return Bundle(measures=tuple(requested), contribution=1, nonnegative=False)


def is_binned(plan: Plan) -> bool:
    """Return whether a plan of `split` is one measure with bins."""
    return plan.bundles[0].measures[0].bins > 1


def bin_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> BinStatement:
    """Return the statement of a plan with one measure with bins, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    measures.check(measure, checked_rows(plan, measure))
    check_bins(measure)
    located = located_rows(
        plan, types, MeasureColumns({bin_grid(measure): "d0"}, {}), dialect, coded=plan.table.unit is not None
    )
    if plan.table.unit is None:
        tables, last, summed = _by_row(plan, located, dialect)
    elif weighs(plan, [measure]):
        tables, last, summed = _by_weight(plan, located, measure, dialect)
    else:
        tables, last, summed = _by_unit(plan, located, measure, dialect)
    total = dialect.text(total_of(plan, measure, summed, dialect))
    sql = f"WITH {with_clause(tables)}\nSELECT cell, d0, {total} FROM {last} GROUP BY cell, d0"
    factor = 1 << measure.fraction_bits if plan.table.unit is None else 1
    return BinStatement(sql, key_lists(plan), plan.listed, measure.bins, factor, chooses_cells(plan))


def total_of(plan: Plan, measure: Measure, summed: SQL, dialect: Dialect) -> SQL:
    """Return the sum of the integers of units, or of rows if they are weighed; or the number of rows that are units."""
    if plan.table.unit is None:
        return dialect.total(summed)
    return dialect.bounded(summed, (1 if weighs(plan, [measure]) else plan.table.rows) << measure.fraction_bits)


def check_bins(measure: Measure) -> None:
    """Raise InvalidError unless a measure counts rows in bins."""
    if measure.per != "row" or measure.extremes != (1, 1):
        raise InvalidError("A measure with bins can only count rows.", argument="measure")


def bin_grid(measure: Measure) -> MeasureGrid:
    """Return the grid on which d is the number of a row's bin. If the value is `steps(…)`, use the grid of that call.

    Numbers beyond the bins are moved to the nearest bin, so that none is outside.
    """
    value = measure.value
    if value is None:
        raise InvalidError("A measure with bins needs a value.", argument="measure")
    if isinstance(value, Call) and value.function == "steps" and len(value.arguments) == _PARAMETERS:
        exponent, low, high = (end.value for end in value.arguments[1:] if isinstance(end, Constant))
        if isinstance(exponent, int) and isinstance(low, int) and isinstance(high, int) and high - low < measure.bins:
            return unclamped(MeasureGrid(value.arguments[0], Fraction(2) ** exponent, low, high))
    return MeasureGrid(value, Fraction(1), 0, measure.bins - 1)


def _by_row(plan: Plan, tables: CommonTables, dialect: Dialect) -> tuple[CommonTables, str, SQL]:
    """Return all common tables, the source of the answer, and the summand, if every row is a unit."""
    by = ", ".join([*(f"g{index}" for index in range(len(plan.keys))), "d0"])
    sums = ("sums", "", f"SELECT {by}, COUNT(*) AS n FROM located WHERE d0 IS NOT NULL GROUP BY {by}")
    select = f"SELECT {dialect.text(cell_of(plan))} AS cell, sums.* FROM sums{key_joins(plan, dialect)}"
    return [*tables, sums], f"({select}) AS found", column("n")


def _by_weight(plan: Plan, tables: CommonTables, measure: Measure, dialect: Dialect) -> tuple[CommonTables, str, SQL]:
    """Return all common tables, the source of the answer, and the summand, if rows are weighed one by one."""
    reach = reach_of(plan)
    tables, source = weighed_rows(*kept_rows(plan, tables, dialect), reach, dialect)
    return tables, f"{source} WHERE d0 IS NOT NULL", weight(reach, measure.fraction_bits, dialect)


def _by_unit(plan: Plan, tables: CommonTables, measure: Measure, dialect: Dialect) -> tuple[CommonTables, str, SQL]:
    """Return all common tables, the source of the answer, and the summand, if a column names the unit."""
    by_word = plan.listed <= dialect.most_bits
    source, has_bin = "located", "WHERE d0 IS NOT NULL "
    if chooses_cells(plan) and by_word:
        tables, source = keep_by_words(plan, tables, dialect)
        has_bin = "AND d0 IS NOT NULL "
    numbered = chooses_cells(plan) and not by_word
    every_row = numbered or plan.table.reach is not None
    pairs = f"SELECT u, cell, d0, COUNT(*) AS n FROM {source} {'' if every_row else has_bin}GROUP BY u, cell, d0"
    tables = [*tables, ("pairs", "", pairs)]
    if numbered:  # `pairs` has a row for each bin of a cell, so cells are ranked, not rows
        tables.append(("chosen", "", contribution_bounding.numbered(plan.groups, dialect, rank="DENSE_RANK")))
    last, totals = ("chosen" if numbered else "pairs"), ""
    if plan.table.reach is not None:
        tables.append(("everywhere", "", f"SELECT *, {rows_of_unit(dialect)} FROM {last}"))
        last, totals = "everywhere", ", rows_of_unit"
    t = f"CAST(SUM(n) OVER (PARTITION BY u, cell) AS {dialect.type_of('BIGINT')})"
    weighed = f"SELECT cell, d0, n, {t} AS t{totals} FROM {last}{' WHERE d0 IS NOT NULL' if every_row else ''}"
    return [*tables, ("weighed", "", weighed)], "weighed", integer_of(plan, measure, dialect)


def rows_of_unit(dialect: Dialect) -> str:
    """Return the number of a unit's rows in all its cells, with and without a bin."""
    return f"CAST(SUM(n) OVER (PARTITION BY u) AS {dialect.type_of('BIGINT')}) AS rows_of_unit"


def integer_of(plan: Plan, measure: Measure, dialect: Dialect, rows: str = "n") -> SQL:
    """Return a unit's integer in a bin, from its rows there, t, and with a reach rows_of_unit."""
    max_rows = plan.table.rows
    n, t, most = column(rows), column("t"), max_rows << measure.fraction_bits
    if plan.table.reach is not None:
        limits = UnitLimits(max_rows, plan.table.reach, measure.fraction_bits, 1)
        return scaled_down(lambda target: cast(n, target), t, column("rows_of_unit"), limits, dialect)
    branches = [(infix(exp.LTE, t, whole(max_rows)), infix(exp.Mul, n, whole(1 << measure.fraction_bits)))]
    if _NEAR // most > max_rows:
        near = dialect.quotient(infix(exp.Mul, n, whole(most)), t, "BIGINT")
        branches.append((infix(exp.LTE, t, whole(_NEAR // most)), near))
    far = infix(exp.Mul, cast(n, "HUGEINT"), whole(most, "HUGEINT"))
    return when(*branches, otherwise=cast(dialect.quotient(far, cast(t, "HUGEINT"), "HUGEINT"), "BIGINT"))
