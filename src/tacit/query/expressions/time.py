"""Functions of dates and timestamps: their meanings on values that are not NULL.

Every function is total on the years 1 to 9999; a result outside them is NULL. Moments are counted from `ORIGIN`, the
first moment of the year 1. It is a Monday, and no moment is before it, so all such counts are at least 0 and every
engine's integer division is ⌊a/b⌋.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import MAXYEAR, date, datetime, timedelta
from typing import Final

DAYS_AND_LONGER: Final = ("year", "quarter", "month", "week", "day")
"""The units to which a date can be truncated."""

UNITS: Final = (*DAYS_AND_LONGER, "hour", "minute", "second")
"""The units to which a timestamp can be truncated."""

ORDINAL_UNITS: Final = ("year", "quarter", "month", "day", "hour", "minute", "second", "microsecond")
"""The units that `ordinal` counts; for a date only those up to the day."""

ORIGIN: Final = datetime(1, 1, 1)  # noqa: DTZ001 - kinds have no time zone
"""The first moment."""

LAST_DAY: Final = date.max.toordinal() - 1
"""The ordinal of the last day."""

DAY_LENGTH: Final = 86_400_000_000
"""The microseconds of a day."""

LAST_MICROSECOND: Final = (LAST_DAY + 1) * DAY_LENGTH - 1
"""The ordinal of the last microsecond."""

LAST_MONTH: Final = 12 * MAXYEAR - 1
"""The ordinal of the last month."""

EPOCH: Final = (date(1970, 1, 1) - date.min).days * DAY_LENGTH
"""The ordinal of the microsecond at which 1970 starts."""

_LENGTHS: Final = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "microsecond": 1}

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


def week(day: date) -> int:
    """Return the number of the week by ISO 8601, 1 to 53."""
    return day.isocalendar().week


def isoyear(day: date) -> int:
    """Return the year to which the week belongs by ISO 8601.

    >>> isoyear(date(2021, 1, 3)), week(date(2021, 1, 3))
    (2020, 53)
    """
    return day.isocalendar().year


def yearday(day: date) -> int:
    """Return the day of the year, 1 to 366."""
    return day.timetuple().tm_yday


def hour(moment: datetime) -> int:
    """Return the hour, 0 to 23."""
    return moment.hour


def minute(moment: datetime) -> int:
    """Return the minute, 0 to 59."""
    return moment.minute


def second(moment: datetime) -> int:
    """Return the second, 0 to 59, without its fraction."""
    return moment.second


def ordinal(unit: str, moment: date) -> int:
    """Return the number of the unit that contains the moment; the first unit of the year 1 has the number 0.

    >>> ordinal("month", date(2024, 5, 17)) - ordinal("month", date(2023, 12, 31)), ordinal("day", date(1, 1, 2))
    (5, 1)
    """
    match unit:
        case "year":
            return moment.year - 1
        case "quarter":
            return 4 * (moment.year - 1) + quarter(moment) - 1
        case "month":
            return 12 * (moment.year - 1) + moment.month - 1
        case "day":
            return moment.toordinal() - 1
        case _:
            time = moment - ORIGIN if isinstance(moment, datetime) else moment - ORIGIN.date()
            return time // timedelta(microseconds=1) // _LENGTHS[unit]


def date_at(number: int) -> date | None:
    """Return the day with an ordinal; NULL outside the years 1 to 9999.

    >>> date_at(ordinal("day", date(2024, 2, 29))), date_at(-1)
    (datetime.date(2024, 2, 29), None)
    """
    return date.fromordinal(number + 1) if 0 <= number <= LAST_DAY else None


def timestamp_at(number: int) -> datetime | None:
    """Return the microsecond with an ordinal; NULL outside the years 1 to 9999."""
    return ORIGIN + timedelta(microseconds=number) if 0 <= number <= LAST_MICROSECOND else None


def add_months(moment: date, months: int) -> date | None:
    """Return a moment some months later; a day that the month lacks becomes its last day. NULL if it is out of range.

    >>> add_months(date(2024, 1, 31), 1), add_months(date(2024, 2, 29), -12), add_months(date(9999, 12, 1), 1)
    (datetime.date(2024, 2, 29), datetime.date(2023, 2, 28), None)
    """
    number = ordinal("month", moment) + months
    if not 0 <= number <= LAST_MONTH:
        return None
    first = date(number // 12 + 1, number % 12 + 1, 1)
    return moment.replace(first.year, first.month, min(moment.day, monthrange(first.year, first.month)[1]))


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
