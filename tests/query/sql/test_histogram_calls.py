"""`histogram` in SQL: rows of groups and counts, equal to the entries of DuckDB's map."""

from __future__ import annotations

import duckdb
import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.query.sql.grammar import read_select

AGES = [3, 3, 17, 18, 18, 40, 64, 65, 119, None]
FRAME = pd.DataFrame({"age": pd.array(AGES, "Int64"), "sex": ["f", "m"] * 5})


@pytest.fixture(scope="module")
def db() -> Database:
    return tc.open(
        FRAME, name="t", unit=tc.ROW, bounds={"age": (0, 120)}, keys={"sex": ["f", "m"]}, budget=tc.PureDP(epsilon=1e12)
    )


CASE = "CASE WHEN x <= -1 THEN -1 WHEN x <= 65 THEN 65 END"


@pytest.mark.parametrize(
    ("sql", "rewritten"),
    [
        ("SELECT histogram(x) AS n FROM t", 'SELECT x AS "x", COUNT(*) AS "n" FROM t GROUP BY x'),
        (
            "SELECT g, HISTOGRAM(x) FROM t GROUP BY g ORDER BY 2 DESC",
            'SELECT g, x AS "x", COUNT(*) AS "histogram(x)" FROM t GROUP BY g, x ORDER BY 3 DESC',
        ),
        (
            "SELECT histogram(x), g FROM t GROUP BY 2",
            'SELECT x AS "x", COUNT(*) AS "histogram(x)", g FROM t GROUP BY 3, x',
        ),
        (
            "SELECT histogram(x, [65, -1, 65]) AS n FROM t",
            f'SELECT {CASE} AS "x", COUNT(*) AS "n" FROM t GROUP BY {CASE}',  # noqa: S608 - as expected
        ),
    ],
)
def test_a_histogram_is_a_group_and_a_count(sql: str, rewritten: str) -> None:
    assert read_select(sql).sql(dialect="duckdb") == rewritten


@pytest.mark.parametrize(
    "call", ["histogram(sex)", "histogram(age)", "histogram(age, [17, 64, 120])", "histogram(age, [18, 3])"]
)
def test_its_rows_are_the_entries_of_duckdbs_map(db: Database, call: str) -> None:
    found = {key: n for key, n in db.sql(f"SELECT {call} AS n FROM t", epsilon=1e6).rows() if n}  # noqa: S608 - a test's own text
    connection = duckdb.connect()
    connection.register("people", FRAME)
    ((expected,),) = connection.execute(f"SELECT {call} FROM people").fetchall()  # noqa: S608 - as above
    largest = 18 if "[18" in call else 10**9  # DuckDB adds a boundary for larger values; here they are left out
    assert found == {key: n for key, n in expected.items() if n and (isinstance(key, str) or key <= largest)}


def test_a_histogram_of_each_group(db: Database) -> None:
    sql = "SELECT sex, histogram(age, [17, 120]) AS n FROM t GROUP BY sex ORDER BY 1, 2"
    assert db.sql(sql, epsilon=1e6).rows() == [("f", 17, 2), ("f", 120, 3), ("m", 17, 1), ("m", 120, 3)]


def test_values_that_are_not_public_can_be_listed(db: Database) -> None:
    frame = pd.DataFrame({"word": ["a", "a", "b", "c"]})
    words = tc.open(frame, name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=1e9))
    with pytest.raises(tc.RefusedError, match="not public"):
        words.sql("SELECT histogram(word) FROM t", epsilon=1)
    found = words.sql("SELECT histogram(word) AS n FROM t", keys={"word": ["a", "b", "no"]}, epsilon=1e6)
    assert found.rows() == [("a", 2), ("b", 1), ("no", 0)]
    assert db is not None


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT histogram(age), count(*) FROM t", "beside other aggregates"),
        ("SELECT histogram(age), histogram(sex) FROM t", "supported once"),
        ("SELECT histogram(age) + 1 FROM t", "supported once"),
        ("SELECT count(*) FROM t HAVING histogram(age) IS NULL", "supported once"),
        ("SELECT sum(h) FROM (SELECT histogram(age) AS h FROM t)", "supported once"),
        ("SELECT histogram(age, sex) FROM t", "list of constants"),
        ("SELECT histogram(age, []) FROM t", "list of constants"),
        ("SELECT histogram(age, [sex]) FROM t", "list of constants"),
        ("SELECT histogram(age, [1], 2) FROM t", "takes one value"),
        ("SELECT histogram() FROM t", "takes one value"),
        ("SELECT histogram(DISTINCT age) FROM t", "takes one value"),
    ],
)
def test_other_histograms_are_refused(db: Database, sql: str, why: str) -> None:
    with pytest.raises(tc.RefusedError, match=why):
        db.plan(sql, epsilon=1)
