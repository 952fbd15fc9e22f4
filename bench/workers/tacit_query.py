"""Run one SQL query with tacit."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from query_serve import EVERY, HIGH, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Query, serve

import tacit as tc


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that runs the query; if `tuned`, quantiles have no intervals."""
    db = tc.open(
        query.path,
        unit=query.unit or tc.ROW,
        max_groups=MAX_GROUPS if query.unit else None,
        max_rows=MAX_ROWS if query.unit else None,
        bounds={"x": (LOW, HIGH)},
        keys={"key": KEYS},
        budget=tc.PureDP(epsilon=query.epsilon * query.times),
        name="t",
    )
    columns = ", ".join(f"{EVERY[name]} AS {name}_" for name in query.statistics)
    sql = f"SELECT key, {columns} FROM t GROUP BY key"  # noqa: S608 - fixed text

    def ask() -> Columns:
        answer = db.sql(sql, epsilon=query.epsilon, intervals=not query.tuned)
        results = {key: values for key, *values in answer.rows()}
        numbers = [[float(value) for value in results[key]] for key in KEYS]  # type: ignore[arg-type]  # they are numbers
        return dict(zip(query.statistics, map(list, zip(*numbers, strict=True)), strict=True))

    return ask


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "duckdb": version("duckdb")}, make)
