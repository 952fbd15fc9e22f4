"""Casts that cannot fail: the result is NULL if a value has no counterpart in the other kind.

| from | to | rule |
|---|---|---|
| integer | real | the nearest double |
| integer | text | decimal digits, with a minus sign if negative |
| integer | boolean | whether it is not 0 |
| real | integer | ⌊x + ½⌋ in doubles; NULL outside 64 bits |
| text | integer | an optional sign and digits, blanks (U+0009 to U+000D, U+0020) around them; NULL outside 64 bits |
| text | real | an optional sign, digits with an optional point, an optional exponent; NULL unless finite |
| text | boolean | true, t, 1, false, f, 0, in lower or upper case |
| text | date | YYYY-MM-DD |
| text | timestamp | a date, or a date, T or a space, and HH:MM, HH:MM:SS or HH:MM:SS.ffffff (1 to 6 digits) |
| boolean | integer, real | 1 or 0 |
| boolean | text | true or false |
| date | text | YYYY-MM-DD |
| date | timestamp | its midnight |
| timestamp | date | its day |

There is no cast of a real or a timestamp to text, because engines write them differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from math import floor, isfinite
from types import MappingProxyType
from typing import Final

from tacit.query.expressions import Kind, Value

LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""The smallest and the largest integer."""

BLANKS = "\t\n\v\f\r "
"""The characters that may surround the digits of an integer."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?")
_TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_MOST_DIGITS = 20


def cast(value: Value, source: Kind, target: Kind) -> Value:
    """Return a value of one kind in another, by the table above.

    >>> cast("42", "text", "integer"), cast("4.2e1", "text", "integer"), cast(2.5, "real", "integer")
    (42, None, 3)
    """
    if value is None or source == target:
        return value
    return CASTS[source, target](value)


def in_64_bits(number: int) -> int | None:
    """Return a whole number if it fits 64 bits; otherwise None, which stands for NULL."""
    return number if LOWEST <= number <= HIGHEST else None


def _real_to_integer(x: float) -> int | None:
    return in_64_bits(floor(x + 0.5)) if isfinite(x) else None


def _text_to_integer(padded: str) -> int | None:
    text = padded.strip(BLANKS)
    if not _INTEGER.fullmatch(text) or len(text.lstrip("+-0")) > _MOST_DIGITS:
        return None
    return in_64_bits(int(text[:1].strip("0123456789") + (text.lstrip("+-0") or "0")))


def _text_to_real(text: str) -> float | None:
    number = float(text) if _REAL.fullmatch(text) else None
    return number if number is not None and isfinite(number) else None


def _text_to_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _text_to_timestamp(text: str) -> datetime | None:
    if not _TIMESTAMP.fullmatch(text):
        return None
    whole, point, fraction = text.partition(".")
    try:
        return datetime.fromisoformat(whole + (f".{fraction:0<6}" if point else ""))
    except ValueError:
        return None


CASTS: Final[Mapping[tuple[Kind, Kind], Callable[..., Value]]] = MappingProxyType(
    {
        ("integer", "real"): float,
        ("integer", "text"): str,
        ("integer", "boolean"): bool,
        ("real", "integer"): _real_to_integer,
        ("text", "integer"): _text_to_integer,
        ("text", "real"): _text_to_real,
        ("text", "boolean"): lambda text: _TRUTHS.get(text.lower()),
        ("text", "date"): _text_to_date,
        ("text", "timestamp"): _text_to_timestamp,
        ("boolean", "integer"): int,
        ("boolean", "real"): float,
        ("boolean", "text"): lambda truth: "true" if truth else "false",
        ("date", "text"): date.isoformat,
        ("date", "timestamp"): lambda day: datetime(day.year, day.month, day.day),  # noqa: DTZ001 - kinds have no time zone
        ("timestamp", "date"): lambda moment: moment.date(),
    }
)
"""The casts of values that are not NULL, by the kinds from and to. A cast between other kinds is refused."""
