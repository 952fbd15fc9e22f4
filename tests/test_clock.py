"""current_date and now() are constants of a query: of the time at which it is planned, in the policy's time zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

import tacit as tc
from tacit.database import Database
from tacit.query.pricing.price import Cost
from tacit.query.results.quote import Question
from tacit.query.sql.clock import time_in_zone

DAYS = [date(2026, 11, 17), date(2026, 11, 18), date(2026, 11, 19)]
QUERY = "SELECT count(*) AS n FROM t WHERE day >= current_date"


def opened(timezone: str | None = None, **more: object) -> Database:
    rows = pa.table({"day": pa.array(DAYS)})
    return tc.open(rows, name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=1e6), timezone=timezone, **more)  # type: ignore[arg-type]


def planned(db: Database, query: str, at: datetime) -> str:
    """Return the SQL of the plan of a query that is asked at an instant."""
    question = Question(query=query, cost=Cost(epsilon=1), asked_at=at)
    return db._session.quote(question).plan.sql


@pytest.mark.parametrize(
    ("zone", "day"), [("Pacific/Auckland", "2026-11-19"), ("America/New_York", "2026-11-18"), (None, "2026-11-18")]
)
def test_the_plan_has_the_date_of_the_policys_time_zone(zone: str | None, day: str) -> None:
    at = datetime(2026, 11, 18, 20, 30, 15, 77, tzinfo=UTC)
    sql = planned(opened(zone), QUERY, at)
    assert sql.endswith(f"WHERE day >= CAST('{day}' AS DATE)")
    assert planned(opened(zone), QUERY.replace("current_date", "today()"), at) == sql


def test_every_spelling_of_the_time_is_one_constant_in_whole_seconds() -> None:
    at = datetime(2026, 11, 18, 20, 30, 15, 77, tzinfo=UTC)
    for word in ("now()", "current_timestamp", "localtimestamp", "get_current_timestamp()"):
        sql = planned(opened(), QUERY.replace("current_date", f"{word} - INTERVAL 1 DAY"), at)
        assert "CAST('2026-11-18 20:30:15' AS TIMESTAMP)" in sql


def test_a_repeat_on_another_day_is_another_query() -> None:
    first, later = (datetime(2026, 11, 18, 12, tzinfo=UTC) + timedelta(hours=hours) for hours in (0, 13))
    assert planned(opened(), QUERY, first) == planned(opened(), QUERY, first + timedelta(hours=1))
    assert planned(opened(), QUERY, first) != planned(opened(), QUERY, later)


def test_the_receipt_has_the_date_and_the_answer_counts_from_it() -> None:
    db = opened()
    today = datetime.now(UTC).date()
    answer = db.sql(QUERY, epsilon=1e4)
    assert f"CAST('{today}' AS DATE)" in str(answer.receipt["question"])
    assert answer.rows() == [(sum(day >= today for day in DAYS),)]


def test_the_local_time_skips_the_hour_that_clocks_skip() -> None:
    before, after = (datetime(2026, 3, 29, 0, 59, tzinfo=UTC) + timedelta(minutes=minutes) for minutes in (0, 1))
    assert time_in_zone(before, "Europe/Zurich") == datetime(2026, 3, 29, 1, 59)  # noqa: DTZ001
    assert time_in_zone(after, "Europe/Zurich") == datetime(2026, 3, 29, 3, 0)  # noqa: DTZ001
