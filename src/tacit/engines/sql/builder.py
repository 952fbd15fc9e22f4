"""Functions that build SQL as sqlglot trees. Operations are in parentheses, and literals have a type."""

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

CommonTables: TypeAlias = list[tuple[str, str, str]]
"""The common tables of a WITH clause: each with its name, MATERIALIZED or nothing, and its SQL."""

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
"""The type of DuckDB in which each kind is stored."""


def quote_name(name: str, mark: str = '"') -> str:
    """Return an identifier in quotation marks, as SQL text.

    >>> quote_name("Sales"), quote_name("we`ird", "`")
    ('"Sales"', '`we``ird`')
    """
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"


def column(name: str, table: str | None = None) -> SQL:
    """Return a column by its exact name."""
    return exp.column(name, table=table, quoted=True)


def call(name: str, *arguments: SQL) -> SQL:
    """Return a call of a function by its exact name."""
    return exp.Anonymous(this=name, expressions=[_free(argument) for argument in arguments])


def infix(operator: Callable[..., exp.Binary], left: SQL, right: SQL) -> SQL:
    """Return left operator right, in parentheses."""
    return exp.Paren(this=operator(this=_free(left), expression=_free(right)))


def chain(operator: Callable[..., exp.Binary], operands: Sequence[SQL]) -> SQL:
    """Return operands joined by an associative operator, as a tree of the least height.

    >>> chain(exp.And, [column(name) for name in "abc"]).sql("duckdb")
    '(("a" AND "b") AND "c")'
    """
    level = list(operands)
    while len(level) > 1:
        pairs = [level[start : start + 2] for start in range(0, len(level), 2)]
        level = [infix(operator, *pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return level[0]


def cast(value: SQL, target: str) -> SQL:
    """Return a cast of a value that is known to fit."""
    return exp.Cast(this=_free(value), to=_type(target).copy())


def try_cast(value: SQL, target: str) -> SQL:
    """Return a cast that gives NULL if it fails."""
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
    """Return an integer of a type."""
    return exp.Cast(this=exp.Literal.number(str(number)), to=_type(target).copy())


def real(number: float) -> SQL:
    """Return a double exactly. It is cast from text, because a literal with a point is a decimal."""
    return exp.Cast(this=exp.Literal.string(repr(number)), to=_type("DOUBLE").copy())


def infinity() -> SQL:
    """Return +inf: every double is at most +inf, except NaN, which all engines order after it."""
    return real(float("inf"))


def literal(value: Value, kind: Kind) -> SQL:
    """Return a constant of the query; NaN becomes NULL.

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
    """Return the text if it can be encoded in UTF-8; otherwise raise InvalidError."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidError(
            "A text in the query is not valid Unicode: it contains half a surrogate pair.", argument="sql"
        ) from None
    return text


def product(factors: Sequence[SQL]) -> SQL:
    """Return the product of some numbers, multiplied from left to right."""
    return reduce(lambda left, right: infix(exp.Mul, left, right), factors)


def powers(factor: Fraction) -> list[SQL]:
    """Return a power of two as one double, or as several factors if one double cannot hold it."""
    exponent = factor.numerator.bit_length() - factor.denominator.bit_length()
    count = -(-abs(exponent) // 1000) or 1
    exponents = [exponent // count + (index < exponent % count) for index in range(count)]
    return [real(2.0**share) for share in exponents]


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


def _free(node: SQL) -> SQL:
    """Return the node itself if it has no parent, otherwise a copy."""
    return node if node.parent is None else node.copy()
