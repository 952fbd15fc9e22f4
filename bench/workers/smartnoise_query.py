"""Run SmartNoise SQL on a pandas frame.

The library bounds the rows of a unit in the whole table, not per group. The bound is the number of groups times the
rows per group, which gives the same sensitivity. Its ε is per column; `get_privacy_cost` returns that of the query.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import pandas as pd
import snsql  # type: ignore[import-not-found]  # installed in the library's environment only
from query_serve import HIGH, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Query, serve
from serve import Missing

PIECES = {
    "count": "COUNT(*)",
    "sum": "SUM(x)",
    "mean": "AVG(x)",
    "units": "COUNT(DISTINCT unit)",
    "variance": "VAR(x)",
    "deviation": "STDDEV(x)",
}


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that runs the reader."""
    if not set(query.statistics) <= PIECES.keys():
        raise Missing("not supported")
    frame = pd.read_parquet(query.path, columns=[query.unit or "unit", "key", "x"])
    frame.columns = pd.Index(["unit", "key", "x"])
    columns = ", ".join(f"{PIECES[name]} AS {name}_" for name in query.statistics)
    sql = f"SELECT key, {columns} FROM t.t GROUP BY key"  # noqa: S608 - fixed text
    total_epsilon, _ = _reader(frame, query.epsilon).get_privacy_cost(sql)
    reader = _reader(frame, query.epsilon * query.epsilon / total_epsilon)

    def ask() -> Columns:
        results = {key: values for key, *values in reader.execute(sql)[1:]}
        numbers = [[float(value) for value in results[key]] for key in KEYS]
        return dict(zip(query.statistics, map(list, zip(*numbers, strict=True)), strict=True))

    return ask


def _reader(frame: pd.DataFrame, epsilon: float) -> snsql.PrivateReader:
    table = {
        "max_ids": MAX_GROUPS * MAX_ROWS,
        "censor_dims": False,
        "unit": {"type": "int", "private_id": True},
        "key": {"type": "string"},
        "x": {"type": "float", "lower": LOW, "upper": HIGH},
    }
    privacy = snsql.Privacy(epsilon=epsilon, delta=1e-9)
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"t": {"t": table}}})


if __name__ == "__main__":
    serve({"smartnoise-sql": version("smartnoise-sql")}, make)
