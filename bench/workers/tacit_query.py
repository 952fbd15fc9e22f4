"""tacit: one SQL question."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from query_serve import EVERY, HIGH, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Question, serve

import tacit as tc


def make(question: Question) -> Callable[[], Columns]:
    """Return a session's answer; `knowing` changes nothing."""
    db = tc.open(
        question.path,
        unit=question.unit or tc.ROW,
        max_groups=MAX_GROUPS if question.unit else None,
        max_rows=MAX_ROWS if question.unit else None,
        bounds={"x": (LOW, HIGH)},
        keys={"key": KEYS},
        budget=tc.PureDP(epsilon=question.epsilon * question.times),
        name="t",
    )
    columns = ", ".join(f"{EVERY[name]} AS {name}_" for name in question.statistics)
    sql = f"SELECT key, {columns} FROM t GROUP BY key"  # noqa: S608 - our own words

    def ask() -> Columns:
        found = {key: values for key, *values in db.sql(sql, epsilon=question.epsilon).rows()}
        numbers = [[float(value) for value in found[key]] for key in KEYS]  # type: ignore[arg-type]  # they are numbers
        return dict(zip(question.statistics, map(list, zip(*numbers, strict=True)), strict=True))

    return ask


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "duckdb": version("duckdb")}, make)
