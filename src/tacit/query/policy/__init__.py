"""The policy of a table: the privacy unit, contribution bounds, and the types, bounds, keys and hidden columns.

The data steward writes it. Nothing in the policy of a private table is read from its rows; types come from the source's
schema or from the steward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType
from typing import Final

from tacit.errors import InternalError, InvalidError, show_name
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Column, Kind, Value
from tacit.query.expressions.moment_ranges import number_of


class _Row:
    """The unit of a table in which each row is one unit: `tc.ROW`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the name that users write."""
        return "tacit.ROW"


ROW: Final = _Row()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPolicy:
    """The public facts about one column: its kind, bounds of numbers, keys to group by.

    `days` are the bounds of dates and timestamps: the first and the last day. `moments` are those of timestamps, if
    they are not whole days. They determine the keys, and aggregated values are clipped to them; keys are not.
    `copies` is known for public tables only: the largest number of rows that share one value of the column. If the
    column is `required`, NULL and NaN are read as the constant `stand_in`. `timezone` is None unless the type of the
    column has a time zone; then it is the policy's time zone, or "" without one.
    """

    kind: Kind
    bounds: tuple[Fraction, Fraction] | None = None
    keys: tuple[Value, ...] | None = None
    hidden: bool = False
    days: tuple[date, date] | None = None
    copies: int | None = field(default=None, repr=False)
    required: bool = False
    timezone: str | None = None
    moments: tuple[datetime, datetime] | None = None

    def __repr__(self) -> str:
        """Return the fields that an answer depends on; ledgers hold hashes of this text, so old policies keep it."""
        names = ["kind", "bounds", "keys", "hidden", "days", *["required"][: self.required]]
        names += ["timezone"][self.timezone is None :]
        names += ["moments"][self.moments is None :]
        return f"ColumnPolicy({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def stand_in(self) -> Value:
        """The public constant as which a missing value of a required column is read.

        It is the first key; without keys FALSE, or 0, or the bound that is nearest to 0.

        >>> age = ColumnPolicy(kind="integer", bounds=(Fraction(18), Fraction(90)), required=True)
        >>> age.stand_in, ColumnPolicy(kind="text", keys=("A", "B"), required=True).stand_in
        (18, 'A')
        """
        if self.keys is not None:
            return next(key for key in self.keys if key is not None)
        if self.kind == "boolean":
            return False
        low, high = self.bounds or (Fraction(0), Fraction(0))
        if self.kind == "integer":
            low, high = Fraction(ceil(low)), Fraction(floor(high))
        nearest = min(max(Fraction(0), low), high)
        return int(nearest) if self.kind == "integer" else float(nearest)

    @property
    def first_and_last(self) -> tuple[date, date] | None:
        """The first and the last date or timestamp within the bounds; None without bounds.

        >>> ColumnPolicy(kind="timestamp", days=(date(2026, 1, 1), date(2026, 1, 1))).first_and_last
        (datetime.datetime(2026, 1, 1, 0, 0), datetime.datetime(2026, 1, 1, 23, 59, 59, 999999))
        """
        if self.days is None or self.kind == "date":
            return self.days
        first, last = self.days
        return self.moments or (datetime.combine(first, time.min), datetime.combine(last, time.max))

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """The bounds as numbers; those of dates and timestamps as `moment_ranges` counts them."""
        moments = self.first_and_last
        return self.bounds if moments is None else (number_of(moments[0]), number_of(moments[1]))

    def named(self, name: str) -> Column:
        """Return the column with this policy as an expression; a column without its time zone cannot be read."""
        return Column(name, self.kind, self.timezone)

    @property
    def unique(self) -> bool:
        """True if no value occurs twice in the column of a public table."""
        return self.copies is not None and self.copies <= 1


@dataclass(frozen=True, slots=True)
class PublicRows:
    """Distinct public rows over some columns: those of a public table, or the listed tuples of a private one."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePolicy:
    """The public facts about one table.

    `unit` is the column whose values name the privacy units, or None if each row is one unit. A unit counts in at most
    `max_groups` groups, as at most `max_rows` rows in each, and as at most `reach` rows in all groups together; None
    stands for no limit. `columns` has every column that a query can use, by its exact name, including the unit column.
    `timezone` is the policy's time zone, in which instants and the current date are read.
    A `public` table belongs to no unit: it can be joined, its rows are not protected, and `size` is their number.
    Columns whose types cannot be used are in `unusable`, not in `columns`. The policy of a join is that of its first
    table, with the columns of all tables. `content` has the rows of a public table as they were when it was opened,
    over its columns with keys; None if there are too many. `key_tuples` are the listed combinations of several columns,
    each column in one list at most.

    Attributes:
        neighbours: "add/remove" or "change one": what the guarantee hides.
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
    reach: int | None = None
    content: PublicRows | None = field(default=None, repr=False, compare=False)
    key_tuples: tuple[PublicRows, ...] = ()
    timezone: str | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return the fields that a guarantee depends on. Ledgers hold hashes of this text, so old policies keep it."""
        names = ["name", "unit", "max_groups", "max_rows", "neighbours", "columns", *["reach"][self.reach is None :]]
        names += ["key_tuples"] if self.key_tuples else []
        return f"TablePolicy({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __post_init__(self) -> None:
        """Check that a public table has a size: it bounds the number of its rows that match one private row."""
        if self.public and self.size is None:
            raise InternalError(f"The public table {self.name!r} has no size.")

    def groups_of(self, keys: Sequence[str]) -> int:
        """Return `max_groups`, for a query that finds the groups of these keys in the data."""
        if self.max_groups is None:
            raise InvalidError(
                f"The values of {' and '.join(map(show_name, keys))} are not public. So this query finds its groups in "
                "the data, and needs max_groups, the largest number of groups in which a unit counts.",
                argument="max_groups",
                hint="List the keys in the policy, or group by a bin or a CASE. Or give both delta= (--delta) and "
                "max_groups= (--max-groups).",
            )
        return self.max_groups

    @property
    def rows(self) -> int:
        """The most rows of one unit that one group counts: the smaller of max_rows and reach."""
        if self.max_rows is None and self.reach is None:
            raise _unlimited("or max_rows, the most rows of one unit that one group counts.")
        return min(limit for limit in (self.max_rows, self.reach) if limit is not None)

    def check_limited(self) -> None:
        """Raise InvalidError if a unit may count in any number of groups, and as any number of rows."""
        if self.max_groups is None and self.max_rows is None and self.reach is None:
            raise _unlimited("or max_groups, the largest number of groups in which a unit counts.")


def _unlimited(other: str) -> InvalidError:
    return InvalidError(
        f"This query needs a limit: reach, the largest number of rows of one unit that count in an answer; {other}",
        argument="reach",
        hint="Pass reach= (--reach) to the query or to tacit.open, or add it to the policy. "
        'With reach="auto" the query chooses it privately; db.limits (tacit limits) reports what each reach would cut.',
    )
