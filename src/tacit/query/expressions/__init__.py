"""Row expressions: a small language of total functions, independent of any database.

A row expression is a tree of columns, constants, casts, CASE and calls of the functions that `functions` lists. Each
has a value on every row, NULL where SQL would fail, so no error can depend on a row. An engine decides how to write a
call; the function defines its meaning.

An expression computes its hash once, from those of its parts: trees have thousands of parts, and all of them are keys
of dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, TypeAlias

Kind = Literal["integer", "real", "text", "boolean", "date", "timestamp"]
"""integer: 64 bits. real: a double. timestamp: without a time zone, in microseconds. text: compared by code point."""

Value: TypeAlias = int | float | str | bool | date | datetime | None
"""A constant of the query or a public key."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the private table, with the kind that its policy declares.

    A column of instants is read in the `timezone`; its values are local times there. For other columns it is None.
    """

    name: str
    kind: Kind
    timezone: str | None = None

    def __repr__(self) -> str:
        """Return the fields, the time zone only if there is one: ledgers hold hashes of this text."""
        zone = "" if self.timezone is None else f", timezone={self.timezone!r}"
        return f"Column(name={self.name!r}, kind={self.kind!r}{zone})"


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the query."""

    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Cast:
    """The operand in another kind, or NULL if it cannot be cast; see `casts` for the rules."""

    operand: Expression
    kind: Kind
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash."""
        object.__setattr__(self, "_hash", hash((self.operand, self.kind)))

    def __hash__(self) -> int:
        """Return the stored hash; equal expressions have equal hashes."""
        return self._hash

    def __reduce__(self) -> tuple[type[Cast], tuple[object, ...]]:
        """Pickle without the hash, which another process computes differently."""
        return Cast, (self.operand, self.kind)


@dataclass(frozen=True, slots=True)
class Call:
    """A listed function of its arguments."""

    function: str
    arguments: tuple[Expression, ...]
    kind: Kind
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash."""
        object.__setattr__(self, "_hash", hash((self.function, self.arguments, self.kind)))

    def __hash__(self) -> int:
        """Return the stored hash; equal expressions have equal hashes."""
        return self._hash

    def __reduce__(self) -> tuple[type[Call], tuple[object, ...]]:
        """Pickle without the hash, which another process computes differently."""
        return Call, (self.function, self.arguments, self.kind)


@dataclass(frozen=True, slots=True)
class Case:
    """The result of the first branch whose condition is true; else `otherwise`, or NULL."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None
    kind: Kind
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash."""
        object.__setattr__(self, "_hash", hash((self.branches, self.otherwise, self.kind)))

    def __hash__(self) -> int:
        """Return the stored hash; equal expressions have equal hashes."""
        return self._hash

    def __reduce__(self) -> tuple[type[Case], tuple[object, ...]]:
        """Pickle without the hash, which another process computes differently."""
        return Case, (self.branches, self.otherwise, self.kind)


Expression: TypeAlias = Column | Constant | Cast | Call | Case


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its parts, without recursion, so that any depth works.

    >>> [type(part).__name__ for part in walk(Cast(Column("age", "text"), "integer"))]
    ['Cast', 'Column']
    """
    waiting: list[Expression] = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(children(part)))


def children(expression: Expression) -> list[Expression]:
    """Return the direct parts of an expression, in the order of the SQL text."""
    match expression:
        case Cast(operand=operand):
            return [operand]
        case Call(arguments=arguments):
            return list(arguments)
        case Case(branches=branches, otherwise=otherwise):
            return [part for branch in branches for part in branch] + ([otherwise] if otherwise is not None else [])
        case _:
            return []


def reads_column(expression: Expression) -> bool:
    """Return whether the value of an expression may depend on the row."""
    return any(isinstance(part, Column) for part in walk(expression))


def columns(expression: Expression) -> frozenset[str]:
    """Return the names of the columns that an expression reads."""
    return frozenset(part.name for part in walk(expression) if isinstance(part, Column))
