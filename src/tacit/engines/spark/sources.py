"""Sources for Spark: tables by name, Parquet files, and DataFrames, each a view in a session of tacit.

**One state of the data.** Spark has no snapshot of plain files. A table by name is looked up again for every query: all
statements of that query read the files, or the table format's version, that were found then. Parquet files are listed
once, when they are opened. If a file is removed or replaced, reading it fails in the same way for every row. A
DataFrame is its query, which Spark runs each time.

**Views are not opened**: a view could fail on a row, and the failure would reveal the row. A DataFrame could fail too.
It is accepted, because it is the caller's own program. Then the guarantee holds only if no row makes it fail, it
returns the same rows each time, and its rows are the table whose units are protected.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tacit.engines.spark.availability import check_executors
from tacit.engines.spark.sessions import check_session, connect, new_session
from tacit.engines.spark.start import active_session, is_started_here
from tacit.engines.sql.builder import quote_name
from tacit.errors import (
    InvalidError,
    NoSourceError,
    TableNotFoundError,
    TableNotNamedError,
    UnusedOptionError,
    show,
    show_name,
)
from tacit.query.policy.engine_settings import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.catalog import Table as CatalogTable

_SOURCES = (
    "Use a SparkSession with table=, a Spark DataFrame, 'spark:' and a table or the path of Parquet files, or "
    "'sc://host' with table=."
)
_STARTED_HERE = (
    "tacit started this session, which knows only the tables of a configured catalog. Set SPARK_CONF_DIR to a folder "
    "whose spark-defaults.conf sets spark.sql.catalogImplementation and spark.sql.warehouse.dir, or pass a session."
)
_VIEWS_HINT = "Views are not opened."
_MASTER = re.compile(r"[\w.-]+:\d+")
_VIEWS = ("VIEW", "TEMPORARY", "METRIC_VIEW")


@dataclass(frozen=True, slots=True)
class SparkSource:
    """A source: its name, and either a table by its quoted name or a DataFrame with its rows."""

    name: str
    table: str | None = None
    frame: DataFrame | None = None
    where: str | None = None  # the place where a policy declares it


def is_spark(source: object) -> bool:
    """Return whether a source is one of Spark's, by its name alone, without importing Spark.

    >>> is_spark("spark:sales.visits"), is_spark("sc://cluster"), is_spark("visits.parquet")
    (True, True, False)
    """
    if isinstance(source, str):
        return source.startswith(("spark:", "sc://"))
    kinds = type(source).__mro__
    return any(
        kind.__module__.startswith("pyspark.") and kind.__name__ in ("SparkSession", "DataFrame") for kind in kinds
    )


def find_source(
    source: object, table: str | None, written: str | None = None, settings: EngineSettings | None = None
) -> tuple[SparkSession, SparkSource]:
    """Return the session of a source, and the source in it, from its schema alone.

    No message shows a URL or a path. If the source is `written` in a policy, messages show that text, because variables
    may hold secrets. The settings are those of a session that tacit starts.

    Raises:
        InvalidError: it is not a source, or there is no such table.
        SourceError: Spark cannot be started or reached, or was stopped.
    """
    if not is_spark(source):
        raise NoSourceError(f"Spark cannot open {show(source)}.", hint=_SOURCES)
    if not isinstance(source, str):
        return _from_object(source, table)
    if source.startswith("sc://"):
        session = connect(source)
        return session, _table(session, table)
    location = source.removeprefix("spark:").removeprefix("//")
    if _MASTER.fullmatch(location):
        raise NoSourceError("The source is the address of a cluster.", hint=f"Start a session there first. {_SOURCES}")
    session = active_session(settings)
    if "/" in location or location.endswith((".parquet", ".pq")):
        _refuse_table(table)
        check_executors(session)  # Spark reads the schema of the files by a job
        return session, _files(session, location)
    if location and table is not None:
        raise UnusedOptionError("table", "with a source that names the table already")
    return session, _table(session, location or table, written)


def _from_object(source: object, table: str | None) -> tuple[SparkSession, SparkSource]:
    if hasattr(source, "sparkSession"):
        frame = cast("DataFrame", source)
        check_session(frame.sparkSession)
        _refuse_table(table)
        return frame.sparkSession, SparkSource("data", frame=frame)
    session = cast("SparkSession", source)
    check_session(session)
    return session, _table(session, table)


def _refuse_table(table: str | None) -> None:
    if table is not None:
        raise UnusedOptionError(
            "table", "with this source", hint="Remove it: only a session or a server has tables by name."
        )


def _table(session: SparkSession, name: str | None, written: str | None = None) -> SparkSource:
    """Return a table by its name, in backticks where it is quoted, or the only table; views are refused."""
    if name is None:
        return _only_table(session)
    parts, shown_name = split_name(name), written or name
    table = _look_up(session, ".".join(map(_quote, parts))) if parts else None
    if table is None:
        raise _not_found(session, shown_name, parts[:-1], "" if written else ".".join([*parts[:-1], ""]))
    if _is_view(table):
        raise NoSourceError(
            f"{show_name(shown_name)} is a view, not a table.",
            hint="A view could fail on a row, which would reveal the row. Open a table; or, if no row can make the "
            "view fail, pass the DataFrame session.table(…).",
        )
    return SparkSource(parts[-1], table=_full_name(session, table))


def _only_table(session: SparkSession) -> SparkSource:
    """Return the only table of the session's current database, or raise InvalidError."""
    tables = _tables(session, []) or []
    if len(tables) == 1:
        return SparkSource(tables[0].name, table=_full_name(session, tables[0]))
    if tables:
        raise TableNotNamedError((table.name for table in tables), hint=_VIEWS_HINT)
    raise TableNotNamedError((), hint=_empty_hint(session, []))


