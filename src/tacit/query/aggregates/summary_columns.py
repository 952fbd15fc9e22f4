"""Trees of many cells whose counts were dropped, as a column of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Ints
from tacit.query.aggregates.released_columns import ReleasedColumn
from tacit.query.aggregates.tree_summary import SummarizedTree, SummaryTable
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryColumn(ReleasedColumn):
    """One level of a tree in many cells: cell i has row `rows[i]` of the table, and no integers."""

    table: SummaryTable
    rows: Ints

    @classmethod
    def of(cls, bundle: Bundle, noise: NoiseLaw, table: SummaryTable, cells: int) -> SummaryColumn:
        """Return the first rows of a table as a column."""
        return cls._column(bundle, noise, table, np.arange(cells))

    @classmethod
    def _column(cls, bundle: Bundle, noise: NoiseLaw, table: SummaryTable, rows: Ints) -> SummaryColumn:
        return cls(bundle, np.empty((len(rows), 0), dtype=np.int64), noise, table=table, rows=rows)

    def cell(self, index: int) -> SummarizedTree:
        """Return the tree in one cell."""
        return SummarizedTree(self.bundle, (), self.noise, self.table, int(self.rows[index]))

    def take(self, cells: slice | Sequence[int]) -> SummaryColumn:
        """Return the tree in some cells."""
        return self._column(self.bundle, self.noise, self.table, self.rows[cells])

    def followed_by(self, others: Sequence[ReleasedColumn]) -> SummaryColumn:
        """Return the tree in the cells of several columns, one after the other."""
        columns = [self, *(other for other in others if isinstance(other, SummaryColumn))]
        starts = np.cumsum([0, *(column.table.size for column in columns)])
        rows = np.concatenate([each.rows + start for each, start in zip(columns, starts, strict=False)])
        return self._column(self.bundle, self.noise, SummaryTable.joined([each.table for each in columns]), rows)
