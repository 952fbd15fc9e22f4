"""Columns of every PostgreSQL type are read as their policy types them, and nothing raises."""
# ruff: noqa: E501 - a line for each type

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from math import inf

import psycopg
import pytest

from contract.plans import key, plan, table
from postgres_server import Database, database
from tacit import anonymity
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.postgres.engine import open_postgres
from tacit.engines.sql.builder import column
from tacit.errors import InvalidError, SourceError
from tacit.query.expressions import Column, Kind, Value, casts
from tacit.query.plan import Measure


@pytest.fixture(scope="module")
def clinic() -> Iterator[Database]:
    with database() as made:
        made.run("CREATE TYPE mood AS ENUM ('it''s', 'a')")
        made.run("CREATE DOMAIN age AS int CHECK (value >= 0); CREATE DOMAIN years AS age; CREATE DOMAIN list AS int[]")
        yield made


@pytest.fixture(scope="module")
def loose(clinic: Database) -> Database:
    """The database with a collation in which a, A and á are equal, if the server can have one."""
    try:
        clinic.run("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this server knows no collation that is not deterministic")
    return clinic


def values(clinic: Database, type_name: str, kind: Kind, written: Sequence[str], *, unit: bool = False) -> list[Value]:
    """Return what a column of a type, with these values, is as a kind: by a table that is opened."""
    clinic.run(f"DROP TABLE IF EXISTS t; CREATE TABLE t (place bigint, c {type_name})")
    for place, one in enumerate(written):
        clinic.run(f"INSERT INTO t VALUES ({place}, {one})")  # noqa: S608
    clinic.grant("t")
    opened = open_postgres(clinic.reader)
    found = (POSTGRES.read_unit if unit else POSTGRES.read)(column("c"), opened._types["c"], kind)
    with opened._reading() as run:
        rows = run(f"SELECT {POSTGRES.text(found)} FROM {opened._views['t']} ORDER BY place", {})  # noqa: S608
    opened.close()
    return [one for (one,) in rows]


@pytest.mark.parametrize(
    ("type_name", "kind"),
    [
        *(("int2", "integer"), ("int4", "integer"), ("int8", "integer"), ("numeric", "real"), ("numeric(9,2)", "real")),
        *(("float4", "real"), ("float8", "real"), ("text", "text"), ("varchar", "text"), ("bpchar", "text")),
        *(("enum", "text"), ("uuid", "text"), ("citext", "text"), ("bool", "boolean"), ("date", "date")),
        *(("timestamp", "timestamp"), ("timestamptz", "timestamp"), ("bytea", None), ("time", None), ("money", None)),
        *(("interval", None), ("json", None), ("_int4", None), ("integer[]", None), ("numeric(9,2)[]", None)),
        *(("oid", None), ("inet", None), ("computed when read", None)),
    ],
)
def test_types_have_kinds(type_name: str, kind: Kind | None) -> None:
    assert POSTGRES.kind_of(type_name) == kind


def test_the_casts_are_those_of_the_language() -> None:
    assert set(POSTGRES.casts) == set(casts.CASTS)


LARGEST = str(2**1024 - 2**970 - 1)


