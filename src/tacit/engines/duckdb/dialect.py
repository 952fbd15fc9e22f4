"""How DuckDB writes what all engines do; the types of the statements' language are its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from sqlglot import exp

from tacit.engines.duckdb import casts
from tacit.engines.duckdb.functions import duckdb_forms
from tacit.engines.sql.builder import SQL, TYPES, call, cast, infix, powers, product, try_cast, when, whole
from tacit.engines.sql.columns import Columns
from tacit.engines.sql.dialect import Dialect, Listed
from tacit.errors import InvalidError
from tacit.query.expressions import Kind


class DuckDBDialect(Dialect):
    """DuckDB's SQL."""

    name: ClassVar[str] = "duckdb"
    columns: ClassVar[Columns] = casts.COLUMNS

    def __init__(self) -> None:
        """Prepare the forms of functions."""
        self.forms = duckdb_forms(self)

    def read(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return a column as a value of the kind that its policy says, or raise InvalidError."""
        if self.kind_of(type_name) == "integer" and kind == "real":
            return cast(raw, "DOUBLE")  # not through 64 bits
        return super().read(raw, type_name, kind)

    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column: the very value if the policy leaves its kind.

        A DECIMAL read as a double, or a large integer as NULL, would merge or lose units.
        """
        source = casts.COLUMNS.kind_of(type_name)
        if source == "real" and kind == "integer":  # by way of a double, or rounded, two units would become one
            return when((infix(exp.EQ, raw, call("FLOOR", raw)), try_cast(raw, "BIGINT")))
        if self.may_be_nan(type_name, kind):
            return self.without_nan(raw)
        return raw if source == kind or (source == "integer" and kind == "real") else self.read(raw, type_name, kind)

    def alike(self, one: tuple[SQL, str], two: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two units' columns so that they are equal just where the units are, or raise InvalidError.

        Types that are the same need nothing. All integers go into 128 bits, or are NULL and match nothing; FLOAT goes
        into DOUBLE, and what is text, or has one text for each value (ENUM, UUID), into text: all one to one.
        """
        types = [_unit_type(type_name, kind) for _, type_name in (one, two)]
        if types[0] == types[1]:
            return one[0], two[0]
        if set(types) <= _INTEGERS:
            return try_cast(one[0], "HUGEINT"), try_cast(two[0], "HUGEINT")
        if set(types) <= _FLOATS:
            return cast(one[0], "DOUBLE"), cast(two[0], "DOUBLE")
        if kind == "text":
            return cast(one[0], "TEXT"), cast(two[0], "TEXT")
        raise unlike(*types)

    def listed(self, columns: Listed, place: str, count: int) -> str:
        """Return a SELECT of public lists beside each other, with their places."""
        lists = [f"UNNEST(CAST({self.parameter(held)} AS {TYPES[kind]}[])) AS {own}" for held, own, kind in columns]
        return f"SELECT {', '.join(lists)}, UNNEST(RANGE({count})) AS {place}"

    def nearest(self, value: SQL, step: Fraction, target: str) -> SQL:
        """Return ⌊value/step + ½⌋, which is ⌊(⌊2·value/step⌋ + 1)/2⌋; see `measures`."""
        twice = cast(call("FLOOR", product([value, *powers(2 / step)])), target)
        return self.shifted(infix(exp.Add, twice, whole(1, target)), 1, target)

    def shifted(self, value: SQL, bits: int, target: str) -> SQL:
        """Return ⌊value/2^bits⌋ by an arithmetic shift."""
        return infix(exp.BitwiseRightShift, value, whole(bits, target))

    def quotient(self, dividend: SQL, divisor: SQL, target: str) -> SQL:
        """Return a quotient of integers, truncated toward zero."""
        del target
        return infix(exp.IntDiv, dividend, divisor)

    def hashed(self, columns: Sequence[str]) -> str:
        """Return a hash of some columns under both keys."""
        keys = [f"CAST({self.parameter(key)} AS UBIGINT)" for key in ("h0", "h1")]
        return f"HASH(HASH({', '.join(columns)}, {keys[0]}), {keys[1]})"


def unlike(one: str, two: str) -> InvalidError:
    """Return the error for two units' columns that cannot be compared."""
    return InvalidError(
        "sql",
        f"units of the types {one} and {two}, which cannot be compared exactly",
        "a question that joins private tables whose unit columns have one type; have the steward store them so",
    )


_INTEGERS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
)
_FLOATS = frozenset(("FLOAT", "DOUBLE"))


def _unit_type(type_name: str, kind: Kind) -> str:
    """Return the type in which a unit's column is read: its own if the policy leaves its kind."""
    own = casts.COLUMNS.kind_of(type_name)
    if own == kind or (own == "integer" and kind == "real"):
        return type_name
    return "VARCHAR" if kind == "text" else TYPES[kind]


DUCKDB = DuckDBDialect()
