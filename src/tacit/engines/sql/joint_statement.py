"""Plain measures and a measure with bins as one statement, which reads the rows once and exchanges them by unit once.

Spark computes a common table again for each use of it, and exchanges rows for each grouping. Separate statements for
sums and bins, each with one grouping by pairs and one ranking by unit, would exchange the rows four times.

    located   as in `statement`: u, cell, d of each grid, presence columns, and b, the number of the row's bin or NULL
    hashed    the same with h, the complement of the hash of the unit and the cell
    chosen    the rows of the cells that each unit keeps: the first max_groups, by h and cell
    placed    the same with the number of the row among all rows of its unit
    counted   the same with sums over the unit's rows in the cell: rows, d, and t, the number of rows with a bin
    marked    the same, with the sums only in the first row of a unit in a cell
    binned    by (unit, cell, bin): the number of rows in the bin, t, and the sums
    answer    by (cell, bin): the sums over units of each unit's integers; Python adds those of plain measures by cell

All windows are of one unit and sorted by h and cell, so that Spark exchanges and sorts the rows once. If a table is
bucketed by the unit, it exchanges nothing but the answer.

**The cells are those of other statements.** The complement of a 64-bit integer is decreasing and one-to-one, so h, cell
is the order of `contribution_bounding.numbered`: by descending hash, then by cell. DENSE_RANK numbers cells, and a unit
keeps exactly min(max_groups, cells it is in).

**The integers are those of `statement` and `histogram`.** A unit in a cell has one first row. That row is in one bin,
or without a bin, and so in exactly one row of `binned`. There n, the numbers of rows with values, and the sums of d are
those of `pairs` in `statement`. All other rows of `binned` have n = 0 and no sums of d. A unit without rows has the
integer 0 in every formula of `measures`: 0 times a factor, 0 divided by a number of rows that is not 0, or NULL, which
is not added. So the integers of plain measures, added up over the bins of a cell, have each unit's integer once. Which
row is the first is arbitrary, and decides only in which bin the integer is. The number of rows in a bin, t, and the
number of the unit's rows are the same as in `histogram`, and so are its integers. A row without a bin counts for no
bin: its b is NULL, and Python skips the bin of that row of the answer.

**Bounds.** A unit's integers are the same, so its contribution is the same. Every sum of the answer is over no more
units than in a statement by cell, so nothing overflows. Python adds the partial sums of a cell as exact integers.

**If rows are weighed** one by one, the sums of `weighted_statement` are grouped by (cell, b) instead of by cell. Each
row is in one bin or in none, so Python adds up the same sums. **If every row is a unit**, the same holds for the sums
over rows.

The rows are not combined before they are exchanged. So a unit with many rows is sorted by one task, as with a reach.
Measured on Spark, as CPU time and exchanged bytes over those of the plain `GROUP BY unit, key` in the same run, with 3
million rows of 100,000 units, 50 keys, and bounds of 3 groups of 5 rows: a median 2.4 and 1.3 (apart: 3.2 and 3.4), a
median with count, sum and average 2.6 and 1.9 (apart: 4.5 and 5.2). `bench/spark_cost.py` measures them.

Spark drops rows beyond max_groups cells before the exchange, for which it sorts them once more. Without that (setting
`windowGroupLimitThreshold`) CPU time was a twentieth less and the exchange twice as large.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.builder import SQL, CommonTables, column
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.histogram import bin_grid, check_bins, integer_of, is_binned, total_of
from tacit.engines.sql.key_lists import cell_of, key_joins, key_lists
from tacit.engines.sql.measures import Share
from tacit.engines.sql.statement import (
    MeasureColumns,
    checked_rows,
    chooses_cells,
    kept_rows,
    located_rows,
    measure_columns,
    reach_of,
    shares_of,
    sums_by,
    sums_of,
    weighs,
    with_clause,
)
from tacit.engines.sql.unit_sizes import counts_sizes
from tacit.engines.sql.weights import counted_rows, weight, weighted_shares
from tacit.query.expressions import Value
from tacit.query.histograms import Counts, dense_blocks, groups_at_once
from tacit.query.plan import Measure, Plan

JointRows: TypeAlias = Sequence[Sequence[int | None]]
"""Rows (cell, bin or NULL, sum of the bin, other sums …)."""

_FIRST = 3
"""The index of the first sum in a row of the answer, after the cell, the bin and the bin's sum."""


