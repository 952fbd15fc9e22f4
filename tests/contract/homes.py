"""Where rows are put for each engine: Arrow in memory for DuckDB, a table for PostgreSQL, a DataFrame for Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count

import pyarrow as pa

from contract.tables import Open, Opener, Row
from postgres_server import Database, database
from spark_session import spark
from tacit.engines.duckdb import open_duckdb
from tacit.engines.postgres import open_postgres
from tacit.engines.spark import open_spark
from tacit.engines.statements.engine import StatementEngine
from tacit.query.expressions import Kind

ARROW: dict[Kind, pa.DataType] = {
    "integer": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
SPARK: dict[Kind, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "STRING",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
}


def arrow(kinds: Mapping[str, Kind], rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in kinds.items()})


@contextmanager
def on_duckdb(kinds: Mapping[str, Kind], rows: Sequence[Row]) -> Iterator[StatementEngine]:
    opened = open_duckdb(arrow(kinds, rows), threads=2)
    try:
        yield opened
    finally:
        opened.close()


@dataclass
class OnPostgres:
    """Tables of one database, each dropped when its engine is closed."""

    place: Database
    numbers: Iterator[int] = field(default_factory=count)

    @contextmanager
    def __call__(self, kinds: Mapping[str, Kind], rows: Sequence[Row]) -> Iterator[StatementEngine]:
        table = f"t{next(self.numbers)}"
        self.place.fill(table, kinds, rows)
        opened = open_postgres(self.place.reader, table=table)
        try:
            yield opened
        finally:
            opened.close()
            self.place.run(f"DROP TABLE {table}")


@contextmanager
def on_spark(kinds: Mapping[str, Kind], rows: Sequence[Row]) -> Iterator[StatementEngine]:
    schema = ", ".join(f"`{name.replace('`', '``')}` {SPARK[kind]}" for name, kind in kinds.items())
    frame = spark().createDataFrame([[row[name] for name in kinds] for row in rows], schema)
    opened = open_spark(frame)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def homes() -> Iterator[dict[str, Opener]]:
    """Give a way to open each engine."""
    with ExitStack() as stack:
        found: dict[str, Open] = {
            "duckdb": on_duckdb,
            "postgres": OnPostgres(stack.enter_context(database())),
            "spark": on_spark,
        }
        yield {name: Opener(name, opener) for name, opener in found.items()}
