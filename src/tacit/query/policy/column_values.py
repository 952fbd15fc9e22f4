"""The values that a steward declares of one column: its kind, its bounds, its public keys.

A message about keys states kinds and positions, never a value: the list may contain data by mistake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from fractions import Fraction
from math import isfinite
from typing import Final, get_args

import numpy as np

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import to_fraction, whole
from tacit.query.expressions import Kind, Value
from tacit.query.policy.mistakes import DeclaredValueError

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MOST_KEYS: Final = 100_000
LARGEST_BOUND: Final = 10**9  # for max_groups and max_rows: far more than is useful, and sums stay within 128 bits

_NUMBERS: Final = ("integer", "real")
_TWO_NUMBERS = "two finite numbers, the lower one first"
_MEANING: dict[Kind, str] = {
    "integer": "whole numbers of 64 bits",
    "real": "finite numbers that a double holds",
    "text": "texts without NUL",
    "boolean": "true or false",
    "date": "dates",
    "timestamp": "dates with a time and without a time zone",
}


def settle_kind(kind: Kind, *, bounds: object, keys: object) -> Kind:
    """Return the kind of a column without a declared type.

    It is the kind in the schema. If that is text, the bounds or the keys decide. A source without types, such as CSV,
    has text in every column; numbers are then real, so that no decimal is lost.

    >>> settle_kind("text", bounds=(0, 120), keys=None), settle_kind("text", bounds=None, keys=[1, 2])
    ('real', 'integer')
    """
    if kind != "text":
        return kind
    if bounds is not None:
        return "real" if not _are_days(bounds) else "date" if _days(bounds) else "timestamp"
    return _common_kind(keys) if isinstance(keys, Sequence) and not isinstance(keys, str) else kind


def _common_kind(keys: Sequence[object]) -> Kind:
    """Return the narrowest kind that fits all keys; text, which `read_keys` then refuses, if no kind does."""
    values = [key for key in keys if key is not None]
    order: tuple[Kind, ...] = ("text", "boolean", "integer", "real", "date", "timestamp")
    return next((kind for kind in order if all(_FITS[kind](value) is not None for value in values)), "text")


def read_bounds(bounds: object, kind: Kind) -> tuple[Fraction, Fraction]:
    """Return bounds as rationals, a float as the decimal that it prints, or raise DeclaredValueError.

    >>> read_bounds((0, 0.1), "real")
    (Fraction(0, 1), Fraction(1, 10))
    """
    if kind not in _NUMBERS:
        instead = "; remove them, or declare its type as integer, real or date" if kind == "text" else "; remove them"
        raise DeclaredValueError("bounds", f"are for numbers and dates, but the column is of kind {kind}{instead}")
    if _are_days(bounds):
        raise DeclaredValueError("bounds", f"must be {_TWO_NUMBERS}, not dates, because the column is of kind {kind}")
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:  # noqa: PLR2004 - a pair
        raise _not_two_numbers(bounds)
    low, high = (_read_bound(end, bounds) for end in bounds)
    if low >= high:
        raise _not_two_numbers(bounds)
    return low, high


def _read_bound(end: object, bounds: object) -> Fraction:
    try:
        return to_fraction(end, "bounds")
    except InvalidError:
        raise _not_two_numbers(bounds) from None


def _not_two_numbers(bounds: object) -> DeclaredValueError:
    return DeclaredValueError("bounds", f"must be {_TWO_NUMBERS} and not equal, not {show(bounds)}")


def read_moments(bounds: object, kind: Kind) -> tuple[tuple[date, date], tuple[datetime, datetime] | None]:
    """Return the bounds of dates or timestamps: the first and the last day, and the moments unless they are whole days.

    A date as the last bound of a timestamp includes that whole day; a datetime is that very moment. For a column of
    dates a datetime must be a midnight. DeclaredValueError if they are not two dates or datetimes, in order.

    >>> read_moments([date(2020, 1, 1), date(2021, 12, 31)], "date")
    ((datetime.date(2020, 1, 1), datetime.date(2021, 12, 31)), None)
    """
    days = _days(bounds) if kind == "date" or not _has_times(bounds) else None
    if days is not None and days[0] <= days[1]:
        return days, None
    moments = _moments(bounds) if kind == "timestamp" else None
    if moments is not None and moments[0] <= moments[1]:
        return (moments[0].date(), moments[1].date()), moments
    example = "two dates, the earlier one first, such as 2020-01-01 and 2021-12-31"
    times = ", or two datetimes without a time zone" if kind == "timestamp" else ""
    ends = bounds if isinstance(bounds, (tuple, list)) and len(bounds) == 2 else None  # noqa: PLR2004 - a pair
    given = show(bounds) if ends is None else f"{_shown(ends[0])} and {_shown(ends[1])}"
    reason = f"because the column is of kind {kind}"
    raise DeclaredValueError("bounds", f"must be {example}{times}, {reason}, not {given}")


def _shown(end: object) -> str:
    """Return a bound as text; a date as ISO 8601 writes it."""
    return end.isoformat() if isinstance(end, date) else show(end)


def _has_times(bounds: object) -> bool:
    return isinstance(bounds, (tuple, list)) and any(isinstance(end, datetime) for end in bounds)


def _days(bounds: object) -> tuple[date, date] | None:
    """Return two dates; a datetime at midnight counts as its day. None if they are anything else."""
    moments = [_timestamp(end) for end in bounds] if isinstance(bounds, (tuple, list)) else []
    days = [moment.date() for moment in moments if moment is not None and moment.time() == time.min]
    return (days[0], days[1]) if len(days) == len(moments) == 2 else None  # noqa: PLR2004 - a pair


def _moments(bounds: object) -> tuple[datetime, datetime] | None:
    """Return two moments; a date as the first one is its midnight, as the last one its end."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:  # noqa: PLR2004 - a pair
        return None
    first, last = (_timestamp(end) for end in bounds)
    if first is None or last is None:
        return None
    return first, last if isinstance(bounds[1], datetime) else datetime.combine(last.date(), time.max)


