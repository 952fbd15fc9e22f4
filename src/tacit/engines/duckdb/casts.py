"""DuckDB's column types, how columns are read as the policy's kinds, and the casts of `query.expressions.casts`.

Integers beyond 64 bits and dates outside the years 1 to 9999 become NULL when they are read, instants are converted to
UTC without a zone (`engines.sql.layers` turns them into local times), and no value makes a cast fail. NaN stays until
an operation would tell it from NULL (see `engines.sql.layers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from tacit.engines.sql.builder import SQL, TYPES, call, cast, chain, infinity, infix, literal, real, try_cast, when
from tacit.engines.sql.column_types import (
    DATE_RANGE,
    DATE_TEXT,
    INTEGER_TEXT,
    PLAIN_CASTS,
    REAL_TEXT,
    TIMESTAMP_RANGE,
    TIMESTAMP_TEXT,
    Casts,
    ColumnTypes,
    Reader,
    before_parenthesis,
    reader,
    within,
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


def _timestamp(raw: SQL) -> SQL:
    return within(raw, "timestamp", *TIMESTAMP_RANGE)


_READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        **dict.fromkeys(_NARROW, reader(lambda raw: cast(raw, "BIGINT"))),
        **dict.fromkeys(_WIDE, reader(lambda raw: try_cast(raw, "BIGINT"))),
        **dict.fromkeys((*_FLOATS, "DECIMAL"), reader(lambda raw: cast(raw, "DOUBLE"))),
        **dict.fromkeys(("ENUM", "UUID"), reader(lambda raw: cast(raw, "TEXT"))),
        "DATE": reader(lambda raw: within(raw, "date", *DATE_RANGE)),
        "TIMESTAMP": reader(_timestamp),
        **dict.fromkeys(_TIMESTAMPS, reader(lambda raw: _timestamp(try_cast(raw, "TIMESTAMP")))),
    }
)


def _matches(text: SQL, pattern: str) -> SQL:
    return call("REGEXP_FULL_MATCH", text, exp.Literal.string(pattern))


def _text_to_integer(text: SQL) -> SQL:
    digits = call("TRIM", text, exp.Literal.string(BLANKS))
    return when((_matches(text, INTEGER_TEXT), try_cast(digits, "BIGINT")))


def _text_to_real(text: SQL) -> SQL:
    number = try_cast(text, "DOUBLE")
    finite = infix(exp.LT, call("ABS", number), infinity())
    return when((chain(exp.And, [_matches(text, REAL_TEXT), finite]), number))


def _text_to_boolean(text: SQL) -> SQL:
    lower = call("LOWER", text)
    spellings = ((("true", "t", "1"), True), (("false", "f", "0"), False))
    return when(*((_in(lower, words), literal(truth, "boolean")) for words, truth in spellings))


def _in(text: SQL, words: tuple[str, ...]) -> SQL:
    return exp.In(this=text.copy(), expressions=[literal(word, "text") for word in words])


def _text_to_time(kind: Kind, pattern: str) -> Callable[[SQL], SQL]:
    def write(text: SQL) -> SQL:
        after_year_0 = infix(exp.GTE, text, literal("0001", "text"))
        return when((chain(exp.And, [_matches(text, pattern), after_year_0]), try_cast(text, TYPES[kind])))

    return write


def _real_to_integer(number: SQL) -> SQL:
    return try_cast(call("FLOOR", infix(exp.Add, number, real(0.5))), "BIGINT")


_CASTS: Final[Casts] = MappingProxyType(
    {
        **PLAIN_CASTS,
        ("real", "integer"): _real_to_integer,
        ("text", "integer"): _text_to_integer,
        ("text", "real"): _text_to_real,
        ("text", "boolean"): _text_to_boolean,
        ("text", "date"): _text_to_time("date", DATE_TEXT),
        ("text", "timestamp"): _text_to_time("timestamp", TIMESTAMP_TEXT),
    }
)
"""A cast from text writes its operand twice."""

COLUMNS: Final = ColumnTypes(
    kinds=_KINDS,
    readers=_READERS,
    floats=_FLOATS,
    casts=_CASTS,
    plain=before_parenthesis,
    zoned=("TIMESTAMP WITH TIME ZONE",),
)
