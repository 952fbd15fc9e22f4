"""How PostgreSQL writes what all engines do.

Whole numbers up to 64 bits are BIGINTs, larger ones NUMERICs without a fraction, whose products, sums and quotients by
DIV are exact. Every text has the collation "C", whatever its column or the database has: it is compared and grouped by
code point, and no two units or keys become one. Parameters have numbers: the hash's keys are $1 and $2, and a list of
keys is followed by the places of its values.

**The hash** of some values is PostgreSQL's own hash of a record, seeded with one key, and hashed again with the other,
since a record's is a plain sum of its parts' hashes. It is the same for equal values of one type in all statements of a
plan. Of the second round 32 bits go in; cells that are alike in them are told apart by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from sqlglot import exp

from tacit.engines.postgres import casts
from tacit.engines.postgres.doubles import filled
from tacit.engines.postgres.functions import postgres_forms
from tacit.engines.sql.builder import SQL, TYPES, call, cast, infix, powers, product, real, whole
from tacit.engines.sql.columns import Columns, before_parenthesis
from tacit.engines.sql.dialect import Dialect, Listed
from tacit.errors import InvalidError
from tacit.query.expressions import Kind

_KEYS = {"h0": 1, "h1": 2}
_FIRST, _APART = {"k": 3, "s": 5}, 3
_FARTHEST_STEP = 1024
_SPLIT = 60
_SMALL = 2**20


def number_of(parameter: str) -> int:
    """Return the number of a parameter: h0 and h1, and the lists k0, s0, k1, s1 …, those of k with their places.

    >>> [number_of(name) for name in ("h0", "h1", "k0", "s0", "k1")]
    [1, 2, 3, 5, 6]
    """
    if parameter in _KEYS:
        return _KEYS[parameter]
    found = re.fullmatch(r"([ks])(\d+)", parameter)
    if found is None:
        raise ValueError(f"there is no parameter {parameter}")
    return _FIRST[found[1]] + _APART * int(found[2])


class PostgresDialect(Dialect):
    """PostgreSQL's SQL."""

    name: ClassVar[str] = "postgres"
    after_layer: ClassVar[str] = " OFFSET 0"
    types = {  # noqa: RUF012 - declared by the base
        "INT": "BIGINT",
        "INT128": "NUMERIC",
        "UTINYINT": "INT",
        "USMALLINT": "INT",
        "UINTEGER": "BIGINT",
    }
    most_bits: ClassVar[int] = 0
    repeats = frozenset(("text", "real", "boolean"))
    columns: ClassVar[Columns] = casts.COLUMNS

    def __init__(self) -> None:
        """Prepare the forms of functions."""
        self.forms = postgres_forms(self)

    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column: the very value if the policy leaves its kind; text by code point.

        A number that the policy takes for an integer is not rounded: that would make two units one.
        """
        if kind == "integer" and casts.COLUMNS.kind_of(type_name) == "real":
            return casts.whole_unit(raw, type_name)
        if _unit_type(type_name, kind) != before_parenthesis(type_name) or before_parenthesis(type_name) == "text":
            return self.read(raw, type_name, kind)
        if type_name in casts.FLOATS:
            return self.without_nan(raw)
        if before_parenthesis(type_name) == "numeric":
            return filled("CASE WHEN x <> CAST('NaN' AS NUMERIC) THEN x END", x=raw)
        return raw

    def alike(self, one: tuple[SQL, str], two: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two units' columns so that they are equal just where the units are, or raise InvalidError.

        Types that are the same need nothing, nor do integers of different lengths. A float4 goes into a float8, and
        what is text, or has one text for each value (enum, uuid), into text: all one to one.
        """
        types = [_unit_type(type_name, kind) for _, type_name in (one, two)]
        if types[0] == types[1] or set(types) <= casts.INTEGERS:
            return one[0], two[0]
        if set(types) <= casts.FLOATS:
            return cast(one[0], "DOUBLE"), cast(two[0], "DOUBLE")
        if kind == "text":
            return cast(one[0], "TEXT"), cast(two[0], "TEXT")
        raise InvalidError(
            "sql",
            f"units of the types {types[0]} and {types[1]}, which cannot be compared exactly",
            "a question that joins private tables whose unit columns have one type; have the steward store them so",
        )

    def text(self, tree: SQL) -> str:
        """Return a tree in this dialect, every text in it under the collation "C"."""
        holder = exp.Paren(this=tree.copy())
        for node in list(holder.walk()):
            if isinstance(node, exp.DataType):
                called = self.types.get(node.sql("duckdb"))
                if called is not None:
                    node.replace(exp.DataType.build(called, dialect=self.name))
            elif isinstance(node, exp.Cast) and node.to.is_type("text"):
                by_code_point = exp.Collate(expression=exp.to_identifier("C", quoted=True))
                node.replace(by_code_point)
                by_code_point.set("this", node)
            elif isinstance(node, exp.Literal) and node.is_string and "\0" in node.this:
                raise InvalidError("sql", "a text with the character NUL", "a question without it: PostgreSQL has none")
        return str(holder.this.sql(self.name, comments=False))

    def parameter(self, name: str) -> str:
        """Return how a parameter is written."""
        return f"${number_of(name)}"

    def listed(self, columns: Listed, place: str, count: int) -> str:
        """Return a SELECT of public lists beside each other, with their places.

        A list of keys is sent with its places, since some of its values may be left out (see `postgres`).
        """
        del count
        lists = [f"CAST({self.parameter(held)} AS {self.type_of(TYPES[kind])}[])" for held, _, kind in columns]
        first, ordered = columns[0][0], ""
        if first.startswith("k"):
            lists.append(f"CAST(${number_of(first) + 1} AS BIGINT[])")
        else:
            ordered = " WITH ORDINALITY"
        shown = [f'{own} COLLATE "C" AS {own}' if kind == "text" else own for _, own, kind in columns]
        names = ", ".join([*(own for _, own, _ in columns), place])
        shown.append(f"{place} - 1 AS {place}" if ordered else place)
        return f"SELECT {', '.join(shown)} FROM UNNEST({', '.join(lists)}){ordered} AS listed({names})"  # noqa: S608 - all of it is ours

    def same(self, one: str, other: str) -> str:
        """Return whether two values are equal or both NULL: arrays compare so, and can be hashed."""
        return f"ARRAY[{one}] = ARRAY[{other}]"

    def nearest(self, value: SQL, step: Fraction, target: str) -> SQL:
        """Return ⌊value/step + ½⌋, which is ⌊(⌊2·value/step⌋ + 1)/2⌋; see `measures`.

        Where 2/step is below 1 the product could underflow, but of values below step/4 the answer is 0. Whole numbers
        beyond 64 bits are put together from their parts above and below 2^60; the upper one has at most 63 bits.
        """
        twice = call("FLOOR", product([value, *powers(2 / step)]))
        if target == "HUGEINT":
            upper = filled("FLOOR(x * down)", x=twice, down=real(2.0**-_SPLIT))
            up = {"up": real(2.0**_SPLIT), "whole_up": whole(2**_SPLIT, "HUGEINT")}
            halves = {"upper": upper, "lower": filled("x - upper * up", x=twice, upper=upper, **up)}
            twice = filled("CAST(upper AS BIGINT) * whole_up + CAST(lower AS BIGINT)", **halves, **up)
        else:
            twice = cast(twice, target)
        found = self.shifted(infix(exp.Add, twice, whole(1, target)), 1, target)
        if step <= 2:  # noqa: PLR2004 - see above
            return found
        if step >= Fraction(2) ** (_FARTHEST_STEP + 2):
            return whole(0, target)
        return filled(
            "CASE WHEN ABS(x) < quarter THEN none ELSE found END",
            x=value,
            quarter=real(float(step / 4)),
            none=whole(0, target),
            found=found,
        )

    def shifted(self, value: SQL, bits: int, target: str) -> SQL:
        """Return ⌊value/2^bits⌋ by an arithmetic shift, or of a NUMERIC by an exact product."""
        if target == "HUGEINT":
            share = exp.Cast(
                this=exp.Literal.string(_decimal(bits)), to=exp.DataType.build("NUMERIC", dialect=self.name)
            )
            return call("FLOOR", infix(exp.Mul, value, share))
        return infix(exp.BitwiseRightShift, value, exp.Literal.number(bits))

    def quotient(self, dividend: SQL, divisor: SQL, target: str) -> SQL:
        """Return a quotient of integers, truncated toward zero."""
        if target == "HUGEINT":
            return call("DIV", dividend, divisor)
        return filled("a / b", a=dividend, b=divisor)

    def bounded(self, value: SQL, most: int, *, own: bool = False) -> SQL:
        """Return an exact sum: of small numbers of one unit in 64 bits, which a server adds up faster, else a NUMERIC.

        Small is below 2^20: 64 bits hold 2^43 of them, and a table has at most 2^32 pages of 291 rows, below 2^41.
        A join that made 2^43 rows of one unit would meet the time limit long before.
        """
        return call("SUM", cast(value, "USMALLINT")) if own and most < _SMALL else self.total(value)  # of 4 bytes

    def hashed(self, columns: Sequence[str]) -> str:
        """Return a hash of some columns under both keys."""
        record = f"HASH_RECORD_EXTENDED(ROW({', '.join(columns)}), CAST({self.parameter('h0')} AS BIGINT))"
        return f"HASHINT8EXTENDED({record}, CAST({self.parameter('h1')} AS BIGINT))"


def _unit_type(type_name: str, kind: Kind) -> str:
    """Return the type in which a unit's column is read: its own if the policy leaves its kind, or text."""
    own = casts.COLUMNS.kind_of(type_name)
    if own == kind or (own == "integer" and kind == "real"):
        plain = before_parenthesis(type_name)
        return "text" if plain in casts.TEXTS or plain == "enum" else plain
    return _HELD[kind]


_HELD = {
    "integer": "int8",
    "real": "float8",
    "text": "text",
    "boolean": "bool",
    "date": "date",
    "timestamp": "timestamp",
}


def _decimal(bits: int) -> str:
    """Return 2^-bits with all its digits.

    >>> _decimal(1), _decimal(4)
    ('0.5', '0.0625')
    """
    return f"0.{5**bits:0{bits}d}" if bits else "1"


POSTGRES = PostgresDialect()