def _full_name(session: SparkSession, table: CatalogTable) -> str:
    """Return a table's name with catalog and database, so that it does not depend on the current ones."""
    return ".".join(
        map(_quote, [table.catalog or session.catalog.currentCatalog(), *(table.namespace or []), table.name])
    )


def _quote(part: str) -> str:
    return quote_name(part, "`")


def _look_up(session: SparkSession, quoted: str) -> CatalogTable | None:
    with suppress(Exception):  # there is no such table; Spark's text is not shown
        return session.catalog.getTable(quoted)
    return None


def _is_view(table: CatalogTable) -> bool:
    return str(table.tableType or "TABLE").upper() in _VIEWS


def check_table(source: SparkSource, session: SparkSession) -> None:
    """Raise if a table that was opened by its name does not exist any more, or is a view now."""
    if source.table is not None:
        table = _look_up(session, source.table)
        if table is None or _is_view(table):
            raise RuntimeError("the table does not exist any more")


def split_name(name: str) -> list[str]:
    """Return the parts of a table's name between dots; a part in backticks may contain any character.

    >>> split_name("sales.visits"), split_name("`a.b`.`we``ird`"), split_name("")
    (['sales', 'visits'], ['a.b', 'we`ird'], [])
    """
    matches = re.findall(r"(?:^|\.)(?:`((?:[^`]|``)*)`(?=\.|$)|([^.]*))", name)
    parts = [quoted.replace("``", "`") if quoted else plain for quoted, plain in matches]
    return parts if all(parts) else []


def _tables(session: SparkSession, database: Sequence[str]) -> list[CatalogTable] | None:
    """Return the tables of a database that can be opened, by default the current one; None if it does not exist."""
    with suppress(Exception):  # Spark's text is not shown
        name = ".".join(map(_quote, database)) or None
        return [table for table in session.catalog.listTables(name) if not _is_view(table)]
    return None


def _not_found(session: SparkSession, name: str, database: Sequence[str], prefix: str) -> InvalidError:
    """Return the error for an unknown table; the names of tables are schema, not data.

    The prefix before each name is the database, unless that may be the value of a variable.
    """
    names = [prefix + table.name for table in _tables(session, database) or ()]
    return TableNotFoundError(name, names, hint=_VIEWS_HINT if names else _empty_hint(session, database))


def _empty_hint(session: SparkSession, database: Sequence[str]) -> str:
    which = "The named database" if database else "The session's current database"
    started_here = f" {_STARTED_HERE}" if is_started_here(session) else ""
    return f"{which} has no table that can be opened. {_VIEWS_HINT}{started_here}"


def _files(session: SparkSession, path: str) -> SparkSource:
    """Return Parquet files. Spark lists them here, once, and reads a footer."""
    frame = None
    with suppress(Exception):  # Spark's text repeats the path
        frame = new_session(session).read.parquet(path)
    if frame is None:
        raise NoSourceError("There are no Parquet files at this path that can be read.", hint=_SOURCES)
    name = re.sub(r"[*?\[{].*", "", path.rstrip("/").rpartition("/")[2])
    return SparkSource(re.sub(r"\.\w+$", "", name).rstrip("-_. ") or "data", frame=frame)


def create_view(source: SparkSource, view: str, session: SparkSession) -> DataFrame:
    """Create a view of a source in a session of tacit, and return its rows.

    A DataFrame of another session is passed as a global view with a random name, which is dropped at once: tacit's view
    stores the query itself.
    """
    if source.frame is None:
        frame = session.table(str(source.table))
        frame.createOrReplaceTempView(view)
        return frame
    name = f"tacit_{secrets.token_hex(16)}"
    source.frame.createGlobalTempView(name)
    try:
        frame = session.table(f"{_global_database(session)}.{name}")
        frame.createOrReplaceTempView(view)
    finally:
        source.frame.sparkSession.catalog.dropGlobalTempView(name)
    return session.table(view)


def _global_database(session: SparkSession) -> str:
    """Return the database of global views."""
    return f"`{session.conf.get('spark.sql.globalTempDatabase', 'global_temp')}`"


def column_types(frame: DataFrame) -> dict[str, str]:
    """Return the short names of the columns' types; two columns of one name are refused."""
    fields = frame.schema.fields
    if len({field.name for field in fields}) < len(fields):
        raise InvalidError(
            "The table has two columns of one name.", argument="source", hint="Give each column its own name."
        )
    return {field.name: field.dataType.simpleString() for field in fields}
