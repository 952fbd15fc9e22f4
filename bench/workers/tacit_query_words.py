"""Run a query with discovered groups in tacit, with or without their counts."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from query_serve import MAX_GROUPS, MAX_ROWS, Columns, Query, serve

import tacit as tc

SQL = {
    "keys": "SELECT key FROM t GROUP BY key",
    "count": "SELECT key, count(*) AS n FROM t GROUP BY key",
    "units": "SELECT key, count(DISTINCT unit) AS n FROM t GROUP BY key",
}


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that counts the groups in an answer."""
    budget = tc.ApproxDP(
        epsilon=query.epsilon * query.times, delta=0.5
    )  # 0.5: a product of floats could be below the sum of all δ
    db = tc.open(query.path, unit="unit", max_groups=MAX_GROUPS, max_rows=MAX_ROWS, budget=budget, name="t")
    (name,) = query.statistics

    def ask() -> Columns:
        return {name: [float(len(db.sql(SQL[name], epsilon=query.epsilon, delta=query.delta).rows()))]}

    return ask


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "duckdb": version("duckdb")}, make)