@dataclass(frozen=True, slots=True)
class JointStatement:
    """A statement that returns rows (cell, bin, sum of the bin, other sums …), and its parameters."""

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    shares: tuple[tuple[tuple[int, int], ...], ...]
    """For each plain measure the (column, factor) pairs whose products add up to it."""
    cells: int
    bins: int
    factor: int
    draws: bool

    def zeros(self) -> list[list[int]]:
        """Return a 0 for every plain measure and cell."""
        return [[0] * self.cells for _ in self.shares]

    def read(self, rows: JointRows) -> list[list[int]]:
        """Return the integers of the plain measures by cell, and then those of every bin of every cell.

        The bin changes fastest. A missing cell or bin is 0.
        """
        plain, bins = self.zeros(), [0] * (self.cells * self.bins)
        for cell, number, total in self._bin_rows(rows, plain):
            bins[cell * self.bins + number] = total * self.factor
        return [*plain, bins]

    def blocks(self, batches: Iterable[JointRows], plain: list[list[int]]) -> Iterator[Counts]:
        """Yield the integers of the bins, those of some cells at a time, from batches of the rows of `sorted_sql`.

        The integers of plain measures are added to `plain`. They are complete when all blocks were taken.
        """
        return dense_blocks((self._bin_rows(rows, plain) for rows in batches), self.cells, self.bins, self.factor)

    def _bin_rows(self, rows: JointRows, plain: list[list[int]]) -> list[tuple[int, int, int]]:
        """Return the cells, bins and sums of the rows with a bin; add the sums of plain measures to `plain`.

        Rows of no listed cell, whose cell is NULL, are left out, as in `statement`.
        """
        listed = [(row[0], row) for row in rows if row[0] is not None]
        for integers, shares in zip(plain, self.shares, strict=True):
            for cell, row in listed:
                integers[cell] += sum((row[index] or 0) * factor for index, factor in shares)
        return [(cell, row[1], row[2] or 0) for cell, row in listed if row[1] is not None]

    @property
    def sorted_sql(self) -> str:
        """The statement with its rows sorted by cell; one block needs no order."""
        return self.sql if self.cells <= groups_at_once(self.bins) else f"{self.sql}\nORDER BY 1"


Part = tuple[tuple[int, ...], Plan]
"""A plan of `histogram.split`, and the indices of its measures."""


def joined_parts(parts: Sequence[Part], dialect: Dialect) -> list[Part]:
    """Return the parts of a plan with its plain measures and its first measure with bins as one part, if possible.

    The measure with bins is the last of the part. Its indices follow those of the plain measures.
    """
    plain = next((part for part in parts if _is_plain(part[1])), None)
    binned = next((part for part in parts if is_joint(part[1], dialect)), None)
    if plain is None or binned is None:
        return list(parts)
    bundle = replace(plain[1].bundles[0], measures=_requested(plain[1]) + _requested(binned[1]))
    joint = (plain[0] + binned[0], replace(plain[1], bundles=(bundle,)))
    return [joint, *(part for part in parts if part is not plain and part is not binned)]


def is_joint(plan: Plan, dialect: Dialect) -> bool:
    """Return whether a plan of `joined_parts` has a measure with bins, and its engine reads all rows once."""
    last = replace(plan, bundles=(replace(plan.bundles[0], measures=_requested(plan)[-1:]),))
    return dialect.joins_bins and is_binned(last) and not counts_sizes(last) and not plan.rest


def _is_plain(plan: Plan) -> bool:
    """Return whether a plan has plain measures, which are weighed if the measures with bins are."""
    first = _requested(plan)[0]
    return first.bins == 1 and first.per != "value" and weighs(plan, _requested(plan)) == plan.weighs_rows


def _requested(plan: Plan) -> tuple[Measure, ...]:
    return plan.bundles[0].measures


@dataclass(frozen=True, slots=True)
class _Answer:
    """The common tables and the source of the answer, the sums of each plain measure, and the sum of a bin."""

    tables: CommonTables
    source: str
    shares: list[list[Share]]
    total: SQL
    factor: int = 1


def joint_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> JointStatement:
    """Return the statement of a plan whose last measure alone has bins, or raise InvalidError."""
    *plain, binned = _requested(plan)
    for measure in (*plain, binned):
        measures.check(measure, checked_rows(plan, measure))
    check_bins(binned)
    needed, grid = measure_columns(plain), bin_grid(binned)
    b = needed.grids.get(grid, "b")
    columns = MeasureColumns({**needed.grids, grid: b}, needed.present)
    located = located_rows(plan, types, columns, dialect, coded=plan.table.unit is not None)
    build = _of_rows if plan.table.unit is None else _of_weighed_rows if weighs(plan, [binned]) else _of_units
    answer = build(plan, located, columns, b, dialect)
    texts = dict.fromkeys(dialect.text(sql) for terms in answer.shares for sql, _ in terms)
    places = {text: index for index, text in enumerate(texts, _FIRST)}
    items = ", ".join(["cell", b, dialect.text(answer.total), *places])
    sql = f"WITH {with_clause(answer.tables)}\nSELECT {items} FROM {answer.source} GROUP BY cell, {b}"
    shares = tuple(tuple((places[dialect.text(sql)], factor) for sql, factor in terms) for terms in answer.shares)
    return JointStatement(
        sql, key_lists(plan), shares, plan.listed, binned.bins, answer.factor, draws=chooses_cells(plan)
    )


