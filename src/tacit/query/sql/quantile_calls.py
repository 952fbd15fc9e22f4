"""Quantiles in any spelling, DuckDB's or the standard's: the value, and the share of the rows below it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from tacit.query.expressions import columns
from tacit.query.refusals import refused, refused_node
from tacit.query.sql.typed_expressions import TypedExpression

_QUANTILES: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Median: ("quantile", "median"),
    exp.PercentileCont: ("quantile", "quantile_cont"),
    exp.PercentileDisc: ("quantile_disc", "quantile_disc"),
    exp.Quantile: ("quantile_disc", "quantile"),
    exp.Min: ("min", "min"),
    exp.Max: ("max", "max"),
}
_WITHIN_GROUP = "Write quantile_cont(x, 0.9), or percentile_cont(0.9) WITHIN GROUP (ORDER BY x)."


@dataclass(frozen=True, slots=True)
class QuantileCall:
    """A quantile in any spelling, DuckDB's or the standard's: the aggregate, its name in SQL, the value, and the share.

    Without a share it is the median, `min` or `max`. If `descending`, the share counts from above.
    """

    function: str
    name: str
    value: exp.Expr
    share: exp.Expr | None = None
    descending: bool = False


def read_quantile(node: exp.Expr) -> QuantileCall | None:
    """Return the quantile that a node calls, None if it is not a quantile, or raise RefusedError."""
    if isinstance(node, exp.WithinGroup):
        return _read_within_group(node)
    if type(node) not in _QUANTILES:
        return None
    function, name = _QUANTILES[type(node)]
    if name in ("median", "min", "max"):
        return QuantileCall(function, name, node.this)
    share = node.args.get("quantile" if isinstance(node, exp.Quantile) else "expression")
    if share is None:
        raise refused(f"{name} takes a value and a share of the rows", f"Write {name}(x, 0.9).")
    if isinstance(share, exp.Order):  # quantile_cont(x, 0.9 ORDER BY x), as the parser writes WITHIN GROUP
        return _read_ordered(function, name, node.this, share.this, share)
    return QuantileCall(function, name, node.this, share)


def _read_within_group(node: exp.WithinGroup) -> QuantileCall:
    """Return percentile_cont(0.9) WITHIN GROUP (ORDER BY x)."""
    inner, order = node.this, node.expression
    if not isinstance(inner, (exp.PercentileCont, exp.PercentileDisc)) or not isinstance(order, exp.Order):
        raise refused_node(node)
    function, name = _QUANTILES[type(inner)]
    if inner.args.get("expression") is not None:
        raise refused(f"{name} has its value twice", _WITHIN_GROUP)
    return _read_ordered(function, name, None, inner.this, order)


def _read_ordered(
    function: str, name: str, value: exp.Expr | None, share: exp.Expr | None, order: exp.Order
) -> QuantileCall:
    terms = order.expressions
    if share is None or len(terms) != 1 or not isinstance(terms[0], exp.Ordered):
        raise refused(f"{name} takes one value and one share of the rows", _WITHIN_GROUP)
    if value is not None and value != terms[0].this:
        raise refused(f"{name} of one value in the order of another is not supported", _WITHIN_GROUP)
    return QuantileCall(function, name, terms[0].this, share, bool(terms[0].args.get("desc")))


def read_share(quantile: QuantileCall, term: TypedExpression | None) -> Fraction:
    """Return the share of the rows below a quantile, or raise RefusedError."""
    if term is None:
        return Fraction(1, 2)
    ends = term.known.ends
    constant = not columns(term.expression) and not term.released and ends is not None and ends[0] == ends[1]
    if term.kind not in ("integer", "real") or not constant or ends is None or not 0 <= ends[0] <= 1:
        raise refused(
            f"{quantile.name} takes a constant share of the rows from 0 to 1",
            f"Write {quantile.name}(x, 0.9). Several shares of one value cost as much as one.",
        )
    return 1 - ends[0] if quantile.descending else ends[0]
