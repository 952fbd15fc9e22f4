"""A plan as one statement that returns exact integers.

    layers   the table's rows, with all values that the query computes from them                       (`layers`)
    located  the rows that count (a unit, listed keys, WHERE true): u, cell, d of each grid, and presence columns
    kept     the cells that each unit keeps, if it may not keep all                       (`contribution_bounding`)
    pairs    by (unit, cell): the number of rows, and the sums of d
    answer   by cell: the sums over units of each unit's integers                                    (`measures`)

With a reach and without max_rows, rows have weights, and nothing is grouped by unit and cell (`weights`,
`weighted_statement`). With both, `everywhere` has `pairs` with the number of a unit's rows in all its cells.

Keys become codes by joins with the public lists, which are parameters. The joins compare values of equal types exactly;
NULL matches only where the list has it. A cell is one number: the codes in mixed radix. Units are grouped by their
exact values. The choice of cells reads `located` twice, so it is materialized; if a unit may keep all cells, nothing is
chosen. If every row is a unit, rows are summed by their keys, and the sums are joined with the lists: DuckDB groups
dictionaries of text faster than it joins them.

Measured as CPU time over that of the plain `GROUP BY unit, key` in the same run, 10 million rows, a million units, 50
text keys, count, sum and average bounded to 3 groups of 5 rows, from a DuckDB file and from Parquet: integer units
1.1 to 1.4, text units 1.2 to 1.5. If each row is a unit, d is a double (`double_sums`), which takes 1.2 times the CPU
time of `GROUP BY key` from Parquet. For the codes, `list_position` and CASE took longer than the join from 50 keys on.
VALUES takes 5 s to parse for 100,000 keys; a list as a parameter takes 0.2 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from tacit.arrays import WideInts
from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.builder import (
    SQL,
    CommonTables,
    column,
    infix,
    not_null,
    real,
    when,
)
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.double_sums import double_on_grid, double_sum, most_rows, sums_doubles
from tacit.engines.sql.integer_columns import integer_column, weighted_sum
from tacit.engines.sql.key_lists import (
    all_keys,
    cell_of,
    join_with_list,
    key_joins,
    key_lists,
    list_name,
    list_with_codes,
)
from tacit.engines.sql.layers import Layers
from tacit.engines.sql.measures import MeasureGrid, Share, Tally
from tacit.errors import InternalError
from tacit.query.aggregates.released_columns import largest
from tacit.query.expressions import Expression, Value
from tacit.query.plan import Measure, Plan

SOURCE = "data"
"""The view through which a statement reads the table."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, its parameters, and for each measure the (column, factor) pairs whose products add up to it."""

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    shares: tuple[tuple[tuple[int, int], ...], ...]
    cells: int
    draws: bool
    """True if cells are chosen, so that the statement has two more parameters, the keys h0 and h1 of the hash."""
    limits: tuple[tuple[int, int], ...] = ()
    """Columns with numbers of rows, each with the largest number for which the sums are exact (`double_sums`)."""
    in_integers: Callable[[], Statement] | None = None
    """Returns the statement to run instead if a limit is exceeded."""

    def read(self, batches: Iterable[Sequence[Sequence[Any]]]) -> list[list[int]] | None:
        """Return the measures' integers from batches of rows (cell, sums …), or None if the sums are not exact.

        A missing cell is 0. Rows of no listed cell, whose cell is NULL, are left out.
        """
        totals: list[WideInts] = [np.zeros(self.cells, dtype=np.int64) for _ in self.shares]
        for batch in batches:
            cells, *sums = zip(*batch, strict=True)
            listed = np.array([cell is not None for cell in cells])
            columns = list(map(integer_column, (cells, *sums)))
            if not self._is_exact(columns):
                return None
            for place, shares in enumerate(self.shares):
                part = weighted_sum(columns, shares, len(batch))
                if part.dtype != totals[place].dtype:
                    totals[place] = totals[place].astype(object)
                totals[place][columns[0][listed]] = part[listed]
        return [total.tolist() for total in totals]

    def _is_exact(self, columns: Sequence[WideInts]) -> bool:
        """Return whether no number of rows is above its limit, so that the sums in these columns are exact."""
        return all(largest(columns[column]) <= most for column, most in self.limits)


@dataclass(frozen=True, slots=True)
class MeasureColumns:
    """The columns that measures need of each row: d on some grids, and whether some expressions are present."""

    grids: Mapping[MeasureGrid, str]
    present: Mapping[Expression, str]
    doubles: frozenset[MeasureGrid] = frozenset()
    """The grids whose d are doubles."""

    def names(self, measure: Measure) -> tuple[str | None, str | None]:
        """Return the column whose values are counted (None: all rows) and the column that is summed (None: nothing)."""
        grid, value = measures.grid_of(measure), measures.presence_of(measure)
        return (None if value is None else self.present[value]), (None if grid is None else self.grids[grid])


def statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> Statement:
    """Return the statement of a plan over a source with these columns and types, or raise InvalidError.

    It may have limits: above them, its sums are not exact.
    """
    return _statement(plan, types, dialect, doubles=plan.table.unit is None)


def integer_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> Statement:
    """Return the same statement with sums of integers only, which has no limits."""
    return _statement(plan, types, dialect, doubles=False)


def _statement(plan: Plan, types: Mapping[str, str], dialect: Dialect, *, doubles: bool) -> Statement:
    requested = [measure for bundle in plan.bundles for measure in bundle.measures]
    for measure in requested:
        measures.check(measure, checked_rows(plan, measure))
    needed = measure_columns(requested)
    if doubles:
        needed = replace(needed, doubles=frozenset(grid for grid in needed.grids if sums_doubles(grid, dialect)))
    build = _by_row if plan.table.unit is None else _by_unit
    tables, last = build(plan, types, needed, requested, dialect)
    shares = [shares_of(plan, measure, needed, dialect) for measure in requested]
    texts = dict.fromkeys(dialect.text(sql) for terms in shares for sql, _ in terms)
    columns = {text: index for index, text in enumerate(texts, 1)}
    sql = f"WITH {with_clause(tables)}\nSELECT {', '.join(['cell', *columns])} FROM {last} GROUP BY cell"
    indexed = tuple(tuple((columns[dialect.text(sql)], factor) for sql, factor in terms) for terms in shares)
    limits = tuple((columns[dialect.text(sql)], most) for sql, most in _limits(requested, needed, dialect))
    return Statement(sql, key_lists(plan), indexed, plan.measured_cells, chooses_cells(plan), limits)


def _limits(requested: Sequence[Measure], needed: MeasureColumns, dialect: Dialect) -> Iterator[tuple[SQL, int]]:
    """Yield the number of rows of each sum of doubles, and the largest one for which the sum is exact."""
    for measure in requested:
        grid, (counted, _) = measures.grid_of(measure), needed.names(measure)
        if grid in needed.doubles:
            yield dialect.total(column(f"n{counted or ''}")), most_rows(grid)


def chooses_cells(plan: Plan) -> bool:
    """Return whether a unit may be in more cells than it may keep."""
    return plan.table.unit is not None and plan.groups < plan.listed


def with_clause(tables: CommonTables) -> str:
    """Return common tables as SQL, without the keyword WITH."""
    return ",\n".join(f"{name} AS {materialized}({sql})" for name, materialized, sql in tables)


def measure_columns(requested: Sequence[Measure]) -> MeasureColumns:
    """Return the columns that some measures need of each row."""
    grids = _numbered("d", (measures.grid_of(measure) for measure in requested))
    present: dict[Expression, str] = {}
    for measure in requested:  # d is NULL exactly where its value is
        grid, value = measures.grid_of(measure), measures.presence_of(measure)
        if grid is not None and value is not None:
            present.setdefault(value, grids[grid])
    others = (measures.presence_of(measure) for measure in requested)
    return MeasureColumns(grids, present | _numbered("p", (value for value in others if value not in present)))


def _numbered(letter: str, items: Iterable[T | None]) -> dict[T, str]:
    """Give each distinct item a name: the letter and a number."""
    distinct = dict.fromkeys(item for item in items if item is not None)
    return {item: f"{letter}{index}" for index, item in enumerate(distinct)}


def _by_row(
    plan: Plan, types: Mapping[str, str], needed: MeasureColumns, requested: Sequence[Measure], dialect: Dialect
) -> tuple[CommonTables, str]:
    """Return the common tables, and the source of the answer, if every row is a unit: sums by cell."""
    tables = located_rows(plan, types, needed, dialect, coded=False)
    by = [f"g{index}" for index in range(len(plan.keys))]
    tables.append(("sums", "", sums_by(by, needed, requested, "located", dialect)))
    cell = dialect.text(cell_of(plan))
    return tables, f"(SELECT {cell} AS cell, sums.* FROM sums{key_joins(plan, dialect)}) AS found"  # noqa: S608 - built here


def _by_unit(
    plan: Plan, types: Mapping[str, str], needed: MeasureColumns, requested: Sequence[Measure], dialect: Dialect
) -> tuple[CommonTables, str]:
    """Return the common tables, and the source of the answer, if a column names the unit: sums by unit and cell."""
    by_word = plan.listed <= dialect.most_bits
    tables = located_rows(plan, types, needed, dialect, coded=True)
    source = "located"
    if chooses_cells(plan) and by_word:
        tables, source = keep_by_words(plan, tables, dialect)
    counted = plan.table.reach is not None
    tables.append(("pairs", "", sums_by(["u", "cell"], needed, requested, source, dialect, counted=counted)))
    last = "pairs"
    if chooses_cells(plan) and not by_word:
        tables, last = [*tables, ("chosen", "", contribution_bounding.numbered(plan.groups, dialect))], "chosen"
    return (tables, last) if plan.table.reach is None else ([*tables, everywhere(last, dialect)], "everywhere")


