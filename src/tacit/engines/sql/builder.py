"""Small words of SQL, as sqlglot trees: operations stand in parentheses, and literals have a type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache, reduce
from math import isnan
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlglot import exp

from tacit.errors import InvalidError
from tacit.query.expressions import Kind, Value

SQL: TypeAlias = exp.Expr

TYPES: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "integer": "BIGINT",
        "real": "DOUBLE",
        "text": "TEXT",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "timestamp": "TIMESTAMP",
    }
)
"""How each kind is held."""


def column(name: str, table: str | None = None) -> SQL:
    """Return a column by its exact name."""
    return exp.column(name, table=table, quoted=True)


def call(name: str, *arguments: SQL) -> SQL:
    """Return a call of a function, written as it is."""
    return exp.Anonymous(this=name, expressions=[_free(argument) for argument in arguments])


def infix(operator: Callable[..., exp.Binary], left: SQL, right: SQL) -> SQL:
    """Return left operator right, in parentheses."""
    return exp.Paren(this=operator(this=_free(left), expression=_free(right)))


def chain(operator: Callable[..., exp.Binary], parts: Sequence[SQL]) -> SQL:
    """Return many parts joined by an associative operator, as a tree that is as low as it can be.

    >>> chain(exp.And, [column(name) for name in "abc"]).sql("duckdb")
    '(("a" AND "b") AND "c")'
    """
    level = list(parts)
    while len(level) > 1:
        pairs = [level[place : place + 2] for place in range(0, len(level), 2)]
        level = [infix(operator, *pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return level[0]


def cast(value: SQL, target: str) -> SQL:
    """Return a cast that cannot fail, by what is known of the value."""
    return exp.Cast(this=_free(value), to=_type(target).copy())


def try_cast(value: SQL, target: str) -> SQL:
    """Return a cast that gives NULL where it fails."""
    return exp.TryCast(this=_free(value), to=_type(target).copy())


def when(*branches: tuple[SQL, SQL], otherwise: SQL | None = None) -> SQL:
    """Return CASE WHEN condition THEN result … ELSE otherwise END."""
    ifs = [exp.If(this=_free(test), true=_free(result)) for test, result in branches]
    return exp.Case(ifs=ifs, default=None if otherwise is None else _free(otherwise))


def is_null(value: SQL) -> SQL:
    """Return whether a value is NULL."""
    return exp.Paren(this=exp.Is(this=_free(value), expression=exp.Null()))


def not_null(value: SQL) -> SQL:
    """Return whether a value is not NULL."""
    return exp.Paren(this=exp.Not(this=is_null(value)))


def whole(number: int, target: str = "BIGINT") -> SQL:
    """Return a whole number of a type."""
    return exp.Cast(this=exp.Literal.number(str(number)), to=_type(target).copy())


def real(number: float) -> SQL:
    """Return a double, exactly: from text, since a literal with a point would be a decimal."""
    return exp.Cast(this=exp.Literal.string(repr(number)), to=_type("DOUBLE").copy())


def infinity() -> SQL:
    """Return +inf, which all doubles but NaN are ≤ to; NaN is larger for every engine."""
    return real(float("inf"))


def literal(value: Value, kind: Kind) -> SQL:
    """Return a constant of the question; NaN is NULL.

    >>> literal("it's", "text").sql("duckdb"), literal(0.1, "real").sql("duckdb")
    ("CAST('it''s' AS TEXT)", "CAST('0.1' AS DOUBLE)")
    """
    if value is None or (isinstance(value, float) and isnan(value)):
        return exp.Cast(this=exp.Null(), to=_type(TYPES[kind]).copy())
    if kind == "real" and isinstance(value, (int, float)):
        return real(float(value))
    if kind == "integer" and isinstance(value, int):
        return whole(int(value))
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
    return exp.Cast(this=exp.Literal.string(writable(text)), to=_type(TYPES[kind]).copy())


def writable(text: str) -> str:
    """Return a text that has an encoding, or raise InvalidError."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidError("sql", "a text with half a surrogate pair", "a question in Unicode") from None
    return text


def product(factors: Sequence[SQL]) -> SQL:
    """Return the product of some numbers, from the left."""
    return reduce(lambda left, right: infix(exp.Mul, left, right), factors)


def powers(factor: Fraction) -> list[SQL]:
    """Return a power of two as one double, or as several where one would not hold it."""
    exponent = factor.numerator.bit_length() - factor.denominator.bit_length()
    parts = -(-abs(exponent) // 1000) or 1
    shares = [exponent // parts + (place < exponent % parts) for place in range(parts)]
    return [real(2.0**share) for share in shares]


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


def _free(node: SQL) -> SQL:
    """Return a node that is not yet part of a tree: itself, or a copy."""
    return node if node.parent is None else node.copy()
