"""Nodes of the parsed tree that are about dates and times, as typed expressions (`time_expressions`, `time_labels`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Final

from sqlglot import exp

from tacit.query.expressions import Constant
from tacit.query.refusals import refused
from tacit.query.sql import time_labels
from tacit.query.sql.time_expressions import (
    MOMENTS,
    PART_CALLS,
    add_units,
    age_part,
    date_diff,
    date_part,
    date_sub,
    date_trunc,
    difference,
)
from tacit.query.sql.typed_expressions import (
    Translate,
    TypedExpression,
    call,
    case,
    cast_hint,
    cast_to,
    coerce,
    constant,
)

CALL_NAMES: Final = (*PART_CALLS, "date_part", "datepart", "date_sub", "datesub")
"""The functions of dates that the parser knows by name alone."""

_AGE = "age"
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def _extract(node: exp.Expr, translate: Translate) -> TypedExpression:
    return _part_of(str(node.name), node.expression, translate)


def _part_of(part: str, node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return a part of a moment, or of the age that a call of age() is."""
    inner = node.unnest()
    if isinstance(inner, exp.Anonymous) and str(inner.this).casefold() == _AGE:
        if len(inner.expressions) != 2:  # noqa: PLR2004 - an end and a start
            raise refused("age takes two dates", "Write extract(year FROM age(current_date, birth)).")
        return age_part(part, *(translate(moment) for moment in inner.expressions))
    return date_part(part, translate(node))


def _date_trunc(node: exp.Expr, translate: Translate) -> TypedExpression:
    return date_trunc(str(node.args["unit"].name), translate(node.this))


def _date_diff(node: exp.Expr, translate: Translate) -> TypedExpression:
    unit = node.args.get("unit")
    return date_diff("day" if unit is None else str(unit.name), translate(node.expression), translate(node.this))


def _add(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return a sum: of numbers, of a date and days, or of a moment and an interval."""
    left, right = node.this, node.expression
    if isinstance(left.unnest(), exp.Interval):
        left, right = right, left
    if isinstance(right.unnest(), exp.Interval):
        return _later(translate(left), right.unnest(), translate)
    a, b = translate(left), translate(right)
    if "date" in (a.kind, b.kind) and "integer" in (a.kind, b.kind):
        day, days = (a, b) if a.kind == "date" else (b, a)
        return add_units(day, "day", days)
    return call("add", a, b)


def _subtract(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return a difference: of numbers, of dates, of a date and days, or of a moment and an interval."""
    right = node.expression.unnest()
    if isinstance(right, exp.Interval):
        return _later(translate(node.this), right, translate, back=True)
    a, b = translate(node.this), translate(node.expression)
    return difference(a, b) if {a.kind, b.kind} & set(MOMENTS) else call("subtract", a, b)


def _later(
    moment: TypedExpression, interval: exp.Interval, translate: Translate, *, back: bool = False
) -> TypedExpression:
    """Return a moment and an interval; a date becomes its midnight, as in DuckDB."""
    unit, amount = interval.args.get("unit"), interval.this
    if not isinstance(unit, exp.Var) or amount is None:
        raise refused("An interval needs a number and one unit", "Write day + INTERVAL 30 DAY.")
    if moment.kind not in MOMENTS:
        reason = f"An interval is added to a date or a timestamp, not to {moment.kind}"
        raise refused(reason, cast_hint(moment.kind, MOMENTS))
    text = str(amount.this).strip() if isinstance(amount, exp.Literal) else ""
    count = constant(int(text), "integer") if _WHOLE.fullmatch(text) else translate(amount)
    count = _negated(count) if back and count.kind == "integer" else count
    return add_units(coerce(moment, "timestamp"), str(unit.name), count)


def _negated(count: TypedExpression) -> TypedExpression:
    """Return minus a number of units; one beyond 62 bits is clamped first, and is too large either way."""
    ends = [constant(end, "integer") for end in (-(2**61), 2**61)]
    return call("negate", count if isinstance(count.expression, Constant) else call("clamp", count, *ends))


def _date_add(node: exp.Expr, translate: Translate) -> TypedExpression:
    interval = node.expression.unnest()
    if not isinstance(interval, exp.Interval):
        raise refused("date_add takes a date and an interval", "Write date_add(day, INTERVAL 30 DAY).")
    return _later(translate(node.this), interval, translate)


def _label(
    write: Callable[[TypedExpression, str], TypedExpression], node: exp.Expr, translate: Translate
) -> TypedExpression:
    """Return strftime or to_char; its format must be a constant."""
    form = node.args.get("format")
    if not isinstance(form, exp.Literal) or not form.is_string:
        raise refused("A label of a date takes a constant format", "Write strftime(day, '%Y-%m').")
    return write(translate(node.this), str(form.this))


def _last_day(node: exp.Expr, translate: Translate) -> TypedExpression:
    """Return the last day of the month."""
    first = cast_to(date_trunc("month", translate(node.this)), "date")
    one, back = constant(1, "integer"), constant(-1, "integer")
    last = call("equal", first, constant(date(9999, 12, 1), "date"))  # no month follows it
    return case([(last, constant(date.max, "date"))], add_units(add_units(first, "month", one), "day", back))


def call_by_name(name: str, arguments: Sequence[exp.Expr], translate: Translate) -> TypedExpression:
    """Return a call of one of `CALL_NAMES`, or raise RefusedError."""
    if name in PART_CALLS:
        if len(arguments) != 1:
            raise refused(f"The function {name} does not take {len(arguments)} arguments")
        return _part_of(name, arguments[0], translate)
    if name in ("date_sub", "datesub"):
        if len(arguments) != 3 or not isinstance(arguments[0], exp.Literal):  # noqa: PLR2004 - a unit and two dates
            hint = "Write date_sub('year', birth, day), or day - INTERVAL 30 DAY."
            raise refused(f"{name} takes the name of a unit and two dates", hint)
        return date_sub(str(arguments[0].this), translate(arguments[1]), translate(arguments[2]))
    if len(arguments) != 2 or not isinstance(arguments[0], exp.Literal):  # noqa: PLR2004 - a part and a date
        raise refused(f"{name} takes the name of a part and a date")
    return _part_of(str(arguments[0].this), arguments[1], translate)


NODES: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, Translate], TypedExpression]]] = {
    exp.Add: _add,
    exp.Sub: _subtract,
    exp.Extract: _extract,
    exp.TimestampTrunc: _date_trunc,
    exp.DateTrunc: _date_trunc,
    exp.DayOfWeekIso: lambda node, translate: date_part("isodow", translate(node.this)),
    exp.TimeToUnix: lambda node, translate: date_part("epoch", translate(node.this)),
    exp.DateDiff: _date_diff,
    exp.DateAdd: _date_add,
    exp.LastDay: _last_day,
    exp.TimeToStr: partial(_label, time_labels.strftime),
    exp.ToChar: partial(_label, time_labels.to_char),
    exp.Monthname: lambda node, translate: time_labels.month_name(translate(node.this)),
    exp.Dayname: lambda node, translate: time_labels.day_name(translate(node.this)),
}
"""How each node is translated."""
