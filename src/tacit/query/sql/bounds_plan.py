"""The plan of private bounds: a query's rows, counted in fixed bins of one value.

The plan has the WHERE and the joins of the query, and one cell. Each unit has a reach of 1: its rows that have a value
weigh 1 together. `aggregates.value_bounds` proves the sensitivity and chooses the bounds.

**Only rows with a value count.** WHERE leaves out the rows whose value is NULL or NaN. Otherwise they would take a part
of the unit's weight. The rows of one unit alone decide its weights, as for any reach.

**Groups.** If the query groups by listed keys, rows outside the lists are left out, up to `_MOST_LISTED` values. Rows
count in one cell, whatever their group. Rows of discovered groups all count. That affects accuracy alone.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import ColumnNotFoundError
from tacit.query.aggregates import bundles_of
from tacit.query.expressions import Call, Column, Constant, Expression, columns, walk
from tacit.query.plan import Aggregate, Ask, Key, Plan
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused
from tacit.query.sql.row_work import check_row_work
from tacit.query.sql.scope import check_timezone

_KINDS = ("integer", "real", "date", "timestamp")
_MOST_LISTED = 1_000
_MOST_PARTS = 50


def bounds_plan(plan: Plan, value: str | Expression, *, sql: str | None = None) -> Plan:
    """Return the plan that finds private bounds of a value among the rows of another plan, or raise RefusedError.

    Args:
        plan: the plan of a query on the same rows.
        value: a column's name, or a row expression over the raw columns.
        sql: the text of the new plan; by default that of the query.
    """
    expression = _column(value, plan.table) if isinstance(value, str) else value
    _check(expression, plan.table)
    table = plan.table if plan.table.unit is None else replace(plan.table, reach=1, max_groups=None, max_rows=None)
    ask = Ask(function="bounds", values=(expression,))
    name = expression.name if isinstance(expression, Column) else "…"
    found = replace(
        plan,
        sql=plan.sql if sql is None else sql,
        table=table,
        where=_where(plan, expression),
        keys=(),
        tuples=(),
        bundles=bundles_of(ask, table),
        aggregates=(Aggregate(ask=ask, bundles=(0,), sql=f"bounds({name})"),),
        outputs=(),
        having=None,
        order=(),
        limit=None,
        offset=0,
    )
    check_row_work(found)
    return found


def _column(name: str, table: TablePolicy) -> Column:
    visible = {known: policy for known, policy in table.columns.items() if not policy.hidden}
    if name not in visible:
        raise ColumnNotFoundError(name, visible, argument="column")
    return check_timezone(visible[name].named(name))


def _check(value: Expression, table: TablePolicy) -> None:
    """Raise RefusedError if a value cannot have private bounds."""
    if table.unit is not None and table.unit in columns(value):
        raise refused(f"The unit column {table.unit!r} cannot have bounds", "Name another column.")
    if value.kind not in _KINDS:
        raise refused(
            f"Bounds are for numbers, dates and timestamps, not {value.kind}",
            "CAST(x AS DOUBLE) reads text as numbers.",
        )
    parts = sum(1 for _ in walk(value))
    if parts > _MOST_PARTS:
        raise refused(
            f"The expression has {parts:,} parts; the limit for bounds is {_MOST_PARTS:,}",
            "Find bounds of the columns in it.",
        )


def _where(plan: Plan, value: Expression) -> Expression:
    """Return the condition of the query, that the value is present, and that each key is in its list."""
    conditions = [] if plan.where is None else [plan.where]
    conditions += [_not_null(value), *(_is_listed(key) for key in plan.keys if _is_short(key))]
    return conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions), "boolean")


def _is_short(key: Key) -> bool:
    return key.values is not None and len(key.values) <= _MOST_LISTED


def _is_listed(key: Key) -> Expression:
    kind = key.expression.kind
    options = tuple(Constant(value, kind) for value in key.listed if value is not None)
    tests: list[Expression] = [Call("in", (key.expression, *options), "boolean")] if options else []
    if None in key.listed:
        tests.append(Call("is_null", (key.expression,), "boolean"))
    return tests[0] if len(tests) == 1 else Call("or", tuple(tests), "boolean")


def _not_null(value: Expression) -> Expression:
    return Call("not", (Call("is_null", (value,), "boolean"),), "boolean")
