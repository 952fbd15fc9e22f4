"""Dates and times in row expressions: parts, differences, intervals and ages, written with the listed functions.

Everything here is a combination of functions that mean the same in every engine (`expressions.functions`), so the
engines agree, and the ranges of results follow from those of the columns. The meanings are DuckDB's.

**Amounts are small.** A number of units that is added is first clamped to more units than there are between the years
1 and 9999. The sum is outside these years before and after the clamp, or the clamp changed nothing, so the result,
NULL or not, is the same. The clamp bounds the integers, so no sum overflows.

**Ages** never lose their proved range: the months that passed do not fall as the end grows, and do not grow as the
start does. Their range is therefore computed from the ends of both ranges, and the result is clamped to it. If that
were wrong, an age would be wrong, but no range.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacit.errors import InternalError
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Constant, Kind
from tacit.query.expressions.moment_ranges import moment_of
from tacit.query.expressions.time import (
    DAY_LENGTH,
    DAYS_AND_LONGER,
    EPOCH,
    LAST_DAY,
    LAST_MONTH,
    ORDINAL_UNITS,
    UNITS,
)
from tacit.query.refusals import refused
from tacit.query.sql.typed_expressions import TypedExpression, call, case, cast_hint, cast_to, coerce, constant

MOMENTS = ("date", "timestamp")
_FALSE, _TRUE = (constant(value=truth, kind="boolean") for truth in (False, True))
_SECOND = 1_000_000
_WHOLE_CALENDAR = {"month": LAST_MONTH + 1, "day": LAST_DAY + 1, "microsecond": (LAST_DAY + 1) * DAY_LENGTH}
_ADDED: dict[str, tuple[str, int]] = {
    "microsecond": ("microsecond", 1),
    "millisecond": ("microsecond", 1_000),
    "second": ("microsecond", _SECOND),
    "minute": ("microsecond", 60 * _SECOND),
    "hour": ("microsecond", 3_600 * _SECOND),
    "day": ("day", 1),
    "week": ("day", 7),
    "month": ("month", 1),
    "quarter": ("month", 3),
    "year": ("month", 12),
    "decade": ("month", 120),
    "century": ("month", 1_200),
}
"""The units of an interval: in which units it is added, and how many of those it has."""

_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1_200}
_LENGTHS = {"week": 7 * DAY_LENGTH, "day": DAY_LENGTH, "hour": 3_600 * _SECOND, "minute": 60 * _SECOND}
_SPANS = {**_LENGTHS, "second": _SECOND, "millisecond": 1_000, "microsecond": 1}
_SPELLINGS = {
    **dict.fromkeys(("dow", "dayofweek"), "weekday"),
    **dict.fromkeys(("doy", "dayofyear"), "yearday"),
    **dict.fromkeys(("weekofyear", "isoweek"), "week"),
    "dayofmonth": "day",
    "epoch_s": "epoch",
}
_SHORT = {"y": "year", "yr": "year", "mon": "month", "w": "week", "d": "day", "h": "hour", "hr": "hour", "m": "minute"}
_SHORT |= {"min": "minute", "s": "second", "sec": "second", "ms": "millisecond", "us": "microsecond"}
_PLURALS = {"centuries": "century", "millennia": "millennium"}
_PARTS = ("year", "quarter", "month", "week", "isoyear", "day", "weekday", "yearday", "hour", "minute", "second")
_MORE_PARTS = ("isodow", "epoch", "decade", "century", "millennium", "millisecond", "microsecond")
PART_NAMES = (*_PARTS, *_MORE_PARTS)
"""The parts of a date that `date_part` returns, as it names them."""

PART_CALLS = ("weekday", "isoyear", "decade", "century", "millennium", "millisecond", "microsecond", "yearweek")
"""The parts that are functions by their own names, where the parser knows them by name alone."""

_DIFFERENCE = "Write date_diff('hour', b, a), or epoch(a) - epoch(b) for seconds."


def date_part(name: str, moment: TypedExpression) -> TypedExpression:
    """Return a part of a date or timestamp, or raise RefusedError."""
    part = _SPELLINGS.get(name.casefold(), unit_of(name))
    if part in _PARTS:
        return call(part, moment)
    rule = _COMPUTED_PARTS.get(part)
    if rule is None:
        hint = f"Use one of {', '.join((*_PARTS, *_MORE_PARTS))}."
        raise refused("This part of a date is not supported", hint)
    return rule(moment)


def _iso_weekday(moment: TypedExpression) -> TypedExpression:
    """Return 1 for Monday to 7 for Sunday."""
    shifted = call("add", call("weekday", moment), whole(6))
    return call("add", call("modulo", shifted, whole(7)), whole(1))


def _epoch(moment: TypedExpression) -> TypedExpression:
    """Return the seconds since 1970 as a real number."""
    return call("divide", call("subtract", _ordinal("microsecond", moment), whole(EPOCH)), constant(1e6, "real"))


def _years(length: int, first: int) -> Callable[[TypedExpression], TypedExpression]:
    """Return the function from a moment to its period of some years; `first` is the number of the year 1's period."""

    def part(moment: TypedExpression) -> TypedExpression:
        year = call("year", moment) if first == 0 else _ordinal("year", moment)
        return call("add", call("quotient", year, whole(length)), whole(first))

    return part


