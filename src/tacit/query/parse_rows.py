"""Row expressions: nodes of the parsed tree into terms, by a list of node classes.

The same list serves for what is computed from released values; only the leaves differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite

from sqlglot import exp

from tacit.errors import InvalidError, show
from tacit.query.expressions import Constant, Kind
from tacit.query.functions import FUNCTIONS
from tacit.query.functions_cast import in_64_bits
from tacit.query.functions_time import DAYS_AND_LONGER, UNITS
from tacit.query.parse_terms import Term, call, case, cast_to, coerce, common_kind, condition, constant
from tacit.query.refuse import refused, refused_function, refused_node

Leaf = Callable[[exp.Expr], Term | None]
"""Gives the term of a node that stands for itself, such as a column, or None for the list to decide."""

_Go = Callable[[exp.Expr], Term]
AGGREGATE_NAMES = {"mean": "avg", "count_star": "count"}
"""Aggregates that the parser knows by name alone, and what we call them."""

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


def translate(node: exp.Expr, leaf: Leaf) -> Term:
    """Return the term of a node, or raise RefusedError or InvalidError."""
    found = leaf(node)
    if found is not None:
        return found
    go = partial(translate, leaf=leaf)
    if type(node) in _PLAIN:
        name, *arguments = _PLAIN[type(node)].split()
        return call(name, *(go(part) for argument in arguments for part in _parts(node, argument)))
    handler = _SPECIAL.get(type(node))
    if handler is None or is_aggregate(node):
        raise refused_node(node)
    return handler(node, go)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate, answered or not."""
    return isinstance(node, exp.AggFunc) or (
        isinstance(node, exp.Anonymous) and node.name.casefold() in AGGREGATE_NAMES
    )


def _parts(node: exp.Expr, argument: str) -> list[exp.Expr]:
    value = node.args.get(argument)
    return [] if value is None else list(value) if isinstance(value, list) else [value]


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


def _literal(node: exp.Expr, _: _Go) -> Term:
    text = str(node.this)
    if node.args.get("is_string"):
        return constant(text, "text")
    if text.isdecimal() and len(text) <= _MOST_DIGITS and in_64_bits(int(text)) is not None:
        return constant(int(text), "integer")
    try:
        number = float(text)
    except ValueError:
        raise InvalidError("sql", show(text), "a question with numbers in decimal digits") from None
    if not isfinite(number):
        raise InvalidError("sql", "a number beyond 1e308", "a question with numbers that a double holds")
    return constant(number, "real")


def _whole_division(node: exp.Expr, go: _Go) -> Term:
    """Return a // b as ⌊a/b⌋, an integer if both are."""
    a, b = go(node.this), go(node.expression)
    quotient = call("floor", call("divide", a, b))
    return cast_to(quotient, "integer") if a.kind == b.kind == "integer" else quotient


def _rounded(name: str, node: exp.Expr, go: _Go) -> Term:
    """Return floor, ceil or round; of an integer that is the integer itself."""
    value, digits = go(node.this), [go(part) for part in _parts(node, "decimals")]
    if value.kind == "integer" and not digits:
        return value
    if digits:
        number = digits[0].expression.value if isinstance(digits[0].expression, Constant) else None
        if not isinstance(number, int) or isinstance(number, bool) or abs(number) > 15:  # noqa: PLR2004 - of a double
            raise refused("round takes a constant number of digits from -15 to 15")
    return call(name, value, *digits)


def _chain(name: str, node: exp.Expr, go: _Go) -> Term:
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


def _concat(node: exp.Expr, go: _Go) -> Term:
    """Return concat(a, b, …), which skips NULL, as a || b || … does not."""
    empty = constant("", "text")
    return call("concat", *(call("coalesce", go(part), empty) for part in node.expressions))


def _between(node: exp.Expr, go: _Go) -> Term:
    value = go(node.this)
    low, high = call("greater_equal", value, go(node.args["low"])), call("less_equal", value, go(node.args["high"]))
    return call("and", low, high)


def _in(node: exp.Expr, go: _Go) -> Term:
    value, options = go(node.this), [go(option) for option in node.expressions]
    if not options:
        raise refused("IN takes a list of values in parentheses")
    kind = common_kind([value, *options], "IN")
    value, options = coerce(value, kind), [coerce(option, kind) for option in options]
    if all(isinstance(option.expression, Constant) for option in options):
        return call("in", value, *options)
    return call("or", *(call("equal", value, option) for option in options))


def _is(node: exp.Expr, go: _Go) -> Term:
    value, other = go(node.this), node.expression
    if isinstance(other, exp.Null):
        return call("is_null", value)
    if isinstance(other, exp.Boolean):
        truth = condition(value, "IS TRUE") if other.this else call("not", condition(value, "IS FALSE"))
        return call("coalesce", truth, _FALSE)
    raise refused("IS takes NULL, TRUE or FALSE")


def _not_distinct(node: exp.Expr, go: _Go) -> Term:
    """Return a IS NOT DISTINCT FROM b: both NULL, or equal."""
    a, b = go(node.this), go(node.expression)
    same = call("coalesce", call("equal", a, b), _FALSE)
    return call("or", call("and", call("is_null", a), call("is_null", b)), same)


