"""The active Spark session, or a new one on this machine, started silently and without files in the current folder.

Java and Spark print notes when they start. They are of no use to an analyst, and a program may parse standard error. So
a session that tacit starts prints nothing. A session that the caller started is used unchanged.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from tacit.engines.spark.sessions import ENDED, RESTART, check_session, has_ended, quiet_imports
from tacit.engines.spark.start_options import STARTED_WITH, is_configured, options_of
from tacit.errors import MissingDriverError, SourceError, TacitError
from tacit.query.policy.engine_settings import EngineSettings

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_NO_JAVA = (
    "Spark could not be started: it needs Java 17 or later.",
    (
        "Install Java (on Debian: apt install openjdk-17-jre-headless), set JAVA_HOME if `java` is not on the path, "
        "and open again."
    ),
)
_WRONG_JAVA_HOME = (
    "Spark could not be started: JAVA_HOME is set, but there is no bin/java below that folder.",
    "Set the environment variable to the folder of Java 17 or later, or unset it, and open again.",
)
_NO_START = (
    "Java runs, but Spark could not be started.",
    (
        "Check its settings (spark-defaults.conf, the environment variables SPARK_… and PYSPARK_…); "
        "SparkSession.builder.getOrCreate() in Python shows its log."
    ),
)
_NAME: Final = "spark.app.name"
_QUIET = {_NAME: "tacit", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
_CATALOG = re.compile(r"spark\.sql\.(?:warehouse\.dir|catalogImplementation)\b")
_DERBY_LOG: Final = "derby.stream.error.file"
_STANDARD_ERROR: Final = 2
_starting = Lock()
_started: list[SparkContext] = []


def active_session(settings: EngineSettings | None = None) -> SparkSession:
    """Return the active session, or start one on this machine with these settings.

    Raises:
        MissingDriverError: PySpark is not installed.
        SourceError: there is no Java, Spark does not start, or the session was stopped.
    """
    session, failure = None, TacitError("")
    try:
        with quiet_imports():
            from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

        session = SparkSession.getActiveSession() or _shared_session(settings or EngineSettings())
    except TacitError as error:
        failure = error
    except ImportError:
        failure = MissingDriverError("pyspark", "Spark", extra="spark")
    except Exception:  # noqa: BLE001 - Java's text is not shown
        failure = _start_error()
    if session is None:  # outside of `except`, so that not even the context carries Java's text
        raise failure
    check_session(session)
    return session


def is_started_here(session: SparkSession) -> bool:
    """Return whether `active_session` started a session, or the session that it was created from."""
    return any(getattr(session, "_sc", None) is context for context in _started)


def _shared_session(engine_settings: EngineSettings) -> SparkSession:
    """Return the session that others in this process share, or start one."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    with _starting:  # two threads would save each other's null device as standard error
        if SparkContext._active_spark_context is not None:  # noqa: SLF001 - the public way would start one
            return SparkSession.builder.getOrCreate()
        options = options_of(engine_settings)
        builder, settings = SparkSession.builder, {**_QUIET, **_warehouse(), **options}
        for name, value in settings.items():
            builder = builder.config(name, value)
        with quiet_imports(), _silent_child():
            session = builder.getOrCreate()
        if hasattr(session, "_jsparkSession"):  # not a server that the environment names
            _started[:] = [session.sparkContext]
            STARTED_WITH.clear()
            STARTED_WITH.update(options)
            _clean_up(session, settings.keys() - {_NAME})  # Spark needs a name to start
        return session


def _clean_up(session: SparkSession, settings: Iterable[str]) -> None:
    """Remove tacit's settings from Java, so that a later session does not inherit them; disable Derby's log.

    Derby stores Hive's catalog by default, and would write its log to the current folder. It is not in use yet: the
    catalog is first read after this.
    """
    java: Any = session._jvm  # noqa: SLF001 - there is no public way
    system = java.java.lang.System
    for name in settings:
        system.clearProperty(name)
    if not any(system.getProperty(name) for name in (_DERBY_LOG, "derby.system.home")):
        system.setProperty(_DERBY_LOG, os.devnull)


@contextmanager
def _silent_child() -> Iterator[None]:
    """Give a process that is started meanwhile the null device as its standard error.

    Java and its start scripts write there before Spark reads any setting, and PySpark passes our file descriptor on. So
    the descriptor is replaced while Java is started, and restored afterwards.
    """
    saved = None
    with suppress(OSError, ValueError):  # standard error is closed or missing
        sys.stderr.flush()
        saved = os.dup(_STANDARD_ERROR)
    if saved is None:
        yield
        return
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, _STANDARD_ERROR)
        os.close(null)
        yield
    finally:
        os.dup2(saved, _STANDARD_ERROR)
        os.close(saved)


def _start_error() -> SourceError:
    """Return the error that says why Spark did not start."""
    message, hint = _NO_JAVA
    with suppress(OSError, ValueError):
        home = os.environ.get("JAVA_HOME")
        if home and not any((Path(home) / "bin" / name).is_file() for name in ("java", "java.exe")):
            message, hint = _WRONG_JAVA_HOME
    with suppress(Exception):
        from pyspark import SparkContext  # noqa: PLC0415 - an extra

        if SparkContext._gateway is not None:  # noqa: SLF001 - there is no public way to see that Java runs
            message, hint = (ENDED, RESTART) if has_ended() else _NO_START
    return SourceError(message, hint=hint)


def _warehouse() -> dict[str, str]:
    """Return the setting of the folder for new tables: a temporary one, unless the user configured one."""
    if is_configured(_CATALOG, "hive-site.xml"):
        return {}
    folder = mkdtemp(prefix="tacit-spark-")
    atexit.register(_remove, folder, os.getpid())
    return {"spark.sql.warehouse.dir": folder}


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child must not remove it
        shutil.rmtree(folder, ignore_errors=True)
