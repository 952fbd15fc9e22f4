"""The DuckDB engine: in this process, over files and tables in memory.

DuckDB is imported as the package of that name; this module only shares it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TypeVar

import duckdb
import numpy as np

from tacit.engines.duckdb_bins import BinStatement, bin_statement, is_binned, split
from tacit.engines.duckdb_casts import kind_of
from tacit.engines.duckdb_distinct import distinct_statement, is_distinct
from tacit.engines.duckdb_joins import before
from tacit.engines.duckdb_open import FOUND, UNITS, OpenStatement, open_statement
from tacit.engines.duckdb_plan import SOURCE, Statement, statement
from tacit.engines.duckdb_public import public_policy
from tacit.engines.duckdb_shown import SHOWN, ShownStatement, apart, show, shown_statement
from tacit.engines.duckdb_sources import NOT_OPENED, attach, connect, copy, lock, show_as
from tacit.errors import SourceError, TacitError
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Kind
from tacit.query.histograms import Histograms
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.selection import Choose, Found

FAILED = (
    "The engine failed while it read the data; what was charged stays charged. What it said is not shown, "
    "since it could tell of the data. Check that the source is still there and unchanged, and that there is memory."
)

S = TypeVar("S", Statement, OpenStatement, BinStatement, ShownStatement)

Secret = tuple[int, int]
"""The key of the hash that chooses cells: twice 64 bits."""


class DuckDBEngine:
    """One table, or several that can be joined, measured by DuckDB."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, name: str, views: Mapping[str, str] | None = None
    ) -> None:
        """Take over a connection on which the view `data` stands, or for each table by its name another."""
        self.name = name
        self._connection = connection
        self._lock = Lock()
        self._views = {name: SOURCE} if views is None else dict(views)
        self._tables = {table: _described(connection, view) for table, view in self._views.items()}
        self._types = self._tables[name]

    def schema(self, table: str | None = None) -> Mapping[str, Kind]:
        """Return the kinds of the columns that can be used; nested and binary ones are left out."""
        types = self._types if table is None else self._tables[table]
        kinds = {column: kind_of(type_name) for column, type_name in types.items()}
        return {column: kind for column, kind in kinds.items() if kind is not None}

    def public(self, table: str, kinds: Mapping[str, Kind], neighbours: Neighbours = "add/remove") -> TablePolicy:
        """Read all of a public table, with its columns as these kinds, and return its policy."""
        policy = None
        try:
            with self._lock:
                policy = public_policy(
                    self._connection, self._views[table], table, self._tables[table], kinds, neighbours
                )
        except TacitError:
            raise
        except Exception:  # noqa: BLE001, S110 - one text for all that an engine can say
            pass
        if policy is None:
            raise SourceError(NOT_OPENED)
        return policy

    @property
    def unusable(self) -> tuple[str, ...]:
        """The columns whose types cannot be used: nested ones, binary ones, and those of nothing but NULL."""
        return tuple(column for column, type_name in self._types.items() if kind_of(type_name) is None)

    def check(self, plan: Plan) -> None:
        """Refuse, without reading, a plan whose integers would not fit."""
        if plan.open:
            self._looks(plan)
        else:
            self._parts(plan)

    def _made(self, plan: Plan, make: Callable[[Plan, Mapping[str, str]], S]) -> S:
        """Return a plan's statement; where there are several tables, over the one or the join that it names."""
        if len(self._views) == 1:
            return make(plan, self._types)
        parts, types = before(plan, self._views, self._tables)
        made = make(plan, types)
        return replace(made, sql=made.sql.replace("WITH ", f"WITH {parts},\n", 1))

    def measure(self, plan: Plan) -> list[list[int]]:
        """Read the rows and return the plan's exact integers, the hash keyed afresh."""
        return self.measure_with(plan, (secrets.randbits(64), secrets.randbits(64)))

    def measure_with(self, plan: Plan, secret: Secret) -> list[list[int]]:
        """Return the plan's exact integers under a key of the hash; for tests, which need the same choice twice."""
        asked = sum(len(bundle.measures) for bundle in plan.bundles)
        if plan.cells == 0 or not asked:
            return [[] for _ in range(asked)]
        answer: list[list[int]] = [[] for _ in range(asked)]
        made = self._parts(plan)
        keys = dict(zip(("h0", "h1"), secret, strict=True))
        found = None
        try:
            with self._lock:
                found = [
                    self._connection.execute(one.sql, {**one.parameters, **(keys if one.draws else {})}).fetchall()
                    for _, one in made
                ]
        except Exception:  # noqa: BLE001, S110 - whatever it says could tell of the data; see below
            pass
        if found is None:  # outside of `except`, so that not even the context carries the engine's text
            raise SourceError(FAILED)
        for (places, one), rows in zip(made, found, strict=True):
            read = one.read(rows)
            for place, integers in zip(places, read * len(places) if len(read) == 1 else read, strict=True):
                answer[place] = integers
        return answer

    def _parts(self, plan: Plan) -> list[tuple[tuple[int, ...], Statement | BinStatement]]:
        """Return a plan's statements, each with the places of the measures that it answers: all, or one several times.

        They choose the same cells, since they hash the same units and cells with the same keys.
        """
        return [
            (places, self._made(part, bin_statement) if is_binned(part) else self._made(part, _maker(part)))
            for places, part in split(plan)
        ]

    def _looks(self, plan: Plan) -> _Looks:
        """Return the statements of a plan whose groups are found, each with the places of its measures."""
        (own, plain), later = apart(plan)
        return _Looks(
            own,
            self._made(plain, open_statement),
            [(places, self._made(part, shown_statement)) for places, part in later],
        )

    def find(self, plan: Plan, choose: Choose) -> Found:
        """Read the rows and return the groups that are chosen, the hash keyed afresh."""
        return self.find_with(plan, choose, (secrets.randbits(64), secrets.randbits(64)))

    def find_with(self, plan: Plan, choose: Choose, secret: Secret) -> Found:
        """Return the groups that are chosen, under a key of the hash; for tests, as above."""
        made = self._looks(plan)
        keys = dict(zip(("h0", "h1"), secret, strict=True))
        found = None
        try:
            with self._lock:
                found = _found(self._connection, made, keys, choose)
        except Exception:  # noqa: BLE001, S110 - as above
            pass
        if found is None:
            raise SourceError(FAILED)
        return found

    def close(self) -> None:
        """Let go of the source."""
        self._connection.close()


