"""Where Spark reads rows from: tables by name, Parquet files, and DataFrames; each shown in a session of our own.

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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tacit.engines.spark.sessions import connected, own, refuse_gone
from tacit.engines.spark.start import active, is_started_here
from tacit.errors import InvalidError, NoSourceError, show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.catalog import Table

SOURCES = (
    "a SparkSession with table=, a Spark DataFrame, 'spark:' and a table or the path of Parquet files, or 'sc://host' "
    "with table="
)
_STARTED_HERE = (
    "tacit started this session, which knows the tables of a configured catalog alone: set SPARK_CONF_DIR to a folder "
    "whose spark-defaults.conf says spark.sql.catalogImplementation and spark.sql.warehouse.dir, or hand in a session."
)
_MOST_NAMES = 20
_MASTER = re.compile(r"[\w.-]+:\d+")
_VIEWS = ("VIEW", "TEMPORARY", "METRIC_VIEW")


@dataclass(frozen=True, slots=True)
class Shown:
    """A source that was found: what it is called, and a table by its quoted name, or a query that gives its rows."""

    name: str
    table: str | None = None
    frame: DataFrame | None = None
    where: str | None = None  # the place where a policy declares it


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
        refuse_gone(frame.sparkSession)
        _no_table(table)
        return frame.sparkSession, Shown("data", frame=frame)
    session = cast("SparkSession", source)
    refuse_gone(session)
    return session, _table(session, table)


def _no_table(table: str | None) -> None:
    if table is not None:
        raise InvalidError("table", show(table), "left out: only a session has tables by name")


def _table(session: SparkSession, table: str | None, written: str | None = None) -> Shown:
    """Return a table by its name, in backticks where it is quoted, or the only one there is: one that is no view."""
    if table is None:
        return _only(session)
    parts, called = parts_of(table), written or table
    found = _looked_up(session, ".".join(map(_quoted, parts))) if parts else None
    if found is None:
        raise _unknown(session, show(called), parts[:-1], "" if written else ".".join([*parts[:-1], ""]))
    if _is_view(found):
        raise NoSourceError(
            f"the view {show(called)}, which could fail on a row, and so tell of it",
            "a table; or, if no row can make it fail, the DataFrame session.table(…) in its place",
        )
    return Shown(parts[-1], table=_full(session, found))


def _only(session: SparkSession) -> Shown:
    """Return the one table of the database that a session is in, or raise InvalidError."""
    found = _tables(session, [])
    if found is not None and len(found) == 1:
        return Shown(found[0].name, table=_full(session, found[0]))
    raise _unknown(session, "none", [], "")


def _full(session: SparkSession, found: Table) -> str:
    """Return a table's name as it is meant whichever database is the current one later."""
    return ".".join(
        map(_quoted, [found.catalog or session.catalog.currentCatalog(), *(found.namespace or []), found.name])
    )


def _quoted(part: str) -> str:
    return f"`{part.replace('`', '``')}`"


def _looked_up(session: SparkSession, quoted: str) -> Table | None:
    with suppress(Exception):  # there is none; whatever Spark says of it
        return session.catalog.getTable(quoted)
    return None


def _is_view(found: Table) -> bool:
    return str(found.tableType or "TABLE").upper() in _VIEWS


def check_table(shown: Shown, session: SparkSession) -> None:
    """Raise if a table that was opened by its name is none any more, or a view by now."""
    if shown.table is not None:
        found = _looked_up(session, shown.table)
        if found is None or _is_view(found):
            raise RuntimeError("it is no table any more")


def parts_of(name: str) -> list[str]:
    """Return the parts of a table's name, between dots; a part in backticks may hold any character.

    >>> parts_of("sales.visits"), parts_of("`a.b`.`we``ird`"), parts_of("")
    (['sales', 'visits'], ['a.b', 'we`ird'], [])
    """
    found = re.findall(r"(?:^|\.)(?:`((?:[^`]|``)*)`(?=\.|$)|([^.]*))", name)
    parts = [quoted.replace("``", "`") if quoted else plain for quoted, plain in found]
    return parts if all(parts) else []


def _tables(session: SparkSession, within: Sequence[str]) -> list[Table] | None:
    """Return the tables of a database that can be opened, by default the current one; None if there is no such one."""
    with suppress(Exception):  # whatever Spark says
        place = ".".join(map(_quoted, within)) or None
        return [one for one in session.catalog.listTables(place) if not _is_view(one)]
    return None


def _unknown(session: SparkSession, got: str, within: Sequence[str], shown: str) -> InvalidError:
    """Return the error for a table that is not there; names of tables are a schema, not data.

    What is `shown` stands before each name: the database, unless that may be the value of a variable.
    """
    names = sorted(shown + one.name for one in _tables(session, within) or ())
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    want = f"one of {', '.join(map(repr, names[:_MOST_NAMES]))}{more} (views are not opened)"
    if not names:
        where = "that is named" if within else "that this session is in"
        want = f"a table that the session knows: the database {where} has none to open"
    error = InvalidError("table", got, want)
    if not names and is_started_here(session):
        error.args = (f"{error} {_STARTED_HERE}",)
    return error


def _files(session: SparkSession, where: str) -> Shown:
    """Return Parquet files, which Spark lists here, once, and of which it reads a footer."""
    frame = None
    with suppress(Exception):  # which repeats the path
        frame = own(session).read.parquet(where)
    if frame is None:
        raise NoSourceError("a path at which there are no Parquet files that can be read", SOURCES)
    name = re.sub(r"[*?\[{].*", "", where.rstrip("/").rpartition("/")[2])
    return Shown(re.sub(r"\.\w+$", "", name).rstrip("-_. ") or "data", frame=frame)


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
        frame = session.table(f"{_all_see(session)}.{name}")
        frame.createOrReplaceTempView(view)
    finally:
        shown.frame.sparkSession.catalog.dropGlobalTempView(name)
    return session.table(view)


def _all_see(session: SparkSession) -> str:
    """Return the database of the views that all sessions see."""
    found = session.conf.get("spark.sql.globalTempDatabase", "global_temp")
    return f"`{found}`"


def types_of(frame: DataFrame) -> dict[str, str]:
    """Return the types of the columns, by their short names; two columns of one name are refused."""
    fields = frame.schema.fields
    if len({field.name for field in fields}) < len(fields):
        raise InvalidError("source", "a table with two columns of one name", "columns with names of their own")
    return {field.name: field.dataType.simpleString() for field in fields}
