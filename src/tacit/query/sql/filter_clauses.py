"""`FILTER (WHERE …)` and `count_if`, rewritten as CASE before anything else looks at them.

    sum(x) FILTER (WHERE c)      sum(CASE WHEN c THEN x END)
    count(*) FILTER (WHERE c)    count(CASE WHEN c THEN 1 END)
    count_if(c)                  count(CASE WHEN c THEN 1 END)

A row that does not meet the condition gives NULL, which every aggregate passes over, as FILTER passes over the row.
What comes out is checked like any question.
"""

from __future__ import annotations

from sqlglot import exp


def without_filters(tree: exp.Expr) -> exp.Expr:
    """Return a tree in which conditions on aggregates stand inside them; what has no such form stays as it is."""
    for node in list(tree.find_all(exp.Filter, exp.CountIf)):
        inside = _counted(node) if isinstance(node, exp.CountIf) else _filtered(node)
        if inside is None:
            continue
        if node is tree:
            tree = inside
        else:
            node.replace(inside)
    return tree


def _counted(node: exp.Expr) -> exp.Expr | None:
    condition = node.args.get("this")
    if condition is None or isinstance(condition, exp.Distinct):
        return None
    return exp.Count(this=_case(condition, exp.Literal.number(1)), big_int=True)


def _filtered(node: exp.Expr) -> exp.Expr | None:
    """Return an aggregate of one value with its condition inside; None for others, such as DISTINCT or WITHIN GROUP."""
    aggregate, where = node.this, node.args.get("expression")
    if not isinstance(where, exp.Where) or not isinstance(aggregate, (exp.Count, exp.Sum, exp.Avg, exp.CountIf)):
        return None
    value = aggregate.args.get("this")
    if isinstance(aggregate, exp.CountIf):
        return None if value is None else _counted(exp.CountIf(this=exp.and_(value.copy(), where.this.copy())))
    if value is None or isinstance(value, (exp.Distinct, exp.Order)) or aggregate.args.get("expressions"):
        return None
    found = aggregate.copy()
    found.set("this", _case(where.this, exp.Literal.number(1) if isinstance(value, exp.Star) else value))
    return found


def _case(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
