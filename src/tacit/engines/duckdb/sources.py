"""Sources for DuckDB: files, a DuckDB file, or tables in memory, all read-only, each behind a view.

Nothing is inferred from rows. The columns of a CSV file are the names in its header, all of type text. An error would
reveal a row. So DuckDB skips a line that has fewer fields than the header, a line of more than 2,000,000 bytes, and, if
a query reads a column whose value is not UTF-8, that line. A pandas column of objects is text. A glob is expanded when
it is opened. After that DuckDB may read these files and nothing else, load no extension, and change no setting.

DuckDB still fails on values that their own format forbids, in a Parquet file or in memory: text that is not Unicode,
and milliseconds beyond the year 294,246, which DuckDB converts to microseconds before a guard can apply. Also, tacit
takes a CSV file as DuckDB reads it: if a quote is never closed, all text after it becomes one field.

Joins are written with the build side on the right, and DuckDB's own choice is disabled: it knows neither the number of
listed keys nor the number of units, and tends to build from all rows.
"""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path

import duckdb
from sqlglot import exp

from tacit.engines.duckdb.columns import arrays_of
from tacit.engines.sql.builder import TYPES, quote_name
from tacit.errors import (
    InvalidError,
    NoSourceError,
    TableNotFoundError,
    TableNotNamedError,
    UnusedOptionError,
    show,
    show_name,
)
from tacit.query.policy.engine_settings import EngineSettings
from tacit.query.policy.locations import holds_secret, scheme

_KEPT_ORDER = ("join_order", "build_side_probe_side", "top_n_window_elimination")
"""Optimisers that rewrite the joins and window functions of `contribution_bounding`."""
_BY_PRIVATE_KEYS = ("statistics_propagation", "join_filter_pushdown")
"""Optimisers that restrict one side of a join to the range of the other side's keys."""
_EXPONENTIAL = ("partial_aggregate_pushdown",)
"""An optimiser that plans nested expressions over a join in time and memory exponential in their depth."""
_FOR_EACH_THREAD = 16_000_000
_CSV = ("csv", "tsv")
_DELIMITERS = ",;\t|"
_TABLES = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("Table", "RecordBatch")}
_SOURCES = (
    "A source is a Parquet, CSV or DuckDB file, a glob of Parquet or CSV files, a pandas, polars or Arrow table, "
    "a mapping of columns, "
    "postgresql://… with a table, a Spark DataFrame, a Spark session or sc://host with a table, or spark:table."
)


def connect(settings: EngineSettings, spill: Path | None) -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory that loads no extension and writes no file except below `spill`."""
    threads = _threads(settings)
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
        "pandas_analyze_sample": 0,
        "preserve_insertion_order": False,
        "temp_directory": "" if spill is None else str(spill),
        **({} if threads is None else {"threads": threads}),
        **({} if settings.memory is None else {"memory_limit": f"{settings.memory}B"}),
    }
    connection = duckdb.connect(":memory:", config=config)
    _hide_progress(connection)
    return connection


def _hide_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn the progress bar off, which a Python prompt, `python -c` or a notebook would show.

    In a notebook without ipywidgets it is off, and DuckDB refuses to change it.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        connection.execute("SET enable_progress_bar = false")


def _threads(settings: EngineSettings) -> int | None:
    """Return the number of threads; None for one on each core.

    Each thread needs a few blocks of memory before it reads a row. So the memory bounds the number of threads, and a
    number that was given and does not fit is refused.
    """
    if settings.memory is None:
        return settings.threads
    most = settings.memory // _FOR_EACH_THREAD
    if settings.threads is None:
        return min(most, os.cpu_count() or 1)
    if settings.threads > most:
        raise InvalidError(
            f"The memory is too small for {settings.threads} threads of DuckDB: each needs {_FOR_EACH_THREAD // 10**6} "
            "MB.",
            argument="memory",
            hint=f"Raise memory, or use at most {most} threads.",
        )
    return settings.threads


def create_view(
    view: str, connection: duckdb.DuckDBPyConnection, source: object, table: str | None, written: str | None = None
) -> tuple[str, list[Path]]:
    """Create a view of a source; return the table's name, and the files that must stay readable.

    `written` is the source as a policy writes it. Messages show it, because the values of variables must stay hidden.
    """
    if isinstance(source, (str, PathLike)):
        _refuse_url(str(source), written or str(source))
        return _attach_files(view, connection, Path(source).expanduser(), table, written or str(source))
    if isinstance(source, Mapping):
        _refuse_table(table)
        _register_columns(view, connection, source)
        return "data", []
    if _is_lazy(source):
        source = source.collect()  # type: ignore[attr-defined]  # its errors become a SourceError with a constant text
    if type(source).__name__ not in _TABLES.get(type(source).__module__.partition(".")[0], ()):
        raise NoSourceError(f"Cannot open {show(source)} as a source.", hint=_SOURCES)
    _refuse_table(table)
    connection.register(view, source)
    return "data", []


def _is_lazy(source: object) -> bool:
    return type(source).__name__ == "LazyFrame" and type(source).__module__.partition(".")[0] == "polars"


def _register_columns(view: str, connection: duckdb.DuckDBPyConnection, columns: Mapping[object, object]) -> None:
    """Create a view of a mapping of columns; DuckDB has no arrays of dates, so they are cast from timestamps."""
    arrays, dates = arrays_of(columns)
    connection.register(f"{view}_arrays", arrays)
    selected = [
        f"CAST({quote_name(name)} AS DATE) AS {quote_name(name)}" if name in dates else quote_name(name)
        for name in arrays
    ]
    connection.execute(f"CREATE TEMP VIEW {view} AS SELECT {', '.join(selected)} FROM {view}_arrays")  # noqa: S608 - names are quoted


def copy(view: str, connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Copy a public table into memory, so that it does not change while it is open."""
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {view}")  # noqa: S608 - built here


