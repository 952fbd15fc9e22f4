"""The public domain of columns: listed keys, public bins of numbers, booleans; nothing is read from the data.

A column that is not `required` has one more code for NULL and NaN. A column with listed keys that is not `required` has
one more for values that are not listed. In a `required` column both count as its public stand-in, as everywhere.
Values beyond the first or the last bin are in that bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, isfinite, prod
from typing import TypeAlias

from tacit.errors import ColumnNotFoundError, InvalidError, bad_value, show_name
from tacit.query.coded_table import CodedColumn, CodedTable
from tacit.query.expressions import Call, Constant, Expression, Value
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.scope import check_timezone

Bins: TypeAlias = Mapping[str, int | Sequence[float]]
MOST_CODES = 2**16
BITS = 16
_FAR = 2**62
_MOST_REACH = 2**40


@dataclass(frozen=True, slots=True)
class DomainColumn:
    """A column with its public values; a bin is the pair of its edges, None is missing, OTHER is not listed."""

    name: str
    coded: CodedColumn
    labels: tuple[object, ...]
    edges: tuple[float, ...] | None = None

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.coded.size


class _Other:
    """The label of values that are not listed."""

    def __repr__(self) -> str:
        """Return what tables show."""
        return "(other)"


OTHER = _Other()


@dataclass(frozen=True, slots=True)
class Domain:
    """The public columns of a table, and how many rows of one unit count."""

    table: TablePolicy
    columns: tuple[DomainColumn, ...]
    reach: int
    where: Expression | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def cells(self) -> int:
        """The number of combinations of codes."""
        return prod(self.sizes)

    @property
    def coded(self) -> CodedTable:
        """The columns that the engine reads."""
        bits = 0 if self.table.unit is None else BITS
        columns = tuple(column.coded for column in self.columns)
        return CodedTable(table=self.table, columns=columns, reach=self.reach, bits=bits, where=self.where)


def domain_of(
    table: TablePolicy,
    columns: Sequence[str] | None = None,
    bins: Bins | None = None,
    reach: int | None = None,
    where: Expression | None = None,
) -> Domain:
    """Return the public domain of some columns; by default of all that have public values or bins.

    `where` keeps the rows for which it is true; `rows_of` reads it from SQL.
    """
    bins = dict(bins or {})
    usable = [name for name, each in table.columns.items() if not each.hidden and name != table.unit]
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns or ()):
        raise bad_value("columns", columns, 'a list of columns such as ["age", "sex"]')
    check_usable(table, [*bins, *(columns or ())])
    public = [name for name in usable if name in bins or _is_listed(table.columns[name])]
    chosen = public if columns is None else list(columns)
    if not chosen or len(set(chosen)) < len(chosen):
        raise _unusable_list(chosen, given=columns is not None)
    parts = tuple(_column(name, table.columns[name], bins.get(name)) for name in chosen)
    return Domain(table, parts, reach_of(table, reach), where)


def check_usable(table: TablePolicy, names: Iterable[str], argument: str = "columns") -> None:
    """Raise InvalidError for a column that does not exist, or that names the unit."""
    usable = [name for name, each in table.columns.items() if not each.hidden and name != table.unit]
    for name in names:
        if name == table.unit and not (name in table.columns and table.columns[name].hidden):
            fact = f"The column {show_name(name)} names the unit, so it cannot be released."
            raise InvalidError(fact, argument=argument, hint="Leave it out.")
        if name not in usable:
            raise ColumnNotFoundError(name, usable, argument=argument)


def _unusable_list(chosen: Sequence[str], *, given: bool) -> InvalidError:
    """Return the error for a list of columns that is empty or names a column twice."""
    twice = next((name for name in chosen if list(chosen).count(name) > 1), None)
    if twice is not None:
        return InvalidError(f"columns names {show_name(twice)} twice.", argument="columns", hint="Name it once.")
    if given:
        return InvalidError("columns is empty.", argument="columns", hint="Name at least one column.")
    hint = "Add keys to the policy, or bins= for columns of numbers."
    return InvalidError("No column has public values.", argument="columns", hint=hint)


def reach_of(table: TablePolicy, reach: int | None = None) -> int:
    """Return R: 1 if a row is a unit, the given or the policy's reach, or max_groups times max_rows."""
    if table.unit is None:
        return 1
    limit = table.reach if reach is None else reach
    if limit is None and table.max_groups is not None and table.max_rows is not None:
        limit = table.max_groups * table.max_rows
    if limit is None:
        raise InvalidError(
            "This release needs a reach, the largest number of rows of one unit that count.",
            argument="reach",
            hint="Add reach to the policy, or both max_groups and max_rows, whose product is then used.",
        )
    if type(limit) is not int or not 1 <= limit <= _MOST_REACH:
        raise bad_value("reach", limit, "a whole number from 1 to 2^40")
    return limit


