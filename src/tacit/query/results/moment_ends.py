"""Dates and timestamps that are computed from noise: their intervals as numbers, and as moments again.

A released date is `date_at` of a noisy number of days, a timestamp `timestamp_at` of one of microseconds. Both never
decrease, so the interval of the number is that of the moment. An end with a fraction moves outward.
"""

from __future__ import annotations

from math import ceil, floor

from tacit.query.aggregates.statistic import Interval
from tacit.query.expressions import Kind, Value
from tacit.query.expressions.time import LAST_DAY, LAST_MICROSECOND, date_at, ordinal, timestamp_at

MOMENTS = ("date", "timestamp")
ERROR_UNITS = {"date": "days", "timestamp": "seconds"}
"""The units of errors of moments."""


def as_moments(ends: Interval, kind: Kind) -> tuple[Value, Value]:
    """Return the ends of an interval as dates or timestamps, within the years 1 to 9999.

    >>> as_moments((0.0, 1.5), "date")
    (datetime.date(1, 1, 1), datetime.date(1, 1, 3))
    """
    last = LAST_DAY if kind == "date" else LAST_MICROSECOND
    low, high = (min(max(end, 0.0), float(last)) for end in ends)
    at = date_at if kind == "date" else timestamp_at
    return at(min(floor(low), last)), at(min(ceil(high), last))


def ordinal_ends(unit: object, ends: Interval, kind: Kind) -> Interval | None:
    """Return the interval of the number of a unit, from that of a moment."""
    first, last = as_moments(ends, kind)
    if not isinstance(unit, str) or first is None or last is None:
        return None
    return float(ordinal(unit, first)), float(ordinal(unit, last))  # type: ignore[arg-type]  # moments
