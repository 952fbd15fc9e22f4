"""Workers with another Python are noticed before the charge, if the source needs Python there."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf

import tacit as tc
from spark_session import spark
from tacit.engines.spark import python_workers
from tacit.engines.spark.python_workers import OTHER_PYTHON, check_python, needs_python
from tacit.errors import SourceError

ROWS = [(n, n % 3) for n in range(30)]


def rows_of_python() -> DataFrame:
    return spark().createDataFrame(ROWS, ["u", "k"])


@pytest.fixture
def other_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell every new Python worker that the driver has version 3.7: it then refuses to run, as on a real cluster."""
    monkeypatch.setattr(python_workers, "_checked", set())
    monkeypatch.setattr(spark().sparkContext, "pythonVer", "3.7")


def test_frames_that_need_python_are_recognised_without_reading_them() -> None:
    def fail(number: int) -> int:
        raise AssertionError(number)

    numbers = spark().range(3)
    function = udf(fail, "bigint", useArrow=False)
    assert needs_python(rows_of_python())
    assert needs_python(numbers.select(function("id")))
    assert needs_python(numbers.where(function("id") > 0).groupBy().count())
    assert needs_python(numbers.mapInPandas(lambda frames: frames, "id bigint"))
    assert needs_python(numbers.join(rows_of_python(), on=numbers["id"] == 1))
    assert not needs_python(numbers)
    assert not needs_python(spark().createDataFrame(pd.DataFrame({"u": [1]})))
    assert not needs_python(spark().sql("SELECT 1 AS PythonUDF"))


@pytest.mark.usefixtures("other_python")
def test_another_python_is_noticed_before_the_charge() -> None:
    made = rows_of_python()
    with tc.open(made, name="t", unit="u", max_rows=1, budget=tc.PureDP(epsilon=1)) as db:
        with pytest.raises(SourceError) as caught:
            db.sql("SELECT count(*) FROM t", epsilon=1)
        assert OTHER_PYTHON in str(caught.value)
        assert "PYSPARK_PYTHON" in str(caught.value)
        assert caught.value.__context__ is None
        assert db.left.epsilon == 1


@pytest.mark.usefixtures("other_python")
def test_a_source_without_python_does_not_need_it_on_workers() -> None:
    with tc.open(spark().range(30), name="t", unit="id", max_rows=1, budget=tc.PureDP(epsilon=50)) as db:
        assert abs(int(db.count(epsilon=50)) - 30) < 5  # beyond with probability e^-250


def test_the_right_python_is_asked_once_for_each_local_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_workers, "_checked", set())
    run = Mock(wraps=python_workers._with_python)
    monkeypatch.setattr(python_workers, "_with_python", run)
    for _ in range(2):
        check_python(spark(), [rows_of_python()])
    run.assert_called_once_with(spark(), 1)


def test_every_executor_of_a_cluster_gets_a_task_at_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    frame: Any = SimpleNamespace(collect=list)
    run = Mock(return_value=frame)
    monkeypatch.setattr(python_workers, "_checked", set())
    monkeypatch.setattr(python_workers, "is_local", lambda _: False)
    monkeypatch.setattr(python_workers, "executor_count", lambda _: 3)
    monkeypatch.setattr(python_workers, "needs_python", lambda _: True)
    monkeypatch.setattr(python_workers, "_with_python", run)
    for _ in range(2):
        check_python(spark(), [frame])
    assert run.call_args_list == [((spark(), 3),)] * 2


def test_workers_that_never_come_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame whose collect fails only after the interrupt stands for tasks without a worker."""
    stopped = Event()
    waiting: Any = SimpleNamespace(collect=lambda: 1 / (not stopped.wait(60)))
    monkeypatch.setattr(python_workers, "_checked", set())
    monkeypatch.setattr(python_workers, "needs_python", lambda _: True)
    monkeypatch.setattr(python_workers, "_with_python", lambda *_: waiting)
    monkeypatch.setattr(python_workers, "stop", lambda *_: stopped.set())
    with pytest.raises(SourceError, match="do not run the Python"):
        check_python(spark(), [waiting], seconds=0.05)
    assert stopped.is_set()
