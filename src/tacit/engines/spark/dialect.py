"""The dialect of Spark, in ANSI mode: an operation whose result does not fit fails, so every result here must fit.

**Integers.** HUGEINT is DECIMAL(38,0), which holds ±(10^38 - 1) > ±2^126. Sums, differences, products and remainders of
such numbers are exact there, or fail. `DIV` returns 64 bits and is used only for quotients that fit. A cast from a
double uses its shortest decimal and is inexact, so `nearest` splits a double; see there.

**Sums.** SUM of 64-bit integers returns 64 bits. If the integers are at most `most` in absolute value, it is exact for
up to 2^63/most of them. `bounded` keeps that number at 2^40 or more, about 10^12: larger integers are split into parts
of 22 bits that are summed separately, v = ⌊v/2^22⌋·2^22 + (v mod 2^22), with the sign in the first part. If no bound is
known, DECIMAL(38,0) is summed: at most 2^63 summands of at most 2^63 stay below 2^126. One unit never has 2^32 rows in
a cell, so with `one_unit` sums of d ≤ 2^31 are computed by TRY_SUM, which never fails. If there were more rows, the
unit's sum would be NULL and the unit would not count there. All d are ≥ 0, so the sum is NULL exactly if the total does
not fit, in any order of the rows. That is a function of the unit's own rows, and within its contribution.

**The choice of cells** uses row numbers. Spark computes a common table twice if it is read twice, so words (see
`contribution_bounding`) took 2.0 times the CPU time of the plain `GROUP BY unit, key`, and row numbers 1.4 times,
because Spark keeps the first few rows before it sorts. Partitioning the rows by unit first saved one exchange and no
time. If there are bins, rows are ranked instead of pairs, for sums and bins together (`joint_statement`): a grouping by
unit, cell and bin would combine few rows before the exchange.

**Layers.** Spark rewrites conditions on a layer's columns in terms of the columns below, down to the table, which is
exponential in the number of layers. So each layer above the second reads from a SELECT with a test of the partition's
number that is always true: Spark considers it non-deterministic and does not move conditions past it. Below that, Spark
may push conditions down to the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from sqlglot import exp

from tacit.engines.spark import casts
from tacit.engines.spark.functions import spark_forms
from tacit.engines.sql.builder import SQL, TYPES, call, cast, infix, powers, product, real, try_cast, when, whole
from tacit.engines.sql.column_types import ColumnTypes
from tacit.engines.sql.dialect import Dialect, ListColumns, different_unit_types
from tacit.query.expressions import Kind

_PART = 22
_SMALL = 2**_PART
_NARROW = 2**31
_PUSHED = 2
_LARGE = 2**60  # `measures` uses HUGEINT for larger numbers
_TEXT_LIST = "'array<string>'"


class SparkDialect(Dialect):
    """Spark's SQL."""

    name: ClassVar[str] = "databricks"  # sqlglot's Spark drops the TRY of TRY_CAST
    engine: ClassVar[str] = "Spark"
    deepest: ClassVar[int | None] = 48  # its analyser gets slower with depth, and runs out of stack at about 75
    materialized: ClassVar[str] = ""
    computes_again: ClassVar[bool] = True
    joins_bins: ClassVar[bool] = True
    most_bits: ClassVar[int] = 0
    types: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"INT128": "DECIMAL(38, 0)", "UTINYINT": "INT", "USMALLINT": "INT", "UINTEGER": "BIGINT"}
    )
    columns: ClassVar[ColumnTypes] = casts.COLUMNS
    kind_types: ClassVar[Mapping[Kind, str]] = MappingProxyType(
        {
            "integer": "bigint",
            "real": "double",
            "text": "string",
            "boolean": "boolean",
            "date": "date",
            "timestamp": "timestamp_ntz",
        }
    )
    repeats: ClassVar[frozenset[Kind]] = frozenset({"text", "real"})

    def __init__(self) -> None:
        """Prepare the forms of functions."""
        self.forms = spark_forms(self)

    def read_exact_text(self, raw: SQL, type_name: str) -> SQL:
        """Return a column of text as text, such that different values stay different."""
        return casts.exact_text(raw, type_name)

    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column, unconverted if the policy keeps its kind.

        A DECIMAL read as a double would merge units, and a date outside the calendar read as NULL would lose them.
        """
        source, unconverted = casts.COLUMNS.kind_of(type_name), casts.by_code_point(raw, type_name)
        if source == "real" and kind == "integer":  # a conversion to double, or rounding, could merge two units
            is_whole = infix(exp.EQ, raw, call("FLOOR", raw))
            if type_name in _FLOATS:  # FLOOR fails beyond 64 bits, and a cast of 2^63 gives 2^63 - 1
                no_fraction = infix(exp.EQ, infix(exp.Mod, raw, real(1.0)), real(0.0))
                is_whole = infix(exp.And, no_fraction, infix(exp.LT, raw, real(2.0**63)))
            return when((is_whole, try_cast(raw, "BIGINT")))
        if self.may_be_nan(type_name, kind):
            return self.without_nan(raw)
        is_kept = source == kind or (source == "integer" and kind == "real")
        return unconverted if is_kept else self.read(raw, type_name, kind)

    def unit_type(self, type_name: str, kind: Kind) -> str:
        """Return the type in which a unit's column is read."""
        return _unit_type(type_name, kind)

    def comparable_units(self, left: tuple[SQL, str], right: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two unit columns such that they are equal exactly where the units are, or raise InvalidError.

        All integers become 64-bit integers, FLOAT becomes DOUBLE, and all text becomes plain text, one to one.
        """
        types = [_unit_type(type_name, kind) for _, type_name in (left, right)]
        if types[0] == types[1]:
            return left[0], right[0]
        if set(types) <= _INTEGERS:
            return cast(left[0], "BIGINT"), cast(right[0], "BIGINT")
        if set(types) <= _FLOATS:
            return cast(left[0], "DOUBLE"), cast(right[0], "DOUBLE")
        if kind == "text":
            return cast(left[0], "TEXT"), cast(right[0], "TEXT")
        raise different_unit_types(*(type_name.upper() for type_name in types))

    def layer_source(self, below: str, level: int, prefix: str) -> str:
        """Return the FROM clause of a layer; see the module's docstring."""
        if level <= _PUSHED:
            return below
        number = f"{prefix}_{level}"
        return f"(SELECT *, SPARK_PARTITION_ID() AS {number} FROM {below}) AS below WHERE {number} >= 0"  # noqa: S608 - built here

    def parameter(self, name: str) -> str:
        """Return a parameter as a statement writes it."""
        return f":{name}"

    def list_select(self, columns: ListColumns, position: str, count: int) -> str:
        """Return a SELECT of parallel public lists; each parameter is a JSON list of texts or null, see `json_list`."""
        del count
        lists = ", ".join(f"FROM_JSON({self.parameter(held)}, {_TEXT_LIST}) AS {name}" for held, name, _ in columns)
        names = ", ".join(name for _, name, _ in columns)
        values = ", ".join(
            f"CAST(col.{name} AS {self.type_of(TYPES[kind])}) AS {name}" if kind != "text" else f"col.{name} AS {name}"
            for _, name, kind in columns
        )
        every = f"SELECT POSEXPLODE(ARRAYS_ZIP({names})) FROM (SELECT {lists}) AS lists"  # noqa: S608 - built here
        return f"SELECT {values}, CAST(pos AS BIGINT) AS {position} FROM ({every}) AS every"  # noqa: S608 - as above

    def null_safe_equal(self, left: str, right: str) -> str:
        """Return whether two values are equal or both NULL."""
        return f"{left} <=> {right}"

    # Doubles and integers

    def nearest(self, value: SQL, step: Fraction, target: str, *, positive: bool = False) -> SQL:
        """Return ⌊y + ½⌋ for y = value/step, which is exact, because it is scaled by a power of two.

        Up to 64 bits: with f = ⌊2y⌋ it is ⌊(f + 1)/2⌋ = ⌊f/2⌋ + (f mod 2), which never overflows, for any y.

        Beyond 64 bits: y = h·2^60 + r with h = y/2^60 truncated. r has the sign of y, is not larger in absolute value,
        and is a multiple of the unit in the last place of y, so it is a double; and ⌊y + ½⌋ = h·2^60 + ⌊r + ½⌋, where
        2r < 2^61.
        """
        del positive
        if target != "HUGEINT":
            return cast(_halved(call("FLOOR", product([value, *powers(2 / step)]))), target)
        y = product([value, *powers(1 / step)])
        high = cast(infix(exp.Mul, y, real(2.0**-60)), "BIGINT")
        rest = infix(exp.Sub, y, infix(exp.Mul, cast(high, "DOUBLE"), real(2.0**60)))
        low = _halved(call("FLOOR", infix(exp.Mul, rest, real(2.0))))
        return infix(exp.Add, infix(exp.Mul, cast(high, target), whole(2**60, target)), cast(low, target))

    def shifted(self, value: SQL, bits: int, target: str) -> SQL:
        """Return ⌊value/2^bits⌋ by a shift, or for decimals by subtracting the remainder; it fits 64 bits."""
        if target != "HUGEINT":
            return call("SHIFTRIGHT", value, whole(bits, "INTEGER"))
        unit = whole(2**bits, target)
        return cast(infix(exp.IntDiv, infix(exp.Sub, value, call("PMOD", value, unit)), unit), target)

    def quotient(self, dividend: SQL, divisor: SQL, target: str) -> SQL:
        """Return a quotient of integers, truncated toward zero."""
        return cast(infix(exp.IntDiv, dividend, divisor), target)

    def total(self, value: SQL, *, one_unit: bool = False) -> SQL:
        """Return an exact sum of integers of at most 64 bits, also if they are stored as decimals."""
        del one_unit
        return call("SUM", cast(value, "HUGEINT"))

    def bounded(self, value: SQL, most: int, *, one_unit: bool = False) -> SQL:
        """Return an exact sum of integers whose absolute values are at most `most`; see the module's docstring."""
        if one_unit:
            return call("TRY_SUM", value) if most <= _NARROW else self.total(value)
        if most <= _SMALL:
            return call("SUM", value)
        if most > _LARGE:
            return self.total(value)
        number = cast(value, "BIGINT")
        high = self.bounded(call("SHIFTRIGHT", number, whole(_PART, "INTEGER")), (most >> _PART) + 1)
        low = call("SUM", infix(exp.BitwiseAnd, number, whole(_SMALL - 1)))
        scaled = infix(exp.Mul, cast(high, "HUGEINT"), whole(_SMALL, "HUGEINT"))
        return infix(exp.Add, scaled, cast(low, "HUGEINT"))

    # Hashes

    def hashed(self, columns: Sequence[str]) -> str:
        """Return a hash of some columns between both keys; each step is seeded with the result of the step before."""
        first, last = (f"CAST({self.parameter(key)} AS BIGINT)" for key in ("h0", "h1"))
        return f"XXHASH64({', '.join([first, *columns, last])})"


def _halved(twice: SQL) -> SQL:
    """Return ⌊(f + 1)/2⌋ of an integer of 64 bits."""
    half = call("SHIFTRIGHT", twice, whole(1, "INTEGER"))
    return infix(exp.Add, half, infix(exp.BitwiseAnd, twice, whole(1)))


_INTEGERS = frozenset(("tinyint", "smallint", "int", "bigint"))
_FLOATS = frozenset(("float", "double"))


def _unit_type(type_name: str, kind: Kind) -> str:
    """Return the type in which a unit's column is read: the column's type if the policy keeps its kind."""
    source = casts.COLUMNS.kind_of(type_name)
    if kind == "text":
        return "string"
    if source == kind or (source == "integer" and kind == "real"):
        return type_name
    return SparkDialect.kind_types[kind]


SPARK = SparkDialect()
