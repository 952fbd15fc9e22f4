"""Columns of a private table as public codes: what an engine reads for a high-dimensional release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.query.expressions import Expression, Value
from tacit.query.policy import TablePolicy

AbsorbCodes: TypeAlias = Callable[[Sequence[npt.NDArray[np.integer[Any]]], Ints | None], None]
"""Takes the codes of some rows, one array per column, and their weights; None if every row has the whole weight."""
_WORD = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedColumn:
    """The codes of a column, all below `size`.

    A listed value has its place in `values` as its code. Without values, the code is how many of the rising `cuts` are
    at most the value. NULL and NaN have the code `missing`; a value that is not listed has the code `other`.
    """

    expression: Expression
    values: tuple[Value, ...] | None
    cuts: tuple[int | float, ...]
    missing: int
    other: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedTable:
    """The columns to read of a table. Without a unit column every row has weight 1.

    Otherwise a row of a unit with n rows has weight min(2^bits, ⌊2^bits·reach/n⌋), and rows without a unit
    do not count. Only rows for which `where` is true count, and n counts only these.
    """

    table: TablePolicy
    columns: tuple[CodedColumn, ...]
    reach: int
    bits: int
    where: Expression | None = None

    @property
    def words(self) -> tuple[tuple[int, ...], ...]:
        """The places of the columns that share an integer: their codes in mixed radix stay below 2^62."""
        words: list[list[int]] = []
        size = _WORD
        for place, column in enumerate(self.columns):
            if not words or size * column.size > _WORD:
                words.append([])
                size = 1
            words[-1].append(place)
            size *= column.size
        return tuple(map(tuple, words))

    @property
    def cells(self) -> int:
        """The number of combinations of codes."""
        return prod(column.size for column in self.columns)
