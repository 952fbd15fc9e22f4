"""Reads and exchanges of rows in the physical plans of Spark, and the integers of joint statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings

from contract.examples import drawn, varied
from contract.homes import SPARK as TYPES
from contract.plans import NAME, X, call, key, plan, plans, table
from contract.tables import KINDS, Row, rows
from engines.test_joint_statement import with_bins
from spark_session import spark
from tacit.engines.spark.dialect import SparkDialect
from tacit.engines.spark.engine import SparkEngine, open_spark
from tacit.engines.sql.statement_runs import parameters_of
from tacit.query.expressions import Constant
from tacit.query.plan import Measure, Plan
from tacit.query.policy import TablePolicy

SECRET = (5, 2**64 - 7)
STEPS = call("steps", "integer", X, *(Constant(part, "integer") for part in (0, 0, 9)))
COUNT, SUM, BINS = Measure(value=None), Measure(value=X, low=0, high=9), Measure(value=STEPS, bins=10)
COLUMNS = "id % 7 AS u, CAST(id % 3 AS STRING) AS name, CAST(id % 5 AS DOUBLE) AS x"
LIMITS = [table(groups=2, rows=2), table(groups=2, rows=None, reach=2), table(rows=1, reach=2)]


@pytest.fixture(scope="module")
def tables() -> Iterator[None]:
    """Two tables with the same rows. One is bucketed by the unit."""
    for name, clause in (("heap", ""), ("buckets", "CLUSTERED BY (u) INTO 4 BUCKETS")):
        spark().sql(f"CREATE TABLE {name} USING parquet {clause} AS SELECT {COLUMNS} FROM range(200)")  # noqa: S608 - ours
    yield
    for name in ("heap", "buckets"):
        spark().sql(f"DROP TABLE {name}")


def physical_plans(engine: SparkEngine, asked: Plan) -> list[str]:
    """Return how Spark runs each statement of a plan."""
    built = [each for _, each in engine._statements(asked)]
    with engine._reading() as run:
        return [run(f"EXPLAIN {each.sql}", parameters_of(each, SECRET))[0][0] for each in built]


def exchanged(physical: str) -> list[str]:
    """Return the first column of each exchange by hash."""
    return re.findall(r"Exchange hashpartitioning\((\w+)#", physical)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("limits", LIMITS)
def test_sums_and_bins_need_one_read_and_buckets_need_no_exchange_of_rows(limits: TablePolicy) -> None:
    asked = plan(limits, COUNT, SUM, BINS, keys=[key(NAME, "0", "1", "2")])
    by_source: dict[str, list[list[int]]] = {}
    for name, expected in (("heap", ["cell", "u"]), ("buckets", ["cell"])):
        engine = open_spark(spark(), table=name)
        (physical,) = physical_plans(engine, asked)
        assert physical.count("FileScan") == 1
        assert exchanged(physical) == expected
        by_source[name] = engine.measure_with(asked, SECRET)
        engine.close()
    assert by_source["heap"] == by_source["buckets"]


@pytest.mark.usefixtures("tables")
def test_sums_alone_exchange_no_rows_of_a_bucketed_table() -> None:
    for limits in LIMITS:
        engine = open_spark(spark(), table="buckets")
        (physical,) = physical_plans(engine, plan(limits, COUNT, SUM, keys=[key(NAME, "0", "1", "2")]))
        assert exchanged(physical) == ["cell"]
        engine.close()


class Separate(SparkDialect):
    """Spark, with separate statements for sums and bins."""

    joins_bins: ClassVar[bool] = False


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=drawn(4))
@given(varied(with_bins(plans() | plans(reach=True) | plans(unit=None))), varied(rows(40)))
def test_the_integers_are_those_of_separate_statements(asked: Plan, data: list[Row]) -> None:
    schema = ", ".join(f"{name} {TYPES[kind]}" for name, kind in KINDS.items())
    found = []
    for dialect in (SparkDialect(), Separate()):
        engine = open_spark(spark().createDataFrame([tuple(row[name] for name in KINDS) for row in data], schema))
        engine.dialect = dialect
        found.append(engine.measure_with(asked, SECRET))
        engine.close()
    assert found[0] == found[1]
