"""Row expressions: nodes of the parsed tree into terms, by a list of node classes.

The same list serves for what is computed from released values; only the leaves differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlglot import exp

from tacit.query.expressions import Constant
from tacit.query.expressions.like_patterns import check_pattern
from tacit.query.refusals import refused, refused_node
from tacit.query.sql import special_forms as special
from tacit.query.sql.special_forms import Go
from tacit.query.sql.terms import Term, call, case, cast_to, coerce, common_kind, condition, constant

Leaf = Callable[[exp.Expr], Term | None]
"""Gives the term of a node that stands for itself, such as a column, or None for the list to decide."""

_MOST_OPTIONS = 9_000
_FALSE = constant(value=False, kind="boolean")


def translate(node: exp.Expr, leaf: Leaf) -> Term:
    """Return the term of a node, or raise RefusedError or InvalidError."""
    found = leaf(node)
    if found is not None:
        return found
    go = partial(translate, leaf=leaf)
    if type(node) in _PLAIN:
        name, *arguments = _PLAIN[type(node)].split()
        return call(name, *(go(part) for argument in arguments for part in special.parts(node, argument)))
    handler = _SPECIAL.get(type(node))
    if handler is None or is_aggregate(node):
        raise refused_node(node)
    return handler(node, go)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate, answered or not."""
    return isinstance(node, (exp.AggFunc, exp.WithinGroup)) or (
        isinstance(node, exp.Anonymous) and node.name.casefold() in special.AGGREGATE_NAMES
    )


_PLAIN: dict[type[exp.Expr], str] = {
    exp.Add: "add this expression",
    exp.Sub: "subtract this expression",
    exp.Mul: "multiply this expression",
    exp.Div: "divide this expression",
    exp.Mod: "modulo this expression",
    exp.Pow: "power this expression",
    exp.Neg: "negate this",
    exp.Abs: "abs this",
    exp.Sign: "sign this",
    exp.Sqrt: "sqrt this",
    exp.Ln: "ln this",
    exp.Exp: "exp this",
    exp.Least: "least this expressions",
    exp.Greatest: "greatest this expressions",
    exp.EQ: "equal this expression",
    exp.NEQ: "not_equal this expression",
    exp.LT: "less this expression",
    exp.LTE: "less_equal this expression",
    exp.GT: "greater this expression",
    exp.GTE: "greater_equal this expression",
    exp.Not: "not this",
    exp.Coalesce: "coalesce this expressions",
    exp.Nullif: "nullif this expression",
    exp.Lower: "lower this",
    exp.Upper: "upper this",
    exp.Length: "length this",
    exp.Trim: "trim this",
    exp.Replace: "replace this expression replacement",
    exp.StartsWith: "starts_with this expression",
    exp.Year: "year this",
    exp.Quarter: "quarter this",
    exp.Month: "month this",
    exp.Day: "day this",
    exp.DayOfMonth: "day this",
    exp.DayOfWeek: "weekday this",
    exp.Hour: "hour this",
    exp.Minute: "minute this",
}


def _whole_division(node: exp.Expr, go: Go) -> Term:
    """Return a // b as ⌊a/b⌋, an integer if both are."""
    a, b = go(node.this), go(node.expression)
    quotient = call("floor", call("divide", a, b))
    return cast_to(quotient, "integer") if a.kind == b.kind == "integer" else quotient


def _rounded(name: str, node: exp.Expr, go: Go) -> Term:
    """Return floor, ceil or round; of an integer that is the integer itself."""
    value, digits = go(node.this), [go(part) for part in special.parts(node, "decimals")]
    if value.kind == "integer" and not digits:
        return value
    if digits:
        number = digits[0].expression.value if isinstance(digits[0].expression, Constant) else None
        if not isinstance(number, int) or isinstance(number, bool) or abs(number) > 15:  # noqa: PLR2004 - of a double
            raise refused("round takes a constant number of digits from -15 to 15")
    return call(name, value, *digits)


def _chain(name: str, node: exp.Expr, go: Go) -> Term:
    """Return a chain of AND, OR or || as one call, however long it is."""
    parts: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part.unnest() if name != "concat" else part
        if type(inner) is type(node):
            waiting.extend((inner.expression, inner.this))
        else:
            parts.append(part)
    return call(name, *(go(part) for part in parts))


def _concat(node: exp.Expr, go: Go) -> Term:
    """Return concat(a, b, …), which skips NULL, as a || b || … does not."""
    empty = constant("", "text")
    return call("concat", *(call("coalesce", go(part), empty) for part in node.expressions))


