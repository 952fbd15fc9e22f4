"""The session that is there, or one that is started on this machine: in silence, and with nothing left in the folder.

Java's and Spark's notes on starting are for nobody who asks a question, and standard error may be read by a machine. So
a session that is started here says nothing, then or later. One that somebody else made is taken as it is.
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

from tacit.engines.spark.sessions import ENDED, calm, has_ended, refuse_gone
from tacit.errors import SourceError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_NO_SPARK = "Spark needs the package pyspark; nothing was read or spent. Install it with: pip install 'tacit[spark]'"
_NO_JAVA = (
    "Spark could not be started; nothing was read or spent. It needs Java 17 or later: install it (on Debian: apt "
    "install openjdk-17-jre-headless), set JAVA_HOME if `java` is not on the path, and open again."
)
_NO_JAVA_THERE = (
    "Spark could not be started: the environment variable JAVA_HOME is set, but there is no bin/java below what it "
    "names; nothing was read or spent. Set it to the folder of Java 17 or later, or unset it, and open again."
)
_NO_START = (
    "Java runs, but Spark could not be started; nothing was read or spent. Check its settings (spark-defaults.conf, "
    "the environment variables SPARK_… and PYSPARK_…); SparkSession.builder.getOrCreate() in Python shows its log."
)
_NAMED: Final = "spark.app.name"
_CALM = {_NAMED: "tacit", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
_CATALOG = re.compile(r"spark\.sql\.(?:warehouse\.dir|catalogImplementation)\b")
_DERBY_LOG: Final = "derby.stream.error.file"
_STANDARD_ERROR: Final = 2
_starting = Lock()
_started: list[SparkContext] = []


def active() -> SparkSession:
    """Return the session that is there, or start one on this machine.

    Raises:
        SourceError: there is no PySpark or no Java, Spark does not start, or the session was stopped.
    """
    session, failed = None, ""
    try:
        with calm():
            from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

        session = SparkSession.getActiveSession() or _default()
    except ImportError:
        failed = _NO_SPARK
    except Exception:  # noqa: BLE001 - whatever Java says
        failed = _why()
    if session is None:
        raise SourceError(failed)
    refuse_gone(session)
    return session


def is_started_here(session: SparkSession) -> bool:
    """Whether a session is one that `active` started, or beside such a one."""
    return any(getattr(session, "_sc", None) is context for context in _started)


def _default() -> SparkSession:
    """Return the session that others in this process share, or start one if there is none."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    with _starting:  # two at a time would take each other's null device for standard error
        if SparkContext._active_spark_context is not None:  # noqa: SLF001 - nothing public says it without starting one
            return SparkSession.builder.getOrCreate()
        builder, settings = SparkSession.builder, {**_CALM, **_place()}
        for name, value in settings.items():
            builder = builder.config(name, value)
        with calm(), _silent_child():
            session = builder.getOrCreate()
        if hasattr(session, "_jsparkSession"):  # not on a server that the environment names
            _started[:] = [session.sparkContext]
            _tidy(session, settings.keys() - {_NAMED})  # without a name none starts
        return session


def _tidy(session: SparkSession, settings: Iterable[str]) -> None:
    """Let a session that somebody makes in this Java later not begin with our settings, and Derby write no log.

    Derby is what Hive keeps its catalog in where nobody says otherwise; its log would lie in the current folder. It is
    not in use yet: a catalog is first looked at after this.
    """
    java: Any = session._jvm  # noqa: SLF001 - nothing public leads to Java
    system = java.java.lang.System
    for name in settings:
        system.clearProperty(name)
    if not any(system.getProperty(name) for name in (_DERBY_LOG, "derby.system.home")):
        system.setProperty(_DERBY_LOG, os.devnull)


@contextmanager
def _silent_child() -> Iterator[None]:
    """Let a process that is started meanwhile have the null device as its standard error, for as long as it runs.

    Java and the scripts before it write there before any setting of Spark's is read, and PySpark hands on our own file
    descriptor. So that one is another while Java is started, and what it was again after that.
    """
    kept = None
    with suppress(OSError, ValueError):  # it is closed, or there is none
        sys.stderr.flush()
        kept = os.dup(_STANDARD_ERROR)
    if kept is None:
        yield
        return
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, _STANDARD_ERROR)
        os.close(null)
        yield
    finally:
        os.dup2(kept, _STANDARD_ERROR)
        os.close(kept)


def _why() -> str:
    """Return which text says why Spark did not start."""
    with suppress(Exception):
        from pyspark import SparkContext  # noqa: PLC0415 - an extra

        if SparkContext._gateway is not None:  # noqa: SLF001 - nothing public says that Java runs
            return ENDED if has_ended() else _NO_START
    home = os.environ.get("JAVA_HOME")
    with suppress(OSError, ValueError):
        if home and not any((Path(home) / "bin" / name).is_file() for name in ("java", "java.exe")):
            return _NO_JAVA_THERE
    return _NO_JAVA


def _place() -> dict[str, str]:
    """Return where tables are written that somebody makes: a folder that goes with the process, unless one is said."""
    if _is_said():
        return {}
    folder = mkdtemp(prefix="tacit-spark-")
    atexit.register(_remove, folder, os.getpid())
    return {"spark.sql.warehouse.dir": folder}


def _remove(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # a child of ours that ends must not take it away
        shutil.rmtree(folder, ignore_errors=True)


def _is_said() -> bool:
    """Whether somebody has configured where Spark keeps tables, or which."""
    said = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if "--properties-file" in said or _CATALOG.search(said):
        return True
    return any(_says(folder) for folder in _folders())


def _folders() -> list[Path]:
    """Return where Spark looks for its settings."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 - an extra

    named = os.environ.get("SPARK_CONF_DIR")
    return [Path(named) if named else Path(_find_spark_home()) / "conf"]


def _says(folder: Path) -> bool:
    with suppress(OSError, ValueError):
        if (folder / "hive-site.xml").exists():
            return True
        lines = (folder / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace").splitlines()
        return any(_CATALOG.match(line.strip()) for line in lines)
    return False
