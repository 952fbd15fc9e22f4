"""The Spark engine: on a session that is there, one that is started here, or a Spark Connect server.

Statements run in a session of our own, see `spark_sources`. Key lists and the hash's keys are parameters. `close` and
an interrupt stop what is running in that session, and nothing else on the cluster.
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
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from tacit.engines.source import Source, SourcesByName, declared_at, find_table, open_one
from tacit.engines.spark.dialect import SPARK
from tacit.engines.spark.sessions import is_there, own, quiet, refuse_gone, release, same_active, tell_apart
from tacit.engines.spark.sources import Shown, check_table, find, is_spark, reveal, types_of
from tacit.engines.sql.engine import NOT_OPENED, Parameters, Rows, Run, StatementEngine
from tacit.engines.sql.statement import SOURCE
from tacit.errors import InvalidError, SourceError, TacitError
from tacit.query.expressions import Value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkEngine", "is_spark", "open_spark", "open_spark_tables"]

FORKED = (
    "This process is a child of the one that opened Spark, and both would speak on one line; nothing was read or "
    "spent. Open the source in each process by itself."
)
CLOSED = "The engine was closed; nothing was read, and what was charged stays charged. Open the source again."
_WORD = 2**64
TIMEOUT = 3600.0
"""For how many seconds one statement may run."""


class SparkEngine(StatementEngine):
    """One table, or several that can be joined, measured by Spark."""

    dialect = SPARK

    def __init__(self, session: SparkSession, name: str, sources: Mapping[str, Shown]) -> None:
        """Show sources of a session, by the tables' names, in one of our own; the first name is the engine's."""
        self._theirs = session
        self._process = os.getpid()
        self._sources = dict(sources)
        self._change = Lock()
        self._own: SparkSession | None = own(session)
        views = {table: SOURCE if len(sources) == 1 else f"source_{place}" for place, table in enumerate(sources)}
        super().__init__(name, views, self._show(self._own, views))
        tell_apart(self._own, self._tables)

    def _show(self, session: SparkSession, views: Mapping[str, str]) -> dict[str, dict[str, str]]:
        """Make every source a view, and return the types of its columns."""
        types: dict[str, dict[str, str]] = {}
        for table, view in views.items():
            with declared_at(self._sources[table].where):
                types[table] = types_of(reveal(self._sources[table], view, session))
        return types

    def ready(self) -> None:
        """Raise, before anything is charged, if the session was stopped or the server is gone; no table is read."""
        self._refuse_child()
        refuse_gone(self._theirs)

    def _refuse_child(self) -> None:
        if os.getpid() != self._process:
            raise SourceError(FORKED)

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        """Give a session: one more where tables are to be looked up anew, as they are now."""
        if self._own is None:
            raise SourceError(CLOSED)
        self._refuse_child()
        refuse_gone(self._theirs)
        with quiet():
            yield from self._read()

    def _read(self) -> Iterator[Run]:
        session = self._session()
        try:
            yield lambda sql, parameters: _run(session, sql, parameters)
        except BaseException:  # an interrupt too: what still runs is of no use
            _stop(session)
            raise

    def _session(self) -> SparkSession:
        """Return the session to ask: a new one where tables are to be looked up anew, as they are now."""
        if self._own is not None and all(shown.frame is not None for shown in self._sources.values()):
            return self._own
        made = own(self._theirs)
        for shown in self._sources.values():
            check_table(shown, made)
        tell_apart(made, self._tables)
        if self._show(made, self._views) != self._tables:
            release(made)
            raise RuntimeError("the columns are not what they were")
        with self._change:
            if self._own is None:
                raise RuntimeError("closed meanwhile")
            old, self._own = self._own, made
        release(old)
        return made

    def close(self) -> None:
        """Stop what is running and let go of the source; the session that it came from goes on."""
        with self._change:
            session, self._own = self._own, None
        if session is not None and os.getpid() == self._process:
            _stop(session)
            with suppress(Exception):
                for view in self._views.values() if is_there(session) else ():
                    session.catalog.dropTempView(view)
            release(session)


def _stop(session: SparkSession) -> None:
    with suppress(Exception):
        if is_there(session):
            session.interruptAll()


def _run(session: SparkSession, sql: str, parameters: Parameters) -> Rows:
    """Run a statement and return its rows, whole numbers as such."""
    watch = Timer(TIMEOUT, _stop, (session,))
    watch.daemon = True
    watch.start()
    try:
        rows = session.sql(sql, args={name: _argument(value) for name, value in parameters.items()}).collect()
    finally:
        watch.cancel()
    return [tuple(map(_value, row)) for row in rows]


def _argument(value: int | Sequence[Value]) -> int | str:
    """Return a parameter: a key of the hash as a number of 64 bits with a sign, a list as one text."""
    if isinstance(value, int):
        return value - _WORD if value >= _WORD // 2 else value
    return json_list(value)


def json_list(values: Sequence[Value]) -> str:
    """Return a list as a JSON list of texts, each as Spark casts it back.

    >>> json_list([True, None, 0.1, "a"])
    '["true", null, "0.1", "a"]'
    """
    return json.dumps([None if value is None else _text(value) for value in values])


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def _value(value: Any) -> Any:  # noqa: ANN401 - whatever a row has
    return int(value) if isinstance(value, Decimal) and value.as_tuple().exponent == 0 else value


def open_spark(source: object, *, table: str | None = None, written: str | None = None) -> SparkEngine:
    """Open a table, reading its schema alone, or raise InvalidError or SourceError.

    Args:
        source: a SparkSession, a Spark DataFrame, `spark:` and a table's name or the path of Parquet files, or the
            `sc://` URL of a Spark Connect server.
        table: which table of a session or a server: its name, with its database and catalog before it if need be.
        written: the source as a policy writes it, with its variables not filled in, for messages.
    """
    return _opened({None: Source(source=source, table=table, written=written)})


def open_spark_tables(sources: SourcesByName) -> SparkEngine:
    """Open several tables by their names in one engine, so that they can be joined; private ones by their schema alone.

    They are in one session. Public tables are read, and kept as they are. The first name is the engine's.
    """
    return _opened(sources)


def _opened(sources: SourcesByName) -> SparkEngine:
    try:
        with quiet():
            return _engine(sources)
    except TacitError:
        raise
    except Exception:  # noqa: BLE001, S110 - whatever Spark says
        pass
    raise SourceError(NOT_OPENED)  # outside of `except`, so that not even the context carries Spark's text


def _engine(sources: SourcesByName) -> SparkEngine:
    found = [(name, source, open_one(source, partial(_find, source), NOT_OPENED)) for name, source in sources.items()]
    session = _one_session([session for _, _, (session, _) in found])
    shown: dict[str, Shown] = {}
    for name, source, (_, table) in found:
        kept = open_one(source, partial(_kept, session, table), NOT_OPENED) if source.public else table
        shown[source.own_name(table.name) if name is None else name] = replace(kept, where=source.where)
    return SparkEngine(session, next(iter(shown)), shown)


def _find(source: Source) -> tuple[SparkSession, Shown]:
    return find_table(source, lambda table: find(source.source, table, source.written))


def _one_session(sessions: Sequence[SparkSession]) -> SparkSession:
    """Return the session of several sources; they are on one cluster, or refused."""
    homes = {_home(session) for session in sessions}
    if len(homes) > 1:
        raise InvalidError("sources", "tables of several Spark clusters", "tables of one, which can be joined")
    return sessions[0]


def _home(session: SparkSession) -> object:
    if hasattr(session, "_jsparkSession"):
        return "classic"
    client = session._client  # type: ignore[attr-defined] # noqa: SLF001 - nothing public says it
    return client.host


def _kept(session: SparkSession, shown: Shown) -> Shown:
    """Return a public table as it is now: its rows are kept in memory, so that they stay what its policy says."""
    made = own(session)
    frame = reveal(shown, "kept", made)
    columns = [field.name for field in frame.schema.fields if SPARK.kind_of(field.dataType.simpleString())]
    held = frame.select([frame[f"`{name.replace('`', '``')}`"] for name in columns])
    with same_active():
        return Shown(shown.name, frame=made.createDataFrame(held.toArrow(), schema=held.schema))
