"""Which engine a source needs: PostgreSQL by its URL, Spark by its session, table or URL, DuckDB for all else.

| source | engine |
|---|---|
| `postgresql://…` (or `postgres://…`) and a table | PostgreSQL |
| a SparkSession and a table, a Spark DataFrame, `spark:…`, `sc://…` and a table | Spark |
| files, globs, a DuckDB file, a pandas, polars or Arrow table | DuckDB |

Tables of several engines can stand in one policy; those that are joined lie in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias

from tacit.engines.duckdb.engine import open_duckdb, open_tables
from tacit.engines.opened import Opened
from tacit.engines.sql.engine import StatementEngine
from tacit.errors import InvalidError, SourceError, TacitError
from tacit.query.policy.locations import scheme

Home: TypeAlias = Literal["duckdb", "postgres", "spark"]

_DATABASES = (".duckdb", ".ddb", ".db")
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
            from tacit.engines.postgres.engine import open_postgres  # noqa: PLC0415 - an extra

            return open_postgres(str(source), table=table, written=written)
        case "spark":
            from tacit.engines.spark.engine import open_spark  # noqa: PLC0415 - an extra

            return open_spark(source, table=table, written=written)
        case "duckdb":
            return open_duckdb(source, table=table, written=written)


def open_sources(sources: Mapping[str, Opened], places: Mapping[str, str] | None = None) -> dict[str, StatementEngine]:
    """Open several tables by their names, those of one kind in one engine, and return the engine of each.

    Where a database has several tables and none is said, the one of that name is meant. A public table of a server, or
    of a database that is opened for others too, is never just the only one there is: that may be a private one.

    `places` says where tables are written, such as "tables.visits" of a policy: what is wrong with one begins with it.
    """
    engines: dict[str, StatementEngine] = {}
    asked = {name: replace(one, table=name) if _by_name(one, sources) else one for name, one in sources.items()}
    try:
        for home in dict.fromkeys(home_of(one.source) for one in asked.values()):
            own = {name: one for name, one in asked.items() if home_of(one.source) == home}
            engines |= dict.fromkeys(own, _open_by_names(home, own, places or {}))
    except BaseException:
        for engine in engines.values():
            engine.close()
        raise
    return engines


def _by_name(one: Opened, sources: Mapping[str, Opened]) -> bool:
    """Return whether a table is to be looked for by its name, even if there is only one."""
    if one.table is not None or not is_database(one.source):
        return False
    home = home_of(one.source)
    shared = home == "postgres" or sum(_same(one.source, other.source) for other in sources.values()) > 1
    return home == "spark" or (one.public and shared)


def _same(source: object, other: object) -> bool:
    """Return whether two databases are one, as far as their paths tell."""
    if not isinstance(source, (str, PathLike)) or not isinstance(other, (str, PathLike)):
        return source is other
    return _place(str(source)) == _place(str(other))


def _place(path: str) -> Path:
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # no such path, nor a home; opening it says so
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


def _open_by_names(home: Home, sources: Mapping[str, Opened], places: Mapping[str, str]) -> StatementEngine:
    """Open tables; if a database has several and none is said, those of the names."""
    try:
        return _open(home, sources)
    except (InvalidError, SourceError) as error:
        unsaid = [name for name, one in sources.items() if _is_unsaid(error) and _has_several(one)]
        if not unsaid:
            at_fault = _at_fault(error, sources)
            _place_error(error, ", ".join(places[name] for name in at_fault if name in places))
            raise
    said = {name: replace(one, table=name) if name in unsaid else one for name, one in sources.items()}
    return _open_by_names(home, said, places)


def _at_fault(error: TacitError, sources: Mapping[str, Opened]) -> list[str]:
    """Return the table that an error is about: the first that fails alone; if none does, or the server, all."""
    is_server = len({_identity(one.source) for one in sources.values()}) == 1 and not isinstance(error, InvalidError)
    if len(sources) == 1 or is_server:
        return list(sources)
    for name, one in sources.items():
        try:
            open_source(one.source, table=one.table, written=one.written).close()
        except (InvalidError, SourceError):
            return [name]
    return list(sources)


def _identity(source: object) -> object:
    return str(source) if isinstance(source, (str, PathLike)) else id(source)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Let errors about a source begin with the place where it is written, as for `open_sources`."""
    try:
        yield
    except (InvalidError, SourceError) as error:
        _place_error(error, place)
        raise


def _place_error(error: TacitError, place: str) -> None:
    if place:
        error.args = (f"{place}: {error.args[0]}",)


def _has_several(one: Opened) -> bool:
    """Return whether it must be said which table of a database is meant."""
    if one.table is not None or not is_database(one.source):
        return False
    try:
        open_source(one.source, written=one.written).close()
    except (InvalidError, SourceError) as error:
        return _is_unsaid(error)
    return False


def _is_unsaid(error: TacitError) -> bool:
    return isinstance(error, InvalidError) and (error.argument, error.got) == ("table", "none")


def _open(home: Home, sources: Mapping[str, Opened]) -> StatementEngine:
    match home:
        case "postgres":
            from tacit.engines.postgres.engine import open_postgres_tables  # noqa: PLC0415 - an extra

            return open_postgres_tables(sources)
        case "spark":
            from tacit.engines.spark.engine import open_spark_tables  # noqa: PLC0415 - an extra

            return open_spark_tables(sources)
        case "duckdb":
            return open_tables(sources)
