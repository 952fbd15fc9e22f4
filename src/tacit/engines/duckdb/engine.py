"""The DuckDB engine: it runs in this process, over files and tables in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import finalize

import duckdb
import numpy as np

from tacit.arrays import Ints
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.duckdb.sources import connect, copy, create_view, is_csv, lock
from tacit.engines.duckdb.stoppable import stoppable
from tacit.engines.source import Source, SourcesByName, open_one, with_fallback
from tacit.engines.sql.coded_statement import CodedStatement, Words
from tacit.engines.sql.discovered_groups import SHOWN
from tacit.engines.sql.engine import CHECK_OPENING, NOT_OPENED, StatementEngine
from tacit.engines.sql.found_groups import FoundGroups
from tacit.engines.sql.runner import BATCH, ResultRows, StatementParameters, StatementRunner
from tacit.engines.sql.statement import SOURCE
from tacit.engines.sql.statement_runs import Passes, Secret, parameters_of
from tacit.engines.temporary import check_directory, private_directory, remove
from tacit.errors import SourceError, guarded
from tacit.query.coded_table import AbsorbCodes, CodedTable
from tacit.query.histograms import Histograms
from tacit.query.policy.engine_settings import EngineSettings, read_threads
from tacit.query.pricing.partition_selection import Choose, DiscoveredGroups

GONE = "A file of the source does not exist any more, or cannot be read."
_FOUND, _BYTE = "found", 2**8
T = TypeVar("T")

FORKED = "This process is a child of the process that opened the data, and DuckDB cannot run in both."


class DuckDBEngine(StatementEngine):
    """One table, or several that can be joined, measured by DuckDB."""

    dialect = DUCKDB

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        views: Mapping[str, str] | None = None,
        *,
        skipping: Collection[str] = (),
        files: Sequence[Path] = (),
        settings: EngineSettings | None = None,
    ) -> None:
        """Take over a connection that has the view `data`, or a view for each table.

        The tables in `skipping` are CSV files: DuckDB skips some of their lines. `files` are the Parquet and CSV files
        that views read; other programs can change them.
        """
        by_table = {name: SOURCE} if views is None else views
        types = {table: _types(connection, view) for table, view in by_table.items()}
        super().__init__(name, by_table, types, settings)
        self._connection, self._skipping, self._files = connection, frozenset(skipping), tuple(files)
        self._process = os.getpid()
        self._remove: Callable[[], object] = lambda: None

    def reads_every_row(self, table: str) -> bool:
        """Return whether a statement reads all rows of a table; not of a CSV file, where it depends on their bytes."""
        return not self._skipping if len(self._tables) == 1 else table not in self._skipping

    def ready(self) -> None:
        """Raise, before anything is charged, if DuckDB cannot read or write.

        A file may be gone, or the temporary directory may be full. DuckDB's threads are missing in a forked process.
        """
        self._refuse_child()
        if not all(file.is_file() and os.access(file, os.R_OK) for file in self._files):
            raise SourceError(GONE, hint="Restore it, or open the source again.")
        if self.settings.temporary is not None:
            check_directory(self.settings.temporary)

    def _refuse_child(self) -> None:
        if os.getpid() != self._process:
            raise SourceError(FORKED, hint="Open the source separately in each process.")

    def _interrupt(self) -> None:
        """Interrupt the statement that runs."""
        self._connection.interrupt()

    @contextmanager
    def _reading(self) -> Iterator[StatementRunner]:
        """Yield the connection's runner; raise at the end if a file was changed or replaced meanwhile.

        DuckDB opens a Parquet or CSV file again for each statement. So all statements see one state if no file has
        another identity, size or time of change at the end than at the start. Other sources do not change while the
        connection is open: DuckDB locks its database files, Arrow and polars tables are immutable, and the program
        that opened a pandas frame must not change it while it is queried.
        """
        self._refuse_child()
        before = self._stamps()
        yield StatementRunner(self._batches)
        if self._stamps() != before:
            raise RuntimeError("a file changed while it was read")

    def _stamps(self) -> list[tuple[int, ...]]:
        """Return what identifies the present contents of each file."""
        stats = [file.stat() for file in self._files]
        return [(each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns) for each in stats]

    def _batches(self, sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
        """Yield the rows of a statement in batches."""
        result = self._stoppable(lambda: self._connection.execute(sql, dict(parameters)))
        while rows := self._stoppable(lambda: result.fetchmany(BATCH)):
            yield rows

    def _stoppable(self, call: Callable[[], T]) -> T:
        """Return what a call of the connection returns; a signal can stop it."""
        return stoppable(call, self._interrupt)

    def _arrays(self, sql: str, parameters: StatementParameters | None = None) -> dict[str, Any]:
        """Return the columns of a statement's result."""
        return self._stoppable(lambda: self._connection.execute(sql, parameters).fetchnumpy())

    def _discover(self, run: StatementRunner, passes: Passes, secret: Secret, choose: Choose) -> DiscoveredGroups:
        """Return the chosen groups. All groups stay in the database while this runs; only their units are read.

        If an interrupt stops the DROP of a table, the next query replaces the table.
        """
        connection, first = self._connection, passes.first
        try:
            run(f"CREATE OR REPLACE TEMP TABLE {_FOUND} AS {first.sql}", parameters_of(first, secret))
            units = self._arrays(f"SELECT rowid, CAST(s0 AS BIGINT) FROM {_FOUND} ORDER BY rowid")  # noqa: S608 - built here
            numbers, counts = units.values()
            chosen, found = np.asarray(choose(counts)), FoundGroups(first)
            if np.any(chosen[1:] < chosen[:-1]):  # a copy would need memory for each group
                chosen = np.sort(chosen)
            del units, counts  # of all groups; only the chosen ones are needed below
            for start in range(0, len(chosen), BATCH):
                some = chosen[start : start + BATCH]
                found.add(self._groups(run, numbers[some]), some)
            rows = numbers if passes.second else np.zeros(0, dtype=np.int64)
            del chosen, numbers
            keys, places, sums = found.released()
            listed = rows[places].tolist() if passes.second else []
            second = self._second_pass(run, passes, listed, secret)
        finally:
            connection.execute(f"DROP TABLE IF EXISTS {SHOWN}")
            connection.execute(f"DROP TABLE IF EXISTS {_FOUND}")
        return passes.assemble(keys, places, sums, second)

    def _words(self, coded: CodedTable) -> Words:
        """Return each column alone: arrays of small integers are faster to read than words."""
        return tuple((place,) for place in range(len(coded.columns)))

    def _absorb_codes(self, run: StatementRunner, built: CodedStatement, absorb: AbsorbCodes) -> None:
        """Take all rows at once as arrays, which is many times faster than as Python's integers."""
        del run
        self._check_time()
        types = ["UTINYINT" if size <= _BYTE else "USMALLINT" for size in built.sizes]
        small = ", ".join(f"CAST(w{place} AS {each}) AS w{place}" for place, each in enumerate(types))
        sql = f"SELECT * REPLACE ({small}) FROM ({built.sql})"  # noqa: S608 - built here
        columns = [np.asarray(each) for each in self._arrays(sql, dict(built.parameters)).values()]
        absorb(columns[: len(types)], columns[-1] if len(columns) > len(types) else None)

    def _groups(self, run: StatementRunner, numbers: Ints) -> ResultRows:
        """Return the groups with these row ids, which are in rising order, without the ids."""
        listed = "(SELECT UNNEST($numbers::BIGINT[]) AS number)"
        return run(
            f"SELECT * FROM {_FOUND} SEMI JOIN {listed} ON rowid = number "  # noqa: S608 - built here
            f"WHERE rowid BETWEEN {numbers[0]} AND {numbers[-1]} ORDER BY rowid",
            {"numbers": numbers.tolist()},
        )

    def _second_pass(
        self, run: StatementRunner, passes: Passes, chosen: Sequence[int], secret: Secret
    ) -> list[tuple[tuple[int, ...], list[int] | Histograms]]:
        """Return the measures of the second pass for the chosen groups, given by their row ids, in this order."""
        if not passes.second:
            return []
        by = ", ".join(f"g{index}" for index in range(passes.first.keys))
        places = f"SELECT UNNEST($numbers::BIGINT[]) AS number, UNNEST(RANGE({len(chosen)})) AS place"
        run(
            f"CREATE OR REPLACE TEMP TABLE {SHOWN} AS "  # noqa: S608 - as above
            f"SELECT {by}, place FROM {_FOUND} JOIN ({places}) ON {_FOUND}.rowid = number",
            {"numbers": chosen},
        )
        return [
            (indices, each.read(self._arrays(each.sql, parameters_of(each, secret)), len(chosen)))
            for indices, each in passes.second
        ]

    def remove_at_end(self, directory: Path | None) -> None:
        """Remove a directory when this engine is closed, or when it is collected."""
        if directory is not None:
            self._remove = finalize(self, remove, directory, os.getpid())

    def close(self) -> None:
        """Close the source; a child of the process that opened it leaves it open."""
        if os.getpid() == self._process:
            self._connection.close()
            self._remove()


