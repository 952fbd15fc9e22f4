"""Run SmartNoise SQL on a pandas frame.

Neighbours add or remove the rows of one private id. The claim is the cost that the library itself states for a query.
"""

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
_SUM = "SELECT SUM(x) AS s FROM t.t"
_FAILING = "SELECT COUNT(*) AS n FROM t.t WHERE ABS(-9223372036854775807 - unit) > 0"
_KEYS = "SELECT key, COUNT(*) AS n FROM t.t GROUP BY key"
_BOUNDS = 0.0, 1.0


def _reader(frame: pd.DataFrame, bounds: tuple[float, float] = _BOUNDS, *, kind: str = "float", groups: bool) -> Any:  # noqa: ANN401 - the library has no types
    """Return a reader. Rare groups are hidden, as by default, if there are groups; one total needs no such rule."""
    table = {
        "max_ids": 1,
        "censor_dims": groups,
        "unit": {"type": "int", "private_id": True},
        "key": {"type": "string"},
        "x": {"type": kind, "lower": bounds[0], "upper": bounds[1]},
    }
    privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"t": {"t": table}}})


def claim(kind: str) -> tuple[float, float]:
    """Return the ε and δ that the library states for the query of a kind of release."""
    frame = pd.DataFrame({"unit": [1], "key": "all", "x": 0.0})
    sql = {"sum": _SUM, "failing": _FAILING, "keys": _KEYS}[kind]
    epsilon, delta = _reader(frame, groups=kind == "keys").get_privacy_cost(sql)
    return float(epsilon), float(delta)


def total(
    rows: list[float], upper: float, *, lower: float = 0, single: bool = False, ignore_nan: bool = False
) -> Callable[[], float]:
    """Return a sum. A missing value is NULL in the engine."""
    if single or ignore_nan:
        raise Missing("no 32-bit floats" if single else "no other sum")
    frame = pd.DataFrame({"unit": range(len(rows)), "key": "all", "x": rows})
    kind = "int" if isinstance(upper, int) else "float"
    reader = _reader(frame, (lower, upper), kind=kind, groups=False)
    return lambda: float(reader.execute(_SUM)[1][0])


def failing(rows: list[int]) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return a count with an expression that exceeds 64 bits on one row, and the ε that the odometer has counted."""
    reader = _reader(pd.DataFrame({"unit": rows, "key": "all", "x": 0.0}), groups=False)
    return lambda: float(reader.execute(_FAILING)[1][0]), lambda: float(reader.odometer.spent[0])


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return the groups of a query."""
    reader = _reader(pd.DataFrame({"unit": range(len(rows)), "key": rows, "x": 0.0}), groups=True)
    return lambda: sorted(row[0] for row in reader.execute(_KEYS)[1:])


if __name__ == "__main__":
    versions = {"smartnoise-sql": version("smartnoise-sql"), "opendp (of SmartNoise)": version("opendp")}
    serve(versions, neighbours="add/remove", claim=claim, sum=total, failing=failing, keys=keys)
