"""Sessions of Spark's: one on a Spark Connect server, and our own beside one that is there.

Ours is a new one, on the same cluster: what is set and shown there is not seen in theirs. All that says what SQL means
is set, whatever theirs or the cluster's defaults are (`SETTINGS`), and old behaviours are switched off. How work is
spread, and what catalogs there are, is taken over from theirs.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from logging import LogRecord
from socket import create_connection
from subprocess import TimeoutExpired
from threading import get_ident
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from tacit.errors import NoSourceError, SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "false",
        "spark.sql.ansi.enforceReservedKeywords": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.analyzer.maxIterations": "10000",  # one for each layer of computed columns
        "spark.sql.optimizer.maxIterations": "1000",
        "spark.sql.timestampType": "TIMESTAMP_LTZ",
        "spark.sql.caseSensitive": "false",
        "spark.sql.hive.manageFilesourcePartitions": "false",  # all statements of a question see the same partitions
        "spark.sql.decimalOperations.allowPrecisionLoss": "true",
        "spark.sql.orderByOrdinal": "true",
        "spark.sql.parser.escapedStringLiterals": "false",
        "spark.sql.parser.quotedRegexColumnNames": "false",
        "spark.sql.variable.substitute": "false",
        "spark.sql.crossJoin.enabled": "true",
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.optimizer.collapseProjectAlwaysInline": "false",
        "spark.sql.subexpressionElimination.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
        "spark.sql.parquet.int96AsTimestamp": "true",
        "spark.sql.parquet.binaryAsString": "false",
        "spark.sql.parquet.mergeSchema": "false",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    }
)
"""What is set in our session, so that a statement means one thing."""

ENDED = (
    "The Java in which Spark ran has ended; nothing was read, and nothing more was charged. PySpark starts no second "
    "one in a process: start this program again."
)
STOPPED = (
    "The Spark session was stopped; nothing was read, and nothing more was charged. Start another with "
    "SparkSession.builder.getOrCreate(), and open the source again with it."
)
_NO_CONNECT = (
    "Spark Connect needs more packages; nothing was read or spent. Install them with: pip install 'pyspark[connect]'"
)
NOT_REACHED = (
    "The Spark Connect server could not be reached; nothing was read or spent. Check that it runs, the host and port "
    "after sc://, and the token."
)
_KEPT = ("spark.sql.catalog.", "spark.sql.shuffle.partitions", "spark.sql.files.maxPartitionBytes")
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_LAST_BREATH = 2.0
_PORT, _REACH = 15002, 10  # of Spark Connect; seconds


def connected(url: str) -> SparkSession:
    """Return a session on a Spark Connect server."""
    if "session_id=" in url:
        raise NoSourceError("a Spark Connect URL with a session_id", "a URL without one: we make a session of our own")
    session, failed = None, NOT_REACHED
    if find_spec("pyspark") is not None and find_spec("grpc") is None:  # PySpark may end the process over this
        raise SourceError(_NO_CONNECT)
    try:
        with calm():
            from pyspark.sql.connect.session import SparkSession as Remote  # noqa: PLC0415 - an extra

        place = urlsplit(url)
        if _answers(place.hostname or "", place.port or _PORT):
            made = Remote(connection=url)
            _hurry(made)
            session = made if made.version else None
    except ImportError:
        failed = _NO_CONNECT
    except Exception:  # noqa: BLE001, S110 - it may repeat the URL, and with it a token
        pass
    if session is None:
        raise SourceError(failed)
    return cast("SparkSession", session)


@contextmanager
def calm() -> Iterator[None]:
    """Keep to ourselves what PySpark warns of when its modules are loaded, such as a pandas that is too new for it.

    Filters hold for all threads of a process, so what others warn of meanwhile is not kept back.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(pyspark|py4j)\b")
        yield


def own(session: SparkSession) -> SparkSession:
    """Return a new session beside another, in which all that says what SQL means is set."""
    theirs = session.conf.getAll
    made = session.newSession() if hasattr(session, "_jsparkSession") else _remote(session)
    for name in made.conf.getAll:
        if "legacy" in name.lower():
            made.conf.unset(name)
    kept = {name: value for name, value in theirs.items() if name.startswith(_KEPT)}
    for name, value in {**kept, **SETTINGS}.items():
        if _setting(made, name) != value and (name in SETTINGS or made.conf.isModifiable(name)):
            made.conf.set(name, value)
    _same_place(session, made)
    return made


