"""Generalisation hierarchies: from a raw value, level by level, to "*".

A rule (see `hierarchy_rules`) becomes a hierarchy when it is applied to the values of a column. An explicit hierarchy
(`hierarchy`) lists its values. Level 0 is the raw value. Every level joins whole groups of the level below; tacit
checks that they nest. The last level is one group for all values.

A missing value is a separate value. If a hierarchy does not name it, it stays missing up to the last level. An empty
label is a missing label.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import numpy as np

from tacit.anonymity.cell_values import to_text
from tacit.anonymity.table_files import exists, to_path
from tacit.anonymity.tables import Texts, encode
from tacit.arrays import Codes, Floats
from tacit.errors import InvalidError, UnreadableFileError, bad_value
from tacit.notebook import ShownAsLines

ALL, TALLEST = "*", 1_000
Meaning: TypeAlias = Literal["groups", "codes", "fitted"]
_MOST_SHOWN = 5


class HierarchyRule(Protocol):
    """A rule that makes a hierarchy over the values of a column."""

    def over(self, values: Texts, column: str = ...) -> Hierarchy:
        """Return the hierarchy over these values.

        Args:
            values: the distinct values.
            column: the name of the column in messages.
        """
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Hierarchy(ShownAsLines):
    """A table of labels: row v is a raw value, and column l its label at level l; None is missing.

    `meaning` says how a recoding whose levels differ from class to class publishes digits: those of "codes" are always
    labels, numbers that are "fitted" always the range [least, largest] of their class. For "groups" it depends on the
    method: Mondrian publishes ranges, "local" publishes labels.

    >>> h = Hierarchy((("Flu", "lung", "*"), ("Bronchitis", "lung", "*"), ("Ulcer", "stomach", "*")))
    >>> h.height, h.shares(1).tolist()
    (3, [0.6666666666666666, 0.3333333333333333])

    Attributes:
        rows: the rows of the table.
        column: the name of the column in messages.
    """

    rows: tuple[tuple[str | None, ...], ...]
    column: str = "a column"
    meaning: Meaning = "groups"
    _maps: tuple[Codes, ...] = field(init=False, repr=False, compare=False)
    _labels: tuple[Texts, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check that the rows are nested groups, and number the groups of every level."""
        widths = {len(row) for row in self.rows}
        if not self.rows or len(widths) != 1:
            problem = "has rows of different lengths" if self.rows else "has no rows"
            raise hierarchy_error(self.column, f"{problem}.", "Give one row for each value, all of one length.")
        if widths == {0}:
            raise hierarchy_error(self.column, "has rows without labels.", "Start each row with the value.")
        if len(self.rows[0]) > TALLEST:
            raise hierarchy_error(self.column, f"has {len(self.rows[0]):,} levels; at most {TALLEST:,} are supported.")
        raw = [row[0] for row in self.rows]
        if len(set(raw)) < len(raw):
            twice = next(value for value in raw if raw.count(value) > 1)
            raise hierarchy_error(self.column, f"has two rows for {twice!r}.", "Give one row for each value.")
        if len({row[-1] for row in self.rows}) > 1:
            object.__setattr__(self, "rows", tuple((*row, ALL) for row in self.rows))
        levels = [encode("", level) for level in zip(*self.rows, strict=True)]
        object.__setattr__(self, "_maps", tuple(level.codes for level in levels))
        object.__setattr__(self, "_labels", tuple(level.texts for level in levels))
        self._require_nested()
        self._require_no_cycle()

    def _require_nested(self) -> None:
        for level, (low, high) in enumerate(pairwise(self._maps)):
            parent = np.full(low.max() + 1, -1, dtype=np.int32)
            parent[low] = high
            wrong = np.flatnonzero(parent[low] != high)
            if wrong.size:
                label = self.rows[wrong[0]][level]
                above = sorted({str(row[level + 1]) for row in self.rows if row[level] == label})
                raise hierarchy_error(
                    self.column,
                    f"is not nested: {label!r} of level {level} is under {' and '.join(map(repr, above))}.",
                    f"Put every group of level {level} into one group of level {level + 1}.",
                )

    def _require_no_cycle(self) -> None:
        """Check that a label that is also a raw value covers that value; else a reader would take it for another."""
        row_of = {row[0]: at for at, row in enumerate(self.rows) if row[0] is not None}
        for level in range(1, self.height - 1):
            groups, labels = self._maps[level], self._labels[level]
            for group, label in enumerate(labels):
                if label in row_of and groups[row_of[label]] != group:
                    raise hierarchy_error(
                        self.column,
                        f"has a cycle: the label {label!r} of level {level} is also a value, which it does not cover.",
                        "Give the group another label.",
                    )

    def __repr__(self) -> str:
        """Return the size of the hierarchy and its first row."""
        return f"Hierarchy of {len(self.rows):,} values and {self.height} levels, the first {self.rows[0]!r}"

    @property
    def values(self) -> Texts:
        """The raw values."""
        return self._labels[0]

    @property
    def height(self) -> int:
        """The number of levels, including the raw level."""
        return len(self._maps)

    def groups(self, level: int) -> Codes:
        """Return the group of every raw value at a level, numbered from 0."""
        return self._maps[level]

    def labels(self, level: int) -> Texts:
        """Return the labels of the groups of a level."""
        return self._labels[level]

    def shares(self, level: int) -> Floats:
        """Return the share of the raw values that each group of a level holds."""
        return np.bincount(self._maps[level]) / len(self.rows)

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return this hierarchy, with a row for missing values if they occur and it lacks one.

        Raises:
            InvalidError: a value has no row.
        """
        known = set(self.values)
        absent = [value for value in values if value is not None and value not in known]
        if absent:
            more = f" and {len(absent) - _MOST_SHOWN} more" if len(absent) > _MOST_SHOWN else ""
            names = ", ".join(map(repr, absent[:_MOST_SHOWN]))
            raise hierarchy_error(column, f"lacks {names}{more}.", "Add a row for every value of the column.")
        extra = () if None in known or None not in values else ((None,) * (self.height - 1) + (self.rows[0][-1],),)
        return Hierarchy((*self.rows, *extra), column, self.meaning)


def hierarchy_error(column: str, problem: str, hint: str | None = None) -> InvalidError:
    """Return the error for the hierarchy of a column; `problem` completes "The hierarchy of age …"."""
    return InvalidError(f"The hierarchy of {column} {problem}", argument=f"the hierarchy of {column}", hint=hint)


def build_hierarchy(
    values: Texts, column: str, levels: Sequence[Mapping[str, str]], meaning: Meaning = "groups"
) -> Hierarchy:
    """Return the hierarchy in which the label of a value at level l is levels[l - 1][value]; the last level is "*"."""
    rows = [(value, *(None if value is None else level[value] for level in levels), ALL) for value in values]
    return Hierarchy(tuple(rows) or ((None, ALL),), column, meaning)


def hierarchy(source: str | Path | Sequence[Sequence[object]], sep: str = ";") -> Hierarchy:
    """Return an explicit hierarchy: one row for each value, the value first and the most general last.

    >>> hierarchy([["Flu", "lung", "*"], ["Ulcer", "stomach", "*"]]).height
    3

    Args:
        source: the rows, or the path of a file of them, as ARX writes it.
        sep: the separator of the cells of the file.

    Raises:
        InvalidError: the groups do not nest.
        UnreadableFileError: the file does not exist or cannot be parsed.
    """
    if not isinstance(source, (str, Path)):
        if not is_list(source) or not all(map(is_list, source)):
            raise bad_value("the hierarchy", source, "rows of labels, or the path of a file of them")
        return Hierarchy(tuple(tuple(map(to_text, row)) for row in source))
    path = to_path(source, "the hierarchy")
    if not exists(path):
        raise UnreadableFileError(source, "it does not exist.", argument="the hierarchy")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [tuple(cell or None for cell in row) for row in csv.reader(file, delimiter=sep) if row]
    except (OSError, UnicodeDecodeError, TypeError, csv.Error):
        raise UnreadableFileError(
            source,
            "it is not a text file in UTF-8 with cells separated by one character.",
            argument="the hierarchy",
        ) from None
    return Hierarchy(tuple(rows), path.name)


def is_list(value: object) -> bool:
    """Return whether a value is iterable, and not text."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


HierarchySource: TypeAlias = "HierarchyRule | str | Path | Sequence[Sequence[object]]"


def to_rule(source: HierarchySource) -> HierarchyRule:
    """Return a rule, a file or rows of labels as a rule."""
    return source if hasattr(source, "over") else hierarchy(source)
