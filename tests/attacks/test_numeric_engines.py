"""Sums of PostgreSQL and Spark under the attacks of `test_numeric_sums`: poison, order, numbers beyond a double."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from attacks.test_numeric_sums import CANCELLING, Bounds, measured, plan_of
from contract.homes import on_spark
from contract.test_questions import SECRET, oversteps
from postgres_server import Database, database
from tacit.engines.postgres.engine import open_postgres
from tacit.query.plan import Plan


@pytest.fixture(scope="module")
def place() -> Iterator[Database]:
    with database() as found:
        yield found


def on_postgres(place: Database, type_name: str, texts: Sequence[str | None], plan: Plan) -> list[list[int]]:
    """Return the exact integers that a query gets from PostgreSQL, for values that are written as text."""
    place.run(f"DROP TABLE IF EXISTS t; CREATE TABLE t (x {type_name})")
    for text in texts:
        place.run("INSERT INTO t VALUES (%s)", [text])
    place.grant("t")
    engine = open_postgres(place.reader, table="t")
    try:
        return [list(map(int, each)) for each in engine.measure_with(plan, SECRET)]
    finally:
        engine.close()


ON_POSTGRES: list[tuple[str, Bounds, list[str | None]]] = [
    ("float8", (-1e16, 1e16), ["1e16", "1", "-1e16", "NaN", "Infinity", "-Infinity", None, "5e-324"]),
    ("numeric", (-1e300, 1e300), ["1e400", "-1e400", "1e-400", "NaN", "Infinity", "0.1", None]),
    ("numeric(1000,0)", (-1000, 1000), ["1" + "0" * 900, "-1" + "0" * 900, "5"]),
    ("float4", (0, 2.0**24), ["16777216", "1.0000001", "1.0000001", "3e38"]),
]


@pytest.mark.parametrize(
    ("type_name", "bounds", "texts"), ON_POSTGRES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_no_row_of_postgresql_moves_an_answer_beyond_its_noise(
    place: Database, type_name: str, bounds: Bounds, texts: list[str | None]
) -> None:
    plan = plan_of("SELECT sum(x) AS s, avg(x) AS a, median(x) AS m, var_pop(x) AS v FROM t", bounds)
    before = on_postgres(place, type_name, texts, plan)
    for place_of_row in range(len(texts)):
        rest = [text for other, text in enumerate(texts) if other != place_of_row]
        assert oversteps(plan, before, on_postgres(place, type_name, rest, plan)) == []


def test_the_order_of_rows_changes_nothing_on_postgresql(place: Database) -> None:
    texts = ["1e16", "1", "-1e16", "1", "9.3e-10"]
    plan = plan_of("SELECT sum(x) AS s FROM t", (-1e16, 1e16))
    sums = [on_postgres(place, "float8", order, plan) for order in (texts, texts[::-1], sorted(texts))]
    assert sums[0] == sums[1] == sums[2]
    raw = []
    for order in (texts, texts[::-1], ["1", "1", "1e16", "-1e16", "9.3e-10"]):
        place.run("TRUNCATE t")
        for text in order:
            place.run("INSERT INTO t VALUES (%s)", [text])
        raw.append(place.run("SELECT sum(x) FROM t")[0][0])
    assert len(set(raw)) > 1


@pytest.mark.long
def test_sums_of_spark_are_exact_in_all_orders() -> None:
    plan = plan_of("SELECT sum(x) AS s, avg(x) AS a FROM t", (-1e16, 1e16))
    found = []
    for order in (CANCELLING, CANCELLING[::-1], sorted(CANCELLING)):
        with on_spark({"x": "real"}, [{"x": value} for value in [*order, math.nan, math.inf, None]]) as engine:
            found.append([list(map(int, each)) for each in engine.measure_with(plan, SECRET)])
    assert found[0] == found[1] == found[2] == measured(plan, pa.array([*CANCELLING, math.nan, math.inf, None]))
