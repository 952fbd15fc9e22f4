"""The published rows that match a person whom an attacker knows.

A published value covers a raw value in any of these cases: they are equal; the published value is "*"; it is a group of
the raw value's hierarchy, if one is given; or it can be read as a mask, as numbers or as days that include the raw
value. A missing value covers only a missing value.

Without a hierarchy a label can be read in several ways, and all of them are tried: 1980 is a number and a year, 1980-01
is a month, 20-39 is a range of numbers, 1980 … 1989 is a range too, unless it is a group in another order.

| label | read as |
|---|---|
| 476**, 47*** | a mask: each character is equal or hidden; a shorter value is padded at its end |
| 43, [43, 52], [-1e3, 50), 20-39, ≥40, <30 | numbers |
| 1980-01-05, 1980-01, 1980-Q1, 1980, 1980s | days, from the first to the last |
| 1 … 9 | the numbers or days between; this is a guess |

A published value that cannot be compared with any raw value matches nobody, and the attack must report that. It must
also report labels that were read by a guess, and raw values that cannot be compared with any published value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import TypeVar

import numpy as np

from tacit.anonymity.cell_values import parse_number
from tacit.anonymity.classes import group
from tacit.anonymity.hierarchies import ALL, Hierarchy, HierarchyRule
from tacit.anonymity.tables import CodedTable, Texts
from tacit.arrays import Bools, Ints

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
class NumberRange:
    """A range of numbers; None means no bound."""

    low: Fraction | None
    high: Fraction | None
    opens: str = "["
    closes: str = "]"

    def meets(self, other: NumberRange) -> bool:
        """Return whether two ranges have a number in common."""
        return _before(self, other) and _before(other, self)


def _before(first: NumberRange, second: NumberRange) -> bool:
    """Return whether the first range starts before the second ends, or at its end."""
    if first.low is None or second.high is None or first.low < second.high:
        return True
    return first.low == second.high and (first.opens, second.closes) == ("[", "]")


@dataclass(frozen=True, slots=True)
class DayRange:
    """A range of days, from the first to the last."""

    first: date
    last: date

    def meets(self, other: DayRange) -> bool:
        """Return whether two ranges have a day in common."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Label:
    """All readings of a text; `sure` is False for a label such as 1 … 9, which is read by a guess."""

    text: str
    numbers: NumberRange | None
    days: DayRange | None
    sure: bool = True

    @property
    def is_mask(self) -> bool:
        """True if the text hides characters."""
        return ALL in self.text

    def matches(self, raw: Label) -> bool:
        """Return whether this label may stand for the raw value, by any reading of the two."""
        if self.text in {raw.text, ALL} or (self.is_mask and _matches_mask(self.text, raw.text)):
            return True
        if self.numbers is not None and raw.numbers is not None and self.numbers.meets(raw.numbers):
            return True
        return self.days is not None and raw.days is not None and self.days.meets(raw.days)


def _matches_mask(mask: str, raw: str) -> bool:
    """Return whether a raw value matches a mask; a shorter value is padded at its end, if the mask hides some of it.

    >>> [_matches_mask(*pair) for pair in (("476**", "47678"), ("47***", "476"), ("47***", "47"), ("4*7", "477"))]
    [True, True, False, True]
    """
    kept = mask.rstrip(ALL)
    if len(raw) > len(mask) or (len(raw) < len(mask) and len(raw) <= len(kept)):
        return False
    return all(m in {ALL, r} for m, r in zip(mask, raw, strict=False))


def parse_label(text: str) -> Label:
    """Return all readings of a text.

    >>> parse_label("1980-01").days, parse_label("1980-01").numbers, parse_label("1 … 9").sure
    (DayRange(first=datetime.date(1980, 1, 1), last=datetime.date(1980, 1, 31)), None, False)
    """
    if _BETWEEN in text:
        return _parse_ends(text)
    return Label(text, _attempt(_parse_numbers, text), _attempt(_parse_days, text))


