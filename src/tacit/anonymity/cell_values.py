"""How a value is written, and which values are missing.

One policy for what is missing, everywhere: None, NaN, NaT, pandas' NA and the empty text are one value of their own. A
row with a missing value is a row like any other: it is counted, it stands in a class with other rows that miss the same
value, and a missing sensitive value is one more sensitive value. An empty text is missing too, for a CSV file cannot
tell the two apart: a table that is diverse only by the difference would not be so once it is written and read.

Two values that are written alike (39, 39.0 and "39") are one value, so that a hierarchy from a file fits any table.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np

_LONG = 400


def text(value: object) -> str | None:
    """Return how a value is written in a hierarchy; None is missing.

    >>> text(39.0), text("39"), text(float("nan")), text(""), text(True)
    ('39', '39', None, None, 'True')
    """
    if isinstance(value, str):
        return str(value) or None
    if _is_missing(value):
        return None
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))
    if isinstance(value, date):
        return _moment(value)
    return _decimal(value) if isinstance(value, Decimal) else _plain(value)


def _is_missing(value: object) -> bool:
    """Return whether a value is None, NA, or differs from itself as NaN and NaT do."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return bool(value != value)  # noqa: PLR0124 - NaN differs from itself


def _plain(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # an int of thousands of digits
        return hex(value) if isinstance(value, int) else repr(value)


def _decimal(value: Decimal) -> str:
    """Return a decimal without the zeros at its end, as a float of that value is written."""
    if not value.is_finite() or abs(value.adjusted()) > _LONG:
        return str(value)
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _moment(value: date) -> str:
    """Return a day, or a day and a time where that is not midnight; with its zone, where it has one.

    Midnight is a different moment in every zone, and may be twice on one day.
    """
    parts = ("hour", "minute", "second", "microsecond", "nanosecond", "tzinfo")
    if isinstance(value, datetime) and not any(getattr(value, part, 0) for part in parts):
        return value.date().isoformat()
    return value.isoformat()
