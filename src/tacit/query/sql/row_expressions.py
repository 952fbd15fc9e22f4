"""Row expressions: nodes of the parsed tree become typed expressions, by a list of node classes.

The same list serves for expressions over released values. The two differ only in the nodes that `translate_leaf`
handles: columns of a table, or released values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite

from sqlglot import exp

from tacit.errors import InvalidError, show
from tacit.query.expressions import Constant, Kind
from tacit.query.expressions.casts import in_64_bits
from tacit.query.expressions.functions import FUNCTIONS
from tacit.query.expressions.like_patterns import check_pattern
from tacit.query.refusals import refused, refused_cast, refused_function, refused_node
from tacit.query.sql import time_nodes
from tacit.query.sql.typed_expressions import (
    Translate,
    TypedExpression,
    call,
    case,
    cast_to,
    coerce,
    common_kind,
    condition,
    constant,
)

TranslateLeaf = Callable[[exp.Expr], TypedExpression | None]
"""Translates a node as a whole, such as a column; None if the list of node classes decides."""

AGGREGATE_NAMES = {"mean": "avg", "count_star": "count"}
"""Aggregates that the parser knows by name alone, and tacit's names for them."""

_CALL_NAMES = ("clamp", *time_nodes.CALL_NAMES)
MOST_OPTIONS = 9_000
"""The largest number of values of one IN."""
_MOST_DIGITS = 40
_FALSE = constant(value=False, kind="boolean")
_KINDS: dict[exp.DType, Kind] = {
    **dict.fromkeys((exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT), "integer"),
    **dict.fromkeys((exp.DType.FLOAT, exp.DType.DOUBLE), "real"),
    **dict.fromkeys((exp.DType.TEXT, exp.DType.VARCHAR), "text"),
    **dict.fromkeys((exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ), "timestamp"),
    exp.DType.BOOLEAN: "boolean",
    exp.DType.DATE: "date",
}


def translate_expression(node: exp.Expr, translate_leaf: TranslateLeaf) -> TypedExpression:
    """Return a node as a typed expression, or raise RefusedError or InvalidError."""
    leaf = translate_leaf(node)
    if leaf is not None:
        return leaf
    translate = partial(translate_expression, translate_leaf=translate_leaf)
    if type(node) in _PLAIN:
        name, *arguments = _PLAIN[type(node)].split()
        return call(name, *(translate(part) for argument in arguments for part in _nodes(node, argument)))
    handler = _SPECIAL.get(type(node))
    if handler is None or is_aggregate(node):
        raise refused_node(node)
    return handler(node, translate)


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether a node is an aggregate, supported or not."""
    return isinstance(node, (exp.AggFunc, exp.WithinGroup)) or (
        isinstance(node, exp.Anonymous) and node.name.casefold() in AGGREGATE_NAMES
    )


def check_call_name(node: exp.Expr) -> None:
    """Raise RefusedError if a node is a call by a name that is not listed."""
    if isinstance(node, exp.Anonymous) and node.name.casefold() == "age":
        hint = "Write extract(year FROM age(a, b)), date_diff('day', b, a) or date_sub('month', b, a)."
        raise refused("An age is an interval, not a number", hint)
    if isinstance(node, exp.Anonymous) and node.name.casefold() not in {*_CALL_NAMES, *AGGREGATE_NAMES}:
        names = [name for name, function in FUNCTIONS.items() if not function.internal]
        raise refused_function(node.name, [*names, "count", "sum", "avg"])


def _nodes(node: exp.Expr, argument: str) -> list[exp.Expr]:
    """Return an argument of a node as a list."""
    value = node.args.get(argument)
    return [] if value is None else list(value) if isinstance(value, list) else [value]


_PLAIN: dict[type[exp.Expr], str] = {
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
    exp.DayOfYear: "yearday this",
    exp.Week: "week this",
    exp.WeekOfYear: "week this",
    exp.Hour: "hour this",
    exp.Minute: "minute this",
    exp.Second: "second this",
}


def _literal(node: exp.Expr, _: Translate) -> TypedExpression:
    """Return a number or a text of the query."""
    text = str(node.this)
    if node.args.get("is_string"):
        return constant(text, "text")
    if text.isdecimal() and len(text) <= _MOST_DIGITS and in_64_bits(int(text)) is not None:
        return constant(int(text), "integer")
    try:
        number = float(text)
    except ValueError:
        message = f"{show(text)} is not a number."
        raise InvalidError(message, argument="sql", hint="Write numbers in decimal digits.") from None
    if not isfinite(number):
        raise InvalidError("A number is beyond 1e308.", argument="sql", hint="Write a number that fits a double.")
    return constant(number, "real")


def _divide_whole(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return a // b as ⌊a/b⌋, an integer if both are."""
    a, b = translate(node.this), translate(node.expression)
    quotient = call("floor", call("divide", a, b))
    return cast_to(quotient, "integer") if a.kind == b.kind == "integer" else quotient


