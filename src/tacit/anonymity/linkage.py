"""Which published rows fit a person that an attacker knows.

A published value covers a raw one if they are the same; if it is "*"; if it is a group of the raw value's hierarchy,
where one is given; or if any way to read it as a mask, as numbers or as days holds the raw value (see `readings`). A
missing value covers only a missing one.

A published value that cannot be compared with any raw one tells nothing without a hierarchy: nobody fits it, and that
must be said. So must it be said where a label was read by a guess, and where a raw value can be compared with none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from tacit.anonymity.classes import Flags, group
from tacit.anonymity.hierarchies import ALL, Hierarchy, Rule
from tacit.anonymity.label_parser import Reading, reading
from tacit.anonymity.tables import Table, Texts


def covers(published: str | None, raw: str | None, tree: Hierarchy | None = None) -> bool:
    """Return whether a published value may stand for a raw one.

    >>> covers("476**", "47678"), covers("[43, 52]", "47"), covers("≥40", "36"), covers("1980-01", "1980-01-05")
    (True, True, False, True)
    """
    return _Reader(tree).covers(published, raw)


class _Reader:
    """What the values of one column stand for; each is read once."""

    def __init__(self, tree: Hierarchy | None) -> None:
        self.groups = {} if tree is None else {row[0]: frozenset(row) for row in tree.rows}
        self.labels = frozenset().union(*self.groups.values()) if self.groups else frozenset()
        self.read = cache(reading)

    def covers(self, published: str | None, raw: str | None) -> bool:
        """Return whether a published value may stand for a raw one."""
        if published in {raw, ALL}:
            return True
        if published in self.labels:  # a group: of this value, or of others
            return published in self.groups.get(raw, ())
        return published is not None and raw is not None and self.read(published).fits(self.read(raw))

    def tells(self, published: str | None) -> bool:
        """Return whether a published value tells what it stands for: missing, "*", or a group of the hierarchy."""
        return published in {None, ALL} or published in self.labels

    def unread(self, published: Texts, raw: Texts) -> list[str]:
        """Return the published values that can be compared with no raw one: they are read in no way that one is."""
        known = [self.read(one) for one in raw if one is not None]
        kinds, shortest = _kinds(known), min((len(one.text) for one in known), default=0)
        return [
            one
            for one in published
            if one is not None
            and not (self.tells(one) or one in raw or not known)
            and not _kinds([self.read(one)]) & kinds
            and not (self.read(one).is_mask and shortest <= len(one))
        ]

    def strange(self, published: Texts, raw: Texts) -> list[str]:
        """Return the raw values that can be compared with no published one."""
        if any(one is not None and self.tells(one) for one in published):
            return []
        known = [self.read(one) for one in published if one is not None]
        kinds, longest = _kinds(known), max((len(one.text) for one in known if one.is_mask), default=-1)
        return [
            one
            for one in raw
            if one is not None and one not in published and not _kinds([self.read(one)]) & kinds and len(one) > longest
        ]

    def guesses(self, published: str | None) -> bool:
        """Return whether a published value is read by a guess."""
        return published is not None and published not in self.labels and not self.read(published).sure


def _kinds(read: Iterable[Reading]) -> set[str]:
    """Return in which of two ways any of some texts can be read."""
    return {kind for one in read for kind in ("numbers", "days") if getattr(one, kind) is not None}


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """One column: which published values (columns) cover which raw ones (rows), and what could not be compared.

    Attributes:
        name: of the column.
        table: which published values cover which raw ones.
        unread: published values that can be compared with no raw one.
        guessed: published values that were read by a guess, though they can be compared.
        strange: raw values that can be compared with no published one.
    """

    name: str
    table: Flags
    unread: int
    guessed: int
    strange: int

    @property
    def values(self) -> int:
        """How many published values there are."""
        return int(self.table.shape[1])

    @property
    def raws(self) -> int:
        """How many raw values there are."""
        return int(self.table.shape[0])


def compare(rows: Table, theirs: Table, known: tuple[str, ...], trees: Mapping[str, Rule]) -> tuple[Fits, ...]:
    """Return for every known column which published values cover which raw ones."""
    found = []
    for name in known:
        mine, other = rows.column(name), theirs.column(name)
        reader = _Reader(trees[name].over(other.texts, name) if name in trees else None)
        shape = (len(other.texts), len(mine.texts))
        table = np.array([[reader.covers(p, r) for p in mine.texts] for r in other.texts], dtype=bool).reshape(shape)
        unread = set(reader.unread(mine.texts, other.texts))
        guessed = sum(reader.guesses(published) for published in mine.texts if published not in unread)
        found.append(Fits(name, table, len(unread), guessed, len(reader.strange(mine.texts, other.texts))))
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
