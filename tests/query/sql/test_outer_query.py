"""Queries over private aggregates: which are split, into what, and what is never in the outer part."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

import pytest
from sqlglot import exp

from tacit.errors import InvalidError, RefusedError
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.outer_query import OuterQuery, split


def table(name: str, *, unit: str | None = "person", public: bool = False) -> TablePolicy:
    columns = {column: ColumnPolicy(kind="integer") for column in ("person", "g", "h", "x")}
    one = 1 if public else None
    return TablePolicy(
        name=name,
        unit=None if public else unit,
        max_groups=1,
        max_rows=1,
        neighbours="add/remove",
        columns=columns,
        public=public,
        size=one,
    )


TABLES = {"v": table("v"), "w": table("w"), "p": table("p", public=True)}
BY_G = "SELECT g, count(*) AS n FROM v GROUP BY g"
BOTH = f"SELECT s FROM t, ({BY_G}) AS u"


def parts(sql: str) -> OuterQuery:
    found = split(sql, TABLES)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "sql",
    [
        BY_G,
        "SELECT count(*) FROM (SELECT * FROM v WHERE x > 0) WHERE g = 1",
        "WITH t AS (SELECT * FROM v) SELECT g, avg(x) FROM t GROUP BY g HAVING count(*) > 3 ORDER BY 2 LIMIT 3",
        "SELECT v.g, count(*) FROM v JOIN p ON v.g = p.g GROUP BY v.g",
        "SELECT avg(c) FROM (SELECT person, count(*) AS c FROM v GROUP BY person)",
        "SELECT avg(c) FROM (SELECT q, count(*) AS c FROM (SELECT person AS q FROM v) GROUP BY q)",
        "SELECT avg(c) FROM (SELECT person, g, count(*) AS c FROM v GROUP BY 1, g)",
        "SELECT * FROM v",
        "SELECT rank() OVER (ORDER BY x) FROM v",
        "SELECT g FROM p",
        "SELECT 1",
        "SELECT count(*) FROM v WHERE x > (SELECT avg(x) FROM v)",
        "WITH RECURSIVE c AS (SELECT count(*) AS i FROM v UNION ALL SELECT i + 1 FROM c) SELECT i FROM c",
    ],
)
def test_a_query_with_private_rows_in_its_last_select_is_not_split(sql: str) -> None:
    assert split(sql, TABLES) is None


@pytest.mark.parametrize(
    ("sql", "outer", "inner"),
    [
        (f"WITH t AS ({BY_G}) SELECT n FROM t", "WITH t AS (SELECT * FROM released_1) SELECT n FROM t", [BY_G]),
        (f"SELECT n FROM ({BY_G}) AS t", "SELECT n FROM (SELECT * FROM released_1) AS t", [BY_G]),
        (
            f"{BY_G} UNION ALL SELECT 0, count(*) FROM w",
            "SELECT * FROM released_1 UNION ALL SELECT * FROM released_2",
            [BY_G, "SELECT 0, COUNT(*) FROM w"],
        ),
        (
            f"WITH r AS (SELECT * FROM v WHERE x > 0), t AS (SELECT g, sum(x) AS s FROM r GROUP BY g) {BOTH}",
            "WITH t AS (SELECT * FROM released_1) SELECT s FROM t, (SELECT * FROM released_2) AS u",
            [
                "WITH r AS (SELECT * FROM v WHERE x > 0) SELECT g, SUM(x) AS s FROM r GROUP BY g",
                BY_G,
            ],
        ),
        (
            f"SELECT n / (SELECT sum(n) FROM ({BY_G})) AS share FROM ({BY_G})",
            "SELECT n / (SELECT SUM(n) FROM (SELECT * FROM released_1)) AS share FROM (SELECT * FROM released_1)",
            [BY_G],
        ),
        (
            "WITH v AS (SELECT * FROM v WHERE x = 1) SELECT n + 1 FROM (SELECT count(*) AS n FROM v)",
            "SELECT n + 1 FROM (SELECT * FROM released_1)",
            ["WITH v AS (SELECT * FROM v WHERE x = 1) SELECT COUNT(*) AS n FROM v"],
        ),
        (
            "SELECT g, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS r FROM v GROUP BY g QUALIFY r < 3",
            'SELECT "g", "n" AS n, RANK() OVER (ORDER BY "n" DESC) AS r FROM released_1 QUALIFY r < 3',
            ['SELECT g AS "g", COUNT(*) AS "n" FROM v GROUP BY g'],
        ),
        (
            "SELECT g, h, avg(x) AS m FROM v GROUP BY ROLLUP (g, h)",
            'SELECT "g", "h", (SUM("value_1") / SUM("value_2")) AS m FROM released_1 GROUP BY ROLLUP ("g", "h")',
            ['SELECT g AS "g", h AS "h", SUM(x) AS "value_1", COUNT(x) AS "value_2" FROM v GROUP BY g, h'],
        ),
    ],
)
def test_a_query_over_private_aggregates_is_split(sql: str, outer: str, inner: list[str]) -> None:
    found = parts(sql)
    assert found.text.replace("COUNT", "count") == outer.replace("COUNT", "count")
    assert [each.sql.replace("COUNT", "count") for each in found.inner] == [
        text.replace("COUNT", "count") for text in inner
    ]


def test_a_lifted_average_keeps_no_inner_average() -> None:
    assert "AVG" not in parts("SELECT g, avg(x) AS m FROM v GROUP BY CUBE (g)").inner[0].sql


def test_names_of_released_tables_are_never_those_of_the_query() -> None:
    found = parts(f"WITH released_1 AS ({BY_G}) SELECT n AS released_7 FROM released_1")
    assert [each.table for each in found.inner] == ["_released_1"]


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT n FROM ({BY_G}), nosuch",
        f"SELECT n FROM ({BY_G}) WHERE g IN (SELECT g FROM nosuch)",
        f"SELECT n FROM ({BY_G}), 'file.csv'",
        f"SELECT n FROM ({BY_G}), information_schema.tables",
        f"SELECT n FROM ({BY_G}), duckdb_settings",
    ],
)
def test_unknown_tables_of_the_outer_query_are_refused(sql: str) -> None:
    with pytest.raises(InvalidError, match="Unknown table"):
        split(sql, TABLES)


@pytest.mark.parametrize(
    "item",
    [
        "getenv('HOME')",
        "current_setting('memory_limit')",
        "random()",
        "uuid()",
        "now()",
        "current_date",
        "nextval('s')",
        "repeat('x', 1000)",
        "read_text('/etc/passwd')",
        "version()",
        "current_user",
        "pg_sleep(3)",
        "regexp_matches('a', '(a*)*')",
        "list_transform([1], x -> x)",
        "getvariable('x')",
        "error('x')",
        "set_bit(x, 1, 1)",
        "hash(n)",
        "txid_current()",
        "lpad('x', 1000000000, 'y')",
        "sleep_ms(1000)",
        "printf('%1000000000d', 1)",
        "TRY(1/0)",
    ],
)
def test_functions_that_are_not_listed_are_refused_in_the_outer_query(item: str) -> None:
    with pytest.raises(RefusedError, match="not supported"):
        split(f"SELECT n, {item} FROM ({BY_G})", TABLES)


@pytest.mark.parametrize(
    "source",
    [
        "read_csv('/etc/passwd')",
        "read_text('/etc/passwd')",
        "glob('/*')",
        "read_parquet('http://localhost/x')",
        "duckdb_settings()",
        "pragma_version()",
        "query('SELECT 1')",
        "query_table('v')",
        "sniff_csv('/etc/passwd')",
        "parquet_metadata('x')",
        "repeat_row(1, 2)",
    ],
)
def test_table_functions_are_refused_in_the_outer_query(source: str) -> None:
    with pytest.raises(RefusedError, match=r"Table functions|not supported"):
        split(f"SELECT n FROM ({BY_G}), {source}", TABLES)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM v JOIN (SELECT g, count(*) AS n FROM v GROUP BY g) AS t ON t.g = v.g",
        "SELECT person, n FROM v, (SELECT count(*) AS n FROM v)",
        f"WITH t AS ({BY_G}), s AS (SELECT n, x FROM t, v) SELECT sum(n) FROM s",
    ],
)
def test_private_rows_and_private_aggregates_are_not_read_together(sql: str) -> None:
    with pytest.raises(RefusedError, match="together"):
        split(sql, TABLES)


@pytest.mark.parametrize("clause", ["USING SAMPLE 1", "TABLESAMPLE 10%"])
def test_clauses_that_are_not_listed_are_refused_in_the_outer_query(clause: str) -> None:
    with pytest.raises(RefusedError):
        split(f"WITH t AS ({BY_G}) SELECT n FROM t {clause}", TABLES)


def test_more_private_aggregates_than_the_limit_are_refused() -> None:
    unions = " UNION ALL ".join(f"SELECT count(*) FROM v WHERE x = {number}" for number in range(17))
    with pytest.raises(RefusedError, match="17 private aggregates"):
        split(unions, TABLES)


@pytest.mark.parametrize(
    "sql",
    [
        f"WITH t AS ({BY_G}), s AS (SELECT * FROM v) SELECT n FROM t",
        f"WITH s AS (SELECT * FROM v), t AS ({BY_G}) SELECT * FROM (SELECT n FROM t) AS x LEFT JOIN p ON p.g = x.n",
        f"SELECT * FROM (SELECT * FROM ({BY_G}) WHERE n > 3) WHERE EXISTS (SELECT 1 FROM ({BY_G}))",
        f"WITH t AS ({BY_G}) PIVOT t ON g USING sum(n)",
        f"SELECT g, n FROM ({BY_G}) UNION ALL (SELECT g, n FROM ({BY_G}) EXCEPT SELECT g, x FROM p)",
        "SELECT g, count(*) AS n, sum(count(*)) OVER () AS total FROM v GROUP BY g",
    ],
)
def test_the_outer_query_names_no_private_table(sql: str) -> None:
    found = parts(sql)
    named = {node.name for node in found.tree.find_all(exp.Table)} - {
        node.alias for node in found.tree.find_all(exp.CTE)
    }
    assert named <= {each.table for each in found.inner} | {"p"}


FILTER = "FILTER(WHERE h)"


@pytest.mark.parametrize(
    ("sql", "outer", "inner"),
    [
        (
            "SELECT coalesce(g, 0) AS g, count(*) AS n FROM v GROUP BY ROLLUP (g)",
            'SELECT COALESCE("g", 0) AS g, SUM("n") AS n FROM released_1 GROUP BY ROLLUP ("g")',
            'SELECT g AS "g", COUNT(*) AS "n" FROM v GROUP BY g',
        ),
        (
            "SELECT h AS g, g AS h, count(*) OVER () AS s FROM v GROUP BY g, h ORDER BY g",
            'SELECT "h" AS g, "g" AS h, COUNT(*) OVER () AS s FROM released_1 ORDER BY g',
            'SELECT g AS "g", h AS "h" FROM v GROUP BY g, h',
        ),
        (
            "SELECT g AS r, h AS g, rank() OVER (ORDER BY count(*)) AS k FROM v GROUP BY g, h ORDER BY g",
            'SELECT "g" AS r, "h" AS g, RANK() OVER (ORDER BY "value_1") AS k FROM released_1 ORDER BY g',
            'SELECT g AS "g", h AS "h", COUNT(*) AS "value_1" FROM v GROUP BY g, h',
        ),
        (
            "SELECT g + 1 AS h, sum(x) AS x, sum(sum(x)) OVER () AS s FROM v GROUP BY 1 HAVING x > 3",
            'SELECT "value_1" AS h, "value_2" AS x, SUM("value_2") OVER () AS s FROM released_1',
            'SELECT g + 1 AS "value_1", SUM(x) AS "value_2" FROM v GROUP BY g + 1 HAVING (SUM(x)) > 3',
        ),
        (
            "SELECT g + 1 AS k, count(*) + 1 AS n, sum(count(*)) OVER () AS s FROM v GROUP BY k",
            'SELECT "k" AS k, "value_1" + 1 AS n, SUM("value_1") OVER () AS s FROM released_1',
            'SELECT g + 1 AS "k", COUNT(*) AS "value_1" FROM v GROUP BY g + 1',
        ),
        (
            "SELECT g, count(*) + 1 AS n, sum(count(*)) OVER () AS s FROM v GROUP BY 1",
            'SELECT "g", "value_1" + 1 AS n, SUM("value_1") OVER () AS s FROM released_1',
            'SELECT g AS "g", COUNT(*) AS "value_1" FROM v GROUP BY g',
        ),
        (
            "SELECT g, avg(x) FILTER (WHERE h) AS m FROM v GROUP BY CUBE (g)",
            'SELECT "g", (SUM("value_1") / SUM("value_2")) AS m FROM released_1 GROUP BY CUBE ("g")',
            f'SELECT g AS "g", SUM(x) {FILTER} AS "value_1", COUNT(x) {FILTER} AS "value_2" FROM v GROUP BY g',
        ),
    ],
)
def test_a_column_comes_before_an_alias_in_group_by(sql: str, outer: str, inner: str) -> None:
    found = parts(sql)
    assert found.text == outer
    assert [each.sql for each in found.inner] == [inner]


SMALL = "WITH a AS (SELECT * FROM v WHERE x < 10)"
COUNT = "SELECT count(*) AS n"
LARGE = "WITH a AS (SELECT * FROM v WHERE x >= 10)"


@pytest.mark.parametrize(
    ("sql", "inner"),
    [
        (
            f"{SMALL}, b AS (SELECT * FROM a) SELECT m FROM ({LARGE} SELECT n AS m FROM ({COUNT} FROM b))",
            f"{SMALL}, b AS (SELECT * FROM a) SELECT COUNT(*) AS n FROM b",
        ),
        (
            f"WITH b AS (SELECT * FROM v), v AS (SELECT * FROM v WHERE x < 10) SELECT n FROM ({COUNT} FROM b)",
            "WITH b AS (SELECT * FROM v) SELECT COUNT(*) AS n FROM b",
        ),
        (
            f"{SMALL} SELECT n FROM ({LARGE} SELECT n FROM ({COUNT} FROM a))",
            f"{LARGE} SELECT COUNT(*) AS n FROM a",
        ),
        (
            "WITH v AS (SELECT g FROM v WHERE x < 10) SELECT g, count(*) AS n, max(count(*)) OVER () FROM v GROUP BY g",
            'WITH v AS (SELECT g FROM v WHERE x < 10) SELECT g AS "g", COUNT(*) AS "n" FROM v GROUP BY g',
        ),
    ],
)
def test_a_name_in_a_cte_refers_to_what_is_visible_where_the_cte_is_defined(sql: str, inner: str) -> None:
    assert [each.sql for each in parts(sql).inner] == [inner]


def test_two_ctes_of_one_name_in_one_private_aggregate_are_refused() -> None:
    read = "SELECT n FROM (WITH a AS (SELECT * FROM b) SELECT count(*) AS n FROM a)"
    with pytest.raises(RefusedError, match="'a' refers to different tables or CTEs"):
        split(f"{SMALL}, b AS (SELECT * FROM a) {read}", TABLES)


@pytest.mark.parametrize("name", ["pg_settings", "duckdb_settings", "other"])
def test_a_cte_is_not_a_table_where_it_is_not_visible(name: str) -> None:
    inside = f"(WITH {name} AS (SELECT 1 AS y) SELECT y FROM {name}) AS q"
    with pytest.raises((InvalidError, RefusedError), match=r"Unknown table 'other'|cannot have the name"):
        split(f"SELECT n, (SELECT count(*) FROM {name}) AS c FROM ({BY_G}) AS t, {inside}", TABLES)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT g, grouping_id(g) AS i, count(*) FROM v GROUP BY ROLLUP (g)", "grouping_id is not supported"),
        ("SELECT g, grouping(g) AS i, sum(count(*)) OVER () FROM v GROUP BY g", "grouping needs ROLLUP"),
        ("SELECT g, count(*) FROM v GROUP BY ROLLUP (g, x > 5)", "inside ROLLUP, CUBE or GROUPING SETS needs paren"),
        ("SELECT sum(x) AS x, rank() OVER (ORDER BY x) FROM v GROUP BY g", "The column 'x' is outside an aggregate"),
        ("SELECT *, sum(count(*)) OVER () FROM v GROUP BY ALL", "GROUP BY ALL is not supported"),
        ("SELECT g AS q, count(*) AS q, q AS c FROM v GROUP BY CUBE (g)", "Two items have the alias 'q'"),
        ("SELECT g AS q, count(*) AS q FROM v GROUP BY ROLLUP (g) HAVING q > 1", "Two items have the alias 'q'"),
        ("SELECT g AS x, count(*) AS x FROM v GROUP BY ROLLUP (g) ORDER BY x", "Two items have the alias 'x'"),
    ],
)
def test_a_refusal_is_about_the_text_of_the_query(sql: str, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        split(sql, TABLES)
