"""Run Tumult Analytics on a local Spark with limits that its `get_bounds` chooses.

Tumult has no means to choose MaxRowsPerID. But `get_bounds` finds private bounds of a column, and its documentation
shows how to make one row of each unit (`flat_map_by_id`). So this worker takes the upper bound of the number of rows of
a unit as MaxRowsPerID. For the whole table it clips the sum of each unit's rows to the bounds of such sums, as that
documentation does.

Spark takes seconds for every query. So all releases of a question are one query: on a table with a copy of every unit
for each release, grouped by the number of the copy. A copy is another unit, so each has all of ε and fresh noise.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from limits_serve import HIGH, LOW, SHARE, Answer, Request, serve
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tmlt.analytics import (  # type: ignore[import-not-found]  # installed in the library's environment only
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

APART = 10**9  # larger than the number of any unit


def answers(request: Request) -> Iterator[Answer]:
    """Yield the releases of every question."""
    spark, copies = _spark(), list(range(request.times))
    copied = spark.read.parquet(request.path).crossJoin(spark.range(request.times).withColumnRenamed("id", "copy"))
    rows = copied.select((f.col("copy") * APART + f.col("unit")).alias("unit"), "copy", "key", "x").cache()
    units = rows.groupBy("unit", "copy").agg(f.count("*").alias("n"), f.sum("x").alias("s")).cache()
    by_row, by_unit = _session(rows), _session(units)
    for epsilon in request.epsilons:
        first, rest = PureDPBudget(SHARE * epsilon), PureDPBudget((1 - SHARE) * epsilon)
        limits = {column: _bounds(by_unit, column, copies, first) for column in ("n", "s")}

        def totals(column: str, chosen: list[int], limit: float, rest: Any = rest) -> dict[int, list[float]]:  # noqa: ANN401 - the library has no types
            groups = QueryBuilder("t").enforce(MaxRowsPerID(1)).groupby(KeySet.from_dict({"copy": chosen}))
            found = by_unit.evaluate(groups.sum(column, 0, limit, name="answer"), rest).collect()
            return {row["copy"]: [float(row["answer"])] for row in found}

        def groups(statistic: str, chosen: list[int], limit: float, rest: Any = rest) -> dict[int, list[float]]:  # noqa: ANN401 - the library has no types
            keys = KeySet.from_dict({"copy": chosen, "key": request.keys})
            bounded = QueryBuilder("t").enforce(MaxRowsPerID(int(limit))).groupby(keys)
            query = bounded.count(name="answer") if statistic == "count" else _sum(bounded)
            found = {(row["copy"], row["key"]): float(row["answer"]) for row in by_row.evaluate(query, rest).collect()}
            return {copy: [found[copy, key] for key in request.keys] for copy in chosen}

        n, s = limits["n"], limits["s"]
        for statistic, sizes, column in (("count", n, "n"), ("sum", s, "s")):
            yield _answer(statistic, epsilon, n, lambda chosen, limit, name=statistic: groups(name, chosen, limit))
            whole = _answer(statistic, epsilon, sizes, lambda chosen, limit, name=column: totals(name, chosen, limit))
            yield Answer(
                statistic=whole.statistic, grouped=False, epsilon=epsilon, limits=whole.limits, values=whole.values
            )


def _answer(
    statistic: Any,  # noqa: ANN401 - one of two words
    epsilon: float,
    limits: list[float],
    ask: Callable[[list[int], float], dict[int, list[float]]],
) -> Answer:
    """Ask once for each limit that was chosen, for the copies that chose it."""
    values: dict[int, list[float]] = {}
    for limit in sorted(set(limits)):
        _progress(f"{statistic} with the limit {limit:g}, ε = {epsilon:g}")
        values |= ask([copy for copy, chosen in enumerate(limits) if chosen == limit], limit)
    ordered = [values[copy] for copy in range(len(limits))]
    return Answer(statistic=statistic, grouped=True, epsilon=epsilon, limits=limits, values=ordered)


def _sum(groups: Any) -> Any:  # noqa: ANN401 - the library has no types
    return groups.sum("x", float(LOW), float(HIGH), name="answer")


def _bounds(session: Any, column: str, copies: list[int], budget: Any) -> list[float]:  # noqa: ANN401 - the library has no types
    """Return the upper bound of a column of units, for each copy."""
    groups = QueryBuilder("t").enforce(MaxRowsPerID(1)).groupby(KeySet.from_dict({"copy": copies}))
    _progress(f"bounds of {column}")
    found = session.evaluate(groups.get_bounds(column, upper_bound_column="high"), budget).collect()
    bounds = {row["copy"]: row["high"] for row in found}
    return [bounds[copy] for copy in copies]


def _progress(text: str) -> None:
    print(f"Tumult: {text} …", file=sys.stderr, flush=True)


def _session(frame: DataFrame) -> Any:  # noqa: ANN401 - the library has no types
    return Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id="t",
        dataframe=frame,
        protected_change=AddRowsWithID(id_column="unit"),
    )


def _spark() -> SparkSession:
    """Return a local Spark whose workers run in this environment. Its tables are removed when this process ends."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = mkdtemp()
    atexit.register(rmtree, folder, ignore_errors=True)
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.warehouse.dir", folder).config("spark.driver.memory", "5g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    serve({"tmlt.analytics": version("tmlt.analytics")}, answers)
