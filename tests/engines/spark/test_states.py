"""A table by name is what it was when it was opened, and all statements of a question see one state of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import tacit as tc
from children import ended, forked
from contract.plans import plan, table
from spark_session import LIGHT_JAVA, spark
from tacit.charging import SOURCE_FAILED
from tacit.engines.spark import engine, sessions
from tacit.engines.spark.engine import open_spark
from tacit.engines.sql.reading import FAILED
from tacit.engines.sql.runner import ResultRows, StatementParameters
from tacit.errors import SourceError
from tacit.query.expressions import Column, Kind
from tacit.query.plan import Measure, Plan

KINDS: dict[str, Kind] = {"u": "integer", "x": "real", "g": "text"}
SECRET = (1, 2)
ROWS = "SELECT id AS u, CAST(id AS DOUBLE) AS x, 'a' AS g FROM range({})"


def asked() -> Plan:
    """A question of two statements: rows, and different values."""
    different = Measure(value=Column("x", "real"), per="value")
    return plan(table(unit="u", groups=1, rows=9, kinds=KINDS), Measure(value=None), different)


@pytest.fixture
def visits() -> Iterator[str]:
    """A table, in a database that is the current one."""
    theirs, before = spark(), spark().catalog.currentDatabase()
    for place in ("states", "elsewhere"):
        theirs.sql(f"CREATE DATABASE {place}")
    theirs.sql(f"CREATE TABLE states.visits USING parquet PARTITIONED BY (g) AS {ROWS.format(3)}")
    theirs.sql("USE states")
    yield "visits"
    theirs.sql(f"USE {before}")
    for place in ("states", "elsewhere"):
        theirs.sql(f"DROP DATABASE {place} CASCADE")


def test_another_current_database_does_not_change_which_table_is_meant(visits: str) -> None:
    opened = open_spark(spark(), table=visits)
    spark().sql(f"CREATE TABLE elsewhere.visits USING parquet AS {ROWS.format(50)}")
    spark().sql("USE elsewhere")
    assert opened.name == visits
    assert opened.measure_with(asked(), SECRET) == [[3], [3]]
    opened.close()


def test_a_table_that_is_a_view_by_now_is_not_asked(visits: str) -> None:
    opened = open_spark(spark(), table=visits)
    spark().sql("DROP TABLE states.visits")
    spark().sql(f"CREATE VIEW states.visits AS {ROWS.format(5)}")
    with pytest.raises(SourceError) as caught:
        opened.measure_with(asked(), SECRET)
    assert caught.value.message == FAILED
    spark().sql("DROP VIEW states.visits")
    spark().sql(f"CREATE TABLE states.visits USING parquet AS {ROWS.format(4)}")
    assert opened.measure_with(asked(), SECRET) == [[4], [4]]
    opened.close()


def test_a_partition_that_comes_between_two_statements_is_not_seen(
    visits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_spark(spark(), table=visits)
    real, done = engine._batches, list[bool]()

    def batches(ours: SparkSession, tag: str, sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
        found = list(real(ours, tag, sql, parameters))
        if not done:
            done.append(True)
            spark().sql("INSERT INTO states.visits VALUES (70, 70.0, 'b'), (71, 71.0, 'b')")
        return iter(found)

    monkeypatch.setattr(engine, "_batches", batches)
    assert opened.measure_with(asked(), SECRET) == [[3], [3]]
    assert opened.measure_with(asked(), SECRET) == [[5], [5]]
    opened.close()


def test_a_query_that_was_refused_after_its_look_up_leaves_no_old_state(visits: str) -> None:
    opened = open_spark(spark(), table=visits)
    opened.ready()  # and then, say, the budget is too small
    spark().sql("INSERT INTO states.visits VALUES (80, 80.0, 'c')")
    opened.ready()
    assert opened.measure_with(asked(), SECRET) == [[4], [4]]
    assert not opened._is_fresh
    spark().sql("ALTER TABLE states.visits RENAME TO states.away")
    with pytest.raises(SourceError) as caught:
        opened.ready()
    assert caught.value.message == engine.NOT_READY
    spark().sql("ALTER TABLE states.away RENAME TO states.visits")
    opened.ready()
    opened.close()


def test_a_child_process_does_not_speak_on_its_parents_line(visits: str) -> None:
    opened = open_spark(spark(), table=visits)

    def speak() -> None:
        with pytest.raises(SourceError) as caught:
            opened.ready()
        assert caught.value.message == engine.FORKED
        opened.close()

    assert ended(forked(speak)) == 0
    assert opened.measure_with(asked(), SECRET) == [[3], [3]]
    opened.close()


KILLED = """
import os
import sys
from threading import Timer
from pyspark import SparkContext
from pyspark.sql import SparkSession
import tacit as tc

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.memory", "512m").config("spark.driver.extraJavaOptions", sys.argv[1])
frame = builder.getOrCreate().sql("SELECT id AS u FROM range(4000000000000)")
db = tc.open(frame, unit="u", max_rows=1, budget=tc.PureDP(epsilon=10))
Timer(3, os.kill, (SparkContext._gateway.proc.pid, 9)).start()
for ask in (db.sql, db.sql):
    try:
        ask("SELECT count(*) AS n FROM data", epsilon=1)
    except tc.SourceError as error:
        print(error)
    print(db.spent)
db.close()
try:
    tc.open("spark:nothing", unit="u", budget=tc.PureDP(epsilon=10))
except tc.SourceError as error:
    print(error)
"""


def test_a_java_that_is_killed_fails_one_question_and_is_told_before_the_next() -> None:
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", KILLED, LIGHT_JAVA], capture_output=True, text=True, timeout=120, check=True
    )
    spent = str(tc.PureDP(epsilon=1))
    failed, charged, ended, spent_then, refused = done.stdout.splitlines()
    assert failed.startswith(SOURCE_FAILED)
    assert (charged, spent_then) == (spent, spent)
    assert ended.startswith(sessions.ENDED)
    assert refused.startswith(sessions.ENDED)
