"""Dates and timestamps: what each listed function means on values that are there."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final

DAYS_AND_LONGER: Final = ("year", "quarter", "month", "week", "day")
"""The units that a date can be cut to."""

UNITS: Final = (*DAYS_AND_LONGER, "hour", "minute", "second")
"""The units that a timestamp can be cut to."""


def year(day: date) -> int:
    """The year."""
    return day.year


def quarter(day: date) -> int:
    """The quarter, 1 to 4."""
    return (day.month + 2) // 3


def month(day: date) -> int:
    """The month, 1 to 12."""
    return day.month


def day(day: date) -> int:
    """The day of the month, 1 to 31."""
    return day.day


def weekday(day: date) -> int:
    """The day of the week: 0 for Sunday to 6 for Saturday.

    >>> weekday(date(2024, 1, 7)), weekday(date(2024, 1, 8))
    (0, 1)
    """
    return day.isoweekday() % 7


def hour(moment: datetime) -> int:
    """The hour, 0 to 23."""
    return moment.hour


def minute(moment: datetime) -> int:
    """The minute, 0 to 59."""
    return moment.minute


def date_trunc(unit: str, moment: date) -> date:
    """The beginning of the unit that the moment lies in; a date stays a date. Weeks begin on Monday.

    >>> date_trunc("month", date(2024, 5, 17)), date_trunc("week", date(2024, 5, 17))
    (datetime.date(2024, 5, 1), datetime.date(2024, 5, 13))
    """
    start = moment.replace(**_zeros(unit)) if isinstance(moment, datetime) else moment  # type: ignore[arg-type]  # no zone
    match unit:
        case "year":
            return start.replace(month=1, day=1)
        case "quarter":
            return start.replace(month=3 * quarter(start) - 2, day=1)
        case "month":
            return start.replace(day=1)
        case "week":
            return start - timedelta(days=start.weekday())
        case _:
            return start


def _zeros(unit: str) -> dict[str, int]:
    """Return the parts of a clock time that are smaller than the unit, at zero."""
    parts = ("hour", "minute", "second", "microsecond")
    first = parts.index(unit) + 1 if unit in parts else 0
    return dict.fromkeys(parts[first:], 0)
