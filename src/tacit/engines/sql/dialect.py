"""What differs between engines: how types, casts, functions, exact integers and keyed hashes are written.

Statements are built in one language, whose types are called as DuckDB calls them; a dialect turns a tree into its own
text. Whatever a dialect writes has to mean the same on every row:

* an integer is exact: BIGINT has 64 bits, HUGEINT holds at least ±2^126, and nothing is rounded on the way;
* nothing fails on a row, and NULL passes through;
* doubles follow IEEE 754, NaN being equal to itself and larger than all others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from tacit.engines.sql.builder import SQL, call, infinity, infix, when
from tacit.engines.sql.columns import Casts, Columns
from tacit.query.expressions import Kind

if TYPE_CHECKING:
    from tacit.engines.sql.functions import Form

Listed = Sequence[tuple[str, str, Kind]]
"""Columns of a public list: the parameter that holds each, its name, and its kind."""


class Dialect(ABC):
    """How one engine writes what all engines do."""

    name: ClassVar[str]
    """What sqlglot calls it."""

    held: ClassVar[str] = "MATERIALIZED "
    """What stands before a part that is read twice."""

    after_layer: ClassVar[str] = ""
    """What stands after a layer of computed columns, so that each is computed once."""

    deepest: ClassVar[int | None] = None
    """How many layers of computed columns the engine can take; None: any number."""

    types: ClassVar[Mapping[str, str]] = {}
    """The types that are called otherwise than in DuckDB, by their names there."""

    most_bits: ClassVar[int] = 63
    """Up to how many cells a unit's choice is made on words of bits; beyond that, cells are numbered (see `keep`)."""

    forms: Mapping[str, Form]
    """How every listed function is written."""

    columns: ClassVar[Columns]
    """The engine's types, and its casts."""

    repeats: ClassVar[frozenset[Kind]] = frozenset({"text"})
    """The kinds from which a cast writes its operand more than once."""

    # Columns

    @property
    def casts(self) -> Casts:
        """How casts are written, by the kinds from and to."""
        return self.columns.casts

    def kind_of(self, type_name: str) -> Kind | None:
        """Return the kind of a type, or None if its columns cannot be used."""
        return self.columns.kind_of(type_name)

    def read(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return a column of some type as a value of the kind that its policy says, or raise InvalidError.

        A double may be NaN; see `may_be_nan`.
        """
        return self.columns.read(raw, type_name, kind)

    def told_apart(self, raw: SQL, type_name: str) -> SQL:
        """Return a column of text as text, of which no two different values are the same."""
        return self.read(raw, type_name, "text")

    def may_be_nan(self, type_name: str, kind: Kind) -> bool:
        """Whether a column can hold NaN as the policy types it."""
        return self.columns.may_be_nan(type_name, kind)

    @abstractmethod
    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column: the very value if the policy leaves its kind, so that no two units become one."""

    @abstractmethod
    def alike(self, one: tuple[SQL, str], two: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two units' columns, given with their types, so that they are equal just where the units are.

        Raises:
            InvalidError: they cannot be compared without loss.
        """

    # Text

    def text(self, tree: SQL) -> str:
        """Return a tree in this dialect."""
        own = tree.transform(self._retyped) if self.types else tree
        return own.sql(self.name, comments=False)

    def _retyped(self, node: SQL) -> SQL:
        if isinstance(node, exp.DataType):
            called = self.types.get(node.sql("duckdb"))
            if called is not None:
                return exp.DataType.build(called, dialect=self.name)
        return node

    def type_of(self, name: str) -> str:
        """Return what a type is called, by its name in DuckDB."""
        return self.text(exp.DataType.build(name, dialect="duckdb"))

    def over(self, below: str, place: int, letter: str) -> str:
        """Return what stands after FROM in the layer at a place, over what is below it; see `after_layer`.

        No column below has a name that begins with the letter and an underscore.
        """
        del letter
        return f"{below}{self.after_layer if place else ''}"

    def parameter(self, name: str) -> str:
        """Return how a parameter is written."""
        return f"${name}"

    @abstractmethod
    def listed(self, columns: Listed, place: str, count: int) -> str:
        """Return a SELECT of public lists of `count` values, beside each other, with their places from 0 on."""

    def same(self, one: str, other: str) -> str:
        """Return whether two values are equal or both NULL, written so that it can be hashed."""
        return f"{one} IS NOT DISTINCT FROM {other}"

    # Doubles and integers

    def without_nan(self, value: SQL) -> SQL:
        """Return a double with NULL for NaN; the value is written twice."""
        return when((infix(exp.LTE, value, infinity()), value))

    def finite(self, value: SQL) -> SQL:
        """Return whether a double is neither infinite nor NaN."""
        return infix(exp.LT, call("ABS", value), infinity())

    @abstractmethod
    def nearest(self, value: SQL, step: Fraction, target: str) -> SQL:
        """Return ⌊value/step + ½⌋ as an integer of a type that holds twice as much; step is a power of two."""

    @abstractmethod
    def shifted(self, value: SQL, bits: int, target: str) -> SQL:
        """Return ⌊value/2^bits⌋ of an integer of a type."""

    @abstractmethod
    def quotient(self, dividend: SQL, divisor: SQL, target: str) -> SQL:
        """Return a quotient of integers of a type, truncated toward zero; it fits 63 bits and the divisor is not 0."""

    def remainder(self, dividend: SQL, divisor: SQL) -> SQL:
        """Return what a quotient of integers leaves."""
        return infix(exp.Mod, dividend, divisor)

    def total(self, value: SQL, *, own: bool = False) -> SQL:
        """Return an exact sum of integers; `own`: of one unit's rows, where NULL may stand for what is too large."""
        del own
        return call("SUM", value)

    def bounded(self, value: SQL, most: int, *, own: bool = False) -> SQL:
        """Return an exact sum of integers none of which is larger in size than `most`; `own` as above."""
        del most
        return self.total(value, own=own)

    # Hashes

    @abstractmethod
    def hashed(self, columns: Sequence[str]) -> str:
        """Return a hash of some columns under the parameters h0 and h1, the keys."""
