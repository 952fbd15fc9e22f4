"""Columns of every Spark type are read as their policy types them, and nothing raises."""

from __future__ import annotations

from datetime import date, datetime
from math import inf

import pytest

from spark_session import spark
from tacit.engines.spark.dialect import SPARK
from tacit.engines.spark.engine import open_spark
from tacit.engines.sql.builder import column
from tacit.errors import InvalidError
from tacit.query.expressions import Kind, Value, casts

TYPES = [
    ("tinyint", "integer"),
    ("bigint", "integer"),
    ("decimal(38,10)", "real"),
    ("float", "real"),
    ("string", "text"),
    ("string collate UNICODE_CI", "text"),
    ("char(3)", "text"),
    ("varchar(3)", "text"),
    ("boolean", "boolean"),
    ("date", "date"),
    ("timestamp", "timestamp"),
    ("timestamp_ntz", "timestamp"),
    ("binary", None),
    ("void", None),
    ("variant", None),
    ("time(6)", None),
    ("interval day to second", None),
    ("array<int>", None),
    ("struct<a:int>", None),
    ("map<string,int>", None),
]


@pytest.mark.parametrize(("type_name", "kind"), TYPES)
def test_types_have_kinds(type_name: str, kind: Kind | None) -> None:
    assert SPARK.kind_of(type_name) == kind


def test_the_casts_are_those_of_the_language() -> None:
    assert set(SPARK.casts) == set(casts.CASTS)


Case = tuple[str, Kind, list[str], list[Value]]

CASES: list[Case] = [
    ("tinyint", "integer", ["-128", "NULL"], [-128, None]),
    ("bigint", "real", ["9223372036854775807"], [2.0**63]),
    ("decimal(4,2)", "real", ["0.10", "-99.99"], [0.1, -99.99]),
    ("decimal(38,0)", "real", ["99999999999999999999999999999999999999"], [1e38]),
    ("decimal(4,1)", "integer", ["2.5", "-2.5", "NULL"], [3, -2, None]),
    ("float", "real", ["'inf'", "0.5"], [inf, 0.5]),
    ("double", "integer", ["'nan'", "'inf'", "1e300", "-1e300", "0.5"], [None, None, None, None, 1]),
    ("string", "integer", ["'12'", "'7.6'", "''", "'9223372036854775808'", "' 1'"], [12, None, None, None, 1]),
    ("string", "real", ["'1e3'", "'inf'", "'nan'", "'x'", "'1d'", "'0x1p3'"], [1000.0, None, None, None, None, None]),
    ("string", "boolean", ["'TRUE'", "'f'", "'yes'"], [True, False, None]),
    ("string", "date", ["'2024-02-29'", "'2023-02-29'", "'today'"], [date(2024, 2, 29), None, None]),
    ("string", "timestamp", ["'2024-02-29T01:02'", "'x'", "'now'"], [datetime(2024, 2, 29, 1, 2), None, None]),  # noqa: DTZ001
    ("boolean", "integer", ["true", "NULL"], [1, None]),
    ("date", "date", ["'0000-12-31'", "'-0044-03-15'", "'9999-12-31'"], [None, None, date(9999, 12, 31)]),
    ("date", "timestamp", ["'+12345-06-25'", "'2024-02-29'"], [None, datetime(2024, 2, 29)]),  # noqa: DTZ001
    ("timestamp_ntz", "date", ["'+12345-06-25 00:00:00'", "'2024-02-29 23:59:59'"], [None, date(2024, 2, 29)]),
    ("timestamp", "timestamp", ["'2024-02-29 01:00:00+02:00'"], [datetime(2024, 2, 28, 23)]),  # noqa: DTZ001
    ("timestamp", "timestamp", ["'0001-01-01 00:00:00Z'", "'0000-12-31 23:59:59Z'"], [datetime(1, 1, 1), None]),  # noqa: DTZ001
]


def held(type_name: str, written: list[str]) -> str:
    """Return a SELECT of some values of a type, by their places."""
    values = [f"SELECT {place} AS place, CAST({one} AS {type_name}) AS c" for place, one in enumerate(written)]
    return " UNION ALL ".join(values)


def asked(type_name: str, kind: Kind, written: list[str], *, unit: bool = False) -> list[Value]:
    """Return what a column of a type, with these values, is as a kind; the caller's session is in another zone."""
    theirs = spark().newSession()
    theirs.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    opened = open_spark(theirs.sql(held(type_name, written)))
    assert opened._types["c"] == type_name
    sql = (SPARK.read_unit if unit else SPARK.read)(column("c"), type_name, kind)
    with opened._reading() as run:
        found = run(f"SELECT place, {SPARK.text(sql)} FROM data ORDER BY 1", {})  # noqa: S608 - ours
    opened.close()
    return [value for _, value in found]


@pytest.mark.parametrize(("type_name", "kind", "written", "expected"), CASES)
def test_columns_are_read_as_their_policy_says(
    type_name: str, kind: Kind, written: list[str], expected: list[Value]
) -> None:
    assert asked(type_name, kind, written) == expected


@pytest.mark.parametrize(
    ("type_name", "kind", "written"),
    [
        ("decimal(38,0)", "real", ["99999999999999999999999999999999999999", "99999999999999999999999999999999999998"]),
        ("bigint", "real", ["9223372036854775807", "9223372036854775806"]),
        ("date", "date", ["'0000-12-31'", "'0000-12-30'"]),
        ("string collate UTF8_LCASE", "text", ["'a'", "'A'"]),
    ],
)
def test_units_are_never_merged_or_lost_by_their_type(type_name: str, kind: Kind, written: list[str]) -> None:
    opened = open_spark(spark().sql(held(type_name, written)))
    unit = SPARK.text(SPARK.read_unit(column("c"), opened._types["c"], kind))
    with opened._reading() as run:
        ((units,),) = run(f"SELECT COUNT(DISTINCT u) FROM (SELECT {unit} AS u FROM data)", {})  # noqa: S608 - ours
    opened.close()
    assert units == len(written)


def test_a_unit_that_is_nan_is_none() -> None:
    assert asked("double", "real", ["'nan'", "1.5"], unit=True) == [None, 1.5]
    assert asked("string", "integer", ["'1'", "'01'", "'x'"], unit=True) == [1, 1, None]


@pytest.mark.parametrize(("type_name", "kind"), [("binary", "text"), ("date", "integer"), ("double", "text")])
def test_a_type_that_cannot_become_the_kind_is_refused(type_name: str, kind: Kind) -> None:
    with pytest.raises(InvalidError, match="cannot be read as"):
        SPARK.read(column("c"), type_name, kind)


@pytest.mark.parametrize(
    ("one", "two", "kind", "fits"),
    [
        ("int", "bigint", "integer", True),
        ("float", "double", "real", True),
        ("string", "string collate UTF8_LCASE", "text", True),
        ("decimal(9,2)", "decimal(9,2)", "real", True),
        ("decimal(9,2)", "double", "real", False),
        ("bigint", "double", "real", False),
        ("timestamp", "timestamp_ntz", "timestamp", False),
    ],
)
def test_units_of_two_tables_are_compared_only_without_loss(one: str, two: str, kind: Kind, *, fits: bool) -> None:
    sides = (column("a"), one), (column("b"), two)
    if fits:
        assert len(SPARK.comparable_units(*sides, kind)) == 2
        return
    with pytest.raises(InvalidError, match="compared exactly"):
        SPARK.comparable_units(*sides, kind)
