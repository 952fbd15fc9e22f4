from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pytest

from contract.tables import Opener, Row
from tacit.engines import Engine
from tacit.engines.duckdb import open_duckdb
from tacit.query.expressions import Kind

ARROW: dict[Kind, pa.DataType] = {
    "integer": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


@contextmanager
def _duckdb(kinds: Mapping[str, Kind], rows: Sequence[Row]) -> Iterator[Engine]:
    columns = {name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in kinds.items()}
    opened = open_duckdb(pa.table(columns), threads=2)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture(scope="session", params=[_duckdb], ids=["duckdb"])
def engine(request: pytest.FixtureRequest) -> Opener:
    """Every engine, as a way to open it on some rows."""
    opener: Opener = request.param
    return opener
