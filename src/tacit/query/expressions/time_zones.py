"""Time zones: the instants at which the offset of local time from UTC changes, and the rule after the last of them.

The data are the TZif files of the IANA time zone database that Python's `zoneinfo` reads: those of the operating
system, or else of the package tzdata. This module reads the file itself (RFC 8536, version 2 or later), because
`zoneinfo` does not list a zone's changes. The tests compare every zone with `zoneinfo`.

After its last change a zone has one offset for ever, or daylight-saving time by a rule: it starts and ends each year on
the nth or last weekday of a month. A rule is supported if both days are between 10 February and 20 November, so that no
turn moves into another year when it is converted to UTC. All zones of the database meet this.
"""

from __future__ import annotations

import re
import struct
import zoneinfo
from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

from tacit.errors import InvalidError, show
from tacit.query.expressions.time import weekday

Change: TypeAlias = tuple[datetime, int]
"""An instant in UTC, and the offset of local time in seconds from then on."""

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - instants are in UTC
_HEADER: Final = struct.Struct(">4sc15x6l")
_RULE_YEARS: Final = range(1900, 2100)
_LAST_WEEK, _DAYS = 5, 7
_FIRST_DAY, _LAST_DAY = (2, 10), (11, 14)
_MACHINE: Final = frozenset({"localtime", "Factory"})
_OFFSET = r"[+-]?\d+(?::\d+){0,2}"
_DAY = rf",M(\d+)\.(\d)\.(\d)(?:/({_OFFSET}))?"
_NAME = r"(?:<[^>]+>|[A-Za-z]+)"
_FOOTER: Final = re.compile(rf"{_NAME}({_OFFSET})(?:{_NAME}({_OFFSET})?{_DAY}{_DAY})?")
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Turn:
    """A yearly change of offset. In UTC plus `shift` seconds it is at midnight, on the first `weekday` from a day on.

    `month` and `day` are the first possible date, `weekday` is 0 for Sunday.
    """

    shift: int
    month: int
    day: int
    weekday: int

    def instant(self, year: int) -> datetime:
        """Return the instant of the turn of a year, in UTC.

        >>> Turn(-3600, 3, 25, 0).instant(2026)
        datetime.datetime(2026, 3, 29, 1, 0)
        """
        first = datetime(year, self.month, self.day)  # noqa: DTZ001 - see above
        return first + timedelta(days=(self.weekday - weekday(first)) % _DAYS, seconds=-self.shift)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Daylight-saving time by the calendar, each year: two offsets in seconds, and when the summer starts and ends."""

    standard: int
    summer: int
    start: Turn
    end: Turn

    @property
    def summer_at_new_year(self) -> bool:
        """True south of the equator."""
        return self.start.month > self.end.month

    def changes(self, years: range) -> list[Change]:
        """Return the changes of some years, in order."""
        turns = ((self.start, self.summer), (self.end, self.standard))
        return sorted((turn.instant(year), offset) for year in years for turn, offset in turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeZone:
    """A time zone: the offset in seconds before the first change, the changes, and the rule from the last one on."""

    name: str
    first: int
    changes: tuple[Change, ...]
    rule: Rule | None


@cache
def time_zone(name: str) -> TimeZone:
    """Return a time zone of the IANA database, or raise InvalidError.

    >>> zurich = time_zone("Europe/Zurich")
    >>> zurich.rule.start.instant(2026), zurich.rule.summer
    (datetime.datetime(2026, 3, 29, 1, 0), 7200)
    """
    check_name(name)
    try:
        return _parse(name, _content(name))
    except (OSError, ValueError, LookupError, struct.error):
        raise InvalidError(
            f"The time-zone data of {name!r} on this machine are not supported.",
            argument="timezone",
            hint="Update the operating system's time-zone data, or name another zone.",
        ) from None


def check_name(name: object) -> None:
    """Raise InvalidError if a value is not the name of a time zone."""
    if not isinstance(name, str):
        raise InvalidError(f"The time zone must be a text, not {show(name)}.", argument="timezone", hint=_EXAMPLE)
    names = names_of_zones()
    if not names:
        raise InvalidError(
            "This machine has no time-zone data.",
            argument="timezone",
            hint="Install the time-zone data of the operating system, or the Python package tzdata.",
        )
    if name not in names:
        raise InvalidError(f"There is no time zone {show(name)}.", argument="timezone", hint=_EXAMPLE)


_EXAMPLE = 'Write a name of the IANA time zone database, such as "Europe/Zurich" or "UTC".'


@cache
def names_of_zones() -> frozenset[str]:
    """Return the names of all zones, without those that depend on the machine."""
    return frozenset(zoneinfo.available_timezones()) - _MACHINE


def _content(name: str) -> bytes:
    """Return the file of a zone, from the place where `zoneinfo` finds it."""
    parts = name.split("/")
    for folder in zoneinfo.TZPATH:
        path = Path(folder, *parts)
        if path.is_file():
            return path.read_bytes()
    return resources.files("tzdata").joinpath("zoneinfo", *parts).read_bytes()


def _parse(name: str, content: bytes) -> TimeZone:
    """Return the zone in a TZif file: its second block, whose times have 64 bits, and its footer."""
    start = _HEADER.size + _length(content, 0, 4)
    *_, leaps, count, types, _ = _counts(content, start)
    if leaps:
        raise ValueError(name)
    at = start + _HEADER.size
    instants = struct.unpack_from(f">{count}q", content, at)
    indices = content[at + 8 * count : at + 9 * count]
    offsets = [struct.unpack_from(">l", content, at + 9 * count + 6 * index)[0] for index in range(types)]
    footer = content[at + _length(content, start, 8) :].decode("ascii").strip("\n")
    first, changes = _distinct(offsets[0], [(at, offsets[index]) for at, index in zip(instants, indices, strict=True)])
    last = changes[-1][1] if changes else first
    rule = _rule(footer, last)
    return TimeZone(name=name, first=first, changes=_without_ruled(changes, rule), rule=rule)


def _counts(content: bytes, start: int) -> tuple[int, ...]:
    magic, version, *counts = _HEADER.unpack_from(content, start)
    if magic != b"TZif" or version < b"2":
        raise ValueError(magic)
    return tuple(counts)


def _length(content: bytes, start: int, width: int) -> int:
    """Return the length of a block after its header, whose times have some number of bytes."""
    in_utc, standard, leaps, count, types, letters = _counts(content, start)
    return count * (width + 1) + types * 6 + letters + leaps * (width + 4) + standard + in_utc


def _distinct(first: int, raw: list[tuple[int, int]]) -> tuple[int, list[Change]]:
    """Return the offset before all changes, and the changes of offset from the year 1 on."""
    year_1 = (datetime(1, 1, 1) - _EPOCH) // timedelta(seconds=1)  # noqa: DTZ001 - see above
    changes: list[Change] = []
    for seconds, offset in raw:
        if seconds <= year_1:
            first = offset
        elif offset != (changes[-1][1] if changes else first):
            changes.append((_EPOCH + timedelta(seconds=seconds), offset))
    return first, changes


def _without_ruled(changes: list[Change], rule: Rule | None) -> tuple[Change, ...]:
    """Return the changes without the last ones that the rule makes as well.

    If the last two changes are neighbours among the rule's, the rule holds from the first of them on.
    """
    ruled = set() if rule is None else set(pairwise(rule.changes(_RULE_YEARS)))
    kept = len(changes)
    while kept > 1 and (changes[kept - 2], changes[kept - 1]) in ruled:
        kept -= 1
    return tuple(changes[:kept])


def _rule(footer: str, last: int) -> Rule | None:
    """Return the rule in a footer; None if the last offset holds for ever. ValueError for other footers.

    >>> _rule("CET-1", 3600), _rule("NZST-12NZDT,M9.5.0,M4.1.0/3", 0).start
    (None, Turn(shift=36000, month=9, day=24, weekday=0))
    """
    match = _FOOTER.fullmatch(footer) if footer else None
    if footer and match is None:
        raise ValueError(footer)
    if match is None or match[3] is None:
        if match is not None and -_seconds(match[1]) != last:
            raise ValueError(footer)
        return None
    standard = -_seconds(match[1])
    summer = standard + _HOUR if match[2] is None else -_seconds(match[2])
    start, end = _turn(match, 3, standard), _turn(match, 7, summer)
    return Rule(standard=standard, summer=summer, start=start, end=end)


def _turn(match: re.Match[str], group: int, offset: int) -> Turn:
    """Return a turn that the offset before it and four groups of a footer describe: Mm.w.d/time."""
    month, week, day = (int(match[group + index]) for index in range(3))
    first = monthrange(2001, month)[1] - 6 if week == _LAST_WEEK else 1 + _DAYS * (week - 1)
    if not _FIRST_DAY <= (month, first) <= _LAST_DAY:
        raise ValueError(match[0])
    time = 2 * _HOUR if match[group + 3] is None else _seconds(match[group + 3])
    return Turn(shift=offset - time, month=month, day=first, weekday=day)


def _seconds(text: str) -> int:
    """Return a time of a footer in seconds.

    >>> _seconds("-3:30"), _seconds("24")
    (-12600, 86400)
    """
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    size = sum(part * seconds for part, seconds in zip(parts, (_HOUR, 60, 1), strict=False))
    return -size if text.startswith("-") else size