def _of_minute(moment: TypedExpression) -> TypedExpression:
    return call("modulo", _ordinal("microsecond", moment), whole(60 * _SECOND))


_COMPUTED_PARTS: dict[str, Callable[[TypedExpression], TypedExpression]] = {
    "isodow": _iso_weekday,
    "epoch": _epoch,
    "decade": _years(10, 0),
    "century": _years(100, 1),
    "millennium": _years(1_000, 1),
    "microsecond": _of_minute,
    "millisecond": lambda moment: call("quotient", _of_minute(moment), whole(1_000)),
    "yearweek": lambda moment: call("add", call("multiply", call("isoyear", moment), whole(100)), call("week", moment)),
}


def date_trunc(unit: str, moment: TypedExpression) -> TypedExpression:
    """Return the start of a unit, or raise RefusedError."""
    units, name = DAYS_AND_LONGER if moment.kind == "date" else UNITS, unit_of(unit)
    if name not in units:
        raise refused(f"date_trunc of a {moment.kind} takes one of {', '.join(units)}")
    return call("date_trunc", constant(name, "text"), moment)


def unit_of(name: str) -> str:
    """Return a unit by its singular: 'days', 'Day' and 'd' are 'day'.

    >>> unit_of("Days"), unit_of("hr"), unit_of("century")
    ('day', 'hour', 'century')
    """
    folded = name.casefold()
    return (
        _PLURALS.get(folded) or _SHORT.get(folded) or _SHORT.get(folded.removesuffix("s")) or folded.removesuffix("s")
    )


def whole(number: int) -> TypedExpression:
    """Return an integer."""
    return constant(number, "integer")


def _ordinal(unit: str, moment: TypedExpression) -> TypedExpression:
    """Return the number of the unit that contains a moment; a date has hours as its midnight does."""
    finer = moment.kind == "date" and ORDINAL_UNITS.index(unit) > ORDINAL_UNITS.index("day")
    return call("ordinal", constant(unit, "text"), coerce(moment, "timestamp") if finer else moment)


# --- aggregates -------------------------------------------------------------------------------------------------------


def as_ordinal(value: TypedExpression) -> TypedExpression:
    """Return a date as the number of its day and a timestamp as that of its second; any other value as it is."""
    return _ordinal("day" if value.kind == "date" else "second", value) if value.kind in MOMENTS else value


def from_ordinal(released: TypedExpression, kind: Kind) -> TypedExpression:
    """Return a released number of days or seconds as a date or a timestamp; for other kinds as it is."""
    if kind not in MOMENTS:
        return released
    number = cast_to(released, "integer")
    return call("date_at", number) if kind == "date" else call("timestamp_at", call("multiply", number, whole(_SECOND)))


# --- differences ------------------------------------------------------------------------------------------------------


