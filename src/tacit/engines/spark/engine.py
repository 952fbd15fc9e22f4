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
from threading import Lock
from typing import TYPE_CHECKING, Any

from tacit.engines.source import Source, SourcesByName, declared_at, open_one, with_fallback
from tacit.engines.spark.availability import LOST, REOPEN, check_executors, check_server_session
from tacit.engines.spark.dialect import SPARK
from tacit.engines.spark.interrupts import new_tag, stop, tagged
from tacit.engines.spark.python_workers import check_python
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
    CHECK_OPENING,
    NOT_OPENED,
    StatementEngine,
)
from tacit.engines.sql.runner import BATCH, ResultRows, StatementParameters, StatementRunner
from tacit.engines.sql.statement import SOURCE
from tacit.errors import InvalidError, SourceError, guarded
from tacit.query.expressions import Value
from tacit.query.policy.engine_settings import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORKED = "This process is a child of the process that opened Spark, and both would use one connection."
CLOSED = "The engine is closed. If the query was charged, it stays charged."
NOT_READY = "A table changed since it was opened, or does not exist any more."
_REOPEN = "Open the source again: the error then says what is wrong."
_WORD = 2**64
_ARROW_TYPES = frozenset({"boolean", "date", "decimal", "double", "integer", "long", "string"})


class SparkEngine(StatementEngine):
    """One table, or several that can be joined, measured by Spark."""

    dialect = SPARK

    def __init__(
        self,
        session: SparkSession,
        name: str,
        sources: Mapping[str, SparkSource],
        settings: EngineSettings | None = None,
    ) -> None:
        """Create views of sources of a session, by the tables' names, in a session of tacit; `name` is the main one."""
        self._theirs = session
        self._process = os.getpid()
        self._sources = dict(sources)
        self._change = Lock()
        self._ours: SparkSession | None = new_session(session)
        self._is_fresh, self._lost, self._tag = False, False, new_tag()
        views = {table: SOURCE if len(sources) == 1 else f"source_{index}" for index, table in enumerate(sources)}
        super().__init__(name, views, self._create_views(self._ours, views), settings)
        set_case_sensitivity(self._ours, self._tables)

    def _create_views(self, session: SparkSession, views: Mapping[str, str]) -> dict[str, dict[str, str]]:
        """Create a view of every source, and return the types of its columns."""
        types: dict[str, dict[str, str]] = {}
        for table, view in views.items():
            with declared_at(self._sources[table].where):
                types[table] = column_types(create_view(self._sources[table], view, session))
        return types

    def ready(self) -> None:
        """Raise, before anything is charged, if the session, the server, a table or all executors are gone.

        Workers with another Python than a DataFrame needs are noticed, too. Tables by name are looked up here, in a new
        session, which the next reading uses. Only the catalog is read.
        """
        self._refuse_child()
        with self._lock, quiet_logs():
            if self._ours is None:
                return  # `_reading` reports it
            self._check_sessions(self._ours)
            guarded(self._look_up, NOT_READY, hint=_REOPEN)
            check_executors(self._ours)
            frames = [source.frame for source in self._sources.values() if source.frame is not None]
            check_python(self._ours, frames)

    @property
    def _reads_by_name(self) -> bool:
        """True if a table is opened by its name, so that every query looks it up again."""
        return any(source.frame is None for source in self._sources.values())

    def _check_sessions(self, ours: SparkSession) -> None:
        """Raise SourceError if a session was stopped, or if its Spark Connect server is gone or was restarted."""
        if self._lost:  # PySpark now says that it was stopped, which is not what happened
            raise SourceError(LOST, hint=REOPEN)
        check_session(self._theirs)
        try:
            for session in (ours, *([self._theirs] if self._reads_by_name else [])):
                check_server_session(session)
        except SourceError:
            self._lost = True
            raise

    def _look_up(self) -> None:
        """Look up tables by name in a new session."""
        self._is_fresh = False  # an earlier query may have been refused after its look-up
        if self._reads_by_name:
            self._session()
            self._is_fresh = True

    def _refuse_child(self) -> None:
        if os.getpid() != self._process:
            raise SourceError(FORKED, hint="Open the source separately in each process.")

    @property
    def keeps_state(self) -> bool:
        """False: Spark has no transactions, and a table may change between two statements."""
        return False

    @contextmanager
    def _reading(self) -> Iterator[StatementRunner]:
        """Yield the runner of a session; tables by name are looked up again, unless `ready` has just done it."""
        if self._ours is None:
            raise SourceError(CLOSED, hint="Open the source again.")
        self._refuse_child()
        check_session(self._theirs)
        with quiet_logs():
            session, self._is_fresh = self._ours if self._is_fresh else self._session(), False
            try:
                yield StatementRunner(partial(_batches, session, self._tag), partial(_streamed, session, self._tag))
            except BaseException:  # an interrupt too: nobody needs the running statements any more
                stop(session, self._tag)
                raise

    def _interrupt(self) -> None:
        """Stop the statement that runs, and nothing else on the cluster."""
        if self._ours is not None:
            stop(self._ours, self._tag)

    def _session(self) -> SparkSession:
        """Return the session for a query: a new one if tables by name must be looked up again."""
        if self._ours is not None and not self._reads_by_name:
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
            stop(session, self._tag)
            with suppress(Exception):
                for view in self._views.values() if is_reachable(session) else ():
                    session.catalog.dropTempView(view)
            release(session)


