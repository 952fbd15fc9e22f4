"""tacit: ten quantiles of one column, each row a unit."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from query_serve import MOST, Columns, Question, serve

import tacit as tc


def make(question: Question) -> Callable[[], Columns]:
    """Return a session's answer; the statistics are the ranks."""
    budget = tc.PureDP(epsilon=question.epsilon * question.times)
    db = tc.open(question.path, unit=tc.ROW, bounds={"x": (0, MOST)}, budget=budget, name="t")
    columns = ", ".join(f"quantile_cont(x, {rank}) AS q{i}" for i, rank in enumerate(question.statistics))

    def ask() -> Columns:
        (found,) = db.sql(f"SELECT {columns} FROM t", epsilon=question.epsilon).rows()  # noqa: S608 - our own words
        return {rank: [float(value)] for rank, value in zip(question.statistics, found, strict=True)}  # type: ignore[arg-type]

    return ask


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "duckdb": version("duckdb")}, make)
