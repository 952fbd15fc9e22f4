"""Tables of reports in DuckDB and Spark.

DuckDB selects the records of one set of parameters, in batches.

On Spark each partition is tallied by its worker, and the driver adds the tallies. A tally is a sum of integers, so the
result equals that of one aggregator that saw all reports, however Spark splits, orders or repeats the work. A worker
holds one tally and one batch of rows. Workers need tacit installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import numpy.typing as npt

from tacit.engines.duckdb.sources import connect
from tacit.engines.spark.sessions import check_session
from tacit.errors import ColumnNotFoundError, InvalidError, SourceError, bad_value, show_name
from tacit.local.base import Protocol
from tacit.query.policy.engine_settings import EngineSettings
from tacit.query.policy.locations import holds_secret, scheme

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.local.aggregator import Aggregator


_BATCH_BYTES = 1 << 24
_ENGINE = (duckdb.Error, UnicodeError, RuntimeError, MemoryError)  # UnicodeError: it quotes bytes of a damaged file
_UNREADABLE = "The table of reports could not be read. Nothing was added."
_UNREADABLE_HINT = "Check its name, its columns and its files."
_MOST_NAMES, _LONGEST = 10, 300


def parquet(path: str | os.PathLike[str]) -> tuple[duckdb.DuckDBPyConnection, str]:
    """Return a database in memory, and the SQL that reads these files."""
    if not isinstance(path, (str, os.PathLike)):
        raise bad_value("path", path, "the path or glob of Parquet files")
    text = os.fspath(path)
    connection = connect(EngineSettings(), None)
    _require_files(connection, text)
    quotes = text.replace("'", "''")
    return connection, f"read_parquet('{quotes}')"


def _require_files(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Check that a file exists or matches the glob. Do not show a URL, because it may hold a password."""
    if holds_secret(path) or scheme(path) not in (None, "file"):
        message = "path is a URL, or contains a password."
        raise InvalidError(message, argument="path", hint="Pass the path or glob of Parquet files.")
    try:
        exists = os.path.lexists(path) or connection.execute("FROM glob(?) LIMIT 1", [path]).fetchone() is not None
    except (ValueError, *_ENGINE):  # not a possible name of a file
        exists = False
    if not exists:
        message = f"There is no file {show_name(path[-_LONGEST:])}. Nothing was added."
        raise SourceError(message, hint="Check its folder and its name.")


def quoted(name: object) -> str:
    """Return the name of a table, or of schema and table, quoted for SQL."""
    if not isinstance(name, str) or not name or "\x00" in name:
        raise bad_value("name", name, "the name of a table or column")
    return ".".join('"' + word.replace('"', '""') + '"' for word in name.split("."))


