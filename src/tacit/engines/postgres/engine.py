"""The PostgreSQL engine: everything is computed by the server, in one transaction that only reads.

A question is asked in one READ ONLY transaction at REPEATABLE READ, so that all its statements see one state of the
data. Every setting that could change a result is pinned in it: no schema of anybody but pg_catalog is searched, times
are in UTC, row security raises instead of hiding rows. Before anything is read, the tables are locked against changes
of their columns, which must be those that were there when they were opened.

A connection that is lost takes its question with it: that one fails with a constant text, and the next one connects
anew. Nothing waits forever: connecting, locks and statements have time limits at the server, and if the server itself
does not answer, this side hangs up a little later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from weakref import finalize

from tacit.engines.postgres import sources
from tacit.engines.postgres.connection import Held, numbered, watched
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.postgres.privileges import check_role
from tacit.engines.postgres.sources import Place, Url, checked_url
from tacit.engines.source import Source, SourcesByName, declared_at, find_table
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.engine import NOT_OPENED, Rows, Run, S, StatementEngine
from tacit.engines.sql.histogram import BinStatement
from tacit.engines.sql.public_tables import is_unique
from tacit.engines.sql.statement import Statement
from tacit.errors import InvalidError, SourceError, TacitError, show
from tacit.query.expressions import Column
from tacit.query.plan import Bundle, Plan

if TYPE_CHECKING:
    from tacit.engines.postgres.sources import Connection

TIMEOUT = 3600.0
"""For how many seconds one statement may run unless the user says otherwise."""

NOT_READY = (
    "The table is not what it was when it was opened, or the server is gone; nothing was spent. Open it again: that "
    "tells what is wrong."
)
_MOST_COLUMNS = 1600  # PostgreSQL takes 1664
_MOST_MEASURES = 200
_FOR_EACH = 4  # columns of a measure, at most
_CATALOG = 60.0
_PARTS = """WITH RECURSIVE parts AS (
    SELECT CAST($1 AS regclass)::oid AS number, FALSE AS leaves
    UNION ALL SELECT i.inhrelid, i.inhdetachpending FROM parts JOIN pg_inherits i ON i.inhparent = parts.number)
