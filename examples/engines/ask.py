"""Ask the same questions of the same rows on DuckDB, PostgreSQL or Spark.

python ask.py FOLDER [--postgres URL | --spark] [--huge]
python ask.py FOLDER --load ADMIN_URL --reader ROLE
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tacit as tc

WARDS = ["medicine", "surgery", "maternity"]
QUESTIONS = (
    "SELECT ward, count(*) AS n, sum(cost) AS cost FROM visits GROUP BY ward",
    "SELECT count(DISTINCT person) AS people FROM visits WHERE cost > 500",
)


def rows() -> pa.Table:
    """Return 30,000 made-up visits, at most three for each person."""
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(10_000), 3)
    return pa.table({"person": person, "ward": rng.choice(WARDS, 30_000), "cost": rng.integers(0, 2_000, 30_000)})


def load(url: str, reader: str) -> None:
    """Write the rows into the table visits of a PostgreSQL database, which a role may then read."""
    import psycopg  # noqa: PLC0415 - of the extra tacit[postgres]
    from psycopg.sql import SQL, Identifier  # noqa: PLC0415

    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS visits")
        cursor.execute("CREATE TABLE visits (person bigint, ward text, cost bigint)")
        with cursor.copy("COPY visits FROM STDIN") as copy:
            for row in rows().to_pylist():
                copy.write_row((row["person"], row["ward"], row["cost"]))
        cursor.execute(SQL("GRANT SELECT ON visits TO {}").format(Identifier(reader)))


def source(given: argparse.Namespace) -> str:
    """Return the source of the chosen engine; write the Parquet file if it is needed."""
    if given.postgres:
        return str(given.postgres)
    file = given.folder / "visits.parquet"
    pq.write_table(rows(), file)
    return f"spark:{file.resolve()}" if given.spark else str(file)


def main() -> None:
    """Ask all questions, and print the answers."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--postgres")
    options.add_argument("--load", help="fill the PostgreSQL table as a user who may create tables, and end")
    options.add_argument("--reader", help="the role that may read the table")
    options.add_argument("--spark", action="store_true")
    options.add_argument("--huge", action="store_true")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.load:
        load(given.load, given.reader)
        return
    epsilon = 1_000_000_000 if given.huge else 0.5
    with tc.open(
        source(given),
        name="visits",
        table="visits" if given.postgres else None,
        unit="person",
        reach=3,
        bounds={"cost": (0, 2_000)},
        keys={"ward": WARDS},
        budget=tc.PureDP(epsilon=10_000_000_000),  # of a demonstration; a real budget is a few units
        ledger=given.folder / "visits.ledger",
    ) as db:
        for question in QUESTIONS:
            print(db.sql(question, epsilon=epsilon))


if __name__ == "__main__":
    main()
