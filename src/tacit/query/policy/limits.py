"""Limits and bounds that an analyst chooses for one query, in place of those of the policy.

Both are a choice of accuracy, not of privacy. The noise of a query follows from the limits and bounds that its plan
has: rows beyond the limits are scaled down, and values beyond the bounds are clipped, before anything is summed. So any
choice has the guarantee that is charged. The receipt records it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from tacit.errors import ColumnNotFoundError, InvalidError, bad_value
from tacit.guarantees.exact import Number, whole
from tacit.query.expressions import Kind
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.policy.column_values import LARGEST_BOUND, read_bounds, read_moments
from tacit.query.policy.mistakes import DeclaredValueError

AUTO: Final = "auto"
"""Stands for a reach or for bounds that a part of the query's cost chooses (`pricing.reach_choice`)."""

BoundPair: TypeAlias = tuple[Number, Number] | tuple[date, date]
"""The bounds of a number, or the first and the last day of a date, or day or moment of a timestamp."""

QueryBounds: TypeAlias = Mapping[str, BoundPair | Literal["auto"]]
"""The bounds of some columns for one query, by the columns' exact names."""

_REQUIREMENT = f"a whole number from 1 to {LARGEST_BOUND:,}"
NO_BOUNDS: QueryBounds = MappingProxyType({})
"""The bounds of a query that sets none."""

