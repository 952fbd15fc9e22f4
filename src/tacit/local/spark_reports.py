"""Reports that lie in a Spark table: each partition is tallied where it is, and the tallies are added up.

A tally is a sum of integers, one for each cell of the protocol, so the parts add up to what one aggregator would hold
that saw all reports, however Spark splits, orders or repeats the work: a partition that is computed again gives the
same tally, and Spark takes one of them. A worker holds one tally and one batch of rows; the driver adds tallies up one
after the other. Workers need tacit installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.engines.spark.sessions import check_session
from tacit.errors import InvalidError, SourceError, show
from tacit.local.base import Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.local.aggregator import Aggregator

_SCHEMA = "cells binary, n bigint, dropped bigint"
_FAILED = (
    "Spark failed while it added up the reports; nothing was added. Check that its workers run a Python with tacit and "
    "pyarrow (the environment variable PYSPARK_PYTHON says which), that the table is still there, and see Spark's log."
)


def tallies(frame: Any, columns: tuple[str, str], protocol: Protocol) -> Iterator[Aggregator]:  # noqa: ANN401 - see below
    """Give the tally of each partition of a Spark DataFrame with columns of records and of digests.

    Args:
        frame: a DataFrame of Spark, classic or Connect.
        columns: the names of the column of records and of that of digests.
        protocol: whose reports they are.
    """
    _check(columns, _types(frame))
    wanted = frame.select(*(frame[_quoted(name)].alias(own) for name, own in zip(columns, _NAMES, strict=True)))
    partial = wanted.mapInArrow(_counting(protocol.parameters()), _SCHEMA)
    failed = False
    try:
        for row in partial.toLocalIterator():
            yield _read(protocol, row)
    except Exception:  # noqa: BLE001 - Spark's text may show reports
        failed = True
    if failed:
        raise SourceError(_FAILED)


_NAMES = ("report", "parameters")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _types(frame: Any) -> dict[str, str]:  # noqa: ANN401 - pyspark is an extra
    """Return the types of a frame's columns, by its schema alone.

    Raises:
        InvalidError: it is no DataFrame of Spark.
        SourceError: its session was stopped, its server is gone, or its query is none that Spark can run.
    """
    if not hasattr(frame, "mapInArrow"):
        raise InvalidError("frame", show(frame), "a Spark DataFrame")
    check_session(frame.sparkSession)
    types = None
    with suppress(Exception):  # whatever Spark says; one of Spark Connect looks at its query here
        types = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    if types is None:
        raise SourceError(_FAILED)
    return types


def _check(columns: tuple[str, str], types: Mapping[str, str]) -> None:
    """Raise InvalidError unless there are two columns of binary values."""
    for name in columns:
        kind = types.get(name)
        if kind != "binary":
            got = "no such column" if kind is None else f"one of {kind}"
            raise InvalidError(f"column {show(name)}", got, "a column of binary values, as Reports.to_arrow makes it")


def _counting(parameters: Any) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:  # noqa: ANN401 - JSON
    """Return the function that a worker runs on a partition; it carries public parameters alone."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - where the worker is

        from tacit.local.aggregator import Aggregator  # noqa: PLC0415 - as above
        from tacit.local.parameters import protocol  # noqa: PLC0415 - as above

        tally = Aggregator(protocol(parameters))
        for batch in batches:
            _add(tally, batch)
        cells = tally._cells.astype("<i8").tobytes()  # noqa: SLF001 - the two are one subject
        names = [part.split()[0] for part in _SCHEMA.split(", ")]
        yield pa.RecordBatch.from_arrays(
            [pa.array([cells], pa.binary()), pa.array([tally.n]), pa.array([tally.dropped])], names
        )

    return count


def _add(tally: Aggregator, batch: pa.RecordBatch) -> None:
    """Add the records of a batch that are made for a tally's parameters, and count the others as dropped."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    _, digest, width = tally._kind  # noqa: SLF001 - as above
    records, digests = (batch.column(name).cast(pa.large_binary()) for name in _NAMES)
    of_ours = pc.and_(
        pc.equal(digests, pa.scalar(digest, pa.large_binary())), pc.equal(pc.binary_length(records), width)
    )
    own = records.filter(pc.fill_null(of_ours, False))  # noqa: FBT003 - Arrow's own order
    flat = b"".join(own.to_pylist()) if len(own) else b""
    tally._add(np.frombuffer(flat, dtype=np.uint8).reshape(-1, width))  # noqa: SLF001 - as above
    tally.dropped += batch.num_rows - len(own)


def _read(protocol: Protocol, row: Any) -> Aggregator:  # noqa: ANN401 - a Row of Spark
    from tacit.local.aggregator import Aggregator  # noqa: PLC0415 - it calls this module

    part = Aggregator(protocol)
    part._cells = np.frombuffer(bytes(row["cells"]), dtype="<i8").astype(np.int64)  # noqa: SLF001 - as above
    part.n, part.dropped = int(row["n"]), int(row["dropped"])
    return part
