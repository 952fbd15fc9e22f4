"""Queries that compute with private aggregates, on every engine: the inner part runs there, the outer one never."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from contract.tables import Row
from postgres_server import Database, database
from spark_session import spark
from tacit.query.expressions import Kind
from test_derived import AREAS, EXACT, QUERIES, REGIONS, SHARES, VISITS, T, rounded, truth

KINDS: dict[str, Kind] = {"person": "integer", "region": "text", "urban": "boolean", "cost": "integer"}
AREA_KINDS: dict[str, Kind] = {"region": "text", "area": "real"}
ASKED = [
    SHARES,
    T + "SELECT areas.region, n / area AS density FROM areas LEFT JOIN t ON t.region = areas.region",
    "SELECT region, urban, count(*) AS n, sum(cost) AS s FROM visits GROUP BY CUBE (region, urban)",
    QUERIES[6],
]


@pytest.fixture(scope="module")
def place() -> Iterator[Database]:
    with database() as made:
        made.fill("visits", KINDS, rows(VISITS))
        made.fill("areas", AREA_KINDS, rows(AREAS))
        yield made


def rows(frame: pd.DataFrame) -> list[Row]:
    return frame.to_dict("records")  # type: ignore[no-any-return]  # pandas has no types


@contextmanager
def opened(source: object, public: object, **more: Any) -> Iterator[Any]:  # noqa: ANN401 - passed on
    db = tc.open(
        source,
        name="visits",
        unit=tc.ROW,
        bounds={"cost": (0, 100)},
        keys={"region": REGIONS},
        public={"areas": public},
        budget=tc.PureDP(epsilon=EXACT * 100),
        **more,
    )
    with db:
        yield db


def check(db: Any) -> None:  # noqa: ANN401 - a database
    for sql in ASKED:
        answer = db.sql(sql, epsilon=EXACT)
        assert sorted(map(rounded, answer.rows()), key=repr) == sorted(truth(sql), key=repr)
    noisy = db.sql(SHARES, epsilon=1)
    assert all(pair is not None for pair in noisy.columns()[2].ends or (None,))


def test_on_postgres(place: Database) -> None:
    with opened(place.reader, (place.reader, "areas"), table="visits") as db:
        check(db)


def test_on_spark() -> None:
    session = spark()
    with opened(session.createDataFrame(VISITS), session.createDataFrame(AREAS)) as db:
        check(db)