def difference(a: TypedExpression, b: TypedExpression) -> TypedExpression:
    """Return a - b of two dates in days, or a date some days before; an InvalidError or RefusedError otherwise."""
    if a.kind == "date" and b.kind == "integer" and not b.is_null:
        return add_units(a, "day", call("negate", _clamped(b, LAST_DAY + 1)))
    a, b = _as_moment(a, b), _as_moment(b, a)
    if a.kind == b.kind == "date":
        return call("subtract", _ordinal("day", a), _ordinal("day", b))
    if {a.kind, b.kind} <= set(MOMENTS):
        raise refused("The difference of two timestamps is an interval, not a number", _DIFFERENCE)
    raise refused(f"- takes numbers or dates, not {a.kind} and {b.kind}", "CAST(x AS …) changes the kind of a value.")


def _as_moment(term: TypedExpression, other: TypedExpression) -> TypedExpression:
    """Return a constant text or NULL as the kind of the moment beside it."""
    is_text = isinstance(term.expression, Constant) and term.kind == "text"
    return coerce(term, other.kind) if other.kind in MOMENTS and (is_text or term.is_null) else term


def _pair(name: str, a: TypedExpression, b: TypedExpression) -> tuple[TypedExpression, TypedExpression]:
    """Return two moments of one kind, or raise RefusedError."""
    a, b = _as_moment(a, b), _as_moment(b, a)
    for term in (a, b):
        if term.kind not in MOMENTS:
            raise refused(f"{name} takes dates or timestamps, not {term.kind}", cast_hint(term.kind, MOMENTS))
    kind: Kind = "date" if a.kind == b.kind == "date" else "timestamp"
    return coerce(a, kind), coerce(b, kind)


def date_diff(unit: str, start: TypedExpression, end: TypedExpression) -> TypedExpression:
    """Return how many starts of a unit are between two moments, as DuckDB counts them.

    A week is seven days from the start on. Decades and longer periods start in the years that they divide.
    """
    start, end = _pair("date_diff", start, end)
    name = unit_of(unit)
    if name == "week":
        return call("quotient", date_diff("day", start, end), whole(7))
    if name in ORDINAL_UNITS:
        return call("subtract", _ordinal(name, end), _ordinal(name, start))
    periods = {"decade": 10, "century": 100, "millennium": 1_000}
    if name in periods:
        counts = [call("quotient", call("year", moment), whole(periods[name])) for moment in (end, start)]
        return call("subtract", *counts)
    if name == "millisecond":
        counts = [call("quotient", _ordinal("microsecond", moment), whole(1_000)) for moment in (end, start)]
        return call("subtract", *counts)
    if name == "isoyear":
        return call("subtract", call("isoyear", end), call("isoyear", start))
    raise _no_unit("date_diff", ("year", "quarter", "month", "week", "day", "hour", "minute", "second"))


def _no_unit(name: str, units: tuple[str, ...]) -> Exception:
    return refused(f"This unit of {name} is not supported", f"Use one of {', '.join(units)}.")


def date_sub(unit: str, start: TypedExpression, end: TypedExpression) -> TypedExpression:
    """Return how many whole units have passed between two moments, as DuckDB's date_sub does."""
    start, end = _pair("date_sub", start, end)
    name = unit_of(unit)
    if name in _MONTHS:
        return call("quotient", _months(start, end, at_month_end=True), whole(_MONTHS[name]))
    if name not in _SPANS:
        raise _no_unit("date_sub", ("year", "quarter", "month", "week", "day", "hour", "minute", "second"))
    passed = call("subtract", _ordinal("microsecond", end), _ordinal("microsecond", start))
    return call("quotient", passed, whole(_SPANS[name]))


def age_part(part: str, end: TypedExpression, start: TypedExpression) -> TypedExpression:
    """Return the years or the months of age(end, start): whole years, and whole months beside them."""
    end, start = _pair("age", end, start)
    months, name = _months(start, end, at_month_end=False), unit_of(part)
    if name == "year":
        return call("quotient", months, whole(12))
    if name == "month":
        return call("modulo", months, whole(12))
    hint = "Use year or month, or count days with date_diff('day', start, end)."
    raise refused("This part of an age is not supported", hint)


