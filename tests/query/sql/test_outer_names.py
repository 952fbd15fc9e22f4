"""The names of outer queries, compared with DuckDB: noise does not change a column that is called exact."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from tacit.errors import RefusedError
from tacit.query.policy import TablePolicy
from tacit.query.sql.grammar import parse_text
from tacit.query.sql.names import check_case, to_sql
from tacit.query.sql.outer_columns import OuterColumns, outer_columns
from tacit.query.sql.outer_query import split

TABLES = {"t": {"r": False, "k": False, "g": False, "n": True}, "u": {"r": False, "m": True}}
KEYS = [("a", 1, "x"), ("b", 2, "y"), ("c", 3, "x"), ("d", 4, "n"), ("e", 5, None)]
NOISY = [[7, 40, 3, 90, 25], [60, 2, 33, 8, 14], [31, 30, 50, 1, 29]]
"""Three draws of the noisy column n; m is drawn in reverse."""
Rows = list[tuple[object, ...]]


def results(sql: str) -> tuple[list[str], list[Rows]]:
    """Return the names of the columns of a query, and its rows for each draw of the noisy values."""
    names: list[str] = []
    found: list[Rows] = []
    for values in NOISY:
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute("CREATE TABLE t (r VARCHAR, k BIGINT, g VARCHAR, n BIGINT)")
            connection.executemany(
                "INSERT INTO t VALUES (?, ?, ?, ?)", [[*key, n] for key, n in zip(KEYS, values, strict=True)]
            )
            connection.execute("CREATE TABLE u (r VARCHAR, m BIGINT)")
            pairs = zip("abcf", reversed(values), strict=False)
            connection.executemany("INSERT INTO u VALUES (?, ?)", [list(pair) for pair in pairs])
            answer = connection.execute(sql)
            names = [column[0] for column in answer.description]
            found.append(answer.fetchall())
    return names, found


def outline(sql: str) -> tuple[str, OuterColumns]:
    tree = parse_text(sql)
    return to_sql(tree), outer_columns(tree, TABLES)


def moving(sql: str) -> list[str] | None:
    """Return the columns that are called exact, if noise changes them or the number of rows; None if it does not."""
    text, columns = outline(sql)
    names, found = results(text)
    kept = [columns.derivation(place, name, len(names)) for place, name in enumerate(names)]
    places = [place for place, each in enumerate(kept) if each is not None and each.exact]
    exact = [Counter(tuple(row[place] for place in places) for row in rows) for rows in found]
    if columns.choice or all(each == exact[0] for each in exact):
        return None
    return [names[place] for place in places]


AROUND = [
    "SELECT r, (SELECT n FROM (SELECT 'n')) AS m FROM t",
    "SELECT o.r, (SELECT count(*) FROM (SELECT n AS z FROM t WHERE z > 20)) AS q FROM (SELECT r, 1 AS z FROM t) AS o",
    "SELECT o.r, (SELECT max(x::VARCHAR) FROM t AS x) AS q FROM (SELECT r, 'q' AS x FROM t) AS o",
    "SELECT o.r, (SELECT max(o.n) FROM (SELECT t AS o FROM t)) AS q FROM (SELECT r, 1 AS n FROM t) AS o",
]
"""A name inside a subquery that the query around has too."""
PAIR = "(SELECT r, n FROM t) AS a, (SELECT 1 AS n, t.n AS z, k FROM t) AS b"
COLUMNS = [
    "SELECT r, k FROM (SELECT * RENAME (n AS k, k AS n) FROM t)",
    f"SELECT c FROM (SELECT * EXCLUDE (a.n) FROM {PAIR}) AS q(a, b, c, d)",
    f"SELECT c FROM (SELECT * REPLACE (5 AS n) FROM {PAIR}) AS q(a, b, c, d)",
    "SELECT q_1 FROM (SELECT r AS q, n AS q, k AS q_1 FROM t)",
    "SELECT t.k AS t, t AS n FROM t",
]
"""A column of a star, of two columns with one name, or of a row."""
CLAUSES = [
    "SELECT r, k AS n FROM t ORDER BY n + 0 LIMIT 2",
    "SELECT g, max(k) AS n FROM t GROUP BY g ORDER BY max(n) LIMIT 1",
    "SELECT r, max(n) AS k FROM t GROUP BY r HAVING k > 30",
    "SELECT r, DATE '2020-01-01' + n::INT AS d FROM t WHERE date_diff('day', DATE '2020-01-01', d) > 30",
    "SELECT r, k, sum(k) OVER w2 AS q FROM t WINDOW w AS (PARTITION BY n > 30), w2 AS (w ORDER BY r)",
    "SELECT max(a) AS y, string_agg(r, '') AS x FROM (SELECT r, rank() OVER (ORDER BY n) AS a FROM t)",
]
"""A clause that uses an alias or a column of that name, another window, or the order that a window leaves."""


@pytest.mark.parametrize("sql", [*AROUND, *COLUMNS, *CLAUSES])
def test_an_exact_column_does_not_change_with_noise(sql: str) -> None:
    assert moving(sql) is None


@pytest.mark.parametrize(
    ("sql", "exact"),
    [
        ("SELECT r, (SELECT count(*) FROM u WHERE u.r < t.r) AS c FROM t", ["r", "c"]),
        ("SELECT r, (SELECT count(*) FROM u WHERE u.r < k::VARCHAR) AS c FROM t", ["r", "c"]),
        ("SELECT * EXCLUDE (n) FROM t JOIN u USING (r)", ["r", "k", "g"]),
        ("SELECT * RENAME (k AS n, n AS k) FROM t", ["r", "n", "g"]),
        ("SELECT r, k AS z FROM t ORDER BY z + 1 LIMIT 2", ["r", "z"]),
        ("SELECT r, n + 1, k FROM t ORDER BY k LIMIT 2", ["r", "k"]),
        ("SELECT g, max(k) AS z FROM t GROUP BY g HAVING z > 3", ["g", "z"]),
        ("SELECT r, k, sum(k) OVER w2 AS q FROM t WINDOW w AS (PARTITION BY g), w2 AS (w ORDER BY r)", ["r", "k", "q"]),
    ],
)
def test_what_is_exact_is_found(sql: str, exact: list[str]) -> None:
    text, columns = outline(sql)
    names, _ = results(text)
    assert not columns.choice
    derivations = [columns.derivation(place, name, len(names)) for place, name in enumerate(names)]
    found = [name for name, each in zip(names, derivations, strict=True) if each is not None and each.exact]
    assert found == exact
    assert moving(sql) is None


def test_a_window_that_is_not_known_is_not_exact() -> None:
    _, columns = outline("SELECT sum(k) OVER w AS q FROM t WINDOW w AS (w)")
    assert not columns.columns[0][1].exact


def test_a_key_of_rolled_up_rows_does_not_identify_a_released_value() -> None:
    """The row of n without r has NULL for r, and could be taken for the group of NULL."""
    sets = "SELECT r, n FROM t GROUP BY GROUPING SETS ((r, n), (n))"
    assert not any(each.copies for _, each in outline(sets)[1].columns)
    assert all(each.copies for _, each in outline("SELECT r, n FROM t GROUP BY r, n")[1].columns)


def test_a_join_by_a_column_that_does_not_exist_is_left_to_duckdb() -> None:
    sql = "SELECT * FROM t JOIN (SELECT 1 AS i) AS a USING (j) JOIN (SELECT 2 AS i) AS b USING (j)"
    assert outline(sql)[1].columns


def test_names_that_only_duckdb_tells_apart_are_refused() -> None:
    table = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns={})
    sql = 'WITH "ß" AS (SELECT 1 AS x), "ss" AS (SELECT count(*) AS x FROM t) SELECT "ss".x, "ß".x AS y FROM "ss", "ß"'
    with pytest.raises(RefusedError, match="differ only in the case"):
        split(sql, {"t": table})
    assert split(sql.replace("ß", "Sss"), {"t": table}) is not None
    with duckdb.connect() as connection:
        rows = connection.execute('SELECT a."ss", a."ß", a."SS" FROM (SELECT 1 AS "ss", 2 AS "ß") AS a').fetchall()
    assert rows == [(1, 2, 1)]
    check_case(["É", "É", "total", "TOTAL"])
