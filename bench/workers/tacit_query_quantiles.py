"""Run ten quantiles of one column with tacit, where each row is a unit."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from query_serve import MOST, Columns, Query, serve

import tacit as tc


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that runs the query; the statistics are the ranks."""
    budget = tc.PureDP(epsilon=query.epsilon * query.times)
    db = tc.open(query.path, unit=tc.ROW, bounds={"x": (0, MOST)}, budget=budget, name="t")
    columns = ", ".join(f"quantile_cont(x, {rank}) AS q{i}" for i, rank in enumerate(query.statistics))

    def ask() -> Columns:
        (values,) = db.sql(f"SELECT {columns} FROM t", epsilon=query.epsilon).rows()  # noqa: S608 - fixed text
        return {rank: [float(value)] for rank, value in zip(query.statistics, values, strict=True)}  # type: ignore[arg-type]

    return ask


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "duckdb": version("duckdb")}, make)
