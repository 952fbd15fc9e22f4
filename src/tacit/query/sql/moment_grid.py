"""The moments between the bounds of a timestamp that stand for all others.

A function of the day has the same value on the whole day, so the midnights have all of its values.

A part has a resolution if it depends on a timestamp only through functions of its day, hour, minute or second: it is
the finest of these units. Then every moment has the same value as the start of its unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from tacit.query.expressions import Call, Cast, Column, Constant, Expression, children, walk
from tacit.query.expressions.time import DAYS_AND_LONGER, date_trunc

_STEPS: Final[Mapping[str, timedelta]] = {
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}
_UNITS: Final = tuple(_STEPS)
_OF_DAY = frozenset({"year", "quarter", "month", "week", "isoyear", "day", "weekday", "yearday"})


def timestamp_in(part: Expression) -> Column | None:
    """Return the timestamp that is the only column of a part; None if there is no such column."""
    found = {leaf for leaf in walk(part) if isinstance(leaf, Column)}
    column = found.pop() if len(found) == 1 else None
    return column if column is not None and column.kind == "timestamp" else None


def resolution(part: Expression) -> str | None:
    """Return the unit of time on which a function of one timestamp does not change; None if there is no such unit.

    >>> at = Column("at", "timestamp")
    >>> resolution(Call("month", (at,), "integer")), resolution(Call("hour", (at,), "integer")), resolution(at)
    ('day', 'hour', None)
    """
    index = _index(part)
    return None if index is None else _UNITS[index]


def _index(part: Expression) -> int | None:  # noqa: PLR0911 - one return for each form
    match part:
        case Constant():
            return 0
        case Column():
            return None
        case Cast(operand=Column(), kind="date"):
            return 0
        case Call(function=function, arguments=(Column(),)) if function in _OF_DAY:
            return 0
        case Call(function=function, arguments=(Column(),)) if function in _STEPS:
            return _UNITS.index(function)
        case Call(function="date_trunc" | "ordinal", arguments=(Constant(value=str(unit)), Column())):
            return 0 if unit in DAYS_AND_LONGER else _UNITS.index(unit) if unit in _STEPS else None
    below = [_index(child) for child in children(part)]
    known = [index for index in below if index is not None]
    return max(known, default=0) if len(known) == len(below) else None


def moments(first: datetime, last: datetime, unit: str, most: int) -> tuple[datetime, ...] | None:
    """Return the starts of a unit from the one that contains the first moment to the last; None if there are too many.

    >>> len(moments(datetime(2026, 1, 1, 7), datetime(2026, 1, 3), "day", 100) or ())
    3
    """
    start, step = date_trunc(unit, first), _STEPS[unit]
    count = (last - start) // step + 1 if isinstance(start, datetime) else most + 1
    return (
        tuple(start + index * step for index in range(count)) if isinstance(start, datetime) and count <= most else None
    )
