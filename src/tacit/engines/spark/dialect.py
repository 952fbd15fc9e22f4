"""How Spark writes what all engines do: ANSI, where whatever does not fit raises, so that nothing may not fit.

**Integers.** HUGEINT is DECIMAL(38,0), which holds ±(10^38 - 1) > ±2^126: sums, differences, products and remainders of
such are exact there, or raise. `DIV` gives 64 bits, and is asked only for quotients that fit. A cast from a double goes
through its shortest decimal and is inexact, so `nearest` takes a double apart, see there.

**Sums.** SUM of 64-bit integers gives 64 bits. Of integers that are at most `most` in size it is exact if there are at
most 2^63/most of them; `bounded` keeps that at 2^40 or more, a million millions: what is larger is split into parts of
22 bits that are summed apart, v = ⌊v/2^22⌋·2^22 + (v mod 2^22), each part with its sign in the first. Where no bound is
known DECIMAL(38,0) is summed: at most 2^63 summands of at most 2^63 stay below 2^126. One unit's own rows in a cell are
never 2^32: `own` sums of d ≤ 2^31 are asked as TRY_SUM, which does not raise whatever they are. Were they more, the
unit's sum would be NULL and the unit would count for nothing there: all d are ≥ 0, so that it is NULL just where
the total does not fit, whatever the order; a function of the unit's own rows, and within its reach.

**Which cells are kept** is told by row numbers: a part that is read twice is computed twice here, so that words (see
`keep`) took 2.0 times the CPU time of the plain `GROUP BY unit, key`, and row numbers 1.4 times, of which Spark keeps
the first few before it sorts. Spreading the rows by unit beforehand saved one exchange and no time.

**Layers.** Spark writes conditions on a layer's columns in terms of those below it, down to the table, which is
exponential in the number of layers. Above the second, each stands on a test that is always true, of the partition's
number, which Spark takes for random and leaves where it is. Below, it may push conditions down to the files.
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
from tacit.engines.sql.columns import Columns
from tacit.engines.sql.dialect import Dialect, Listed
from tacit.errors import InvalidError
from tacit.query.expressions import Kind

_PART = 22
_SMALL = 2**_PART
_NARROW = 2**31
_PUSHED = 2
_LARGE = 2**60  # `measures` holds what is larger as HUGEINT
_TEXT_LIST = "'array<string>'"


class SparkDialect(Dialect):
    """Spark's SQL."""

    name: ClassVar[str] = "databricks"  # sqlglot's Spark drops the TRY of TRY_CAST
    deepest: ClassVar[int | None] = 48  # its analyser takes longer and longer, and runs out of stack at about 75
    held: ClassVar[str] = ""
    most_bits: ClassVar[int] = 0
    types: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"INT128": "DECIMAL(38, 0)", "UTINYINT": "INT", "USMALLINT": "INT", "UINTEGER": "BIGINT"}
    )
    columns: ClassVar[Columns] = casts.COLUMNS
    repeats: ClassVar[frozenset[Kind]] = frozenset({"text", "real"})

    def __init__(self) -> None:
        """Prepare the forms of functions."""
        self.forms = spark_forms(self)

    def told_apart(self, raw: SQL, type_name: str) -> SQL:
        """Return a column of text as text, of which no two different values are the same."""
        return casts.told_apart(raw, type_name)

    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column: the very value if the policy leaves its kind.

        A DECIMAL read as a double, or a day outside the calendar as NULL, would merge or lose units.
        """
        source, own = casts.COLUMNS.kind_of(type_name), casts.as_it_is(raw, type_name)
        if source == "real" and kind == "integer":  # by way of a double, or rounded, two units would become one
            is_whole = infix(exp.EQ, raw, call("FLOOR", raw))
            if type_name in _FLOATS:  # of which FLOOR raises beyond 64 bits; a cast takes 2^63 for the number before it
                nothing_left = infix(exp.EQ, infix(exp.Mod, raw, real(1.0)), real(0.0))
                is_whole = infix(exp.And, nothing_left, infix(exp.LT, raw, real(2.0**63)))
            return when((is_whole, try_cast(raw, "BIGINT")))
        if self.may_be_nan(type_name, kind):
            return self.without_nan(raw)
        return own if source == kind or (source == "integer" and kind == "real") else self.read(raw, type_name, kind)

    def alike(self, one: tuple[SQL, str], two: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two units' columns so that they are equal just where the units are, or raise InvalidError.

        All integers go into 64 bits, FLOAT into DOUBLE, all text into plain text: one to one.
        """
        types = [_unit_type(type_name, kind) for _, type_name in (one, two)]
        if types[0] == types[1]:
            return one[0], two[0]
        if set(types) <= _INTEGERS:
            return cast(one[0], "BIGINT"), cast(two[0], "BIGINT")
        if set(types) <= _FLOATS:
            return cast(one[0], "DOUBLE"), cast(two[0], "DOUBLE")
        if kind == "text":
            return cast(one[0], "TEXT"), cast(two[0], "TEXT")
        raise InvalidError(
            "sql",
            f"units of the types {types[0].upper()} and {types[1].upper()}, which cannot be compared exactly",
            "a question that joins private tables whose unit columns have one type; have the steward store them so",
        )

    def over(self, below: str, place: int, letter: str) -> str:
        """Return what stands after FROM in a layer; see the module."""
        if place <= _PUSHED:
            return below
        part = f"{letter}_{place}"
        return f"(SELECT *, SPARK_PARTITION_ID() AS {part} FROM {below}) AS below WHERE {part} >= 0"  # noqa: S608 - ours

    def parameter(self, name: str) -> str:
        """Return how a parameter is written."""
        return f":{name}"

    def listed(self, columns: Listed, place: str, count: int) -> str:
        """Return a SELECT of public lists: each is one text, a JSON list of texts or null, see `json_list`."""
        del count
        lists = ", ".join(f"FROM_JSON({self.parameter(held)}, {_TEXT_LIST}) AS {own}" for held, own, _ in columns)
        names = ", ".join(own for _, own, _ in columns)
        values = ", ".join(
            f"CAST(col.{own} AS {self.type_of(TYPES[kind])}) AS {own}" if kind != "text" else f"col.{own} AS {own}"
            for _, own, kind in columns
        )
        every = f"SELECT POSEXPLODE(ARRAYS_ZIP({names})) FROM (SELECT {lists}) AS lists"  # noqa: S608 - all of it is ours
        return f"SELECT {values}, CAST(pos AS BIGINT) AS {place} FROM ({every}) AS every"  # noqa: S608 - as above

    def same(self, one: str, other: str) -> str:
        """Return whether two values are equal or both NULL."""
        return f"{one} <=> {other}"

    # Doubles and integers

    def nearest(self, value: SQL, step: Fraction, target: str) -> SQL:
        """Return ⌊y + ½⌋, y = value/step, which is exact, being scaled by a power of two.

        Up to 64 bits: with f = ⌊2y⌋ it is ⌊(f + 1)/2⌋ = ⌊f/2⌋ + (f mod 2), where nothing overflows, whatever y is.

        Beyond: y = h·2^60 + r with h = y/2^60 truncated. r has the sign of y, is not larger in size, and is a multiple
        of the last place of y, so that it is a double; and ⌊y + ½⌋ = h·2^60 + ⌊r + ½⌋, where 2r < 2^61.
        """
        if target != "HUGEINT":
            return cast(_halved(call("FLOOR", product([value, *powers(2 / step)]))), target)
        y = product([value, *powers(1 / step)])
        high = cast(infix(exp.Mul, y, real(2.0**-60)), "BIGINT")
        rest = infix(exp.Sub, y, infix(exp.Mul, cast(high, "DOUBLE"), real(2.0**60)))
        low = _halved(call("FLOOR", infix(exp.Mul, rest, real(2.0))))
        return infix(exp.Add, infix(exp.Mul, cast(high, target), whole(2**60, target)), cast(low, target))

    def shifted(self, value: SQL, bits: int, target: str) -> SQL:
        """Return ⌊value/2^bits⌋: by a shift, or for decimals by taking away the remainder; it fits 64 bits."""
        if target != "HUGEINT":
            return call("SHIFTRIGHT", value, whole(bits, "INTEGER"))
        unit = whole(2**bits, target)
        return cast(infix(exp.IntDiv, infix(exp.Sub, value, call("PMOD", value, unit)), unit), target)

    def quotient(self, dividend: SQL, divisor: SQL, target: str) -> SQL:
        """Return a quotient of integers, truncated toward zero."""
        return cast(infix(exp.IntDiv, dividend, divisor), target)

    def total(self, value: SQL, *, own: bool = False) -> SQL:
        """Return an exact sum of integers of at most 64 bits, or of decimals that stand for such."""
        del own
        return call("SUM", cast(value, "HUGEINT"))

    def bounded(self, value: SQL, most: int, *, own: bool = False) -> SQL:
        """Return an exact sum of integers that are at most `most` in size; see the module."""
        if own:
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
        """Return a hash of some columns between both keys: each step of it begins with what came before."""
        first, last = (f"CAST({self.parameter(key)} AS BIGINT)" for key in ("h0", "h1"))
        return f"XXHASH64({', '.join([first, *columns, last])})"


def _halved(twice: SQL) -> SQL:
    """Return ⌊(f + 1)/2⌋ of an integer of 64 bits."""
    half = call("SHIFTRIGHT", twice, whole(1, "INTEGER"))
    return infix(exp.Add, half, infix(exp.BitwiseAnd, twice, whole(1)))


_INTEGERS = frozenset(("tinyint", "smallint", "int", "bigint"))
_FLOATS = frozenset(("float", "double"))


def _unit_type(type_name: str, kind: Kind) -> str:
    """Return the type in which a unit's column is read: its own if the policy leaves its kind."""
    own = casts.COLUMNS.kind_of(type_name)
    if kind == "text":
        return "string"
    if own == kind or (own == "integer" and kind == "real"):
        return type_name
    return {"integer": "bigint", "real": "double", "timestamp": "timestamp_ntz"}.get(kind, kind)


SPARK = SparkDialect()
