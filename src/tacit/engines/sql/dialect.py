"""The interface of a dialect: how an engine writes types, casts, functions, exact integers and keyed hashes.

Statements are built as trees with the type names of DuckDB. A dialect turns a tree into its engine's text, which
must have the same meaning on every row:

* an integer is exact: BIGINT has 64 bits, HUGEINT holds at least ±2^126, and no step rounds;
* no row makes a statement fail, and NULL passes through;
* doubles follow IEEE 754, except that NaN is equal to itself and larger than all others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect

from tacit.engines.sql.builder import SQL, call, infinity, infix, when
from tacit.engines.sql.column_types import Casts, ColumnTypes
from tacit.errors import InvalidError
from tacit.query.expressions import Kind

if TYPE_CHECKING:
    from tacit.engines.sql.functions import Form

ListColumns: TypeAlias = Sequence[tuple[str, str, Kind]]
"""Columns of a public list: for each the parameter that holds its values, its name, and its kind."""


@cache
def _sqlglot_dialect(name: str) -> SqlglotDialect:
    return SqlglotDialect.get_or_raise(name)


@cache
def _duckdb_name(plain: exp.DType) -> str:
    """Return the name in DuckDB of a type without parameters."""
    return exp.DataType(this=plain).sql("duckdb")


@cache
def _built_type(name: str, dialect: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=dialect)


class Dialect(ABC):
    """The SQL of one engine."""

    name: ClassVar[str]
    """The name of the dialect in sqlglot."""

    engine: ClassVar[str]
    """The name of the engine in messages."""

    materialized: ClassVar[str] = "MATERIALIZED "
    """The keyword before a common table that is read twice."""

    computes_again: ClassVar[bool] = False
    """True if a common table is computed once for each use of it, even with that keyword."""

    joins_bins: ClassVar[bool] = False
    """True if sums and bins come from one statement that ranks rows, because groupings cost more (`joint_statement`).

    Its sums of one unit's rows must be calls that a window accepts.
    """

    clamps_at_once: ClassVar[bool] = False
    """True if clamping all rows takes less time than a CASE that finds the rows inside the bounds."""

    sums_doubles: ClassVar[bool] = False
    """True if a sum of doubles takes less time than a sum of integers (`double_sums`)."""

    after_layer: ClassVar[str] = ""
    """A clause after a layer of computed columns, so that each column is computed once."""

    deepest: ClassVar[int | None] = None
    """The number of layers of computed columns that the engine supports; None if there is no limit."""

    types: ClassVar[Mapping[str, str]] = {}
    """The types that have another name than in DuckDB, by their names there."""

    most_bits: ClassVar[int] = 63
    """The largest number of cells for which a unit's cells are chosen by words of bits (`contribution_bounding`)."""

    forms: Mapping[str, Form]
    """How every supported function is written."""

    columns: ClassVar[ColumnTypes]
    """The engine's types and casts."""

    kind_types: ClassVar[Mapping[Kind, str]]
    """The name of the engine's type in which each kind is stored, as `ColumnTypes` knows it."""

    repeats: ClassVar[frozenset[Kind]] = frozenset({"text"})
    """The kinds from which a cast writes its operand more than once."""

    # Columns

    @property
    def casts(self) -> Casts:
        """The casts, by the kinds from and to."""
        return self.columns.casts

    def kind_of(self, type_name: str) -> Kind | None:
        """Return the kind of a type, or None if its columns are not supported."""
        return self.columns.kind_of(type_name)

    def read(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return a column as a value of the kind that its policy declares, or raise InvalidError.

        A double may be NaN; see `may_be_nan`.
        """
        return self.columns.read(raw, type_name, kind)

    def read_exact_text(self, raw: SQL, type_name: str) -> SQL:
        """Return a column of text as text, such that different values stay different."""
        return self.read(raw, type_name, "text")

    def may_be_nan(self, type_name: str, kind: Kind) -> bool:
        """Return whether a column can hold NaN when it is read as a kind."""
        return self.columns.may_be_nan(type_name, kind)

    @abstractmethod
    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column, unconverted if the policy keeps its kind, so that no two units become equal."""

    @abstractmethod
    def unit_type(self, type_name: str, kind: Kind) -> str:
        """Return the type in which a unit's column is read."""

    @abstractmethod
    def comparable_units(self, left: tuple[SQL, str], right: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two unit columns, given with their types, such that they are equal exactly where the units are.

        Raises:
            InvalidError: the types cannot be compared without loss.
        """

    # Text

    def text(self, tree: SQL) -> str:
        """Return a tree in this dialect."""
        holder = exp.Paren(this=tree.copy())
        if self.types:
            self._retype(holder)
        return self._generate(holder)

    def _retype(self, holder: exp.Paren) -> None:
        """Replace the types inside a holder that have another name in this dialect."""
        for node in list(holder.find_all(exp.DataType)):
            type_name = None if node.expressions else self.types.get(_duckdb_name(node.this))
            if type_name is not None:
                node.replace(_built_type(type_name, self.name).copy())

    def _generate(self, holder: exp.Paren) -> str:
        """Return the text of a tree that nobody else holds; it may change."""
        tree: SQL = holder.this.pop()
        return _sqlglot_dialect(self.name).generate(tree, copy=False, comments=False)

    def type_of(self, name: str) -> str:
        """Return the engine's name for a type of DuckDB."""
        return self.text(exp.DataType.build(name, dialect="duckdb"))

    def layer_source(self, below: str, level: int, prefix: str) -> str:
        """Return the FROM clause of a layer, over the layer below; see `after_layer`.

        No column below has a name that starts with the prefix and an underscore.
        """
        del prefix
        return f"{below}{self.after_layer if level else ''}"

    def parameter(self, name: str) -> str:
        """Return a parameter as a statement writes it."""
        return f"${name}"

    @abstractmethod
    def list_select(self, columns: ListColumns, position: str, count: int) -> str:
        """Return a SELECT of parallel public lists of `count` values, with their positions from 0 on."""

    def null_safe_equal(self, left: str, right: str) -> str:
        """Return whether two values are equal or both NULL, in a form that hash joins support."""
        return f"{left} IS NOT DISTINCT FROM {right}"

    # Doubles and integers

    def without_nan(self, value: SQL) -> SQL:
        """Return a double with NULL for NaN; the value is written twice."""
        return when((infix(exp.LTE, value, infinity()), value))

    def finite(self, value: SQL) -> SQL:
        """Return whether a double is neither infinite nor NaN."""
        return infix(exp.LT, call("ABS", value), infinity())

    @abstractmethod
    def nearest(self, value: SQL, step: Fraction, target: str, *, positive: bool = False) -> SQL:
        """Return ⌊value/step + ½⌋ as an integer of a type that can hold twice as much; step is a power of two.

        With `positive`, no value is below 0.
        """

    @abstractmethod
    def shifted(self, value: SQL, bits: int, target: str) -> SQL:
        """Return ⌊value/2^bits⌋ of an integer of a type."""

    @abstractmethod
    def quotient(self, dividend: SQL, divisor: SQL, target: str) -> SQL:
        """Return a quotient of integers of a type, truncated toward zero; it fits 63 bits and the divisor is not 0."""

    def remainder(self, dividend: SQL, divisor: SQL) -> SQL:
        """Return the remainder of a division of integers."""
        return infix(exp.Mod, dividend, divisor)

    def total(self, value: SQL, *, one_unit: bool = False) -> SQL:
        """Return an exact sum of integers; with `one_unit`, of one unit's rows, where NULL may replace a large sum."""
        del one_unit
        return call("SUM", value)

    def bounded(self, value: SQL, most: int, *, one_unit: bool = False) -> SQL:
        """Return an exact sum of integers whose absolute values are at most `most`; `one_unit` as above."""
        del most
        return self.total(value, one_unit=one_unit)

    # Hashes

    def unit_halves(self, type_name: str, kind: Kind) -> tuple[str, str] | None:
        """Return two conditions on u, or None if a statement must not read its source again (`weighted_statement`).

        Exactly one condition is true for a unit, and equal units have the same one. The unit's column has this type,
        and the policy declares it as this kind.
        """
        del type_name, kind
        return None

    @abstractmethod
    def hashed(self, columns: Sequence[str]) -> str:
        """Return a hash of some columns under the parameters h0 and h1, the keys."""


def different_unit_types(left: str, right: str) -> InvalidError:
    """Return the error for a join of private tables whose unit columns cannot be compared without loss."""
    return InvalidError(
        f"Cannot join private tables whose unit columns have the types {left} and {right}: "
        "they cannot be compared exactly.",
        argument="sql",
        hint="Ask the data steward to store the unit columns with one type.",
    )
