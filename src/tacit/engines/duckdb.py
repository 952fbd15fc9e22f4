"""The DuckDB engine: in this process, over files and tables in memory.

DuckDB is imported as the package of that name; this module only shares it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from os import PathLike
from threading import Lock

import duckdb

from tacit.engines.duckdb_casts import kind_of
from tacit.engines.duckdb_plan import SOURCE, statement
from tacit.engines.duckdb_sources import NOT_OPENED, attach, connect
from tacit.errors import SourceError, TacitError
from tacit.query.expressions import Kind
from tacit.query.plan import Plan

FAILED = (
    "The engine failed while it read the data; what was charged stays charged. What it said is not shown, "
    "since it could tell of the data. Check that the source is still there and unchanged, and that there is memory."
)

Secret = tuple[int, int]
"""The key of the hash that chooses cells: twice 64 bits."""


class DuckDBEngine:
    """One table, measured by DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Take over a connection on which the view `data` stands."""
        self.name = name
        self._connection = connection
        self._lock = Lock()
        described = connection.execute(f"DESCRIBE {SOURCE}").fetchall()
        self._types: dict[str, str] = {column: type_name for column, type_name, *_ in described}

    def schema(self) -> Mapping[str, Kind]:
        """Return the kinds of the columns that can be used; nested and binary ones are left out."""
        kinds = {column: kind_of(type_name) for column, type_name in self._types.items()}
        return {column: kind for column, kind in kinds.items() if kind is not None}

    def check(self, plan: Plan) -> None:
        """Refuse, without reading, a plan whose integers would not fit."""
        statement(plan, self._types)
    @property
    def unusable(self) -> tuple[str, ...]:
        """The columns whose types cannot be used: nested ones, binary ones, and those of nothing but NULL."""
        return tuple(column for column, type_name in self._types.items() if kind_of(type_name) is None)


    def measure(self, plan: Plan) -> list[list[int]]:
        """Read the rows and return the plan's exact integers, the hash keyed afresh."""
        return self.measure_with(plan, (secrets.randbits(64), secrets.randbits(64)))

    def measure_with(self, plan: Plan, secret: Secret) -> list[list[int]]:
        """Return the plan's exact integers under a key of the hash; for tests, which need the same choice twice."""
        asked = sum(len(bundle.measures) for bundle in plan.bundles)
        if plan.cells == 0 or not asked:
            return [[] for _ in range(asked)]
        made = statement(plan, self._types)
        keys = dict(zip(("h0", "h1"), secret, strict=True)) if made.draws else {}
        rows = None
        try:
            with self._lock:
                rows = self._connection.execute(made.sql, {**made.parameters, **keys}).fetchall()
        except Exception:  # noqa: BLE001, S110 - whatever it says could tell of the data; see below
            pass
        if rows is None:  # outside of `except`, so that not even the context carries the engine's text
            raise SourceError(FAILED)
        return made.read(rows)

    def close(self) -> None:
        """Let go of the source."""
        self._connection.close()


def open_duckdb(
    source: object,
    *,
    table: str | None = None,
    threads: int | None = None,
    temporary: str | PathLike[str] | None = None,
) -> DuckDBEngine:
    """Open a table, reading its schema alone, or raise InvalidError or SourceError.

    Args:
        source: Parquet or CSV files or a glob of them, a DuckDB file, or a pandas, polars or Arrow table.
        table: which table of a DuckDB file; it may be left out if there is only one.
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
    written: str | None = None,
        written: the source as a policy writes it, with its variables not filled in, for messages.
