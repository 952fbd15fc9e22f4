"""Time zones: every zone of the database against Python's zoneinfo, on both sides of every change."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tacit.errors import InvalidError
from tacit.query.evaluate import evaluator
from tacit.query.expressions import Column
from tacit.query.expressions import time_zones as module
from tacit.query.expressions.local_time import local_time
from tacit.query.expressions.time_zones import TimeZone, check_name, names_of_zones, time_zone

AT = Column("at", "timestamp")
MICROSECOND = timedelta(microseconds=1)
CHANCE = random.Random(20261118)  # noqa: S311 - test data
ZONES = ("Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Nuuk", "America/Santiago")


def around(zone: TimeZone, years: range) -> list[datetime]:
    """Return instants on both sides of the changes of a zone, of New Year and of random days."""
    turns = [at for at, _ in zone.changes]
    turns += [] if zone.rule is None else [at for at, _ in zone.rule.changes(years)]
    turns += [datetime(year, 1, 1) for year in (2, 1900, 1970, 2038, *years)]  # noqa: DTZ001 - in UTC
    turns += [datetime(2, 1, 1) + CHANCE.random() * timedelta(days=365 * 9_990) for _ in range(20)]  # noqa: DTZ001 - in UTC
    return [turn + step for turn in turns for step in (-MICROSECOND, timedelta(0), timedelta(hours=5))]


def by_zoneinfo(name: str, instant: datetime) -> datetime:
    return instant.replace(tzinfo=UTC).astimezone(ZoneInfo(name)).replace(tzinfo=None, fold=0)


def differences(name: str, years: range, most: int) -> list[datetime]:
    run, instants = evaluator(local_time(AT, name), [AT]), around(time_zone(name), years)
    chosen = CHANCE.sample(instants, min(most, len(instants)))
    return [at for at in chosen if run([at]) != by_zoneinfo(name, at)]


@pytest.mark.parametrize("name", ZONES)
def test_local_times_are_those_of_zoneinfo(name: str) -> None:
    assert not differences(name, range(2025, 2030), most=80)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(names_of_zones()))
def test_local_times_are_those_of_zoneinfo_in_every_zone(name: str) -> None:
    assert not differences(name, range(2036, 2040), most=60)


@pytest.mark.parametrize("name", ZONES)
def test_a_rule_holds_for_ever(name: str) -> None:
    rule = time_zone(name).rule
    assert rule is not None
    for at, offset in rule.changes(range(2040, 2440)):
        after, before = by_zoneinfo(name, at) - at, by_zoneinfo(name, at - MICROSECOND) - (at - MICROSECOND)
        assert after == timedelta(seconds=offset) != before


def offset(zone: TimeZone, at: datetime) -> int:
    """Return the offset at an instant: that of the latest change, listed or by the rule."""
    changes = [(datetime.min, zone.first), *zone.changes]  # noqa: DTZ901 - in UTC
    if zone.rule is not None and at >= changes[-1][0]:
        changes = [changes[-1], *(change for change in zone.rule.changes(range(at.year - 1, at.year + 1)) if change[0] > changes[-1][0])]  # fmt: skip # noqa: E501
    return changes[bisect_right([instant for instant, _ in changes], at) - 1][1]


def check_data(names: Iterable[str]) -> None:
    for name in names:
        zone = time_zone(name)
        for at in around(zone, range(2036, 2040)):
            assert timedelta(seconds=offset(zone, at)) == by_zoneinfo(name, at) - at, (name, at)
        assert len(zone.changes) < 400


def test_some_zones_of_the_database_are_those_of_zoneinfo() -> None:
    check_data(CHANCE.sample(sorted(names_of_zones()), 30))


@pytest.mark.long
def test_every_zone_of_the_database_is_that_of_zoneinfo() -> None:
    check_data(names_of_zones())


def test_every_zone_of_the_database_can_be_read() -> None:
    assert all(time_zone(name).name == name for name in names_of_zones())


NOT_ZONES = (
    *("", "Europe/Zurch", "europe/zurich", "../UTC", "/etc/localtime", "localtime"),
    *("a\0b", "Europe", "right/UTC", "CET-1"),
)


@pytest.mark.parametrize("name", NOT_ZONES)
def test_a_text_that_is_not_a_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidError, match="There is no time zone") as caught:
        time_zone(name)
    assert caught.value.argument == "timezone"


@pytest.mark.parametrize("name", [7, None, b"UTC", ["UTC"]])
def test_a_value_that_is_not_a_text_is_refused(name: object) -> None:
    with pytest.raises(InvalidError, match="must be a text"):
        check_name(name)


def test_a_machine_without_time_zone_data_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "names_of_zones", frozenset)
    with pytest.raises(InvalidError, match=r"no time-zone data.*package tzdata"):
        check_name("UTC")


@pytest.mark.parametrize(
    "content",
    [b"", b"TZif", b"nothing" * 20, b"TZif\0" + bytes(60)],
    ids=["empty", "short", "other", "version 1"],
)
def test_a_broken_file_is_refused(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_content", lambda _: content)
    with pytest.raises(InvalidError, match="not supported"):
        time_zone.__wrapped__("Europe/Zurich")


@pytest.mark.parametrize("footer", ["CET-1CEST,J60,M10.5.0", "X0Y,M1.1.0,M6.1.0", "X0Y,M3.5.0,M12.1.0", "?"])
def test_a_rule_of_another_form_is_refused(footer: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        module._rule(footer, 0)
