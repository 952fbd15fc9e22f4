"""Run the grouping in plain DuckDB without privacy, as the lower limit of the time."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import duckdb
from query_serve import Columns, Query, serve

BY_UNIT = """
SELECT count(*), sum(n), sum(s) FROM (SELECT {unit}, key, count(*) AS n, sum(x) AS s FROM '{path}' GROUP BY {unit}, key)
"""
BY_ROW = "SELECT key, count(*), sum(x), avg(x) FROM '{path}' GROUP BY key"


def make(query: Query) -> Callable[[], Columns]:
    """Return the grouping by unit and key, reduced to one row. Without units, group by key alone."""
    sql = (BY_UNIT if query.unit else BY_ROW).format(unit=query.unit, path=query.path)

    def ask() -> Columns:
        duckdb.connect().execute(sql).fetchall()
        return {}

    return ask


if __name__ == "__main__":
    serve({"duckdb": version("duckdb")}, make)