def everywhere(source: str, dialect: Dialect) -> tuple[str, str, str]:
    """Return the common table of a unit's sums with the number of its rows in all its cells, and of these cells."""
    bigint = dialect.type_of("BIGINT")
    rows = f"CAST(SUM(n) OVER (PARTITION BY u) AS {bigint}) AS rows_of_unit"
    return "everywhere", "", f"SELECT *, {rows}, COUNT(*) OVER (PARTITION BY u) AS cells_of_unit FROM {source}"  # noqa: S608 - built here


def kept_rows(plan: Plan, tables: CommonTables, dialect: Dialect) -> tuple[CommonTables, str]:
    """Return the common tables, which end in `located`, and the rows of the cells that each unit keeps.

    If a unit may not keep all cells, the last common table has these rows.
    """
    if not chooses_cells(plan):
        return tables, "located"
    if plan.listed <= dialect.most_bits:
        tables, source = keep_by_words(plan, tables, dialect)
        return [*tables, ("kept_rows", "", f"SELECT located.* FROM {source}")], "kept_rows"  # noqa: S608 - built here
    chosen = contribution_bounding.numbered(plan.groups, dialect, rank="DENSE_RANK", source="located")
    return [*tables, ("kept_rows", "", chosen)], "kept_rows"


def weighs(plan: Plan, requested: Sequence[Measure]) -> bool:
    """Return whether rows are weighed one by one; `split` has separated counts of units, which group by cell."""
    return plan.weighs_rows and all(measure.per == "row" for measure in requested)


def reach_of(plan: Plan) -> int:
    """Return the reach of a plan that has one."""
    if plan.table.reach is None:
        raise InternalError("the plan has no reach.")
    return plan.table.reach


def keep_by_words(plan: Plan, tables: CommonTables, dialect: Dialect) -> tuple[CommonTables, str]:
    """Return the common tables, which end in `located`, with those of the choice added, and the source of kept rows."""
    *before, (name, _, sql) = tables
    words = [(word, "", text) for word, text in contribution_bounding.words(plan.groups, plan.listed, dialect)]
    return [*before, (name, dialect.materialized, sql), *words], contribution_bounding.KEPT


def located_rows(
    plan: Plan,
    types: Mapping[str, str],
    needed: MeasureColumns,
    dialect: Dialect,
    *,
    coded: bool,
    counted: Expression | None = None,
) -> CommonTables:
    """Return the common tables up to `located`: the lists of keys, the layers, and the rows that count.

    With `coded`, a row has the number of its cell, otherwise its keys. `counted` is the value, v, whose distinct values
    are counted. In v and in keys without a list, -0.0 becomes 0.0.
    """
    values = [grid.value for grid in needed.grids] + [*needed.present] + [key.expression for key in all_keys(plan)]
    values += [] if counted is None else [counted]
    layers = Layers(dialect, types, values if plan.where is None else [*values, plan.where])
    columns: dict[str, SQL] = {}
    for grid, name in needed.grids.items():
        raw = layers.raw_value(grid.value)
        is_double = grid in needed.doubles
        columns[name] = double_on_grid(raw, grid) if is_double else measures.on_grid(raw, grid, dialect)
    for value, name in needed.present.items():
        if name not in columns:
            columns[name] = when((not_null(layers.value(value)), exp.true()))
    if counted is not None:
        columns["v"] = _positive_zero(layers.value(counted), counted)
    tests = [] if plan.where is None else [layers.value(plan.where)]
    keys = [layers.value(key.expression) for key in all_keys(plan)]
    if plan.table.unit is not None:
        columns["u"] = layers.unit(plan.table.unit, plan.table.columns[plan.table.unit].kind)
        tests.append(not_null(columns["u"]))
    columns |= {"cell": cell_of(plan)} if coded else _key_columns(plan, keys)
    columns = columns or {"there": exp.true()}  # if only rows are counted, a row needs no column
    texts = {place: dialect.text(key) for place, key in enumerate(keys)}
    factors = plan.restrictions
    joins = "".join(f" JOIN {join_with_list(factor, texts, dialect)}" for factor in (factors if coded else ()))
    selects = layers.selects(SOURCE)
    located = _select(columns, tests, f"{selects[-1][0]}{joins}", dialect)
    lists = [(list_name(factor), "", list_with_codes(factor, all_keys(plan), dialect)) for factor in factors]
    return [*lists, *((name, "", select) for name, select in selects), ("located", "", located)]


