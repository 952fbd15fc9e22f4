"""Spark sessions: one on a Spark Connect server, and tacit's own session beside the caller's.

tacit's session is a new one on the same cluster: its settings and views are not visible in the caller's. It sets
everything that changes the meaning of SQL (`SETTINGS`), regardless of the caller's session and the cluster's defaults,
and unsets legacy options. Catalogs and the settings that distribute work are copied from the caller's session.
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

from tacit.errors import MissingDriverError, NoSourceError, SourceError, guarded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ADAPTIVE = "org.apache.spark.sql.execution.adaptive"
_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"

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
        "spark.sql.hive.manageFilesourcePartitions": "false",  # all statements of a query see the same partitions
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
        "spark.sql.adaptive.coalescePartitions.enabled": "true",
        # these rules skip stages if no row passes a condition, which shows in the time of a query about one person
        "spark.sql.adaptive.optimizer.excludedRules": ",".join(
            (
                f"{_ADAPTIVE}.AQEPropagateEmptyRelation",
                f"{_ADAPTIVE}.DynamicJoinSelection",
                f"{_OPTIMIZER}.ConvertToLocalRelation",
                f"{_OPTIMIZER}.OptimizeOneRowPlan",
            )
        ),
        "spark.sql.optimizer.excludedRules": f"{_OPTIMIZER}.ConvertToLocalRelation,{_OPTIMIZER}.PropagateEmptyRelation",
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
"""The settings of tacit's session, so that a statement has one meaning."""

ENDED = "The Java process of Spark has ended."
STOPPED = "The Spark session was stopped."
NOT_REACHED = "The Spark Connect server could not be reached."
RESTART = "PySpark cannot start a second one in a process: start this program again."
_NEW_SESSION = "Start another with SparkSession.builder.getOrCreate(), and open the source again with it."
_CHECK_SERVER = "Check that it runs, the host and port after sc://, and the token."
_PARTITIONS = "spark.sql.shuffle.partitions"
_BYPASS, _FEW = "spark.shuffle.sort.bypassMergeThreshold", 8
_COPIED = ("spark.sql.catalog.", _PARTITIONS, "spark.sql.files.maxPartitionBytes")
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXIT_WAIT = 2.0
_PORT, _REACH = 15002, 10  # of Spark Connect; seconds


def connect(url: str) -> SparkSession:
    """Return a session on a Spark Connect server."""
    if "session_id=" in url:
        raise NoSourceError("The Spark Connect URL has a session_id.", hint="Remove it: tacit creates its own session.")
    if find_spec("pyspark") is not None and find_spec("grpc") is None:  # PySpark may end the process without grpc
        raise _missing_connect()
    return guarded(lambda: _connect(url), NOT_REACHED, hint=_CHECK_SERVER)  # PySpark's text may repeat a token


def _connect(url: str) -> SparkSession:
    is_missing, address = False, urlsplit(url)
    try:
        with quiet_imports():
            from pyspark.sql.connect.session import SparkSession as RemoteSession  # noqa: PLC0415 - an extra

        if _is_listening(address.hostname or "", address.port or _PORT):
            session = RemoteSession(connection=url)
            _limit_retries(session)
            if session.version:
                return cast("SparkSession", session)
    except ImportError:
        is_missing = True
    raise _missing_connect() if is_missing else SourceError(NOT_REACHED, hint=_CHECK_SERVER)


def _missing_connect() -> MissingDriverError:
    return MissingDriverError("pyspark[connect]", "Spark Connect", extra="spark")


@contextmanager
def quiet_imports() -> Iterator[None]:
    """Suppress the warnings of PySpark when its modules are loaded, such as a pandas that is too new for it.

    Filters apply to all threads of a process, so only warnings of PySpark's modules are suppressed.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(pyspark|py4j)\b")
        yield


def new_session(session: SparkSession) -> SparkSession:
    """Return a new session beside another, with all settings that define the meaning of SQL."""
    theirs = session.conf.getAll
    ours = session.newSession() if hasattr(session, "_jsparkSession") else _new_remote(session)
    for name in ours.conf.getAll:
        if "legacy" in name.lower():
            ours.conf.unset(name)
    copied = {name: value for name, value in theirs.items() if name.startswith(_COPIED)}
    for name, value in {**copied, **SETTINGS}.items():
        if _setting(ours, name) != value and (name in SETTINGS or ours.conf.isModifiable(name)):
            ours.conf.set(name, value)
    _avoid_files_by_partition(ours)
    _copy_current_database(session, ours)
    return ours


def _avoid_files_by_partition(session: SparkSession) -> None:
    """Raise the number of shuffle partitions above the limit up to which a task opens a file for every partition.

    Spark opens those files when the first row comes, so 200 files would show in the time of a query about one person.
    Above the limit a task sorts its rows into one file. A few files take no time worth mentioning. Adaptive execution
    merges small partitions again, so the number of tasks is as before.
    """
    partitions, limit = int(_setting(session, _PARTITIONS) or 200), int(_setting(session, _BYPASS) or 200)
    if _FEW < partitions <= limit:
        session.conf.set(_PARTITIONS, str(limit + 1))


@contextmanager
def keep_active_session() -> Iterator[None]:
    """Restore the active session afterwards, because creating a DataFrame changes it."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    before = SparkSession.getActiveSession()
    try:
        yield
    finally:
        if before is not None and hasattr(before, "_jsparkSession"):
            SparkSession._activeSession = before  # noqa: SLF001 - there is no public way
            SparkSession._get_j_spark_session_class(before._jvm).setActiveSession(before._jsparkSession)  # noqa: SLF001 - as PySpark does


