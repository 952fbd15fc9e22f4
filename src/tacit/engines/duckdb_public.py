"""What a public table holds: its columns' values, bounds, and whether no value stands twice, read when it is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

import duckdb

from tacit.engines.duckdb_casts import finite, may_be_nan, read, without_nan
from tacit.engines.duckdb_sql import SQL, column
from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Kind, Value
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.policy_values import read_keys

MOST_VALUES: Final = 10_000
"""Of a column with more different values none is a key."""


def public_policy(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    name: str,
    types: Mapping[str, str],
    kinds: Mapping[str, Kind],
    neighbours: Neighbours = "add/remove",
) -> TablePolicy:
    """Return the policy of a public table: keys and bounds are what its columns hold.

    Args:
        connection: where the table lies.
        view: what it is called there.
        name: what it is called in SQL.
        types: the DuckDB types of its columns.
        kinds: as what the columns that may be named are to be read.
        neighbours: the relation of the private tables that it is joined with; its own rows never differ.
    """
    columns = {own: _column(connection, view, own, types[own], kind) for own, kind in kinds.items()}
    return TablePolicy(
        name=name,
        unit=None,
        max_groups=1,
        max_rows=1,
        neighbours=neighbours,
        columns=MappingProxyType(columns),
        public=True,
    )


def _column(connection: duckdb.DuckDBPyConnection, view: str, name: str, type_name: str, kind: Kind) -> ColumnPolicy:
    value = read(column(name), type_name, kind)
    if may_be_nan(type_name, kind):
        value = without_nan(value)
    asked = f"SELECT COUNT(v), COUNT(DISTINCT v) FROM ({_values(value, view)})"  # noqa: S608 - all of it is ours
    there, different = connection.execute(asked).fetchall()[0]
    keys = None
    if different <= MOST_VALUES:
        listed = connection.execute(f"SELECT DISTINCT v FROM ({_values(value, view)})").fetchall()  # noqa: S608 - as above
        keys = _keys((row[0] for row in listed), kind)
    bounds = _bounds(connection, value, view, kind) if kind in ("integer", "real") else None
    return ColumnPolicy(kind=kind, bounds=bounds, keys=keys, unique=there == different)


def _values(value: SQL, view: str) -> str:
    return f"SELECT {value.sql('duckdb')} AS v FROM {view}"  # noqa: S608 - all of it is ours


def _keys(values: Iterable[Value], kind: Kind) -> tuple[Value, ...] | None:
    """Return the values that can be keys, in order, NULL last; None if there are none."""
    found = {one for value in values for one in _key(value, kind)}
    return tuple(sorted(found, key=lambda value: (value is None, value))) or None


def _key(value: Value, kind: Kind) -> tuple[Value, ...]:
    try:
        return read_keys((value,), kind)
    except InvalidError:
        return ()  # infinite, or a text that is none


def _bounds(
    connection: duckdb.DuckDBPyConnection, value: SQL, view: str, kind: Kind
) -> tuple[Fraction, Fraction] | None:
    """Return the least and the largest finite value, if there is one."""
    where = f" WHERE {finite(column('v')).sql('duckdb')}" if kind == "real" else ""
    asked = f"SELECT MIN(v), MAX(v) FROM ({_values(value, view)}){where}"  # noqa: S608 - as above
    low, high = connection.execute(asked).fetchall()[0]
    return None if low is None else (Fraction(repr(low)), Fraction(repr(high)))