def _select(columns: Mapping[str, SQL], tests: Sequence[SQL], source: str, dialect: Dialect) -> str:
    items = ", ".join(f"{dialect.text(sql)} AS {name}" for name, sql in columns.items())
    where = f" WHERE {' AND '.join(map(dialect.text, tests))}" if tests else ""
    return f"SELECT {items} FROM {source}{where}"  # noqa: S608 - built here


def _key_columns(plan: Plan, keys: Sequence[SQL]) -> dict[str, SQL]:
    """Return the columns g0 … of the keys.

    In a plan with discovered groups, -0.0 becomes 0.0: the order of rows must not decide which of the two is released.
    """
    return {
        f"g{index}": _positive_zero(value, key.expression) if plan.open else value
        for index, (value, key) in enumerate(zip(keys, plan.keys, strict=True))
    }


def _positive_zero(value: SQL, expression: Expression) -> SQL:
    if expression.kind != "real":
        return value
    return when((infix(exp.EQ, value, real(0.0)), real(0.0)), otherwise=value)


def sums_by(
    by: Sequence[str],
    needed: MeasureColumns,
    requested: Sequence[Measure],
    source: str,
    dialect: Dialect,
    *,
    counted: bool = False,
) -> str:
    """Return a SELECT with the numbers of rows and the sums of d that the measures need, for each group of rows.

    With `counted`, all rows are counted, even if no measure needs it.
    """
    sums = sums_of(needed, requested, dialect, one_unit="u" in by, counted=counted)
    items = [*by, *(f"{sql} AS {name}" for name, sql in sums.items())]
    return f"SELECT {', '.join(items)} FROM {source}" + (f" GROUP BY {', '.join(by)}" if by else "")  # noqa: S608 - built here


def sums_of(
    needed: MeasureColumns, requested: Sequence[Measure], dialect: Dialect, *, one_unit: bool, counted: bool = False
) -> dict[str, str]:
    """Return the numbers of rows (n …) and the sums of d (s …) that the measures need, by name.

    With `one_unit`, all rows are of one unit. With `counted`, all rows are counted, even if no measure needs it.
    """
    sums: dict[str, str] = {"n": "COUNT(*)"} if counted else {}
    grids = {name: grid for grid, name in needed.grids.items()}
    for measure in requested:
        present, summed = needed.names(measure)
        sums[f"n{present or ''}"] = f"COUNT({present or '*'})"
        if measure.absent is not None:
            sums["n"] = "COUNT(*)"
        if summed is not None:
            sums[f"s{summed}"] = dialect.text(_sum_of(summed, grids[summed], needed, dialect, one_unit=one_unit))
    return sums


def _sum_of(name: str, grid: MeasureGrid, needed: MeasureColumns, dialect: Dialect, *, one_unit: bool) -> SQL:
    """Return the sum of a column d."""
    if grid in needed.doubles:
        return double_sum(column(name))
    return dialect.bounded(column(name), grid.high - grid.low, one_unit=one_unit)


def shares_of(plan: Plan, measure: Measure, needed: MeasureColumns, dialect: Dialect) -> list[Share]:
    """Return the sums that add up to a measure."""
    counted, summed = needed.names(measure)
    present, steps = column(f"n{counted or ''}"), None if summed is None else column(f"s{summed}")
    tally = Tally(present if measure.absent is None else column("n"), present, steps)
    if plan.table.unit is None:
        return measures.of_row(measure, tally, dialect)
    reach = plan.table.reach
    if reach is not None and measure.per == "row":
        tally = replace(tally, everywhere=column("rows_of_unit"))
    elif reach is not None and not plan.open and plan.groups > reach:  # discovered groups release numbers of units
        tally = replace(tally, cells=column("cells_of_unit"))
    return measures.of_unit(measure, tally, max_rows_of(plan, measure), dialect, reach)


def max_rows_of(plan: Plan, measure: Measure) -> int:
    """Return the number of rows that a unit may count as in a cell, or 1 if the measure counts units."""
    return 1 if plan.table.unit is None or measure.per == "unit" else plan.table.rows


def checked_rows(plan: Plan, measure: Measure) -> int:
    """Return the number of rows by which the integer of a row is multiplied before it is divided."""
    if measure.beyond is not None:
        if not weighs(plan, [measure]) or measure.bins > 1 or measure.beyond <= reach_of(plan):
            raise InternalError("rows beyond a reach are measured only if rows are weighed one by one.")
        return measure.beyond - reach_of(plan)
    return max_rows_of(plan, measure) if plan.table.unit is None else plan.table.reach or max_rows_of(plan, measure)
