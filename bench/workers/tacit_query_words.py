"""tacit: groups that nobody listed, with or without their counts."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from query_serve import MAX_GROUPS, MAX_ROWS, Columns, Question, serve

import tacit as tc

SQL = {
    "keys": "SELECT key FROM t GROUP BY key",
    "count": "SELECT key, count(*) AS n FROM t GROUP BY key",
    "units": "SELECT key, count(DISTINCT unit) AS n FROM t GROUP BY key",
}


def make(question: Question) -> Callable[[], Columns]:
    """Return a session's answer: how many groups it shows."""
    budget = tc.ApproxDP(epsilon=question.epsilon * question.times, delta=0.5)  # a float product may fall short of δ
    db = tc.open(question.path, unit="unit", max_groups=MAX_GROUPS, max_rows=MAX_ROWS, budget=budget, name="t")
    (name,) = question.statistics

    def ask() -> Columns:
        return {name: [float(len(db.sql(SQL[name], epsilon=question.epsilon, delta=question.delta).rows()))]}

    return ask


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "duckdb": version("duckdb")}, make)
