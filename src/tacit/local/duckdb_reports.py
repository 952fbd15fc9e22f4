"""Reports that lie in a table: DuckDB picks those of one set of parameters, in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator

import duckdb
import numpy as np
import numpy.typing as npt

from tacit.engines.duckdb.sources import connect
from tacit.errors import InvalidError, SourceError, show
from tacit.query.policy.locations import holds_secret, scheme

_BATCH_BYTES = 1 << 24
_ENGINE = (duckdb.Error, UnicodeError, RuntimeError, MemoryError)  # it quotes a damaged file, as text that is none
_FAILED = "The table of reports could not be read; nothing was added. Check its name, its columns and its files."
_MOST_NAMES, _LONGEST = 10, 300


def parquet(path: str | os.PathLike[str]) -> tuple[duckdb.DuckDBPyConnection, str]:
    """Return a database in memory and how it names these files."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidError("path", show(path), "the path of a Parquet file, or a glob of such")
    text = os.fspath(path)
    connection = connect(None, None)
    _require_files(connection, text)
    quotes = text.replace("'", "''")
    return connection, f"read_parquet('{quotes}')"


def _require_files(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Raise unless there is a file, or one that fits the glob; a URL is not shown, for it may hold a password."""
    if holds_secret(path) or scheme(path) not in (None, "file"):
        want = "the path of a Parquet file, or a glob of such"
        raise InvalidError("path", "a URL, or a path with a password in it", want)
    try:
        found = os.path.lexists(path) or connection.execute("FROM glob(?) LIMIT 1", [path]).fetchone() is not None
    except (ValueError, *_ENGINE):  # a name that no file can have
        found = False
    if not found:
        raise SourceError(f"There is no file {path[-_LONGEST:]!r}; nothing was added. Check its folder and its name.")


def quoted(name: object) -> str:
    """Return a name of a table, or schema and table, as SQL reads it literally."""
    if not isinstance(name, str) or not name or "\x00" in name:
        raise InvalidError("name", show(name), "the name of a table or column")
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def read(
    connection: duckdb.DuckDBPyConnection, source: str, columns: tuple[str, str], digest: bytes, width: int
) -> Iterator[tuple[npt.NDArray[np.uint8], int]]:
    """Give the records of these parameters in batches, and last the number of rows that are something else."""
    report, parameters = (quoted(column) for column in columns)
    _require_binary(connection, source, columns)
    # DuckDB 1.4 and 1.5 raise an internal error for = on a dictionary of Arrow
    own = f"{parameters} IS NOT DISTINCT FROM from_hex('{digest.hex()}') AND octet_length({report}) = {width}"
    batch = max(1, _BATCH_BYTES // (width + 64))
    try:
        total = _count(connection, f"SELECT count(*) FROM {source}")  # noqa: S608 - names are quoted
        found = connection.execute(f"SELECT {report} FROM {source} WHERE {own}")  # noqa: S608 - names are quoted
        seen = 0
        while rows := found.fetchmany(batch):
            seen += len(rows)
            yield np.frombuffer(b"".join(row[0] for row in rows), dtype=np.uint8).reshape(-1, width), 0
    except _ENGINE:
        raise SourceError(_FAILED) from None
    yield np.empty((0, width), dtype=np.uint8), total - seen


def require_connection(connection: object) -> None:
    """Raise unless it is a connection of DuckDB."""
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        frames = 'of a frame make a table with connection.register("reports", frame); Spark\'s go to add_spark'
        raise InvalidError(
            "connection", show(connection), f"an open DuckDB connection, then the table's name ({frames})"
        )


def _require_binary(connection: duckdb.DuckDBPyConnection, source: str, columns: tuple[str, str]) -> None:
    """Refuse columns that hold no bytes; others would fail half-way, or match by their text."""
    for column in columns:
        try:
            found = connection.execute(f"DESCRIBE SELECT {quoted(column)} FROM {source}").fetchone()  # noqa: S608 - names are quoted
        except _ENGINE:
            raise _lacks(connection, source, column) from None
        kind = str(found[1]) if found else "nothing"
        if kind != "BLOB":
            raise InvalidError(f"column {column!r}", f"one of {kind}", "a column of binary values (BLOB)")


def _lacks(connection: duckdb.DuckDBPyConnection, source: str, column: str) -> InvalidError | SourceError:
    """Return the error for a column that cannot be found; names of columns are no reports."""
    try:
        names = [str(name) for name, *_ in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]  # noqa: S608 - names are quoted
    except _ENGINE:
        return SourceError(_FAILED)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    got = f"no such column among {', '.join(map(repr, names[:_MOST_NAMES]))}{more}"
    return InvalidError(f"column {column!r}", got, "one of the table: name it with column= or parameters=")


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0
