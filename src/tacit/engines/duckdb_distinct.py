"""A count of different values as a DuckDB statement: a measure with `per="value"`.

    layers, located  as in `duckdb_plan`, with the value as v: NULL where it is NaN, and 0.0 for -0.0
    kept or chosen   the cells that each unit keeps: by the same hashes of the same rows as for any other measure, those
                     without a value among them
    brought          of the different values that a unit has in a kept cell, the max_rows with the largest hashes
    answer           by cell: how many different values were brought

The hash is keyed, and of the unit, the cell and the value; ties are broken by the value itself. So a unit brings
exactly min(max_rows, its different values), and which ones depends on its own rows and the key alone. What that is
worth is proved in `query.aggregates.count_distinct`. Where every row is its own unit there is nothing to choose.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.engines import duckdb_keep as keep
from tacit.engines import duckdb_measures as measures
from tacit.engines.duckdb_plan import Statement, _located, _Wanted
from tacit.errors import InvalidError
from tacit.query.expressions import Expression
from tacit.query.plan import Measure, Plan


def is_distinct(plan: Plan) -> bool:
    """Whether a plan is one count of different values."""
    return plan.bundles[0].measures[0].per == "value"


def distinct_statement(plan: Plan, types: Mapping[str, str]) -> Statement:
    """Return the statement of a plan of one count of different values, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    measures.check(measure, 1 if plan.table.unit is None else plan.table.rows)
    parts = _located(plan, types, _Wanted({}, {}), coded=True, counted=checked_value(measure))
    parts += [("brought", "", "SELECT cell, v FROM located")] if plan.table.unit is None else []
    parts = parts if plan.table.unit is None else _by_unit(plan, parts)
    written = ",\n".join(f"{name} AS {held}({sql})" for name, held, sql in parts)
    sql = f"WITH {written}\nSELECT cell, COUNT(DISTINCT v) FROM brought GROUP BY cell"
    lists = {f"k{place}": key.listed for place, key in enumerate(plan.keys)}
    return Statement(sql, lists, (((1, 1),),), plan.listed)


def checked_value(measure: Measure) -> Expression:
    """Return the value whose different ones are counted, or raise InvalidError."""
    if measure.value is None:
        raise InvalidError("measure", "a count of the values of nothing", "a count of the values of something")
    return measure.value


_Parts = list[tuple[str, str, str]]


def _by_unit(plan: Plan, parts: _Parts) -> _Parts:
    """Return the parts, of which `located` is the last, with the choice of cells and of values."""
    source = "located"
    if plan.groups < plan.listed:
        *before, (name, _, sql) = parts
        parts = [*before, (name, "MATERIALIZED ", sql)]
        if plan.listed <= keep.MOST_BITS:
            parts += [(name, "", sql) for name, sql in keep.words(plan.groups, plan.listed)]
            source = keep.KEPT
        else:
            parts.append(("pairs", "", "SELECT DISTINCT u, cell FROM located"))
            parts.append(("chosen", "", keep.numbered(plan.groups)))
            source = "located SEMI JOIN chosen USING (u, cell)"
    return [*parts, *((name, "", sql) for name, sql in keep.values(plan.table.rows, source))]
