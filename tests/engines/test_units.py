"""A unit that the policy takes for an integer, in a column of other numbers: no two units become one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from decimal import Decimal

import pyarrow as pa
import pytest

from contract.plans import plan, table
from postgres_server import database
from spark_session import spark
from tacit.engines.duckdb.engine import open_duckdb
from tacit.engines.postgres.engine import open_postgres
from tacit.engines.spark.engine import open_spark
from tacit.engines.sql.engine import StatementEngine
from tacit.query.plan import Measure

UNITS = Measure(value=None, per="unit")
NEAR = [2**53, 2**53 + 1, 2**62, 2**62 + 1, -1]


Opened = Callable[[pa.DataType, list[object]], AbstractContextManager[StatementEngine]]


def on_duckdb(kind: pa.DataType, values: list[object]) -> AbstractContextManager[StatementEngine]:
    return closing(open_duckdb(pa.table({"u": pa.array(values, kind)}), threads=1))


def on_spark(kind: pa.DataType, values: list[object]) -> AbstractContextManager[StatementEngine]:
    return closing(open_spark(spark().createDataFrame(pa.table({"u": pa.array(values, kind)}))))


@contextmanager
def on_postgres(kind: pa.DataType, values: list[object]) -> Iterator[StatementEngine]:
    written = "float8" if pa.types.is_floating(kind) else f"numeric({kind.precision}, {kind.scale})"
    with database() as made:
        made.run(f"CREATE TABLE t (u {written})")
        for value in values:
            made.run("INSERT INTO t VALUES (%s)", [value])
        made.grant("t")
        with closing(open_postgres(made.reader, table="t")) as engine:
            yield engine


@pytest.mark.parametrize("opened", [on_duckdb, on_postgres, on_spark])
@pytest.mark.parametrize(
    ("kind", "values", "units"),
    [
        (pa.decimal128(38, 0), [*map(Decimal, NEAR), Decimal(10) ** 37], len(NEAR)),  # what is beyond 64 bits is nobody
        (pa.decimal128(30, 2), [*map(Decimal, NEAR)], len(NEAR)),
        (pa.float64(), [2.0**53, 2.0**53 + 2, -1.0, float("nan"), float("inf"), 1e300, 2.0**63], 3),
        (
            pa.float64(),
            [-(2.0**63), -0.0, 0.0, 7.0, 7.25, 6.9, 0.4, 2.0**52 + 0.5, 5e-324, -1e300],
            4,
        ),  # parts are nobody
        (pa.decimal128(20, 1), [Decimal(f"{2**53 + more}.{part}") for more, part in ((1, 4), (2, 0), (0, 4))], 1),
    ],
    ids=str,
)
def test_whole_numbers_stay_apart(opened: Opened, kind: pa.DataType, values: list[object], units: int) -> None:
    with opened(kind, values) as engine:
        assert engine.measure(plan(table(kinds={"u": "integer"}), UNITS)) == [[units]]
