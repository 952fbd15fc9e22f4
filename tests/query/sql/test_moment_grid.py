"""Labels of a timestamp with bounds: exactly those of the moments between the bounds."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

FIRST, LAST = datetime(2024, 2, 27, 22, 30), datetime(2024, 3, 2, 1, 15)  # noqa: DTZ001 - without a zone
POLICY = ColumnPolicy(kind="timestamp", days=(FIRST.date(), LAST.date()), moments=(FIRST, LAST))
T = TablePolicy(
    name="v",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={"t": POLICY, "free": ColumnPolicy(kind="timestamp")},
)
MOMENTS = [FIRST + timedelta(minutes=minutes) for minutes in range(int((LAST - FIRST).total_seconds()) // 60 + 1)]


def keys(term: str) -> tuple[object, ...] | None:
    (key,) = parse(f"SELECT {term} AS k, count(*) AS n FROM v GROUP BY k", {"v": T}).keys  # noqa: S608 - terms of this file
    return key.values


@pytest.mark.parametrize("form", ["%Y-%m", "%Y-%m-%d", "%G-W%V", "%d.%m. %Hh", "%H:%M on %d", "%j", "%Y-%m-%d %I %p"])
def test_the_labels_are_those_of_all_moments_within_the_bounds(form: str) -> None:
    assert keys(f"strftime(t, '{form}')") == tuple(sorted({moment.strftime(form) for moment in MOMENTS}))


def test_units_of_time_are_listed_between_the_bounds() -> None:
    hours = {moment.replace(minute=0) for moment in MOMENTS}
    assert keys("date_trunc('hour', t)") == tuple(sorted(hours))
    assert keys("date_trunc('day', t)") == tuple(sorted({hour.replace(hour=0) for hour in hours}))


def test_names_and_parts_of_the_time_need_no_bounds() -> None:
    assert len(keys("strftime(free, '%A')") or ()) == 7
    assert len(keys("monthname(free)") or ()) == 12
    for part, count in (("hour", 24), ("minute", 60), ("second", 60), ("isodow", 7), ("week", 53), ("doy", 366)):
        assert len(keys(f"extract({part} FROM free)") or ()) == count
    assert keys("strftime(free, '%Y-%m')") is None
    assert keys("free") is None
