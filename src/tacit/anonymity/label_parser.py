"""What a published value may stand for, where no hierarchy tells it.

A text can be read in several ways, and all of them are tried: 1980 is a number and a year, 1980-01 is a month, 20-39 is
a range of numbers, 1980 … 1989 is one too, unless it is a group in some other order.

| written | read as |
|---|---|
| 476**, 47*** | a mask: characters that are the same or hidden; a shorter value counts as padded at its end |
| 43, [43, 52], [-1e3, 50), 20-39, ≥40, <30 | numbers |
| 1980-01-05, 1980-01, 1980-Q1, 1980, 1980s | days, from the first to the last |
| 1 … 9 | what lies between, as numbers or days; this is no more than likely |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

from tacit.anonymity.hierarchies import ALL
from tacit.anonymity.numerals import number
from tacit.errors import InvalidError

_NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
_ALONE = re.compile(_NUMBER)
_RANGE = re.compile(rf"([\[(])\s*{_NUMBER}\s*,\s*{_NUMBER}\s*([\])])")
_SPAN = re.compile(rf"{_NUMBER}\s*[-–…]\s*{_NUMBER}")
_SIDE = re.compile(rf"(≥|>=|>|≤|<=|<)\s*{_NUMBER}")
_BETWEEN = " … "
_YEAR = re.compile(r"(\d{4})", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_QUARTER = re.compile(r"(\d{4})-Q([1-4])", re.ASCII)
_DECADE = re.compile(r"(\d{3})0s", re.ASCII)
_YEARS = re.compile(r"(\d{4})\s*[-–]\s*(\d{4})", re.ASCII)
_DECEMBER = 12


@dataclass(frozen=True, slots=True)
class Numbers:
    """A range of numbers; an open end is None."""

    low: Fraction | None
    high: Fraction | None
    opens: str = "["
    closes: str = "]"

    def meets(self, other: Numbers) -> bool:
        """Return whether two ranges have a number in common."""
        return _before(self, other) and _before(other, self)


def _before(one: Numbers, other: Numbers) -> bool:
    """Return whether one begins no later than the other ends."""
    if one.low is None or other.high is None or one.low < other.high:
        return True
    return one.low == other.high and (one.opens, other.closes) == ("[", "]")


@dataclass(frozen=True, slots=True)
class Days:
    """Days, from the first to the last."""

    first: date
    last: date

    def meets(self, other: Days) -> bool:
        """Return whether two have a day in common."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a text may stand for; `sure` where a label such as 1 … 9 is not read by a guess."""

    text: str
    numbers: Numbers | None
    days: Days | None
    sure: bool = True

    @property
    def is_mask(self) -> bool:
        """Whether characters are hidden."""
        return ALL in self.text

    def fits(self, raw: Reading) -> bool:
        """Return whether the raw value may be published so, by any reading of the two."""
        if self.text in {raw.text, ALL} or (self.is_mask and _unmasks(self.text, raw.text)):
            return True
        if self.numbers is not None and raw.numbers is not None and self.numbers.meets(raw.numbers):
            return True
        return self.days is not None and raw.days is not None and self.days.meets(raw.days)


def _unmasks(published: str, raw: str) -> bool:
    """Return whether a raw value fits a mask; one that is shorter counts as padded at its end, if some of it is hidden.

    >>> _unmasks("476**", "47678"), _unmasks("47***", "476"), _unmasks("47***", "47"), _unmasks("4*7", "477")
    (True, True, False, True)
    """
    kept = published.rstrip(ALL)
    if len(raw) > len(published) or (len(raw) < len(published) and len(raw) <= len(kept)):
        return False
    return all(p in {ALL, r} for p, r in zip(published, raw, strict=False))


def reading(text: str) -> Reading:
    """Return all that a text may stand for.

    >>> reading("1980-01").days, reading("1980-01").numbers, reading("1 … 9").sure
    (Days(first=datetime.date(1980, 1, 1), last=datetime.date(1980, 1, 31)), None, False)
    """
    if _BETWEEN in text:
        return _between(text)
    return Reading(text, _tried(_numbers, text), _tried(_days, text))


def _between(text: str) -> Reading:
    """Return a label of two ends: what lies between them as numbers, or as days, whichever comes first."""
    ends = [reading(end) for end in text.split(_BETWEEN, 1) if _BETWEEN not in end]
    numbers, days = [end.numbers for end in ends], [end.days for end in ends]
    lows = [one.low for one in numbers if one is not None and one.low is not None and one.low == one.high]
    known = [one for one in days if one is not None]
    return Reading(
        text,
        Numbers(min(lows), max(lows)) if len(lows) == 2 else None,  # noqa: PLR2004 - two ends
        Days(min(one.first for one in known), max(one.last for one in known)) if len(known) == 2 else None,  # noqa: PLR2004 - two ends
        sure=False,
    )


def _tried(read: Callable[[str], Numbers | None] | Callable[[str], Days | None], text: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - what it reads
    try:
        return read(text)
    except (InvalidError, ValueError, OverflowError):  # beyond our digits, or no day of the calendar
        return None


def _numbers(text: str) -> Numbers | None:
    text = text.strip()
    if found := _ALONE.fullmatch(text):
        return Numbers(number(found[1], ""), number(found[1], ""))
    if found := _RANGE.fullmatch(text):
        return _rising(Numbers(number(found[2], ""), number(found[3], ""), found[1], found[4]))
    if found := _SPAN.fullmatch(text):
        return _rising(Numbers(number(found[1], ""), number(found[2], "")))
    if found := _SIDE.fullmatch(text):
        bound, closed = number(found[2], ""), found[1] in {"≥", ">=", "≤", "<="}
        brackets = ("[", "]") if closed else ("(", ")")
        return Numbers(None, bound, *brackets) if found[1][0] in "≤<" else Numbers(bound, None, *brackets)
    return None


def _rising(one: Numbers) -> Numbers | None:
    return one if one.low is not None and one.high is not None and one.low <= one.high else None


def _days(text: str) -> Days | None:
    if found := _YEAR.fullmatch(text):
        return _years(int(found[1]), int(found[1]))
    if found := _YEARS.fullmatch(text):
        return _years(int(found[1]), int(found[2]))
    if found := _MONTH.fullmatch(text):
        return _months(int(found[1]), int(found[2]), int(found[2]))
    if found := _QUARTER.fullmatch(text):
        return _months(int(found[1]), 3 * int(found[2]) - 2, 3 * int(found[2]))
    if found := _DECADE.fullmatch(text):
        return _years(max(1, 10 * int(found[1])), 10 * int(found[1]) + 9)
    day = datetime.fromisoformat(text).date()
    return Days(day, day)


def _years(first: int, last: int) -> Days | None:
    return Days(date(first, 1, 1), date(last, 12, 31)) if first <= last else None


def _months(year: int, first: int, last: int) -> Days:
    end = date(year, 12, 31) if last == _DECEMBER else date(year, last + 1, 1) - timedelta(days=1)
    return Days(date(year, first, 1), end)
