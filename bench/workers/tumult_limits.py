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
from functools import partial
from importlib.metadata import version
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, get_args

from limits_serve import HIGH, LOW, SHARE, Answer, Request, Statistic, serve
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
        most_rows, most_sum = (_bounds(by_unit, column, copies, first) for column in ("n", "s"))
        for statistic in get_args(Statistic):
            groups = partial(_by_group, by_row, rest, statistic, request.keys)
            yield _answer(statistic, epsilon, most_rows, groups, grouped=True)
            whole = partial(_whole, by_unit, rest, "n" if statistic == "count" else "s")
            yield _answer(statistic, epsilon, most_rows if statistic == "count" else most_sum, whole, grouped=False)


def _answer(
    statistic: Statistic,
    epsilon: float,
    limits: list[float],
    ask: Callable[[list[int], float], dict[int, list[float]]],
    *,
    grouped: bool,
) -> Answer:
    """Ask once for each limit that was chosen, for the copies that chose it."""
    values: dict[int, list[float]] = {}
    for limit in sorted(set(limits)):
        _progress(f"{statistic} with the limit {limit:g}, ε = {epsilon:g}")
        values |= ask([copy for copy, chosen in enumerate(limits) if chosen == limit], limit)
    ordered = [values[copy] for copy in range(len(limits))]
    return Answer(statistic=statistic, grouped=grouped, epsilon=epsilon, limits=limits, values=ordered)


def _by_group(
    session: Any,  # noqa: ANN401 - the library has no types
    budget: Any,  # noqa: ANN401 - the library has no types
    statistic: Statistic,
    keys: list[str],
    copies: list[int],
    limit: float,
) -> dict[int, list[float]]:
    """Return the answers by group, with at most `limit` rows of a unit."""
    bounded = QueryBuilder("t").enforce(MaxRowsPerID(int(limit)))
    groups = bounded.groupby(KeySet.from_dict({"copy": copies, "key": keys}))
    query = groups.count(name="answer") if statistic == "count" else _sum(groups)
    found = {(row["copy"], row["key"]): float(row["answer"]) for row in session.evaluate(query, budget).collect()}
    return {copy: [found[copy, key] for key in keys] for copy in copies}


def _whole(
    session: Any,  # noqa: ANN401 - the library has no types
    budget: Any,  # noqa: ANN401 - the library has no types
    column: str,
    copies: list[int],
    limit: float,
) -> dict[int, list[float]]:
    """Return the sums of a column of units, each clipped to a limit."""
    groups = QueryBuilder("t").enforce(MaxRowsPerID(1)).groupby(KeySet.from_dict({"copy": copies}))
    found = session.evaluate(groups.sum(column, 0, limit, name="answer"), budget).collect()
    return {row["copy"]: [float(row["answer"])] for row in found}


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
