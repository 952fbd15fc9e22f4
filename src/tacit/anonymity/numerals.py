"""Texts that stand for numbers and days, read and written exactly."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

from tacit.errors import ColumnValueError, show

_LONGEST = 400
_NUMERAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_MIDNIGHT = re.compile(r"T00:00:00[+-]\d\d:\d\d(:\d\d)?$", re.ASCII)


def day(value: str, column: str) -> date:
    """Return the day that a text stands for; midnight in a zone is a day too.

    Raises:
        InvalidError: it is none.
    """
    try:
        return date.fromisoformat(_MIDNIGHT.sub("", value))
    except ValueError:
        raise ColumnValueError(column, f"must hold days such as 2024-12-31, not {value!r}.") from None


def number(value: str, column: str) -> Fraction:
    """Return the number that a text stands for, exactly.

    Raises:
        InvalidError: it is none.
    """
    found = _NUMERAL.fullmatch(value.strip()) if len(value) <= _LONGEST else None
    if found is None or abs(int(found[1] or 0)) > _LONGEST:
        raise ColumnValueError(column, f"must hold finite numbers of at most {_LONGEST} digits, not {show(value)}.")
    return Fraction(value.strip())


def written(x: Fraction) -> str:
    """Return a number as a decimal, exactly; bounds of intervals are decimals always.

    >>> written(Fraction(-5, 2)), written(Fraction(30))
    ('-2.5', '30')
    """
    digits = 0
    while digits < 2 * _LONGEST and (x * 10**digits).denominator != 1:
        digits += 1
    whole, rest = divmod(abs(x) * 10**digits // 1, 10**digits)
    return f"{'-' * (x < 0)}{whole}" + (f".{rest:0{digits}}" if digits else "")
