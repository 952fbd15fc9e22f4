"""Public facts about the columns of a subquery that groups by the unit: bounds, keys and days.

These are choices of accuracy, not of privacy: values beyond bounds are clipped, and rows with other keys are left out,
before anything is summed (`policy.limits`). So they may come from the policy, from proved ranges, or from the query.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import InvalidError, RefusedError, bad_value
from tacit.query.expressions import Expression, Value
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.policy.limits import AUTO, QueryBounds, bounded_column
from tacit.query.policy.mistakes import DeclaredValueError
from tacit.query.refusals import refused
from tacit.query.sql.key_values import domain, own_column
from tacit.query.sql.typed_expressions import TypedExpression

MOST_TIMES, MOST_MORE = 4, 1_000
"""The longest text that a subquery may make: so many times the longest text of a row, and so many characters more."""

_MOST_KEYS = 1_000
_NUMBERS = ("integer", "real")


def key_policy(raw: TypedExpression, bounded: TypedExpression, table: TablePolicy) -> ColumnPolicy:
    """Return what is public about a value of single rows: a key, or the least or largest value of some rows."""
    column = own_column(raw.expression, table)
    if column is None:
        return computed_policy(raw, bounded, table)
    policy = table.columns[column.name]
    bounds = bounded.known.ends if raw.kind in _NUMBERS else None
    return ColumnPolicy(kind=raw.kind, bounds=bounds, keys=policy.keys, days=policy.days)


def computed_policy(raw: TypedExpression, bounded: TypedExpression, table: TablePolicy) -> ColumnPolicy:
    """Return what is public about a computed value: its proved range, and its values if there are not many."""
    bounds = bounded.known.ends if raw.kind in _NUMBERS else None
    return ColumnPolicy(kind=raw.kind, bounds=bounds, keys=_public_values(raw.expression, table))


def _public_values(expression: Expression, table: TablePolicy) -> tuple[Value, ...] | None:
    if expression.kind == "boolean":
        return None  # false and true are public anyway
    try:
        values = domain(expression, "value", table)
    except RefusedError:
        return None
    return values if len(values) <= _MOST_KEYS else None


def with_query_bounds(policy: ColumnPolicy, name: str, bounds: QueryBounds) -> ColumnPolicy:
    """Return the policy of a subquery's column with the bounds that the query sets for it, if it sets any."""
    pair = bounds.get(name)
    if pair is None:
        return policy
    argument = f"bounds[{name!r}]"
    if isinstance(pair, str) and pair == AUTO:
        raise bad_value(argument, pair, "two numbers or two dates here", hint="Give numbers.")
    try:
        return replace(bounded_column(policy, pair), keys=None if policy.kind in _NUMBERS else policy.keys)
    except DeclaredValueError as error:
        raise InvalidError(f"{argument} {error.mistake}.", argument=argument) from None


def check_text(value: TypedExpression, name: str) -> None:
    """Raise RefusedError if a subquery makes a text so long that work on it has no useful bound (`row_work`)."""
    if value.kind == "text" and (value.length.times > MOST_TIMES or value.length.more > MOST_MORE):
        raise refused(
            f"The text {name!r} of the subquery could be longer than {MOST_TIMES} times a text of the row plus "
            f"{MOST_MORE:,} characters",
            "Join texts in the outermost SELECT, or use shorter literals.",
        )