def _refuse_url(source: str, written: str) -> None:
    """Raise NoSourceError for a URL, with its scheme only."""
    if scheme(source) is not None:
        raise NoSourceError(f"A source with the URL {scheme(written) or ''}://… cannot be opened.", hint=_SOURCES)


def _show_path(written: str) -> str:
    return "a path with a password or a key in it" if holds_secret(written) else show_name(written)


def lock(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], *, joins_public: bool = False) -> None:
    """Restrict DuckDB to these files, and lock its settings.

    With `joins_public`, DuckDB must not restrict a public table to the range of private keys: the time of the query
    would reveal whether a row with an extreme key exists.
    """
    connection.execute("SET TimeZone = 'UTC'")
    _disable(connection, [*_KEPT_ORDER, *((*_BY_PRIVATE_KEYS, *_EXPONENTIAL) if joins_public else ())])
    connection.execute(f"SET allowed_paths = {_list(files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _disable(connection: duckdb.DuckDBPyConnection, optimizers: Sequence[str]) -> None:
    """Disable some optimisers; DuckDB raises for the name of an optimiser that its version lacks."""
    known: list[str] = []
    for name in optimizers:
        with suppress(duckdb.Error):
            connection.execute(f"SET disabled_optimizers = '{','.join([*known, name])}'")
            known.append(name)


def _attach_files(
    view: str, connection: duckdb.DuckDBPyConnection, path: Path, table: str | None, written: str
) -> tuple[str, list[Path]]:
    files = [path] if path.is_file() else sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207 - may be absolute
    files = [file.resolve() for file in files if file.is_file()]
    if not files:
        raise NoSourceError(f"There is no such file: {_show_path(written)}.", hint=f"Check the path. {_SOURCES}")
    if any(glob.has_magic(str(file)) for file in files):
        raise InvalidError(
            "The name of a file contains *, ? or [.", argument="source", hint="Rename the file, or its folder."
        )
    suffixes = set(map(_suffix, files))
    if len(suffixes) > 1:
        raise InvalidError(
            "The glob matches files of different formats.", argument="source", hint="Use files of one format."
        )
    suffix = suffixes.pop()
    if suffix in ("duckdb", "ddb", "db") and len(files) == 1:
        return _attach_database(view, connection, files[0], table), []
    _refuse_table(table)
    if suffix in ("parquet", "pq"):
        _view(view, connection, f"read_parquet({_list(files)}, hive_partitioning = false)")
    elif suffix in _CSV:
        _view(view, connection, _csv(files))
    else:
        raise NoSourceError(
            f"The format of {_show_path(written)} is not supported: its name does not end in .parquet, .csv, .tsv or "
            ".duckdb.",
            hint=_SOURCES,
        )
    return _stem(path), files


def _suffix(file: Path) -> str:
    return file.name.removesuffix(".gz").rpartition(".")[2].lower()


def is_csv(file: Path) -> bool:
    """Return whether a file is CSV by its name; DuckDB may skip lines of it."""
    return _suffix(file) in _CSV


def _view(view: str, connection: duckdb.DuckDBPyConnection, relation: str, columns: str = "*") -> None:
    connection.execute(f"CREATE VIEW {view} AS SELECT {columns} FROM {relation}")  # noqa: S608 - names from the source are quoted


def _stem(path: Path) -> str:
    """Return a file's name without its suffixes, and a glob's name up to its first wildcard.

    >>> _stem(Path("in/survey.csv.gz")), _stem(Path("visits-*.parquet")), _stem(Path("in/*.csv"))
    ('survey', 'visits', 'data')
    """
    name = re.sub(r"[*?\[].*", "", path.name)
    return re.sub(r"\.\w+(\.gz)?$", "", name).rstrip("-_. ") or "data"


def _refuse_table(table: str | None) -> None:
    if table is not None:
        raise UnusedOptionError(
            "table",
            "with this source",
            hint="Remove it: only a database has tables by name (a DuckDB file, PostgreSQL, Spark).",
        )


def _attach_database(view: str, connection: duckdb.DuckDBPyConnection, file: Path, table: str | None) -> str:
    """Create a view of one table of a DuckDB file, whose text is compared by code point.

    A view of the file is not opened: it could fail on a row, which would reveal the row.
    """
    catalog = _attached(connection, file)
    tables: list[tuple[str, str]] = connection.execute(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{catalog}' AND NOT internal"  # noqa: S608 - built here
    ).fetchall()
    matching = [(schema, name) for schema, name in tables if table in (None, name, f"{schema}.{name}")]
    if len(matching) != 1:
        names = [name for _, name in tables]
        raise _no_table_error(
            table, [name if names.count(name) == 1 else f"{schema}.{name}" for schema, name in tables]
        )
    schema, name = matching[0]
    relation = exp.table_(name, db=schema, catalog=catalog, quoted=True).sql("duckdb")
    described = connection.execute(f"DESCRIBE {relation}").fetchall()
    columns = [_by_code_point(column, type_name) for column, type_name, *_ in described]
    _view(view, connection, relation, ", ".join(columns))
    return str(name)


def _attached(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    """Attach a DuckDB file, unless it is attached already, and return its catalog's name."""
    databases = connection.execute("SELECT database_name, path FROM duckdb_databases()").fetchall()
    known = {Path(path): name for name, path in databases if path is not None}
    if file in known:
        return str(known[file])
    catalog = f"source{len(known)}"
    connection.execute(f"ATTACH {_text(str(file))} AS {catalog} (READ_ONLY)")
    return catalog


def _no_table_error(table: str | None, names: Sequence[str]) -> InvalidError:
    """Return the error for a missing or ambiguous table; the names of tables are schema, not data."""
    if not names:
        return NoSourceError("The DuckDB file has no table.", hint="Views are not opened: store their rows as a table.")
    return TableNotNamedError(names) if table is None else TableNotFoundError(str(table), names)


def _by_code_point(name: str, type_name: str) -> str:
    quoted = quote_name(name)
    return f"{quoted} COLLATE C AS {quoted}" if type_name == "VARCHAR" else quoted


def _csv(files: Sequence[Path]) -> str:
    """Return the call of read_csv for files whose columns are named by their headers."""
    delimiters, headers = zip(*map(_header, files), strict=True)
    if len(set(zip(delimiters, headers, strict=True))) > 1:
        raise InvalidError(
            "The CSV files have different headers.", argument="source", hint="Use files with one header."
        )
    names = headers[0]
    if not all(names) or len({name.casefold() for name in names}) < len(names):
        raise InvalidError(
            "The CSV header has an empty or a repeated name.", argument="source", hint="Give each column its own name."
        )
    columns = ", ".join(f"{_text(name)}: '{TYPES['text']}'" for name in names)
    return (
        f"read_csv({_list(files)}, columns = {{{columns}}}, delim = {_text(delimiters[0])}, header = true, "
        "quote = '\"', escape = '\"', auto_detect = false, ignore_errors = true, strict_mode = false, "
        "parallel = false)"  # in parallel, a quoted field that spans two threads is read as several rows
    )


def _header(file: Path) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter that is most frequent in a CSV file's header, and the names in the header."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            first = lines.readline().decode("utf-8-sig")  # only this line: the lines after it are rows
            delimiter = max(_DELIMITERS, key=first.count)
            names = next(csv.reader([first], delimiter=delimiter), [])
    except (UnicodeError, csv.Error, EOFError):
        raise InvalidError(
            "The header of the CSV file cannot be read.", argument="source", hint="Use CSV in UTF-8 with a header."
        ) from None
    if not names:
        raise InvalidError("The CSV file has no header.", argument="source", hint="Add a header with column names.")
    return delimiter, tuple(names)


def _text(text: str) -> str:
    return exp.Literal.string(text).sql("duckdb")


def _list(files: Sequence[Path]) -> str:
    return f"[{', '.join(_text(str(file)) for file in files)}]"
