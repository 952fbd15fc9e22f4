"""Run tacit's mechanisms, and its SQL on DuckDB. Neighbours add or remove one person."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from attack_serve import serve
from serve import Missing

import tacit as tc
from tacit.database import Database

_BUDGET = tc.ApproxDP(epsilon=10**6, delta=0.5)


def number(value: float, law: str) -> Callable[[], Any]:
    """Return a release of one number: integer noise for an integer, and noise on a grid for a real number."""
    if law == "snapping":
        raise Missing("no snapping mechanism")
    one = type(value)(1)
    mechanism = (
        tc.Gaussian(sensitivity=one, epsilon=1, delta=1e-6)
        if law == "gaussian"
        else tc.Laplace(sensitivity=one, epsilon=1)
    )
    return lambda: mechanism.release(value)


def _open(columns: dict[str, Any], **policy: Any) -> Database:  # noqa: ANN401 - any part of a policy
    return tc.open(pa.table(columns), unit="person", max_groups=1, max_rows=1, budget=_BUDGET, name="t", **policy)


def total(
    rows: list[float], upper: float, *, lower: float = 0, single: bool = False, ignore_nan: bool = False
) -> Callable[[], Any]:
    """Return a sum."""
    if ignore_nan:
        raise Missing("no other sum")
    kind = pa.float32() if single else pa.int64() if isinstance(upper, int) else pa.float64()
    db = _open({"person": range(len(rows)), "x": pa.array(rows, type=kind)}, bounds={"x": (lower, upper)})
    return lambda: db.sql("SELECT sum(x) AS s FROM t", epsilon=1).rows()[0][0]


def failing(rows: list[int]) -> tuple[Callable[[], Any], Callable[[], float]]:
    """Return a count with an expression that exceeds 64 bits on one row, and the ε that is spent."""
    db: Any = _open({"person": rows})
    sql = "SELECT count(*) AS n FROM t WHERE abs(-9223372036854775807 - person) > 0"
    return lambda: db.sql(sql, epsilon=1).rows()[0][0], lambda: float(_BUDGET.epsilon - db.left.epsilon)


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return the groups that a query finds."""
    db = _open({"person": range(len(rows)), "key": rows})
    sql = "SELECT key, count(*) AS n FROM t GROUP BY key"
    return lambda: sorted(str(row[0]) for row in db.sql(sql, epsilon=1, delta=1e-6).rows())


if __name__ == "__main__":
    serve({"tacit": version("tacit")}, neighbours="add/remove", number=number, sum=total, failing=failing, keys=keys)
