"""Where Spark reads rows from: tables by name, Parquet files, and DataFrames; each shown in a session of our own.

**Sessions.** Ours is a new one beside the user's, on the same cluster: what is set and shown there is not seen in
theirs. All that says what SQL means is set, whatever theirs or the cluster's defaults are (`SETTINGS`), and old
behaviours are switched off. How work is spread is taken over from theirs.

**One state of the data.** Spark has no snapshot of plain files. A table by name is looked up anew for every question:
all statements of that question read the files, or the table format's version, that were found then. Parquet files are
listed once, when they are opened. A file that is gone, or replaced, is an error while it is read, and the same for
every row. A DataFrame is its query: it is run anew each time.

**Views are not opened**: one could fail on a row, and that it failed would tell of the row. A DataFrame could too. It
is taken all the same, since it is the caller's own program: then the guarantee rests on that no row makes it fail, that
it gives the same rows each time, and that what it gives is the table whose units are protected.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from logging import LogRecord
from socket import create_connection
from threading import get_ident
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from tacit.errors import InvalidError, NoSourceError, SourceError, show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        "spark.sql.columnNameOfCorruptRecord": "_corrupt_record",
    }
)
"""What is set in our session, so that a statement means one thing."""

SOURCES = (
    "a SparkSession with table=, a Spark DataFrame, 'spark:' and a table or the path of Parquet files, or 'sc://host' "
    "with table="
)
STOPPED = (
    "The Spark session was stopped; nothing was read. Start another with SparkSession.builder.getOrCreate(), and open "
    "the source again with it."
)
_KEPT = ("spark.sql.catalog.", "spark.sql.shuffle.partitions", "spark.sql.files.maxPartitionBytes")
_MOST_NAMES = 20
_PORT, _REACH = 15002, 10  # of Spark Connect; seconds
_MASTER = re.compile(r"[\w.-]+:\d+")
_VIEWS = ("VIEW", "TEMPORARY", "METRIC_VIEW")


@dataclass(frozen=True, slots=True)
class Shown:
    """A source that was found: what it is called, and a table by its quoted name, or a query that gives its rows."""

    name: str
    table: str | None = None
    frame: DataFrame | None = None


def is_spark(source: object) -> bool:
    """Whether a source is one of Spark's, by its name alone: nothing is imported.

    >>> is_spark("spark:sales.visits"), is_spark("sc://cluster"), is_spark("visits.parquet")
    (True, True, False)
    """
    if isinstance(source, str):
        return source.startswith(("spark:", "sc://"))
    kinds = type(source).__mro__
    return any(one.__module__.startswith("pyspark.") and one.__name__ in ("SparkSession", "DataFrame") for one in kinds)


def find(source: object, table: str | None, written: str | None = None) -> tuple[SparkSession, Shown]:
    """Return the session in which a source is, and what it is there, by its schema alone.

    No message shows a URL or a path, or more of a source than is `written` in a policy: variables stand for secrets.

    Raises:
        InvalidError: it is no source, or there is no such table.
        SourceError: Spark cannot be started or reached, or was stopped.
    """
    if not is_spark(source):
        raise NoSourceError(show(source), SOURCES)
    if not isinstance(source, str):
        return _of_object(source, table)
    if source.startswith("sc://"):
        session = connected(source)
        return session, _table(session, table)
    where = source.removeprefix("spark:").removeprefix("//")
    if _MASTER.fullmatch(where):
        raise NoSourceError("the address of a cluster", f"{SOURCES}; start a session there first")
    session = active()
    if "/" in where or where.endswith((".parquet", ".pq")):
        _no_table(table)
        return session, _files(session, where)
    if where and table is not None:
        raise InvalidError("table", show(table), "left out: the source names it already")
    return session, _table(session, where or table, written)


def _of_object(source: object, table: str | None) -> tuple[SparkSession, Shown]:
    if hasattr(source, "sparkSession"):
        frame = cast("DataFrame", source)
        refuse_stopped(frame.sparkSession)
        _no_table(table)
        return frame.sparkSession, Shown("data", frame=frame)
    session = cast("SparkSession", source)
    refuse_stopped(session)
    return session, _table(session, table)


def _no_table(table: str | None) -> None:
    if table is not None:
        raise InvalidError("table", show(table), "left out: only a session has tables by name")


def _table(session: SparkSession, table: str | None, written: str | None = None) -> Shown:
    """Return a table by its name, in backticks where it is quoted: one that is no view."""
    parts, called = parts_of(table or ""), written or table
    if not parts:
        raise _which(session, called, [])
    quoted = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    kind = None
    with suppress(Exception):  # there is none; whatever Spark says of it
        kind = str(session.catalog.getTable(quoted).tableType or "TABLE").upper()
    if kind is None:
        raise _which(session, called, parts[:-1])
    if kind in _VIEWS:
        raise NoSourceError(
            f"the view {show(called)}, which could fail on a row, and so tell of it",
            "a table; or, if no row can make it fail, the DataFrame session.table(…) in its place",
        )
    return Shown(parts[-1], table=quoted)


def parts_of(name: str) -> list[str]:
    """Return the parts of a table's name, between dots; a part in backticks may hold any character.

    >>> parts_of("sales.visits"), parts_of("`a.b`.`we``ird`"), parts_of("")
    (['sales', 'visits'], ['a.b', 'we`ird'], [])
    """
    found = re.findall(r"(?:^|\.)(?:`((?:[^`]|``)*)`(?=\.|$)|([^.]*))", name)
    parts = [quoted.replace("``", "`") if quoted else plain for quoted, plain in found]
    return parts if all(parts) else []


def _which(session: SparkSession, table: str | None, within: Sequence[str]) -> InvalidError:
    """Return the error for a table that is not there; names of tables are a schema, not data."""
    names: list[str] = []
    try:
        place = ".".join(f"`{part.replace('`', '``')}`" for part in within) or None
        found = session.catalog.listTables(place)
        names = sorted(".".join([*within, one.name]) for one in found if one.tableType not in _VIEWS)
    except Exception:  # noqa: BLE001, S110 - no such database
        pass
    got = "none" if table is None else show(table)
    if not names:
        return NoSourceError(f"the table {got}, and there is none of that name", "a table that the session knows")
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return InvalidError(
        "table", got, f"one of {', '.join(map(repr, names[:_MOST_NAMES]))}{more} (views are not opened)"
    )


def _files(session: SparkSession, where: str) -> Shown:
    """Return Parquet files, which Spark lists here, once, and of which it reads a footer."""
    frame = None
    with suppress(Exception):  # which repeats the path
        frame = own(session).read.parquet(where)
    if frame is None:
        raise NoSourceError("a path at which there are no Parquet files that can be read", SOURCES)
    name = re.sub(r"[*?\[{].*", "", where.rstrip("/").rpartition("/")[2])
    return Shown(re.sub(r"\.\w+$", "", name).rstrip("-_. ") or "data", frame=frame)


# Sessions


def active() -> SparkSession:
    """Return the session that is there, or start one on this machine."""
    session, failed = None, _NO_JAVA
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    except ImportError:
        failed = _NO_SPARK
    except Exception:  # noqa: BLE001, S110 - whatever Java says
        pass
    if session is None:
        raise SourceError(failed)
    refuse_stopped(session)
    return session


def connected(url: str) -> SparkSession:
    """Return a session on a Spark Connect server."""
    if "session_id=" in url:
        raise NoSourceError("a Spark Connect URL with a session_id", "a URL without one: we make a session of our own")
    session, failed = None, _NOT_REACHED
    try:
        from pyspark.sql.connect.session import SparkSession as Remote  # noqa: PLC0415 - an extra

        place = urlsplit(url)
        create_connection((place.hostname, place.port or _PORT), _REACH).close()  # PySpark would try for minutes
        made = Remote(connection=url)
        session = made if made.version else None
    except ImportError:
        failed = _NO_CONNECT
    except Exception:  # noqa: BLE001, S110 - it may repeat the URL, and with it a token
        pass
    if session is None:
        raise SourceError(failed)
    return cast("SparkSession", session)


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


def _setting(session: SparkSession, name: str) -> str | None:
    with suppress(Exception):  # it has none, and no default
        return session.conf.get(name)
    return None


def _remote(session: SparkSession) -> SparkSession:
    """Return another session on the same Spark Connect server, over a connection of its own."""
    client = session._client  # type: ignore[attr-defined] # noqa: SLF001 - nothing public says where it is connected
    return type(session)(connection=client._builder)  # type: ignore[call-arg] # noqa: SLF001


def release(session: SparkSession) -> None:
    """Let go of a session of ours; one of Spark Connect has a connection and a place on the server."""
    if hasattr(session, "_jsparkSession"):
        return
    with suppress(Exception):
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


def reveal(shown: Shown, view: str, session: SparkSession) -> DataFrame:
    """Make a source a view in a session of our own, and return its rows.

    A query of another session is handed over as a view that all sessions see, under a random name, and only for as long
    as it takes to look at it: ours keeps the query itself.
    """
    if shown.frame is None:
        frame = session.table(str(shown.table))
        frame.createOrReplaceTempView(view)
        return frame
    name = f"tacit_{secrets.token_hex(16)}"
    shown.frame.createGlobalTempView(name)
    try:
        frame = session.table(f"global_temp.{name}")
        frame.createOrReplaceTempView(view)
    finally:
        shown.frame.sparkSession.catalog.dropGlobalTempView(name)
    return session.table(view)


def types_of(frame: DataFrame) -> dict[str, str]:
    """Return the types of the columns, by their short names; two columns of one name are refused."""
    fields = frame.schema.fields
    if len({field.name for field in fields}) < len(fields):
        raise InvalidError("source", "a table with two columns of one name", "columns with names of their own")
    return {field.name: field.dataType.simpleString() for field in fields}


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


def refuse_stopped(session: SparkSession) -> None:
    """Raise SourceError if a session was stopped, here or in Java."""
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
        raise SourceError(STOPPED)


_NO_SPARK = "Spark needs the package pyspark; nothing was read or spent. Install it with: pip install 'tacit[spark]'"
_NO_JAVA = (
    "Spark could not be started; nothing was read or spent. It needs Java 17 or later: install it (on Debian: apt "
    "install openjdk-17-jre-headless), set JAVA_HOME if `java` is not on the path, and open again."
)
_NO_CONNECT = (
    "Spark Connect needs more packages; nothing was read or spent. Install them with: pip install 'pyspark[connect]'"
)
_NOT_REACHED = (
    "The Spark Connect server could not be reached; nothing was read or spent. Check that it runs, the host and port "
    "after sc://, and the token."
)
