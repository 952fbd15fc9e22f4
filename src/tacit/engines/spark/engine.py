"""The Spark engine: on the caller's session, a session that tacit starts, or a Spark Connect server.

Statements run in a session of tacit (see `sessions`). Key lists and the hash's keys are parameters. `close` and an
interrupt stop what is running in that session, and nothing else on the cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import islice
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from tacit.engines.source import Source, SourcesByName, declared_at, open_one, with_fallback
from tacit.engines.spark.dialect import SPARK
from tacit.engines.spark.sessions import (
    check_session,
    is_reachable,
    keep_active_session,
    new_session,
    quiet_logs,
    release,
    set_case_sensitivity,
)
from tacit.engines.spark.sources import SparkSource, check_table, column_types, create_view, find_source
from tacit.engines.sql.builder import quote_name
from tacit.engines.sql.engine import (
    BATCH,
    CHECK_OPENING,
    NOT_OPENED,
    ResultRows,
    RunStatement,
    StatementEngine,
    StatementParameters,
)
from tacit.engines.sql.statement import SOURCE
from tacit.errors import InvalidError, SourceError, guarded
from tacit.query.expressions import Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORKED = "This process is a child of the process that opened Spark, and both would use one connection."
CLOSED = "The engine is closed. If the query was charged, it stays charged."
_WORD = 2**64
TIMEOUT = 3600.0
"""The time limit of a statement, in seconds."""


class SparkEngine(StatementEngine):
    """One table, or several that can be joined, measured by Spark."""

    dialect = SPARK

    def __init__(self, session: SparkSession, name: str, sources: Mapping[str, SparkSource]) -> None:
        """Create views of sources of a session, by the tables' names, in a session of tacit; `name` is the main one."""
        self._theirs = session
        self._process = os.getpid()
        self._sources = dict(sources)
        self._change = Lock()
        self._ours: SparkSession | None = new_session(session)
        views = {table: SOURCE if len(sources) == 1 else f"source_{index}" for index, table in enumerate(sources)}
        super().__init__(name, views, self._create_views(self._ours, views))
        set_case_sensitivity(self._ours, self._tables)

    def _create_views(self, session: SparkSession, views: Mapping[str, str]) -> dict[str, dict[str, str]]:
        """Create a view of every source, and return the types of its columns."""
        types: dict[str, dict[str, str]] = {}
        for table, view in views.items():
            with declared_at(self._sources[table].where):
                types[table] = column_types(create_view(self._sources[table], view, session))
        return types

    def ready(self) -> None:
        """Raise, before anything is charged, if the session was stopped or the server is gone; no table is read."""
        self._refuse_child()
        check_session(self._theirs)

    def _refuse_child(self) -> None:
        if os.getpid() != self._process:
            raise SourceError(FORKED, hint="Open the source separately in each process.")

    @property
    def keeps_state(self) -> bool:
        """False: Spark has no transactions, and a table may change between two statements."""
        return False

    @contextmanager
    def _reading(self) -> Iterator[RunStatement]:
        """Yield the runner of a session; tables by name are looked up again in a new session."""
        if self._ours is None:
            raise SourceError(CLOSED, hint="Open the source again.")
        self._refuse_child()
        check_session(self._theirs)
        with quiet_logs():
            session = self._session()
            try:
                yield lambda sql, parameters: _run(session, sql, parameters)
            except BaseException:  # an interrupt too: nobody needs the running statements any more
                _stop(session)
                raise

    def _batches(self, run: RunStatement, sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
        """Yield the rows of a statement in batches; Spark sends one partition after the other."""
        del run
        if self._ours is None:
            raise SourceError(CLOSED, hint="Open the source again.")
        session = self._ours
        rows = map(_values, _frame(session, sql, parameters).toLocalIterator())
        while True:
            with _watched(session):
                batch = list(islice(rows, BATCH))
            if not batch:
                return
            yield batch

    def _session(self) -> SparkSession:
        """Return the session for a query: a new one if tables by name must be looked up again."""
        if self._ours is not None and all(source.frame is not None for source in self._sources.values()):
            return self._ours
        session = new_session(self._theirs)
        for source in self._sources.values():
            check_table(source, session)
        set_case_sensitivity(session, self._tables)
        if self._create_views(session, self._views) != self._tables:
            release(session)
            raise RuntimeError("the columns changed")
        with self._change:
            if self._ours is None:
                raise RuntimeError("the engine was closed meanwhile")
            old, self._ours = self._ours, session
        release(old)
        return session

    def close(self) -> None:
        """Stop what is running and close the source; the caller's session stays open."""
        with self._change:
            session, self._ours = self._ours, None
        if session is not None and os.getpid() == self._process:
            _stop(session)
            with suppress(Exception):
                for view in self._views.values() if is_reachable(session) else ():
                    session.catalog.dropTempView(view)
            release(session)


def _stop(session: SparkSession) -> None:
    with suppress(Exception):
        if is_reachable(session):
            session.interruptAll()


def _run(session: SparkSession, sql: str, parameters: StatementParameters) -> ResultRows:
    """Run a statement and return its rows, with decimals that are integers as int."""
    with _watched(session):
        rows = _frame(session, sql, parameters).collect()
    return list(map(_values, rows))


@contextmanager
def _watched(session: SparkSession) -> Iterator[None]:
    """Interrupt a session if a statement takes longer than its time limit."""
    watch = Timer(TIMEOUT, _stop, (session,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _frame(session: SparkSession, sql: str, parameters: StatementParameters) -> DataFrame:
    return session.sql(sql, args={name: _argument(value) for name, value in parameters.items()})


def _values(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(map(_value, row))


def _argument(value: int | Sequence[Value]) -> int | str:
    """Return a parameter for Spark: a key of the hash as a signed 64-bit integer, a list as one text."""
    if isinstance(value, int):
        return value - _WORD if value >= _WORD // 2 else value
    return json_list(value)


def json_list(values: Sequence[Value]) -> str:
    """Return a list as a JSON list of texts that Spark can cast back.

    >>> json_list([True, None, 0.1, "a"])
    '["true", null, "0.1", "a"]'
    """
    return json.dumps([None if value is None else _text(value) for value in values])


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def _value(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    return int(value) if isinstance(value, Decimal) and value.as_tuple().exponent == 0 else value


def open_spark(source: object, *, table: str | None = None, written: str | None = None) -> SparkEngine:
    """Open a table, reading only its schema, or raise InvalidError or SourceError.

    Args:
        source: a SparkSession, a Spark DataFrame, `spark:` and a table's name or the path of Parquet files, or the
            `sc://` URL of a Spark Connect server.
        table: the table of a session or a server, with its database and catalog if necessary.
        written: the source as a policy writes it, with its variables not filled in, for messages.
    """
    return _open({None: Source(source=source, table=table, written=written)})


def open_spark_tables(sources: SourcesByName) -> SparkEngine:
    """Open several tables of one session by their names in one engine, so that they can be joined.

    Only the schemas of private tables are read; public tables are read into memory. The first table is the main one.
    """
    return _open(sources)


def _open(sources: SourcesByName) -> SparkEngine:
    def open_quietly() -> SparkEngine:
        with quiet_logs():
            return _engine(sources)

    return guarded(open_quietly, NOT_OPENED, hint=CHECK_OPENING)


def _engine(sources: SourcesByName) -> SparkEngine:
    tables = [
        (name, source, open_one(source, partial(_find, source), NOT_OPENED, hint=CHECK_OPENING))
        for name, source in sources.items()
    ]
    session = _only_session([session for _, _, (session, _) in tables])
    opened: dict[str, SparkSource] = {}
    for name, source, (_, table) in tables:
        if source.public:
            table = open_one(source, partial(_copy, session, table), NOT_OPENED, hint=CHECK_OPENING)  # noqa: PLW2901 - its copy
        opened[source.own_name(table.name) if name is None else name] = replace(table, where=source.where)
    return SparkEngine(session, next(iter(opened)), opened)


def _find(source: Source) -> tuple[SparkSession, SparkSource]:
    return with_fallback(source, lambda table: find_source(source.source, table, source.written))


def _only_session(sessions: Sequence[SparkSession]) -> SparkSession:
    """Return the session of several sources, or raise InvalidError if they are on several clusters."""
    if len({_cluster(session) for session in sessions}) > 1:
        raise InvalidError(
            "Cannot join tables from different Spark clusters.",
            argument="sources",
            hint="Use one session for every table, or copy the public tables to the cluster of the private ones.",
        )
    return sessions[0]


def _cluster(session: SparkSession) -> object:
    if hasattr(session, "_jsparkSession"):
        return "classic"
    client = session._client  # type: ignore[attr-defined] # noqa: SLF001 - there is no public way
    return client.host


def _copy(session: SparkSession, source: SparkSource) -> SparkSource:
    """Copy a public table into memory, so that its rows do not change after its policy was read from them."""
    ours = new_session(session)
    frame = create_view(source, "kept", ours)
    columns = [field.name for field in frame.schema.fields if SPARK.kind_of(field.dataType.simpleString())]
    supported = frame.select([frame[quote_name(name, "`")] for name in columns])
    with keep_active_session():
        return SparkSource(source.name, frame=ours.createDataFrame(supported.toArrow(), schema=supported.schema))
