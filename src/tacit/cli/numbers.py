"""Numbers on the command line: a whole number is an int, any other one the float that prints as it was typed."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf

from tacit.errors import bad_value

_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*", re.ASCII)
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_LONGEST = 400
_PLAIN = 1e-6


def parsed(text: str) -> int | float | None:
    """Return the number that a text means; None if it is not a number, or has digits that a float does not hold.

    >>> parsed("337"), parsed("1_000"), parsed("2.50"), parsed("1e-6"), parsed("nan"), parsed("0.12345678901234567890")
    (337, 1000, 2.5, 1e-06, None, None)
    """
    plain = text.strip()
    if len(plain) > _LONGEST:
        return None
    if _WHOLE.fullmatch(plain):
        return int(plain)
    if not _DECIMAL.fullmatch(plain):
        return None
    number = float(plain)
    return number if Decimal(repr(number)) == Decimal(plain) else None


def parameter(text: str | None, name: str) -> int | float | None:
    """Return the number of an option, or None if it was not given; raise InvalidError if it is not a number."""
    if text is None:
        return None
    number = parsed(text)
    if number is None:
        raise bad_value(name, text, "a number of at most 15 digits, such as 0.1 or 1e-6")
    return number


def rounded_up(number: float) -> str:
    """Return a number to six digits, rounded up.

    >>> rounded_up(0.1), rounded_up(1.36544712), rounded_up(1e-6), rounded_up(inf)
    ('0.1', '1.36545', '0.000001', 'inf')
    """
    return _written(number, ROUND_CEILING)


def rounded_down(number: float) -> str:
    """Return a number to six digits, rounded down.

    >>> rounded_down(1.36544712), rounded_down(1.2345678e-9)
    ('1.36544', '1.23456e-9')
    """
    return _written(number, ROUND_FLOOR)


def _written(number: float, rounding: str) -> str:
    if number == inf:
        return "inf"
    digits = Context(prec=6, rounding=rounding).create_decimal(repr(number)).normalize()
    return f"{digits:f}" if number == 0 or number >= _PLAIN else f"{digits:e}"