def _like(node: exp.Expr, go: _Go) -> Term:
    value, pattern = go(node.this), go(node.expression)
    if isinstance(node, exp.ILike):
        value, pattern = call("lower", value), call("lower", pattern)
    found = call("like", value, pattern)
    return call("not", found) if node.args.get("negate") else found


def _case(node: exp.Expr, go: _Go) -> Term:
    subject = None if node.this is None else go(node.this)
    branches = []
    for branch in node.args["ifs"]:
        test = go(branch.this)
        branches.append((test if subject is None else call("equal", subject, test), go(branch.args["true"])))
    default = node.args.get("default")
    return case(branches, None if default is None else go(default))


def _if(node: exp.Expr, go: _Go) -> Term:
    otherwise = node.args.get("false")
    return case([(go(node.this), go(node.args["true"]))], None if otherwise is None else go(otherwise))


def _cut(name: str, least: int, node: exp.Expr, go: _Go) -> Term:
    """Return substring, left or right; their places and lengths are constants, since engines differ below zero."""
    wanted = ("start", "length") if name == "substring" else ("expression",)
    numbers = [go(part) for argument in wanted for part in _parts(node, argument)]
    for place, number in enumerate(numbers):
        value = number.expression.value if isinstance(number.expression, Constant) else None
        if number.kind != "integer" or not isinstance(value, int) or value < (0 if place else least):
            raise refused(f"{name} takes constant whole numbers, places from 1 on and lengths from 0 on")
    return call(name, go(node.this), *numbers)


def _cast(node: exp.Expr, go: _Go) -> Term:
    target = node.args["to"].this
    if target not in _KINDS:
        kinds = "INTEGER, BIGINT, DOUBLE, TEXT, BOOLEAN, DATE and TIMESTAMP"
        raise refused(f"A cast to {getattr(target, 'name', 'that type')} is not answered", f"Cast to one of {kinds}.")
    return cast_to(go(node.this), _KINDS[target])


def _extract(node: exp.Expr, go: _Go) -> Term:
    return _date_part(str(node.name), go(node.expression))


def _date_part(part: str, moment: Term) -> Term:
    name = {"dow": "weekday", "dayofweek": "weekday", "dayofmonth": "day"}.get(part.casefold(), part.casefold())
    if name == "isodow":
        return _isodow(moment)
    if name not in ("year", "quarter", "month", "day", "weekday", "hour", "minute"):
        raise refused("Of dates year, quarter, month, day, weekday, hour and minute are answered")
    return call(name, moment)


def _isodow(moment: Term) -> Term:
    """Return 1 for Monday to 7 for Sunday."""
    shifted = call("add", call("weekday", moment), constant(6, "integer"))
    return call("add", call("modulo", shifted, constant(7, "integer")), constant(1, "integer"))


def _date_trunc(node: exp.Expr, go: _Go) -> Term:
    moment, unit = go(node.this), str(node.args["unit"].name).casefold()
    units = DAYS_AND_LONGER if moment.kind == "date" else UNITS
    if unit not in units:
        raise refused(f"date_trunc of a {moment.kind} takes one of {', '.join(units)}")
    return call("date_trunc", constant(unit, "text"), moment)


def _named(node: exp.Expr, go: _Go) -> Term:
    """Return a call that the parser knows by name alone."""
    name, arguments = str(node.this).casefold(), node.expressions
    if name in ("date_part", "datepart") and len(arguments) == 2 and isinstance(arguments[0], exp.Literal):  # noqa: PLR2004
        return _date_part(str(arguments[0].this), go(arguments[1]))
    if name == "weekday":
        return call(name, *(go(part) for part in arguments))
    if name == "clamp":
        return _clamp([go(part) for part in arguments])
    raise refused_function(name, [*FUNCTIONS, "count", "sum", "avg"])


def _clamp(terms: Sequence[Term]) -> Term:
    ends = [term.known.ends for term in terms[1:]]
    if len(terms) == 3 and None not in ends and ends[0] > ends[1]:  # type: ignore[operator] # noqa: PLR2004
        raise InvalidError("sql", "clamp with its lower end above its upper end", "a question with clamp(x, low, high)")
    return call("clamp", *terms)


_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr, _Go], Term]] = {
    exp.Literal: _literal,
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
    exp.Substring: partial(_cut, "substring", 1),
    exp.Left: partial(_cut, "left", 0),
    exp.Right: partial(_cut, "right", 0),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Date: lambda node, go: cast_to(go(node.this), "date"),
    exp.Extract: _extract,
    exp.DayOfWeekIso: lambda node, go: _isodow(go(node.this)),
    exp.TimestampTrunc: _date_trunc,
    exp.DateTrunc: _date_trunc,
    exp.Anonymous: _named,
}

LISTED: frozenset[type[exp.Expr]] = frozenset(_PLAIN) | frozenset(_SPECIAL)
"""The node classes that a row expression may be made of, beside columns."""