_WHOLE = ("reach", "max_groups", "max_rows")
_MOMENTS = ("date", "timestamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits and bounds of a query; None, and a column that `bounds` does not name, keep those of the policy.

    The reach "auto", and bounds that are "auto", are to be chosen.

    >>> Limits(reach=20, bounds={"cost": (0, 500)}).reach
    20
    """

    reach: int | Literal["auto"] | None = None
    max_groups: int | None = None
    max_rows: int | None = None
    bounds: QueryBounds | None = field(default=None)

    def __post_init__(self) -> None:
        """Check that each limit is a whole number in its range, and that bounds are by names of columns."""
        for name, value in self._given():
            if not 1 <= (whole(value) or 0) <= LARGEST_BOUND:
                raise bad_value(name, value, _REQUIREMENT + (', or "auto"' if name == "reach" else ""))
        bounds: object = NO_BOUNDS if self.bounds is None else self.bounds
        if not isinstance(bounds, Mapping) or not all(isinstance(name, str) for name in bounds):
            raise bad_value("bounds", bounds, "a mapping from columns to pairs or \"auto\", such as {'cost': (0, 500)}")
        pairs = {name: (pair.low, pair.high) if hasattr(pair, "low") else pair for name, pair in bounds.items()}
        object.__setattr__(self, "bounds", MappingProxyType(pairs))  # a result of `db.bounds` is a pair as well

    @property
    def automatic(self) -> bool:
        """True if the reach is to be chosen."""
        return self.reach == AUTO

    @property
    def automatic_bounds(self) -> tuple[str, ...]:
        """The columns whose bounds are to be chosen."""
        return tuple(name for name, pair in self.column_bounds.items() if isinstance(pair, str) and pair == AUTO)

    def _given(self) -> list[tuple[str, int]]:
        values = [(name, getattr(self, name)) for name in _WHOLE]
        chosen = [("reach", AUTO)] if self.automatic else []
        return [given for given in values if given[1] is not None and given not in chosen]

    @property
    def column_bounds(self) -> QueryBounds:
        """The bounds of the query, by column; empty if the query sets no bounds."""
        return self.bounds or NO_BOUNDS

    def record(self) -> dict[str, list[str]]:
        """Return the bounds for a receipt, as texts, exactly.

        >>> Limits(bounds={"cost": (0, 0.5)}).record()
        {'cost': ['0', '0.5']}
        """
        return {name: [str(end) for end in pair] for name, pair in self.column_bounds.items() if pair != AUTO}

    def apply(self, table: TablePolicy) -> TablePolicy:
        """Return the policy of one table with these limits and bounds; see `apply_all`.

        If each row is a unit, no limit is needed, and no limit applies. Bounds apply to every table.

        >>> table = TablePolicy(name="t", unit="u", max_groups=3, max_rows=None, neighbours="add/remove")
        >>> Limits(reach=20).apply(table).reach
        20
        """
        return self.apply_all({table.name: table})[table.name]

    def apply_all(self, tables: Mapping[str, TablePolicy], others: Collection[str] = ()) -> dict[str, TablePolicy]:
        """Return the policies of all tables with these limits and bounds, or raise InvalidError.

        Bounds apply to every table that has a column of that name, if the column can have them.

        Args:
            tables: the policies.
            others: the columns of subqueries, which may have bounds too.
        """
        limited = {name: self._limited(table) for name, table in tables.items()}
        for column, pair in self.column_bounds.items():
            if column not in others or column in column_names(tables):
                limited |= _with_bounds(limited, column, pair, others)
        return limited

    def names_others(self, tables: Mapping[str, TablePolicy]) -> bool:
        """Return whether there are bounds of columns that no table has."""
        return any(column not in column_names(tables) for column in self.column_bounds)

    def _limited(self, table: TablePolicy) -> TablePolicy:
        if table.public or table.unit is None:
            return table
        changes = {name: int(value) for name, value in self._given()}
        return replace(table, **changes) if changes else table  # type: ignore[arg-type]  # all of these are whole


def _with_bounds(
    tables: Mapping[str, TablePolicy], column: str, pair: object, others: Collection[str]
) -> dict[str, TablePolicy]:
    """Return the tables that have a column, with these bounds of it."""
    owners = {name: table for name, table in tables.items() if column in _visible(table)}
    if not owners:
        raise ColumnNotFoundError(column, [*column_names(tables), *others], argument="bounds")
    if isinstance(pair, str) and pair == AUTO:
        requirement = "two numbers or two dates here"
        raise bad_value(_argument(column), pair, requirement, hint="Find bounds with db.bounds or `tacit bounds`.")
    changed: dict[str, TablePolicy] = {}
    problems: list[InvalidError] = []
    for name, table in owners.items():
        try:
            policy = bounded_column(table.columns[column], pair)
        except DeclaredValueError as error:
            problems.append(InvalidError(f"{_argument(column)} {error.mistake}.", argument=_argument(column)))
        else:
            changed[name] = replace(table, columns=MappingProxyType({**table.columns, column: policy}))
    if not changed:
        raise problems[0]
    return changed


def column_kind(tables: Mapping[str, TablePolicy], column: str) -> Kind:
    """Return the kind of a column in the first table that has it; ColumnNotFoundError if no table does."""
    for table in tables.values():
        if column in _visible(table):
            return table.columns[column].kind
    raise ColumnNotFoundError(column, column_names(tables), argument="bounds")


def column_names(tables: Mapping[str, TablePolicy]) -> list[str]:
    """Return the names of all columns that a query may name, each once."""
    return list(dict.fromkeys(name for table in tables.values() for name in _visible(table)))


def bounded_column(column: ColumnPolicy, pair: object) -> ColumnPolicy:
    """Return the policy of a column with other bounds, or raise DeclaredValueError; they are read as in a policy.

    >>> bounded_column(ColumnPolicy(kind="real"), (0, 500)).bounds
    (Fraction(0, 1), Fraction(500, 1))
    """
    if column.kind in _MOMENTS:
        days, moments = read_moments(pair, column.kind)
        return replace(column, days=days, moments=moments)
    ends: tuple[Fraction, Fraction] = read_bounds(pair, column.kind)
    return replace(column, bounds=ends)


def _visible(table: TablePolicy) -> list[str]:
    return [name for name, column in table.columns.items() if not column.hidden]


def _argument(column: str) -> str:
    return f"bounds[{column!r}]"
