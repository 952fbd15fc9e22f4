"""The aggregates of SQL by the classes of their nodes, with their names and arguments."""

from __future__ import annotations

from sqlglot import exp

from tacit.query.refusals import refused, refused_node
from tacit.query.sql.row_expressions import AGGREGATE_NAMES

_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
    exp.StddevPop: "stddev_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.Corr: "corr",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.RegrIntercept: "regr_intercept",
    exp.RegrR2: "regr_r2",
    exp.RegrSlope: "regr_slope",
    exp.Skewness: "skewness",
}


def function_of(node: exp.Expr) -> tuple[str, exp.Expr | None]:
    """Return an aggregate's name and argument; the argument is None for all rows."""
    if isinstance(node, exp.Anonymous):
        if len(node.expressions) > 1:
            raise refused(f"{node.name} takes one value")
        return AGGREGATE_NAMES[node.name.casefold()], next(iter(node.expressions), None)
    name = _AGGREGATES.get(type(node))
    if name is None:
        raise refused_node(node)
    argument = node.args.get("this")
    every = isinstance(argument, exp.Star) and not argument.args.get("except_") and not argument.args.get("replace")
    return name, None if every else argument
