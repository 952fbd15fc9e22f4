"""Checks that Spark can answer, before a charge: its server has the session, and its cluster runs tasks.

No check reads a table. So an error here does not depend on any row.

**Spark Connect.** A server that was restarted listens on the same port, but all its sessions are lost. A server also
ends a session that nobody used for an hour. So tacit asks the server for a setting in the same session: PySpark sends
the identity that the server gave to the session, and the server refuses an identity that it does not know.

**Executors.** A cluster without executors accepts a query and lets it wait. If tasks run in the driver's process, no
executor is needed. If this process is the driver of a cluster, Spark's status shows the executors. If the status shows
no executor, or this process is a client of Spark Connect, which has no status, tacit runs one task over a range of one
number: a cluster may start executors on demand.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tacit.engines.spark.interrupts import new_tag, stop, tagged
from tacit.engines.time_limit import TimeLimit
from tacit.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOST: Final = "The Spark Connect server was restarted, or it ended this session."
REOPEN: Final = "Open the source again; if you passed a session or a DataFrame, create a new one first."
NO_EXECUTORS: Final = "The Spark cluster did not run a task: it has no executor, or no free core."
_CHECK_WORKERS = "Check that its workers run and have free cores and memory, then run the query again."
_SETTING, _MASTER = "spark.sql.session.timeZone", "spark.master"

EXECUTOR_WAIT: Final = 60.0
"""How long the cluster may take to run one task, in seconds; executors may have to be started for it."""


def check_server_session(session: SparkSession) -> None:
    """Raise SourceError if a Spark Connect server does not have this session any more; a local session is skipped."""
    if hasattr(session, "_jsparkSession"):
        return
    with suppress(Exception):  # its text is not shown
        session.conf.get(_SETTING)
        return
    raise SourceError(LOST, hint=REOPEN)


def check_executors(session: SparkSession, seconds: float | None = None) -> None:
    """Raise SourceError if the session's cluster does not run one task in time."""
    if is_local(session) or executor_count(session):
        return
    if not _runs_a_task(session, EXECUTOR_WAIT if seconds is None else seconds):
        raise SourceError(NO_EXECUTORS, hint=_CHECK_WORKERS)


def is_local(session: SparkSession) -> bool:
    """Return whether tasks run in the driver's process."""
    with suppress(Exception):
        if hasattr(session, "_jsparkSession"):
            return bool(_java_context(session).isLocal())
        return str(session.conf.get(_MASTER)).startswith("local") and "-cluster" not in str(session.conf.get(_MASTER))
    return False


def executor_count(session: SparkSession) -> int:
    """Return the number of executors that the driver in this process knows; 0 for Spark Connect, without a status."""
    with suppress(Exception):
        if hasattr(session, "_jsparkSession"):
            return int(_java_context(session).getExecutorMemoryStatus().size()) - 1  # the driver is one of them
    return 0


def _java_context(session: SparkSession) -> Any:  # noqa: ANN401 - an object of Java
    return session.sparkContext._jsc.sc()  # noqa: SLF001 - there is no public way


def _runs_a_task(session: SparkSession, seconds: float) -> bool:
    """Return whether the cluster runs one task, which reads no table, in this time; stop it otherwise."""
    tag = new_tag()
    with suppress(Exception), tagged(session, tag):
        TimeLimit(seconds).run(session.range(0, 1, 1, 1).collect, lambda: stop(session, tag))
        return True
    return False
