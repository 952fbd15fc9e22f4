"""A recoding that can be kept: which values become what, to be applied to next month's rows.

Its file holds the hierarchies' raw values and labels, and which groups are published; no row and no count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.anonymity.files import a_path
from tacit.anonymity.hierarchies import Hierarchy
from tacit.anonymity.recoded import Cover, Published, level_cover
from tacit.anonymity.tables import Longs, Table, Texts
from tacit.arrays import Codes
from tacit.errors import InvalidError
from tacit.safe_text import visible

_CELLS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recoding:
    """Covers of all columns; `boxes` lists the combinations that are published, where a column has not one level."""

    covers: tuple[Cover, ...]
    levels: tuple[int, ...] | None
    boxes: Codes | None

    def __repr__(self) -> str:
        """Return its columns, and how many combinations it publishes where a column has not one level."""
        names = ", ".join(cover.name for cover in self.covers)
        how = f"levels {self.levels}" if self.boxes is None else f"{len(self.boxes):,} boxes"
        return visible(f"Recoding of {names}: {how}")

    def apply(self, table: Table) -> tuple[Published, tuple[Codes, ...]]:
        """Return a table recoded, and its raw codes; a row that no box covers is not kept.

        Raises:
            InvalidError: a column is missing, or has values that its hierarchy lacks.
        """
        raw = tuple(raw_codes(cover.tree, table, cover.name) for cover in self.covers)
        if self.levels is not None:
            codes = tuple(
                cover.tree.groups(level)[values]
                for cover, level, values in zip(self.covers, self.levels, raw, strict=True)
            )
            return Published(self.covers, codes, np.ones(table.rows, dtype=bool)), raw
        which = self._boxes_of(raw, table.rows)
        boxes = self.boxes if self.boxes is not None else np.zeros((0, len(self.covers)), dtype=np.int32)
        codes = tuple(boxes[np.maximum(which, 0), j] for j in range(len(self.covers)))
        return Published(self.covers, codes, which >= 0), raw

    def _boxes_of(self, raw: tuple[Codes, ...], rows: int) -> Longs:
        """Return for every row the box that covers it and has the fewest raw values, or -1."""
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
                at = cover.place[raw[j][low : low + step]][:, None]
                inside &= (at >= cover.low[boxes[:, j]]) & (at <= cover.high[boxes[:, j]])
            first = inside.argmax(axis=1)
            answer[low : low + step] = np.where(inside.any(axis=1), back[first], -1)
        return answer

    def save(self, path: str | Path) -> None:
        """Write the recoding to a JSON file.

        Raises:
            InvalidError: the file cannot be written.
        """
        columns = [
            {
                "name": cover.name,
                "rows": cover.tree.rows,
                "labels": cover.labels,
                "place": cover.place.tolist(),
                "low": cover.low.tolist(),
                "high": cover.high.tolist(),
                "level": cover.level.tolist(),
            }
            for cover in self.covers
        ]
        boxes = None if self.boxes is None else self.boxes.tolist()
        held = json.dumps({"version": 1, "columns": columns, "levels": self.levels, "boxes": boxes})
        try:
            a_path(path).write_text(held, encoding="utf-8")
        except (OSError, UnicodeEncodeError):
            raise InvalidError("the path", repr(str(path)), "a file that can be written") from None

    @classmethod
    def load(cls, path: str | Path) -> Recoding:
        """Read a recoding from a JSON file.

        Raises:
            InvalidError: there is no such file, or it holds no recoding.
        """
        try:
            held = json.loads(a_path(path, "the recoding").read_text(encoding="utf-8"))
            covers = tuple(_cover(one) for one in held["columns"])
            levels = None if held["levels"] is None else tuple(held["levels"])
            boxes = None if held["boxes"] is None else np.array(held["boxes"], dtype=np.int32).reshape(-1, len(covers))
            _require_whole(covers, levels, boxes)
        except (OSError, KeyError, TypeError, ValueError) as wrong:
            if isinstance(wrong, InvalidError):
                raise
            raise InvalidError("the recoding", repr(str(path)), "a file that a recoding was saved to") from None
        return cls(covers, levels, boxes)


def _require_whole(covers: tuple[Cover, ...], levels: tuple[int, ...] | None, boxes: Codes | None) -> None:
    """Check that levels and boxes name groups and labels that there are; a ValueError says that they do not."""
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


def _cover(held: dict[str, object]) -> Cover:
    from tacit.anonymity.recoded import places  # noqa: PLC0415 - beside its only use

    tree = Hierarchy(tuple(tuple(row) for row in held["rows"]), str(held["name"]))  # type: ignore[attr-defined]  # refused by `load`
    low, high, level = (np.array(held[part], dtype=np.int32) for part in ("low", "high", "level"))
    place = np.array(held["place"], dtype=np.int32) if "place" in held else places(tree)
    if sorted(place.tolist()) != list(range(len(tree.rows))):
        raise ValueError
    labels: Texts = tuple(held["labels"])  # type: ignore[arg-type]  # as above
    if not len(labels) == len(low) == len(high) == len(level):
        raise ValueError
    if (low < 0).any() or (low > high).any() or (high >= len(place)).any() or (level >= tree.height).any():
        raise ValueError
    return Cover(str(held["name"]), tree, place, low, high, level, labels)


def raw_codes(tree: Hierarchy, table: Table, name: str) -> Codes:
    """Return a column as places in the hierarchy's raw values.

    Raises:
        InvalidError: it has a value that the hierarchy lacks.
    """
    column = table.column(name)
    tree.over(tuple(value for value in column.texts if value is not None or None in tree.values), name)
    place = {value: at for at, value in enumerate(tree.values)}
    if None in column.texts and None not in place:
        raise InvalidError(
            f"the recoding of {name}", "a missing value, which it lacks", "one that was fitted with some"
        )
    return np.array([place[value] for value in column.texts] or [0], dtype=np.int32)[column.codes]


def level_recoding(names: tuple[str, ...], trees: tuple[Hierarchy, ...], levels: tuple[int, ...]) -> Recoding:
    """Return the recoding that publishes one level of every column."""
    covers = tuple(level_cover(name, tree, level) for name, tree, level in zip(names, trees, levels, strict=True))
    return Recoding(covers, levels, None)
