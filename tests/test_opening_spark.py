from __future__ import annotations

from collections.abc import Iterator

import pytest

import tacit as tc
from spark_session import spark
from tacit.errors import InvalidError
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
    with pytest.raises(InvalidError, match=r"^public\['areas'\]: table must be one of .*got 'areas'"):
        tc.open(session, table="people", public={"areas": session}, **TERMS)
