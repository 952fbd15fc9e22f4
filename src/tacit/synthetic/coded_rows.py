"""Weighted rows of a private table as public codes: what every high-dimensional release reads.

A column has a public list of values or bins, so each row becomes one small integer (a code) per column. A row of a unit
with n rows has the weight w = min(scale, ⌊scale·R/n⌋) for a reach of R rows: whole steps of 1/scale row. Then

    Σ over the rows of one unit of w  ≤  R·scale,

so the counts of any set of columns move by at most R·scale in L1 if a unit is added or removed. If a unit is changed,
its old rows go and its new rows come: the counts move by at most 2·R·scale in L1 and √2·R·scale in L2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint16]
Counts = npt.NDArray[np.int64]


class CodedRows(Protocol):
    """The weighted, coded rows of a table; only a release that was charged may hold one."""

    sizes: tuple[int, ...]
    """The number of codes of each column; all codes are below it."""
    scale: int
    """The weight of a row that is not cut."""
    reach: int
    """The rows that one unit counts for at most."""

    def counts(self, columns: Sequence[int]) -> Counts:
        """Return the total weight for each combination of the codes of some columns, as an array of their sizes."""

    def batches(self) -> Iterator[tuple[Codes, Counts]]:
        """Return the codes (rows by columns) and the weights of all rows, some rows at a time."""


class ArrayRows:
    """Coded rows that are in memory."""

    def __init__(self, codes: Codes, weights: Counts, sizes: Sequence[int], *, scale: int = 1, reach: int = 1) -> None:
        """Store codes (rows by columns) and weights."""
        self._codes, self._weights = codes, weights
        self.sizes, self.scale, self.reach = tuple(sizes), scale, reach

    def counts(self, columns: Sequence[int]) -> Counts:
        """Return the total weight for each combination of the codes of some columns, as an array of their sizes."""
        shape = tuple(self.sizes[column] for column in columns)
        cells = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.int64)
        place = np.zeros(len(self._codes), dtype=np.int64)
        for column, size in zip(columns, shape, strict=True):
            place = place * size + self._codes[:, column]
        np.add.at(cells, place, self._weights)
        return cells.reshape(shape)

    def batches(self) -> Iterator[tuple[Codes, Counts]]:
        """Return the codes (rows by columns) and the weights of all rows, in one batch."""
        yield self._codes, self._weights
