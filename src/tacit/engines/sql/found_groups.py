"""The released groups of a plan whose groups are discovered, as columns: they are collected while groups are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.arrays import Ints, Objects, WideInts, as_objects, concatenated
from tacit.engines.sql.discovered_groups import OpenStatement
from tacit.engines.sql.integer_columns import integer_column
from tacit.query.key_tuples import KeyColumns


class FoundGroups:
    """The groups that were chosen so far: their keys, their indices among all groups, and their sums."""

    def __init__(self, statement: OpenStatement) -> None:
        """Start without groups. `statement` is that of the first pass."""
        self._statement = statement
        self._keys: list[list[Objects]] = [[as_objects([])] for _ in range(statement.keys)]
        self._places: list[Ints] = [np.zeros(0, dtype=np.int64)]
        self._sums: list[list[WideInts]] = [[np.zeros(0, dtype=np.int64)] for _ in statement.shares]

    def add(self, rows: Sequence[Sequence[Any]], places: Ints) -> None:
        """Add groups by their rows of the first pass and their indices among all groups."""
        if not rows:
            return
        columns = list(zip(*rows, strict=True))
        for own, values in zip(self._keys, columns[: self._statement.keys], strict=True):
            own.append(as_objects(values))
        self._places.append(places)
        numbers = [integer_column(column) for column in columns[self._statement.keys :]]
        for sums, part in zip(self._sums, self._statement.read(numbers, len(rows)), strict=True):
            sums.append(part)

    def released(self) -> tuple[KeyColumns, Ints, list[WideInts]]:
        """Return keys, indices and measures, in the order of the keys, NULLs last. The groups are then forgotten.

        This order does not depend on the order of rows, nor on that in which an engine returns groups.
        """
        columns: list[Objects] = []
        while self._keys:  # each column is freed before the next is made
            columns.append(concatenated(self._keys.pop(0)))
        order = KeyColumns(columns).order()
        for index in range(len(columns)):
            columns[index] = columns[index][order]
        sums: list[WideInts] = []
        while self._sums:
            sums.append(concatenated(self._sums.pop(0))[order])
        return KeyColumns(columns), concatenated(self._places)[order], sums