def _between(node: exp.Expr, go: Go) -> Term:
    value = go(node.this)
    low, high = call("greater_equal", value, go(node.args["low"])), call("less_equal", value, go(node.args["high"]))
    return call("and", low, high)


def _in(node: exp.Expr, go: Go) -> Term:
    value, options = go(node.this), [go(option) for option in node.expressions]
    if not options:
        raise refused("IN takes a list of values in parentheses")
    if len(options) > _MOST_OPTIONS:
        how = "List fewer, or use a range, LIKE or starts_with."
        raise refused(f"IN has {len(options):,} values, more than {_MOST_OPTIONS:,}", how)
    kind = common_kind([value, *options], "IN")
    value, options = coerce(value, kind), [coerce(option, kind) for option in options]
    if all(isinstance(option.expression, Constant) for option in options):
        return call("in", value, *options)
    return call("or", *(call("equal", value, option) for option in options))


def _is(node: exp.Expr, go: Go) -> Term:
    value, other = go(node.this), node.expression
    if isinstance(other, exp.Null):
        return call("is_null", value)
    if isinstance(other, exp.Boolean):
        truth = condition(value, "IS TRUE") if other.this else call("not", condition(value, "IS FALSE"))
        return call("coalesce", truth, _FALSE)
    raise refused("IS takes NULL, TRUE or FALSE")


def _not_distinct(node: exp.Expr, go: Go) -> Term:
    """Return a IS NOT DISTINCT FROM b: both NULL, or equal."""
    a, b = go(node.this), go(node.expression)
    same = call("coalesce", call("equal", a, b), _FALSE)
    return call("or", call("and", call("is_null", a), call("is_null", b)), same)


def _like(node: exp.Expr, go: Go) -> Term:
    value, pattern = go(node.this), go(node.expression)
    if isinstance(node, exp.ILike):
        value, pattern = call("lower", value), call("lower", pattern)
    if isinstance(pattern.expression, Constant):
        check_pattern(pattern.expression.value)
    found = call("like", value, pattern)
    return call("not", found) if node.args.get("negate") else found


def _case(node: exp.Expr, go: Go) -> Term:
    subject = None if node.this is None else go(node.this)
    branches = []
    for branch in node.args["ifs"]:
        test = go(branch.this)
        branches.append((test if subject is None else call("equal", subject, test), go(branch.args["true"])))
    default = node.args.get("default")
    return case(branches, None if default is None else go(default))


def _if(node: exp.Expr, go: Go) -> Term:
    otherwise = node.args.get("false")
    return case([(go(node.this), go(node.args["true"]))], None if otherwise is None else go(otherwise))


_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr, Go], Term]] = {
    exp.Literal: special.literal,
    exp.Boolean: lambda node, _: constant(bool(node.this), "boolean"),
    exp.Null: lambda _node, _go: constant(None, "integer"),
    exp.Paren: lambda node, go: go(node.this),
    exp.IntDiv: _whole_division,
    exp.Floor: partial(_rounded, "floor"),
    exp.Ceil: partial(_rounded, "ceil"),
    exp.Round: partial(_rounded, "round"),
    exp.And: partial(_chain, "and"),
    exp.Or: partial(_chain, "or"),
    exp.DPipe: partial(_chain, "concat"),
    exp.Concat: _concat,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.NullSafeEQ: _not_distinct,
    exp.NullSafeNEQ: lambda node, go: call("not", _not_distinct(node, go)),
    exp.Like: _like,
    exp.ILike: _like,
    exp.Case: _case,
    exp.If: _if,
    exp.Substring: partial(special.cut, "substring", 1),
    exp.Left: partial(special.cut, "left", 0),
    exp.Right: partial(special.cut, "right", 0),
    exp.Cast: special.cast,
    exp.TryCast: special.cast,
    exp.Date: lambda node, go: cast_to(go(node.this), "date"),
    exp.Extract: special.extract,
    exp.DayOfWeekIso: lambda node, go: special.isodow(go(node.this)),
    exp.TimestampTrunc: special.date_trunc,
    exp.DateTrunc: special.date_trunc,
    exp.Anonymous: special.named,
}

LISTED: frozenset[type[exp.Expr]] = frozenset(_PLAIN) | frozenset(_SPECIAL)
"""The node classes that a row expression may be made of, beside columns."""
