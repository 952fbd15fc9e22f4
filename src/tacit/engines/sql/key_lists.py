"""Public lists of keys as SQL: their parameters, the joins of rows with them, and the number of a row's cell.

A factor is a listed key, or several keys whose tuples are listed (`query.key_tuples`). The list of a factor is a common
table `key0` … with a column `k0` … for each key and the codes `c0` …, numbered by the factor's first key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tacit.engines.sql.builder import SQL, call, cast, column, infix, whole, writable
from tacit.engines.sql.dialect import Dialect
from tacit.errors import InvalidError
from tacit.query.expressions import Value
from tacit.query.key_tuples import KeyTuples
from tacit.query.plan import Key, Plan


def key_lists(plan: Plan) -> dict[str, Sequence[Value]]:
    """Return the parameters that hold the public lists of keys; those of one factor are parallel."""
    return {
        f"k{place}": values
        for factor in plan.restrictions
        for place, values in zip(factor.places, factor.columns, strict=True)
    }


def all_keys(plan: Plan) -> tuple[Key, ...]:
    """Return the keys of the cells, and then those that only decide which rows count."""
    return (*plan.keys, *plan.within)


def key_joins(plan: Plan, dialect: Dialect) -> str:
    """Return the joins of columns g0 … with the public lists of keys; a key without a list has no join.

    If the cells add up to a public size, rows with other values stay.
    """
    join = "LEFT JOIN" if plan.adds_up else "JOIN"
    keys = {place: f"g{place}" for place in range(len(plan.keys))}
    return "".join(f" {join} {join_with_list(factor, keys, dialect)}" for factor in plan.factors)


def join_with_list(factor: KeyTuples, keys: Mapping[int, str], dialect: Dialect) -> str:
    """Return the list of a factor and the test that a row's keys are equal to one of its tuples."""
    tests = [
        _key_test(keys[place], f"k{place}", values, dialect)
        for place, values in zip(factor.places, factor.columns, strict=True)
    ]
    return f"{list_name(factor)} ON {' AND '.join(tests)}"


def _key_test(value: str, listed: str, values: Sequence[Value], dialect: Dialect) -> str:
    """Return the test that a row's key equals a value of the list; NULL matches only if the list has NULL."""
    return dialect.null_safe_equal(value, listed) if None in values else f"{value} = {listed}"


def list_name(factor: KeyTuples) -> str:
    """Return the name of the common table that holds the list of a factor."""
    return f"key{factor.places[0]}"


def _code(factor: KeyTuples) -> str:
    """Return the column that numbers the tuples of a factor."""
    return f"c{factor.places[0]}"


def list_with_codes(factor: KeyTuples, keys: Sequence[Key], dialect: Dialect) -> str:
    """Return a SELECT of a public list of values, or of tuples, with their codes."""
    if len(set(factor.rows())) < factor.size:  # a row would be in two cells
        raise InvalidError(
            "A list of keys contains a value twice.", argument="keys", hint="List each of the different values once."
        )
    for value in {value for values in factor.columns for value in values if isinstance(value, str)}:
        writable(value)  # engines differ in how they read half a surrogate pair
    columns = [(f"k{place}", f"k{place}", keys[place].expression.kind) for place in factor.places]
    return dialect.list_select(columns, _code(factor), factor.size)


def cell_of(plan: Plan) -> SQL:
    """Return the number of a row's cell: the first factor's code counts most, and without keys it is 0.

    A row without a code counts under the factor's default, if there is one. If another code is missing, the number is
    NULL and the row is in the rest, if the plan has it.
    """
    number, cells = whole(0), plan.measured_cells
    for index, factor in enumerate(plan.factors):
        code = column(_code(factor))
        code = code if factor.default is None else call("COALESCE", code, whole(factor.default))
        number = infix(exp.Add, infix(exp.Mul, number, whole(factor.size)), code) if index else code
    number = call("COALESCE", number, whole(plan.listed)) if plan.rest else number
    return cast(number, "UTINYINT" if cells <= 2**8 else "USMALLINT" if cells <= 2**16 else "UINTEGER")
