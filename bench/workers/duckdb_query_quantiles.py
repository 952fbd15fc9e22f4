"""Compute a histogram of 4,096 bins in plain DuckDB, as the lower limit of the time for quantiles from counts."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import duckdb
from query_serve import BINS, MOST, Columns, Query, serve

HISTOGRAM = """
SELECT least(greatest(floor(x * {bins} / {most}), 0), {bins} - 1)::INTEGER AS bin, count(*) FROM '{path}' GROUP BY bin
"""


def make(query: Query) -> Callable[[], Columns]:
    """Return the histogram query."""
    sql = HISTOGRAM.format(bins=BINS, most=MOST, path=query.path)

    def ask() -> Columns:
        duckdb.connect().execute(sql).fetchall()
        return {}

    return ask


if __name__ == "__main__":
    serve({"duckdb": version("duckdb")}, make)
