"""The policy of a public table, read from its rows: its size and rows, and the keys and bounds of its columns.

All of it is read once, when the table is opened. A query uses these values even if the table has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from tacit.engines.sql.builder import column
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Layers
from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Column, Kind, Value
from tacit.query.policy import ColumnPolicy, PublicRows, TablePolicy
from tacit.query.policy.column_values import read_keys

ReadRows: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement and returns its rows."""

MOST_VALUES: Final = 10_000
"""The largest number of distinct values that a column may have for its values to be keys."""

MOST_ROWS: Final = 100_000
"""The largest number of distinct rows of a public table that tacit stores when it opens the table."""


def public_policy(
    run: ReadRows,
    dialect: Dialect,
    view: str,
    types: Mapping[str, str],
    kinds: Mapping[str, Kind],
    *,
    name: str,
    neighbours: Neighbours = "add/remove",
    timezone: str | None = None,
) -> TablePolicy:
    """Return the policy of a public table, with the keys and bounds of its rows.

    Args:
        run: runs a statement in the engine that holds the table.
        dialect: of that engine.
        view: how the table is written there after FROM.
        types: the types of its columns.
        kinds: the kinds as which the columns are read.
        name: the table's name in queries.
        neighbours: the relation of the private tables that it is joined with; public rows never differ.
        timezone: the zone in which instants are read; without one they are not read.
    """
    columns: dict[str, ColumnPolicy] = {}
    ((size,), *_) = run(f"SELECT COUNT(*) FROM {view}")  # noqa: S608 - built here
    for column_name, kind in kinds.items():
        zone = (timezone or "") if dialect.columns.is_zoned(types[column_name]) else None
        policy = ColumnPolicy(kind=kind, timezone=zone)
        columns[column_name] = policy if zone == "" else _column(run, dialect, view, types, policy.named(column_name))
    return TablePolicy(
        name=name,
        unit=None,
        max_groups=1,
        max_rows=1,
        neighbours=neighbours,
        columns=MappingProxyType(columns),
        public=True,
        size=size,
        content=PublicRows(tuple(columns), ()) if size == 0 else _content(run, dialect, view, types, columns),
    )


def _content(
    run: ReadRows, dialect: Dialect, view: str, types: Mapping[str, str], columns: Mapping[str, ColumnPolicy]
) -> PublicRows | None:
    """Return the distinct rows over all columns with keys; None if there are no such columns, or too many rows."""
    keys = [policy.named(name) for name, policy in columns.items() if policy.keys is not None]
    if not keys:
        return None
    layers = Layers(dialect, types, keys)
    items = ", ".join(f"{dialect.text(layers.value(key))} AS v{index}" for index, key in enumerate(keys))
    selects = layers.selects(view)
    tables = ", ".join(f"{layer} AS ({select})" for layer, select in selects)
    rows = run(f"WITH {tables} SELECT DISTINCT {items} FROM {selects[-1][0]} LIMIT {MOST_ROWS + 1}")  # noqa: S608 - as above
    if len(rows) > MOST_ROWS:
        return None
    kinds = [key.kind for key in keys]
    distinct = {tuple(_readable(*each) for each in zip(row, kinds, strict=True)) for row in rows}
    ordered = sorted(distinct, key=lambda row: [(value is None, value) for value in row])
    return PublicRows(tuple(key.name for key in keys), tuple(ordered))


def _readable(value: Value, kind: Kind) -> Value:
    """Return a value in the form that keys have, if it can be a key."""
    return next(iter(_key(value, kind)), value)


def is_unique(run: ReadRows, dialect: Dialect, view: str, types: Mapping[str, str], key: Column) -> bool:
    """Return whether no value except NULL occurs twice in a column now."""
    return _counts(run, _values(dialect, view, types, key))[1] <= 1


def _values(dialect: Dialect, view: str, types: Mapping[str, str], key: Column) -> str:
    """Return a SELECT of a column's values as v."""
    if key.timezone is None:
        value = dialect.read(column(key.name), types[key.name], key.kind)
        value = dialect.without_nan(value) if dialect.may_be_nan(types[key.name], key.kind) else value
        return f"SELECT {dialect.text(value)} AS v FROM {view}"  # noqa: S608 - built here
    layers = Layers(dialect, types, [key])
    name = dialect.text(layers.value(key))
    selects = layers.selects(view)
    tables = ", ".join(f"{layer} AS ({select})" for layer, select in selects)
    return f"WITH {tables} SELECT {name} AS v FROM {selects[-1][0]}"  # noqa: S608 - built here


def _counts(run: ReadRows, values: str) -> tuple[int, int]:
    """Return the number of distinct values, and the largest number of rows that share one; NULL does not count."""
    counts = f"SELECT COUNT(*) AS c FROM ({values}) AS held WHERE v IS NOT NULL GROUP BY v"  # noqa: S608 - as above
    (distinct, copies), *_ = run(f"SELECT COUNT(*), COALESCE(MAX(c), 0) FROM ({counts}) AS counted")  # noqa: S608 - as above
    return distinct, copies


def _column(run: ReadRows, dialect: Dialect, view: str, types: Mapping[str, str], key: Column) -> ColumnPolicy:
    """Return the policy of a column, from its values in a table."""
    values, kind = _values(dialect, view, types, key), key.kind
    distinct, copies = _counts(run, values)
    keys = None
    if distinct <= MOST_VALUES:
        keys = _keys((row[0] for row in run(f"SELECT DISTINCT v FROM ({values}) AS held")), kind)  # noqa: S608 - as above
    bounds = _bounds(run, dialect, values, kind) if kind in ("integer", "real") else None
    return ColumnPolicy(kind=kind, bounds=bounds, keys=keys, copies=copies, timezone=key.timezone)


def _keys(values: Iterable[Value], kind: Kind) -> tuple[Value, ...] | None:
    """Return the values that can be keys, in order, NULL last; None if there are no such values."""
    keys = {key for value in values for key in _key(value, kind)}
    return tuple(sorted(keys, key=lambda value: (value is None, value))) or None


def _key(value: Value, kind: Kind) -> tuple[Value, ...]:
    try:
        return read_keys((value,), kind)
    except InvalidError:
        return ()  # infinite, or not valid Unicode


def _bounds(run: ReadRows, dialect: Dialect, values: str, kind: Kind) -> tuple[Fraction, Fraction] | None:
    """Return the smallest and the largest finite value, or None if there is no finite value."""
    where = f" WHERE {dialect.text(dialect.finite(column('v')))}" if kind == "real" else ""
    (low, high), *_ = run(f"SELECT MIN(v), MAX(v) FROM ({values}) AS held{where}")  # noqa: S608 - as above
    return None if low is None else (Fraction(repr(low)), Fraction(repr(high)))
