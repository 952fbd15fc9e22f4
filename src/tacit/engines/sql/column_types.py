"""Column types: the kind of value that each type of an engine holds, and how a column is read as the policy's kind.

The engines' casts share the patterns of texts that are values, the ranges of dates, and the casts that every engine
writes alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlglot import exp

from tacit.engines.sql.builder import SQL, TYPES, cast, chain, infix, literal, when
from tacit.errors import InvalidError
from tacit.query.expressions import Kind

Casts: TypeAlias = Mapping[tuple[Kind, Kind], Callable[[SQL], SQL]]
"""How a cast is written, by the kinds from and to. It gives NULL if the value has no such form."""

Reader: TypeAlias = Callable[[SQL, str], SQL]
"""Turns a column and the name of its type into a value of the type's kind, or NULL."""

INTEGER_TEXT: Final = r"[\t-\r ]*[+-]?[0-9]+[\t-\r ]*"
REAL_TEXT: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
DATE_TEXT: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIMESTAMP_TEXT: Final = DATE_TEXT + r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?"
DATE_RANGE: Final = ("0001-01-01", "9999-12-31")
TIMESTAMP_RANGE: Final = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")


def plain_cast(kind: Kind) -> Callable[[SQL], SQL]:
    """Return a cast that every engine supports as CAST."""
    return lambda value: cast(value, TYPES[kind])


_PLAIN: Final[tuple[tuple[Kind, Kind], ...]] = (
    *(("integer", "real"), ("integer", "text"), ("integer", "boolean")),
    *(("boolean", "integer"), ("boolean", "real"), ("boolean", "text")),
    *(("date", "text"), ("date", "timestamp"), ("timestamp", "date")),
)
PLAIN_CASTS: Final[Casts] = MappingProxyType({(source, target): plain_cast(target) for source, target in _PLAIN})
"""The casts that need no guard, unless an engine overrides one."""


def reader(write: Callable[[SQL], SQL]) -> Reader:
    """Return a reader that ignores the type's parameters."""
    return lambda raw, _: write(raw)


def within(value: SQL, kind: Kind, first: str, last: str) -> SQL:
    """Return a date or a timestamp; NULL if it is outside a range."""
    ends = (literal(first, kind), literal(last, kind))
    return when((chain(exp.And, [infix(exp.GTE, value, ends[0]), infix(exp.LTE, value, ends[1])]), value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTypes:
    """An engine's types, by their plain names.

    Attributes:
        kinds: the kind of each type that is supported.
        readers: how columns of a type are read, if not unchanged.
        floats: the types that hold NaN.
        casts: between all kinds of `query.expressions.casts`.
        plain: returns the plain name of a type.
        zoned: the types of instants, whose values are read in the policy's time zone.
    """

    kinds: Mapping[str, Kind]
    readers: Mapping[str, Reader]
    floats: Collection[str]
    casts: Casts
    plain: Callable[[str], str]
    zoned: Collection[str]

    def kind_of(self, type_name: str) -> Kind | None:
        """Return the kind of a type, or None if its columns are not supported."""
        return None if type_name.endswith("]") else self.kinds.get(self.plain(type_name))

    def read(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return a column as a value of the kind that its policy declares, or raise InvalidError."""
        source, plain = self.kind_of(type_name), self.plain(type_name)
        if source is None or (source != kind and (source, kind) not in self.casts):
            raise InvalidError(
                f"A column of type {plain} cannot be read as {kind}.",
                argument="columns",
                hint="Declare a kind that the column's type allows.",
            )
        value = self.readers[plain](raw, type_name) if plain in self.readers else raw
        return value if source == kind else self.casts[source, kind](value)

    def is_zoned(self, type_name: str) -> bool:
        """Return whether the values of a type are instants, to be read in a time zone."""
        return self.kind_of(type_name) is not None and self.plain(type_name) in self.zoned

    def may_be_nan(self, type_name: str, kind: Kind) -> bool:
        """Return whether a column can hold NaN when it is read as a kind."""
        return kind == "real" and type_name in self.floats


def before_parenthesis(type_name: str) -> str:
    """Return a type without its parameters.

    >>> before_parenthesis("DECIMAL(18,2)")
    'DECIMAL'
    """
    return type_name.partition("(")[0]
