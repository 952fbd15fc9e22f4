"""Row expressions that need more than a name: literals, casts, cuts of text, parts of dates, calls by name alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

from sqlglot import exp

from tacit.errors import InvalidError, show
from tacit.query.expressions import Constant, Kind
from tacit.query.expressions.casts import in_64_bits
from tacit.query.expressions.functions import FUNCTIONS
from tacit.query.expressions.time import DAYS_AND_LONGER, UNITS
from tacit.query.refusals import refused, refused_function
from tacit.query.sql.terms import Term, call, cast_to, constant

Go = Callable[[exp.Expr], Term]
"""Gives the term of a part of a node."""

AGGREGATE_NAMES = {"mean": "avg", "count_star": "count"}
"""Aggregates that the parser knows by name alone, and what we call them."""

_NAMES = ("clamp", "weekday", "date_part", "datepart")
_MOST_DIGITS = 40
_KINDS: dict[exp.DType, Kind] = {
    **dict.fromkeys((exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT), "integer"),
    **dict.fromkeys((exp.DType.FLOAT, exp.DType.DOUBLE), "real"),
    **dict.fromkeys((exp.DType.TEXT, exp.DType.VARCHAR), "text"),
    **dict.fromkeys((exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ), "timestamp"),
    exp.DType.BOOLEAN: "boolean",
    exp.DType.DATE: "date",
}


def parts(node: exp.Expr, argument: str) -> list[exp.Expr]:
    """Return an argument of a node as a list."""
    value = node.args.get(argument)
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def literal(node: exp.Expr, _: Go) -> Term:
    """Return a number or a text of the question."""
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


def cut(name: str, least: int, node: exp.Expr, go: Go) -> Term:
    """Return substring, left or right; their places and lengths are constants, since engines differ below zero."""
    wanted = ("start", "length") if name == "substring" else ("expression",)
    numbers = [go(part) for argument in wanted for part in parts(node, argument)]
    for place, number in enumerate(numbers):
        value = number.expression.value if isinstance(number.expression, Constant) else None
        if number.kind != "integer" or not isinstance(value, int) or value < (0 if place else least):
            raise refused(f"{name} takes constant whole numbers, places from 1 on and lengths from 0 on")
    return call(name, go(node.this), *numbers)


def cast(node: exp.Expr, go: Go) -> Term:
    """Return CAST or TRY_CAST, which are the same: NULL where a value cannot be cast."""
    target = node.args["to"].this
    if target not in _KINDS:
        kinds = "INTEGER, BIGINT, DOUBLE, TEXT, BOOLEAN, DATE and TIMESTAMP"
        raise refused(f"A cast to {getattr(target, 'name', 'that type')} is not answered", f"Cast to one of {kinds}.")
    return cast_to(go(node.this), _KINDS[target])


def extract(node: exp.Expr, go: Go) -> Term:
    """Return a part of a date."""
    return _date_part(str(node.name), go(node.expression))


def _date_part(part: str, moment: Term) -> Term:
    name = {"dow": "weekday", "dayofweek": "weekday", "dayofmonth": "day"}.get(part.casefold(), part.casefold())
    if name == "isodow":
        return isodow(moment)
    if name not in ("year", "quarter", "month", "day", "weekday", "hour", "minute"):
        raise refused("Of dates year, quarter, month, day, weekday, hour and minute are answered")
    return call(name, moment)


def isodow(moment: Term) -> Term:
    """Return 1 for Monday to 7 for Sunday."""
    shifted = call("add", call("weekday", moment), constant(6, "integer"))
    return call("add", call("modulo", shifted, constant(7, "integer")), constant(1, "integer"))


def date_trunc(node: exp.Expr, go: Go) -> Term:
    """Return the beginning of a unit of time."""
    moment, unit = go(node.this), str(node.args["unit"].name).casefold()
    units = DAYS_AND_LONGER if moment.kind == "date" else UNITS
    if unit not in units:
        raise refused(f"date_trunc of a {moment.kind} takes one of {', '.join(units)}")
    return call("date_trunc", constant(unit, "text"), moment)


def named(node: exp.Expr, go: Go) -> Term:
    """Return a call that the parser knows by name alone."""
    check_name(node)
    name, arguments = str(node.this).casefold(), node.expressions
    if name == "clamp":
        return _clamp([go(part) for part in arguments])
    if name == "weekday":
        return call(name, *(go(part) for part in arguments))
    if len(arguments) != 2 or not isinstance(arguments[0], exp.Literal):  # noqa: PLR2004 - a part and a date
        raise refused(f"{name} takes the name of a part and a date")
    return _date_part(str(arguments[0].this), go(arguments[1]))


def check_name(node: exp.Expr) -> None:
    """Raise if a node is a call by a name that is not listed."""
    if isinstance(node, exp.Anonymous) and node.name.casefold() not in {*_NAMES, *AGGREGATE_NAMES}:
        named = [name for name, function in FUNCTIONS.items() if not function.ours]
        raise refused_function(node.name, [*named, "count", "sum", "avg"])


def _clamp(terms: Sequence[Term]) -> Term:
    ends = [term.known.ends for term in terms[1:]]
    if len(terms) == 3 and None not in ends and ends[0] > ends[1]:  # type: ignore[operator] # noqa: PLR2004 - x and its ends, both known
        raise InvalidError("sql", "clamp with its lower end above its upper end", "a question with clamp(x, low, high)")
    return call("clamp", *terms)
