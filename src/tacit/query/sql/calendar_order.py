"""The order of the names of weekdays and months as group keys: that of the week and of the year."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tacit.query.expressions import Value
from tacit.query.sql.time_labels import MONTHS, WEEKDAYS

_SHORT = 3
_WEEK = (*WEEKDAYS[1:], WEEKDAYS[0])
"""The days of a week that begins on Monday, as in ISO 8601."""


def _places(names: Iterable[str]) -> Mapping[str, int]:
    return {name.casefold(): place for place, name in enumerate(names)}


_CALENDARS = tuple(
    _places(each) for names in (_WEEK, MONTHS) for each in (names, tuple(name[:_SHORT] for name in names))
)


def calendar_places(values: Collection[Value]) -> Mapping[Value, int]:
    """Return the place of each value in the week or the year if all values but NULL are such names; otherwise nothing.

    Case and the spaces that `to_char` adds do not matter.

    >>> calendar_places(["Fri", "Mon", "Sun"])
    {'Fri': 4, 'Mon': 0, 'Sun': 6}
    >>> calendar_places(["May", "other"])
    {}
    """
    words = {value: value.strip().casefold() for value in values if isinstance(value, str)}
    if len(words) < sum(value is not None for value in values):
        return {}
    for places in _CALENDARS:
        if places.keys() >= set(words.values()):
            return {value: places[word] for value, word in words.items()}
    return {}
