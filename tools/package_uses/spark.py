"""Use the extra `spark`: query a table of a local Spark session, which needs Java."""

from __future__ import annotations

from pyspark.sql import SparkSession

import tacit as tc

if __name__ == "__main__":
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    with tc.open(session.range(100), name="visits", unit=tc.ROW, budget=tc.PureDP(epsilon=100)) as db:
        if db.sql("SELECT count(*) AS n FROM visits", epsilon=100).value != 100:
            raise SystemExit("Not met: Spark counts 100 rows")
    session.stop()