def _round(name: str, node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return floor, ceil or round; an integer stays as it is."""
    value, digits = translate(node.this), [translate(part) for part in _nodes(node, "decimals")]
    if value.kind == "integer" and not digits:
        return value
    if digits:
        number = digits[0].expression.value if isinstance(digits[0].expression, Constant) else None
        if not isinstance(number, int) or isinstance(number, bool) or abs(number) > 15:  # noqa: PLR2004 - of a double
            raise refused("round takes a constant number of digits from -15 to 15")
    return call(name, value, *digits)


def _chain(name: str, node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return a chain of AND, OR or || as one call, without recursion along the chain."""
    parts: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part.unnest() if name != "concat" else part
        if type(inner) is type(node):
            waiting.extend((inner.expression, inner.this))
        else:
            parts.append(part)
    if name == "concat":
        return call(name, *(_as_text(translate(part)) for part in parts))
    return call(name, *(translate(part) for part in parts))


def _as_text(term: TypedExpression) -> TypedExpression:
    """Return a whole number, a date or a condition as text; any other term as it is."""
    return cast_to(term, "text") if term.kind in ("integer", "date", "boolean") and not term.is_null else term


def _concat(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return concat(a, b, …). It skips NULL, but a || b || … does not."""
    empty = constant("", "text")
    return call("concat", *(call("coalesce", _as_text(translate(part)), empty) for part in node.expressions))


def _between(node: exp.Expr, translate: Translate) -> TypedExpression:
    value = translate(node.this)
    above = call("greater_equal", value, translate(node.args["low"]))
    below = call("less_equal", value, translate(node.args["high"]))
    return call("and", above, below)


def _in(node: exp.Expr, translate: Translate) -> TypedExpression:
    if node.args.get("query") is not None:
        raise refused("IN (SELECT …) over released values is not supported", "Put the condition into WHERE.")
    value, options = translate(node.this), [translate(option) for option in node.expressions]
    if not options:
        raise refused("IN takes a list of values in parentheses")
    if len(options) > MOST_OPTIONS:
        hint = "List fewer, or use a range, LIKE or starts_with."
        raise refused(f"IN has {len(options):,} values; the limit is {MOST_OPTIONS:,}", hint)
    kind = common_kind([value, *options], "IN")
    value, options = coerce(value, kind), [coerce(option, kind) for option in options]
    if all(isinstance(option.expression, Constant) for option in options):
        return call("in", value, *options)
    return call("or", *(call("equal", value, option) for option in options))


def _is(node: exp.Expr, translate: Translate) -> TypedExpression:
    value, other = translate(node.this), node.expression
    if isinstance(other, exp.Null):
        return call("is_null", value)
    if isinstance(other, exp.Boolean):
        truth = condition(value, "IS TRUE") if other.this else call("not", condition(value, "IS FALSE"))
        return call("coalesce", truth, _FALSE)
    raise refused("IS takes NULL, TRUE or FALSE")


def _not_distinct(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return a IS NOT DISTINCT FROM b: both NULL, or equal."""
    a, b = translate(node.this), translate(node.expression)
    same = call("coalesce", call("equal", a, b), _FALSE)
    return call("or", call("and", call("is_null", a), call("is_null", b)), same)


def _like(node: exp.Expr, translate: Translate) -> TypedExpression:
    value, pattern = translate(node.this), translate(node.expression)
    if isinstance(node, exp.ILike):
        value, pattern = call("lower", value), call("lower", pattern)
    if isinstance(pattern.expression, Constant):
        check_pattern(pattern.expression.value)
    matches = call("like", value, pattern)
    return call("not", matches) if node.args.get("negate") else matches


def _case(node: exp.Expr, translate: Translate) -> TypedExpression:
    subject = None if node.this is None else translate(node.this)
    branches = []
    for branch in node.args["ifs"]:
        test = translate(branch.this)
        branches.append((test if subject is None else call("equal", subject, test), translate(branch.args["true"])))
    default = node.args.get("default")
    return case(branches, None if default is None else translate(default))


def _if(node: exp.Expr, translate: Translate) -> TypedExpression:
    otherwise = node.args.get("false")
    branches = [(translate(node.this), translate(node.args["true"]))]
    return case(branches, None if otherwise is None else translate(otherwise))


def _cut_text(name: str, least: int, node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return substring, left or right; positions and lengths are constants, because engines differ below zero."""
    arguments = ("start", "length") if name == "substring" else ("expression",)
    numbers = [translate(part) for argument in arguments for part in _nodes(node, argument)]
    for index, number in enumerate(numbers):
        value = number.expression.value if isinstance(number.expression, Constant) else None
        if number.kind != "integer" or not isinstance(value, int) or value < (0 if index else least):
            raise refused(f"{name} takes constant whole numbers: positions ≥ 1 and lengths ≥ 0")
    return call(name, translate(node.this), *numbers)


def _cast(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return CAST or TRY_CAST. They are the same: NULL if a value cannot be cast."""
    target = node.args["to"].this
    if target not in _KINDS:
        raise refused_cast(getattr(target, "name", "that type"))
    return cast_to(translate(node.this), _KINDS[target])


def _call_by_name(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return a call that the parser knows by name alone."""
    check_call_name(node)
    name, arguments = str(node.this).casefold(), node.expressions
    if name == "clamp":
        return _clamp([translate(part) for part in arguments])
    return time_nodes.call_by_name(name, arguments, translate)


def _clamp(terms: Sequence[TypedExpression]) -> TypedExpression:
    ends = [term.known.ends for term in terms[1:]]
    if len(terms) == 3 and None not in ends and ends[0] > ends[1]:  # type: ignore[operator] # noqa: PLR2004 - x and its ends, both known
        message = "The lower end of clamp is above its upper end."
        raise InvalidError(message, argument="sql", hint="Write clamp(x, low, high).")
    return call("clamp", *terms)


_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr, Translate], TypedExpression]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: constant(bool(node.this), "boolean"),
    exp.Null: lambda _node, _translate: constant(None, "integer"),
    exp.Paren: lambda node, translate: translate(node.this),
    exp.IntDiv: _divide_whole,
    exp.Floor: partial(_round, "floor"),
    exp.Ceil: partial(_round, "ceil"),
    exp.Round: partial(_round, "round"),
    exp.And: partial(_chain, "and"),
    exp.Or: partial(_chain, "or"),
    exp.DPipe: partial(_chain, "concat"),
    exp.Concat: _concat,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.NullSafeEQ: _not_distinct,
    exp.NullSafeNEQ: lambda node, translate: call("not", _not_distinct(node, translate)),
    exp.Like: _like,
    exp.ILike: _like,
    exp.Case: _case,
    exp.If: _if,
    exp.Substring: partial(_cut_text, "substring", 1),
    exp.Left: partial(_cut_text, "left", 0),
    exp.Right: partial(_cut_text, "right", 0),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Date: lambda node, translate: cast_to(translate(node.this), "date"),
    exp.Anonymous: _call_by_name,
    **time_nodes.NODES,
}

LISTED: frozenset[type[exp.Expr]] = frozenset(_PLAIN) | frozenset(_SPECIAL)
"""The node classes of a row expression, besides columns."""