@pytest.mark.parametrize(
    ("type_name", "kind", "written", "expected"),
    [
        ("smallint", "integer", ["-32768", "NULL"], [-(2**15), None]),
        ("int", "real", ["2147483647"], [2147483647.0]),
        ("years", "integer", ["7", "NULL"], [7, None]),
        ("numeric(4,2)", "real", ["0.10", "-99.99", "'NaN'"], [0.1, -99.99, None]),
        ("numeric(4,1)", "integer", ["2.5", "-2.5", "NULL"], [3, -2, None]),
        (
            "numeric",
            "real",
            ["'NaN'", "'Infinity'", "'-Infinity'", "1e400", "-1e400", "1e-400", "-1e-400", "0", "0.1"],
            [None, inf, -inf, inf, -inf, 0.0, 0.0, 0.0, 0.1],
        ),
        ("numeric", "real", [LARGEST, str(2**1024 - 2**970), "5e-324", "2e-324", "3e-324"], [1.7976931348623157e308, inf, 5e-324, 0.0, 5e-324]),
        ("numeric", "integer", ["1e30", "9007199254740993", "'NaN'", "'Infinity'"], [None, 2**53, None, None]),
        ("numeric(1000,600)", "real", ["1e-400", "1e399"], [0.0, inf]),
        ("real", "real", ["'inf'", "0.5", "1e-45"], [inf, 0.5, 1.401298464324817e-45]),
        ("double precision", "integer", ["'nan'", "'inf'", "1e300", "0.5", "-9223372036854775808"], [None, None, None, 1, -(2**63)]),
        ("text", "integer", ["'12'", "' +7\t'", "'7.6'", "''", "'9223372036854775808'"], [12, 7, None, None, None]),
        ("text", "integer", ["E'\\u00a07'", "E'7\\u2003'", "E'\\u0667'", "E'7\\n'"], [None, None, None, 7]),
        ("text", "real", ["'1e3'", "'inf'", "'nan'", "'x'", "'1e400'", "'-1e-400'"], [1000.0, None, None, None, None, 0.0]),
        (
            "text",
            "real",
            [
                "'0.' || repeat('0', 400) || '1'",
                "'1' || repeat('0', 400)",
                "'1' || repeat('0', 400) || 'e-400'",
                "'0.' || repeat('0', 400) || '1e401'",
                "'1e99999999999999999999'",
                "'1e-99999999999999999999'",
                "'0e99999999999999999999'",
                "'00000.5e-400'",
            ],
            [0.0, None, 1.0, 1.0, None, 0.0, 0.0, 0.0],
        ),
        ("text", "boolean", ["'TRUE'", "'f'", "'yes'"], [True, False, None]),
        ("text", "date", ["'2024-02-29'", "'2023-02-29'", "'0000-01-01'", "'infinity'"], [date(2024, 2, 29), None, None, None]),
        ("text", "timestamp", ["'2024-02-29T01:02'", "'x'", "'2024-02-29 23:59:60'"], [datetime(2024, 2, 29, 1, 2), None, None]),  # noqa: DTZ001
        ("char(5)", "text", ["'a'", "'a '"], ["a", "a"]),
        ("varchar(3)", "text", ["'a  '"], ["a  "]),
        ("mood", "text", ["'it''s'", "'a'"], ["it's", "a"]),
        ("uuid", "text", ["'00000000-0000-0000-0000-00000000000A'"], ["00000000-0000-0000-0000-00000000000a"]),
        ("boolean", "integer", ["true", "NULL"], [1, None]),
        ("date", "date", ["'infinity'", "'-infinity'", "'0001-01-01 BC'", "'10000-01-01'", "'9999-12-31'"], [None, None, None, None, date(9999, 12, 31)]),
        ("date", "timestamp", ["'4713-01-01 BC'", "'2024-02-29'"], [None, datetime(2024, 2, 29)]),  # noqa: DTZ001
        ("timestamp", "date", ["'-infinity'", "'2024-02-29 23:59:59'"], [None, date(2024, 2, 29)]),
        ("timestamp(0)", "timestamp", ["'2024-02-29 01:02:03'", "NULL"], [datetime(2024, 2, 29, 1, 2, 3), None]),  # noqa: DTZ001
        (
            "timestamptz",
            "timestamp",
            ["'2024-02-29 01:00:00+02'", "'infinity'", "'294276-12-31 23:59:59+00'", "'4714-11-24 BC'", "'0001-01-01 00:00:00+14'"],
            [datetime(2024, 2, 28, 23), None, None, None, None],  # noqa: DTZ001
        ),
    ],
)  # fmt: skip
def test_columns_are_read_as_their_policy_says(
    clinic: Database, type_name: str, kind: Kind, written: list[str], expected: list[Value]
) -> None:
    assert values(clinic, type_name, kind, written) == expected


