"""A recoded table: for every column the values that are published, and for every row which of them.

The raw values of a column stand in an order; a published value is a run of them, from place `low` to place `high`. So
what it covers, and what it costs, is a difference of two sums. Where groups of a hierarchy are published, the order is
one in which every group is a run. Where ranges of numbers are published it is that of the numbers, whatever the groups:
so [20, 29] covers each number from 20 to 29, and no other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.anonymity.classes import Flags
from tacit.anonymity.hierarchies import Hierarchy
from tacit.anonymity.numerals import number
from tacit.anonymity.tables import Texts
from tacit.arrays import Codes, Floats
from tacit.errors import InvalidError


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """The published values of a column: label i covers the raw values at places low[i] to high[i].

    `level[i]` is its level in the hierarchy, or -1 where it is none of its groups.
    """

    name: str
    tree: Hierarchy
    place: Codes
    low: Codes
    high: Codes
    level: Codes
    labels: Texts

    @property
    def shares(self) -> Floats:
        """The part of the raw values that each label covers."""
        return np.asarray((self.high - self.low + 1) / len(self.tree.rows))


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """Covers of all columns, the label of every row in each, and which rows are kept."""

    covers: tuple[Cover, ...]
    codes: tuple[Codes, ...]
    kept: Flags


def is_numeric(tree: Hierarchy) -> bool:
    """Return whether all raw values are numbers, missing ones apart."""
    try:
        return all(number(value, "") is not None for value in tree.values if value is not None)
    except InvalidError:
        return False


def places(tree: Hierarchy) -> Codes:
    """Return the place of every raw value in an order in which every group of every level is a run.

    Numbers stand in their order as far as groups allow; missing comes last.
    """
    rank = np.arange(len(tree.rows))
    if is_numeric(tree):
        numbers = [(value is None, 0 if value is None else number(value, "")) for value in tree.values]
        rank[sorted(range(len(numbers)), key=numbers.__getitem__)] = np.arange(len(numbers))
    keys = [rank]
    for level in range(1, tree.height):
        groups = tree.groups(level)
        least = np.full(groups.max() + 1, len(rank))
        np.minimum.at(least, groups, rank)
        keys.append(least[groups])
    place = np.empty(len(rank), dtype=np.int32)
    place[np.lexsort(keys)] = np.arange(len(rank))
    return place


def has_ranges(tree: Hierarchy) -> bool:
    """Return whether Mondrian publishes ranges of a column: all its values are numbers, and none is missing."""
    return None not in tree.values and is_numeric(tree)


def number_places(tree: Hierarchy) -> Codes:
    """Return the place of every raw value in the order of the numbers."""
    numbers = [number(str(value), tree.column) for value in tree.values]
    place = np.empty(len(numbers), dtype=np.int32)
    place[sorted(range(len(numbers)), key=numbers.__getitem__)] = np.arange(len(numbers))
    return place


def level_cover(name: str, tree: Hierarchy, level: int, place: Codes | None = None) -> Cover:
    """Return the cover that publishes one level; `place` where it is known."""
    place, groups = places(tree) if place is None else place, tree.groups(level)
    many = int(groups.max()) + 1
    low, high = np.full(many, len(place), dtype=np.int32), np.full(many, -1, dtype=np.int32)
    np.minimum.at(low, groups, place)
    np.maximum.at(high, groups, place)
    return Cover(name, tree, place, low, high, np.full(many, level, dtype=np.int32), tree.labels(level))


def runs_cover(name: str, tree: Hierarchy, low: Codes, high: Codes, *, ranges: bool) -> tuple[Cover, Codes]:
    """Return the cover of given runs, and which of its labels each run became.

    Args:
        name: of the column.
        tree: its hierarchy.
        low: where each run begins.
        high: where it ends.
        ranges: whether a run of numbers, in their own order, is published as [first, last]; else a run becomes the
            smallest group of the hierarchy that holds it.
    """
    place = number_places(tree) if ranges else places(tree)
    if not ranges:
        low, high, level = _smallest_groups(tree, place, low, high)
    else:
        level = np.where(low == high, 0, np.where((low == 0) & (high == len(place) - 1), tree.height - 1, -1)).astype(
            np.int32
        )
    key = low.astype(np.int64) * len(place) + high
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    raw = np.argsort(place)
    labels = [_label(tree, raw, int(low[i]), int(high[i]), int(level[i])) for i in first]  # each true of its run
    cover = Cover(name, tree, place, low[first], high[first], level[first], tuple(labels))
    return cover, which.reshape(-1).astype(np.int32)


def _label(
    tree: Hierarchy, raw: np.ndarray[tuple[int], np.dtype[np.intp]], low: int, high: int, level: int
) -> str | None:
    if level >= 0:
        return tree.rows[int(raw[low])][level]
    return f"[{tree.values[raw[low]]}, {tree.values[raw[high]]}]"


def _smallest_groups(tree: Hierarchy, place: Codes, low: Codes, high: Codes) -> tuple[Codes, Codes, Codes]:
    """Return for every run the smallest group that holds it: where that begins and ends, and its level."""
    begins, ends = low.copy(), high.copy()
    level = np.full(len(low), -1, dtype=np.int32)
    raw = np.argsort(place)
    for at in range(tree.height):
        cover = level_cover("", tree, at, place)
        groups = tree.groups(at)[raw]  # by place
        settled = (level < 0) & (groups[low] == groups[high])
        level[settled] = at
        begins[settled], ends[settled] = cover.low[groups[low[settled]]], cover.high[groups[low[settled]]]
    return begins, ends, level
