"""PostgreSQL's column types, how columns are read as the policy's kinds, and the casts of `query.expressions.casts`.

Types have their names of `pg_type`; an enumeration is `enum`, and a domain is its base type. No value makes a cast
fail. Dates outside the years 1 to 9999, including ±infinity, become NULL. Instants are converted to UTC without a zone;
`engines.sql.layers` turns them into local times. A NUMERIC becomes the nearest double, which is ±inf or 0 if it is too
large or too small; its NaN becomes NULL. Text that a policy reads as a number or a date is matched with a pattern, then
checked with PG_INPUT_IS_VALID, then cast.

PostgreSQL needs up to 8 bytes of memory for each byte of a text that it matches, trims or converts to lower case, and
fails if that is more than a gigabyte. It trims bytes in place. So the casts test the length of a text first, and trim
blanks and zeros around a long integer as bytes. A real written with more than 100 million bytes is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from tacit.engines.postgres.doubles import filled
from tacit.engines.sql.builder import SQL, cast, literal, real
from tacit.engines.sql.column_types import (
    DATE_RANGE,
    DATE_TEXT,
    PLAIN_CASTS,
    REAL_TEXT,
    TIMESTAMP_RANGE,
    TIMESTAMP_TEXT,
    Casts,
    ColumnTypes,
    Reader,
    before_parenthesis,
    reader,
)
from tacit.query.expressions import Kind

INTEGERS: Final = frozenset(("int2", "int4", "int8"))
FLOATS: Final = frozenset(("float4", "float8"))
TEXTS: Final = frozenset(("text", "varchar", "bpchar", "name", "citext"))
_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        **dict.fromkeys(INTEGERS, "integer"),
        **dict.fromkeys((*FLOATS, "numeric"), "real"),
        **dict.fromkeys((*TEXTS, "enum", "uuid"), "text"),
        "bool": "boolean",
        "date": "date",
        **dict.fromkeys(("timestamp", "timestamptz"), "timestamp"),
    }
)
_SAFE_DIGITS = 300


def whole_unit(raw: SQL, type_name: str) -> SQL:
    """Return a number that names a unit as an integer; NULL if it is not an integer of 64 bits."""
    if type_name in FLOATS:
        ends = {"first": real(-(2.0**63)), "beyond": real(2.0**63)}
        return filled("CASE WHEN x = FLOOR(x) AND x >= first AND x < beyond THEN CAST(x AS BIGINT) END", x=raw, **ends)
    return filled(
        """CASE WHEN x = FLOOR(x) AND x BETWEEN CAST('-9223372036854775808' AS NUMERIC)
        AND CAST('9223372036854775807' AS NUMERIC) THEN CAST(x AS BIGINT) END""",
        x=raw,
    )


def _date(raw: SQL) -> SQL:
    return _within(raw, "date", *DATE_RANGE)


def _timestamp(raw: SQL) -> SQL:
    return _within(raw, "timestamp", *TIMESTAMP_RANGE)


def _within(value: SQL, kind: Kind, first: str, last: str) -> SQL:
    ends = {"first": literal(first, kind), "last": literal(last, kind)}
    return filled("CASE WHEN x BETWEEN first AND last THEN x END", x=value, **ends)


def _zoned(raw: SQL) -> SQL:
    return _timestamp(filled("x AT TIME ZONE 'UTC'", x=raw))


def _number(value: Fraction) -> SQL:
    """Return a fraction whose denominator is a power of two as a NUMERIC, with all its digits."""
    places = value.denominator.bit_length() - 1
    digits = str(value.numerator * 5**places).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build("NUMERIC", dialect="postgres"))


_OVERFLOWS = _number(Fraction(2**1024 - 2**970))
_UNDERFLOWS = _number(Fraction(1, 2**1075))


def _real_of_numeric(raw: SQL, type_name: str) -> SQL:
    """Return the double nearest to a NUMERIC. If the type has few digits, the plain cast cannot fail."""
    declared = re.fullmatch(r"numeric\((\d+),(-?\d+)\)", type_name)
    if declared and max(int(declared[1]), abs(int(declared[2])), int(declared[1]) - int(declared[2])) <= _SAFE_DIGITS:
        return filled("CASE WHEN x <> CAST('NaN' AS NUMERIC) THEN CAST(x AS DOUBLE PRECISION) END", x=raw)
    return filled(
        """CASE
        WHEN ABS(x) < overflows THEN CASE
            WHEN ABS(x) > underflows OR x = 0 THEN CAST(x AS DOUBLE PRECISION) ELSE zero END
        WHEN x = CAST('NaN' AS NUMERIC) THEN NULL
        WHEN x > 0 THEN infinite
        WHEN x < 0 THEN -infinite END""",
        x=raw,
        overflows=_OVERFLOWS,
        underflows=_UNDERFLOWS,
    )


_READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        **dict.fromkeys(INTEGERS, reader(lambda raw: cast(raw, "BIGINT"))),
        **dict.fromkeys(FLOATS, reader(lambda raw: cast(raw, "DOUBLE"))),
        "numeric": _real_of_numeric,
        **dict.fromkeys((*TEXTS, "enum", "uuid"), reader(lambda raw: cast(raw, "TEXT"))),
        "date": reader(_date),
        "timestamp": reader(_timestamp),
        "timestamptz": reader(_zoned),
    }
)

_BLANKS = r"[\t\n\v\f\r ]*"
_INTEGER = "[+-]?[0-9]+"

_SHORT = 100
"""A length above that of any date, any boolean, and any integer without blanks and leading zeros."""

_LONG = 100_000_000


def _valid(pattern: str, type_name: str, more: str = "", most: int = _SHORT) -> str:
    return (
        f"OCTET_LENGTH(x) <= {most} THEN CASE WHEN x ~ '^({pattern})$'{more} "
        f"THEN CASE WHEN PG_INPUT_IS_VALID(x, '{type_name}') THEN CAST(x AS {type_name})"
    )


def _text_to_integer(text: SQL) -> SQL:
    """Return a text as an integer. A long text is first stripped of blanks, its sign, and all leading zeros but one."""
    trimmed = filled(r"BTRIM(CONVERT_TO(x, 'UTF8'), CAST('\x090a0b0c0d20' AS BYTEA))", x=text)
    unsigned = filled("SUBSTRING(t, 2)", t=trimmed)
    return filled(
        rf"""CASE WHEN OCTET_LENGTH(x) <= {_SHORT} THEN whole ELSE CASE SUBSTRING(t, 1, 1)
        WHEN CAST('\x2d' AS BYTEA) THEN negative WHEN CAST('\x2b' AS BYTEA) THEN positive ELSE plain END END""",
        x=text,
        t=trimmed,
        whole=filled(f"CASE WHEN {_valid(f'{_BLANKS}{_INTEGER}{_BLANKS}', 'bigint')} END END END", x=text),
        negative=_digits_to_integer(unsigned, "-0"),
        positive=_digits_to_integer(unsigned, "0"),
        plain=_digits_to_integer(trimmed, "0"),
    )


def _digits_to_integer(digits: SQL, first: str) -> SQL:
    """Return the integer written in bytes that should all be digits; `first` replaces the leading zeros."""
    left = filled(r"LTRIM(d, CAST('\x30' AS BYTEA))", d=digits)
    return filled(
        f"""CASE WHEN OCTET_LENGTH(d) > 0 AND OCTET_LENGTH(b) < {_SHORT} THEN CASE WHEN x ~ '^({_INTEGER})$'
        THEN CASE WHEN PG_INPUT_IS_VALID(x, 'bigint') THEN CAST(x AS BIGINT) END END END""",
        d=digits,
        b=left,
        x=filled(f"CAST('{first}' || CONVERT_FROM(b, 'UTF8') AS TEXT)", b=left),
    )


def _text_to_real(text: SQL) -> SQL:
    """Return a text as a double.

    If the text looks like a number but is out of range for a double, use the position of its first significant digit to
    decide between overflow and underflow. The position is the exponent plus the digits before the point, or minus the
    zeros after it. An exponent of more than 18 digits outweighs any text's length.
    """
    exponent = "COALESCE(SUBSTRING(x, '[eE]([+-]?[0-9]+)$'), '0')"
    digits = "LENGTH(LTRIM(SUBSTRING(x, '^[+-]?([0-9]*)'), '0'))"
    zeros = r"COALESCE(LENGTH(SUBSTRING(x, '[.](0*)')), 0)"
    return filled(
        f"""CASE WHEN {_valid(REAL_TEXT, "double precision", most=_LONG)}
        WHEN LENGTH(LTRIM({exponent}, '+-0')) > 18 THEN CASE WHEN LEFT({exponent}, 1) = '-' THEN zero END
        WHEN CAST({exponent} AS BIGINT) + CASE WHEN {digits} > 0 THEN {digits} ELSE -{zeros} END <= 0 THEN zero
        END END END""",
        x=text,
    )


def _text_to_boolean(text: SQL) -> SQL:
    return filled(
        f"""CASE WHEN OCTET_LENGTH(x) > {_SHORT} THEN NULL
        WHEN LOWER(x) IN ('true', 't', '1') THEN TRUE WHEN LOWER(x) IN ('false', 'f', '0') THEN FALSE END""",
        x=text,
    )


def _text_to_time(type_name: str, pattern: str) -> Callable[[SQL], SQL]:
    return lambda text: filled(f"CASE WHEN {_valid(pattern, type_name, more=_AFTER_0)} END END END", x=text)


_AFTER_0 = " AND x >= '0001'"


def _real_to_integer(number: SQL) -> SQL:
    ends = {"first": real(-(2.0**63)), "beyond": real(2.0**63)}
    return filled("CASE WHEN x >= first AND x < beyond THEN CAST(FLOOR(x + half) AS BIGINT) END", x=number, **ends)


def _boolean_to(kind: Kind) -> Callable[[SQL], SQL]:
    numbers = {"yes": literal(1, kind), "no": literal(0, kind)}
    return lambda truth: filled("CASE WHEN x THEN yes WHEN NOT x THEN no END", x=truth, **numbers)


_CASTS: Final[Casts] = MappingProxyType(
    {
        **PLAIN_CASTS,
        ("integer", "boolean"): lambda number: filled("x <> 0", x=number),
        ("real", "integer"): _real_to_integer,
        ("text", "integer"): _text_to_integer,
        ("text", "real"): _text_to_real,
        ("text", "boolean"): _text_to_boolean,
        ("text", "date"): _text_to_time("date", DATE_TEXT),
        ("text", "timestamp"): _text_to_time("timestamp", TIMESTAMP_TEXT),
        ("boolean", "integer"): _boolean_to("integer"),
        ("boolean", "real"): _boolean_to("real"),
    }
)
"""A cast from text, real or boolean writes its operand several times."""

COLUMNS: Final = ColumnTypes(
    kinds=_KINDS,
    readers=_READERS,
    floats=FLOATS,
    casts=_CASTS,
    plain=before_parenthesis,
    zoned=("timestamptz",),
)
