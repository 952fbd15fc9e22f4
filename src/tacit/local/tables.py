"""Reports that lie in a table: DuckDB picks those of one set of parameters, in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator

import duckdb
import numpy as np
import numpy.typing as npt

from tacit.engines.duckdb_sources import connect
from tacit.errors import InvalidError, SourceError, show

_BATCH_BYTES = 1 << 24
_ENGINE = (duckdb.Error, UnicodeError, RuntimeError, MemoryError)  # it quotes a damaged file, as text that is none
_FAILED = "The table of reports could not be read; nothing was added. Check its name, its columns and its files."


def parquet(path: str | os.PathLike[str]) -> tuple[duckdb.DuckDBPyConnection, str]:
    """Return a database in memory and how it names these files."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidError("path", show(path), "the path of a Parquet file, or a glob of such")
    text = os.fspath(path).replace("'", "''")
    return connect(None, None), f"read_parquet('{text}')"


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
    own = f"{parameters} = from_hex('{digest.hex()}') AND octet_length({report}) = {width}"
    batch = max(1, _BATCH_BYTES // (width + 64))
    try:
        total = _count(connection, f"SELECT count(*) FROM {source}")  # noqa: S608 - names are quoted
        found = connection.execute(f"SELECT {report} FROM {source} WHERE {own}")  # noqa: S608
        seen = 0
        while rows := found.fetchmany(batch):
            seen += len(rows)
            yield np.frombuffer(b"".join(row[0] for row in rows), dtype=np.uint8).reshape(-1, width), 0
    except _ENGINE:
        raise SourceError(_FAILED) from None
    yield np.empty((0, width), dtype=np.uint8), total - seen


def _require_binary(connection: object, source: str, columns: tuple[str, str]) -> None:
    """Refuse columns that hold no bytes; others would fail half-way, or match by their text."""
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise InvalidError("connection", show(connection), "an open DuckDB connection")
    for column in columns:
        try:
            found = connection.execute(f"DESCRIBE SELECT {quoted(column)} FROM {source}").fetchone()  # noqa: S608
        except _ENGINE:
            raise SourceError(_FAILED) from None
        kind = str(found[1]) if found else "nothing"
        if kind != "BLOB":
            raise InvalidError(f"column {column!r}", f"one of {kind}", "a column of binary values (BLOB)")


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0
