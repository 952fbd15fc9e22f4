"""tacit: one SQL question."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from query_serve import HIGH, KEYS, LOW, MAX_GROUPS, MAX_ROWS, STATISTICS, Columns, Question, serve

import tacit.session
from tacit import PureDP
from tacit.query.policy import ROW


def make(question: Question) -> Callable[[], Columns]:
    """Return a session's answer; `knowing` changes nothing."""
    units = {"max_groups": MAX_GROUPS, "max_rows": MAX_ROWS} if question.unit else {}
    db = tacit.session.open(
        question.path,
        unit=question.unit or ROW,
        **units,
        bounds={"x": (LOW, HIGH)},
        keys={"key": KEYS},
        budget=PureDP(epsilon=question.epsilon * question.times),
        name="t",
    )
    columns = ", ".join(f"{STATISTICS[name]} AS {name}_" for name in question.statistics)
    sql = f"SELECT key, {columns} FROM t GROUP BY key"  # noqa: S608 - our own words

    def ask() -> Columns:
        rows = {row["key"]: row for row in db.sql(sql, epsilon=question.epsilon).rows()}
        return {name: [float(rows[key][f"{name}_"]) for key in KEYS] for name in question.statistics}  # type: ignore[arg-type]

    return ask


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "duckdb": version("duckdb")}, make)
