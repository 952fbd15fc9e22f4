"""Columns as Spark types them, read as the policy types them; and the casts of `query.functions_cast` in SQL.

Spark's casts raise where they fail; every one here is guarded, or tried. Days outside the years 1 to 9999 become NULL,
timestamps with a zone lose it in UTC, text is compared by code point whatever its collation. NaN stays until something
looks at it (see `rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from tacit.engines.statements.words import SQL, TYPES, call, cast, chain, infinity, infix, literal, real, try_cast, when
from tacit.errors import InvalidError
from tacit.query.expressions import Kind
from tacit.query.functions_cast import BLANKS

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


def kind_of(type_name: str) -> Kind | None:
    """Return the kind of a Spark type, by its short name, or None if its columns cannot be used.

    >>> kind_of("decimal(18,2)"), kind_of("string collate UTF8_LCASE"), kind_of("array<int>")
    ('real', 'text', None)
    """
    return _KINDS.get(_plain(type_name))


def _plain(type_name: str) -> str:
    return type_name.partition("(")[0].partition(" ")[0]


def read(raw: SQL, type_name: str, kind: Kind) -> SQL:
    """Return a column of some Spark type as a value of the kind that its policy says, or raise InvalidError.

    A double may be NaN; see `may_be_nan`.
    """
    source = kind_of(type_name)
    if source is None or (source != kind and (source, kind) not in CASTS):
        raise InvalidError(
            "columns", f"a column of type {_plain(type_name).upper()} as {kind}", "of kinds that the types allow"
        )
    value = as_it_is(raw, type_name)
    value = _READERS.get(_plain(type_name), _unchanged)(value)
    return value if source == kind else CASTS[source, kind](value)


def as_it_is(raw: SQL, type_name: str) -> SQL:
    """Return a column as it is, but text that has a collation is compared by code point."""
    return call("COLLATE", raw, exp.Literal.string("UTF8_BINARY")) if " collate " in type_name else raw


def may_be_nan(type_name: str, kind: Kind) -> bool:
    """Whether a column can hold NaN as the policy types it."""
    return kind == "real" and type_name in _FLOATS


def _unchanged(raw: SQL) -> SQL:
    return raw


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
    return _within(cast(raw, "TIMESTAMP"), "timestamp", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")


_READERS: Final[Mapping[str, Callable[[SQL], SQL]]] = MappingProxyType(
    {
        **dict.fromkeys(_NARROW, lambda raw: cast(raw, "BIGINT")),
        **dict.fromkeys((*_FLOATS, "decimal"), lambda raw: cast(raw, "DOUBLE")),
        **dict.fromkeys(("char", "varchar"), lambda raw: _unicode(cast(raw, "TEXT"))),
        "string": _unicode,
        "date": lambda raw: _within(raw, "date", "0001-01-01", "9999-12-31"),
        **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp),
    }
)

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[ T]([01][0-9]|2[0-3]):[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_REAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_INTEGER = r"[\t-\r ]*[+-]?[0-9]+[\t-\r ]*"


def _matches(text: SQL, pattern: str) -> SQL:
    r"""Return whether a pattern fits a whole text; Spark's own search is anywhere, and $ would leave out a line's end.

    >>> _matches(exp.column("x"), "a").sql("spark")
    "RLIKE(x, '\\\\A(?:a)\\\\z')"
    """
    return call("RLIKE", text, exp.Literal.string(rf"\A(?:{pattern})\z"))


def _text_to_integer(text: SQL) -> SQL:
    digits = call("BTRIM", text, exp.Literal.string(BLANKS))
    return when((_matches(text, _INTEGER), try_cast(digits, "BIGINT")))


def _text_to_real(text: SQL) -> SQL:
    number = try_cast(text, "DOUBLE")
    finite = infix(exp.LT, call("ABS", number), infinity())
    return when((_matches(text, _REAL), when((finite, number))))


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


def _plainly(kind: Kind) -> Callable[[SQL], SQL]:
    return lambda value: cast(value, TYPES[kind])


CASTS: Final[Mapping[tuple[Kind, Kind], Callable[[SQL], SQL]]] = MappingProxyType(
    {
        ("integer", "real"): _plainly("real"),
        ("integer", "text"): _plainly("text"),
        ("integer", "boolean"): _plainly("boolean"),
        ("real", "integer"): _real_to_integer,
        ("text", "integer"): _text_to_integer,
        ("text", "real"): _text_to_real,
        ("text", "boolean"): _text_to_boolean,
        ("text", "date"): _text_to_moment("date", _DATE),
        ("text", "timestamp"): _text_to_moment("timestamp", f"{_DATE}({_CLOCK})?"),
        ("boolean", "integer"): _plainly("integer"),
        ("boolean", "real"): _plainly("real"),
        ("boolean", "text"): _plainly("text"),
        ("date", "text"): _plainly("text"),
        ("date", "timestamp"): _plainly("timestamp"),
        ("timestamp", "date"): _plainly("date"),
    }
)
"""How a cast is written, by the kinds from and to; the operand is written more than once. NULL where it cannot be."""
