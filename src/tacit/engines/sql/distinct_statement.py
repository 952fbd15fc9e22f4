"""A count of distinct values (a measure with `per="value"`) as one statement that returns exact integers.

    located         as in `statement`, with the value as v: NULL if it is NaN, and 0.0 for -0.0
    kept or chosen  the cells that each unit keeps, by the same hashes of the same rows as for any other measure,
                    including rows without a value
    brought         of the distinct values that a unit has in a kept cell, the max_rows with the largest hashes; of
                    these, in all cells together, the `reach` with the largest hashes
    answer          by cell: the number of distinct values in `brought`

The hash is keyed and covers the unit, the cell and the value; ties are broken by the value itself. So a unit brings
exactly min(max_rows, its distinct values), and which ones depends only on its own rows and the key.
`query.aggregates.count_distinct` proves the sensitivity. If every row is a unit, nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.builder import CommonTables
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.key_lists import key_lists
from tacit.engines.sql.statement import (
    MeasureColumns,
    Statement,
    chooses_cells,
    keep_by_words,
    located_rows,
    with_clause,
)
from tacit.errors import InvalidError
from tacit.query.expressions import Expression
from tacit.query.plan import Measure, Plan


def is_distinct(plan: Plan) -> bool:
    """Return whether a plan is one count of distinct values."""
    return plan.bundles[0].measures[0].per == "value"


def distinct_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> Statement:
    """Return the statement of a plan with one count of distinct values, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    measures.check(measure, 1 if plan.table.unit is None else plan.table.rows)
    no_columns = MeasureColumns({}, {})
    tables = located_rows(plan, types, no_columns, dialect, coded=True, counted=counted_value(measure))
    tables += [("brought", "", "SELECT cell, v FROM located")] if plan.table.unit is None else []
    tables = tables if plan.table.unit is None else _brought(plan, tables, dialect)
    sql = f"WITH {with_clause(tables)}\nSELECT cell, COUNT(DISTINCT v) FROM brought GROUP BY cell"
    return Statement(sql, key_lists(plan), (((1, 1),),), plan.listed, plan.table.unit is not None)


def counted_value(measure: Measure) -> Expression:
    """Return the value whose distinct values are counted, or raise InvalidError."""
    if measure.value is None:
        raise InvalidError("A count of distinct values needs a value.", argument="measure")
    return measure.value


def _brought(plan: Plan, tables: CommonTables, dialect: Dialect) -> CommonTables:
    """Return the common tables, which end in `located`, with the choice of cells and of values added."""
    source = "located"
    if chooses_cells(plan) and plan.listed <= dialect.most_bits:
        tables, source = keep_by_words(plan, tables, dialect)
    elif chooses_cells(plan):
        *before, (name, _, sql) = tables
        pairs = ("pairs", "", "SELECT DISTINCT u, cell FROM located")
        chosen = ("chosen", "", contribution_bounding.numbered(plan.groups, dialect))
        tables = [*before, (name, dialect.materialized, sql), pairs, chosen]
        source = "located JOIN chosen USING (u, cell)"
    reach = plan.table.reach if plan.groups > 1 else None
    max_rows = None if reach is not None and plan.table.max_rows is None else plan.table.rows
    return [*tables, *((name, "", sql) for name, sql in contribution_bounding.values(max_rows, reach, source, dialect))]
