"""`arg_max(k, count(*))` and its kin: the total by which the values of k are compared."""

from __future__ import annotations

from sqlglot import exp

from tacit.query.refusals import refused
from tacit.query.sql.names import to_sql


def compared_total(node: exp.Expr, function: str) -> exp.Expr:
    """Return the count or the sum that `arg_max` or `arg_min` compares, or raise RefusedError."""
    total = node.expression
    if isinstance(total, (exp.Count, exp.Sum)) and not isinstance(total.this, exp.Distinct):
        return total
    key, direction = to_sql(node.this, lower=True), "DESC" if function == "arg_max" else "ASC"
    if isinstance(total, exp.AggFunc):
        value = to_sql(total, lower=True)
        hint = f"Write SELECT {key}, {value} AS v FROM … GROUP BY {key} ORDER BY v {direction} LIMIT 1."  # noqa: S608 - a hint
        raise refused(f"{function} compares counts and sums, not {total.sql_name().lower()}", hint)
    value = to_sql(total, lower=True)
    raise refused(
        f"{function}({key}, {value}) would show the {key} of one row",
        f"Compare totals: {function}({key}, sum({value})) or {function}({key}, count(*)).",
    )