def _parse_ends(text: str) -> Label:
    """Return a label of two ends: all numbers, and all days, from the lesser end to the greater."""
    ends = [parse_label(end) for end in text.split(_BETWEEN, 1) if _BETWEEN not in end]
    numbers, days = [end.numbers for end in ends], [end.days for end in ends]
    lows = [span.low for span in numbers if span is not None and span.low is not None and span.low == span.high]
    known = [span for span in days if span is not None]
    return Label(
        text,
        NumberRange(min(lows), max(lows)) if len(lows) == 2 else None,  # noqa: PLR2004 - two ends
        DayRange(min(span.first for span in known), max(span.last for span in known)) if len(known) == 2 else None,  # noqa: PLR2004 - two ends
        sure=False,
    )


_Range = TypeVar("_Range", NumberRange, DayRange)


def _attempt(parse: Callable[[str], _Range | None], text: str) -> _Range | None:
    try:
        return parse(text)
    except (ValueError, OverflowError):  # too many digits, or not a day of the calendar
        return None


def _number(text: str) -> Fraction:
    parsed = parse_number(text)
    if parsed is None:
        raise ValueError
    return parsed


def _parse_numbers(text: str) -> NumberRange | None:
    text = text.strip()
    if match := _ALONE.fullmatch(text):
        return NumberRange(_number(match[1]), _number(match[1]))
    if match := _RANGE.fullmatch(text):
        return _rising(NumberRange(_number(match[2]), _number(match[3]), match[1], match[4]))
    if match := _SPAN.fullmatch(text):
        return _rising(NumberRange(_number(match[1]), _number(match[2])))
    if match := _SIDE.fullmatch(text):
        bound, closed = _number(match[2]), match[1] in {"≥", ">=", "≤", "<="}
        brackets = ("[", "]") if closed else ("(", ")")
        return NumberRange(None, bound, *brackets) if match[1][0] in "≤<" else NumberRange(bound, None, *brackets)
    return None


def _rising(span: NumberRange) -> NumberRange | None:
    return span if span.low is not None and span.high is not None and span.low <= span.high else None


def _parse_days(text: str) -> DayRange | None:
    if match := _YEAR.fullmatch(text):
        return _years(int(match[1]), int(match[1]))
    if match := _YEARS.fullmatch(text):
        return _years(int(match[1]), int(match[2]))
    if match := _MONTH.fullmatch(text):
        return _months(int(match[1]), int(match[2]), int(match[2]))
    if match := _QUARTER.fullmatch(text):
        return _months(int(match[1]), 3 * int(match[2]) - 2, 3 * int(match[2]))
    if match := _DECADE.fullmatch(text):
        return _years(max(1, 10 * int(match[1])), 10 * int(match[1]) + 9)
    day = datetime.fromisoformat(text).date()
    return DayRange(day, day)


def _years(first: int, last: int) -> DayRange | None:
    return DayRange(date(first, 1, 1), date(last, 12, 31)) if first <= last else None


def _months(year: int, first: int, last: int) -> DayRange:
    end = date(year, 12, 31) if last == _DECEMBER else date(year, last + 1, 1) - timedelta(days=1)
    return DayRange(date(year, first, 1), end)


def covers(published: str | None, raw: str | None, tree: Hierarchy | None = None) -> bool:
    """Return whether a published value may stand for a raw one.

    >>> covers("476**", "47678"), covers("[43, 52]", "47"), covers("≥40", "36"), covers("1980-01", "1980-01-05")
    (True, True, False, True)
    """
    return _LabelReader(tree).covers(published, raw)