@pytest.mark.parametrize(
    ("type_name", "kind", "written"),
    [
        ("bigint", "real", ["9223372036854775807", "9223372036854775806"]),
        ("numeric", "real", ["1e400", "2e400", "1e-400", "99999999999999999999.1", "99999999999999999999.2"]),
        ("date", "date", ["'0001-01-01 BC'", "'0002-01-01 BC'"]),
        ("boolean", "boolean", ["true", "false"]),
        ("mood", "text", ["'a'", "'it''s'"]),
        ("years", "integer", ["7", "8"]),
        ("char(3)", "text", ["'a'", "'b'"]),
        ("real", "real", ["1.5", "'inf'", "'-inf'"]),
        ("double precision", "real", ["5e-324", "1e308", "'-inf'"]),
        ("timestamptz", "timestamp", ["'294276-12-31'", "'294276-12-30'"]),
        ("uuid", "text", ["'00000000-0000-0000-0000-00000000000A'", "'00000000-0000-0000-0000-00000000000B'"]),
    ],
)
def test_units_are_never_merged_or_lost_by_their_type(
    clinic: Database, type_name: str, kind: Kind, written: list[str]
) -> None:
    units = [Measure(value=None, per="unit")]
    values(clinic, type_name, kind, ["NULL"])
    clinic.run("TRUNCATE t")
    for one in written:
        clinic.run(f"INSERT INTO t VALUES (1, {one}), (2, {one})")  # noqa: S608
    opened = open_postgres(clinic.reader)
    asked = plan(
        table(unit="c", groups=1, kinds={"c": kind, "place": "integer"}),
        *units,
        keys=[key(Column("place", "integer"), 1, 2)],
    )
    assert sum(opened.measure(asked)[0]) == len(written)  # each in one of the two cells that it has
    opened.close()


def test_a_unit_that_is_nan_is_none(clinic: Database) -> None:
    assert values(clinic, "double precision", "real", ["'nan'", "1.5"], unit=True) == [None, 1.5]
    assert values(clinic, "real", "real", ["'nan'", "1.5"], unit=True) == [None, 1.5]
    assert values(clinic, "numeric", "real", ["'nan'", "15"], unit=True) == [None, 15]
    assert values(clinic, "text", "integer", ["'1'", "'01'", "'x'"], unit=True) == [1, 1, None]


def test_a_unit_that_the_policy_takes_for_an_integer_is_not_rounded(clinic: Database) -> None:
    large = ["9007199254740993", "9007199254740992", "9223372036854775807", "9223372036854775808", "2.5", "'NaN'"]
    expected = [2**53 + 1, 2**53, 2**63 - 1, None, None, None]
    assert values(clinic, "numeric", "integer", [*large, "'Infinity'"], unit=True) == [*expected, None]
    odd = ["4503599627370497", "4503599627370498", "2.5", "'nan'", "'inf'", "9223372036854775808"]
    expected = [2**52 + 1, 2**52 + 2, None, None, None, None]
    assert values(clinic, "double precision", "integer", odd, unit=True) == expected


def test_every_text_is_compared_by_code_point() -> None:
    for type_name in ("text", "varchar", "citext", "enum", "uuid"):
        assert POSTGRES.text(POSTGRES.read(column("c"), type_name, "text")) == 'CAST("c" AS TEXT) COLLATE "C"'
    for type_name in ("text", "varchar", "bpchar", "citext"):
        assert POSTGRES.text(POSTGRES.read_unit(column("c"), type_name, "text")) == 'CAST("c" AS TEXT) COLLATE "C"'
    listed = POSTGRES.list_select([("k0", "k0", "text")], "c0", 1)
    assert 'k0 COLLATE "C"' in listed
    assert POSTGRES.text(POSTGRES.casts["integer", "text"](column("c"))).endswith('COLLATE "C"')


