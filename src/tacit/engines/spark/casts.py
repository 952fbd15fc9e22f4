"""Columns as Spark types them, read as the policy types them; and the casts of `query.expressions.casts` in SQL.

Spark's casts raise where they fail; every one here is guarded, or tried. Days outside the years 1 to 9999 become NULL,
timestamps with a zone lose it in UTC, text is compared by code point whatever its collation. NaN stays until something
looks at it (see `rows`).
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


def as_it_is(raw: SQL, type_name: str) -> SQL:
    """Return a column as it is, but text that has a collation is compared by code point."""
    return call("COLLATE", raw, exp.Literal.string("UTF8_BINARY")) if " collate " in type_name else raw


def _within(value: SQL, kind: Kind, first: str, last: str) -> SQL:
    ends = (literal(first, kind), literal(last, kind))
    return when((chain(exp.And, [infix(exp.GTE, value, ends[0]), infix(exp.LTE, value, ends[1])]), value))


def _unicode(text: SQL) -> SQL:
    """Return a text; NULL where its bytes are none, which other engines could not hold and Python would replace."""
    return when((call("IS_VALID_UTF8", text), text))


def told_apart(raw: SQL, type_name: str) -> SQL:
    """Return a text; where its bytes are none, what they are, behind a mark that stands for what cannot be read."""
    text = cast(as_it_is(raw, type_name), "TEXT")
    mark = exp.Literal.string("\ufffd")
    return when((call("IS_VALID_UTF8", text), text), otherwise=call("CONCAT", mark, call("HEX", text)))


def _timestamp(raw: SQL) -> SQL:
    """Return a moment in UTC, which is the session's zone."""
    return _within(cast(raw, "TIMESTAMP"), "timestamp", *MOMENTS)


def _text(raw: SQL, type_name: str) -> SQL:
    own = as_it_is(raw, type_name)
    return _unicode(own if _plain(type_name) == "string" else cast(own, "TEXT"))


_READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        **dict.fromkeys(_NARROW, reader(lambda raw: cast(raw, "BIGINT"))),
        **dict.fromkeys((*_FLOATS, "decimal"), reader(lambda raw: cast(raw, "DOUBLE"))),
        **dict.fromkeys(_TEXTS, _text),
        "date": reader(lambda raw: _within(raw, "date", *DAYS)),
        **dict.fromkeys(("timestamp", "timestamp_ntz"), reader(_timestamp)),
    }
)


def _matches(text: SQL, pattern: str) -> SQL:
    r"""Return whether a pattern fits a whole text; Spark's own search is anywhere, and $ would leave out a line's end.

    >>> _matches(exp.column("x"), "a").sql("spark")
    "RLIKE(x, '\\\\A(?:a)\\\\z')"
    """
    return call("RLIKE", text, exp.Literal.string(rf"\A(?:{pattern})\z"))


def _text_to_integer(text: SQL) -> SQL:
    digits = call("BTRIM", text, exp.Literal.string(BLANKS))
    return when((_matches(text, INTEGER), try_cast(digits, "BIGINT")))


def _text_to_real(text: SQL) -> SQL:
    number = try_cast(text, "DOUBLE")
    finite = infix(exp.LT, call("ABS", number), infinity())
    return when((_matches(text, REAL), when((finite, number))))


def _text_to_boolean(text: SQL) -> SQL:
    answers = (("(?i:true|t|1)", True), ("(?i:false|f|0)", False))  # (?i: is of ASCII letters alone
    return when(*((_matches(text, pattern), literal(truth, "boolean")) for pattern, truth in answers))


def _text_to_moment(kind: Kind, pattern: str) -> Callable[[SQL], SQL]:
    def write(text: SQL) -> SQL:
        return when((_matches(text, f"(?!0000){pattern}"), try_cast(text, TYPES[kind])))

    return write


def _real_to_integer(number: SQL) -> SQL:
    """Return ⌊x + ½⌋: Spark's FLOOR gives 64 bits, and the last of them beyond its reach."""
    half = infix(exp.Add, number, real(0.5))
    inside = chain(exp.And, [infix(exp.GTE, half, real(-(2.0**63))), infix(exp.LT, half, real(2.0**63))])
    return when((inside, call("FLOOR", half)))


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
"""From text and reals the operand is written more than once."""

COLUMNS: Final = Columns(kinds=_KINDS, readers=_READERS, floats=_FLOATS, casts=_CASTS, plain=_plain)