class _LabelReader:
    """The labels of one column; each is parsed once."""

    def __init__(self, tree: Hierarchy | None) -> None:
        self.groups = {} if tree is None else {row[0]: frozenset(row) for row in tree.rows}
        self.labels = frozenset().union(*self.groups.values()) if self.groups else frozenset()
        self.parse = cache(parse_label)

    def covers(self, published: str | None, raw: str | None) -> bool:
        """Return whether a published value may stand for a raw one."""
        if published in {raw, ALL}:
            return True
        if published in self.labels:  # a group: of this value, or of others
            return published in self.groups.get(raw, ())
        return published is not None and raw is not None and self.parse(published).matches(self.parse(raw))

    def is_known(self, published: str | None) -> bool:
        """Return whether the meaning of a published value is known: missing, "*", or a group of the hierarchy."""
        return published in {None, ALL} or published in self.labels

    def incomparable(self, published: Texts, raw: Texts) -> list[str]:
        """Return the published values that cannot be compared with any raw value: they share no reading with one."""
        labels = [self.parse(value) for value in raw if value is not None]
        kinds, shortest = _kinds(labels), min((len(label.text) for label in labels), default=0)
        return [
            value
            for value in published
            if value is not None
            and not (self.is_known(value) or value in raw or not labels)
            and not _kinds([self.parse(value)]) & kinds
            and not (self.parse(value).is_mask and shortest <= len(value))
        ]

    def incomparable_raw(self, published: Texts, raw: Texts) -> list[str]:
        """Return the raw values that cannot be compared with any published value."""
        if any(value is not None and self.is_known(value) for value in published):
            return []
        labels = [self.parse(value) for value in published if value is not None]
        kinds, longest = _kinds(labels), max((len(label.text) for label in labels if label.is_mask), default=-1)
        return [
            value
            for value in raw
            if value is not None
            and value not in published
            and not _kinds([self.parse(value)]) & kinds
            and len(value) > longest
        ]

    def is_guess(self, published: str | None) -> bool:
        """Return whether a published value is read by a guess."""
        return published is not None and published not in self.labels and not self.parse(published).sure


def _kinds(labels: Iterable[Label]) -> set[str]:
    """Return which of the two readings, "numbers" and "days", any of the labels has."""
    return {kind for label in labels for kind in ("numbers", "days") if getattr(label, kind) is not None}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnMatch:
    """The published values of a column that cover its raw values.

    Attributes:
        name: of the column.
        table: whether a published value (column of the table) covers a raw value (row).
        incomparable: the number of published values that cannot be compared with any raw value.
        guessed: the number of other published values that were read by a guess.
        incomparable_raw: the number of raw values that cannot be compared with any published value.
    """

    name: str
    table: Bools
    incomparable: int
    guessed: int
    incomparable_raw: int

    @property
    def values(self) -> int:
        """The number of published values."""
        return int(self.table.shape[1])

    @property
    def raw_values(self) -> int:
        """The number of raw values."""
        return int(self.table.shape[0])


def compare(
    rows: CodedTable, outside: CodedTable, known: tuple[str, ...], trees: Mapping[str, HierarchyRule]
) -> tuple[ColumnMatch, ...]:
    """Return for every known column which published values cover which raw values."""
    columns = []
    for name in known:
        published, raw = rows.column(name).texts, outside.column(name).texts
        reader = _LabelReader(trees[name].over(raw, name) if name in trees else None)
        cells = [[reader.covers(p, r) for p in published] for r in raw]
        table = np.array(cells, dtype=bool).reshape(len(raw), len(published))
        incomparable = set(reader.incomparable(published, raw))
        guessed = sum(reader.is_guess(value) for value in published if value not in incomparable)
        absent = len(reader.incomparable_raw(published, raw))
        columns.append(ColumnMatch(name, table, len(incomparable), guessed, absent))
    return tuple(columns)


def link(
    rows: CodedTable, outside: CodedTable, columns: tuple[ColumnMatch, ...]
) -> Iterator[tuple[dict[str, str | None], int, Ints]]:
    """Return for each different outside row its values, how many rows are equal to it, and the matching rows."""
    known = tuple(column.name for column in columns)
    raw = [outside.column(name) for name in known]
    persons = group([column.codes for column in raw], outside.rows)
    classes = group([rows.column(name).codes for name in known], rows.rows)
    order = np.argsort(classes.ids, kind="stable")
    starts = np.append(0, np.cumsum(classes.sizes))
    for which in range(len(persons)):
        codes = persons.shared[which]
        inside = np.ones(len(classes), dtype=bool)
        for at, column in enumerate(columns):
            inside &= column.table[codes[at]][classes.shared[:, at]]
        matches = [order[starts[c] : starts[c + 1]] for c in np.flatnonzero(inside)]
        person = {name: raw[at].texts[codes[at]] for at, name in enumerate(known)}
        yield person, int(persons.sizes[which]), np.concatenate(matches) if matches else np.zeros(0, dtype=np.int64)
