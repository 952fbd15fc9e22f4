"""What is public about a private table: whose privacy, how far a unit may reach, types, bounds, keys, what is hidden.

A policy is written by the data's steward. Nothing in it is ever read from the data; types come from the
source's schema or from the steward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Kind, Value


class _Row:
    """The unit of a table in which each row is one unit: `tc.ROW`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """As it is written."""
        return "tacit.ROW"


ROW: Final = _Row()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPolicy:
    """What is public about one column; bounds for numbers, keys for what may be grouped by.

    `days` are the bounds of dates: the first and the last day. They say which keys there are; nothing is clamped.
    `copies` is known of public tables alone: the largest number of rows that share one value of the column.
    """

    kind: Kind
    bounds: tuple[Fraction, Fraction] | None = None
    keys: tuple[Value, ...] | None = None
    hidden: bool = False
    days: tuple[date, date] | None = None
    copies: int | None = field(default=None, repr=False)

    @property
    def unique(self) -> bool:
        """Whether no value of a public table's column stands twice."""
        return self.copies is not None and self.copies <= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePolicy:
    """What is public about one table.

    `unit` is the column whose values name the privacy units, or None where each row is one. A unit reaches at
    most `max_groups` groups and counts as at most `max_rows` rows in each. `columns` holds every column that
    may be named, by its exact name; the unit column is among them. A `public` table is nobody's: it can be joined,
    its rows have no privacy to keep, and `size` is their number. Columns whose types cannot be used are `unusable`,
    and not among `columns`. The policy of a join is that of its first table, with all tables' columns.
    """

    name: str
    unit: str | None
    max_groups: int | None
    max_rows: int | None
    neighbours: Neighbours
    columns: Mapping[str, ColumnPolicy] = field(default_factory=lambda: MappingProxyType({}))
    public: bool = field(default=False, repr=False)
    size: int | None = field(default=None, repr=False)
    unusable: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self) -> None:
        """Require the size of a public table: it bounds how many of its rows can match one private row."""
        if self.public and self.size is None:
            raise ValueError("the size of a public table is missing")

    @property
    def groups(self) -> int:
        """`max_groups`, for a question that needs it."""
        return _needed("max_groups", self.max_groups, "in how many groups of one answer a unit may count")

    @property
    def rows(self) -> int:
        """`max_rows`, for a question that needs it."""
        return _needed("max_rows", self.max_rows, "as how many rows a unit may count in one group")


def _needed(name: str, given: int | None, meaning: str) -> int:
    if given is None:
        raise InvalidError(
            name, "none", f"said to tacit.open or in the policy, since this question needs it: {meaning}"
        )
    return given