SELECT number::bigint, leaves FROM parts ORDER BY 1, 2"""
_LONGEST = 7 * 86_400.0


class PostgresEngine(StatementEngine):
    """One table, or several of one database that can be joined, measured by PostgreSQL."""

    dialect = POSTGRES

    def __init__(self, url: Url, connection: Connection, places: Mapping[str, Place], timeout: float) -> None:
        """Take over a connection, and the tables by their names; the first is the engine's."""
        views = {name: place.written for name, place in places.items()}
        super().__init__(next(iter(places)), views, {name: place.types for name, place in places.items()})
        self._url, self._timeout, self._places = url, timeout, tuple(places.values())
        self._held = Held(connection, os.getpid())
        self._is_closed = False
        self._numbers = {place.named: place.number for place in self._places}
        finalize(self, Held.close, self._held)

    def _made(self, plan: Plan, make: Callable[[Plan, Mapping[str, str], Dialect], S]) -> S:
        """Return a plan's statement, or raise InvalidError if it has more columns than PostgreSQL takes."""
        made = super()._made(plan, make)
        sums = sum(len(bundle.measures) for bundle in plan.bundles)
        if made.sql.count(' AS "v') + _FOR_EACH * sums > _MOST_COLUMNS:
            raise InvalidError("sql", "a question of too many parts for one statement", "a shorter one, or several")
        return made

    def _parts(self, plan: Plan) -> list[tuple[tuple[int, ...], Statement | BinStatement]]:
        """Return a plan's statements; those of many measures in pieces, which choose the same cells.

        A bundle is never cut: its reach is promised of one state of the data, and statements may see different
        partitions (see `_parts_of`; that is found out, but only at the end).
        """
        found, first = [], 0
        for piece in pieces(plan.bundles):
            parts = super()._parts(replace(plan, bundles=piece))
            found += [(tuple(first + place for place in places), one) for places, one in parts]
            first += sum(len(bundle.measures) for bundle in piece)
        return found

    def _look_again(self, run: Run, plan: Plan) -> None:
        """Raise if a row that is a unit of its own could match several public rows, which lie open to changes here."""
        if plan.table.unit is not None:
            return
        for join in plan.joins:
            own = dict(join.columns)
            keys = {own[key.name]: key.kind for _, key in join.pairs if isinstance(key, Column) and key.name in own}
            place, view = self._tables[join.table], self._views[join.table]
            ask = partial(_plainly, run)
            if not any(is_unique(ask, self.dialect, view, name, place[name], kind) for name, kind in keys.items()):
                raise ConnectionError

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        """Give a transaction that sees one state of the data, and leave nothing of it behind."""
        try:
            connection = self._usable()
            before = self._parts_of(connection)
            yield lambda sql, parameters: self._rows(connection, sql, numbered(parameters))
            connection.rollback()
            self._check_same(before, connection)
            connection.rollback()
        except BaseException:
            self._held.close()
            raise

    def _check_same(self, parts: list[Rows], connection: Connection) -> None:
        self._rows(connection, sources.pinned(self._timeout))  # a new transaction, which has the role's own settings
        if self._parts_of(connection) != parts:
            raise ConnectionError

    def _parts_of(self, connection: Connection) -> list[Rows]:
        """Return the partitions of every table, and the tables that inherit from it, at all depths.

        A transaction sees one state of all rows, but statements read the partitions that there are when they begin: one
        may be attached while a table is locked as a reader may. So the parts are those of the transaction's state
        before the first statement, and must be the same after the last.
        """
        return [self._rows(connection, _PARTS, [place.named]) for place in self._places]

    def ready(self) -> None:
        """Raise, before anything is charged, if server, role, rights, names or types are not what was opened.

        Only the catalog is read, in a transaction that is rolled back; no lock is waited for. Nothing here depends on
        the data: a catalog says what tables, columns and grants there are, not what rows. So this may be told, and is
        free. What happens after it fails the question, which stays charged.
        """
        is_ready = False
        try:
            with self._lock:
                self._look()
            is_ready = True
        except TacitError:  # of the catalog, or of connecting: they say what to do
            raise
        except Exception:  # noqa: BLE001, S110 - whatever the server says is not shown
            pass
        if not is_ready:  # outside of `except`, so that not even the context carries it
            raise SourceError(NOT_READY)

    def _look(self) -> None:
        seconds = min(self._timeout, _CATALOG)
        try:
            connection = self._line(seconds)
            self._check(connection, seconds)
            connection.rollback()
        except BaseException:
            self._held.close()
            raise

    def _usable(self) -> Connection:
        """Return a connection that is ready to read, or raise an error that says nothing."""
        try:
            return self._begun()
        except TacitError:  # these say that nothing was spent, which is not so by now
            raise ConnectionError from None

    def _begun(self) -> Connection:
        """Return a connection within a transaction; the tables are locked before the state that it sees is fixed."""
        connection = self._line(self._timeout)
        self._rows(connection, "; ".join(place.lock for place in self._places))
        self._check(connection, self._timeout)
        return connection

    def _line(self, seconds: float) -> Connection:
        """Return a connection within a transaction whose settings are pinned; one that was lost before is replaced.

        Pinning waits for nothing and fixes no state of the data. What is lost later is not tried again: it may have
        waited for a lock, and would wait as long once more.
        """
        if self._is_closed:
            raise ConnectionError
        held = self._held
        if held.is_ours and not held.connection.closed:
            try:
                self._rows(held.connection, sources.pinned(seconds))
            except Exception:
                if not held.connection.closed:
                    raise
            else:
                return held.connection
        connection = sources.connected(self._url)  # a forked process leaves its parent's connection alone
        held.connection, held.process = connection, os.getpid()
        self._numbers.clear()
        self._rows(connection, sources.pinned(seconds))
        sources.check_server(connection)
        connection.rollback()
        self._rows(connection, sources.pinned(seconds))
        return connection

    def _check(self, connection: Connection, seconds: float) -> None:
        """Raise unless role and tables are as they were: a TacitError where the catalog tells what to do.

        A table that was not seen on this connection, or is another one of its name now, is looked at as when it was
        opened. What the role may do is looked at for every question.
        """
        with watched(connection, seconds):
            check_role(connection)
            for place in self._places:
                now = sources.same_place(connection, place, self._numbers.get(place.named))
                if not place.is_kept_by(now):
                    sources.place_of(connection, place.named)  # which says so if it may not be read any more
                    raise ConnectionError
                self._numbers[place.named] = now.number

    def _rows(self, connection: Connection, sql: str, parameters: Sequence[object] = ()) -> Rows:
        """Run a statement; if the server has not answered a while after it should have given up, hang up."""
        with watched(connection, self._timeout):
            cursor = connection.execute(sql.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    @property
    def located(self) -> str:
        """How a policy names the table: with its schema."""
        return self._places[0].told

    def close(self) -> None:
        """Let go of the source."""
        self._is_closed = True
        self._held.close()


def _plainly(run: Run, sql: str) -> Rows:
    return run(sql, {})


def pieces(bundles: Sequence[Bundle]) -> list[tuple[Bundle, ...]]:
    """Return bundles in pieces of so many measures as fit a statement; one that is larger stands alone."""
    found: list[list[Bundle]] = []
    size = 0
    for bundle in bundles:
        size += len(bundle.measures)
        if not found or size > _MOST_MEASURES:
            found.append([])
            size = len(bundle.measures)
        found[-1].append(bundle)
    return [tuple(piece) for piece in found]


def open_postgres(
    source: str, *, table: str | None = None, written: str | None = None, timeout: float | None = None
) -> PostgresEngine:
    """Open a table of a PostgreSQL server, reading the catalog alone, or raise InvalidError or SourceError.

    Args:
        source: a postgresql:// URL; what it leaves out comes from the environment, a service file, a password file.
        table: which table, with its schema if need be; it may be left out if there is only one.
        written: the source as a policy writes it; it is not shown.
        timeout: for how many seconds one statement may run; by default an hour.
    """
    del written
    return _opened(source, {None: Source(source=source, table=table)}, timeout)


def open_postgres_tables(tables: SourcesByName, *, timeout: float | None = None) -> PostgresEngine:
    """Open several tables of one database by their names, to be joined. The first name is the engine's."""
    urls = list(dict.fromkeys(str(one.source) for one in tables.values()))
    if len(urls) > 1:
        raise InvalidError(
            "source",
            "tables under several URLs",
            "tables under one: write the same URL for each, letter by letter; what lies in other databases PostgreSQL "
            "cannot join, so copy public tables to that of the private ones",
        )
    return _opened(urls[0], tables, timeout)


def _opened(source: object, tables: SourcesByName, timeout: float | None) -> PostgresEngine:
    """Open some tables, each under a name, or under its own."""
    seconds = TIMEOUT if timeout is None else timeout
    if not 0 < seconds <= _LONGEST:
        raise InvalidError("timeout", show(timeout), "a number of seconds > 0, at most a week")
    url = checked_url(source)
    connection, places = sources.connected(url), dict[str, Place]()
    try:
        connection.execute(sources.pinned(min(seconds, _CATALOG)).encode())
        sources.check_server(connection)
        for name, table in tables.items():
            with declared_at(table.where):
                place = find_table(table, partial(sources.place_of, connection))
            places[place.name if name is None else name] = place
        connection.rollback()
    except TacitError:
        connection.close()
        raise
    except Exception:  # noqa: BLE001 - whatever the server says is not shown
        connection.close()
    if connection.closed:
        raise SourceError(NOT_OPENED)
    return PostgresEngine(url, connection, places, seconds)
