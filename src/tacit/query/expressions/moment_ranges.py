"""Ranges of dates and timestamps: a moment is the number of its microsecond (`time.ordinal`).

A date is its midnight. `ranges` calls the rules here with the ends of the arguments; None is an end that is not known.
Every moment is from the first microsecond of the year 1 to the last of the year 9999, and a result outside is NULL, so
ends are clipped to these. The functions never decrease in their arguments, with one exception:

* `ordinal`, `year`, `isoyear`, `date_trunc`, `date_at`, `timestamp_at` and the cast of a timestamp to a date never
  decrease.
* `add_months` of dates never decreases, in the date and in the number of months: within a month the day stays or
  becomes the last one. Of timestamps it can: 30 January 23:00 and 31 January 1:00 both move to 28 February. But their
  days move as dates do. So the range goes from the start of the first day to the end of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import floor

from tacit.query.expressions import Call, Constant
from tacit.query.expressions import time as meanings
from tacit.query.expressions.time import DAY_LENGTH, LAST_DAY, LAST_MICROSECOND, ORIGIN

End = Fraction | None
Ends = tuple[End, End]

_LAST: Mapping[bool, date] = {True: datetime.max, False: date.max}  # noqa: DTZ901 - kinds have no time zone


def number_of(moment: date) -> Fraction:
    """Return the number of the microsecond of a moment; a date is its midnight.

    >>> number_of(date(1, 1, 2))
    Fraction(86400000000, 1)
    """
    time = moment - ORIGIN if isinstance(moment, datetime) else moment - ORIGIN.date()
    return Fraction(time // timedelta(microseconds=1))


def moment_range(part: Call, below: Sequence[Ends]) -> Ends:
    """Return the range of a call in `RULES` from the ranges of its arguments."""
    return RULES[part.function](part, below)


def start_of_day(ends: Ends) -> Ends:
    """Return the range of timestamps as dates."""
    low, high = ends
    return (None if low is None else _midnight(low)), (None if high is None else _midnight(high))


def _midnight(number: Fraction) -> Fraction:
    return Fraction(floor(number / DAY_LENGTH) * DAY_LENGTH)


def moment_of(number: Fraction, *, timed: bool) -> date:
    """Return the moment with a number, a timestamp or a date, clipped to the possible ones."""
    at = ORIGIN + timedelta(microseconds=min(max(floor(number), 0), LAST_MICROSECOND))
    return at if timed else at.date()


def _rising(f: Callable[[Call, date], date | int], least: int, most: Callable[[Call], int]) -> Callable[..., Ends]:
    """Return the rule of a non-decreasing function of one moment, its last argument."""

    def rule(part: Call, below: Sequence[Ends]) -> Ends:
        low, high = below[-1]
        timed = part.arguments[-1].kind == "timestamp"
        return (
            Fraction(least) if low is None else _exact(f(part, moment_of(low, timed=timed))),
            Fraction(most(part)) if high is None else _exact(f(part, moment_of(high, timed=timed))),
        )

    return rule


def _exact(value: date | int) -> Fraction:
    return number_of(value) if isinstance(value, date) else Fraction(value)


def _unit(part: Call) -> str:
    unit = part.arguments[0]
    return str(unit.value) if isinstance(unit, Constant) else ""


def _last_ordinal(part: Call) -> int:
    timed = part.arguments[-1].kind == "timestamp"
    return meanings.ordinal(_unit(part), _LAST[timed])


def _at(length: int, last: int) -> Callable[..., Ends]:
    """Return the rule of the moment with a number of days or microseconds."""

    def rule(_: Call, below: Sequence[Ends]) -> Ends:
        low, high = below[0]
        first = 0 if low is None else min(max(floor(low), 0), last)
        final = last if high is None else min(max(floor(high), 0), last)
        return Fraction(first * length), Fraction(final * length)

    return rule


def _add_months(part: Call, below: Sequence[Ends]) -> Ends:
    """Return the range of a moment some months later; see the module."""
    (low, high), (fewest, most) = below
    rest = DAY_LENGTH - 1 if part.kind == "timestamp" else 0
    first = None if low is None or fewest is None else _moved(low, fewest)
    last = None if high is None or most is None else _moved(high, most)
    return (
        Fraction(0) if first is None else number_of(first),
        Fraction(LAST_DAY * DAY_LENGTH + rest) if last is None else number_of(last) + rest,
    )


def _moved(number: Fraction, months: Fraction) -> date:
    """Return the day of a moment some months later, clipped to the possible days."""
    day, count = moment_of(number, timed=False), floor(months)
    return meanings.add_months(day, count) or (date.max if count > 0 else date.min)


RULES: Mapping[str, Callable[[Call, Sequence[Ends]], Ends]] = {
    "ordinal": _rising(lambda part, moment: meanings.ordinal(_unit(part), moment), 0, _last_ordinal),
    "year": _rising(lambda _, moment: meanings.year(moment), -9999, lambda _: 9999),
    "isoyear": _rising(lambda _, moment: meanings.isoyear(moment), 1, lambda _: 9999),
    "date_trunc": _rising(lambda part, moment: meanings.date_trunc(_unit(part), moment), 0, lambda _: LAST_MICROSECOND),
    "date_at": _at(DAY_LENGTH, LAST_DAY),
    "timestamp_at": _at(1, LAST_MICROSECOND),
    "add_months": _add_months,
}
"""The functions of moments, or with moments as results, whose ranges follow from their arguments."""
