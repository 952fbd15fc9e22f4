"""Run the grouping by unit and key in plain DuckDB without privacy, as the lower limit of the time."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import duckdb
from query_serve import Columns, Query, serve

SQL = "SELECT count(*), sum(n) FROM (SELECT unit, key, count(*) AS n FROM '{path}' GROUP BY unit, key)"


def make(query: Query) -> Callable[[], Columns]:
    """Return the grouping, reduced to one row."""
    sql = SQL.format(path=query.path)

    def ask() -> Columns:
        duckdb.connect().execute(sql).fetchall()
        return {}

    return ask


if __name__ == "__main__":
    serve({"duckdb": version("duckdb")}, make)
