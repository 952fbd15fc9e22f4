"""The scope of one table: its columns as they are, and clamped to their bounds."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from sys import float_info

from tacit.query.expressions.casts import HIGHEST, LOWEST
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.policy.limits import NO_BOUNDS, QueryBounds
from tacit.query.sql.scope import Scope, VisibleColumn
from tacit.query.sql.typed_expressions import TypedExpression, call, constant, typed_column


def table_scope(table: TablePolicy, bounds: QueryBounds = NO_BOUNDS) -> Scope:
    """Return the scope of a table, with its columns that are not hidden.

    Args:
        table: its policy.
        bounds: the bounds of the query, for subqueries over the table; those of its columns are in the policy.
    """
    columns = {name: _visible_column(name, column) for name, column in table.columns.items() if not column.hidden}
    return Scope(
        table=table,
        name=table.name,
        columns=columns,
        hidden=frozenset(name for name, column in table.columns.items() if column.hidden),
        unusable=table.unusable,
        bounds=bounds,
    )


def _visible_column(name: str, policy: ColumnPolicy) -> VisibleColumn:
    """Return a column; a missing value of a required one is read as its public constant, wherever it is used."""
    raw = typed_column(policy.named(name))
    if policy.required:
        raw = call("coalesce", raw, constant(policy.stand_in, policy.kind))
    if policy.first_and_last is not None:
        first, last = (constant(end, policy.kind) for end in policy.first_and_last)
        return VisibleColumn(raw, call("clamp", raw, first, last))
    return VisibleColumn(raw, raw if policy.bounds is None else _clamp(raw, *policy.bounds))


def _clamp(column: TypedExpression, low: Fraction, high: Fraction) -> TypedExpression:
    """Return a column clamped to its bounds; an integer is clamped to the whole numbers between them."""
    first, last = max(ceil(low), LOWEST), min(floor(high), HIGHEST)
    if column.kind == "integer" and first <= last:
        return call("clamp", column, constant(first, "integer"), constant(last, "integer"))
    ends = [float(min(max(end, -Fraction(float_info.max)), Fraction(float_info.max))) for end in (low, high)]
    return call("clamp", column, constant(ends[0], "real"), constant(ends[1], "real"))
