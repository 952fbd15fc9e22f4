"""Run SmartNoise SQL on a pandas frame."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pandas as pd
import snsql  # type: ignore[import-not-found]  # installed in the library's environment only
from attack_serve import serve
from serve import Missing

warnings.simplefilter("ignore")


def _reader(frame: pd.DataFrame, upper: float, kind: str) -> Any:  # noqa: ANN401 - the library has no types
    table = {
        "max_ids": 1,
        "unit": {"type": "int", "private_id": True},
        "key": {"type": "string"},
        "x": {"type": kind, "lower": 0, "upper": upper},
    }
    privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"t": {"t": table}}})


def total(rows: list[float], upper: float, *, single: bool = False) -> Callable[[], float]:
    """Return a sum."""
    if single:
        raise Missing("no 32-bit floats")
    frame = pd.DataFrame({"unit": range(len(rows)), "key": "all", "x": rows})
    reader = _reader(frame, upper, "int" if isinstance(upper, int) else "float")
    return lambda: float(reader.execute("SELECT SUM(x) AS s FROM t.t")[1][0])


def failing(rows: list[int]) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return a count with an expression that exceeds 64 bits on one row, and the ε that the odometer has counted."""
    reader = _reader(pd.DataFrame({"unit": rows, "key": "all", "x": 0.0}), 1.0, "float")
    sql = "SELECT COUNT(*) AS n FROM t.t WHERE ABS(-9223372036854775807 - unit) > 0"
    return lambda: float(reader.execute(sql)[1][0]), lambda: float(reader.odometer.spent[0])


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return the groups of a query."""
    reader = _reader(pd.DataFrame({"unit": range(len(rows)), "key": rows, "x": 0.0}), 1.0, "float")
    return lambda: sorted(row[0] for row in reader.execute("SELECT key, COUNT(*) AS n FROM t.t GROUP BY key")[1:])


if __name__ == "__main__":
    serve({"smartnoise-sql": version("smartnoise-sql")}, sum=total, failing=failing, keys=keys)