def _months(start: TypedExpression, end: TypedExpression, *, at_month_end: bool) -> TypedExpression:
    """Return the whole months that have passed; before the start it is minus the months from the end to the start.

    A month has passed if the end is as late in its month as the start is in its own. `at_month_end`: on the last day of
    a month, a start on a later day counts as one on that day.
    """
    months = _passed(start, end, at_month_end=at_month_end)
    if start.known.ends is None or end.known.ends is None:
        return months
    slack = 1 if at_month_end and start.kind == "timestamp" else 0  # see `moment_ranges`: months of timestamps
    corners = [
        (_constant_moment(first, start), _constant_moment(last, end))
        for first, last in zip(reversed(start.known.ends), end.known.ends, strict=True)
    ]
    low, high = (evaluate(_passed(*corner, at_month_end=at_month_end).expression, {}) for corner in corners)
    if not isinstance(low, int) or not isinstance(high, int):
        raise InternalError("an age of two constants is not a number.")
    return call("clamp", months, whole(low - slack), whole(high + slack))


def _constant_moment(number: Fraction, like: TypedExpression) -> TypedExpression:
    return constant(moment_of(number, timed=like.kind == "timestamp"), like.kind)


def _passed(start: TypedExpression, end: TypedExpression, *, at_month_end: bool) -> TypedExpression:
    """Return the same without the proof of its range."""
    apart = call("subtract", _ordinal("month", end), _ordinal("month", start))
    one, none = whole(1), whole(0)
    missing = case([(_is_later(start, end, at_month_end=at_month_end), one)], none)
    beyond = case([(_is_later(end, start, at_month_end=at_month_end), one)], none)
    later = call("greater_equal", end, start)
    return case([(later, call("subtract", apart, missing))], call("add", apart, beyond))


def _is_later(start: TypedExpression, end: TypedExpression, *, at_month_end: bool) -> TypedExpression:
    """Return whether the start is later in its month than the end is in its own."""
    later = call("greater", _in_month(start), _in_month(end))
    if not at_month_end:
        return later
    last = call("coalesce", call("equal", call("day", add_units(end, "day", whole(1))), whole(1)), _TRUE)
    clipped = call("and", last, call("greater_equal", call("day", start), call("day", end)))
    at_once = _FALSE if start.kind == "date" else call("greater", _in_day(start), _in_day(end))
    return case([(clipped, at_once)], later)


def _in_month(moment: TypedExpression) -> TypedExpression:
    """Return how late a moment is in its month, as a number."""
    if moment.kind == "date":
        return call("day", moment)
    return call("add", call("multiply", call("day", moment), whole(DAY_LENGTH)), _in_day(moment))


def _in_day(moment: TypedExpression) -> TypedExpression:
    return call("modulo", _ordinal("microsecond", moment), whole(DAY_LENGTH))


# --- intervals --------------------------------------------------------------------------------------------------------


def add_units(moment: TypedExpression, unit: str, amount: TypedExpression) -> TypedExpression:
    """Return a moment some units later; NULL outside the years 1 to 9999. A date with hours becomes a timestamp."""
    name = unit_of(unit)
    if name not in _ADDED:
        raise _no_unit("an interval", ("year", "quarter", "month", "week", "day", "hour", "minute", "second"))
    if amount.kind != "integer" and not amount.is_null:
        hint = "Write a whole number of a smaller unit: INTERVAL 90 MINUTE."
        raise refused("An interval takes a whole number of units", hint)
    base, factor = _ADDED[name]
    most = _WHOLE_CALENDAR[base] // factor + 1
    units = call("multiply", _clamped(coerce(amount, "integer"), most), whole(factor))
    if base == "month":
        return call("add_months", moment, units)
    if base == "day" and moment.kind == "date":
        return call("date_at", call("add", _ordinal("day", moment), units))
    microseconds = units if base == "microsecond" else call("multiply", units, whole(DAY_LENGTH))
    return call("timestamp_at", call("add", _ordinal("microsecond", moment), microseconds))


def _clamped(amount: TypedExpression, most: int) -> TypedExpression:
    return call("clamp", amount, whole(-most), whole(most))
