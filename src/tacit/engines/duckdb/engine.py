"""The DuckDB engine: in this process, over files and tables in memory.

DuckDB is imported as the package of that name; this module only shares it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import duckdb
import numpy as np

from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.duckdb.sources import attach, connect, copy, lock, show_as
from tacit.engines.opened import Opened
from tacit.engines.sql.engine import NOT_OPENED, Looks, Run, Secret, StatementEngine, keyed
from tacit.engines.sql.shown_groups import SHOWN
from tacit.engines.sql.statement import SOURCE
from tacit.errors import SourceError, TacitError
from tacit.query.histograms import Histograms
from tacit.query.pricing.partition_selection import Choose, DiscoveredGroups

_FOUND = "found"


class DuckDBEngine(StatementEngine):
    """One table, or several that can be joined, measured by DuckDB."""

    dialect = DUCKDB

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, name: str, views: Mapping[str, str] | None = None
    ) -> None:
        """Take over a connection on which the view `data` stands, or for each table by its name another."""
        shown = {name: SOURCE} if views is None else views
        super().__init__(name, shown, {table: _described(connection, view) for table, view in shown.items()})
        self._connection = connection

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        """Give the connection: what it reads does not change while it is open."""
        yield lambda sql, parameters: self._connection.execute(sql, dict(parameters)).fetchall()

    def _found(self, run: Run, made: Looks, secret: Secret, choose: Choose) -> DiscoveredGroups:
        """Return the groups that are chosen; all groups stay in the database, and only while this runs."""
        connection, first = self._connection, made.first
        by = [f"g{place}" for place in range(first.keys)]
        order = ", ".join(f"{key} ASC NULLS LAST" for key in by)
        try:
            run(f"CREATE TEMP TABLE {_FOUND} AS {first.sql}", keyed(first, secret))
            units = connection.execute(f"SELECT rowid, CAST(s0 AS BIGINT) FROM {_FOUND} ORDER BY rowid").fetchnumpy()  # noqa: S608 - all of it is ours
            numbers, counts = units.values()
            shown = {"shown": numbers[choose(counts)].tolist()}
            rows = run(
                f"SELECT rowid, * FROM {_FOUND} SEMI JOIN (SELECT UNNEST($shown::BIGINT[]) AS p) ON rowid = p "  # noqa: S608 - as above
                f"ORDER BY {order}",
                shown,
            )
            chosen = [row[0] for row in rows]
            later = self._later(run, made, chosen, secret)
        finally:
            connection.execute(f"DROP TABLE IF EXISTS {SHOWN}")
            connection.execute(f"DROP TABLE IF EXISTS {_FOUND}")
        places: list[int] = np.searchsorted(numbers, np.array(chosen, dtype=np.int64)).tolist()
        return made.put_together([tuple(row[1:]) for row in rows], places, later)

    def _later(
        self, run: Run, made: Looks, chosen: Sequence[int], secret: Secret
    ) -> list[tuple[tuple[int, ...], list[int] | Histograms]]:
        """Return what is measured of the groups that are shown, given by their numbers, in this order."""
        if not made.later:
            return []
        by = ", ".join(f"g{place}" for place in range(made.first.keys))
        places = f"SELECT UNNEST($numbers::BIGINT[]) AS number, UNNEST(RANGE({len(chosen)})) AS place"
        run(
            f"CREATE TEMP TABLE {SHOWN} AS SELECT {by}, place FROM {_FOUND} JOIN ({places}) ON {_FOUND}.rowid = number",  # noqa: S608 - as above
            {"numbers": chosen},
        )
        return [
            (own, one.read(self._connection.execute(one.sql, keyed(one, secret)).fetchnumpy(), len(chosen)))
            for own, one in made.later
        ]

    def close(self) -> None:
        """Let go of the source."""
        self._connection.close()


def _described(connection: duckdb.DuckDBPyConnection, view: str) -> dict[str, str]:
    described = connection.execute(f"DESCRIBE {view}").fetchall()
    return {column: type_name for column, type_name, *_ in described}


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
        lock(connection, files, joins_public=any(one.public for one in sources.values()))
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
