"""Which engine a source needs: PostgreSQL by its URL, Spark by its session, table or URL, DuckDB for all else.

| source | engine |
|---|---|
| `postgresql://…` (or `postgres://…`) and a table | PostgreSQL |
| a SparkSession and a table, a Spark DataFrame, `spark:…`, `sc://…` and a table | Spark |
| files, globs, a DuckDB file, a pandas, polars or Arrow table | DuckDB |

Tables of several engines can stand in one policy; those that are joined lie in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal, TypeAlias

from tacit.engines.duckdb import open_duckdb, open_tables
from tacit.engines.opened import Opened
from tacit.engines.statements.engine import StatementEngine
from tacit.query.locations import scheme

Home: TypeAlias = Literal["duckdb", "postgres", "spark"]

_SPARK_TYPES = ("SparkSession", "DataFrame")


def home_of(source: object) -> Home:
    """Return the engine that a source needs, without importing any.

    >>> home_of("postgresql://reader@db/clinic"), home_of("spark:sales.visits"), home_of("visits.parquet")
    ('postgres', 'spark', 'duckdb')
    """
    if isinstance(source, (str, PathLike)):
        called = scheme(str(source))
        if called in ("postgresql", "postgres"):
            return "postgres"
        return "spark" if called in ("spark", "sc") else "duckdb"
    kinds = type(source).__mro__
    is_spark = any(kind.__module__.startswith("pyspark.") and kind.__name__ in _SPARK_TYPES for kind in kinds)
    return "spark" if is_spark else "duckdb"


def open_source(source: object, *, table: str | None = None, written: str | None = None) -> StatementEngine:
    """Open one table with the engine that it needs, reading its schema alone, or raise InvalidError or SourceError.

    Args:
        source: see the module.
        table: which table of a database.
        written: the source as a policy writes it, with its variables not filled in, for messages.
    """
    match home_of(source):
        case "postgres":
            from tacit.engines.postgres import open_postgres  # noqa: PLC0415 - an extra

            return open_postgres(str(source), table=table, written=written)
        case "spark":
            from tacit.engines.spark import open_spark  # noqa: PLC0415 - an extra

            return open_spark(source, table=table, written=written)
        case "duckdb":
            return open_duckdb(source, table=table, written=written)


def open_sources(sources: Mapping[str, Opened]) -> dict[str, StatementEngine]:
    """Open several tables by their names, those of one kind in one engine, and return the engine of each."""
    engines: dict[str, StatementEngine] = {}
    try:
        for home in dict.fromkeys(home_of(one.source) for one in sources.values()):
            own = {name: one for name, one in sources.items() if home_of(one.source) == home}
            engines |= dict.fromkeys(own, _open(home, own))
    except BaseException:
        for engine in engines.values():
            engine.close()
        raise
    return engines


def _open(home: Home, sources: Mapping[str, Opened]) -> StatementEngine:
    match home:
        case "postgres":
            from tacit.engines.postgres import open_postgres_tables  # noqa: PLC0415 - an extra

            return open_postgres_tables(sources)
        case "spark":
            from tacit.engines.spark import open_spark_tables  # noqa: PLC0415 - an extra

            return open_spark_tables(sources)
        case "duckdb":
            return open_tables(sources)
