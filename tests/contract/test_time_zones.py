"""Instants are read as local times of a time zone, alike on every engine, and as Python's zoneinfo computes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from contract.homes import OnPostgres
from contract.tables import Opener
from row_values import computed
from spark_session import spark
from tacit.engines.duckdb.engine import open_duckdb
from tacit.engines.postgres.engine import open_postgres
from tacit.engines.spark.engine import open_spark
from tacit.engines.sql.engine import StatementEngine
from tacit.query.expressions import Call, Column, Constant, Expression, Value

ZONES = (
    "Europe/Zurich",
    "Asia/Kolkata",  # half an hour
    "Australia/Lord_Howe",  # south of the equator, with half an hour of summer time
    "America/New_York",  # rules that changed in 1967, 1987 and 2007
    "Pacific/Apia",  # skipped 30 December 2011
    "America/Nuuk",  # turns on the evening before
    "Africa/Casablanca",  # a list of changes until 2087
)
TURNS = (
    *(
        "2026-03-29 01:00",
        "2026-10-25 01:00",
        "1981-03-29 01:00",
        "1977-06-01 00:00",
    ),  # Zurich; summer time since 1981
    *("1945-10-14 17:30", "2026-04-04 15:00", "2026-10-03 15:30"),  # Kolkata, Lord Howe
    *("2006-04-02 07:00", "2007-03-11 07:00", "2007-11-04 06:00", "2026-11-01 06:00", "9999-03-14 07:00"),  # New York
    *("2011-12-30 10:00", "2026-03-29 01:00", "2030-12-22 02:00"),  # Apia, Nuuk, Casablanca
    *("2000-01-01 00:00", "2400-02-29 12:00", "1883-11-18 17:00", "1894-06-01 00:00"),  # New York and Zurich
)
STEPS = (-86_400, -7_200, -3_600, -1_800, 0, 1_800, 3_600, 7_200)
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def instants() -> list[datetime | None]:
    turns = [datetime.fromisoformat(turn).replace(tzinfo=UTC) for turn in TURNS]
    near = {turn + timedelta(seconds=step) for turn in turns for step in STEPS}
    just_before = {turn - timedelta(microseconds=1) for turn in turns}
    ends = {FIRST, FIRST + timedelta(hours=13), LAST, LAST - timedelta(hours=13, microseconds=1)}
    return [None, *sorted(near | just_before | ends)]


def local(instant: datetime | None, zone: str) -> datetime | None:
    """Return the local time by zoneinfo; None outside the years 1 to 9999."""
    try:
        return None if instant is None else instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)
    except OverflowError:
        return None


@contextmanager
def opened(engine: Opener, rows: Sequence[datetime | None]) -> Iterator[StatementEngine]:
    """Open an engine on a table with a column of instants; PostgreSQL has instants beyond the calendar too."""
    if engine.name == "duckdb":
        table = {"place": list(range(len(rows))), "at": pa.array(rows, pa.timestamp("us", "Asia/Tokyo"))}
        with closing(open_duckdb(pa.table(table), threads=2)) as source:
            yield source
    elif engine.name == "spark":
        frame = spark().createDataFrame(list(enumerate(rows)), "place BIGINT, at TIMESTAMP")
        with closing(open_spark(frame)) as source:
            yield source
    else:
        assert isinstance(engine.open, OnPostgres)
        place = engine.open.place
        texts = [None if row is None else row.isoformat() for row in rows]
        place.run("CREATE TABLE instants (place bigint, at timestamptz)")
        place.run(
            "INSERT INTO instants SELECT n - 1, t::timestamptz FROM unnest(%s::text[]) WITH ORDINALITY AS r(t, n)",
            [texts],
        )
        beyond = "('infinity'), ('-infinity'), ('4713-01-01 BC'), ('0001-01-01 BC'), ('10000-01-01'), ('294000-01-01')"
        place.run(f"INSERT INTO instants SELECT 1000000, t::timestamptz FROM (VALUES {beyond}) AS r(t)")  # noqa: S608
        place.grant("instants")
        with closing(open_postgres(place.reader, table="instants")) as source:
            yield source
        place.run("DROP TABLE instants")


def test_instants_become_the_local_times_of_zoneinfo(engine: Opener) -> None:
    rows = instants()
    at = [Column("at", "timestamp", zone) for zone in ZONES]
    zurich = at[0]
    parts: list[Expression] = [
        Column("at", "date", ZONES[0]),
        Call("hour", (zurich,), "integer"),
        Call("date_trunc", (Constant("day", "text"), zurich), "timestamp"),
    ]
    with opened(engine, rows) as source:
        assert source.zoned() == ("at",)
        found = computed(source, [*at, *parts])
    expected = [(*(local(row, zone) for zone in ZONES), *_parts(local(row, ZONES[0]))) for row in rows]
    assert found[: len(rows)] == expected
    assert all(value is None for row in found[len(rows) :] for value in row)


def _parts(moment: datetime | None) -> tuple[Value, ...]:
    if moment is None:
        return None, None, None
    return (
        date(moment.year, moment.month, moment.day),
        moment.hour,
        moment.replace(hour=0, minute=0, second=0, microsecond=0),
    )


def test_the_skipped_hour_has_no_rows_and_the_repeated_hour_has_two(engine: Opener) -> None:
    spring, autumn = datetime(2026, 3, 28, 23, 30, tzinfo=UTC), datetime(2026, 10, 24, 22, 30, tzinfo=UTC)
    rows = [start + timedelta(hours=hours) for start in (spring, autumn) for hours in range(5)]
    with opened(engine, rows) as source:
        hours = [
            row[0] for row in computed(source, [Call("hour", (Column("at", "timestamp", "Europe/Zurich"),), "integer")])
        ]
    assert hours[:10] == [0, 1, 3, 4, 5, 0, 1, 2, 2, 3]


@pytest.mark.parametrize("zone", ZONES)
def test_the_table_reaches_both_sides_of_a_change_of_each_zone(zone: str) -> None:
    offsets = {moment - row.replace(tzinfo=None) for row in instants() if row and (moment := local(row, zone))}
    assert len(offsets) > 1
