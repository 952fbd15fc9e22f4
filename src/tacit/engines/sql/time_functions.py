"""Ordinals of moments, moments from ordinals, and months added, as SQL. `query.expressions.time` defines them.

No row makes them fail. A moment is from the first microsecond of the year 1 to the last of the year 9999, because
engines read others as NULL. So every part of it, and every ordinal, is a small integer ≥ 0. A number that becomes a
moment, or months that are added, may be any integer of 64 bits. They are clipped before the engine computes with them,
and the result is NULL if they had to be: `LEAST(GREATEST(n, …), …)` is inside the CASE too, so an engine that computes
both branches does not fail either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.engines.sql.builder import SQL, TYPES, call, cast, chain, infix, literal, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.functions import Form, constant_at
from tacit.errors import InternalError
from tacit.query.expressions import Call, Constant
from tacit.query.expressions.time import DAY_LENGTH, LAST_DAY, LAST_MICROSECOND, LAST_MONTH, ORIGIN

PartOf = Callable[[str, SQL], SQL]
"""Writes a part of a moment as a BIGINT: year, quarter, month, hour, minute, second, or microsecond of the minute."""

DaysOf = Callable[[SQL, SQL], SQL]
"""Writes the number of days from one date to another, as a BIGINT."""

_MONTHS, _QUARTERS = 12, 4


def ordinal_form(days: DaysOf, part: PartOf) -> Form:
    """Return the form of `ordinal`."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        unit, moment = node.arguments[0], arguments[1]
        if not isinstance(unit, Constant):
            raise InternalError("ordinal was planned without a unit.")
        day = days(cast(moment, "DATE") if node.arguments[1].kind == "timestamp" else moment, _first("date"))
        return _ordinal(str(unit.value), moment, day, part)

    return Form(write=write, repeats=(1,))


def _ordinal(unit: str, moment: SQL, day: SQL, part: PartOf) -> SQL:  # noqa: PLR0911 - one return for each unit
    year = _less(part("year", moment), 1)
    match unit:
        case "year":
            return year
        case "quarter":
            return _plus(year, _QUARTERS, _less(part("quarter", moment), 1))
        case "month":
            return _plus(year, _MONTHS, _less(part("month", moment), 1))
        case "day":
            return day
    hours = _plus(day, 24, part("hour", moment))
    if unit == "hour":
        return hours
    minutes = _plus(hours, 60, part("minute", moment))
    match unit:
        case "minute":
            return minutes
        case "second":
            return _plus(minutes, 60, part("second", moment))
        case "microsecond":
            return _plus(minutes, 60_000_000, part("microsecond", moment))
    raise InternalError("ordinal was planned with an unknown unit.")


def date_at_form(later: Callable[[SQL, SQL], SQL]) -> Form:
    """Return the form of `date_at`; `later` writes a date some days later."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        day = later(_first("date"), _clipped(arguments[0], 0, LAST_DAY))
        return when((_between(arguments[0], 0, LAST_DAY), day))

    return Form(write=write, repeats=(0,))


def timestamp_at_form(moment: Callable[[SQL], SQL]) -> Form:
    """Return the form of `timestamp_at`; `moment` writes the timestamp of an ordinal that has one."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        number = _clipped(arguments[0], 0, LAST_MICROSECOND)
        return when((_between(arguments[0], 0, LAST_MICROSECOND), moment(number)))

    return Form(write=write, repeats=(0,))


def sum_of_intervals(dialect: Dialect) -> Callable[[SQL], SQL]:
    """Return a writer of timestamps: days and microseconds are added apart, so that each product is exact."""

    def write(number: SQL) -> SQL:
        length = whole(DAY_LENGTH)
        days = infix(exp.Mul, dialect.quotient(number, length, "BIGINT"), _interval("1", "DAY"))
        rest = infix(exp.Mul, dialect.remainder(number, length), _interval("0.000001", "SECOND"))
        return infix(exp.Add, infix(exp.Add, _first("timestamp"), days), rest)

    return write


def add_months_form(part: PartOf) -> Form:
    """Return the form of `add_months`. Every engine moves a missing day to the last day of the month."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        moment, months = arguments
        month = _plus(_less(part("year", moment), 1), _MONTHS, _less(part("month", moment), 1))
        target = infix(exp.Add, month, _clipped(months, -LAST_MONTH - 1, LAST_MONTH + 1))
        shift = infix(exp.Sub, _clipped(target, 0, LAST_MONTH), month)
        moved = infix(exp.Add, moment, infix(exp.Mul, shift, _interval("1", "MONTH")))
        return when((_between(target, 0, LAST_MONTH), cast(moved, TYPES[node.kind])))

    return Form(write=write, repeats=(0, 1))


def quotient_form(dialect: Dialect) -> Form:
    """Return the form of `quotient`, whose divisor is a constant above 0."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        return dialect.quotient(arguments[0], whole(constant_at(node, 1)), "BIGINT")

    return Form(write=write)


def _first(kind: str) -> SQL:
    return literal(ORIGIN, "timestamp") if kind == "timestamp" else literal(ORIGIN.date(), "date")


def _interval(amount: str, unit: str) -> SQL:
    return exp.Interval(this=exp.Literal.string(amount), unit=exp.var(unit))


def _less(value: SQL, number: int) -> SQL:
    return infix(exp.Sub, value, whole(number))


def _plus(larger: SQL, factor: int, smaller: SQL) -> SQL:
    """Return larger·factor + smaller."""
    return infix(exp.Add, infix(exp.Mul, larger, whole(factor)), smaller)


def _clipped(number: SQL, low: int, high: int) -> SQL:
    """Return a number, but at least low and at most high; NULL becomes low, and the caller leaves it out."""
    return call("LEAST", call("GREATEST", number, whole(low)), whole(high))


def _between(number: SQL, low: int, high: int) -> SQL:
    return chain(exp.And, [infix(exp.GTE, number, whole(low)), infix(exp.LTE, number, whole(high))])
