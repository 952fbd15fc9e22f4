"""The spellings of quantiles, DuckDB's and the standard's, as one: of what value, at what share of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from tacit.query.expressions import columns
from tacit.query.refusals import refused, refused_node
from tacit.query.sql.terms import Term

_NAMES: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Median: ("quantile", "median"),
    exp.PercentileCont: ("quantile", "quantile_cont"),
    exp.PercentileDisc: ("quantile_disc", "quantile_disc"),
    exp.Quantile: ("quantile_disc", "quantile"),
    exp.Min: ("min", "min"),
    exp.Max: ("max", "max"),
}
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A quantile as it is written: the aggregate, its name in SQL, the value, and the share, from above or below.

    Without a share it is the median, `min` or `max`.
    """

    function: str
    name: str
    value: exp.Expr
    share: exp.Expr | None = None
    descending: bool = False


def spelled(node: exp.Expr) -> Spelled | None:
    """Return what a node says if it is a quantile, None if it is something else, or raise RefusedError."""
    if isinstance(node, exp.WithinGroup):
        return _within(node)
    if type(node) not in _NAMES:
        return None
    function, name = _NAMES[type(node)]
    if name in ("median", "min", "max"):
        return Spelled(function, name, node.this)
    share = node.args.get("quantile" if isinstance(node, exp.Quantile) else "expression")
    if share is None:
        raise refused(f"{name} takes a value and a share of the rows", f"Write {name}(x, 0.9).")
    if isinstance(share, exp.Order):  # quantile_cont(x, 0.9 ORDER BY x), as the parser writes WITHIN GROUP
        return _ordered(function, name, node.this, share.this, share)
    return Spelled(function, name, node.this, share)


def _within(node: exp.WithinGroup) -> Spelled:
    """Return percentile_cont(0.9) WITHIN GROUP (ORDER BY x)."""
    inner, order = node.this, node.expression
    if not isinstance(inner, (exp.PercentileCont, exp.PercentileDisc)) or not isinstance(order, exp.Order):
        raise refused_node(node)
    function, name = _NAMES[type(inner)]
    if inner.args.get("expression") is not None:
        raise refused(f"{name} has its value twice", _WITHIN)
    return _ordered(function, name, None, inner.this, order)


def _ordered(function: str, name: str, value: exp.Expr | None, share: exp.Expr | None, order: exp.Order) -> Spelled:
    terms = order.expressions
    if share is None or len(terms) != 1 or not isinstance(terms[0], exp.Ordered):
        raise refused(f"{name} takes one value and one share of the rows", _WITHIN)
    if value is not None and value != terms[0].this:
        raise refused(f"{name} of one value in the order of another is not answered", _WITHIN)
    return Spelled(function, name, terms[0].this, share, bool(terms[0].args.get("desc")))


_WITHIN = "Write quantile_cont(x, 0.9), or percentile_cont(0.9) WITHIN GROUP (ORDER BY x)."


def share_of(written: Spelled, term: Term | None) -> Fraction:
    """Return the share of the rows that a quantile is asked at, or raise RefusedError."""
    if term is None:
        return _HALF
    ends = term.known.ends
    constant = not columns(term.expression) and not term.released and ends is not None and ends[0] == ends[1]
    if term.kind not in ("integer", "real") or not constant or ends is None or not 0 <= ends[0] <= 1:
        raise refused(
            f"{written.name} takes a constant share of the rows from 0 to 1",
            f"Write {written.name}(x, 0.9); several shares of one value have one price together.",
        )
    return 1 - ends[0] if written.descending else ends[0]
