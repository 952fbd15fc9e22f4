"""What is aggregated, over columns clamped to their bounds; but what is asked *about* a row sees the row as it is.

A value needs bounds, a condition does not: `sum(CASE WHEN x > 100 THEN 1 ELSE 0 END)` must count the rows that
`WHERE x > 100` keeps, whatever the bounds of x are. So conditions are read over the raw columns, and so are the two
sides of `nullif`, which compares them; everything else is read over clamped columns.

**Ranges stay proved.** A condition's range is 0 to 1 whatever it compares, and that of a CASE is the union of those of
its results (`ranges.range_of` looks at no operand of a boolean and at no condition of a CASE). So a range never follows
from a column inside a condition, and raw columns there take no proof away. What is measured is clamped to its range
once more.
"""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from tacit.query.sql.terms import Term, call, case, constant

_CONDITIONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.StartsWith),
)


class Reading(Protocol):
    """Reads row expressions both ways."""

    def raw(self, node: exp.Expr) -> Term:
        """Return an expression over the raw columns."""

    def bounded(self, node: exp.Expr) -> Term:
        """Return an expression over columns clamped to their bounds."""


def unclamped(node: exp.Expr, scope: Reading) -> Term | None:
    """Return the term of a node that looks at raw columns, be it in part; None for any other."""
    if isinstance(node, _CONDITIONS) or _to_boolean(node):
        return scope.raw(node)
    if isinstance(node, exp.Case) and node.this is not None:
        tests = [exp.If(this=_equal(node.this, one.this), true=one.args["true"].copy()) for one in node.args["ifs"]]
        default = node.args.get("default")
        return scope.bounded(exp.Case(ifs=tests, default=None if default is None else default.copy()))
    if isinstance(node, exp.Nullif):
        same = call("equal", scope.raw(node.this), scope.raw(node.expression))
        return case([(same, constant(None, "integer"))], scope.bounded(node.this))
    return None


def _to_boolean(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Cast, exp.TryCast)) and node.args["to"].this == exp.DType.BOOLEAN


def _equal(one: exp.Expr, two: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.Paren(this=one.copy()), expression=exp.Paren(this=two.copy()))
