"""Columns by an engine's types: which kind each is, and how it is read as the kind that a policy says.

What the engines' casts share is here too: the texts that are values, as patterns, and the casts that need no care.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from tacit.engines.sql.builder import SQL, TYPES, cast
from tacit.errors import InvalidError
from tacit.query.expressions import Kind

Casts: TypeAlias = Mapping[tuple[Kind, Kind], Callable[[SQL], SQL]]
"""How a cast is written, by the kinds from and to; see `Dialect.repeats`. NULL where it cannot be."""

Reader: TypeAlias = Callable[[SQL, str], SQL]
"""Makes of a column and its type a value of the type's kind, or NULL where there is none."""

INTEGER: Final = r"[\t-\r ]*[+-]?[0-9]+[\t-\r ]*"
REAL: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
MOMENT: Final = DATE + r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?"
DAYS: Final = ("0001-01-01", "9999-12-31")
MOMENTS: Final = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")


def plainly(kind: Kind) -> Callable[[SQL], SQL]:
    """Return a cast that every engine writes by itself."""
    return lambda value: cast(value, TYPES[kind])


_PLAIN: Final[tuple[tuple[Kind, Kind], ...]] = (
    *(("integer", "real"), ("integer", "text"), ("integer", "boolean")),
    *(("boolean", "integer"), ("boolean", "real"), ("boolean", "text")),
    *(("date", "text"), ("date", "timestamp"), ("timestamp", "date")),
)
PLAIN: Final[Casts] = MappingProxyType({(source, target): plainly(target) for source, target in _PLAIN})
"""The casts that need no care, unless an engine says otherwise."""


def reader(write: Callable[[SQL], SQL]) -> Reader:
    """Return a reader that does not look at the type."""
    return lambda raw, _: write(raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """An engine's types, by their plain names.

    Attributes:
        kinds: of types whose columns can be used.
        readers: of types whose values are not as they are.
        floats: the types that hold NaN.
        casts: between all kinds of `query.expressions.casts`.
        plain: makes a plain name of a type's.
    """

    kinds: Mapping[str, Kind]
    readers: Mapping[str, Reader]
    floats: Collection[str]
    casts: Casts
    plain: Callable[[str], str]

    def kind_of(self, type_name: str) -> Kind | None:
        """Return the kind of a type, or None if its columns cannot be used."""
        return None if type_name.endswith("]") else self.kinds.get(self.plain(type_name))

    def read(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return a column of some type as a value of the kind that its policy says, or raise InvalidError."""
        source, plain = self.kind_of(type_name), self.plain(type_name)
        if source is None or (source != kind and (source, kind) not in self.casts):
            raise InvalidError("columns", f"a column of type {plain} as {kind}", "of kinds that the types allow")
        value = self.readers[plain](raw, type_name) if plain in self.readers else raw
        return value if source == kind else self.casts[source, kind](value)

    def may_be_nan(self, type_name: str, kind: Kind) -> bool:
        """Whether a column can hold NaN as the policy types it."""
        return kind == "real" and type_name in self.floats


def before_parenthesis(type_name: str) -> str:
    """Return a type without its parameters.

    >>> before_parenthesis("DECIMAL(18,2)")
    'DECIMAL'
    """
    return type_name.partition("(")[0]