def read(
    connection: duckdb.DuckDBPyConnection, source: str, columns: tuple[str, str], digest: bytes, width: int
) -> Iterator[tuple[npt.NDArray[np.uint8], int]]:
    """Yield the records of these parameters in batches, and last the number of other rows."""
    report, parameters = (quoted(column) for column in columns)
    _require_binary(connection, source, columns)
    # DuckDB 1.4 and 1.5 raise an internal error for = on a dictionary of Arrow
    matches = f"{parameters} IS NOT DISTINCT FROM from_hex('{digest.hex()}') AND octet_length({report}) = {width}"
    batch = max(1, _BATCH_BYTES // (width + 64))
    try:
        total = _count(connection, f"SELECT count(*) FROM {source}")  # noqa: S608 - names are quoted
        result = connection.execute(f"SELECT {report} FROM {source} WHERE {matches}")  # noqa: S608 - names are quoted
        seen = 0
        while rows := result.fetchmany(batch):
            seen += len(rows)
            yield np.frombuffer(b"".join(row[0] for row in rows), dtype=np.uint8).reshape(-1, width), 0
    except _ENGINE:
        raise SourceError(_UNREADABLE, hint=_UNREADABLE_HINT) from None
    yield np.empty((0, width), dtype=np.uint8), total - seen


def require_connection(connection: object) -> None:
    """Check that the argument is a DuckDB connection."""
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        hint = 'Register a frame with connection.register("reports", frame). For Spark use add_spark.'
        raise bad_value("connection", connection, "an open DuckDB connection", hint=hint)


def _require_binary(connection: duckdb.DuckDBPyConnection, source: str, columns: tuple[str, str]) -> None:
    """Check that the columns are binary; others would fail half-way, or match by their text."""
    for column in columns:
        try:
            described = connection.execute(f"DESCRIBE SELECT {quoted(column)} FROM {source}").fetchone()  # noqa: S608 - names are quoted
        except _ENGINE:
            raise _missing_column(connection, source, column) from None
        kind = str(described[1]) if described else "nothing"
        if kind != "BLOB":
            message = f"Column {show_name(column)} is {kind}, not binary (BLOB)."
            raise InvalidError(message, argument="column", hint="Use a table that Reports.to_arrow returned.")


def _missing_column(connection: duckdb.DuckDBPyConnection, source: str, column: str) -> InvalidError | SourceError:
    """Return the error for a column that does not exist. Names of columns are not reports, so they may be shown."""
    try:
        names = [str(name) for name, *_ in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]  # noqa: S608 - names are quoted
    except _ENGINE:
        return SourceError(_UNREADABLE, hint=_UNREADABLE_HINT)
    return _unknown_column(column, names)


def _unknown_column(column: str, names: list[str]) -> ColumnNotFoundError:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    listed = f"The table has {', '.join(map(show_name, names[:_MOST_NAMES]))}{more}."
    hint = f"{listed} Name the column with column= or parameters=."
    return ColumnNotFoundError(column, names, argument="column", hint=hint)


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


_SCHEMA = "cells binary, n bigint, dropped bigint"
_SPARK_FAILED = "Spark failed while it added the reports. Nothing was added."
_SPARK_HINT = (
    "Check that its workers run a Python with tacit and pyarrow (set PYSPARK_PYTHON), and that the table still exists. "
    "Spark's log has the details."
)


def tallies(frame: Any, columns: tuple[str, str], protocol: Protocol) -> Iterator[Aggregator]:  # noqa: ANN401 - see below
    """Yield the tally of each partition of a Spark DataFrame with columns of records and of digests.

    Args:
        frame: a DataFrame of Spark, classic or Connect.
        columns: the names of the columns of records and of digests.
        protocol: the protocol of the reports.
    """
    _check(columns, _types(frame))
    selected = frame.select(*(frame[_quoted(name)].alias(alias) for name, alias in zip(columns, _NAMES, strict=True)))
    partial = selected.mapInArrow(_counting(protocol.parameters()), _SCHEMA)
    failed = False
    try:
        for row in partial.toLocalIterator():
            yield _partition_tally(protocol, row)
    except Exception:  # noqa: BLE001 - Spark's text may show reports
        failed = True
    if failed:
        raise SourceError(_SPARK_FAILED, hint=_SPARK_HINT)


_NAMES = ("report", "parameters")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _types(frame: Any) -> dict[str, str]:  # noqa: ANN401 - pyspark is an extra
    """Return the types of a frame's columns, by its schema alone.

    Raises:
        InvalidError: the argument is not a Spark DataFrame.
        SourceError: its session was stopped, its server is unreachable, or Spark cannot run its query.
    """
    if not hasattr(frame, "mapInArrow"):
        raise bad_value("frame", frame, "a Spark DataFrame")
    check_session(frame.sparkSession)
    types = None
    with suppress(Exception):  # any error of Spark; Spark Connect analyses the query here
        types = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    if types is None:
        raise SourceError(_SPARK_FAILED, hint=_SPARK_HINT)
    return types


def _check(columns: tuple[str, str], types: Mapping[str, str]) -> None:
    """Check that both columns exist and are binary."""
    for name in columns:
        kind = types.get(name)
        if kind is None:
            raise _unknown_column(name, list(types))
        if kind != "binary":
            message = f"Column {show_name(name)} is {kind}, not binary."
            raise InvalidError(message, argument="column", hint="Use a table that Reports.to_arrow returned.")


def _counting(parameters: Any) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:  # noqa: ANN401 - JSON
    """Return the function that a worker runs on a partition. It carries only public parameters."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - on the worker

        from tacit.local.aggregator import Aggregator  # noqa: PLC0415 - as above
        from tacit.local.parameters import protocol  # noqa: PLC0415 - as above

        tally = Aggregator(protocol(parameters))
        for batch in batches:
            _add(tally, batch)
        cells = tally._cells.astype("<i8").tobytes()  # noqa: SLF001 - tally and table belong together
        names = [field.split()[0] for field in _SCHEMA.split(", ")]
        yield pa.RecordBatch.from_arrays(
            [pa.array([cells], pa.binary()), pa.array([tally.n]), pa.array([tally.dropped])], names
        )

    return count


def _add(tally: Aggregator, batch: pa.RecordBatch) -> None:
    """Add the records of a batch that have the tally's parameters; count the others as dropped."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    _, digest, width = tally._kind  # noqa: SLF001 - as above
    records, digests = (batch.column(name).cast(pa.large_binary()) for name in _NAMES)
    matches = pc.and_(
        pc.equal(digests, pa.scalar(digest, pa.large_binary())), pc.equal(pc.binary_length(records), width)
    )
    accepted = records.filter(pc.fill_null(matches, False))  # noqa: FBT003 - Arrow's own order
    flat = b"".join(accepted.to_pylist()) if len(accepted) else b""
    tally._add(np.frombuffer(flat, dtype=np.uint8).reshape(-1, width))  # noqa: SLF001 - as above
    tally.dropped += batch.num_rows - len(accepted)


def _partition_tally(protocol: Protocol, row: Any) -> Aggregator:  # noqa: ANN401 - a Row of Spark
    from tacit.local.aggregator import Aggregator  # noqa: PLC0415 - it calls this module

    result = Aggregator(protocol)
    result._cells = np.frombuffer(bytes(row["cells"]), dtype="<i8").astype(np.int64)  # noqa: SLF001 - as above
    result.n, result.dropped = int(row["n"]), int(row["dropped"])
    return result