def test_units_and_keys_are_told_apart_by_code_point_under_any_collation(loose: Database) -> None:
    clinic = loose
    values(clinic, "text COLLATE loose", "text", ["'a'", "'A'", "'á'", "'a'"])
    opened = open_postgres(clinic.reader)
    kinds: dict[str, Kind] = {"place": "integer", "c": "text"}
    asked = plan(
        table(unit="place", kinds=kinds), Measure(value=None), keys=[key(Column("c", "text"), "a", "A", "á", None)]
    )
    assert opened.measure(asked) == [[2, 1, 1, 0]]
    different = plan(table(unit="place", kinds=kinds), Measure(value=Column("c", "text"), per="value"))
    assert opened.measure(different) == [[3]]
    assert opened.measure(plan(table(unit="c", kinds=kinds), Measure(value=None, per="unit"))) == [[3]]
    opened.close()


@pytest.mark.parametrize(("type_name", "kind"), [("bytea", "text"), ("date", "integer"), ("float8", "text")])
def test_a_type_that_cannot_become_the_kind_is_refused(type_name: str, kind: Kind) -> None:
    with pytest.raises(InvalidError, match="cannot be read as"):
        POSTGRES.read(column("c"), type_name, kind)


def test_domains_are_their_base_types_and_those_of_arrays_are_not_used(clinic: Database) -> None:
    clinic.run("DROP TABLE IF EXISTS t; CREATE TABLE t (a years, b list, c int[], d mood, e numeric(5,1), f bit(3))")
    clinic.grant("t")
    opened = open_postgres(clinic.reader)
    assert dict(opened.schema()) == {"a": "integer", "d": "text", "e": "real"}
    assert opened.unusable() == ("b", "c", "f")
    opened.close()


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        ("int4", "int8", "integer"),
        ("float4", "float8", "real"),
        ("uuid", "text", "text"),
        ("numeric(5,1)", "numeric", "real"),
    ],
)
def test_units_of_types_that_agree_can_be_joined(one: str, two: str, kind: Kind) -> None:
    POSTGRES.comparable_units((column("a"), one), (column("b"), two), kind)


@pytest.mark.parametrize(
    ("one", "two", "kind"), [("numeric", "float8", "real"), ("timestamp", "timestamptz", "timestamp")]
)
def test_others_cannot(one: str, two: str, kind: Kind) -> None:
    with pytest.raises(InvalidError, match="compared exactly"):
        POSTGRES.comparable_units((column("a"), one), (column("b"), two), kind)


@pytest.mark.parametrize(
    "type_sql",
    [
        "CREATE TYPE feeling AS ENUM ('ann', 'bob')",
        "CREATE TYPE citext AS (a text)",
        "CREATE TYPE citext AS ENUM ('ann', 'bob')",
    ],
)
def test_a_type_that_somebodys_function_casts_cannot_be_used(type_sql: str) -> None:
    name = type_sql.split()[2]
    with database() as made:
        made.run(f"{type_sql}; CREATE DOMAIN over AS {name}; CREATE TABLE t (u bigint, c {name}, d over)")
        made.grant("t")
        before = open_postgres(made.reader)
        made.run(
            f"CREATE FUNCTION secret_cast({name}) RETURNS text LANGUAGE plpgsql IMMUTABLE AS "
            "$$ BEGIN RAISE 'somebody is here'; END $$"
        )
        made.run(f"CREATE CAST ({name} AS text) WITH FUNCTION secret_cast({name})")
        opened = open_postgres(made.reader)
        assert dict(opened.schema()) == {"u": "integer"}
        assert opened.unusable() == ("c", "d")
        opened.close()
        if "ENUM" in type_sql:
            assert dict(before.schema()) == {"u": "integer", "c": "text", "d": "text"}
            with pytest.raises(SourceError):  # and the cast that came later is seen
                before.measure(plan(table(kinds={"u": "integer"}), Measure(value=None)))
        before.close()


