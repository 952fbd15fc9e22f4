from __future__ import annotations

from collections.abc import Iterator

import pytest

import tacit as tc
from spark_session import spark
from tacit.errors import InvalidError, NoSourceError
from test_opening import PEOPLE, REGIONS, TERMS, counted


@pytest.fixture
def tables() -> Iterator[None]:
    for name, rows in (("people", PEOPLE), ("regions", REGIONS)):
        spark().createDataFrame(rows).write.mode("overwrite").saveAsTable(name)
    yield
    for name in ("people", "regions"):
        spark().sql(f"DROP TABLE {name}")


@pytest.mark.usefixtures("tables")
def test_a_table_of_a_session_is_found_by_its_name() -> None:
    session = spark()
    expected = pytest.approx({"large": 50, "small": 50}, abs=5)
    assert counted(tc.open(session, table="people", public={"regions": session}, **TERMS)) == expected
    pair = {"regions": (session, "default.regions")}
    assert counted(tc.open(session, table="people", public=pair, **TERMS)) == expected
    with pytest.raises(InvalidError, match=r"^public\['areas'\]: .*'areas'"):
        tc.open(session, table="people", public={"areas": session}, **TERMS)


def test_the_only_table_is_found_under_whatever_name_and_beside_public_ones() -> None:
    session = spark().newSession()
    session.sql("CREATE DATABASE by_itself")
    try:
        session.catalog.setCurrentDatabase("by_itself")
        session.createDataFrame(PEOPLE).write.saveAsTable("by_itself.the_people")
        regions = session.createDataFrame(REGIONS)
        expected = pytest.approx({"large": 50, "small": 50}, abs=5)
        assert counted(tc.open(session, name="people", public={"regions": regions}, **TERMS)) == expected
        with tc.open(session, unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1)) as db:
            assert db.plan("SELECT count(*) FROM the_people", epsilon=1).cost == tc.PureDP(epsilon=1)
    finally:
        session.catalog.setCurrentDatabase("default")  # it may be the active session of tests to come
        session.sql("DROP DATABASE by_itself CASCADE")


@pytest.mark.parametrize("source", ["spark:./p.toml", "spark:/no/such/p.TOML"])
def test_a_scheme_says_what_a_source_is_before_its_ending_does(source: str) -> None:
    spark()
    with pytest.raises(NoSourceError, match="no Parquet files"):
        tc.open(source, unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1))
