"""Baskets of a private table: what an engine reads for a release of itemsets.

A basket is a pair of a unit and a basket's name, or a row. Rows without a unit, a basket or an item do not count. Each
unit keeps at most `reach` baskets, and each basket at most `most` different items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tacit.query.coded_table import CodedTable
from tacit.query.expressions import Expression, Value
from tacit.query.policy import TablePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class BasketTable:
    """Rows of one item each. `basket` is a column, or None if all rows of a unit are one basket.

    With `values`, only items of this public list count, and an item is its place in it. Only rows for which `where` is
    true count.
    """

    table: TablePolicy
    basket: str | None
    item: Expression
    values: tuple[Value, ...] | None
    reach: int
    most: int
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class RowBaskets:
    """Rows that are baskets, with one item for each column; a unit keeps at most `coded.reach` rows."""

    coded: CodedTable

    @property
    def table(self) -> TablePolicy:
        """The policy of the table."""
        return self.coded.table


BasketSource: TypeAlias = BasketTable | RowBaskets
