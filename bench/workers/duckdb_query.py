"""Plain DuckDB: the grouping without any privacy, which is the floor."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import duckdb
from query_serve import Columns, Question, serve

BY_UNIT = """
SELECT count(*), sum(n), sum(s) FROM (SELECT {unit}, key, count(*) AS n, sum(x) AS s FROM '{path}' GROUP BY {unit}, key)
"""
BY_ROW = "SELECT key, count(*), sum(x), avg(x) FROM '{path}' GROUP BY key"


def make(question: Question) -> Callable[[], Columns]:
    """Return the grouping by unit and key, folded so that one row is fetched; without units, by key alone."""
    sql = (BY_UNIT if question.unit else BY_ROW).format(unit=question.unit, path=question.path)

    def ask() -> Columns:
        duckdb.connect().execute(sql).fetchall()
        return {}

    return ask


if __name__ == "__main__":
    serve({"duckdb": version("duckdb")}, make)
