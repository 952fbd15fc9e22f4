"""The engine: one constant text whatever fails, the next question works, and what runs is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from contract.plans import NAME, key, plan, table
from spark_session import frame_of, spark
from tacit.database import Database
from tacit.engines import Engine
from tacit.engines.source import Source
from tacit.engines.spark import availability
from tacit.engines.spark import engine as spark_engine
from tacit.engines.spark.engine import SparkEngine, open_spark, open_spark_tables
from tacit.engines.sql.reading import FAILED
from tacit.errors import SourceError, TacitError, TimeLimitError, UnusedOptionError
from tacit.query.plan import Measure
from tacit.query.policy.engine_settings import EngineSettings

UNITS = Measure(value=None, per="unit")
TABLE = pa.table({"u": list(range(200)) * 10, "name": [f"key {i // 200}" for i in range(2000)]})
KEYS = [key(NAME, *(f"key {i}" for i in range(10)))]
COUNTED = plan(table(), UNITS)


@pytest.fixture
def opened() -> Iterator[SparkEngine]:
    engine = open_spark(frame_of(TABLE))
    yield engine
    engine.close()


def test_it_is_an_engine(opened: SparkEngine) -> None:
    as_engine: Engine = opened
    assert as_engine.name == "data"
    assert as_engine.schema() == {"u": "integer", "name": "text"}


def test_a_fresh_key_chooses_other_cells(opened: SparkEngine) -> None:
    asked = plan(table(groups=1), UNITS, keys=KEYS)
    answers = [opened.measure(asked)[0] for _ in range(5)]
    assert all(sum(answer) == 200 for answer in answers)
    assert len({tuple(answer) for answer in answers}) > 1  # all alike with probability below 10^-12
    assert opened.measure_with(asked, (1, 2)) == opened.measure_with(asked, (1, 2))


def constant(caught: pytest.ExceptionInfo[SourceError]) -> bool:
    return caught.value.message == FAILED and caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_file_that_is_gone_fails_with_a_constant_text_and_no_context(tmp_path: Path) -> None:
    file = tmp_path / "secret-4711.parquet"
    pq.write_table(TABLE, file)
    spark()
    engine = open_spark(f"spark:{file}")
    kept = file.read_bytes()
    file.unlink()
    with pytest.raises(SourceError) as caught:
        engine.measure(COUNTED)
    assert constant(caught)
    file.write_bytes(kept)
    assert engine.measure(COUNTED) == [[200]]
    engine.close()


def test_the_files_are_those_that_were_there_when_it_was_opened(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    spark()
    engine = open_spark(f"spark:{tmp_path}/*.parquet")
    pq.write_table(pa.table({"u": [7777], "name": ["x"]}), tmp_path / "b.parquet")
    assert engine.measure(COUNTED) == [[200]]
    engine.close()


def test_a_table_is_as_it_is_when_it_is_asked_and_one_that_was_altered_or_dropped_fails() -> None:
    frame_of(TABLE).write.mode("overwrite").saveAsTable("changing")
    engine = open_spark(spark(), table="changing")
    assert engine.measure(COUNTED) == [[200]]
    frame_of(pa.table({"u": [7777], "name": ["x"]})).write.mode("append").saveAsTable("changing")
    assert engine.measure(COUNTED) == [[201]]
    frame_of(TABLE).write.mode("overwrite").saveAsTable("changing")
    assert engine.measure(COUNTED) == [[200]]
    for statement in ("ALTER TABLE changing ADD COLUMNS (more INT)", "DROP TABLE changing"):
        spark().sql(statement)
        with pytest.raises(SourceError) as caught:
            engine.measure(COUNTED)
        assert constant(caught)
    frame_of(TABLE).write.saveAsTable("changing")
    assert engine.measure(COUNTED) == [[200]]
    engine.close()
    spark().sql("DROP TABLE changing")


def test_a_row_that_fails_in_the_callers_own_query_fails_likewise_and_the_engine_lives_on(
    capfd: pytest.CaptureFixture[str],
) -> None:
    frame = spark().range(2000).selectExpr("id % 200 AS u", "concat('key ', 1 div (id % 200 - 7)) AS name")
    engine = open_spark(frame)
    with pytest.raises(SourceError) as caught:
        engine.measure(plan(table(groups=10), UNITS, keys=KEYS))
    assert constant(caught)
    assert "DIVIDE_BY_ZERO" not in "".join(capfd.readouterr())
    assert engine.measure(COUNTED) == [[200]]
    engine.close()


def test_an_engine_that_was_closed_fails_and_closing_twice_is_nothing(opened: SparkEngine) -> None:
    opened.close()
    opened.close()
    with pytest.raises(SourceError):
        opened.measure(COUNTED)
    assert spark().range(3).count() == 3


def test_closing_stops_what_is_running_there_and_nothing_else() -> None:
    engine = open_spark(spark().sql("SELECT id AS u, concat('key ', id % 10) AS name FROM range(4000000000000)"))
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            engine.measure(plan(table(unit=None), Measure(value=None), keys=KEYS))
        except SourceError as error:
            caught.append(error)

    asking = Thread(target=ask)
    asking.start()
    sleep(2)
    start = perf_counter()
    engine.close()
    asking.join(30)
    assert not asking.is_alive()
    assert perf_counter() - start < 30
    assert [getattr(error, "message", None) for error in caught] == [FAILED]
    assert spark().range(3).count() == 3


def test_an_interrupt_stops_what_is_running(opened: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[object] = []

    def cancel(session: object, tag: str) -> None:
        stopped.append((session, tag))

    monkeypatch.setattr(spark_engine, "stop", cancel)
    with pytest.raises(KeyboardInterrupt), opened._reading():
        raise KeyboardInterrupt
    assert stopped == [(opened._ours, opened._tag)]


@pytest.mark.parametrize("place", ["main", "thread"])
def test_a_statement_is_stopped_at_its_time_limit_and_the_next_one_is_not(place: str) -> None:
    frame = spark().sql("SELECT id AS u, concat('key ', id % 10) AS name FROM range(4000000000000)")
    endless = open_spark_tables({None: Source(source=frame)}, EngineSettings(timeout=1.5))
    caught: list[TacitError] = []

    def ask() -> None:
        try:
            endless.measure(plan(table(unit=None), Measure(value=None), keys=KEYS))
        except TacitError as error:
            caught.append(error)

    start = perf_counter()
    if place == "main":
        ask()
    else:
        asking = Thread(target=ask)
        asking.start()
        asking.join()
    assert perf_counter() - start < 30
    assert [(str(error), error.__context__) for error in caught] == [(str(TimeLimitError(1.5)), None)]
    assert spark().range(3).count() == 3  # no later job has the tag
    endless.close()


def test_a_cluster_without_executors_is_noticed_by_a_task_that_reads_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "is_local", lambda _: False)
    availability.check_executors(spark())  # it has no executor, but runs the task
    monkeypatch.setattr(availability, "_runs_a_task", lambda *_: False)
    db = tc.open(frame_of(pa.table({"x": [1, 2]})), unit=tc.ROW, budget=tc.PureDP(epsilon=1))
    with pytest.raises(SourceError) as caught:
        db.sql("SELECT count(*) FROM data", epsilon=1)
    assert (caught.value.message, caught.value.unspent) == (availability.NO_EXECUTORS, True)
    assert db.spent == tc.PureDP(epsilon=0)


def test_settings_that_spark_takes_only_when_it_starts_are_refused() -> None:
    frame = frame_of(pa.table({"x": [1, 2]}))
    options: list[dict[str, Any]] = [{"memory": "2GB"}, {"threads": 2}, {"temporary": "."}]
    for option in options:
        with pytest.raises(UnusedOptionError, match="where Spark is started"):
            tc.open(frame, unit=tc.ROW, budget=tc.PureDP(epsilon=1), **option)
        with pytest.raises(UnusedOptionError, match="where Spark is started"):  # it runs already
            tc.open("spark:nowhere.parquet", unit=tc.ROW, budget=tc.PureDP(epsilon=1), **option)


def test_questions_from_several_threads_are_all_answered(opened: SparkEngine) -> None:
    found: list[list[list[int]]] = []
    threads = [
        Thread(target=lambda: found.append(opened.measure(plan(table(groups=10), UNITS, keys=KEYS)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[200] * 10]] * 4


FROM_ONE = "FROM t JOIN calendar AS c ON c.k = t.k WHERE person = 42"
QUERIES_ABOUT_ONE = {
    "a count": "SELECT count(*) AS n FROM t WHERE person = 42",
    "a join": f"SELECT count(*) AS n {FROM_ONE}",
    "different values": f"SELECT count(DISTINCT c.a) AS n {FROM_ONE}",
    "sums": f"SELECT sum(v) AS s, avg(clamp(v + c.a, 0, 9)) AS m {FROM_ONE}",
    "a median": f"SELECT median(clamp(v + c.a, 0, 9)) AS m {FROM_ONE}",
    "groups": f"SELECT t.k, count(*) AS n {FROM_ONE} GROUP BY t.k",
}


@pytest.fixture(scope="module")
def with_and_without() -> Iterator[list[Database]]:
    """Two tables, with unit 42 and without it, each beside a public table."""
    calendar = frame_of(pa.table({"k": ["x"] * 9, "a": list(range(9))}))
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                tc.open(
                    frame_of(pa.table({"person": people, "k": ["x"] * len(people), "v": [1] * len(people)})),
                    name="t",
                    unit="person",
                    max_groups=1,
                    max_rows=9,
                    bounds={"v": (0, 9)},
                    keys={"k": ["x", "y"]},
                    public={"calendar": calendar},
                    budget=tc.PureDP(epsilon=9),
                )
            )
            for people in ([41, 42, 43], [41, 43])
        ]


NUMBERS = count()


def work(db: Database, sql: str) -> list[int]:
    """Return the numbers of tasks of the stages that Spark runs for a query, sorted, because some run side by side.

    A job also lists stages that it skips because an earlier job has run them; how many depends on the moment.
    """
    session = spark()
    if not hasattr(session, "sparkContext"):
        pytest.skip("Spark Connect has no status tracker")
    context, group = session.sparkContext, f"query {next(NUMBERS)}"  # jobs that earlier tests left are in other groups
    tracker = context.statusTracker()
    context.setJobGroup(group, sql)
    try:
        db.sql(sql, epsilon=1)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
    context._jsc.sc().listenerBus().waitUntilEmpty()  # the tracker learns of stages a moment later
    jobs = [info for job in tracker.getJobIdsForGroup(group) if (info := tracker.getJobInfo(job))]
    stages = [
        run for stage in {stage for job in jobs for stage in job.stageIds} if (run := tracker.getStageInfo(stage))
    ]
    return sorted(run.numCompletedTasks for run in stages if run.numCompletedTasks)


@pytest.mark.parametrize("sql", QUERIES_ABOUT_ONE.values(), ids=QUERIES_ABOUT_ONE.keys())
def test_a_query_about_one_unit_runs_the_same_stages_with_and_without_it(
    with_and_without: list[Database], sql: str
) -> None:
    present, absent = with_and_without
    assert work(present, sql) == work(absent, sql) != []
