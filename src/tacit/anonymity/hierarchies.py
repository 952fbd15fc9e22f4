"""Generalisation hierarchies: from a raw value, level by level, to "*".

A rule (see `rules`) becomes a hierarchy once it meets the values of a column; an explicit one (`hierarchy`) lists its
values itself. Level 0 is the value as it is; every level joins whole groups of the level below (they nest, and that is
checked); the last one is one group for all.

A missing value is a value of its own: where a hierarchy does not name it, it stays missing up to the last level. An
empty label is a missing one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from tacit.anonymity.cell_values import text
from tacit.anonymity.files import called, is_hidden, is_there
from tacit.anonymity.tables import Texts, coded
from tacit.arrays import Codes
from tacit.errors import InvalidError, UnreadableFileError, show

ALL, TALLEST = "*", 1_000
_SHOWN = 5


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
    _maps: tuple[Codes, ...] = field(init=False, repr=False, compare=False)
    _labels: tuple[Texts, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check that it is a table of nested groups, and number the groups of every level."""
        widths = {len(row) for row in self.rows}
        if not self.rows or len(widths) != 1:
            got = "rows of different lengths" if self.rows else "no row"
            raise InvalidError(f"the hierarchy of {self.column}", got, "one row for each value, all of one length")
        if len(self.rows[0]) > TALLEST:
            raise InvalidError(f"the hierarchy of {self.column}", f"{len(self.rows[0])} levels", f"at most {TALLEST}")
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

    def groups(self, level: int) -> Codes:
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


def built(values: Texts, column: str, levels: Sequence[Mapping[str, str]]) -> Hierarchy:
    """Return the hierarchy whose level l calls a value levels[l - 1][value]; "*" comes last."""
    rows = [(value, *(None if value is None else level[value] for level in levels), ALL) for value in values]
    return Hierarchy(tuple(rows) or ((None, ALL),), column)


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
        if not is_list(source) or not all(map(is_list, source)):
            raise InvalidError("the hierarchy", show(source), "rows of labels, or the path of a file of them")
        return Hierarchy(tuple(tuple(map(text, row)) for row in source))
    if not is_there(Path(source)):
        if is_hidden(source):
            raise InvalidError("the hierarchy", called(source), "the path of a file")
        raise UnreadableFileError(source, "it does not exist.", argument="the hierarchy")
    try:
        with Path(source).open(encoding="utf-8-sig", newline="") as file:
            rows = [tuple(cell or None for cell in row) for row in csv.reader(file, delimiter=sep) if row]
    except (OSError, UnicodeDecodeError, TypeError, csv.Error):
        raise UnreadableFileError(
            source, "it is not a text file with cells separated by one character.", argument="the hierarchy"
        ) from None
    return Hierarchy(tuple(rows), Path(source).name)


def is_list(given: object) -> bool:
    """Say whether something is a list of things, and no text."""
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes))


Quasi: TypeAlias = "Rule | str | Path | Sequence[Sequence[object]]"


def rule(given: Quasi) -> Rule:
    """Return what a user gives for a column as a rule: a rule itself, a file or rows."""
    return given if hasattr(given, "over") else hierarchy(given)
