"""Plain DuckDB: the grouping by unit and key with a count, without any privacy, which is the floor."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import duckdb
from query_serve import Columns, Question, serve

SQL = "SELECT count(*), sum(n) FROM (SELECT unit, key, count(*) AS n FROM '{path}' GROUP BY unit, key)"


def make(question: Question) -> Callable[[], Columns]:
    """Return the grouping, folded so that one row is fetched."""
    sql = SQL.format(path=question.path)

    def ask() -> Columns:
        duckdb.connect().execute(sql).fetchall()
        return {}

    return ask


if __name__ == "__main__":
    serve({"duckdb": version("duckdb")}, make)