def _types(connection: duckdb.DuckDBPyConnection, view: str) -> dict[str, str]:
    return {column: type_name for column, type_name, *_ in connection.execute(f"DESCRIBE {view}").fetchall()}


def open_duckdb(
    source: object,
    *,
    table: str | None = None,
    written: str | None = None,
    threads: int | None = None,
) -> DuckDBEngine:
    """Open a table, reading only its schema, or raise InvalidError or SourceError.

    Args:
        source: Parquet or CSV files or a glob of them, a DuckDB file, or a pandas, polars or Arrow table.
        table: the table of a DuckDB file; it may be left out if there is only one.
        written: the source as a policy writes it, with its variables not filled in, for messages.
        threads: the number of threads that DuckDB may use; by default one for each core.
    """
    settings = EngineSettings(threads=None if threads is None else read_threads(threads))
    return open_duckdb_tables({None: Source(source=source, table=table, written=written)}, settings)


def open_duckdb_tables(sources: SourcesByName, settings: EngineSettings | None = None) -> DuckDBEngine:
    """Open several tables by their names in one engine, so that they can be joined.

    Only the schemas of private tables are read; public tables are read into memory. The first table is the main one.
    Data that does not fit memory is written to a new directory below `settings.temporary`, which is removed when the
    engine is closed or collected.
    """
    settings = EngineSettings() if settings is None else settings
    spill = None if settings.temporary is None else private_directory(settings.temporary)
    try:
        connection = connect(settings, spill)
        try:
            engine = guarded(partial(_engine, connection, sources, settings), NOT_OPENED, hint=CHECK_OPENING)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        if spill is not None:
            remove(spill, os.getpid())
        raise
    engine.remove_at_end(spill)
    return engine


