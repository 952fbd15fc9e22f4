"""Queries that use the public number of rows or units, and queries that do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.errors import InternalError
from tacit.query.aggregates.margins import as_table_count
from tacit.query.plan import Key, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, free_price, is_free, price
from tacit.query.pricing.public_size import (
    could_use_size,
    has_public_size,
    size_plan,
    uses_size,
    with_public_size,
)
from tacit.query.sql.parse import parse

TEN = (Fraction(0), Fraction(10))
COLUMNS = {
    "who": ColumnPolicy(kind="integer"),
    "x": ColumnPolicy(kind="real", bounds=TEN, required=True),
    "y": ColumnPolicy(kind="integer", bounds=(Fraction(18), Fraction(90)), required=True),
    "z": ColumnPolicy(kind="real", bounds=TEN),
    "race": ColumnPolicy(kind="text", keys=("a", "b", "c"), required=True),
    "town": ColumnPolicy(kind="text", keys=("p", "q")),
    "port": ColumnPolicy(kind="text", keys=("p", None, "q")),
    "flag": ColumnPolicy(kind="boolean", required=True),
    "open": ColumnPolicy(kind="boolean"),
}
T = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="change one", columns=COLUMNS)
R = TablePolicy(
    name="r",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="change one",
    columns={
        "town": ColumnPolicy(kind="text", keys=("p", "q"), copies=1),
        "size": ColumnPolicy(kind="real", bounds=TEN),
    },
    public=True,
    size=2,
)
UNITS = replace(T, unit="who", max_groups=None, max_rows=None, reach=3)
ONE_ROW = replace(T, unit="who", max_groups=2, max_rows=1)


def planned(sql: str, table: TablePolicy = T, keys: dict[str, list[str]] | None = None) -> Plan:
    return parse(sql, {"t": table, "r": R}, keys=keys)


def query(items: str, source: str = "t") -> str:
    return f"SELECT {items} FROM {source}"  # noqa: S608 - the parser reads it, no engine


def used(sql: str, table: TablePolicy = T, *, size: int = 50, alone: bool = True) -> list[str]:
    """The aggregates of a query that use the size."""
    plan = planned(sql, table)
    if not (has_public_size(plan, alone=alone) and uses_size(plan)):
        return []
    sized = with_public_size(plan, size)
    assert sized.size == size
    return [each.sql for each in sized.aggregates if each.ask.size == size]


# --- rows ------------------------------------------------------------------------------------------------------------

EVERY = "count(*), count(1), count(x), sum(x), avg(y), var_pop(x), var_samp(x), stddev_pop(y), stddev_samp(x)"


def test_all_moments_of_required_columns_use_the_number_of_rows() -> None:
    every = EVERY.replace("count(1), ", "").replace("var_samp", "variance").split(", ")
    assert used(query(EVERY)) == every
    assert used("SELECT covar_pop(x, y), covar_samp(y, x) FROM t") == ["covar_pop(x, y)", "covar_samp(y, x)"]


@pytest.mark.parametrize(
    "value",
    [
        "x * 2 + y",
        "coalesce(z, 3)",
        "CASE WHEN z > 3 THEN 1 ELSE 0 END",
        "clamp(x - y, 0, 5)",
        "CAST(flag AS INTEGER)",
        "greatest(z, x)",
        "abs(-x)",
        "round(x)",
    ],
)
def test_so_do_values_that_are_always_present(value: str) -> None:
    assert len(used(query(f"avg({value}) AS a"))) == 1


@pytest.mark.parametrize(
    "value",
    [
        "z",
        "x + z",
        "CASE WHEN x > 3 THEN 1 END",
        "nullif(x, 3)",
        "clamp(x / y, 0, 1)",
        "clamp(sqrt(x), 0, 3)",
        "least(z, z)",
    ],
)
def test_values_that_may_be_null_do_not_use_it(value: str) -> None:
    assert used(query(f"avg({value}) AS a")) == []
    assert used(query(f"avg({value}) AS a, count(*) AS n")) == ["count(*)"]


@pytest.mark.parametrize(
    "aggregate",
    ["count(DISTINCT x)", "median(x)", "min(x)", "max(x)", "quantile_cont(x, 0.9)", "corr(x, y)", "count(z)"],
)
def test_other_aggregates_do_not_use_it(aggregate: str) -> None:
    assert used(query(aggregate)) == []


@pytest.mark.parametrize(
    "source",
    [
        "t WHERE x > 3",
        "t WHERE TRUE",
        "(SELECT * FROM t WHERE flag)",
        "(SELECT x FROM (SELECT * FROM t WHERE z IS NULL))",
        "t JOIN r USING (town)",
        "r JOIN t ON t.town = r.town",
        "t LEFT JOIN r ON t.town = r.town WHERE r.size > 1",
    ],
)
def test_rows_that_may_be_dropped_have_no_public_number(source: str) -> None:
    assert used(query("avg(x), count(*)", source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "t",
        "t AS s",
        "(SELECT x, x AS more FROM t)",
        "t LEFT JOIN r ON t.town = r.town",
        "r RIGHT JOIN t ON t.town = r.town",
    ],
)
def test_rows_that_all_stay_have_a_public_number(source: str) -> None:
    assert used(query("avg(x), count(*)", source)) == ["avg(x)", "count(*)"]


def test_values_of_the_public_side_may_be_missing() -> None:
    assert used("SELECT avg(r.size) AS a FROM t LEFT JOIN r ON t.town = r.town") == []


def test_having_of_the_answer_changes_nothing() -> None:
    assert used("SELECT avg(x) AS a FROM t HAVING avg(x) > 3") == ["avg(x)"]


def test_without_rows_only_counts_use_it_and_one_row_has_no_sample() -> None:
    both = "SELECT count(*), avg(x), var_pop(x), var_samp(x) FROM t"
    assert used(both, size=0) == ["count(*)"]
    assert used(both, size=1) == ["count(*)", "avg(x)", "var_pop(x)"]


def test_the_other_relation_has_no_public_number() -> None:
    other = replace(T, neighbours="add/remove")
    assert used("SELECT count(*), avg(x) FROM t", other) == []
    assert could_use_size(planned("SELECT avg(z) FROM t")) != []
    with pytest.raises(InternalError, match="public only if neighbours change one unit"):
        with_public_size(planned("SELECT count(*) FROM t", other), 5)


def test_one_value_has_one_bundle_and_counts_have_none() -> None:
    plan = with_public_size(planned("SELECT count(*), sum(x), avg(x), var_pop(x), stddev_samp(x) FROM t"), 50)
    assert [each.bundles for each in plan.aggregates] == [(), (0,), (0,), (1,), (1,)]
    laws = price(plan, Cost(epsilon=1)).noise
    assert [law.sensitivity for law in laws] == [bundle.contribution for bundle in plan.bundles]


def test_an_answer_of_public_numbers_is_free() -> None:
    plan = with_public_size(planned("SELECT count(*) AS n FROM t"), 50)
    assert is_free(plan)
    assert not is_free(planned("SELECT count(*) AS n FROM t"))
    assert [free_price(by_rho=by_rho).events for by_rho in (False, True)] == [(), ()]


def test_the_plan_of_the_size_counts_all_rows_of_the_table() -> None:
    plan = size_plan(planned("SELECT avg(x) FROM t LEFT JOIN r ON t.town = r.town"))
    assert (plan.where, plan.keys, plan.joins) == (None, (), ())
    (measure,) = plan.bundles[0].measures
    assert (measure.value, measure.per) == (None, "row")
    assert size_plan(planned("SELECT count(*) FROM t", UNITS)).bundles[0].measures[0].per == "unit"


# --- units -----------------------------------------------------------------------------------------------------------


def test_the_number_of_units_is_public_if_there_is_one_private_table() -> None:
    count = "SELECT count(DISTINCT who) AS n, count(*) AS rows, avg(x) AS a FROM t"
    assert used(count, UNITS) == ["count(DISTINCT who)"]
    assert used(count, UNITS, alone=False) == []
    assert used(count + " WHERE x > 1", UNITS) == []
    assert used("SELECT flag, count(DISTINCT who) AS n FROM t GROUP BY flag", UNITS) == []
    assert used("SELECT count(DISTINCT who) AS n FROM t LEFT JOIN r ON t.town = r.town", UNITS) == [
        "count(DISTINCT who)"
    ]


def test_units_that_count_as_one_row_have_a_public_number_of_rows() -> None:
    count = query("count(DISTINCT who) AS n, count(*) AS rows, avg(x) AS a, sum(y) AS s, var_pop(x) AS v, avg(z) AS z")
    assert used(count, ONE_ROW) == ["count(DISTINCT who)", "count(*)", "avg(x)", "sum(y)"]
    assert used(count, replace(ONE_ROW, reach=1)) == ["count(DISTINCT who)"]
    assert used(count, replace(ONE_ROW, max_rows=2)) == ["count(DISTINCT who)"]
    assert used(count, ONE_ROW, size=0) == ["count(DISTINCT who)", "count(*)"]


# --- tables ----------------------------------------------------------------------------------------------------------


def table(sql: str, keys: dict[str, list[str]] | None = None, *, verb: bool = False) -> Plan | None:
    """The plan of a count by groups that add up; None if they do not."""
    plan = planned(sql, keys=keys)
    plan = as_table_count(plan) if verb else plan
    return with_public_size(plan, 50) if uses_size(plan) else None


def defaults(plan: Plan | None) -> list[int | None]:
    assert plan is not None
    return [key.default for key in plan.keys]


COUNT = "SELECT {key} AS k, count(*) AS n FROM t GROUP BY {key}"


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("race", 0),
        ("flag", 0),
        ("x > 5", 0),
        ("CASE WHEN z > 5 THEN 'much' ELSE 'little' END", 0),
        ("z IS NULL", 0),
        ("coalesce(open, FALSE)", 0),
    ],
)
def test_groups_that_hold_every_row_add_up(key: str, default: int) -> None:
    for verb in (False, True):
        plan = table(COUNT.format(key=key), verb=verb)
        assert defaults(plan) == [default]
        assert plan is not None
        assert (plan.size, plan.rest) == (50, False)
        assert plan.aggregates[0].ask.function == ("table_count" if verb else "sized_group_count")


@pytest.mark.parametrize("key", ["town", "open", "z > 5", "y", "floor(x)", "CASE WHEN x > 5 THEN 'much' END"])
def test_other_groups_add_up_only_in_tables_with_one_more_row(key: str) -> None:
    assert table(COUNT.format(key=key)) is None
    plan = table(COUNT.format(key=key), verb=True)
    assert plan is not None
    assert (plan.rest, plan.measured_cells) == (True, plan.listed + 1)


def test_a_null_key_of_a_table_holds_all_other_values() -> None:
    assert table(COUNT.format(key="port")) is None
    assert defaults(table(COUNT.format(key="port"), verb=True)) == [1]


def test_a_required_column_whose_keys_the_caller_lists_in_part_does_not_add_up() -> None:
    assert table(COUNT.format(key="race"), {"race": ["a", "b"]}) is None
    assert defaults(table(COUNT.format(key="race"), {"race": ["c", "b", "a", "d"]})) == [2]


def test_two_keys_need_both_to_hold_every_row() -> None:
    sql = "SELECT race, {other}, count(*) AS n FROM t GROUP BY race, {other}"
    assert defaults(table(sql.format(other="flag"))) == [0, 0]
    assert table(sql.format(other="town")) is None
    crossed = table(sql.format(other="town"), verb=True)
    assert crossed is not None
    assert crossed.rest
    assert [key.default for key in crossed.keys] == [0, None]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT race, count(*) AS n, avg(x) AS a FROM t GROUP BY race",
        "SELECT race, count(z) AS n FROM t GROUP BY race",
        "SELECT race, count(*) AS n FROM t WHERE x > 1 GROUP BY race",
        "SELECT race, sum(x) AS n FROM t GROUP BY race",
        "SELECT race, count(DISTINCT x) AS n FROM t GROUP BY race",
    ],
)
def test_other_queries_by_groups_do_not_use_the_size(sql: str) -> None:
    plan = planned(sql)
    assert not (has_public_size(plan, alone=True) and uses_size(plan))


def test_a_table_of_one_cell_is_counted_with_noise() -> None:
    one = Key(name="k", expression=planned(COUNT.format(key="race")).keys[0].expression, values=("a",))
    assert not uses_size(replace(planned(COUNT.format(key="race")), keys=(one,)))


def test_units_of_several_rows_have_no_tables_that_add_up() -> None:
    plan = planned(COUNT.format(key="race"), replace(UNITS, max_groups=1))
    assert not uses_size(plan)


# --- texts that ledgers hold hashes of -------------------------------------------------------------------------------


def test_plans_without_a_size_have_the_text_that_they_had_before() -> None:
    plan = planned("SELECT town, count(*) AS n FROM t GROUP BY town", replace(T, columns={"town": COLUMNS["town"]}))
    text = repr(plan)
    for name in ("size=", "rest=", "default=", "combined=", "required"):
        assert name not in text
    sized = repr(with_public_size(planned(COUNT.format(key="race")), 50))
    assert sized != repr(with_public_size(planned(COUNT.format(key="race")), 51))
    assert "required=True" in sized
