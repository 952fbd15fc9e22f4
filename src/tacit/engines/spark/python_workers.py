"""Check, before a charge, that Spark's workers run the Python that a DataFrame needs.

Spark runs a DataFrame of Python's rows, or one with a Python function, in Python processes on its workers. It refuses
workers with another minor version of Python than the driver's, and finds that out when a task reads the first row.
So tacit runs a Python function over a range of a few numbers, which reads no table and does not depend on any row.

**What is not checked.** Spark decides which executor runs a task. tacit runs as many tasks as there are executors, but
one executor may run several. Packages that the caller's own functions import are not checked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tacit.engines.spark.availability import EXECUTOR_WAIT, executor_count, is_local
from tacit.engines.spark.interrupts import new_tag, stop, tagged
from tacit.engines.time_limit import TimeLimit
from tacit.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OTHER_PYTHON: Final = "Spark's workers do not run the Python that a DataFrame of this source needs."
_USE_VERSION = (
    "Set PYSPARK_PYTHON to Python {}.{}, which runs tacit, on all workers before Spark starts; or write the rows to "
    "Parquet files and open these."
)
_NODES = re.compile(r"(?:EvalPython|InPandas|InArrow|PythonUDTF|PythonDataSource)\b")
"""The ends of the names of nodes of a query that run Python."""

_checked = set[str]()
"""The applications whose tasks run in the driver's process, and whose Python was right; it does not change."""


def needs_python(frame: DataFrame) -> bool:
    """Return whether Spark runs Python to read a DataFrame; False if its query cannot be read. No row is read."""
    with suppress(Exception):
        if not hasattr(frame.sparkSession, "_jsparkSession"):
            return _NODES.search(frame._explain_string(extended=True)) is not None  # type: ignore[operator] # noqa: SLF001 - there is no public way
        execution: Any = frame._jdf.queryExecution()  # noqa: SLF001 - as above
        leaves = execution.analyzed().collectLeaves()
        nodes = [leaves.apply(place) for place in range(leaves.size())]
        lineages = [node.rdd().toDebugString() for node in nodes if node.getClass().getSimpleName() == "LogicalRDD"]
        return any("PythonRDD" in lineage for lineage in lineages) or bool(_NODES.search(execution.toString()))
    return False


def check_python(session: SparkSession, frames: Iterable[DataFrame], seconds: float = EXECUTOR_WAIT) -> None:
    """Raise SourceError if a DataFrame needs Python and the session's workers do not run this one in time."""
    application = _application(session)
    if application in _checked or not any(map(needs_python, frames)):
        return
    if not _runs_python(session, seconds):
        raise SourceError(OTHER_PYTHON, hint=_USE_VERSION.format(*sys.version_info[:2]))
    if application is not None and is_local(session):
        _checked.add(application)


def _application(session: SparkSession) -> str | None:
    """Return the identity of the application of this process; None for Spark Connect."""
    return str(session.sparkContext.applicationId) if hasattr(session, "_jsparkSession") else None


def _runs_python(session: SparkSession, seconds: float) -> bool:
    """Return whether workers run a Python function in this time; stop them otherwise."""
    tag, tasks = new_tag(), max(executor_count(session), 1)
    with suppress(Exception), tagged(session, tag):
        numbers = _with_python(session, tasks)
        TimeLimit(seconds).run(numbers.collect, lambda: stop(session, tag))
        return True
    return False


def _with_python(session: SparkSession, tasks: int) -> DataFrame:
    """Return a DataFrame that calls a Python function once in each task.

    Spark sends a function that has no name in a module as a whole, so workers do not need tacit.
    """
    from pyspark.sql.types import LongType  # noqa: PLC0415 - an extra

    is_classic = hasattr(session, "_jsparkSession")
    functions: Any = import_module("pyspark.sql.functions" if is_classic else "pyspark.sql.connect.functions")
    same = functions.udf(lambda number: number, LongType(), useArrow=False)
    return session.range(0, tasks, 1, tasks).select(same("id"))
