"""Functions of dates and timestamps: their meanings on values that are not NULL."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final

DAYS_AND_LONGER: Final = ("year", "quarter", "month", "week", "day")
"""The units to which a date can be truncated."""

UNITS: Final = (*DAYS_AND_LONGER, "hour", "minute", "second")
"""The units to which a timestamp can be truncated."""

MOST_SECONDS: Final = 1_000_000
"""The largest number of seconds, forward or back, by which `add_seconds` moves a timestamp."""


def year(day: date) -> int:
    """Return the year."""
    return day.year


def quarter(day: date) -> int:
    """Return the quarter, 1 to 4."""
    return (day.month + 2) // 3


def month(day: date) -> int:
    """Return the month, 1 to 12."""
    return day.month


def day(day: date) -> int:
    """Return the day of the month, 1 to 31."""
    return day.day


def weekday(day: date) -> int:
    """Return the day of the week: 0 for Sunday to 6 for Saturday.

    >>> weekday(date(2024, 1, 7)), weekday(date(2024, 1, 8))
    (0, 1)
    """
    return day.isoweekday() % 7


def hour(moment: datetime) -> int:
    """Return the hour, 0 to 23."""
    return moment.hour


def minute(moment: datetime) -> int:
    """Return the minute, 0 to 59."""
    return moment.minute


def date_trunc(unit: str, moment: date) -> date:
    """Return the start of the unit that contains the moment; a date stays a date. Weeks start on Monday.

    >>> date_trunc("month", date(2024, 5, 17)), date_trunc("week", date(2024, 5, 17))
    (datetime.date(2024, 5, 1), datetime.date(2024, 5, 13))
    """
    start = moment.replace(**_zeros(unit)) if isinstance(moment, datetime) else moment  # type: ignore[arg-type]  # no time zone
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


def add_seconds(moment: datetime, seconds: int) -> datetime | None:
    """Return a timestamp some seconds later; NULL outside the years 1 to 9999, and for more than MOST_SECONDS.

    >>> add_seconds(datetime(2024, 3, 31, 1), 7200), add_seconds(datetime(9999, 12, 31, 23), 3600)
    (datetime.datetime(2024, 3, 31, 3, 0), None)
    """
    if abs(seconds) > MOST_SECONDS:
        return None
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _zeros(unit: str) -> dict[str, int]:
    """Return the parts of a time of day that are smaller than the unit, with the value 0."""
    parts = ("hour", "minute", "second", "microsecond")
    first = parts.index(unit) + 1 if unit in parts else 0
    return dict.fromkeys(parts[first:], 0)
