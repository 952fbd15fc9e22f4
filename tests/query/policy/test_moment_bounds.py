"""Bounds of dates and timestamps: days, or moments."""

# ruff: noqa: DTZ001 - kinds have no time zone

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tacit.query.expressions import Kind
from tacit.query.policy import ColumnPolicy
from tacit.query.policy.limits import bounded_column
from tacit.query.policy.mistakes import DeclaredValueError


def test_bounds_of_a_timestamp_are_days_or_moments() -> None:
    first, last = datetime(2026, 1, 1, 8), datetime(2026, 6, 30, 20)
    for pair in ((first, last), [first, last]):
        column = bounded_column(ColumnPolicy(kind="timestamp"), pair)
        assert column.days == (first.date(), last.date())
        assert column.first_and_last == (first, last)
    mixed = bounded_column(ColumnPolicy(kind="timestamp"), (first, date(2026, 6, 30)))
    assert mixed.first_and_last == (first, datetime(2026, 6, 30, 23, 59, 59, 999999))
    days = bounded_column(ColumnPolicy(kind="timestamp"), (date(2026, 1, 1), date(2026, 6, 30)))
    assert days.moments is None
    assert days.first_and_last == (datetime(2026, 1, 1), datetime(2026, 6, 30, 23, 59, 59, 999999))
    midnights = bounded_column(ColumnPolicy(kind="date"), (datetime(2026, 1, 1), datetime(2026, 6, 30)))
    assert midnights == ColumnPolicy(kind="date", days=(date(2026, 1, 1), date(2026, 6, 30)))


@pytest.mark.parametrize(
    ("kind", "pair", "given"),
    [
        ("date", (datetime(2026, 1, 1, 8), datetime(2026, 6, 30)), "2026-01-01T08:00:00 and 2026-06-30T00:00:00"),
        ("timestamp", (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 30)), "without a time zone"),
        ("timestamp", (datetime(2026, 1, 2), datetime(2026, 1, 1)), "the earlier one first"),
        ("timestamp", (1, 2), "not 1 and 2"),
        ("timestamp", (datetime(2026, 1, 1),), "not a tuple of 1"),
    ],
)
def test_other_bounds_of_moments_are_refused_and_shown(kind: Kind, pair: object, given: str) -> None:
    with pytest.raises(DeclaredValueError, match=given):
        bounded_column(ColumnPolicy(kind=kind), pair)


def test_a_policy_file_may_have_datetimes_as_bounds(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([datetime(2026, 3, 1)], pa.timestamp("us"))}), tmp_path / "v.parquet")
    path = tmp_path / "v.toml"
    path.write_text(
        'budget = { epsilon = 1.0 }\n[tables.v]\nsource = "v.parquet"\neach_row = true\n[tables.v.columns]\n'
        "at = { bounds = [2026-01-01T08:00:00, 2026-06-30T20:00:00] }\n"
    )
    with tc.open(path) as db:
        plan = db.plan("SELECT date_trunc('day', \"at\") AS d, count(*) AS n FROM v GROUP BY d", epsilon=1).plan
        assert len(plan.keys[0].listed) == 181
