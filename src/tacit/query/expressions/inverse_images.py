r"""Inverse images: where an argument of a function must be if the function's value is in a set.

Each function f here never decreases: x ≤ y implies f(x) ≤ f(y). So the arguments whose values are in a span form a span
too, and its ends are found one by one. An end that is not known exactly moves outward.

| function | f(x) ≥ v, or f(x) > v, implies |
|---|---|
| integer as real | x ≥ v, or x > v, for \|v\| < 2^53: integers up to 2^53 are exact, and larger ones stay larger |
| date as timestamp | the day of v or a later one: a day is its midnight |
| timestamp as date | from midnight of the day on |
| year(x) | from the first moment of the year on |
| date_trunc(unit, x) | x ≥ v, since x is not before its unit's start; below: x is before the start of the next unit |
| clamp(x, a, b) | x ≥ v if v > a; everything if v ≤ a |

Only values that are not NULL are moved. A cast of an integer to a real is NULL for NULL alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from math import ceil, floor, inf
from typing import Final

from tacit.query.expressions import Call, Cast, Constant, Expression, Kind, time
from tacit.query.expressions.value_sets import END, START, Cut, ValueSet, after, before, between, nothing, union

_EXACT = 2**53
_LONGEST: Final[Mapping[str, timedelta]] = {
    "year": timedelta(days=366),
    "quarter": timedelta(days=92),
    "month": timedelta(days=31),
    "week": timedelta(days=7),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}
"""The longest of each unit: from a unit's start so much later is in the next unit."""


def inverse_image(part: Expression, values: ValueSet) -> tuple[Expression, ValueSet] | None:  # noqa: PLR0911 - one return for each function
    """Return the argument of a function and the set in which it must be; None if nothing is known.

    >>> from tacit.query.expressions import Column
    >>> from tacit.query.expressions.value_sets import points
    >>> day = Column("day", "date")
    >>> _, image = inverse_image(Call("year", (day,), "integer"), points([2024], "integer"))
    >>> image == between(before(date(2024, 1, 1)), before(date(2025, 1, 1)), "date")
    True
    """
    match part:
        case Cast(operand=operand, kind="real") if operand.kind == "integer":
            image = _moved(values, operand.kind, _whole_low, _whole_high)
            return operand, image.with_null() if values.null else image
        case _ if values.null:
            return None
        case Cast(operand=operand, kind="timestamp") if operand.kind == "date":
            return operand, _moved(values, "date", _day_of, _day_of)
        case Cast(operand=operand, kind="date") if operand.kind == "timestamp":
            return operand, _moved(values, "timestamp", _midnight_of, _midnight_of)
        case Call(function="year", arguments=(moment,)):
            return moment, _moved(values, moment.kind, _first_of(moment.kind), _first_of(moment.kind))
        case Call(function="date_trunc", arguments=(Constant(value=str(unit)), moment)):
            return moment, _moved(values, moment.kind, lambda cut: cut, _start_after(unit))
        case Call(function="clamp", arguments=(number, Constant(value=low), Constant(value=high))):
            return _unclamped(number, values, low, high)
        case _:
            return None


def _moved(values: ValueSet, kind: Kind, low: Callable[[Cut], Cut], high: Callable[[Cut], Cut]) -> ValueSet:
    """Return the spans with their ends moved."""
    spans = [
        (START if first == START else low(first), END if last == END else high(last)) for first, last in values.spans
    ]
    return union([nothing(kind), *(between(first, last, kind) for first, last in spans)])


def _whole_low(cut: Cut) -> Cut:
    """Return the position from which integers have doubles from a position on."""
    value, side = _number(cut)
    if abs(value) >= _EXACT:
        return before(_EXACT) if value > 0 else START
    return before(ceil(value) if side < 0 else floor(value) + 1)


def _whole_high(cut: Cut) -> Cut:
    """Return the position up to which integers have doubles before a position."""
    value, side = _number(cut)
    if abs(value) >= _EXACT:
        return END if value > 0 else before(-_EXACT + 1)
    return before(ceil(value) if side < 0 else floor(value) + 1)


def _number(cut: Cut) -> tuple[float, int]:
    """Return the number of a cut, and its side."""
    match cut:
        case (_, int() | float() as value, side):
            return value, side
    return inf if cut == END else -inf, -1


def _day_of(cut: Cut) -> Cut:
    """Return the position among days that a position among their midnights is at."""
    match cut:
        case (_, datetime() as moment, side):
            at_midnight = moment == _midnight(moment.date())
            return before(moment.date()) if side < 0 and at_midnight else after(moment.date(), "date")
    return cut


def _midnight_of(cut: Cut) -> Cut:
    """Return the position of the midnight that starts the day after a position among days."""
    match cut:
        case (_, date() as day, side):
            return before(_midnight(day)) if side < 0 else END  # only the last day has the side after it
    return cut


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001 - kinds have no time zone


def _first_of(kind: Kind) -> Callable[[Cut], Cut]:
    """Return the function from a position among years to that of the first moment of the year."""

    def move(cut: Cut) -> Cut:
        year, _ = _number(cut)
        if not MINYEAR <= year <= MAXYEAR:
            return START if year < MINYEAR else END
        first = date(int(year), 1, 1)
        return before(first if kind == "date" else _midnight(first))

    return move


def _start_after(unit: str) -> Callable[[Cut], Cut]:
    """Return the function from a position among the starts of units to the first start at or after it."""

    def move(cut: Cut) -> Cut:
        match cut:
            case (_, date() as moment, side):
                start = time.date_trunc(unit, moment)
                if start == moment and side < 0:
                    return cut
                try:
                    return before(time.date_trunc(unit, start + _LONGEST[unit]))
                except OverflowError:  # the last unit before the year 10,000
                    return END
        return cut

    return move


def _unclamped(number: Expression, values: ValueSet, low: object, high: object) -> tuple[Expression, ValueSet] | None:
    """Return where a number must be if the clamped number is in a set; without known ends, nothing is known."""
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return None
    first, last, kind = before(low), after(high, number.kind), number.kind
    return number, _moved(
        values, kind, lambda cut: START if cut <= first else cut, lambda cut: END if cut >= last else cut
    )
