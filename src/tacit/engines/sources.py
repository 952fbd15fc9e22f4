"""Open sources with the engines that they need.

| source | engine |
|---|---|
| `postgresql://…` (or `postgres://…`) and a table | PostgreSQL |
| a SparkSession and a table, a Spark DataFrame, `spark:…`, `sc://…` and a table | Spark |
| files, globs, a DuckDB file, a pandas, polars or Arrow table, a polars LazyFrame, a mapping of columns | DuckDB |

A policy can use several engines. Tables that are joined must be in one of them. Engines are imported when a source
needs them, so that `home_of` costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tacit.engines.source import Source, SourcesByName, declared_at
from tacit.errors import UnusedOptionError
from tacit.query.policy.engine_settings import EngineSettings
from tacit.query.policy.locations import scheme

if TYPE_CHECKING:
    from tacit.engines.sql.engine import StatementEngine

Home: TypeAlias = Literal["duckdb", "postgres", "spark"]

_DATABASES = (".duckdb", ".ddb", ".db")
_SPARK_TYPES = ("SparkSession", "DataFrame")
_ENGINES: dict[Home, str] = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "spark": "Spark"}


def home_of(source: object) -> Home:
    """Return the engine that a source needs.

    >>> home_of("postgresql://reader@db/clinic"), home_of("spark:sales.visits"), home_of("visits.parquet")
    ('postgres', 'spark', 'duckdb')
    """
    if isinstance(source, (str, PathLike)):
        prefix = scheme(str(source))
        if prefix in ("postgresql", "postgres"):
            return "postgres"
        return "spark" if prefix in ("spark", "sc") else "duckdb"
    kinds = type(source).__mro__
    is_spark = any(kind.__module__.startswith("pyspark.") and kind.__name__ in _SPARK_TYPES for kind in kinds)
    return "spark" if is_spark else "duckdb"


def open_source(source: object, *, table: str | None = None, written: str | None = None) -> StatementEngine:
    """Open one table with the engine that it needs. Only its schema is read.

    Args:
        source: see the module.
        table: the table's name in its database; it may be left out if there is only one.
        written: the source as a policy writes it, its variables not filled in, for messages.

    Raises:
        InvalidError: the source does not exist, or it has several tables and none is named.
        SourceError: the engine cannot open it.
    """
    return _open(home_of(source), {None: Source(source=source, table=table, written=written)})


def open_sources(sources: SourcesByName, settings: EngineSettings | None = None) -> dict[str | None, StatementEngine]:
    """Open each source once, all sources of one kind in one engine, and return the engine of each.

    An error names the source that failed in `error.where`; an error of a whole server names all sources there. Only
    schemas are read, and the rows of public tables that the engine copies.
    """
    settings = EngineSettings() if settings is None else settings
    named = {name: _by_name(source, sources.values()) for name, source in sources.items()}
    homes: dict[Home, dict[str | None, Source]] = {}
    for name, source in named.items():
        homes.setdefault(home_of(source.source), {})[name] = source
    _check_settings(settings, homes)
    engines: dict[str | None, StatementEngine] = {}
    try:
        for home, here in homes.items():
            with declared_at(_places(here.values())):
                engines |= dict.fromkeys(here, _open(home, here, settings))
    except BaseException:
        for engine in engines.values():
            engine.close()
        raise
    return engines


def _check_settings(settings: EngineSettings, homes: Mapping[Home, Mapping[str | None, Source]]) -> None:
    """Raise UnusedOptionError if an argument or a policy sets something that none of the engines can apply."""
    for setting in sorted(settings.declared):
        hints = [_cannot_apply(setting, settings, home, here.values()) for home, here in homes.items()]
        if all(hints):
            names = " and ".join(_ENGINES[home] for home in homes)
            raise UnusedOptionError(setting, f"on this source of {names}", hint=" ".join(filter(None, hints)))


def _cannot_apply(setting: str, settings: EngineSettings, home: Home, sources: Iterable[Source]) -> str | None:
    """Return what to do instead, if an engine cannot apply a setting; None if it can."""
    if home == "postgres" and setting == "temporary":
        return "A PostgreSQL server chooses where it writes: set temp_tablespaces for the role there."
    if home == "spark":
        from tacit.engines.spark.start_options import cannot_apply  # noqa: PLC0415 - an extra

        return cannot_apply(setting, settings, [source.source for source in sources])
    return None


def _places(sources: Iterable[Source]) -> str | None:
    """Return where all sources are declared; None if one of them has no such place."""
    places = [source.where for source in sources]
    return None if None in places else ", ".join(filter(None, places))


def _by_name(source: Source, sources: Iterable[Source]) -> Source:
    """Return a source with its fallback as its table, if "the only table there" could be the wrong one.

    The only table of a server, or of a file that several sources share, may be a private table. A public table there
    is therefore always found by its name. A Spark session lists the tables of its current database only.
    """
    if source.table is not None or source.fallback is None or not is_database(source.source):
        return source
    home = home_of(source.source)
    shared = home == "postgres" or sum(_same(source.source, other.source) for other in sources) > 1
    return replace(source, table=source.fallback) if home == "spark" or (source.public and shared) else source


def _same(source: object, other: object) -> bool:
    """Return whether two sources are one database, as far as their paths show."""
    if not isinstance(source, (str, PathLike)) or not isinstance(other, (str, PathLike)):
        return source is other
    return _resolved(str(source)) == _resolved(str(other))


def _resolved(path: str) -> Path:
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # opening the path reports it
        return Path(path)


def is_database(source: object) -> bool:
    """Return whether a source holds tables by name: a PostgreSQL URL, a DuckDB file, a Spark session or server.

    >>> is_database("postgresql://reader@db/clinic"), is_database("clinic.duckdb"), is_database("visits.parquet")
    (True, True, False)
    >>> is_database("sc://cluster"), is_database("spark:sales.visits")
    (True, False)
    """
    if isinstance(source, (str, PathLike)):
        text = str(source)
        if home_of(source) == "spark":
            return text.startswith("sc://") or text in ("spark:", "spark://")
        return home_of(source) == "postgres" or (scheme(text) is None and text.lower().endswith(_DATABASES))
    return home_of(source) == "spark" and not hasattr(source, "sparkSession")


def _open(home: Home, sources: SourcesByName, settings: EngineSettings | None = None) -> StatementEngine:
    match home:
        case "postgres":
            from tacit.engines.postgres.engine import open_postgres_tables  # noqa: PLC0415 - an extra

            return open_postgres_tables(sources, settings)
        case "spark":
            from tacit.engines.spark.engine import open_spark_tables  # noqa: PLC0415 - an extra

            return open_spark_tables(sources, settings)
        case "duckdb":
            from tacit.engines.duckdb.engine import open_duckdb_tables  # noqa: PLC0415 - slow to import

            return open_duckdb_tables(sources, settings)
