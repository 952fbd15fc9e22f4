"""Places to put rows for each engine: Arrow in memory for DuckDB, a table for PostgreSQL, a DataFrame for Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa

from contract.tables import Open, Opener, Row
from postgres_server import Database, database
from spark_session import spark
from tacit.engines.duckdb.engine import open_duckdb, open_duckdb_tables
from tacit.engines.postgres.engine import open_postgres, open_postgres_tables
from tacit.engines.source import Source
from tacit.engines.spark.engine import open_spark, open_spark_tables
from tacit.engines.sql.engine import StatementEngine
from tacit.query.expressions import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


def frame(kinds: Mapping[str, Kind], rows: Sequence[Row]) -> DataFrame:
    schema = ", ".join(f"`{name.replace('`', '``')}` {SPARK[kind]}" for name, kind in kinds.items())
    return spark().createDataFrame([[row[name] for name in kinds] for row in rows], schema)


@contextmanager
def on_spark(kinds: Mapping[str, Kind], rows: Sequence[Row]) -> Iterator[StatementEngine]:
    opened = open_spark(frame(kinds, rows))
    try:
        yield opened
    finally:
        opened.close()


Shapes = Mapping[str, Mapping[str, Kind]]
Tables = Mapping[str, Sequence[Row]]
OpenMany = Callable[[Mapping[str, Source]], StatementEngine]


@contextmanager
def joined(name: str, shapes: Shapes, data: Tables, public: Collection[str]) -> Iterator[StatementEngine]:
    """Open one engine on several tables, some of them public."""
    with ExitStack() as stack:
        sources: dict[str, Source] = {}
        place = stack.enter_context(database()) if name == "postgres" else None
        for table, kinds in shapes.items():
            if place is not None:
                place.fill(table, kinds, data[table])
                sources[table] = Source(source=place.reader, table=table, public=table in public)
            else:
                source = arrow(kinds, data[table]) if name == "duckdb" else frame(kinds, data[table])
                sources[table] = Source(source=source, public=table in public)
        ways: dict[str, OpenMany] = {
            "duckdb": open_duckdb_tables,
            "postgres": open_postgres_tables,
            "spark": open_spark_tables,
        }
        opened = ways[name](sources)
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
