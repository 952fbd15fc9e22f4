"""`mode(x)` and `mode() WITHIN GROUP (ORDER BY x)`: the value, and the public values among which one is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from tacit.query.aggregates.mode import MOST_VALUES
from tacit.query.expressions import Expression, Value
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused
from tacit.query.sql.key_values import domain
from tacit.query.sql.names import default_name, to_sql

_FORM = "Write mode(x), or mode() WITHIN GROUP (ORDER BY x)."


def is_mode_call(node: exp.Expr) -> bool:
    """Return whether a node is a mode, in either spelling."""
    return isinstance(node, exp.Mode) or (isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.Mode))


def mode_argument(node: exp.Expr) -> exp.Expr:
    """Return the value of a mode, or raise RefusedError."""
    if isinstance(node, exp.WithinGroup):
        order = node.expression
        terms = order.expressions if isinstance(order, exp.Order) else []
        inner = terms[0].this if len(terms) == 1 and isinstance(terms[0], exp.Ordered) else None
        argument = inner if node.this.this is None else None
    else:
        argument = node.this
    if argument is None:
        raise refused("mode takes one value", _FORM)
    if isinstance(argument, (exp.Distinct, exp.Order, exp.Star)):
        raise refused("mode takes one value, without DISTINCT and ORDER BY", _FORM)
    return argument  # type: ignore[no-any-return]  # a node


def mode_names(select: exp.Expr) -> Iterator[str]:
    """Yield the names by which the caller can list the values that a query chooses among, by mode or arg_max."""
    for node in select.find_all(exp.Mode, exp.WithinGroup, exp.ArgMax, exp.ArgMin):
        if isinstance(node, (exp.ArgMax, exp.ArgMin)):
            yield from _names(node.this)
        elif is_mode_call(node) and not isinstance(node.parent, exp.WithinGroup):
            yield from _names(mode_argument(node))


def _names(argument: exp.Expr) -> list[str]:
    return [default_name(argument), to_sql(argument), *([argument.name] if isinstance(argument, exp.Column) else [])]


def squeezed(text: str) -> str:
    """Return a text without blanks and in lower case, for comparisons."""
    return "".join(text.split()).casefold()


def mode_values(
    argument: exp.Expr,
    expression: Expression,
    table: TablePolicy,
    lists: Mapping[str, Sequence[Value]],
    function: str = "mode",
) -> tuple[Value, ...]:
    """Return the public values among which one is chosen, or raise RefusedError; NULL is not one of them.

    Args:
        argument: the value, as the query writes it.
        expression: the value of a row.
        table: the policy of its columns.
        lists: the values that the caller lists, by name.
        function: the aggregate that chooses.
    """
    names = [squeezed(name) for name in _names(argument)]
    listed = next((values for name, values in lists.items() if squeezed(name) in names), None)
    values = tuple(value for value in domain(expression, default_name(argument), table, listed) if value is not None)
    if not values:
        raise refused(f"{function} has no value to choose but NULL", "List other values with keys=.")
    if len(values) > MOST_VALUES:
        raise refused(
            f"{function} would choose among {len(values):,} values; the limit is {MOST_VALUES:,}",
            "List fewer values with keys=, or choose among larger bins.",
        )
    return values
