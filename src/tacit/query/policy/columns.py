"""What a steward may declare of one column: its kind, its bounds, its public keys. Nothing here sees a row.

A message about keys tells kinds and places, never a value: a list that was handed in by mistake may be data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import isfinite
from typing import Final, get_args

import numpy as np

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import to_fraction, whole
from tacit.query.expressions import Kind, Value

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MOST_KEYS: Final = 100_000
MOST_REACH: Final = 10**9  # of max_groups and max_rows: far more than is useful, and sums stay within 128 bits

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
    """Return the kind of a column of which no type is declared: the schema's, but text may have bounds or other keys.

    A source without types, such as CSV, says text of every column; numbers are then real, so that no decimal is lost.

    >>> settle_kind("text", bounds=(0, 120), keys=None), settle_kind("text", bounds=None, keys=[1, 2])
    ('real', 'integer')
    """
    if kind != "text":
        return kind
    if bounds is not None:
        return "date" if _are_days(bounds) else "real"
    return _common_kind(keys) if isinstance(keys, Sequence) and not isinstance(keys, str) else kind


def _common_kind(keys: Sequence[object]) -> Kind:
    """Return the narrowest kind that all keys fit; text, which will complain, if there is none."""
    given = [key for key in keys if key is not None]
    order: tuple[Kind, ...] = ("text", "boolean", "integer", "real", "date", "timestamp")
    return next((kind for kind in order if all(_FITS[kind](key) is not None for key in given)), "text")


def read_bounds(given: object, kind: Kind) -> tuple[Fraction, Fraction]:
    """Return bounds as rationals, a float meaning the decimal that it prints, or raise InvalidError.

    >>> read_bounds((0, 0.1), "real")
    (Fraction(0, 1), Fraction(1, 10))
    """
    if kind not in _NUMBERS:
        raise InvalidError("bounds", show(given), _no_bounds(kind))
    if _are_days(given):
        raise InvalidError("bounds", "dates", f"{_TWO_NUMBERS}, since the column is of kind {kind}")
    if not isinstance(given, (tuple, list)) or len(given) != 2:  # noqa: PLR2004 - a pair
        raise InvalidError("bounds", show(given), _TWO_NUMBERS)
    low, high = (_end(end, given) for end in given)
    if low >= high:
        raise InvalidError("bounds", show(given), f"{_TWO_NUMBERS} and not equal")
    return low, high


def read_days(given: object) -> tuple[date, date]:
    """Return the bounds of dates: the first and the last day, or raise InvalidError.

    >>> read_days([date(2020, 1, 1), date(2021, 12, 31)])
    (datetime.date(2020, 1, 1), datetime.date(2021, 12, 31))
    """
    days = [_date(end) for end in given] if isinstance(given, (tuple, list)) else []
    if len(days) != 2 or days[0] is None or days[1] is None or days[0] > days[1]:  # noqa: PLR2004 - a pair
        want = "two dates, the earlier one first, such as 2020-01-01 and 2021-12-31"
        raise InvalidError("bounds", show(given), f"{want}, since the column is of kind date or timestamp")
    return days[0], days[1]


def _are_days(given: object) -> bool:
    return isinstance(given, (tuple, list)) and any(_date(end) is not None for end in given)


def _no_bounds(kind: Kind) -> str:
    instead = "; or its type declared as integer, real or date" if kind == "text" else ""
    return f"left out of a column of kind {kind}, since bounds are for numbers and dates{instead}"


def _end(end: object, given: object) -> Fraction:
    try:
        return to_fraction(end, "bounds")
    except InvalidError:
        raise InvalidError("bounds", show(given), _TWO_NUMBERS) from None


def read_keys(given: object, kind: Kind) -> tuple[Value, ...]:
    """Return public keys as values of the column's kind, or raise InvalidError; None is the key of rows without one.

    >>> read_keys([1, 2.5, None], "real")
    (1.0, 2.5, None)
    """
    listed = _listed(given)
    values = tuple(None if key is None else _FITS[kind](key) for key in listed)
    misfits = [place for place, key in enumerate(listed) if key is not None and values[place] is None]
    if misfits:
        more = f" and {len(misfits) - 1} more" if len(misfits) > 1 else ""
        got = f"{_called(listed[misfits[0]])} at place {misfits[0] + 1}{more}"
        raise InvalidError("keys", got, f"{_MEANING[kind]}, since the column is of kind {kind}")
    value, times = Counter(values).most_common(1)[0]
    if times > 1:
        first = values.index(value)
        again = values.index(value, first + 1)
        raise InvalidError("keys", f"the same value at places {first + 1} and {again + 1}", "distinct values")
    return values


def _listed(given: object) -> Sequence[object]:
    """Return a list or tuple as it is; columns of a data frame are refused, since keys never come from the data."""
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes, bytearray, memoryview)):
        raise InvalidError("keys", show(given), "a list of public values")
    if not 1 <= len(given) <= MOST_KEYS:
        raise InvalidError("keys", f"a list of {len(given)}", f"a list of 1 to {MOST_KEYS:,} public values")
    return given


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
    """Return a text that UTF-8 and every engine can hold."""
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
        return None if day is None else datetime(day.year, day.month, day.day)  # noqa: DTZ001 - without a zone, on purpose
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


def _called(key: object) -> str:
    """Name what a key is, without showing it."""
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
