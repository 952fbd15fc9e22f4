"""Spark's column types, how columns are read as the policy's kinds, and the casts of `query.expressions.casts`.

Spark's CAST fails on values that do not fit; every cast here is guarded, or a TRY_CAST. Dates outside the years 1 to
9999 become NULL. Instants are converted to UTC without a zone; `engines.sql.layers` turns them into local times. Text
is compared by code point, even if it has a collation. NaN stays until an operation would tell it from NULL (see
`engines.sql.layers`).
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

_NARROW = ("tinyint", "smallint", "int")
_FLOATS = ("float", "double")
_TEXTS = ("string", "char", "varchar")

_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        **dict.fromkeys((*_NARROW, "bigint"), "integer"),
        **dict.fromkeys((*_FLOATS, "decimal"), "real"),
        **dict.fromkeys(_TEXTS, "text"),
        "boolean": "boolean",
        "date": "date",
        **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
    }
)


def _plain(type_name: str) -> str:
    """Return a type without its parameters and its collation.

    >>> _plain("decimal(18,2)"), _plain("string collate UTF8_LCASE"), _plain("array<int>")
    ('decimal', 'string', 'array<int>')
    """
    return before_parenthesis(type_name).partition(" ")[0]


def by_code_point(raw: SQL, type_name: str) -> SQL:
    """Return a column unconverted, except that text with a collation is compared by code point."""
    return call("COLLATE", raw, exp.Literal.string("UTF8_BINARY")) if " collate " in type_name else raw


def _unicode(text: SQL) -> SQL:
    """Return a text; NULL if it is not valid UTF-8, which other engines cannot hold and Python would replace."""
    return when((call("IS_VALID_UTF8", text), text))


def exact_text(raw: SQL, type_name: str) -> SQL:
    """Return a text; if it is not valid UTF-8, return its bytes in hexadecimal after the replacement character."""
    text = cast(by_code_point(raw, type_name), "TEXT")
    mark = exp.Literal.string("\ufffd")
    return when((call("IS_VALID_UTF8", text), text), otherwise=call("CONCAT", mark, call("HEX", text)))


def _timestamp(raw: SQL) -> SQL:
    """Return a timestamp in UTC, the session's zone."""
    return within(cast(raw, "TIMESTAMP"), "timestamp", *TIMESTAMP_RANGE)


def _text(raw: SQL, type_name: str) -> SQL:
    text = by_code_point(raw, type_name)
    return _unicode(text if _plain(type_name) == "string" else cast(text, "TEXT"))


_READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        **dict.fromkeys(_NARROW, reader(lambda raw: cast(raw, "BIGINT"))),
        **dict.fromkeys((*_FLOATS, "decimal"), reader(lambda raw: cast(raw, "DOUBLE"))),
        **dict.fromkeys(_TEXTS, _text),
        "date": reader(lambda raw: within(raw, "date", *DATE_RANGE)),
        **dict.fromkeys(("timestamp", "timestamp_ntz"), reader(_timestamp)),
    }
)


def _matches(text: SQL, pattern: str) -> SQL:
    r"""Return whether a pattern matches a whole text: RLIKE alone searches anywhere, and $ ignores a final newline.

    >>> _matches(exp.column("x"), "a").sql("spark")
    "RLIKE(x, '\\\\A(?:a)\\\\z')"
    """
    return call("RLIKE", text, exp.Literal.string(rf"\A(?:{pattern})\z"))


def _text_to_integer(text: SQL) -> SQL:
    digits = call("BTRIM", text, exp.Literal.string(BLANKS))
    return when((_matches(text, INTEGER_TEXT), try_cast(digits, "BIGINT")))


def _text_to_real(text: SQL) -> SQL:
    number = try_cast(text, "DOUBLE")
    finite = infix(exp.LT, call("ABS", number), infinity())
    return when((_matches(text, REAL_TEXT), when((finite, number))))


def _text_to_boolean(text: SQL) -> SQL:
    spellings = (("(?i:true|t|1)", True), ("(?i:false|f|0)", False))  # (?i: applies to ASCII letters only
    return when(*((_matches(text, pattern), literal(truth, "boolean")) for pattern, truth in spellings))


def _text_to_time(kind: Kind, pattern: str) -> Callable[[SQL], SQL]:
    def write(text: SQL) -> SQL:
        return when((_matches(text, f"(?!0000){pattern}"), try_cast(text, TYPES[kind])))

    return write


def _real_to_integer(number: SQL) -> SQL:
    """Return ⌊x + ½⌋. Spark's FLOOR returns 64 bits, and the largest such integer for larger numbers."""
    half = infix(exp.Add, number, real(0.5))
    inside = chain(exp.And, [infix(exp.GTE, half, real(-(2.0**63))), infix(exp.LT, half, real(2.0**63))])
    return when((inside, call("FLOOR", half)))


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
"""A cast from text or real writes its operand more than once."""

COLUMNS: Final = ColumnTypes(
    kinds=_KINDS,
    readers=_READERS,
    floats=_FLOATS,
    casts=_CASTS,
    plain=_plain,
    zoned=("timestamp",),
)
