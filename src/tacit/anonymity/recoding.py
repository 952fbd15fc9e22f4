"""Recoded tables, and recodings that can be saved and applied to other rows.

The raw values of a column have an order. A published value is a run of them, from position `low` to position `high`. So
what it covers, and what it costs, is a difference of two sums. If groups of a hierarchy are published, the order is one
in which every group is a run. If ranges of numbers are published, the order is that of the numbers, whatever the
groups: so [20, 29] covers each number from 20 to 29, and no other.

The file of a recoding holds the raw values and labels of the hierarchies and the published groups, but no row and no
count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.anonymity.cell_values import number, parse_number
from tacit.anonymity.hierarchies import Hierarchy
from tacit.anonymity.table_files import to_path
from tacit.anonymity.tables import CodedTable, Texts
from tacit.arrays import Bools, Codes, Floats, Ints
from tacit.errors import InvalidError, UnreadableFileError
from tacit.notebook import ShownAsLines
from tacit.safe_text import visible

_CELLS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """The published values of a column: label i covers the raw values at positions low[i] to high[i].

    Raw value v has position order[v]. `level[i]` is the level of label i in the hierarchy, or -1 if it is not a group.
    """

    name: str
    tree: Hierarchy
    order: Codes
    low: Codes
    high: Codes
    level: Codes
    labels: Texts

    @property
    def shares(self) -> Floats:
        """The share of the raw values that each label covers."""
        return np.asarray((self.high - self.low + 1) / len(self.tree.rows))


@dataclass(frozen=True, slots=True, eq=False)
class RecodedTable:
    """Covers of all columns, the label of every row in each, and which rows are kept.

    Attributes:
        covers: the columns with their hierarchies.
        codes: the label of every row, column by column.
        kept: whether each row is published.
    """

    covers: tuple[Cover, ...]
    codes: tuple[Codes, ...]
    kept: Bools


def is_numeric(tree: Hierarchy) -> bool:
    """Return whether all raw values that are not missing are numbers."""
    return all(parse_number(value) is not None for value in tree.values if value is not None)


def nested_order(tree: Hierarchy) -> Codes:
    """Return the position of every raw value in an order in which every group of every level is a run.

    Numbers are in their order as far as groups allow; missing is last.
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
    order = np.empty(len(rank), dtype=np.int32)
    order[np.lexsort(keys)] = np.arange(len(rank))
    return order


def has_ranges(tree: Hierarchy) -> bool:
    """Return whether a column can have ranges: all its values are numbers, not codes, and none is missing."""
    return tree.meaning != "codes" and None not in tree.values and is_numeric(tree)


def number_order(tree: Hierarchy) -> Codes:
    """Return the position of every raw value in the order of the numbers."""
    numbers = [number(str(value), tree.column) for value in tree.values]
    order = np.empty(len(numbers), dtype=np.int32)
    order[sorted(range(len(numbers)), key=numbers.__getitem__)] = np.arange(len(numbers))
    return order


def level_cover(name: str, tree: Hierarchy, level: int, order: Codes | None = None) -> Cover:
    """Return the cover that publishes one level; `order` is the nested order, if it is known."""
    order, groups = nested_order(tree) if order is None else order, tree.groups(level)
    many = int(groups.max()) + 1
    low, high = np.full(many, len(order), dtype=np.int32), np.full(many, -1, dtype=np.int32)
    np.minimum.at(low, groups, order)
    np.maximum.at(high, groups, order)
    return Cover(name, tree, order, low, high, np.full(many, level, dtype=np.int32), tree.labels(level))


def runs_cover(name: str, tree: Hierarchy, low: Codes, high: Codes, *, ranges: bool) -> tuple[Cover, Codes]:
    """Return the cover of the given runs, and the label of each run.

    Args:
        name: of the column.
        tree: its hierarchy.
        low: the first position of each run.
        high: its last position.
        ranges: whether a run of numbers, in the order of the numbers, is published as [first, last]. If not, a run
            becomes the smallest group of the hierarchy that holds it.
    """
    order = number_order(tree) if ranges else nested_order(tree)
    if not ranges:
        low, high, level = _smallest_groups(tree, order, low, high)
    else:
        level = np.where(low == high, 0, np.where((low == 0) & (high == len(order) - 1), tree.height - 1, -1)).astype(
            np.int32
        )
    key = low.astype(np.int64) * len(order) + high
    _, first, label_of = np.unique(key, return_index=True, return_inverse=True)
    raw = np.argsort(order)
    labels = [_label(tree, raw, int(low[i]), int(high[i]), int(level[i])) for i in first]
    cover = Cover(name, tree, order, low[first], high[first], level[first], tuple(labels))
    return cover, label_of.reshape(-1).astype(np.int32)


