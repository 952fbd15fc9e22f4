"""Private numbers through the outer parts of a query: subqueries, CTEs, windows, set operations and joins.

ε = 1e-13 makes the noise about 1e13. The exact numbers of the table are in none of the queries, so an exact number or a
private text in an answer is a leak. Noise is equal to one of these five numbers with probability below 1e-12.
"""

# ruff: noqa: S608 - queries are text

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database

SIZES = {"a": 1931, "b": 2801}
ROWS = pd.DataFrame({"g": [g for g, n in SIZES.items() for _ in range(n)]})
ROWS = ROWS.assign(id=range(len(ROWS)), x=1, w=[f"zzsecret{i}" for i in range(len(ROWS))])
EXACT = {*SIZES.values(), sum(SIZES.values()), sum(SIZES.values()) - 1, SIZES["b"] - SIZES["a"]}

ALL = "(SELECT count(*) AS n FROM t)"
BY_G = "(SELECT g, count(*) AS n FROM t GROUP BY g)"
QUERIES = [
    f"SELECT {ALL} AS n",
    f"SELECT {ALL} + 0 AS n",
    f"SELECT n FROM {ALL} AS q",
    f"SELECT count(*) / {ALL} AS n FROM t",
    f"SELECT q.n, t.x FROM t, {ALL} AS q",
    f"SELECT count(*) AS n FROM t, {ALL} AS q WHERE q.n > 5",
    f"SELECT count(*) AS n FROM t WHERE x < {ALL}",
    f"SELECT count(*) AS n FROM t LIMIT {ALL}",
    f"SELECT a.n - b.n AS n FROM {ALL} AS a, (SELECT count(*) AS n FROM t WHERE g = 'a') AS b",
    f"SELECT sum(n) AS n, max(n) AS m FROM {BY_G} AS q",
    f"SELECT sum(n) OVER (ORDER BY g) AS n FROM {BY_G} AS q",
    f"SELECT q.n FROM {BY_G} AS q JOIN p ON p.g = q.g",
    "SELECT p.g, (SELECT count(*) FROM t WHERE t.g = p.g) AS n FROM p",
    "SELECT count(*) AS n FROM (SELECT w, count(*) AS n FROM t GROUP BY w) AS q",
    "SELECT p.g FROM p WHERE EXISTS (SELECT 1 FROM t WHERE t.w = 'zzsecret7')",
    "SELECT count(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM t AS s WHERE s.id = 5)",
    "SELECT count(*) AS n FROM t WHERE id IN (SELECT id FROM t WHERE x = 1)",
    "SELECT count(*) AS n FROM t UNION ALL SELECT count(*) FROM t",
    "SELECT count(*) AS n FROM t EXCEPT SELECT 1",
    "SELECT count(*) AS n FROM (SELECT DISTINCT w FROM t) AS q",
    "SELECT count(*) OVER () AS n FROM t",
    "SELECT count(*) AS n FROM t QUALIFY row_number() OVER () = 1",
    "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r, t) SELECT count(*) AS n FROM r",
    "WITH q AS (SELECT * FROM t) SELECT count(*) AS n FROM q",
    "SELECT g, count(*) AS n FROM t GROUP BY GROUPING SETS ((g), ())",
    "SELECT g, count(*) AS n FROM t GROUP BY ROLLUP (g)",
    "SELECT g, count(*) AS n FROM t GROUP BY g HAVING count(*) > 5",
    "SELECT g, n FROM (SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY n LIMIT 1) AS q",
    "SELECT max(w) AS n FROM t",
    "SELECT any_value(w) AS n FROM t",
    "SELECT string_agg(w, ',') AS n FROM t",
    "SELECT list(w) AS n FROM t",
    "SELECT approx_count_distinct(w) AS n FROM t",
    "SELECT arg_max(w, x) AS n FROM t",
    "SELECT mode(w) AS n FROM t",
    "SELECT w AS n FROM t LIMIT 1",
    "SELECT t AS n FROM t LIMIT 1",
    "SELECT 1 AS n FROM t",
    "SELECT DISTINCT w AS n FROM t",
    "SELECT count(*) AS n FROM t LEFT JOIN p ON p.g = t.g",
    "SELECT count(*) AS n FROM p LEFT JOIN t ON p.g = t.g",
    "SELECT count(*) AS n FROM t TABLESAMPLE 50%",
    "PIVOT t ON g USING count(*)",
    "SUMMARIZE t",
    "EXPLAIN ANALYZE SELECT count(*) AS n FROM t",
    "SELECT estimated_size AS n FROM duckdb_tables()",
]


def shown(values: object) -> tuple[set[float], str]:
    """Return the numbers and the text of an answer."""
    rows = [value for row in values for value in row]  # type: ignore[attr-defined]
    return {float(value) for value in rows if isinstance(value, (int, float))}, repr(rows)


def leaks(numbers: set[float], text: str) -> bool:
    return bool(numbers & EXACT) or "zzsecret" in text


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    public = {"p": pd.DataFrame({"g": ["a", "b"]})}
    terms: dict[str, Any] = {"unit": "id", "max_groups": 1, "max_rows": 1, "bounds": {"x": (0, 1)}}
    budget = tc.ApproxDP(epsilon=1, delta=1e-3)
    with tc.open(ROWS, name="t", keys={"g": ["a", "b"]}, public=public, budget=budget, **terms) as db:
        yield db


@pytest.mark.sampled(2)
@pytest.mark.parametrize("query", QUERIES)
def test_no_part_around_an_aggregate_sees_the_exact_number(query: str, database: Database) -> None:
    before, cost, text = database.ledger.spent.loss, Fraction(1, 10**13), ""
    try:
        answer = database.sql(query, epsilon=cost)
    except tc.TacitError as refusal:
        cost, text = Fraction(0), str(refusal)
    else:
        assert not leaks(*shown(answer.rows()))
    assert "zzsecret" not in text.replace(query, "").replace("'zzsecret7'", "")
    assert database.ledger.spent.loss - before == cost


def test_a_database_without_noise_around_the_aggregates_leaks_in_most_of_them() -> None:
    """The reference: DuckDB itself, where the number of rows is not protected."""
    connection = duckdb.connect()
    connection.register("t", ROWS)
    connection.register("p", pd.DataFrame({"g": ["a", "b"]}))
    found = 0
    for query in QUERIES:
        if "RECURSIVE" not in query:
            try:
                found += leaks(*shown(connection.execute(query).fetchall()))
            except duckdb.Error:
                continue
    assert found > 25
