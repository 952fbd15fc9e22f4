"""Nodes of a query that is split: the items of FROM, queries inside expressions, and whether a SELECT aggregates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.query.policy import TablePolicy
from tacit.query.sql.lifted_select import is_window_function
from tacit.query.sql.row_expressions import is_aggregate


def with_bounds(table: TablePolicy) -> TablePolicy:
    """Return a policy with some bounds of each real column, to read names before the query's bounds are known."""
    return replace(
        table,
        columns={
            name: replace(column, bounds=(Fraction(0), Fraction(1)))
            if column.kind == "real" and column.bounds is None and not column.hidden
            else column
            for name, column in table.columns.items()
        },
    )


def is_of_rows(node: exp.Expr) -> bool:
    """Return whether a node is inside a CTE of rows."""
    parent = node.parent
    while parent is not None and not (isinstance(parent, exp.CTE) and parent.meta.get("rows")):
        parent = parent.parent
    return parent is not None


def from_items(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the items of FROM and of joins."""
    start = node.args.get("from_")
    for part in [*([start.this] if start is not None else []), *(join.this for join in node.args.get("joins") or ())]:
        yield part
        if isinstance(part, exp.Table):
            yield from (join.this for join in part.args.get("joins") or ())
    for lateral in node.args.get("laterals") or ():
        yield lateral.this


def inner_queries(node: exp.Select) -> Iterator[exp.Expr]:
    """Yield the outermost queries inside the expressions of a SELECT."""
    parts = [value for name, value in node.args.items() if name not in ("with_", "from_", "joins", "laterals")]
    parts += [join.args[name] for join in node.args.get("joins") or () for name in ("on",) if join.args.get(name)]
    waiting = [each for part in parts for each in (part if isinstance(part, list) else [part])]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (exp.Select, exp.SetOperation)):
            yield part
        elif isinstance(part, exp.Expr):
            waiting.extend(part.iter_expressions())


def aggregates(node: exp.Select) -> bool:
    """Return whether a SELECT aggregates its rows."""
    if node.args.get("group") is not None:
        return True
    waiting: list[exp.Expr] = [*node.expressions]
    waiting += [node.args[name] for name in ("having", "order", "qualify") if node.args.get(name) is not None]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (exp.Select, exp.SetOperation)):
            continue
        if is_aggregate(part) and not is_window_function(part):
            return True
        waiting.extend(part.iter_expressions())
    return False
