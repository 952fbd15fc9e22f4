"""Columns as DuckDB types them, read as the policy types them; and the casts of `query.functions_cast` in SQL.

Reading is where data meet the language of expressions: integers beyond 64 bits and days outside the years 1 to 9999
become NULL, timestamps lose their zone in UTC, and nothing here raises. NaN stays until something looks at it (see
`rows`).
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


def kind_of(type_name: str) -> Kind | None:
    """Return the kind of a DuckDB type, or None if its columns cannot be used.

    >>> kind_of("DECIMAL(18,2)"), kind_of("ENUM('a', 'b')"), kind_of("INTEGER[]")
    ('real', 'text', None)
    """
    return None if type_name.endswith("]") else _KINDS.get(_plain(type_name))


def _plain(type_name: str) -> str:
    return type_name.partition("(")[0]


def read(raw: SQL, type_name: str, kind: Kind) -> SQL:
    """Return a column of some DuckDB type as a value of the kind that its policy says, or raise InvalidError.

    A double may be NaN; see `may_be_nan`.
    """
    source = kind_of(type_name)
    if source == "integer" and kind == "real":
        return cast(raw, "DOUBLE")  # not through 64 bits
    if source is None or (source != kind and (source, kind) not in CASTS):
        raise InvalidError(
            "columns", f"a column of type {_plain(type_name)} as {kind}", "of kinds that the types allow"
        )
    value = _READERS.get(_plain(type_name), _as_it_is)(raw)
    return value if source == kind else CASTS[source, kind](value)


def may_be_nan(type_name: str, kind: Kind) -> bool:
    """Whether a column can hold NaN as the policy types it."""
    return kind == "real" and type_name in _FLOATS


def finite(value: SQL) -> SQL:
    """Return whether a double is neither infinite nor NaN."""
    return infix(exp.LT, call("ABS", value), infinity())


def _as_it_is(raw: SQL) -> SQL:
    return raw


def _within(value: SQL, kind: Kind, first: str, last: str) -> SQL:
    ends = (literal(first, kind), literal(last, kind))
    return when((chain(exp.And, [infix(exp.GTE, value, ends[0]), infix(exp.LTE, value, ends[1])]), value))


def _date(raw: SQL) -> SQL:
    return _within(raw, "date", "0001-01-01", "9999-12-31")


def _timestamp(raw: SQL) -> SQL:
    return _within(raw, "timestamp", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")


_READERS: Final[Mapping[str, Callable[[SQL], SQL]]] = MappingProxyType(
    {
        **dict.fromkeys(_NARROW, lambda raw: cast(raw, "BIGINT")),
        **dict.fromkeys(_WIDE, lambda raw: try_cast(raw, "BIGINT")),
        **dict.fromkeys(_FLOATS, lambda raw: cast(raw, "DOUBLE")),
        "DECIMAL": lambda raw: cast(raw, "DOUBLE"),
        **dict.fromkeys(("ENUM", "UUID"), lambda raw: cast(raw, "TEXT")),
        "DATE": _date,
        "TIMESTAMP": _timestamp,
        **dict.fromkeys(_TIMESTAMPS, lambda raw: _timestamp(try_cast(raw, "TIMESTAMP"))),
    }
)

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[ T]([01][0-9]|2[0-3]):[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_REAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"


def _matches(text: SQL, pattern: str) -> SQL:
    return call("REGEXP_FULL_MATCH", text, exp.Literal.string(pattern))


def _text_to_integer(text: SQL) -> SQL:
    digits = call("TRIM", text, exp.Literal.string(BLANKS))
    return when((_matches(text, r"[\t-\r ]*[+-]?[0-9]+[\t-\r ]*"), try_cast(digits, "BIGINT")))


def _text_to_real(text: SQL) -> SQL:
    number = try_cast(text, "DOUBLE")
    return when((chain(exp.And, [_matches(text, _REAL), finite(number)]), number))


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
"""How a cast is written, by the kinds from and to; from text the operand is written twice. NULL where it cannot be."""
