"""A unit that the policy takes for an integer, in a column of other numbers: no two whole numbers become one."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from contract.plans import plan, table
from spark_session import spark
from tacit.engines.duckdb import open_duckdb
from tacit.engines.spark import open_spark
from tacit.engines.statements.engine import StatementEngine
from tacit.query.plan import Measure

UNITS = Measure(value=None, per="unit")
NEAR = [2**53, 2**53 + 1, 2**62, 2**62 + 1, -1]


def on_duckdb(kind: pa.DataType, values: list[object]) -> StatementEngine:
    return open_duckdb(pa.table({"u": pa.array(values, kind)}), threads=1)


def on_spark(kind: pa.DataType, values: list[object]) -> StatementEngine:
    return open_spark(spark().createDataFrame(pa.table({"u": pa.array(values, kind)})))


@pytest.mark.parametrize("opened", [on_duckdb, on_spark])
@pytest.mark.parametrize(
    ("kind", "values", "units"),
    [
        (pa.decimal128(38, 0), [*map(Decimal, NEAR), Decimal(10) ** 37], len(NEAR)),  # what is beyond 64 bits is nobody
        (pa.decimal128(30, 2), [*map(Decimal, NEAR)], len(NEAR)),
        (pa.float64(), [2.0**53, 2.0**53 + 2, -1.0, float("nan"), float("inf"), 1e300, 2.0**63], 3),
    ],
    ids=str,
)
def test_whole_numbers_stay_apart(opened: object, kind: pa.DataType, values: list[object], units: int) -> None:
    engine = opened(kind, values)  # type: ignore[operator]
    try:
        asked = plan(table(kinds={"u": "integer"}), UNITS)
        assert engine.measure(asked) == [[units]]
    finally:
        engine.close()