def test_the_text_of_the_extension_citext_is_text() -> None:
    with database() as made:
        try:
            made.run("CREATE EXTENSION citext")
        except psycopg.errors.FeatureNotSupported:
            pytest.skip("this server has no citext")
        made.run("CREATE TABLE t (c citext)")
        made.grant("t")
        opened = open_postgres(made.reader)
        assert dict(opened.schema()) == {"c": "text"}
        opened.close()


def test_numbers_with_fractions_and_long_ones_are_tallied() -> None:
    with database() as made:
        made.run("CREATE TABLE t (c numeric)")
        made.run("INSERT INTO t VALUES (1.50), (1.5), (2), (-3), ('Infinity'), ('-Infinity'), ('NaN'), (NULL)")
        made.run("INSERT INTO t VALUES (1e5000), (-0.25)")
        made.grant("t")
        opened = open_postgres(made.reader)
        expected = {Decimal("1.5"): 2, 2: 1, -3: 1, inf: 1, -inf: 1, None: 2, Decimal("1e5000"): 1, Decimal("-0.25"): 1}
        assert {value: count for value, count in opened.tally(["c"])} == expected  # noqa: C416 - rows are not pairs
        opened.close()


def test_a_table_of_prices_can_be_checked_before_it_is_published() -> None:
    with database() as made:
        made.run("CREATE TABLE pay (zip text, cost numeric(8,2)); INSERT INTO pay VALUES ('1', 1.5), ('1', 1.5)")
        made.grant("pay")
        assert "k = 2" in str(anonymity.check(made.reader, relation="pay", quasi=["zip", "cost"]))


ODD = [
    "",
    " ",
    "+",
    "-",
    "7",
    "+7",
    "-7",
    "07",
    "-07",
    "7 ",
    "7x",
    "x7",
    "+-7",
    "-+7",
    "0-7",
    "0 7",
    "- 7",
    "ä",
    "7ä",
    "٧",
    "1.0",
]
ENDS = [str(one) for one in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**60, 10**97, 10**98, 10**99, 10**100)]


def test_long_texts_mean_the_same_as_short_ones() -> None:
    texts = [*ODD, *ENDS]
    for pad in ("0" * 150, "-" + "0" * 150, "+" + "0" * 98, " \t\n\v\f\r" * 30, " " * 150 + "-", "\u00a0" * 60):
        texts += [f"{pad}{one}" for one in (*ODD, *ENDS)] + [f"{one}{pad}" for one in (*ODD, *ENDS)]
    kinds: tuple[Kind, ...] = ("integer", "real", "boolean", "date", "timestamp")
    with database() as made:
        made.fill("t", {"u": "integer", "s": "text"}, [{"u": u, "s": one} for u, one in enumerate(texts)])
        opened = open_postgres(made.reader)
        for kind in kinds:
            found = POSTGRES.text(POSTGRES.casts["text", kind](POSTGRES.read(column("s"), "text", "text")))
            with opened._reading() as run:
                got = [one for (one,) in run(f"SELECT {found} FROM {opened._views['t']} ORDER BY u", {})]  # noqa: S608
            assert got == [casts.cast(one, "text", kind) for one in texts]
        opened.close()


@pytest.mark.long
def test_texts_of_hundreds_of_megabytes_raise_nothing() -> None:
    """PostgreSQL matches, trims and folds no text of this length; the number at its end is read all the same."""
    with database() as made:
        made.run("CREATE TABLE t (u bigint, s text); INSERT INTO t SELECT 1, repeat('0', 270000000) || '7'")
        made.grant("t")
        opened = open_postgres(made.reader)
        for kind, expected in (("integer", 7), ("real", None), ("boolean", None), ("date", None), ("timestamp", None)):
            found = POSTGRES.text(POSTGRES.casts["text", kind](POSTGRES.read(column("s"), "text", "text")))  # type: ignore[index]
            with opened._reading() as run:
                assert [tuple(row) for row in run(f"SELECT {found} FROM {opened._views['t']}", {})] == [(expected,)]  # noqa: S608
        opened.close()