@dataclass(frozen=True, slots=True)
class _Looks:
    """How groups are found and measured: first with plain sums, then with all else, of those that are shown."""

    places: tuple[int, ...]
    first: OpenStatement
    later: list[tuple[tuple[int, ...], ShownStatement]]


def _found(connection: duckdb.DuckDBPyConnection, made: _Looks, keys: Mapping[str, int], choose: Choose) -> Found:
    """Return the groups that are chosen; all groups stay in the database, and only while this runs."""
    first, later = made.first, list[tuple[tuple[int, ...], list[int] | Histograms]]()
    try:
        connection.execute(first.sql, {**first.parameters, **(keys if first.draws else {})})
        units = connection.execute(UNITS).fetchnumpy()
        numbers = units["number"]
        shown = numbers[choose(units["units"])]
        rows = connection.execute(first.rows, {"shown": shown.tolist()}).fetchall()
        if made.later:
            connection.execute(*show(first.keys, [row[0] for row in rows]))
        for places, one in made.later:
            result = connection.execute(one.sql, {**one.parameters, **(keys if one.draws else {})})
            later.append((places, one.read(result.fetchnumpy(), len(rows))))
    finally:
        connection.execute(f"DROP TABLE IF EXISTS {SHOWN}")
        connection.execute(f"DROP TABLE IF EXISTS {FOUND}")
    integers = dict[int, list[int] | Histograms](zip(made.places, first.read(rows), strict=True))
    integers |= {place: own for places, own in later for place in places}
    places_: list[int] = np.searchsorted(numbers, np.array([row[0] for row in rows], dtype=np.int64)).tolist()
    return Found(
        [row[1 : 1 + first.keys] for row in rows], places_, [integers[place] for place in range(len(integers))]
    )


def _maker(plan: Plan) -> Callable[[Plan, Mapping[str, str]], Statement]:
    return distinct_statement if is_distinct(plan) else statement


def _described(connection: duckdb.DuckDBPyConnection, view: str) -> dict[str, str]:
    described = connection.execute(f"DESCRIBE {view}").fetchall()
    return {column: type_name for column, type_name, *_ in described}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One of several sources: itself, which of its tables, how a policy writes it, and whether it is public."""

    source: object
    table: str | None = None
    written: str | None = None
    public: bool = False


def open_tables(
    sources: Mapping[str, Opened],
    *,
    threads: int | None = None,
    temporary: str | PathLike[str] | None = None,
) -> DuckDBEngine:
    """Open several tables by their names in one engine, so that they can be joined; private ones by their schema alone.

    Public tables are read into memory. The first name is the engine's.
    """
    connection = connect(threads, temporary)
    engine = None
    try:
        views: dict[str, str] = {}
        files: list[Path] = []
        for place, (name, one) in enumerate(sources.items()):
            views[name] = SOURCE if len(sources) == 1 else f"source_{place}"
            shown = f"read_{place}" if one.public else views[name]
            _, own = show_as(shown, connection, one.source, one.table, one.written)
            if one.public:
                copy(shown, connection, views[name])
            else:
                files += own
        lock(connection, files)
        engine = DuckDBEngine(connection, next(iter(sources)), views)
    except TacitError:
        connection.close()
        raise
    except Exception:  # noqa: BLE001 - as above
        connection.close()
    if engine is None:
        raise SourceError(NOT_OPENED)
    return engine


def open_duckdb(
    source: object,
    *,
    table: str | None = None,
    written: str | None = None,
    threads: int | None = None,
    temporary: str | PathLike[str] | None = None,
) -> DuckDBEngine:
    """Open a table, reading its schema alone, or raise InvalidError or SourceError.

    Args:
        source: Parquet or CSV files or a glob of them, a DuckDB file, or a pandas, polars or Arrow table.
        table: which table of a DuckDB file; it may be left out if there is only one.
        written: the source as a policy writes it, with its variables not filled in, for messages.
        threads: how many DuckDB may use; by default as many as there are cores.
        temporary: a directory for what does not fit memory; by default nothing is written.
    """
    connection = connect(threads, temporary)
    engine = None
    try:
        engine = DuckDBEngine(connection, attach(connection, source, table, written))
    except TacitError:
        connection.close()
        raise
    except Exception:  # noqa: BLE001 - as above
        connection.close()
    if engine is None:
        raise SourceError(NOT_OPENED)
    return engine