def _batches(session: SparkSession, tag: str, sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
    """Run a statement with a tag and yield its rows, with decimals that are integers as int.

    Rows arrive as an Arrow table if Python reads the same values from it, which takes a fraction of their memory.
    """
    with tagged(session, tag):
        frame = _frame(session, sql, parameters)
        types = {field.dataType.typeName() for field in frame.schema.fields}
        rows = frame.toArrow() if types <= _ARROW_TYPES else frame.collect()
    if isinstance(rows, list):
        for first in range(0, len(rows), BATCH):
            yield list(map(_values, rows[first : first + BATCH]))
        return
    for batch in rows.to_batches(max_chunksize=BATCH):
        columns = [map(_value, column.to_pylist()) for column in batch.columns]
        yield list(zip(*columns, strict=True))


def _streamed(session: SparkSession, tag: str, sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
    """Run a statement with a tag and yield its rows; Spark computes and sends one partition after the other."""
    with tagged(session, tag):
        rows = map(_values, _frame(session, sql, parameters).toLocalIterator())
    while True:
        with tagged(session, tag):
            batch = list(islice(rows, BATCH))
        if not batch:
            return
        yield batch


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
    return open_spark_tables({None: Source(source=source, table=table, written=written)})


def open_spark_tables(sources: SourcesByName, settings: EngineSettings | None = None) -> SparkEngine:
    """Open several tables of one session by their names in one engine, so that they can be joined.

    Only the schemas of private tables are read; public tables are read into memory. The first table is the main one.
    """

    def open_quietly() -> SparkEngine:
        with quiet_logs():
            return _engine(sources, EngineSettings() if settings is None else settings)

    return guarded(open_quietly, NOT_OPENED, hint=CHECK_OPENING)


def _engine(sources: SourcesByName, settings: EngineSettings) -> SparkEngine:
    tables = [
        (name, source, open_one(source, partial(_find, source, settings), NOT_OPENED, hint=CHECK_OPENING))
        for name, source in sources.items()
    ]
    session = _only_session([session for _, _, (session, _) in tables])
    opened: dict[str, SparkSource] = {}
    for name, source, (_, table) in tables:
        if source.public:
            table = open_one(source, partial(_copy, session, table), NOT_OPENED, hint=CHECK_OPENING)  # noqa: PLW2901 - its copy
        opened[source.own_name(table.name) if name is None else name] = replace(table, where=source.where)
    return SparkEngine(session, next(iter(opened)), opened, settings)


def _find(source: Source, settings: EngineSettings) -> tuple[SparkSession, SparkSource]:
    return with_fallback(source, lambda table: find_source(source.source, table, source.written, settings))


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
    check_executors(session)
    ours = new_session(session)
    frame = create_view(source, "kept", ours)
    columns = [field.name for field in frame.schema.fields if SPARK.kind_of(field.dataType.simpleString())]
    supported = frame.select([frame[quote_name(name, "`")] for name in columns])
    with keep_active_session():
        return SparkSource(source.name, frame=ours.createDataFrame(supported.toArrow(), schema=supported.schema))
