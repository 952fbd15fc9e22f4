"""The dialect of PostgreSQL, and the numbering of statement parameters.

Integers up to 64 bits are BIGINTs. Larger ones are NUMERICs without a fraction, whose products, sums and quotients by
DIV are exact. Every text has the collation "C", even if its column or the database has a different one. So text is
compared and grouped by code point, and no two units or keys become equal. Parameters have numbers: the hash's keys are
$1 and $2, and a list of keys is followed by the positions of its values.

**The hash** of some values is PostgreSQL's hash of a record, seeded with one key, and hashed again with the other key,
because a record's hash is a plain sum of its parts' hashes. It is the same for equal values of one type in all
statements of a plan. Only 32 bits enter the second round; cells that agree in them are ordered by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

from sqlglot import exp

from tacit.engines.postgres import casts
from tacit.engines.postgres.doubles import filled
from tacit.engines.postgres.functions import postgres_forms
from tacit.engines.sql.builder import SQL, TYPES, call, cast, infix, powers, product, real, whole
from tacit.engines.sql.column_types import ColumnTypes, before_parenthesis
from tacit.engines.sql.dialect import Dialect, ListColumns, different_unit_types
from tacit.engines.sql.runner import StatementParameters
from tacit.errors import InternalError, InvalidError
from tacit.query.expressions import Kind

_KEYS = {"h0": 1, "h1": 2}
_FIRST, _DISTANCE = {"k": 3, "s": 5}, 3
_FARTHEST_STEP = 1024
_SPLIT = 60
_SMALL = 2**20


def number_of(parameter: str) -> int:
    """Return the number of a parameter: h0 and h1, then the lists k0, s0, k1, s1 …; positions follow each k list.

    >>> [number_of(name) for name in ("h0", "h1", "k0", "s0", "k1")]
    [1, 2, 3, 5, 6]
    """
    if parameter in _KEYS:
        return _KEYS[parameter]
    match = re.fullmatch(r"([ks])(\d+)", parameter)
    if match is None:
        raise InternalError(f"there is no parameter {parameter}.")
    return _FIRST[match[1]] + _DISTANCE * int(match[2])


def numbered(parameters: StatementParameters) -> list[object]:
    r"""Return parameters in the order of their numbers: signed 64-bit keys of the hash, lists, and their positions.

    PostgreSQL cannot hold a text with NUL, so no row equals such a value, and it is left out of its list.

    >>> numbered({"h0": 2**64 - 1, "h1": 1, "k0": ["a", "a\0", None]})
    [-1, 1, ['a', None], [0, 2]]
    """
    by_number: dict[int, object] = {}
    for name, value in parameters.items():
        number = number_of(name)
        if isinstance(value, int):
            by_number[number] = value - 2**64 if value >= 2**63 else value
            continue
        positions = [index for index, item in enumerate(value) if not (isinstance(item, str) and "\0" in item)]
        by_number[number] = _same_type([value[index] for index in positions])
        if name.startswith("k"):
            by_number[number + 1] = positions
    return [by_number.get(number, 0) for number in range(1, max(by_number, default=0) + 1)]


def _same_type(values: list[Any]) -> list[Any]:
    """Return all numbers as floats if one of them is a float."""
    if any(isinstance(value, float) for value in values):
        return [None if value is None else float(value) for value in values]
    return values


class PostgresDialect(Dialect):
    """PostgreSQL's SQL."""

    name: ClassVar[str] = "postgres"
    engine: ClassVar[str] = "PostgreSQL"
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
    columns: ClassVar[ColumnTypes] = casts.COLUMNS
    kind_types: ClassVar[Mapping[Kind, str]] = MappingProxyType(
        {
            "integer": "int8",
            "real": "float8",
            "text": "text",
            "boolean": "bool",
            "date": "date",
            "timestamp": "timestamp",
        }
    )

    def __init__(self, *, rereads: bool = False) -> None:
        """Prepare the forms of functions; with `rereads`, a statement may read its source several times."""
        self.forms = postgres_forms(self)
        self._rereads = rereads

    def read_unit(self, raw: SQL, type_name: str, kind: Kind) -> SQL:
        """Return the unit's column, unconverted if the policy keeps its kind; text is compared by code point.

        A number that the policy declares as an integer is not rounded, because that could merge two units.
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

    def unit_type(self, type_name: str, kind: Kind) -> str:
        """Return the type in which a unit's column is read."""
        return _unit_type(type_name, kind)

    def comparable_units(self, left: tuple[SQL, str], right: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
        """Return two unit columns such that they are equal exactly where the units are, or raise InvalidError.

        Columns of the same type, and integers of any lengths, stay unchanged. A float4 becomes a float8. Text, and
        types with one text for each value (enum, uuid), become text. All of these conversions are one to one.
        """
        types = [_unit_type(type_name, kind) for _, type_name in (left, right)]
        if types[0] == types[1] or set(types) <= casts.INTEGERS:
            return left[0], right[0]
        if set(types) <= casts.FLOATS:
            return cast(left[0], "DOUBLE"), cast(right[0], "DOUBLE")
        if kind == "text":
            return cast(left[0], "TEXT"), cast(right[0], "TEXT")
        raise different_unit_types(*types)

    def text(self, tree: SQL) -> str:
        """Return a tree in this dialect, with every text under the collation "C"."""
        holder = exp.Paren(this=tree.copy())
        self._retype(holder)
        for node in list(holder.walk()):
            if isinstance(node, exp.Cast) and node.to.this == exp.DType.TEXT:
                by_code_point = exp.Collate(expression=exp.to_identifier("C", quoted=True))
                node.replace(by_code_point)
                by_code_point.set("this", node)
            elif isinstance(node, exp.Literal) and node.is_string and "\0" in node.this:
                raise InvalidError(
                    "A text in the query contains the character NUL, which PostgreSQL does not support.", argument="sql"
                )
        return self._generate(holder)

    def parameter(self, name: str) -> str:
        """Return a parameter as a statement writes it."""
        return f"${number_of(name)}"

    def list_select(self, columns: ListColumns, position: str, count: int) -> str:
        """Return a SELECT of parallel public lists with their positions.

        A list of keys is sent with its positions, because some of its values may be left out (see `numbered`).
        """
        del count
        lists = [f"CAST({self.parameter(held)} AS {self.type_of(TYPES[kind])}[])" for held, _, kind in columns]
        first, ordered = columns[0][0], ""
        if first.startswith("k"):
            lists.append(f"CAST(${number_of(first) + 1} AS BIGINT[])")
        else:
            ordered = " WITH ORDINALITY"
        items = [f'{name} COLLATE "C" AS {name}' if kind == "text" else name for _, name, kind in columns]
        names = ", ".join([*(name for _, name, _ in columns), position])
        items.append(f"{position} - 1 AS {position}" if ordered else position)
        return f"SELECT {', '.join(items)} FROM UNNEST({', '.join(lists)}){ordered} AS listed({names})"  # noqa: S608 - built here

    def null_safe_equal(self, left: str, right: str) -> str:
        """Return whether two values are equal or both NULL: arrays compare like that, and hash joins support them."""
        return f"ARRAY[{left}] = ARRAY[{right}]"

    def nearest(self, value: SQL, step: Fraction, target: str, *, positive: bool = False) -> SQL:
        """Return ⌊value/step + ½⌋, which is ⌊(⌊2·value/step⌋ + 1)/2⌋; see `measures`.

        If 2/step is below 1, the product could underflow; but for values below step/4 the result is 0.

        An integer x beyond 64 bits is assembled from x/2^60 truncated, which has at most 63 bits, and the rest. The
        rest has the sign of x, is not larger in absolute value, and is a multiple of the unit in the last place of x,
        so it is a double. (Rounding down instead would lose a small negative x: 2^60 + x is not a double.)
        """
        del positive
        twice = call("FLOOR", product([value, *powers(2 / step)]))
        if target == "HUGEINT":
            upper = filled("TRUNC(x * down)", x=twice, down=real(2.0**-_SPLIT))
            up = {"up": real(2.0**_SPLIT), "whole_up": whole(2**_SPLIT, "HUGEINT")}
            halves = {"upper": upper, "lower": filled("x - upper * up", x=twice, upper=upper, **up)}
            twice = filled("CAST(upper AS BIGINT) * whole_up + CAST(lower AS BIGINT)", **halves, **up)
        else:
            twice = cast(twice, target)
        rounded = self.shifted(infix(exp.Add, twice, whole(1, target)), 1, target)
        if step <= 2:  # noqa: PLR2004 - see above
            return rounded
        if step >= Fraction(2) ** (_FARTHEST_STEP + 2):
            return whole(0, target)
        return filled(
            "CASE WHEN ABS(x) < quarter THEN nil ELSE rounded END",
            x=value,
            quarter=real(float(step / 4)),
            nil=whole(0, target),
            rounded=rounded,
        )

    def shifted(self, value: SQL, bits: int, target: str) -> SQL:
        """Return ⌊value/2^bits⌋ by an arithmetic shift, or by an exact product for a NUMERIC."""
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

    def bounded(self, value: SQL, most: int, *, one_unit: bool = False) -> SQL:
        """Return an exact sum: in 64 bits for small numbers of one unit, which is faster, otherwise as a NUMERIC.

        A small number is below 2^20. 64 bits hold the sum of 2^43 of them, and a table has at most 2^32 pages of 291
        rows, which is below 2^41. A join with 2^43 rows of one unit would reach the time limit long before.
        """
        return call("SUM", cast(value, "USMALLINT")) if one_unit and most < _SMALL else self.total(value)  # of 4 bytes

    def unit_halves(self, type_name: str, kind: Kind) -> tuple[str, str] | None:
        """Return two conditions on u, by the sign of a hash, or None if the source must be read once.

        PostgreSQL groups and joins by these hashes, so equal units have equal hashes: 0.0 and -0.0, 1.0 and 1.00. The
        hash has no key. If somebody chose all units from one half, the query would only take longer. The planner
        estimates that each condition holds for a third of the rows, so it expects halves of some size.
        """
        if not self._rereads:
            return None
        if kind == "integer" and before_parenthesis(type_name) in casts.INTEGERS:
            hashed = "HASHINT8EXTENDED(CAST(u AS BIGINT), 0)"
        elif _unit_type(type_name, kind) == "text":
            hashed = "HASHTEXTEXTENDED(u, 0)"
        else:
            hashed = "HASH_RECORD_EXTENDED(ROW(u), 0)"
        return f"{hashed} >= 0", f"{hashed} < 0"

    def hashed(self, columns: Sequence[str]) -> str:
        """Return a hash of some columns under both keys."""
        record = f"HASH_RECORD_EXTENDED(ROW({', '.join(columns)}), CAST({self.parameter('h0')} AS BIGINT))"
        return f"HASHINT8EXTENDED({record}, CAST({self.parameter('h1')} AS BIGINT))"


def _unit_type(type_name: str, kind: Kind) -> str:
    """Return the type in which a unit's column is read: the column's type if the policy keeps its kind, or text."""
    source = casts.COLUMNS.kind_of(type_name)
    if source == kind or (source == "integer" and kind == "real"):
        plain = before_parenthesis(type_name)
        return "text" if plain in casts.TEXTS or plain == "enum" else plain
    return PostgresDialect.kind_types[kind]


def _decimal(bits: int) -> str:
    """Return 2^-bits with all its digits.

    >>> _decimal(1), _decimal(4)
    ('0.5', '0.0625')
    """
    return f"0.{5**bits:0{bits}d}" if bits else "1"


POSTGRES = PostgresDialect()
REREADING_POSTGRES = PostgresDialect(rereads=True)
"""The dialect for tables that have the same rows each time that a statement reads them (`sources.PostgresTable`)."""
