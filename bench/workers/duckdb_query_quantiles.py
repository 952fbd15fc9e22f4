"""Plain DuckDB: a histogram of 4,096 bins, which is the floor of what quantiles by counting take."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import duckdb
from query_serve import BINS, MOST, Columns, Question, serve

HISTOGRAM = """
SELECT least(greatest(floor(x * {bins} / {most}), 0), {bins} - 1)::INTEGER AS bin, count(*) FROM '{path}' GROUP BY bin
"""


def make(question: Question) -> Callable[[], Columns]:
    """Return the histogram."""
    sql = HISTOGRAM.format(bins=BINS, most=MOST, path=question.path)

    def ask() -> Columns:
        duckdb.connect().execute(sql).fetchall()
        return {}

    return ask


if __name__ == "__main__":
    serve({"duckdb": version("duckdb")}, make)