def _is_listed(policy: ColumnPolicy) -> bool:
    return policy.keys is not None or policy.kind == "boolean"


def _column(name: str, policy: ColumnPolicy, bins: int | Sequence[float] | None) -> DomainColumn:
    expression = check_timezone(policy.named(name))
    read = expression
    if policy.required:
        read = Call("coalesce", (expression, Constant(policy.stand_in, policy.kind)), policy.kind)  # type: ignore[assignment]
    if bins is not None:
        edges = _edges(name, policy, bins)
        cuts = tuple(ceil(Fraction(edge)) if policy.kind == "integer" else edge for edge in edges[1:-1])
        pairs: list[object] = list(pairwise(edges))
        labels = pairs if policy.required else [*pairs, None]
        coded = CodedColumn(expression=read, values=None, cuts=cuts, missing=len(labels) - 1, other=0, size=len(labels))
        return DomainColumn(name, coded, tuple(labels), edges)
    if not _is_listed(policy):
        number = f"Give bins={{{show_name(name)}: ...}}, or list its keys in the policy."
        raise InvalidError(
            f"The column {show_name(name)} has no public values.",
            argument="columns",
            hint=number if policy.kind in ("integer", "real") else "List its keys in the policy.",
        )
    values: tuple[Value, ...] = tuple(key for key in policy.keys or (False, True) if key is not None)
    labels = [*values]
    if policy.required:
        place = values.index(policy.stand_in)
        coded = CodedColumn(expression=read, values=values, cuts=(), missing=place, other=place, size=len(values))
        return _checked(DomainColumn(name, coded, tuple(labels)))
    labels += [None] if policy.kind == "boolean" and policy.keys is None else [None, OTHER]
    coded = CodedColumn(
        expression=read, values=values, cuts=(), missing=len(values), other=len(labels) - 1, size=len(labels)
    )
    return _checked(DomainColumn(name, coded, tuple(labels)))


def _checked(column: DomainColumn) -> DomainColumn:
    """Raise InvalidError for too many values, or for equal ones: a row would then count several times."""
    values = column.coded.values or ()
    if len(set(values)) < len(values):
        raise InvalidError(f"The keys of the column {show_name(column.name)} hold a value twice.", argument="columns")
    if column.size > MOST_CODES:
        raise InvalidError(
            f"The column {show_name(column.name)} has {column.size:,} public values, more than {MOST_CODES:,}.",
            argument="columns",
            hint="Leave it out.",
        )
    return column


def _edges(name: str, policy: ColumnPolicy, bins: int | Sequence[float]) -> tuple[float, ...]:
    """Return the edges of bins, or raise InvalidError."""
    if policy.kind not in ("integer", "real"):
        fact = f"The column {show_name(name)} has the type {policy.kind}, and bins are for numbers."
        raise InvalidError(fact, argument="bins", hint="List its keys in the policy.")
    if isinstance(bins, int) and not isinstance(bins, bool):
        if policy.bounds is None:
            hint = "Give the edges of the bins, or bounds in the policy."
            raise InvalidError(f"The column {show_name(name)} has no bounds.", argument="bins", hint=hint)
        if not 1 <= bins < MOST_CODES:
            raise bad_value("bins", bins, f"a whole number from 1 to {MOST_CODES - 1:,}")
        low, high = policy.bounds
        edges = tuple(float(low + (high - low) * place / bins) for place in range(bins + 1))
    else:
        try:
            edges = tuple(float(edge) for edge in bins)  # type: ignore[union-attr]
        except (TypeError, ValueError):
            raise bad_value("bins", bins, "a number of bins, or at least two edges in increasing order") from None
    rising = all(low < high for low, high in pairwise(edges))
    if not 1 < len(edges) <= MOST_CODES or not rising or not all(isfinite(e) and abs(e) < _FAR for e in edges):
        raise bad_value("bins", bins, "a number of bins, or at least two edges in increasing order")
    return edges