@contextmanager
def same_active() -> Iterator[None]:
    """Leave the active session what it is, whichever session makes a table meanwhile."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    before = SparkSession.getActiveSession()
    try:
        yield
    finally:
        if before is not None and hasattr(before, "_jsparkSession"):
            SparkSession._activeSession = before  # noqa: SLF001 - nothing public sets it
            SparkSession._get_j_spark_session_class(before._jvm).setActiveSession(before._jsparkSession)  # noqa: SLF001 - as PySpark does


def _setting(session: SparkSession, name: str) -> str | None:
    with suppress(Exception):  # it has none, and no default
        return session.conf.get(name)
    return None


def _remote(session: SparkSession) -> SparkSession:
    """Return another session on the same Spark Connect server, over a connection of its own."""
    client = session._client  # type: ignore[attr-defined] # noqa: SLF001 - nothing public says where it is connected
    made = type(session)(connection=client._builder)  # type: ignore[call-arg] # noqa: SLF001 - as above
    _hurry(made)
    return made


def _hurry(session: object) -> None:
    """Let a session of ours give up on a server that is gone within seconds; PySpark would try for ten minutes.

    It gives up by raising what happened: PySpark would warn first, on standard error, of what we report ourselves.
    """
    with calm():
        from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState  # noqa: PLC0415 - an extra

    class State(RetryPolicyState):
        def next_attempt(self, exception: BaseException | None = None) -> int | None:
            wait = super().next_attempt(exception)
            if wait is None and exception is not None:
                raise exception
            return wait

    class RetryPolicy(DefaultPolicy):
        def to_state(self) -> RetryPolicyState:
            return State(self)

    policy = RetryPolicy(max_retries=5, initial_backoff=100, max_backoff=4000, max_server_retry_delay=4000)
    session._client.set_retry_policies([policy])  # type: ignore[attr-defined] # noqa: SLF001 - nothing public does it


def _answers(host: str, port: int) -> bool:
    """Whether somebody listens there; where a proxy stands between, nobody can tell."""
    if any(os.environ.get(name) for name in _PROXIES):
        return True
    try:
        create_connection((host, port), _REACH).close()
    except (OSError, OverflowError, UnicodeError):
        return False
    return True


def release(session: SparkSession) -> None:
    """Let go of a session of ours; one of Spark Connect has a connection and a place on the server."""
    if hasattr(session, "_jsparkSession"):
        return
    with suppress(Exception):
        if is_there(session):  # else both would try for a while
            client = session._client  # type: ignore[attr-defined] # noqa: SLF001 - `stop` would end a local server too
            client.release_session()
            client.close()


def _same_place(session: SparkSession, made: SparkSession) -> None:
    """Let names without a catalog or a database mean in a new session what they mean in another."""
    catalog, database = session.catalog.currentCatalog(), session.catalog.currentDatabase()
    if catalog != made.catalog.currentCatalog():
        made.catalog.setCurrentCatalog(catalog)
    if database != made.catalog.currentDatabase():
        made.catalog.setCurrentDatabase(database)


def tell_apart(session: SparkSession, types: Mapping[str, Mapping[str, str]]) -> None:
    """Let capitals matter where names differ by nothing else; not otherwise, since files may write them another way."""
    names = {name for columns in types.values() for name in columns}
    if len({name.lower() for name in names}) < len(names):
        session.conf.set("spark.sql.caseSensitive", "true")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what fails in this thread out of PySpark's own logs on standard error: it could tell of the data."""
    here, loggers = get_ident(), []
    with suppress(ImportError):
        from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an extra

        loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]

    def elsewhere(record: LogRecord) -> bool:
        return record.thread != here

    for logger in loggers:
        logger.addFilter(elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(elsewhere)


def refuse_gone(session: SparkSession) -> None:
    """Raise SourceError if a session was stopped, here or in Java, or if its Spark Connect server does not answer."""
    stopped = True
    try:
        if hasattr(session, "is_stopped"):
            stopped = bool(session.is_stopped)
        else:
            java = session.sparkContext._jsc  # noqa: SLF001 - nothing public says it
            stopped = java is None or bool(java.sc().isStopped())
    except Exception:  # noqa: BLE001, S110 - Java is gone
        pass
    if stopped:
        raise SourceError(ENDED if has_ended() else STOPPED)
    if not is_there(session):
        raise SourceError(NOT_REACHED)


def has_ended() -> bool:
    """Whether the Java that this process started for Spark runs no more; one that was killed takes a moment to go."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - nothing public says it
    if process is None:
        return False
    with suppress(TimeoutExpired):
        process.wait(_LAST_BREATH)
    return process.poll() is not None


def is_there(session: SparkSession) -> bool:
    """Whether a session's server can be reached, as far as that can be told at once; one in this process can."""
    if hasattr(session, "_jsparkSession"):
        return True
    place = getattr(session._client._builder, "endpoint", None)  # type: ignore[attr-defined] # noqa: SLF001 - as above
    if place is None:  # somebody's own way to a server
        return True
    host, _, port = place.rpartition(":")
    return _answers(host.strip("[]"), int(port))
