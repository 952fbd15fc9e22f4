"""SmartNoise SQL on a pandas frame.

It bounds a unit's rows in all, not by group: as many as groups times rows, which comes to the same sensitivity. Its ε
is each column's; the whole question's is what `get_privacy_cost` says of it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import pandas as pd
import snsql  # type: ignore[import-not-found]  # lives in the peer's own environment
from query_serve import HIGH, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Question, serve
from serve import Missing

PIECES = {
    "count": "COUNT(*)",
    "sum": "SUM(x)",
    "mean": "AVG(x)",
    "units": "COUNT(DISTINCT unit)",
    "variance": "VAR(x)",
    "deviation": "STDDEV(x)",
}


def make(question: Question) -> Callable[[], Columns]:
    """Return a reader's answer."""
    if not set(question.statistics) <= PIECES.keys():
        raise Missing("not offered")
    frame = pd.read_parquet(question.path, columns=[question.unit or "unit", "key", "x"])
    frame.columns = pd.Index(["unit", "key", "x"])
    columns = ", ".join(f"{PIECES[name]} AS {name}_" for name in question.statistics)
    sql = f"SELECT key, {columns} FROM t.t GROUP BY key"  # noqa: S608 - our own words
    whole, _ = _reader(frame, question.epsilon).get_privacy_cost(sql)
    reader = _reader(frame, question.epsilon * question.epsilon / whole)

    def ask() -> Columns:
        found = {key: values for key, *values in reader.execute(sql)[1:]}
        numbers = [[float(value) for value in found[key]] for key in KEYS]
        return dict(zip(question.statistics, map(list, zip(*numbers, strict=True)), strict=True))

    return ask


def _reader(frame: pd.DataFrame, epsilon: float) -> snsql.PrivateReader:
    table = {
        "max_ids": MAX_GROUPS * MAX_ROWS,
        "censor_dims": False,
        "unit": {"type": "int", "private_id": True},
        "key": {"type": "string"},
        "x": {"type": "float", "lower": LOW, "upper": HIGH},
    }
    privacy = snsql.Privacy(epsilon=epsilon, delta=1e-9)
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"t": {"t": table}}})


if __name__ == "__main__":
    serve({"smartnoise-sql": version("smartnoise-sql")}, make)