def _of_rows(plan: Plan, tables: CommonTables, columns: MeasureColumns, b: str, dialect: Dialect) -> _Answer:
    """Return the answer if every row is a unit."""
    *plain, binned = _requested(plan)
    by = [*(f"g{index}" for index in range(len(plan.keys))), b]
    tables = [*tables, ("sums", "", sums_by(by, columns, plain, "located", dialect, counted=True))]
    source = f"(SELECT {dialect.text(cell_of(plan))} AS cell, sums.* FROM sums{key_joins(plan, dialect)}) AS found"
    shares = [shares_of(plan, measure, columns, dialect) for measure in plain]
    return _Answer(tables, source, shares, dialect.total(column("n")), 1 << binned.fraction_bits)


def _of_weighed_rows(plan: Plan, tables: CommonTables, columns: MeasureColumns, b: str, dialect: Dialect) -> _Answer:
    """Return the answer if rows are weighed one by one."""
    del b
    *plain, binned = _requested(plan)
    reach = reach_of(plan)
    tables = counted_rows(*kept_rows(plan, tables, dialect), reach)
    parts = [
        weighted_shares(measure, columns.names(measure), reach, measure.high - measure.low, dialect)
        for measure in plain
    ]
    total = total_of(plan, binned, weight(reach, binned.fraction_bits, dialect), dialect)
    return _Answer(tables, "weighed", [[*part.every, *part.heavy] for part in parts], total)


def _of_units(plan: Plan, tables: CommonTables, columns: MeasureColumns, b: str, dialect: Dialect) -> _Answer:
    """Return the answer if a column names the unit and its sums in a cell are bounded."""
    *plain, binned = _requested(plan)
    by = ["h", "cell"] if chooses_cells(plan) else ["cell"]
    source = "located"
    if chooses_cells(plan):
        tables, source = [*tables, *contribution_bounding.ranked_rows(plan.groups, dialect)], "chosen"
    has_reach = plan.table.reach is not None
    sums = sums_of(columns, plain, dialect, one_unit=True, counted=has_reach and bool(plain))
    tables += [
        ("placed", "", _placed(source, by, has_reach=has_reach)),
        ("counted", "", _counted(["u", *by], b, sums)),
        ("marked", "", _marked(b, sums, dialect, has_reach=has_reach)),
        ("binned", "", _binned(b, sums, has_reach=has_reach)),
    ]
    shares = [shares_of(plan, measure, columns, dialect) for measure in plain]
    total = total_of(plan, binned, integer_of(plan, binned, dialect, rows="rows_in_bin"), dialect)
    return _Answer(tables, "binned", shares, total)


def _placed(source: str, by: Sequence[str], *, has_reach: bool) -> str:
    """Return a SELECT of the rows with their numbers in their units, and with a reach the numbers of rows of these."""
    rows = ", COUNT(*) OVER (PARTITION BY u) AS rows_of_unit" if has_reach else ""
    order = ", ".join(by)
    return f"SELECT *, ROW_NUMBER() OVER (PARTITION BY u ORDER BY {order}) AS place_of_row{rows} FROM {source}"


def _counted(by: Sequence[str], b: str, sums: Mapping[str, str]) -> str:
    """Return a SELECT of the rows with the sums over their units' rows in their cells."""
    window = f"OVER (PARTITION BY {', '.join(by)})"
    totals = {"first_place": "MIN(place_of_row)", "t": f"COUNT({b})", **sums}
    return f"SELECT *, {', '.join(f'{sql} {window} AS {name}' for name, sql in totals.items())} FROM placed"


def _marked(b: str, sums: Mapping[str, str], dialect: Dialect, *, has_reach: bool) -> str:
    """Return a SELECT of the rows with the sums only in the first row of a unit in a cell.

    In other rows numbers of rows are 0, and sums of d are NULL.
    """
    zero = f"CAST(0 AS {dialect.type_of('BIGINT')})"
    first = "CASE WHEN place_of_row = first_place THEN"
    items = [f"{first} {name}{f' ELSE {zero}' if name.startswith('n') else ''} END AS {name}" for name in sums]
    cells = f"CAST(SUM({first} 1 ELSE 0 END) OVER (PARTITION BY u) AS {dialect.type_of('BIGINT')}) AS cells_of_unit"
    kept = ["u", "cell", b, "t", *(["rows_of_unit", cells] if has_reach else [])]
    return f"SELECT {', '.join([*kept, *items])} FROM counted"


def _binned(b: str, sums: Mapping[str, str], *, has_reach: bool) -> str:
    """Return a SELECT of the rows in each bin of a unit in a cell, with the sums that `_marked` left."""
    names = ["t", *(["rows_of_unit", "cells_of_unit"] if has_reach else []), *sums]
    items = ", ".join(f"MAX({name}) AS {name}" for name in names)
    return f"SELECT u, cell, {b}, COUNT({b}) AS rows_in_bin, {items} FROM marked GROUP BY u, cell, {b}"
