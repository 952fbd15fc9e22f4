"""What a public table holds, read when it is opened: its size, and of each column its keys, bounds and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from tacit.engines.sql.builder import column
from tacit.engines.sql.dialect import Dialect
from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Kind, Value
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.policy.column_values import read_keys

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement and returns its rows."""

MOST_VALUES: Final = 10_000
"""Of a column with more different values none is a key."""


def public_policy(
    run: Run,
    dialect: Dialect,
    view: str,
    types: Mapping[str, str],
    kinds: Mapping[str, Kind],
    *,
    name: str,
    neighbours: Neighbours = "add/remove",
) -> TablePolicy:
    """Return the policy of a public table: keys and bounds are what its columns hold.

    Args:
        run: asks the engine where the table lies.
        dialect: the engine's.
        view: how the table is written there after FROM.
        types: the types of its columns.
        kinds: as what the columns that may be named are to be read.
        name: what it is called in questions.
        neighbours: the relation of the private tables that it is joined with; its own rows never differ.
    """
    columns: dict[str, ColumnPolicy] = {}
    ((size,), *_) = run(f"SELECT COUNT(*) FROM {view}")  # noqa: S608 - all of it is ours
    for own, kind in kinds.items():
        columns[own] = _column(run, dialect, _values(dialect, view, own, types[own], kind), kind)
    return TablePolicy(
        name=name,
        unit=None,
        max_groups=1,
        max_rows=1,
        neighbours=neighbours,
        columns=MappingProxyType(columns),
        public=True,
        size=size,
    )


def is_unique(run: Run, dialect: Dialect, view: str, own: str, type_name: str, kind: Kind) -> bool:
    """Return whether no value stands twice in a column now, NULL aside."""
    return _counts(run, _values(dialect, view, own, type_name, kind))[1] <= 1


def _values(dialect: Dialect, view: str, own: str, type_name: str, kind: Kind) -> str:
    """Return a SELECT of a column's values, called v."""
    value = dialect.read(column(own), type_name, kind)
    value = dialect.without_nan(value) if dialect.may_be_nan(type_name, kind) else value
    return f"SELECT {dialect.text(value)} AS v FROM {view}"  # noqa: S608 - all of it is ours


def _counts(run: Run, values: str) -> tuple[int, int]:
    """Return how many different values there are, and how many rows share one of them at most; NULL aside."""
    counts = f"SELECT COUNT(*) AS c FROM ({values}) AS held WHERE v IS NOT NULL GROUP BY v"  # noqa: S608 - as above
    (different, copies), *_ = run(f"SELECT COUNT(*), COALESCE(MAX(c), 0) FROM ({counts}) AS counted")  # noqa: S608 - as above
    return different, copies


def _column(run: Run, dialect: Dialect, values: str, kind: Kind) -> ColumnPolicy:
    """Return the policy of a column whose values are the rows of a SELECT, called v."""
    different, copies = _counts(run, values)
    keys = None
    if different <= MOST_VALUES:
        keys = _keys((row[0] for row in run(f"SELECT DISTINCT v FROM ({values}) AS held")), kind)  # noqa: S608 - as above
    bounds = _bounds(run, dialect, values, kind) if kind in ("integer", "real") else None
    return ColumnPolicy(kind=kind, bounds=bounds, keys=keys, copies=copies)


def _keys(values: Iterable[Value], kind: Kind) -> tuple[Value, ...] | None:
    """Return the values that can be keys, in order, NULL last; None if there are none."""
    found = {one for value in values for one in _key(value, kind)}
    return tuple(sorted(found, key=lambda value: (value is None, value))) or None


def _key(value: Value, kind: Kind) -> tuple[Value, ...]:
    try:
        return read_keys((value,), kind)
    except InvalidError:
        return ()  # infinite, or a text that is none


def _bounds(run: Run, dialect: Dialect, values: str, kind: Kind) -> tuple[Fraction, Fraction] | None:
    """Return the least and the largest finite value, if there is one."""
    where = f" WHERE {dialect.text(dialect.finite(column('v')))}" if kind == "real" else ""
    (low, high), *_ = run(f"SELECT MIN(v), MAX(v) FROM ({values}) AS held{where}")  # noqa: S608 - as above
    return None if low is None else (Fraction(repr(low)), Fraction(repr(high)))
