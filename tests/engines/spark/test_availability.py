"""Checks of a server or a cluster before a charge, without Spark; `test_connect` and `test_cluster` start it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tacit.engines.spark import availability
from tacit.engines.spark.availability import LOST, NO_EXECUTORS, check_executors, check_server_session
from tacit.errors import SourceError


class Remote:
    """A session of Spark Connect on a server with some settings; it counts tasks, which fail unless `runs`."""

    def __init__(self, settings: dict[str, str], *, runs: bool = True) -> None:
        self.conf = SimpleNamespace(get=settings.__getitem__)
        self.runs, self.tasks, self.tags = runs, 0, list[str]()

    def range(self, *_: int) -> Any:  # noqa: ANN401 - a DataFrame
        return SimpleNamespace(collect=self._collect)

    def _collect(self) -> list[int]:
        assert len(self.tags) == 1
        self.tasks += 1
        if not self.runs:
            raise RuntimeError
        return [0]

    def addTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.tags.append(tag)

    def removeTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.tags.remove(tag)


def session(*settings: tuple[str, str], runs: bool = True) -> Any:  # noqa: ANN401 - stands for a SparkSession
    return Remote(dict(settings), runs=runs)


def test_a_server_without_the_session_is_noticed_and_its_text_is_not_shown() -> None:
    check_server_session(session(("spark.sql.session.timeZone", "UTC")))
    with pytest.raises(SourceError) as caught:
        check_server_session(session())
    assert (caught.value.message, caught.value.__context__) == (LOST, None)
    local: Any = SimpleNamespace(_jsparkSession=object())
    check_server_session(local)


@pytest.mark.parametrize(
    ("master", "tasks"),
    [("local", 0), ("local[2]", 0), ("spark://m:7077", 1), ("yarn", 1), ("local-cluster[2,1,9]", 1)],
)
def test_a_task_is_run_unless_the_server_runs_tasks_itself(master: str, tasks: int) -> None:
    asked = session(("spark.master", master))
    check_executors(asked)
    assert (asked.tasks, asked.tags) == (tasks, [])


def test_a_cluster_that_runs_no_task_is_refused() -> None:
    asked = session(("spark.master", "yarn"), runs=False)
    with pytest.raises(SourceError) as caught:
        check_executors(asked)
    assert (caught.value.message, caught.value.__context__, asked.tags) == (NO_EXECUTORS, None, [])


@pytest.mark.parametrize(("executors", "tasks"), [(1, 1), (2, 0)])
def test_the_driver_knows_its_executors_and_is_one_of_them(executors: int, tasks: int) -> None:
    context = SimpleNamespace(
        isLocal=lambda: False, getExecutorMemoryStatus=lambda: SimpleNamespace(size=lambda: executors)
    )
    asked: Any = Remote({})
    asked._jsparkSession = object()
    asked.sparkContext = SimpleNamespace(
        _jsc=SimpleNamespace(sc=lambda: context), addJobTag=asked.addTag, removeJobTag=asked.removeTag
    )
    check_executors(asked)
    assert (asked.tasks, asked.tags) == (tasks, [])
    assert availability.EXECUTOR_WAIT == 60