def widen_to_top(tree: Hierarchy, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Return runs of numbers, where a run that only "*" holds becomes the run of all numbers.

    So a fitted range is never wider than an interval of the hierarchy: its widest interval is the widest useful range.
    """
    _, _, level = _smallest_groups(tree, number_order(tree), low, high)
    top = level == tree.height - 1
    return np.where(top, 0, low).astype(np.int32), np.where(top, len(tree.rows) - 1, high).astype(np.int32)


def _label(
    tree: Hierarchy, raw: np.ndarray[tuple[int], np.dtype[np.intp]], low: int, high: int, level: int
) -> str | None:
    if level >= 0:
        return tree.rows[int(raw[low])][level]
    return f"[{tree.values[raw[low]]}, {tree.values[raw[high]]}]"


def _smallest_groups(tree: Hierarchy, order: Codes, low: Codes, high: Codes) -> tuple[Codes, Codes, Codes]:
    """Return the smallest group that holds each run: its first and last position, and its level."""
    first, last = low.copy(), high.copy()
    level = np.full(len(low), -1, dtype=np.int32)
    raw = np.argsort(order)
    for at in range(tree.height):
        cover = level_cover("", tree, at, order)
        groups = tree.groups(at)[raw]  # by position
        new = (level < 0) & (groups[low] == groups[high])
        level[new] = at
        first[new], last[new] = cover.low[groups[low[new]]], cover.high[groups[low[new]]]
    return first, last, level


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recoding(ShownAsLines):
    """Covers of all columns; `boxes` lists the combinations that are published, unless every column has one level.

    Attributes:
        covers: the columns with their hierarchies.
        levels: the level of each column, if each has one; else None.
        boxes: the combinations that are published; None if each column has one level.
    """

    covers: tuple[Cover, ...]
    levels: tuple[int, ...] | None
    boxes: Codes | None

    def __repr__(self) -> str:
        """Return the columns, and their levels or the number of published combinations."""
        names = ", ".join(cover.name for cover in self.covers)
        how = f"levels {self.levels}" if self.boxes is None else f"{len(self.boxes):,} boxes"
        return visible(f"Recoding of {names}: {how}")

    def apply(self, table: CodedTable) -> tuple[RecodedTable, tuple[Codes, ...]]:
        """Return the recoded table, and its raw codes; a row that no box covers is not kept.

        Raises:
            InvalidError: a column does not exist, or has values that its hierarchy lacks.
        """
        raw = tuple(raw_codes(cover.tree, table, cover.name) for cover in self.covers)
        if self.levels is not None:
            codes = tuple(
                cover.tree.groups(level)[values]
                for cover, level, values in zip(self.covers, self.levels, raw, strict=True)
            )
            return RecodedTable(self.covers, codes, np.ones(table.rows, dtype=bool)), raw
        box_of = self._boxes_of(raw, table.rows)
        boxes = self.boxes if self.boxes is not None else np.zeros((0, len(self.covers)), dtype=np.int32)
        codes = tuple(boxes[np.maximum(box_of, 0), j] for j in range(len(self.covers)))
        return RecodedTable(self.covers, codes, box_of >= 0), raw

    def _boxes_of(self, raw: tuple[Codes, ...], rows: int) -> Ints:
        """Return for every row the smallest box that covers it, or -1."""
        if self.boxes is None or not len(self.boxes):
            return np.full(rows, -1, dtype=np.int64)
        volume = sum(np.log(cover.shares)[self.boxes[:, j]] for j, cover in enumerate(self.covers))
        boxes = self.boxes[np.argsort(volume, kind="stable")]
        back = np.argsort(volume, kind="stable")
        answer = np.full(rows, -1, dtype=np.int64)
        step = max(1, _CELLS // len(boxes))
        for low in range(0, rows, step):
            inside = np.ones((min(step, rows - low), len(boxes)), dtype=bool)
            for j, cover in enumerate(self.covers):
                at = cover.order[raw[j][low : low + step]][:, None]
                inside &= (at >= cover.low[boxes[:, j]]) & (at <= cover.high[boxes[:, j]])
            first = inside.argmax(axis=1)
            answer[low : low + step] = np.where(inside.any(axis=1), back[first], -1)
        return answer

    def save(self, path: str | Path) -> None:
        """Write the recoding to a JSON file.

        Raises:
            InvalidError: the file cannot be written.

        Args:
            path: the JSON file.
        """
        path = to_path(path)
        columns = [
            {
                "name": cover.name,
                "rows": cover.tree.rows,
                "labels": cover.labels,
                "place": cover.order.tolist(),
                "low": cover.low.tolist(),
                "high": cover.high.tolist(),
                "level": cover.level.tolist(),
            }
            for cover in self.covers
        ]
        boxes = None if self.boxes is None else self.boxes.tolist()
        content = json.dumps({"version": 1, "columns": columns, "levels": self.levels, "boxes": boxes})
        try:
            path.write_text(content, encoding="utf-8")
        except (OSError, UnicodeEncodeError):
            raise InvalidError(f"Cannot write {str(path)!r}.", argument="the path") from None

    @classmethod
    def load(cls, path: str | Path) -> Recoding:
        """Read a recoding from a JSON file.

        Raises:
            UnreadableFileError: the file does not exist, or is not the file of a recoding.

        Args:
            path: the JSON file.
        """
        path = to_path(path, "the recoding")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            covers = tuple(_load_cover(column) for column in content["columns"])
            levels = None if content["levels"] is None else tuple(content["levels"])
            boxes = content["boxes"]
            if boxes is not None:
                boxes = np.array(boxes, dtype=np.int32).reshape(-1, len(covers))
            _require_consistent(covers, levels, boxes)
        except InvalidError:
            raise
        except (OSError, KeyError, TypeError, ValueError):
            raise UnreadableFileError(path, "it is not the file of a recoding.", argument="the recoding") from None
        return cls(covers, levels, boxes)


def _require_consistent(covers: tuple[Cover, ...], levels: tuple[int, ...] | None, boxes: Codes | None) -> None:
    """Check that levels and boxes name groups and labels that exist, or raise ValueError."""
    if levels is not None:
        for cover, level in zip(covers, levels, strict=True):
            if type(level) is not int or level not in range(cover.tree.height):
                raise ValueError
    if levels is None and boxes is None:
        raise ValueError
    if boxes is not None and len(boxes):
        many = np.array([len(cover.labels) for cover in covers])
        if (boxes < 0).any() or (boxes >= many).any():
            raise ValueError


def _load_cover(column: dict[str, object]) -> Cover:
    """Return the cover of a column of the file, or raise an error that `load` catches."""
    tree = Hierarchy(tuple(tuple(row) for row in column["rows"]), str(column["name"]))  # type: ignore[attr-defined]  # `load` catches it
    low, high, level = (np.array(column[part], dtype=np.int32) for part in ("low", "high", "level"))
    order = np.array(column["place"], dtype=np.int32) if "place" in column else nested_order(tree)
    if sorted(order.tolist()) != list(range(len(tree.rows))):
        raise ValueError
    labels: Texts = tuple(column["labels"])  # type: ignore[arg-type]  # as above
    if not len(labels) == len(low) == len(high) == len(level):
        raise ValueError
    if (low < 0).any() or (low > high).any() or (high >= len(order)).any() or (level >= tree.height).any():
        raise ValueError
    return Cover(str(column["name"]), tree, order, low, high, level, labels)


def raw_codes(tree: Hierarchy, table: CodedTable, name: str) -> Codes:
    """Return a column as indices of the raw values of a hierarchy.

    Raises:
        InvalidError: it has a value that the hierarchy lacks.
    """
    column = table.column(name)
    tree.over(tuple(value for value in column.texts if value is not None or None in tree.values), name)
    index = {value: at for at, value in enumerate(tree.values)}
    if None in column.texts and None not in index:
        raise InvalidError(
            f"Column {name!r} has a missing value, which the recoding lacks.",
            argument=f"the recoding of {name}",
            hint="Fit the recoding to rows with missing values.",
        )
    return np.array([index[value] for value in column.texts] or [0], dtype=np.int32)[column.codes]


def level_recoding(names: tuple[str, ...], trees: tuple[Hierarchy, ...], levels: tuple[int, ...]) -> Recoding:
    """Return the recoding that publishes one level of every column."""
    covers = tuple(level_cover(name, tree, level) for name, tree, level in zip(names, trees, levels, strict=True))
    return Recoding(covers, levels, None)
