"""Where DuckDB reads rows from: files, a DuckDB file, or tables in memory; all read-only, behind one view named `data`.

Nothing is inferred from rows. The columns of a CSV file are the names in its header, all of text. An error would tell
of a row, so DuckDB skips a line that has fewer fields than the header, a line of more than 2,000,000 bytes, and, where
a question reads a column whose value is not UTF-8, that line. A pandas column of objects is text. A glob is expanded
when it is opened. After that DuckDB may read these files and nothing else, load nothing, and change no setting.

What remains are values that their own format forbids, in a Parquet file or in memory: text that is no Unicode, and
milliseconds beyond the year 294,246, which DuckDB turns into microseconds before anything can guard them. It fails on
them. And a CSV file is the table that it is read as: a quote that is never closed makes one field of what follows.

Joins are written with the side to build from on the right, and DuckDB's own choice is switched off: it knows neither
how many keys are listed nor how many units there are, and tends to build from all rows.
"""

from __future__ import annotations

import csv
import glob
import gzip
import re
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path

import duckdb
from sqlglot import exp

from tacit.engines.sql.builder import TYPES
from tacit.errors import InvalidError, NoSourceError, TableNotNamedError, show
from tacit.query.policy.locations import holds_secret, scheme

_KEPT_ORDER = ("join_order", "build_side_probe_side", "top_n_window_elimination")
"""Optimisers that change what `keep` relies on."""
_BY_PRIVATE_KEYS = ("statistics_propagation", "join_filter_pushdown")
"""Optimisers that cut one side of a join to the range of the other side's keys."""
_MOST_NAMES = 20
_DELIMITERS = ",;\t|"
_TABLES = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("Table", "RecordBatch")}
_SOURCES = (
    "a Parquet, CSV or DuckDB file, a glob of the first two, a pandas, polars or Arrow table, postgresql://… with a "
    "table, or a Spark DataFrame, a session or sc://host with a table, or spark:table"
)


def connect(threads: int | None, temporary: str | PathLike[str] | None) -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory that loads no extension and writes no file but below `temporary`."""
    if threads is not None and threads < 1:
        raise InvalidError("threads", show(threads), "a whole number ≥ 1")
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
        "pandas_analyze_sample": 0,
        "preserve_insertion_order": False,
        "temp_directory": "" if temporary is None else str(Path(temporary)),
    }
    return duckdb.connect(":memory:", config=config if threads is None else {**config, "threads": threads})


def show_as(
    view: str, connection: duckdb.DuckDBPyConnection, source: object, table: str | None, written: str | None = None
) -> tuple[str, list[Path]]:
    """Make a source a view; return what the table is called, and the files that must stay readable.

    `written` is the source as a policy writes it, for messages: what is filled in for variables is never shown.
    """
    if isinstance(source, (str, PathLike)):
        _refuse_url(str(source), written or str(source))
        return _attach_files(view, connection, Path(source).expanduser(), table, written or str(source))
    if type(source).__name__ not in _TABLES.get(type(source).__module__.partition(".")[0], ()):
        raise NoSourceError(show(source), _SOURCES)
    _no_table(table)
    connection.register(view, source)
    return "data", []


def copy(view: str, connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Read all of a public table into memory, so that it stays as it is while it is open."""
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {view}")  # noqa: S608 - both are ours


def _refuse_url(source: str, written: str) -> None:
    """Raise for the URL of a database or of a file elsewhere, naming its scheme and nothing else of it."""
    if scheme(source) is not None:
        got = f"the URL {scheme(written) or ''}://…, a kind of source that cannot be opened"
        raise NoSourceError(got, _SOURCES)


def _shown(written: str) -> str:
    return "a path with a password or a key in it" if holds_secret(written) else show(written)


