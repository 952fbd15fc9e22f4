"""A count of different values as a statement: a measure with `per="value"`.

    layers, located  as in `plan`, with the value as v: NULL where it is NaN, and 0.0 for -0.0
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

from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.statement import Parts, Statement, Wanted, chooses, kept_by_word, lists_of, located, written
from tacit.errors import InvalidError
from tacit.query.expressions import Expression
from tacit.query.plan import Measure, Plan


def is_distinct(plan: Plan) -> bool:
    """Whether a plan is one count of different values."""
    return plan.bundles[0].measures[0].per == "value"


def distinct_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> Statement:
    """Return the statement of a plan of one count of different values, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    measures.check(measure, 1 if plan.table.unit is None else plan.table.rows)
    parts = located(plan, types, Wanted({}, {}), dialect, coded=True, counted=checked_value(measure))
    parts += [("brought", "", "SELECT cell, v FROM located")] if plan.table.unit is None else []
    parts = parts if plan.table.unit is None else _by_unit(plan, parts, dialect)
    sql = f"WITH {written(parts)}\nSELECT cell, COUNT(DISTINCT v) FROM brought GROUP BY cell"
    return Statement(sql, lists_of(plan), (((1, 1),),), plan.listed, plan.table.unit is not None)


def checked_value(measure: Measure) -> Expression:
    """Return the value whose different ones are counted, or raise InvalidError."""
    if measure.value is None:
        raise InvalidError("measure", "a count of the values of nothing", "a count of the values of something")
    return measure.value


def _by_unit(plan: Plan, parts: Parts, dialect: Dialect) -> Parts:
    """Return the parts, of which `located` is the last, with the choice of cells and of values."""
    source = "located"
    if chooses(plan) and plan.listed <= dialect.most_bits:
        parts, source = kept_by_word(plan, parts, dialect)
    elif chooses(plan):
        *before, (name, _, sql) = parts
        pairs = ("pairs", "", "SELECT DISTINCT u, cell FROM located")
        parts = [
            *before,
            (name, dialect.held, sql),
            pairs,
            ("chosen", "", contribution_bounding.numbered(plan.groups, dialect)),
        ]
        source = "located JOIN chosen USING (u, cell)"
    return [*parts, *((name, "", sql) for name, sql in contribution_bounding.values(plan.table.rows, source, dialect))]
