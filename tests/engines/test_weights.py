"""Statements with a reach read one state of their source, and group nothing by unit and cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from contract.plans import NAME, SEVENTHS, A, X, key, plan, present, table
from spark_session import spark
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.postgres.dialect import POSTGRES, REREADING_POSTGRES
from tacit.engines.spark.dialect import SPARK
from tacit.engines.spark.engine import open_spark
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.histogram import bin_statement
from tacit.engines.sql.statement import statement, weighs
from tacit.engines.sql.weighted_statement import weighted_statement
from tacit.query.expressions import Kind
from tacit.query.plan import Measure, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

DIALECTS: Mapping[str, tuple[Dialect, Mapping[str, str]]] = {
    "duckdb": (DUCKDB, {"u": "BIGINT", "name": "VARCHAR", "a": "BIGINT", "x": "DOUBLE"}),
    "postgres": (POSTGRES, {"u": "int8", "name": "text", "a": "int8", "x": "float8"}),
    "spark": (SPARK, {"u": "bigint", "name": "string", "a": "bigint", "x": "double"}),
}
SUMS = Measure(value=None), Measure(value=present(X)), Measure(value=X, low=-4, high=4), Measure(value=A, low=0, high=9)
KEYS = [key(NAME, "a", "b", "c"), key(SEVENTHS, 0, 1)]
BINS = Measure(value=SEVENTHS, bins=7)
CUT = *SUMS, *(replace(measure, beyond=9) for measure in SUMS)


def written(asked: Plan, name: str) -> str:
    dialect, types = DIALECTS[name]
    measures = asked.bundles[0].measures
    plain = weighted_statement if weighs(asked, measures) else statement
    return (bin_statement if measures[0].bins > 1 else plain)(asked, types, dialect).sql


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("measures", [SUMS, (BINS,), CUT], ids=["sums", "bins", "cut"])
@pytest.mark.parametrize("name", DIALECTS)
def test_the_source_is_read_once(name: str, measures: tuple[Measure, ...], groups: int | None) -> None:
    sql = written(plan(table(groups=groups, rows=None, reach=5), *measures, keys=KEYS), name)
    assert len(re.findall(r"FROM data\b", sql)) == 1
    assert not re.search(r"GROUP BY (u|cell|d0)(, (u|cell|d0))*, ?u\b|GROUP BY u, cell", sql)
    names = re.findall(r"^(?:WITH )?(\w+) AS", sql, re.MULTILINE)
    for twice in (each for each in names if len(re.findall(rf"(?:FROM|JOIN) {each}\b", sql)) > 1):
        assert name != "spark"
        assert f"{twice} AS MATERIALIZED (" in sql


def test_postgres_reads_again_only_rows_that_cost_little() -> None:
    types = DIALECTS["postgres"][1]
    cheap = plan(table(groups=None, rows=None, reach=5), *CUT, keys=[key(NAME, "a", "b", "c")])
    sql = weighted_statement(cheap, types, REREADING_POSTGRES).sql
    assert "located AS NOT MATERIALIZED (" in sql
    halves = re.findall(r"FROM located(?: WHERE (HASHINT8EXTENDED\(CAST\(u AS BIGINT\), 0\) (?:>=|<) 0)\))?", sql)
    first, second = (f"HASHINT8EXTENDED(CAST(u AS BIGINT), 0) {sign} 0" for sign in (">=", "<"))
    assert halves == ["", first, first, second, second]
    assert "GROUP BY u, cell" not in sql
    for dear in (
        plan(table(groups=2, rows=None, reach=5), *SUMS, keys=[key(NAME, "a", "b", "c")]),
        plan(table(groups=None, rows=None, reach=5), *SUMS, keys=KEYS),  # a key is computed in several layers
    ):
        sql = weighted_statement(dear, types, REREADING_POSTGRES).sql
        assert " AS MATERIALIZED (" in sql
        assert "NOT MATERIALIZED" not in sql


def test_postgres_computes_a_grouped_subquery_once() -> None:
    source = table(groups=None, rows=None, reach=5)
    kinds: dict[str, Kind] = {"u": "integer", "name": "text", "a": "integer", "x": "real"}
    known = {"data": replace(source, columns={name: ColumnPolicy(kind=kind) for name, kind in kinds.items()})}
    people = "SELECT u, name, clamp(count(*), 0, 9) AS n FROM data GROUP BY u, name"
    asked = parse(f"SELECT sum(n) FROM ({people})", known)  # noqa: S608 - fixed text
    assert weighs(asked, asked.bundles[0].measures)
    sql = weighted_statement(asked, {**DIALECTS["postgres"][1], "n": "int8"}, REREADING_POSTGRES).sql
    assert len(re.findall(r"FROM data\b", sql)) == 1
    assert " AS MATERIALIZED (" in sql
    assert "NOT MATERIALIZED" not in sql


@pytest.mark.parametrize("name", DIALECTS)
def test_a_plan_without_a_reach_has_no_weights(name: str) -> None:
    sql = written(plan(table(groups=2, rows=3), *SUMS, keys=KEYS), name)
    assert not re.search(r"heavy|everywhere|rows_of_unit|weighed", sql)


def test_rows_of_spark_that_change_when_they_are_computed_again_stay_within_the_reach() -> None:
    """Two reads of these rows would count a unit's rows in one and weigh them by those of the other."""
    frame = spark().range(0, 4000, 1, 4).selectExpr("CAST(rand() * rand() * 40 AS BIGINT) AS u")
    policy = TablePolicy(
        name="data",
        unit="u",
        max_groups=None,
        max_rows=None,
        reach=5,
        neighbours="add/remove",
        columns={"u": ColumnPolicy(kind="integer")},
    )
    count = Measure(value=None, fraction_bits=20)
    opened = open_spark(frame)
    try:
        for _ in range(3):
            ((total,),) = opened.measure(plan(policy, count))
            assert total <= 40 * 5 << 20
    finally:
        opened.close()
