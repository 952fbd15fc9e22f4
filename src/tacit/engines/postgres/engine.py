"""The PostgreSQL engine: the server computes everything, in one transaction that only reads.

A query runs in one READ ONLY transaction at REPEATABLE READ, so that all its statements see one state of the data. The
transaction fixes every setting that could change a result: only pg_catalog is searched, times are in UTC, and row
security fails instead of hiding rows. Before anything is read, the tables are locked against changes of their columns,
and their columns are compared with those that they had when they were opened.

If a connection is lost, its query fails with a constant text, and the next query connects again. Nothing waits forever:
connecting, locks and statements have time limits at the server, and if the server itself does not answer, the client
closes the connection a little later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING
from weakref import finalize

from tacit.engines.postgres.connection import (
    OwnedConnection,
    Url,
    check_server,
    checked_url,
    connect,
    milliseconds,
    resources_of,
    set_local,
    watched,
)
from tacit.engines.postgres.dialect import POSTGRES, REREADING_POSTGRES, numbered
from tacit.engines.postgres.privileges import check_role
from tacit.engines.postgres.sources import Parts, PostgresTable, find_table, refresh_table
from tacit.engines.source import Source, SourcesByName, declared_at, with_fallback
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.engine import CHECK_OPENING, NOT_OPENED, S, StatementEngine
from tacit.engines.sql.public_tables import is_unique
from tacit.engines.sql.runner import BATCH, ResultRows, StatementParameters, StatementRunner
from tacit.engines.sql.statement_runs import MeasureStatement
from tacit.engines.sql.weighted_statement import REREAD
from tacit.errors import InvalidError, TacitError, guarded
from tacit.query.expressions import Column
from tacit.query.plan import Bundle, Plan
from tacit.query.policy.engine_settings import EngineSettings, read_timeout

if TYPE_CHECKING:
    from tacit.engines.postgres.connection import Connection

NOT_READY = "The table changed since it was opened, or the server is gone."
_REOPEN = "Open it again: the error then says what is wrong."
_MOST_COLUMNS = 1600  # PostgreSQL supports 1664
_MOST_MEASURES = 200
_FOR_EACH = 4  # columns of a measure, at most
_MOST_PAGES = 715_827_882  # the largest value of the setting; tables of 5 TB or more still share workers
_CATALOG = 60.0
_PARTS = """WITH RECURSIVE parts AS (
    SELECT CAST($1 AS regclass)::oid AS number, FALSE AS leaves
    UNION ALL SELECT i.inhrelid, i.inhdetachpending FROM parts JOIN pg_inherits i ON i.inhparent = parts.number)
