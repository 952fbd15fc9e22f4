"""Columns as DuckDB types them, read as the policy types them; and the casts of `query.expressions.casts` in SQL.

Reading is where data meet the language of expressions: integers beyond 64 bits and days outside the years 1 to 9999
become NULL, timestamps lose their zone in UTC, and nothing here raises. NaN stays until something looks at it (see
`rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from tacit.engines.sql.builder import SQL, TYPES, call, cast, chain, infinity, infix, literal, real, try_cast, when
from tacit.engines.sql.columns import (
    DATE,
    DAYS,
    INTEGER,
    MOMENT,
    MOMENTS,
    PLAIN,
    REAL,
    Casts,
    Columns,
    Reader,
    before_parenthesis,
    reader,
)
from tacit.query.expressions import Kind
from tacit.query.expressions.casts import BLANKS

_NARROW = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE = ("HUGEINT", "UHUGEINT", "UBIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_TIMESTAMPS = ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")

_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        **dict.fromkeys((*_NARROW, "BIGINT", *_WIDE), "integer"),
        **dict.fromkeys((*_FLOATS, "DECIMAL"), "real"),
        **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), "text"),
        "BOOLEAN": "boolean",
        "DATE": "date",
        **dict.fromkeys(("TIMESTAMP", *_TIMESTAMPS), "timestamp"),
    }
)


def finite(value: SQL) -> SQL:
    """Return whether a double is neither infinite nor NaN."""
    return infix(exp.LT, call("ABS", value), infinity())


def _within(value: SQL, kind: Kind, first: str, last: str) -> SQL:
    ends = (literal(first, kind), literal(last, kind))
    return when((chain(exp.And, [infix(exp.GTE, value, ends[0]), infix(exp.LTE, value, ends[1])]), value))


def _date(raw: SQL) -> SQL:
    return _within(raw, "date", *DAYS)


def _timestamp(raw: SQL) -> SQL:
    return _within(raw, "timestamp", *MOMENTS)


_READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        **dict.fromkeys(_NARROW, reader(lambda raw: cast(raw, "BIGINT"))),
        **dict.fromkeys(_WIDE, reader(lambda raw: try_cast(raw, "BIGINT"))),
        **dict.fromkeys((*_FLOATS, "DECIMAL"), reader(lambda raw: cast(raw, "DOUBLE"))),
        **dict.fromkeys(("ENUM", "UUID"), reader(lambda raw: cast(raw, "TEXT"))),
        "DATE": reader(_date),
        "TIMESTAMP": reader(_timestamp),
        **dict.fromkeys(_TIMESTAMPS, reader(lambda raw: _timestamp(try_cast(raw, "TIMESTAMP")))),
    }
)


def _matches(text: SQL, pattern: str) -> SQL:
    return call("REGEXP_FULL_MATCH", text, exp.Literal.string(pattern))


def _text_to_integer(text: SQL) -> SQL:
    digits = call("TRIM", text, exp.Literal.string(BLANKS))
    return when((_matches(text, INTEGER), try_cast(digits, "BIGINT")))


def _text_to_real(text: SQL) -> SQL:
    number = try_cast(text, "DOUBLE")
    return when((chain(exp.And, [_matches(text, REAL), finite(number)]), number))


def _text_to_boolean(text: SQL) -> SQL:
    small = call("LOWER", text)
    answers = ((("true", "t", "1"), True), (("false", "f", "0"), False))
    return when(*((_one_of(small, words), literal(truth, "boolean")) for words, truth in answers))


def _one_of(text: SQL, words: tuple[str, ...]) -> SQL:
    return exp.In(this=text.copy(), expressions=[literal(word, "text") for word in words])


def _text_to_moment(kind: Kind, pattern: str) -> Callable[[SQL], SQL]:
    def write(text: SQL) -> SQL:
        after_year_0 = infix(exp.GTE, text, literal("0001", "text"))
        return when((chain(exp.And, [_matches(text, pattern), after_year_0]), try_cast(text, TYPES[kind])))

    return write


def _real_to_integer(number: SQL) -> SQL:
    return try_cast(call("FLOOR", infix(exp.Add, number, real(0.5))), "BIGINT")


_CASTS: Final[Casts] = MappingProxyType(
    {
        **PLAIN,
        ("real", "integer"): _real_to_integer,
        ("text", "integer"): _text_to_integer,
        ("text", "real"): _text_to_real,
        ("text", "boolean"): _text_to_boolean,
        ("text", "date"): _text_to_moment("date", DATE),
        ("text", "timestamp"): _text_to_moment("timestamp", MOMENT),
    }
)
"""From text the operand is written twice."""

COLUMNS: Final = Columns(kinds=_KINDS, readers=_READERS, floats=_FLOATS, casts=_CASTS, plain=before_parenthesis)
