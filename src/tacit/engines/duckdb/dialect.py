"""The dialect of DuckDB. The type names of statements are those of DuckDB, so no type is renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from sqlglot import exp

from tacit.engines.duckdb import casts
from tacit.engines.duckdb.functions import duckdb_forms
from tacit.engines.sql.builder import SQL, TYPES, call, cast, infix, powers, product, try_cast, when, whole
from tacit.engines.sql.column_types import ColumnTypes
from tacit.engines.sql.dialect import Dialect, ListColumns, different_unit_types
from tacit.query.expressions import Kind


class DuckDBDialect(Dialect):
    """DuckDB's SQL."""

    name: ClassVar[str] = "duckdb"
    engine: ClassVar[str] = "DuckDB"
    clamps_at_once: ClassVar[bool] = True
    sums_doubles: ClassVar[bool] = True
    columns: ClassVar[ColumnTypes] = casts.COLUMNS
    kind_types: ClassVar[Mapping[Kind, str]] = MappingProxyType({**TYPES, "text": "VARCHAR"})

    def __init__(self) -> None:
        """Prepare the forms of functions."""
        self.forms = duckdb_forms(self)

    def read(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return a column as a value of the kind that its policy declares, or raise InvalidError."""
        if self.kind_of(type_name) == "integer" and kind == "real":
            return cast(raw, "DOUBLE")  # directly, because it may not fit 64 bits
        return super().read(raw, type_name, kind)

    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column, unconverted if the policy keeps its kind.

        A DECIMAL read as a double would merge units, and a large integer read as NULL would lose them.
        """
        source = casts.COLUMNS.kind_of(type_name)
        if source == "real" and kind == "integer":  # a conversion to double, or rounding, could merge two units
            return when((infix(exp.EQ, raw, call("FLOOR", raw)), try_cast(raw, "BIGINT")))
        if self.may_be_nan(type_name, kind):
            return self.without_nan(raw)
        return raw if source == kind or (source == "integer" and kind == "real") else self.read(raw, type_name, kind)

    def unit_type(self, type_name: str, kind: Kind) -> str:
        """Return the type in which a unit's column is read."""
        return _unit_type(type_name, kind)

    def comparable_units(self, left: tuple[SQL, str], right: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two unit columns such that they are equal exactly where the units are, or raise InvalidError.

        Columns of the same type stay unchanged. All integers become 128-bit integers, or NULL, which matches nothing.
        FLOAT becomes DOUBLE. Text, and types with one text for each value (ENUM, UUID), become text. All of these
        conversions are one to one.
        """
        types = [_unit_type(type_name, kind) for _, type_name in (left, right)]
        if types[0] == types[1]:
            return left[0], right[0]
        if set(types) <= _INTEGERS:
            return try_cast(left[0], "HUGEINT"), try_cast(right[0], "HUGEINT")
        if set(types) <= _FLOATS:
            return cast(left[0], "DOUBLE"), cast(right[0], "DOUBLE")
        if kind == "text":
            return cast(left[0], "TEXT"), cast(right[0], "TEXT")
        raise different_unit_types(*types)

    def list_select(self, columns: ListColumns, position: str, count: int) -> str:
        """Return a SELECT of parallel public lists with their positions."""
        lists = [f"UNNEST(CAST({self.parameter(held)} AS {TYPES[kind]}[])) AS {name}" for held, name, kind in columns]
        return f"SELECT {', '.join(lists)}, UNNEST(RANGE({count})) AS {position}"

    def nearest(self, value: SQL, step: Fraction, target: str, *, positive: bool = False) -> SQL:
        """Return ⌊value/step + ½⌋, which is ⌊(⌊2·value/step⌋ + 1)/2⌋; see `measures`.

        For y = value/step ≥ 0 it is ROUND(y), which rounds halves away from 0. y is exact, unless it underflows, and
        then both are 0.
        """
        if positive:
            return cast(call("ROUND", product([value, *powers(1 / step)])), target)
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


_INTEGERS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
)
_FLOATS = frozenset(("FLOAT", "DOUBLE"))


def _unit_type(type_name: str, kind: Kind) -> str:
    """Return the type in which a unit's column is read: the column's type if the policy keeps its kind."""
    source = casts.COLUMNS.kind_of(type_name)
    if source == kind or (source == "integer" and kind == "real"):
        return type_name
    return "VARCHAR" if kind == "text" else TYPES[kind]


DUCKDB = DuckDBDialect()
