"""Generalisation hierarchies: from a raw value, level by level, to "*".

A rule (`mask`, `intervals`, `ordered`, `dates`, `suppress`) becomes a hierarchy once it meets the values of a column;
an explicit one (`hierarchy`) lists its values itself. Level 0 is the value as it is; every level joins whole groups of
the level below (they nest, and that is checked); the last one is one group for all.

A missing value is a value of its own: where a hierarchy does not name it, it stays missing up to the last level. An
empty label is a missing one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from tacit.anonymity.cells import text
from tacit.anonymity.files import called, is_there
from tacit.anonymity.tables import Ints, Texts, coded
from tacit.errors import InvalidError, show

ALL = "*"
_SHOWN, _LONGEST, _TALLEST = 5, 400, 1_000
_NUMERAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_MIDNIGHT = re.compile(r"T00:00:00[+-]\d\d:\d\d(:\d\d)?$", re.ASCII)


class Rule(Protocol):
    """What can become a hierarchy over the values of a column."""

    def over(self, values: Texts, column: str = ...) -> Hierarchy:
        """Return the hierarchy over these values."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Hierarchy:
    """A table of labels: row v is a raw value, column l what it is called at level l; None is missing.

    >>> h = Hierarchy((("Flu", "lung", "*"), ("Bronchitis", "lung", "*"), ("Ulcer", "stomach", "*")))
    >>> h.height, h.shares(1).tolist()
    (3, [0.6666666666666666, 0.3333333333333333])
    """

    rows: tuple[tuple[str | None, ...], ...]
    column: str = "a column"
    _maps: tuple[Ints, ...] = field(init=False, repr=False, compare=False)
    _labels: tuple[Texts, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check that it is a table of nested groups, and number the groups of every level."""
        widths = {len(row) for row in self.rows}
        if not self.rows or len(widths) != 1:
            got = "rows of different lengths" if self.rows else "no row"
            raise InvalidError(f"the hierarchy of {self.column}", got, "one row for each value, all of one length")
        if len(self.rows[0]) > _TALLEST:
            raise InvalidError(f"the hierarchy of {self.column}", f"{len(self.rows[0])} levels", f"at most {_TALLEST}")
        raw = [row[0] for row in self.rows]
        if len(set(raw)) < len(raw):
            twice = next(value for value in raw if raw.count(value) > 1)
            raise InvalidError(f"the hierarchy of {self.column}", f"{twice!r} twice", "one row for each value")
        if len({row[-1] for row in self.rows}) > 1:
            object.__setattr__(self, "rows", tuple((*row, ALL) for row in self.rows))
        levels = [coded("", level) for level in zip(*self.rows, strict=True)]
        object.__setattr__(self, "_maps", tuple(level.codes for level in levels))
        object.__setattr__(self, "_labels", tuple(level.texts for level in levels))
        self._require_nested()

    def _require_nested(self) -> None:
        for level, (low, high) in enumerate(pairwise(self._maps)):
            parent = np.full(low.max() + 1, -1, dtype=np.int32)
            parent[low] = high
            wrong = np.flatnonzero(parent[low] != high)
            if wrong.size:
                label = self.rows[wrong[0]][level]
                above = sorted({str(row[level + 1]) for row in self.rows if row[level] == label})
                want = f"nested: every group of level {level} inside one group of level {level + 1}"
                raise InvalidError(
                    f"the hierarchy of {self.column}", f"{label!r} under {' and '.join(map(repr, above))}", want
                )

    def __repr__(self) -> str:
        """Return how large it is, and its first row."""
        return f"Hierarchy of {len(self.rows):,} values and {self.height} levels, the first {self.rows[0]!r}"

    @property
    def values(self) -> Texts:
        """The raw values."""
        return self._labels[0]

    @property
    def height(self) -> int:
        """The number of levels, the raw one among them."""
        return len(self._maps)

    def groups(self, level: int) -> Ints:
        """Return the group of every raw value at a level, numbered from 0."""
        return self._maps[level]

    def labels(self, level: int) -> Texts:
        """Return what the groups of a level are called."""
        return self._labels[level]

    def shares(self, level: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return for each group of a level which part of the raw values it holds."""
        return np.bincount(self._maps[level]) / len(self.rows)

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return this hierarchy, with a row for missing values where they occur and it has none.

        Raises:
            InvalidError: a value has no row.
        """
        known = set(self.values)
        absent = [value for value in values if value is not None and value not in known]
        if absent:
            more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
            got = f"{', '.join(map(repr, absent[:_SHOWN]))}{more}, which it lacks"
            raise InvalidError(f"the hierarchy of {column}", got, "one with a row for every value of the column")
        extra = () if None in known or None not in values else ((None,) * (self.height - 1) + (self.rows[0][-1],),)
        return Hierarchy((*self.rows, *extra), column)


def _built(values: Texts, column: str, levels: Sequence[Mapping[str, str]]) -> Hierarchy:
    """Return the hierarchy whose level l calls a value levels[l - 1][value]; "*" comes last."""
    rows = [(value, *(None if value is None else level[value] for level in levels), ALL) for value in values]
    return Hierarchy(tuple(rows) or ((None, ALL),), column)


@dataclass(frozen=True, slots=True)
class Mask:
    """Hide the last characters, one more at each level."""

    width: int
    character: str = "*"

    def __post_init__(self) -> None:
        """Check the width and the character."""
        if type(self.width) is not int or not 1 <= self.width < _TALLEST:
            raise InvalidError("mask's width", show(self.width), f"a whole number ≥ 1 and below {_TALLEST}")
        if type(self.character) is not str or len(self.character) != 1:
            raise InvalidError("mask's character", show(self.character), "one character")

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over these values; a value shorter than the width counts as padded at its end."""
        known = [value for value in values if value is not None]
        levels = [{value: self._masked(value, hidden) for value in known} for hidden in range(1, self.width)]
        return _built(values, column, levels)

    def _masked(self, value: str, hidden: int) -> str:
        kept = max(0, max(self.width, len(value)) - hidden)
        return value[:kept] + self.character * (max(self.width, len(value)) - kept) if kept < len(value) else value


@dataclass(frozen=True, slots=True)
class Intervals:
    """Join numbers into intervals [a, a + width) that begin at whole multiples of the width from `start` on."""

    widths: tuple[Fraction, ...]
    start: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Check that every width divides the next."""
        if not self.widths or any(width <= 0 for width in self.widths):
            raise InvalidError("intervals' widths", "none or one ≤ 0", "numbers > 0")
        for low, high in pairwise(self.widths):
            if high <= low or (high / low).denominator != 1:
                got = f"{_number(low)} before {_number(high)}"
                raise InvalidError(
                    "intervals' widths", got, "rising, each a multiple of the one before: else they do not nest"
                )

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over these numbers."""
        known = {value: number(value, column) for value in values if value is not None}
        return _built(values, column, [{v: self._label(x, width) for v, x in known.items()} for width in self.widths])

    def _label(self, x: Fraction, width: Fraction) -> str:
        low = self.start + (x - self.start) // width * width
        return f"[{_number(low)}, {_number(low + width)})"


@dataclass(frozen=True, slots=True)
class Ordered:
    """Join neighbours in a given order: so many at the first level, so many at the next."""

    order: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that every size divides the next."""
        whole = all(type(size) is int for size in self.sizes)
        if not whole or any(low < 1 or high <= low or high % low for low, high in pairwise((1, *self.sizes))):
            raise InvalidError(
                "ordered's sizes", show(self.sizes), "rising whole numbers ≥ 2, each a multiple of the one before"
            )

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over all values of the order."""
        places = range(len(self.order))
        levels = [{self.order[p]: self._label(p, size) for p in places} for size in self.sizes]
        return _built(self.order, column, levels).over(values, column)

    def _label(self, place: int, size: int) -> str:
        low = place // size * size
        high = min(low + size, len(self.order)) - 1
        return self.order[low] if low == high else f"{self.order[low]} … {self.order[high]}"


@dataclass(frozen=True, slots=True)
class Dates:
    """Join days into months, quarters, years and decades."""

    parts: tuple[str, ...] = ("month", "quarter", "year", "decade")

    def __post_init__(self) -> None:
        """Check that the parts are known and rise."""
        known = list(_PARTS)
        places = [known.index(part) for part in self.parts if part in known]
        if len(places) < len(self.parts) or places != sorted(set(places)):
            raise InvalidError("dates' parts", repr(self.parts), f"some of {', '.join(known)}, from fine to coarse")

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over these days, which are written as 2024-12-31."""
        known = {value: day(value, column) for value in values if value is not None}
        return _built(values, column, [{v: _PARTS[part](day) for v, day in known.items()} for part in self.parts])


_PARTS = {
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10:03}0s",
}


@dataclass(frozen=True, slots=True)
class Suppress:
    """Keep the value or hide it: two levels."""

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy of two levels over these values."""
        return _built(values, column, [])


def day(value: str, column: str) -> date:
    """Return the day that a text stands for; midnight in a zone is a day too.

    Raises:
        InvalidError: it is none.
    """
    try:
        return date.fromisoformat(_MIDNIGHT.sub("", value))
    except ValueError:
        raise InvalidError(f"the column {column}", repr(value), "of days such as 2024-12-31") from None


def number(value: str, column: str) -> Fraction:
    """Return the number that a text stands for, exactly.

    Raises:
        InvalidError: it is none.
    """
    found = _NUMERAL.fullmatch(value.strip()) if len(value) <= _LONGEST else None
    if found is None or abs(int(found[1] or 0)) > _LONGEST:
        raise InvalidError(f"the column {column}", show(value), f"of numbers, finite and of at most {_LONGEST} digits")
    return Fraction(value.strip())


def _number(x: Fraction) -> str:
    """Return a number as a decimal, exactly; bounds of intervals are decimals always.

    >>> _number(Fraction(-5, 2)), _number(Fraction(30))
    ('-2.5', '30')
    """
    digits = 0
    while digits < 2 * _LONGEST and (x * 10**digits).denominator != 1:
        digits += 1
    whole, rest = divmod(abs(x) * 10**digits // 1, 10**digits)
    return f"{'-' * (x < 0)}{whole}" + (f".{rest:0{digits}}" if digits else "")


def _is_list(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes))


def _decimal(value: object, argument: str) -> Fraction:
    """Return a width, a start or the like as the decimal that Python prints."""
    try:
        if not isinstance(value, bool):
            return number(str(value), argument)
    except InvalidError:
        pass
    raise InvalidError(argument, show(value), "finite numbers")


def mask(width: int, character: str = "*") -> Rule:
    """Hide characters from the right, one more at each level, up to the width.

    >>> mask(5).over(("47677", "47602")).rows[0]
    ('47677', '4767*', '476**', '47***', '4****', '*')
    """
    return Mask(width, character)


def intervals(widths: Sequence[float], start: float = 0) -> Rule:
    """Join numbers into intervals of these widths, one level each.

    >>> intervals([5, 10, 20, 40]).over(("29", "43")).rows[0]
    ('29', '[25, 30)', '[20, 30)', '[20, 40)', '[0, 40)', '*')
    """
    if not _is_list(widths):
        raise InvalidError("intervals' widths", show(widths), "a list of numbers > 0")
    return Intervals(
        tuple(_decimal(width, "intervals' widths") for width in widths), _decimal(start, "intervals' start")
    )


def ordered(order: Sequence[object], sizes: Sequence[int]) -> Rule:
    """Join neighbours in an order: groups of sizes[0] at level 1, of sizes[1] at level 2.

    >>> ordered(["none", "school", "college", "doctorate"], [2]).over(("none",)).labels(1)
    ('none … school', 'college … doctorate')
    """
    if not isinstance(order, Iterable):
        raise InvalidError("ordered's order", show(order), "a list of values, from the first to the last")
    if not _is_list(sizes):
        raise InvalidError("ordered's sizes", show(sizes), "a list of whole numbers ≥ 2")
    return Ordered(tuple(str(text(value)) for value in order), tuple(sizes))


def dates(parts: Sequence[str] = ("month", "quarter", "year", "decade")) -> Rule:
    """Join days into months, quarters, years and decades.

    >>> dates(["month", "year"]).over(("2024-12-31",)).rows
    (('2024-12-31', '2024-12', '2024', '*'),)
    """
    if not _is_list(parts) or not all(isinstance(part, str) for part in parts):
        raise InvalidError("dates' parts", show(parts), f"a list of some of {', '.join(_PARTS)}, from fine to coarse")
    return Dates(tuple(parts))


def suppress() -> Rule:
    """Keep a value or hide it.

    >>> suppress().over(("F", "M")).rows
    (('F', '*'), ('M', '*'))
    """
    return Suppress()


def hierarchy(source: str | Path | Sequence[Sequence[object]], sep: str = ";") -> Hierarchy:
    """Return an explicit hierarchy: one row for each value, the value first and the most general last.

    >>> hierarchy([["Flu", "lung", "*"], ["Ulcer", "stomach", "*"]]).height
    3

    Args:
        source: the rows, or the path of a file of them, as ARX writes it.
        sep: what separates the cells of the file.

    Raises:
        InvalidError: there is no such file, or its groups do not nest.
    """
    if not isinstance(source, (str, Path)):
        if not _is_list(source) or not all(map(_is_list, source)):
            raise InvalidError("the hierarchy", show(source), "rows of labels, or the path of a file of them")
        return Hierarchy(tuple(tuple(map(text, row)) for row in source))
    if not is_there(Path(source)):
        raise InvalidError("the hierarchy", f"{called(source)}, which does not exist", "a file")
    try:
        with Path(source).open(encoding="utf-8-sig", newline="") as file:
            rows = [tuple(cell or None for cell in row) for row in csv.reader(file, delimiter=sep) if row]
    except (OSError, UnicodeDecodeError, TypeError, csv.Error):
        raise InvalidError(
            "the hierarchy", f"{str(source)!r}, which cannot be read", "a text file, cells apart by one character"
        ) from None
    return Hierarchy(tuple(rows), Path(source).name)


Quasi: TypeAlias = "Rule | str | Path | Sequence[Sequence[object]]"


def rule(given: Quasi) -> Rule:
    """Return what a user gives for a column as a rule: a rule itself, a file or rows."""
    return given if hasattr(given, "over") else hierarchy(given)