def lock(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], *, joins_public: bool = False) -> None:
    """Let DuckDB read these files from now on, and nothing else, and change no setting.

    With `joins_public`, DuckDB must not decide by the range of private keys how much of a public table it reads: the
    duration would tell whether a row with an extreme key exists.
    """
    connection.execute("SET TimeZone = 'UTC'")
    _disable(connection, [*_KEPT_ORDER, *(_BY_PRIVATE_KEYS if joins_public else ())])
    connection.execute(f"SET allowed_paths = {_list(files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _disable(connection: duckdb.DuckDBPyConnection, optimizers: Sequence[str]) -> None:
    """Switch some optimisers off; a version that does not have one does not know its name either."""
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
        raise NoSourceError(f"{_shown(written)}, and there is no such file", _SOURCES)
    if any(glob.has_magic(str(file)) for file in files):
        raise InvalidError("source", "a file with *, ? or [ in its name", "files without them")
    suffixes = {file.name.removesuffix(".gz").rpartition(".")[2].lower() for file in files}
    if len(suffixes) > 1:
        raise InvalidError("source", "files of several sorts", "files of one sort")
    suffix = suffixes.pop()
    if suffix in ("duckdb", "ddb", "db") and len(files) == 1:
        return _attach_database(view, connection, files[0], table), []
    _no_table(table)
    if suffix in ("parquet", "pq"):
        _view(view, connection, f"read_parquet({_list(files)}, hive_partitioning = false)")
    elif suffix in ("csv", "tsv"):
        _view(view, connection, _csv(files))
    else:
        raise NoSourceError(f"{_shown(written)}, whose name ends in none of .parquet, .csv, .tsv and .duckdb", _SOURCES)
    return _stem(path), files


def _view(view: str, connection: duckdb.DuckDBPyConnection, relation: str, columns: str = "*") -> None:
    connection.execute(f"CREATE VIEW {view} AS SELECT {columns} FROM {relation}")  # noqa: S608 - quoted where it is not ours


def _stem(path: Path) -> str:
    """Return a file's name without its suffixes, and of a glob what comes before its first magic.

    >>> _stem(Path("in/survey.csv.gz")), _stem(Path("visits-*.parquet")), _stem(Path("in/*.csv"))
    ('survey', 'visits', 'data')
    """
    name = re.sub(r"[*?\[].*", "", path.name)
    return re.sub(r"\.\w+(\.gz)?$", "", name).rstrip("-_. ") or "data"


def _no_table(table: str | None) -> None:
    if table is not None:
        raise InvalidError(
            "table", show(table), "left out: only a database has tables by name (a DuckDB file, PostgreSQL, Spark)"
        )


def _attach_database(view: str, connection: duckdb.DuckDBPyConnection, file: Path, table: str | None) -> str:
    """Show one table of a DuckDB file, not a view, which could fail on a row; its text is compared by code point."""
    catalog = _attached(connection, file)
    listed = connection.execute(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{catalog}' AND NOT internal"  # noqa: S608 - ours
    ).fetchall()
    fits = [one for one in listed if table in (None, one[1], ".".join(one))]
    if len(fits) != 1:
        raise _which(table, [one[1] if _is_alone(one[1], listed) else ".".join(one) for one in listed])
    schema, name = fits[0]
    relation = exp.table_(name, db=schema, catalog=catalog, quoted=True).sql("duckdb")
    described = connection.execute(f"DESCRIBE {relation}").fetchall()
    columns = [_plainly_compared(column, type_name) for column, type_name, *_ in described]
    _view(view, connection, relation, ", ".join(columns))
    return str(name)


def _attached(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    """Attach a DuckDB file, once however many of its tables are asked for, and return its name here."""
    listed = connection.execute("SELECT database_name, path FROM duckdb_databases()").fetchall()
    known = {Path(path): name for name, path in listed if path is not None}
    if file in known:
        return str(known[file])
    catalog = f"source{len(known)}"
    connection.execute(f"ATTACH {_quoted(str(file))} AS {catalog} (READ_ONLY)")
    return catalog


def _is_alone(name: str, listed: Sequence[tuple[str, str]]) -> bool:
    return sum(one[1] == name for one in listed) == 1


def _which(table: str | None, names: Sequence[str]) -> InvalidError:
    """Return the error for a DuckDB file of which no table is named; names of tables are its schema, not its data."""
    if not names:
        return NoSourceError("a DuckDB file without a table", "one with a table (views are not opened)")
    if table is None:
        return TableNotNamedError(names)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    choice = f"one of {', '.join(map(repr, sorted(names)[:_MOST_NAMES]))}{more}"
    how = f'table = "{min(names)}" in the policy, table= in Python, --table for `tacit init`'
    return InvalidError("table", show(table), f"{choice} ({how})")


def _plainly_compared(name: str, type_name: str) -> str:
    quoted = exp.to_identifier(name, quoted=True).sql("duckdb")
    return f"{quoted} COLLATE C AS {quoted}" if type_name == "VARCHAR" else quoted


def _csv(files: Sequence[Path]) -> str:
    """Return the reading of CSV files whose columns are those of their headers."""
    delimiters, headers = zip(*map(_header, files), strict=True)
    if len(set(zip(delimiters, headers, strict=True))) > 1:
        raise InvalidError("source", "CSV files with different headers", "files with one header")
    names = headers[0]
    if not all(names) or len({name.casefold() for name in names}) < len(names):
        raise InvalidError("source", "a CSV header with an empty or a repeated name", "a header that names each column")
    columns = ", ".join(f"{_quoted(name)}: '{TYPES['text']}'" for name in names)
    return (
        f"read_csv({_list(files)}, columns = {{{columns}}}, delim = {_quoted(delimiters[0])}, header = true, "
        "quote = '\"', escape = '\"', auto_detect = false, ignore_errors = true, strict_mode = false, "
        "parallel = false)"  # in parallel a quoted field across two threads' parts is read as rows of its own
    )


def _header(file: Path) -> tuple[str, tuple[str, ...]]:
    """Return a CSV file's delimiter, the one most used in its header, and the names in its header."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            first = lines.readline().decode("utf-8-sig")  # this line alone: what comes after it are rows
            delimiter = max(_DELIMITERS, key=first.count)
            names = next(csv.reader([first], delimiter=delimiter), [])
    except (UnicodeError, csv.Error, EOFError):
        raise InvalidError("source", "a CSV file whose header cannot be read", "CSV in UTF-8 with a header") from None
    if not names:
        raise InvalidError("source", "a CSV file without a header", "CSV with a header")
    return delimiter, tuple(names)


def _quoted(text: str) -> str:
    return exp.Literal.string(text).sql("duckdb")


def _list(files: Sequence[Path]) -> str:
    return f"[{', '.join(_quoted(str(file)) for file in files)}]"
