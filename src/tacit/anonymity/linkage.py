"""Which published rows fit a person that an attacker knows.

A published value covers a raw one if they are the same; if it is "*"; if it is a group of the raw value's hierarchy,
where one is given; if it is a mask (476**) that the raw value fits; or if it is a range of numbers that holds it:
[43, 52], [-1e3, 50), 20-39, ≥40, <30. A missing value covers only a missing one.

A published value that is none of these tells nothing without a hierarchy: nobody fits it, and that must be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np

from tacit.anonymity.classes import Flags, group
from tacit.anonymity.hierarchies import ALL, Hierarchy, Rule, number
from tacit.anonymity.tables import Table
from tacit.errors import InvalidError

_NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
_ALONE = re.compile(_NUMBER)
_RANGE = re.compile(rf"([\[(])\s*{_NUMBER}\s*,\s*{_NUMBER}\s*([\])])")
_SPAN = re.compile(rf"{_NUMBER}\s*[-–…]\s*{_NUMBER}")
_SIDE = re.compile(rf"(≥|>=|>|≤|<=|<)\s*{_NUMBER}")


def covers(published: str | None, raw: str | None, tree: Hierarchy | None = None) -> bool:
    """Return whether a published value may stand for a raw one.

    >>> covers("476**", "47678"), covers("[43, 52]", "47"), covers("≥40", "36"), covers("2*", "27")
    (True, True, False, True)
    """
    return _Reader(tree).covers(published, raw)


class _Reader:
    """What the values of one column stand for; each is read once."""

    def __init__(self, tree: Hierarchy | None) -> None:
        self.groups = {} if tree is None else {row[0]: frozenset(row) for row in tree.rows}
        self.labels = frozenset().union(*self.groups.values()) if self.groups else frozenset()
        self.range, self.number = cache(_range), cache(_numeral)

    def covers(self, published: str | None, raw: str | None) -> bool:
        """Return whether a published value may stand for a raw one."""
        if published in {raw, ALL}:
            return True
        if published in self.labels:  # a group: of this value, or of others
            return published in self.groups.get(raw, ())
        if published is None or raw is None:
            return False
        if ALL in published and len(published) == len(raw):
            return all(p in {ALL, r} for p, r in zip(published, raw, strict=True))
        span, x = self.range(published), self.number(raw)
        return span is not None and x is not None and _within(x, *span)

    def reads(self, published: str | None, raw: frozenset[str | None]) -> bool:
        """Return whether it can be told which raw values a published one covers."""
        if published is None or ALL in published or published in raw or published in self.labels:
            return True
        return self.range(published) is not None


def _numeral(raw: str) -> Fraction | None:
    try:
        return number(raw, "")
    except InvalidError:
        return None


Range: TypeAlias = "tuple[str, Fraction | None, Fraction | None, str]"


def _range(published: str) -> Range | None:
    """Return a range, or a number alone, as its brackets and ends, an open end as None; None where it is no range."""
    try:
        if found := _ALONE.fullmatch(published):
            return "[", number(found[1], ""), number(found[1], ""), "]"
        if found := _RANGE.fullmatch(published):
            return found[1], number(found[2], ""), number(found[3], ""), found[4]
        if found := _SPAN.fullmatch(published):
            return "[", number(found[1], ""), number(found[2], ""), "]"
        if found := _SIDE.fullmatch(published):
            bound, closed = number(found[2], ""), found[1] in {"≥", ">=", "≤", "<="}
            upper = found[1][0] in "≤<"
            brackets = ("[", "]") if closed else ("(", ")")
            return (brackets[0], None, bound, brackets[1]) if upper else (brackets[0], bound, None, brackets[1])
    except InvalidError:  # beyond our digits
        pass
    return None


def _within(x: Fraction, opens: str, low: Fraction | None, high: Fraction | None, closes: str) -> bool:
    above = low is None or low < x or (low == x and opens == "[")
    return above and (high is None or x < high or (x == high and closes == "]"))


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """One column: which published values (columns) cover which raw ones (rows), and which cannot be read."""

    name: str
    table: Flags
    unread: int
    values: int


def compare(rows: Table, theirs: Table, known: tuple[str, ...], trees: Mapping[str, Rule]) -> tuple[Fits, ...]:
    """Return for every known column which published values cover which raw ones."""
    found = []
    for name in known:
        mine, other = rows.column(name), theirs.column(name)
        raw = frozenset(other.texts)
        reader = _Reader(trees[name].over(other.texts, name) if name in trees else None)
        table = np.array([[reader.covers(p, r) for p in mine.texts] for r in other.texts], dtype=bool)
        unread = sum(not reader.reads(p, raw) for p in mine.texts)
        found.append(Fits(name, table.reshape(len(other.texts), len(mine.texts)), unread, len(mine.texts)))
    return tuple(found)


def link(
    rows: Table, theirs: Table, fits: tuple[Fits, ...]
) -> Iterator[tuple[dict[str, str | None], int, np.ndarray[tuple[int], np.dtype[np.intp]]]]:
    """Return for each different outside person who they are, how many look so, and the published rows that fit."""
    known = tuple(one.name for one in fits)
    ours, others = [rows.column(name) for name in known], [theirs.column(name) for name in known]
    persons = group([column.codes for column in others], theirs.rows)
    classes = group([column.codes for column in ours], rows.rows)
    order = np.argsort(classes.ids, kind="stable")
    starts = np.append(0, np.cumsum(classes.sizes))
    for which in range(len(persons)):
        codes = persons.shared[which]
        inside = np.ones(len(classes), dtype=bool)
        for at, one in enumerate(fits):
            inside &= one.table[codes[at]][classes.shared[:, at]]
        found = [order[starts[c] : starts[c + 1]] for c in np.flatnonzero(inside)]
        person = {name: others[at].texts[codes[at]] for at, name in enumerate(known)}
        yield person, int(persons.sizes[which]), np.concatenate(found) if found else np.zeros(0, dtype=np.intp)
