"""A policy's time zone, from its declaration to an answer and the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from cli_runs import run
from tacit.database import Database
from tacit.query.policy.mistakes import PolicyError

DAY = datetime(2026, 10, 25, tzinfo=UTC)
LINE = 'timezone = "Europe/Zurich"'
BUDGET = tc.PureDP(epsilon=10_000)


def table(hours: Sequence[float]) -> pa.Table:
    """Return a table of instants, some hours after midnight UTC of the day on which clocks in Zurich go back."""
    instants = [DAY + timedelta(hours=hour) for hour in hours]
    return pa.table({"at": pa.array(instants, pa.timestamp("us", "UTC")), "ward": ["A"] * len(instants)})


def opened(rows: pa.Table, timezone: str | None = "Europe/Zurich", **others: object) -> Database:
    return tc.open(rows, unit=tc.ROW, budget=BUDGET, timezone=timezone, **others)  # type: ignore[arg-type]  # its options


def test_days_and_hours_are_those_of_the_zone() -> None:
    db = opened(table([-2.5, -1.5, 0.5, 1.5, 22.5, 23.5]), bounds={"at": (date(2026, 10, 24), date(2026, 10, 26))})
    days = db.sql("SELECT CAST(at AS DATE) AS day, count(*) FROM data GROUP BY day", epsilon=100).rows()
    assert days == [(date(2026, 10, 24), 1), (date(2026, 10, 25), 4), (date(2026, 10, 26), 1)]
    sql = "SELECT hour(at) AS h, count(*) FROM data WHERE CAST(at AS DATE) = '2026-10-25' GROUP BY h"
    assert db.sql(sql, keys={"h": [0, 1, 2, 3, 23]}, epsilon=100).rows() == [(0, 1), (1, 0), (2, 2), (3, 0), (23, 1)]


def test_a_constant_is_a_local_time() -> None:
    db = opened(table([-2.5, -1.5]))
    assert db.sql("SELECT count(*) FROM data WHERE at >= '2026-10-25'", epsilon=100).rows() == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM data WHERE at > '2026-01-01'",
        "SELECT hour(at), count(*) FROM data GROUP BY 1",
        "SELECT count(DISTINCT at) FROM data",
        "SELECT count(*) FROM (SELECT at AS b FROM data) AS d WHERE hour(b) = 2",
        "SELECT count(*) FROM (SELECT * FROM data) AS d WHERE at IS NULL",
        "SELECT count(at) FROM data",
    ],
)
def test_without_a_zone_a_query_that_uses_instants_is_refused(sql: str) -> None:
    db = opened(table([0]), timezone=None)
    with pytest.raises(tc.RefusedError, match=r"time zone.*timezone = \"Europe/Zurich\"") as caught:
        db.sql(sql, epsilon=1)
    assert str(caught.value).endswith("Nothing was spent.")
    assert db.spent == tc.PureDP(epsilon=0)


def test_private_bounds_of_instants_need_a_zone() -> None:
    with pytest.raises(tc.RefusedError, match="time zone"):
        opened(table([0]), timezone=None).bounds("at", epsilon=1)


def test_required_instants_need_a_zone() -> None:
    declared: dict[str, Any] = {"required": ["at"], "keys": {"at": [datetime(2026, 10, 25, 2, 30)]}}  # noqa: DTZ001 - a local time
    with pytest.raises(tc.RefusedError, match="time zone"):
        opened(table([0.5]), timezone=None, **declared).sql("SELECT count(at) FROM data", epsilon=1)
    assert opened(table([0.5, 1.5]), **declared).sql(
        "SELECT at, count(*) FROM data GROUP BY at", epsilon=100
    ).rows() == [
        (datetime(2026, 10, 25, 2, 30), 2)  # noqa: DTZ001 - a local time
    ]


def test_instants_that_are_not_used_need_no_zone() -> None:
    db = opened(table([0, 1]), timezone=None, keys={"ward": ["A", "B"]})
    assert db.sql("SELECT ward, count(*) FROM data GROUP BY ward", epsilon=100).rows() == [("A", 2), ("B", 0)]
    hidden = opened(table([0, 1]), timezone=None, hidden=["at"])
    with pytest.raises(tc.RefusedError, match="hides"):
        hidden.sql("SELECT count(at) FROM data", epsilon=1)


def test_a_unit_of_instants_needs_no_zone_and_stays_exact() -> None:
    rows = table([0.5, 1.5, 1.5])  # 0:30 and 1:30 UTC are both 2:30 in Zurich
    for zone in (None, "Europe/Zurich"):
        db = tc.open(rows, unit="at", reach=1, budget=BUDGET, timezone=zone)
        assert db.sql("SELECT count(*) FROM data", epsilon=100).rows() == [(2,)]


def test_a_zone_without_instants_changes_nothing() -> None:
    rows = pa.table({"x": [1, 2]})
    plans = [opened(rows, zone).plan("SELECT count(*) FROM data", epsilon=1) for zone in (None, "Asia/Tokyo")]
    assert repr(plans[0].plan) == repr(plans[1].plan)


def test_timestamps_without_a_zone_are_read_as_they_are() -> None:
    rows = pa.table({"at": pa.array([datetime(2026, 10, 25, 5)], pa.timestamp("us"))})  # noqa: DTZ001 - on purpose
    sql = "SELECT count(*) FROM data WHERE hour(at) = 5"
    assert [opened(rows, zone).sql(sql, epsilon=100).rows() for zone in (None, "Asia/Tokyo")] == [[(1,)], [(1,)]]


def test_a_column_of_instants_can_be_read_as_dates() -> None:
    db = opened(table([22.5, 23.5]), types={"at": "date"}, keys={"at": [date(2026, 10, 25), date(2026, 10, 26)]})
    assert [row[1] for row in db.sql("SELECT at, count(*) FROM data GROUP BY at", epsilon=100).rows()] == [1, 1]


def test_public_tables_are_read_in_the_zone_too() -> None:
    public = {"days": pa.table({"at": table([0.5]).column("at"), "name": ["repeated"]})}
    sql = "SELECT name, count(*) FROM data JOIN days ON data.at = days.at GROUP BY name"
    assert opened(table([0.5, 1.5, 2.5]), public=public).sql(sql, epsilon=100).rows() == [("repeated", 2)]
    without = opened(table([0.5]), timezone=None, public=public)
    with pytest.raises(tc.RefusedError, match="time zone"):
        without.sql(sql, epsilon=1)


@pytest.mark.parametrize("zone", ["", "Europe/Zurch", "localtime", 7])
def test_a_value_that_is_not_a_zone_is_a_mistake_in_the_policy(zone: str) -> None:
    with pytest.raises(PolicyError, match="timezone must be a name of the IANA time zone database"):
        opened(table([0]), zone)


def policy(folder: Path, line: str = LINE) -> Path:
    pq.write_table(table([0.5, 1.5]), folder / "visits.parquet")
    file = folder / "visits.toml"
    file.write_text(
        f'budget = {{ epsilon = 100 }}\nledger = "visits.ledger"\ndata_version = "1"\n{line}\n'
        '[tables.visits]\nsource = "visits.parquet"\neach_row = true\n'
    )
    return file


def test_a_policy_file_names_the_zone(tmp_path: Path) -> None:
    db = tc.open(policy(tmp_path))
    assert db.sql("SELECT count(*) FROM visits WHERE hour(at) = 2", epsilon=40).rows() == [(2,)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('timezone = "Europe/Zurch"', "line 4.*timezone must be a name.*did you mean 'Europe/Zurich'"),
        ('timezone = ""', "timezone is not filled in yet"),
        ("timezone = 7", "timezone must be a name"),
    ],
)
def test_a_mistake_in_a_policy_file_has_its_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(PolicyError, match=f"(?s){message}") as caught:
        tc.open(policy(tmp_path, line))
    assert len(caught.value.mistakes) == 1


def test_a_changed_zone_must_be_accepted_and_repeats_no_recorded_answer(tmp_path: Path) -> None:
    sql = "SELECT count(*) FROM visits WHERE hour(at) = 2"
    assert tc.open(policy(tmp_path)).sql(sql, epsilon=40).rows() == [(2,)]
    other = policy(tmp_path, 'timezone = "UTC"')
    with pytest.raises(tc.RefusedError, match="timezone of visits: Europe/Zurich became UTC"):
        tc.open(other)
    db = tc.open(other, accept=True)
    assert db.sql(sql, epsilon=40).rows() == [(0,)]
    assert db.spent == tc.PureDP(epsilon=80)


def test_the_zone_is_part_of_every_query_on_a_table_with_instants() -> None:
    databases = [opened(table([0]), zone) for zone in ("UTC", "Europe/Zurich", "Asia/Tokyo")]
    for sql in ("SELECT count(*) FROM data", "SELECT count(*) FROM data WHERE hour(at) = 2"):
        assert len({repr(db.plan(sql, epsilon=1).plan) for db in databases}) == len(databases)


def test_the_same_zone_repeats_a_recorded_answer(tmp_path: Path) -> None:
    sql = "SELECT count(*) FROM visits WHERE hour(at) = 2"
    for _ in range(2):
        db = tc.open(policy(tmp_path))
        db.sql(sql, epsilon=40)
    assert db.spent == tc.PureDP(epsilon=40)


def test_init_asks_for_the_zone_only_if_there_are_instants(tmp_path: Path) -> None:
    policy(tmp_path)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "plain.parquet")
    printed = [run(tmp_path, "init", name).stdout for name in ("visits.parquet", "plain.parquet")]
    assert 'timezone = ""' in printed[0]
    assert "timezone" not in printed[1]
