"""Queries over dates have the answers of DuckDB's plain SQL, on every engine; at a huge ε the noise vanishes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import duckdb
import pytest

import tacit as tc
from contract.homes import arrow, frame
from postgres_server import database
from tacit.database import Database
from tacit.query.expressions import Kind, Value

KINDS: dict[str, Kind] = {"day": "date", "gone": "date", "at": "timestamp"}
BOUNDS = {
    "day": (date(2023, 12, 1), date(2024, 3, 31)),
    "gone": (date(2023, 12, 1), date(2024, 4, 30)),
    "at": (datetime(2023, 12, 1), datetime(2024, 3, 31, 23)),  # noqa: DTZ001 - without a zone
}
QUERIES = [
    "SELECT strftime(day, '%Y-%m') AS month, count(*) AS n FROM v GROUP BY month ORDER BY month",
    'SELECT dayname("at") AS name, count(*) AS n FROM v GROUP BY name ORDER BY name',
    'SELECT extract(week FROM "at") AS w, count(*) AS n FROM v GROUP BY w ORDER BY w',
    "SELECT round(avg(gone - day), 3) AS stay, round(avg(date_diff('hour', day, \"at\")), 3) AS h FROM v",
    "SELECT round(avg(date_sub('month', day, gone)), 3) AS m, round(avg(date_sub('day', \"at\", gone)), 3) AS d FROM v",
    "SELECT round(avg(extract(month FROM age(gone, day))), 3) AS m FROM v",
    'SELECT count(*) AS n FROM v WHERE day + INTERVAL 1 MONTH > gone AND "at" < gone - INTERVAL 36 HOUR',
    'SELECT count(*) AS n FROM v WHERE gone - 7 >= day AND epoch("at") > epoch(day) + 1000',
    "SELECT quantile_disc(day, 0.503) AS half, quantile_disc(gone, 0.253) AS quarter FROM v",
]


def rows() -> list[dict[str, Value]]:
    chance = random.Random(7)  # noqa: S311 - test data
    found: list[dict[str, Value]] = []
    for _ in range(600):
        day = date(2023, 12, 1) + timedelta(days=chance.randrange(122))
        gone = min(day + timedelta(days=chance.randrange(45)), date(2024, 4, 30))
        at = datetime(2023, 12, 1) + timedelta(seconds=chance.randrange(122 * 86_400 - 3_600))  # noqa: DTZ001
        found.append({"day": day, "gone": None if chance.random() < 0.05 else gone, "at": at})
    return found


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    budget = tc.PureDP(epsilon=1e12)
    if request.param != "postgres":
        made = arrow(KINDS, rows()) if request.param == "duckdb" else frame(KINDS, rows())
        with tc.open(made, name="v", unit=tc.ROW, bounds=BOUNDS, budget=budget) as opened:
            yield opened
        return
    with database() as server:
        server.fill("v", KINDS, rows())
        with tc.open(server.reader, table="v", unit=tc.ROW, bounds=BOUNDS, budget=budget) as opened:
            yield opened


def test_queries_over_dates_have_the_answers_of_plain_sql(db: Database) -> None:
    v = arrow(KINDS, rows())
    plain = duckdb.connect()
    plain.register("v", v)
    for query in QUERIES:
        assert db.sql(query, epsilon=1e9).rows() == plain.execute(query).fetchall(), query


def test_averages_and_extremes_of_dates_are_dates(db: Database) -> None:
    answer = db.sql('SELECT avg(day) AS mid, median("at") AS half, min(day) AS first FROM v', epsilon=1e9)
    ((mid, half, first),) = answer.rows()
    days = sorted(row["day"].toordinal() for row in rows())  # type: ignore[union-attr]
    assert mid == date.fromordinal(int(sum(days) / len(days) + 0.5))
    moments = sorted(row["at"] for row in rows())  # type: ignore[type-var]
    assert isinstance(half, datetime)
    width = timedelta(seconds=4096)  # of a bin
    assert moments[299] - width <= half <= moments[300] + width  # type: ignore[operator]
    assert isinstance(first, date)
    assert abs((first - date.fromordinal(days[0])).days) <= 1
    (low, high) = (answer.intervals().dicts()[0][f"mid_{end}"] for end in ("low", "high"))
    assert isinstance(low, date)
    assert low <= mid <= high  # type: ignore[operator]
