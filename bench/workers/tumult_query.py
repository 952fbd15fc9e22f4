"""Run Tumult Analytics on a local Spark, with a separate query for each statistic and ε divided evenly."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from pyspark.sql import SparkSession
from query_serve import HIGH, HIGHEST, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Query, serve
from tmlt.analytics import (  # type: ignore[import-not-found]  # installed in the library's environment only
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that runs the queries in one session."""
    spark = _spark()
    unit = query.unit or "unit"
    frame = spark.read.parquet(query.path).select(unit, "key", "x")
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id="t",
        dataframe=frame,
        protected_change=AddRowsWithID(id_column=unit),
    )
    share = PureDPBudget(query.epsilon / len(query.statistics))

    def ask() -> Columns:
        return {name: _ask(session, name, share) for name in query.statistics}

    return ask


def _spark() -> SparkSession:
    """Return a local Spark whose workers run in this environment. Its tables are removed when this process ends."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = mkdtemp()
    atexit.register(rmtree, folder, ignore_errors=True)
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.warehouse.dir", folder).config("spark.driver.memory", "8g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _ask(session: Any, name: str, share: Any) -> list[float]:  # noqa: ANN401 - the library has no types
    bounded = (
        QueryBuilder("t").enforce(MaxGroupsPerID("key", MAX_GROUPS)).enforce(MaxRowsPerGroupPerID("key", MAX_ROWS))
    )
    groups = bounded.groupby(KeySet.from_dict({"key": KEYS}))
    low, high = float(LOW), float(HIGH)
    queries: dict[str, Callable[[], Any]] = {
        "count": lambda: groups.count(name=name),
        "sum": lambda: groups.sum("x", low, high, name=name),
        "mean": lambda: groups.average("x", low, high, name=name),
        "units": lambda: groups.count_distinct(["unit"], name=name),
        "variance": lambda: groups.variance("x", low, high, name=name),
        "deviation": lambda: groups.stdev("x", low, high, name=name),
        "median": lambda: groups.median("x", low, high, name=name),
        "quantile": lambda: groups.quantile("x", HIGHEST, low, high, name=name),
        "different": lambda: groups.count_distinct(["x"], name=name),
    }
    query = queries[name]()
    results = {row["key"]: float(row[name]) for row in session.evaluate(query, share).collect()}
    return [results[key] for key in KEYS]


if __name__ == "__main__":
    serve({"tmlt.analytics": version("tmlt.analytics")}, make)
