"""The plan of private bounds over the rows of another query, which `"auto"` and `db.bounds` share."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contract.homes import on_duckdb
from contract.tables import KINDS, VALUES, Row
from tacit.errors import ColumnNotFoundError, RefusedError
from tacit.query.aggregates.value_bins import value_bins
from tacit.query.expressions import Column, Value
from tacit.query.noise_law import sensitivity
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.bounds_plan import bounds_plan
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit="u",
    max_groups=3,
    max_rows=2,
    reach=50,
    neighbours="add/remove",
    columns={name: ColumnPolicy(kind=kind, hidden=name == "m") for name, kind in KINDS.items()},
)
ROW: dict[str, Value] = {name: values[0] for name, values in VALUES.items()}
DATA = [
    {**ROW, "u": 1, "name": "a", "a": 5, "b": True},
    {**ROW, "u": 1, "name": "z", "a": 90, "b": True},
    {**ROW, "u": 2, "name": None, "a": 700, "b": True},
    {**ROW, "u": 3, "name": "a", "a": 5000, "b": False},
    {**ROW, "u": 4, "name": "a", "a": None, "b": True},
]


def question(sql: str, **keys: Sequence[Value]) -> Plan:
    return parse(sql, {"t": TABLE}, keys=keys)


def counted(plan: Plan, rows: Sequence[Row] = DATA) -> dict[int, float]:
    """The weight of each value of `a` of the data that counts, in units."""
    with on_duckdb(KINDS, rows) as engine:
        (found,) = engine.measure(plan)
    bins = value_bins("integer")
    return {a: found[bins.find(a)] / 2**20 for a in (5, 90, 700, 5000) if found[bins.find(a)]}


def test_the_plan_has_the_rows_of_the_query_in_one_cell() -> None:
    asked = question("SELECT name, count(*) AS n FROM t WHERE b GROUP BY name HAVING count(*) > 1 LIMIT 1", name=["a"])
    found = bounds_plan(asked, "a")
    assert (found.listed, found.having, found.limit, found.outputs, found.joins) == (1, None, None, (), ())
    assert (found.table.reach, found.table.max_groups, found.table.max_rows) == (1, None, None)
    assert found.sql == asked.sql
    assert sensitivity(found, found.bundles[0], "laplace") == 2**20
    assert counted(found) == {5: 1.0}


def test_a_listed_null_keeps_the_rows_without_a_key() -> None:
    sql = "SELECT name, count(*) AS n FROM t GROUP BY name"
    assert counted(bounds_plan(question(sql, name=["a", None]), "a")) == {5: 1.0, 700: 1.0, 5000: 1.0}
    assert counted(bounds_plan(question(sql, name=[None]), "a")) == {700: 1.0}


def test_long_lists_and_discovered_groups_count_all_rows() -> None:
    sql, every = "SELECT name, count(*) AS n FROM t GROUP BY name", {5: 0.5, 90: 0.5, 700: 1.0, 5000: 1.0}
    assert counted(bounds_plan(question(sql, name=[f"n{n}" for n in range(1001)]), "a")) == every
    assert counted(bounds_plan(question(sql), "a")) == every


def test_the_same_plan_has_the_same_bins_for_a_name_and_a_column() -> None:
    asked = question("SELECT count(*) AS n FROM t")
    assert bounds_plan(asked, "a") == bounds_plan(asked, Column("a", "integer"))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("aa", ColumnNotFoundError),
        ("m", ColumnNotFoundError),
        ("u", RefusedError),
        ("name", RefusedError),
        ("b", RefusedError),
    ],
)
def test_other_columns_are_refused(value: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        bounds_plan(question("SELECT count(*) AS n FROM t"), value)