def _are_days(bounds: object) -> bool:
    return isinstance(bounds, (tuple, list)) and any(_timestamp(end) is not None for end in bounds)


def read_keys(keys: object, kind: Kind, argument: str = "keys") -> tuple[Value, ...]:
    """Return public keys as values of the column's kind, or raise DeclaredValueError; None is the key of NULL.

    >>> read_keys([1, 2.5, None], "real")
    (1.0, 2.5, None)
    """
    listed = _listed(keys, argument)
    values = tuple(None if key is None else _FITS[kind](key) for key in listed)
    misfits = [index for index, key in enumerate(listed) if key is not None and values[index] is None]
    if misfits:
        more = f" and {len(misfits) - 1} more" if len(misfits) > 1 else ""
        first = f"{kind_of_key(listed[misfits[0]])} at place {misfits[0] + 1}{more}"
        reason = f"because the column is of kind {kind}"
        raise DeclaredValueError(argument, f"must be {_MEANING[kind]}, {reason}, not {first}")
    value, times = Counter(values).most_common(1)[0]
    if times > 1:
        index = values.index(value)
        again = values.index(value, index + 1)
        message = f"must be distinct values, but have the same value at places {index + 1} and {again + 1}"
        raise DeclaredValueError(argument, message)
    return values


def _listed(keys: object, argument: str) -> Sequence[object]:
    """Return a list or tuple unchanged. A column of a data frame is refused, because keys never come from the data."""
    if not isinstance(keys, Sequence) or isinstance(keys, (str, bytes, bytearray, memoryview)):
        raise DeclaredValueError(argument, f"must be a list of public values, not {show(keys)}")
    if not 1 <= len(keys) <= MOST_KEYS:
        raise DeclaredValueError(argument, f"must be a list of 1 to {MOST_KEYS:,} public values, not of {len(keys):,}")
    return keys


def _integer(key: object) -> int | None:
    number = whole(key)
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _real(key: object) -> float | None:
    number = whole(key)
    if number is not None:
        return float(number) if abs(number) <= 2**1023 and int(float(number)) == number else None
    if isinstance(key, (float, np.floating)) and isfinite(key):
        return float(key) + 0.0  # -0.0 is 0.0
    return None


def _text(key: object) -> str | None:
    """Return a text that UTF-8 and every engine can store."""
    if not isinstance(key, str) or "\0" in key or any("\ud800" <= character <= "\udfff" for character in key):
        return None
    return str(key)


def _boolean(key: object) -> bool | None:
    return bool(key) if isinstance(key, (bool, np.bool_)) else None


def _date(key: object) -> date | None:
    return date(key.year, key.month, key.day) if isinstance(key, date) and not isinstance(key, datetime) else None


def _timestamp(key: object) -> datetime | None:
    if not isinstance(key, datetime):
        day = _date(key)
        return None if day is None else datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the kind has no time zone
    try:
        return datetime.combine(key.date(), key.time()) if key.tzinfo is None else None
    except ValueError:  # pandas' NaT is a datetime without a date
        return None


_FITS: dict[Kind, Callable[[object], Value]] = {
    "integer": _integer,
    "real": _real,
    "text": _text,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
}


def fit_key(key: object, kind: Kind) -> Value:
    """Return a key as a value of a kind; None if it does not fit.

    >>> fit_key(2, "real"), fit_key("2", "real")
    (2.0, None)
    """
    return _FITS[kind](key)


def kind_of_key(key: object) -> str:
    """Return a word for the type of a key, without its value."""
    names: list[tuple[type | tuple[type, ...], str]] = [
        (str, "a text"),
        ((bool, np.bool_), "true or false"),
        ((int, np.integer), "a whole number"),
        ((float, np.floating), "a number"),
        (datetime, "a timestamp"),
        (date, "a date"),
        (dict, "a table"),
    ]
    return next((name for kind, name in names if isinstance(key, kind)), f"a {type(key).__name__}")
