"""Columns of every DuckDB type are read as their policy types them, and nothing raises."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from math import inf

import duckdb
import pytest

from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.sql.builder import column
from tacit.errors import InvalidError
from tacit.query.expressions import Kind, Value, casts


def values(type_name: str, kind: Kind, written: Sequence[str], *, unit: bool = False) -> list[Value]:
    """Return what a column of a type, with these values, is as a kind."""
    listed = ", ".join(f"(({one})::{type_name})" for one in written)
    sql = (DUCKDB.read_unit if unit else DUCKDB.read)(column("c"), type_name, kind).sql("duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return [value for (value,) in connection.execute(f"SELECT {sql} FROM (VALUES {listed}) t(c)").fetchall()]  # noqa: S608


@pytest.mark.parametrize(
    ("type_name", "kind"),
    [
        ("TINYINT", "integer"),
        ("UHUGEINT", "integer"),
        ("DECIMAL(38,10)", "real"),
        ("FLOAT", "real"),
        ("VARCHAR", "text"),
        ("ENUM('a', 'b]')", "text"),
        ("UUID", "text"),
        ("BOOLEAN", "boolean"),
        ("DATE", "date"),
        ("TIMESTAMP", "timestamp"),
        ("TIMESTAMP_NS", "timestamp"),
        ("TIMESTAMP WITH TIME ZONE", "timestamp"),
        ("BLOB", None),
        ("TIME", None),
        ("INTERVAL", None),
        ("INTEGER[]", None),
        ("DECIMAL(18,3)[]", None),
        ("STRUCT(a INTEGER)", None),
        ("MAP(VARCHAR, INTEGER)", None),
    ],
)
def test_types_have_kinds(type_name: str, kind: Kind | None) -> None:
    assert DUCKDB.kind_of(type_name) == kind


def test_the_casts_are_those_of_the_language() -> None:
    assert set(DUCKDB.casts) == set(casts.CASTS)


@pytest.mark.parametrize(
    ("type_name", "kind", "written", "expected"),
    [
        ("TINYINT", "integer", ["-128", "NULL"], [-128, None]),
        ("HUGEINT", "integer", ["9223372036854775808", "-9223372036854775808", "5"], [None, -(2**63), 5]),
        ("UBIGINT", "integer", ["18446744073709551615", "1"], [None, 1]),
        ("UBIGINT", "real", ["18446744073709551615"], [2.0**64]),
        ("HUGEINT", "real", ["170141183460469231731687303715884105727"], [2.0**127]),
        ("DECIMAL(4,2)", "real", ["0.10", "-99.99"], [0.1, -99.99]),
        ("DECIMAL(4,1)", "integer", ["2.5", "-2.5", "NULL"], [3, -2, None]),
        ("FLOAT", "real", ["'inf'", "0.5"], [inf, 0.5]),
        ("DOUBLE", "integer", ["'nan'", "'inf'", "1e300", "0.5"], [None, None, None, 1]),
        ("VARCHAR", "integer", ["'12'", "'7.6'", "''", "'9223372036854775808'"], [12, None, None, None]),
        ("VARCHAR", "real", ["'1e3'", "'inf'", "'nan'", "'x'"], [1000.0, None, None, None]),
        ("VARCHAR", "boolean", ["'TRUE'", "'f'", "'yes'"], [True, False, None]),
        ("VARCHAR", "date", ["'2024-02-29'", "'2023-02-29'"], [date(2024, 2, 29), None]),
        ("VARCHAR", "timestamp", ["'2024-02-29T01:02'", "'x'"], [datetime(2024, 2, 29, 1, 2), None]),  # noqa: DTZ001
        ("ENUM('a', 'it''s')", "text", ["'it''s'", "'a'"], ["it's", "a"]),
        ("UUID", "text", ["'00000000-0000-0000-0000-00000000000A'"], ["00000000-0000-0000-0000-00000000000a"]),
        ("BOOLEAN", "integer", ["true", "NULL"], [1, None]),
        ("DATE", "date", ["'infinity'", "'0001-01-01 (BC)'", "'9999-12-31'"], [None, None, date(9999, 12, 31)]),
        ("DATE", "timestamp", ["'5877642-06-25 (BC)'", "'2024-02-29'"], [None, datetime(2024, 2, 29)]),  # noqa: DTZ001
        ("TIMESTAMP", "date", ["'-infinity'", "'2024-02-29 23:59:59'"], [None, date(2024, 2, 29)]),
        ("TIMESTAMP_S", "timestamp", ["'2024-02-29 01:02:03'", "NULL"], [datetime(2024, 2, 29, 1, 2, 3), None]),  # noqa: DTZ001
        ("TIMESTAMP_NS", "timestamp", ["'2024-02-29 01:02:03.123456'"], [datetime(2024, 2, 29, 1, 2, 3, 123456)]),  # noqa: DTZ001
        ("TIMESTAMP WITH TIME ZONE", "timestamp", ["'2024-02-29 01:00:00+02'"], [datetime(2024, 2, 28, 23)]),  # noqa: DTZ001
    ],
)
def test_columns_are_read_as_their_policy_says(
    type_name: str, kind: Kind, written: list[str], expected: list[Value]
) -> None:
    assert values(type_name, kind, written) == expected


@pytest.mark.parametrize(
    ("type_name", "kind", "written"),
    [
        ("UBIGINT", "integer", ["18446744073709551615", "18446744073709551614"]),
        ("UHUGEINT", "real", ["340282366920938463463374607431768211455", "340282366920938463463374607431768211454"]),
        ("DECIMAL(38,0)", "real", ["99999999999999999999999999999999999999", "99999999999999999999999999999999999998"]),
        ("DATE", "date", ["'0001-01-01 (BC)'", "'0002-01-01 (BC)'"]),
    ],
)
def test_units_are_never_merged_or_lost_by_their_type(type_name: str, kind: Kind, written: list[str]) -> None:
    found = values(type_name, kind, written, unit=True)
    assert None not in found
    assert len(set(found)) == len(written)


def test_a_unit_that_is_nan_is_none() -> None:
    assert values("DOUBLE", "real", ["'nan'", "1.5"], unit=True) == [None, 1.5]
    assert values("VARCHAR", "integer", ["'1'", "'01'", "'x'"], unit=True) == [1, 1, None]


@pytest.mark.parametrize(("type_name", "kind"), [("BLOB", "text"), ("DATE", "integer"), ("DOUBLE", "text")])
def test_a_type_that_cannot_become_the_kind_is_refused(type_name: str, kind: Kind) -> None:
    with pytest.raises(InvalidError, match="cannot be read as"):
        DUCKDB.read(column("c"), type_name, kind)