SELECT number::bigint, leaves FROM parts ORDER BY 1, 2"""


class PostgresEngine(StatementEngine):
    """One table, or several of one database that can be joined, measured by PostgreSQL."""

    def __init__(
        self, url: Url, connection: Connection, tables: Mapping[str, PostgresTable], settings: EngineSettings
    ) -> None:
        """Take over a connection, and the tables by their names; the first is the main one."""
        views = {name: table.from_item for name, table in tables.items()}
        super().__init__(next(iter(tables)), views, {name: table.types for name, table in tables.items()}, settings)
        self._url, self._sources, self._resources = url, tuple(tables.values()), resources_of(settings)
        self._owned = OwnedConnection(connection, os.getpid())
        self._is_closed = False
        self._oids = {table.sql_name: table.oid for table in self._sources}
        finalize(self, OwnedConnection.close, self._owned)
        self._set_dialect()

    def _set_dialect(self) -> None:
        """Choose how often statements may read a table; see `PostgresTable`."""
        has_children = any(table.parts == "children" for table in self._sources)
        self.dialect = POSTGRES if has_children else REREADING_POSTGRES

    def _replace_table(self, index: int, parts: Parts) -> None:
        """Use other parts of a table from the next statement on; statements that are prepared read the old ones."""
        name, table = list(self._tables)[index], replace(self._sources[index], parts=parts)
        self._sources = (*self._sources[:index], table, *self._sources[index + 1 :])
        self._views[name], self._last = table.from_item, None
        self._set_dialect()

    def _statement(self, plan: Plan, build: Callable[[Plan, Mapping[str, str], Dialect], S]) -> S:
        """Return a plan's statement, or raise InvalidError if it has more columns than PostgreSQL supports."""
        built = super()._statement(plan, build)
        sums = sum(len(bundle.measures) for bundle in plan.bundles)
        if built.sql.count(' AS "v') + _FOR_EACH * sums > _MOST_COLUMNS:
            raise InvalidError(
                "The query has too many parts for one statement of PostgreSQL.",
                argument="sql",
                hint="Shorten it, or split it into several queries.",
            )
        return built

    def _statements(self, plan: Plan) -> list[tuple[tuple[int, ...], MeasureStatement]]:
        """Return a plan's statements; many measures are split into pieces, which choose the same cells.

        A bundle is never split: its contribution is bounded for one state of the data, and statements may see different
        partitions (see `_partitions`; that is detected, but only at the end).
        """
        statements, first = [], 0
        for piece in pieces(plan.bundles):
            some = super()._statements(replace(plan, bundles=piece))
            statements += [(tuple(first + index for index in indices), each) for indices, each in some]
            first += sum(len(bundle.measures) for bundle in piece)
        return statements

    def _recheck(self, run: StatementRunner, plan: Plan) -> None:
        """Raise if each row is a unit and a row could now match several public rows: public tables can change here."""
        if plan.table.unit is not None:
            return
        for join in plan.joins:
            raw = dict(join.columns)
            keys = [
                replace(key, name=raw[key.name]) for _, key in join.pairs if isinstance(key, Column) and key.name in raw
            ]
            types, view = self._tables[join.table], self._views[join.table]
            read = partial(_without_parameters, run)
            if not any(is_unique(read, self.dialect, view, types, key) for key in keys):
                raise ConnectionError

    @contextmanager
    def _reading(self) -> Iterator[StatementRunner]:
        """Yield the runner of a transaction that sees one state of the data; roll it back at the end."""
        try:
            connection = self._transaction()
            before = self._partitions(connection)
            yield StatementRunner(partial(self._batches, connection))
            connection.rollback()
            self._check_partitions(before, connection)
            connection.rollback()
        except BaseException:
            self._owned.close()
            raise

    def _batches(self, connection: Connection, sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
        """Yield the rows of a statement in batches, as the server sends them, in the time that its reading has left.

        PostgreSQL runs no parallel plan for a cursor on the server, so the rows are read without one. The time limit
        of the statement includes the time between batches.
        """
        self._set_time(connection)
        with self._parts_alone(connection, sql), connection.cursor() as cursor:
            rows = cursor.stream(sql.encode(), numbered(parameters) or None)
            while True:
                with watched(connection, self._seconds_left()):
                    batch = list(islice(rows, BATCH))
                if not batch:
                    return
                yield batch

    def _set_time(self, connection: Connection) -> None:
        """Let the server stop the next statement when the time of its reading is over."""
        self._rows(connection, f"SET LOCAL statement_timeout TO '{milliseconds(self._seconds_left())}'")

    @contextmanager
    def _parts_alone(self, connection: Connection, sql: str) -> Iterator[None]:
        """Do not let workers share one part of a statement that reads a table again for each of its parts.

        The planner would otherwise give all workers the rows of one part, and each would compute all heavy units
        (`weighted_statement`). The setting ends with the transaction, starts no process, and changes only the plan.
        """
        if REREAD not in sql:
            yield
            return
        self._rows(connection, f"SET LOCAL min_parallel_table_scan_size TO {_MOST_PAGES}")
        yield
        self._rows(connection, "SET LOCAL min_parallel_table_scan_size TO DEFAULT")

    def _check_partitions(self, before: list[ResultRows], connection: Connection) -> None:
        self._rows(connection, set_local(self.settings.timeout))  # a new transaction starts with the role's settings
        if self._partitions(connection) != before:
            raise ConnectionError

    def _partitions(self, connection: Connection) -> list[ResultRows]:
        """Return the partitions of every table, and the tables that inherit from it, at all depths.

        A transaction sees one state of all rows. But a statement reads the partitions that exist when it starts, and a
        partition may be attached while a table has a reader's lock. So the partitions are read in the transaction
        before the first statement, and must be the same after the last.
        """
        return [self._rows(connection, _PARTS, [table.sql_name]) for table in self._sources]

    def ready(self) -> None:
        """Raise, before anything is charged, if server, role, privileges, names or types changed since opening.

        It reads only the catalog, in a transaction that is rolled back, and waits for no lock. Nothing here depends on
        the data: a catalog describes tables, columns and grants, not rows. So an error here may be reported, and is
        free. If a change after this check makes the query fail, the query stays charged.
        """
        guarded(self._check_catalog, NOT_READY, hint=_REOPEN)

    def _check_catalog(self) -> None:
        seconds = min(self.settings.timeout, _CATALOG)
        with self._lock:
            try:
                connection = self._connected(seconds)
                parts = self._check(connection, seconds)
                connection.rollback()
            except BaseException:
                self._owned.close()
                raise
            for index, now in enumerate(parts):
                if now != self._sources[index].parts:
                    self._replace_table(index, now)

    def _transaction(self) -> Connection:
        """Return a connection in a transaction; the tables are locked before its snapshot is taken.

        An error of tacit becomes an error without a text: the query is charged by now.
        """
        try:
            connection = self._connected(self._seconds_left())
            self._rows(connection, "; ".join(table.lock for table in self._sources))
            parts = self._check(connection, self.settings.timeout)
        except TacitError:
            raise ConnectionError from None
        if parts != [table.parts for table in self._sources]:  # the statements are written for other parts
            raise ConnectionError
        return connection

    def _connected(self, seconds: float) -> Connection:
        """Return a connection in a transaction with fixed settings; a connection that was lost before is replaced.

        Fixing settings waits for nothing and takes no snapshot. If the connection is lost later, it is not tried again:
        it may have waited for a lock, and would wait as long once more.
        """
        if self._is_closed:
            raise ConnectionError
        owned = self._owned
        if owned.is_ours and not owned.connection.closed:
            try:
                self._rows(owned.connection, set_local(seconds, self._resources))
            except Exception:
                if not owned.connection.closed:
                    raise
            else:
                return owned.connection
        connection = connect(self._url)  # a forked process does not use its parent's connection
        owned.connection, owned.process = connection, os.getpid()
        self._oids.clear()
        self._rows(connection, set_local(seconds))
        check_server(connection)
        connection.rollback()
        self._rows(connection, set_local(seconds, self._resources))
        return connection

    def _check(self, connection: Connection, seconds: float) -> list[Parts]:
        """Return the parts of the tables. Raise unless role and tables are otherwise unchanged.

        The error is a TacitError if the catalog shows what to do.

        A table that this connection has not checked yet, or that was replaced by another of its name, is checked as
        when it was opened. The privileges of the role are checked for every query.
        """
        parts: list[Parts] = []
        with watched(connection, seconds):
            check_role(connection)
            for table in self._sources:
                now = refresh_table(connection, table, self._oids.get(table.sql_name))
                if not table.is_compatible(now):
                    find_table(connection, table.sql_name)  # raises if the role may no longer read it
                    raise ConnectionError
                self._oids[table.sql_name] = now.oid
                parts.append(now.parts)
        return parts

    def _rows(self, connection: Connection, sql: str, parameters: Sequence[object] = ()) -> ResultRows:
        """Run a statement and return all its rows; close the connection if the server is too slow (see `watched`)."""
        with watched(connection, self._seconds_left()):
            cursor = connection.execute(sql.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    @property
    def located(self) -> str:
        """The table's name as a policy writes it, with its schema."""
        return self._sources[0].policy_name

    def close(self) -> None:
        """Close the source."""
        self._is_closed = True
        self._owned.close()


def _without_parameters(run: StatementRunner, sql: str) -> ResultRows:
    return run(sql, {})


def pieces(bundles: Sequence[Bundle]) -> list[tuple[Bundle, ...]]:
    """Split bundles into pieces whose measures fit one statement; a bundle that is larger is a piece alone."""
    split: list[list[Bundle]] = []
    size = 0
    for bundle in bundles:
        size += len(bundle.measures)
        if not split or size > _MOST_MEASURES:
            split.append([])
            size = len(bundle.measures)
        split[-1].append(bundle)
    return [tuple(piece) for piece in split]


def open_postgres(
    source: str, *, table: str | None = None, written: str | None = None, timeout: float | None = None
) -> PostgresEngine:
    """Open a table of a PostgreSQL server, reading only the catalog, or raise InvalidError or SourceError.

    Args:
        source: a postgresql:// URL; missing parts come from the environment, a service file or a password file.
        table: the table, with its schema if necessary; it may be left out if there is only one.
        written: the source as a policy writes it; messages never show it.
        timeout: the time limit of a statement in seconds; by default an hour.
    """
    del written
    settings = EngineSettings() if timeout is None else EngineSettings(timeout=read_timeout(timeout))
    return _open(source, {None: Source(source=source, table=table)}, settings)


def open_postgres_tables(tables: SourcesByName, settings: EngineSettings | None = None) -> PostgresEngine:
    """Open several tables of one database by their names, so that they can be joined. The first is the main one."""
    urls = list(dict.fromkeys(str(table.source) for table in tables.values()))
    if len(urls) > 1:
        raise InvalidError(
            "Cannot join tables from different PostgreSQL URLs.",
            argument="source",
            hint="Use the same URL for every table, or copy the public tables into the private database.",
        )
    return _open(urls[0], tables, EngineSettings() if settings is None else settings)


def _open(source: object, tables: SourcesByName, settings: EngineSettings) -> PostgresEngine:
    """Open some tables, each under a name, or under its name in the database."""
    url = checked_url(source)
    connection = connect(url)

    def find_tables() -> dict[str, PostgresTable]:
        opened: dict[str, PostgresTable] = {}
        connection.execute(set_local(min(settings.timeout, _CATALOG)).encode())
        check_server(connection)
        for name, table in tables.items():
            with declared_at(table.where):
                relation = with_fallback(table, partial(find_table, connection))
            opened[relation.name if name is None else name] = relation
        connection.rollback()
        return opened

    try:
        opened = guarded(find_tables, NOT_OPENED, hint=CHECK_OPENING)
    except BaseException:
        connection.close()
        raise
    return PostgresEngine(url, connection, opened, settings)