def _setting(session: SparkSession, name: str) -> str | None:
    with suppress(Exception):  # it is not set and has no default
        return session.conf.get(name)
    return None


def _new_remote(session: SparkSession) -> SparkSession:
    """Return another session on the same Spark Connect server, over a separate connection."""
    client = session._client  # type: ignore[attr-defined] # noqa: SLF001 - there is no public way to the address
    ours = type(session)(connection=client._builder)  # type: ignore[call-arg] # noqa: SLF001 - as above
    _limit_retries(ours)
    return ours


def _limit_retries(session: object) -> None:
    """Make a session give up on a server that is gone within seconds; PySpark would try for ten minutes.

    It gives up by raising the original error: PySpark would first warn on standard error, and tacit reports the error.
    """
    with quiet_imports():
        from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState  # noqa: PLC0415 - an extra

    class RaisingState(RetryPolicyState):
        def next_attempt(self, exception: BaseException | None = None) -> int | None:
            wait = super().next_attempt(exception)
            if wait is None and exception is not None:
                raise exception
            return wait

    class RaisingPolicy(DefaultPolicy):
        def to_state(self) -> RetryPolicyState:
            return RaisingState(self)

    policy = RaisingPolicy(max_retries=5, initial_backoff=100, max_backoff=4000, max_server_retry_delay=4000)
    session._client.set_retry_policies([policy])  # type: ignore[attr-defined] # noqa: SLF001 - there is no public way


def _is_listening(host: str, port: int) -> bool:
    """Return whether a server listens at an address; with a proxy in between, assume that it does."""
    if any(os.environ.get(name) for name in _PROXIES):
        return True
    try:
        create_connection((host, port), _REACH).close()
    except (OSError, OverflowError, UnicodeError):
        return False
    return True


def release(session: SparkSession) -> None:
    """Release a session of tacit; a Spark Connect session has a connection and resources on the server."""
    if hasattr(session, "_jsparkSession"):
        return
    with suppress(Exception):
        if is_reachable(session):  # otherwise both calls would retry for a while
            client = session._client  # type: ignore[attr-defined] # noqa: SLF001 - `stop` would end a local server too
            client.release_session()
            client.close()


def _copy_current_database(theirs: SparkSession, ours: SparkSession) -> None:
    """Make names without a catalog or a database refer to the same tables in both sessions."""
    catalog, database = theirs.catalog.currentCatalog(), theirs.catalog.currentDatabase()
    if catalog != ours.catalog.currentCatalog():
        ours.catalog.setCurrentCatalog(catalog)
    if database != ours.catalog.currentDatabase():
        ours.catalog.setCurrentDatabase(database)


def set_case_sensitivity(session: SparkSession, types: Mapping[str, Mapping[str, str]]) -> None:
    """Make names case-sensitive if some differ only in case; otherwise files may spell them differently."""
    names = {name for columns in types.values() for name in columns}
    if len({name.lower() for name in names}) < len(names):
        session.conf.set("spark.sql.caseSensitive", "true")


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep errors of this thread out of PySpark's logs on standard error, because they could contain data."""
    here, loggers = get_ident(), []
    with suppress(ImportError):
        from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an extra

        loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]

    def is_elsewhere(record: LogRecord) -> bool:
        return record.thread != here

    for logger in loggers:
        logger.addFilter(is_elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_elsewhere)


def check_session(session: SparkSession) -> None:
    """Raise SourceError if a session was stopped, here or in Java, or if its Spark Connect server does not answer."""
    is_stopped = True
    with suppress(Exception):  # Java is gone
        if hasattr(session, "is_stopped"):
            is_stopped = bool(session.is_stopped)
        else:
            java = session.sparkContext._jsc  # noqa: SLF001 - there is no public way
            is_stopped = java is None or bool(java.sc().isStopped())
    if is_stopped and has_ended():
        raise SourceError(ENDED, hint=RESTART)
    if is_stopped:
        raise SourceError(STOPPED, hint=_NEW_SESSION)
    if not is_reachable(session):
        raise SourceError(NOT_REACHED, hint=_CHECK_SERVER)


def has_ended() -> bool:
    """Return whether the Java process that this process started for Spark has ended; a killed one takes a moment."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - there is no public way
    if process is None:
        return False
    with suppress(TimeoutExpired):
        process.wait(_EXIT_WAIT)
    return process.poll() is not None


def is_reachable(session: SparkSession) -> bool:
    """Return whether a session's server accepts connections, as far as tacit can test it; a local session does."""
    if hasattr(session, "_jsparkSession"):
        return True
    endpoint = getattr(session._client._builder, "endpoint", None)  # type: ignore[attr-defined] # noqa: SLF001 - as above
    if endpoint is None:  # the caller connected in another way
        return True
    host, _, port = endpoint.rpartition(":")
    return _is_listening(host.strip("[]"), int(port))