def _engine(connection: duckdb.DuckDBPyConnection, sources: SourcesByName, settings: EngineSettings) -> DuckDBEngine:
    views: dict[str, str] = {}
    files: list[Path] = []
    skipping: list[str] = []
    for index, (name, source) in enumerate(sources.items()):
        view = SOURCE if len(sources) == 1 else f"source_{index}"
        step = partial(_show, connection, source, view, f"read_{index}")
        table, source_files = open_one(source, step, NOT_OPENED, hint=CHECK_OPENING)
        views[source.own_name(table) if name is None else name] = view
        files += source_files
        skipping += [list(views)[-1]] if any(map(is_csv, source_files)) else []
    lock(connection, files, joins_public=any(source.public for source in sources.values()))
    return DuckDBEngine(connection, next(iter(views)), views, skipping=skipping, files=files, settings=settings)


def _show(
    connection: duckdb.DuckDBPyConnection, source: Source, view: str, public_view: str
) -> tuple[str, Sequence[Path]]:
    """Create a view of a source, or copy a public one; return the table's name and the files to keep readable."""
    first_view = public_view if source.public else view
    name, files = with_fallback(
        source, lambda table: create_view(first_view, connection, source.source, table, source.written)
    )
    if source.public:
        copy(first_view, connection, view)
        return name, ()
    return name, files
