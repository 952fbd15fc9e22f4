"""Aggregates that are another spelling of aggregates that tacit has.

    approx_count_distinct(x)    count(DISTINCT x)
    regr_count(y, x)            count(CASE WHEN both are present THEN 1 END)
    regr_avgx(y, x)             avg(CASE WHEN y is present THEN x END)
    regr_avgy(y, x)             avg(CASE WHEN x is present THEN y END)

A value is present if it is not NULL; NaN counts as NULL in every expression.
"""

from __future__ import annotations

from sqlglot import exp


def equivalent(node: exp.Expr) -> exp.Expr | None:
    """Return the aggregate that a node spells in another way; None for all other nodes."""
    if isinstance(node, exp.ApproxDistinct):
        return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]), big_int=True)
    if isinstance(node, exp.RegrCount):
        both = exp.and_(_present(node.this), _present(node.expression))
        return exp.Count(this=_when(both, exp.Literal.number(1)), big_int=True)
    if isinstance(node, exp.RegrAvgx):
        return exp.Avg(this=_when(_present(node.this), node.expression.copy()))
    if isinstance(node, exp.RegrAvgy):
        return exp.Avg(this=_when(_present(node.expression), node.this.copy()))
    return None


def _present(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.Null()).not_()


def _when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)])
