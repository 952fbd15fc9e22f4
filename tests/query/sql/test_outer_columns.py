"""The properties of columns of outer queries: exact, copied, smooth, rising, and whether noise chose the rows."""

from __future__ import annotations

import pytest
import sqlglot

from tacit.query.sql.outer_columns import OuterColumns, outer_columns

TABLES = {
    "t": {"g": False, "h": False, "n": True, "s": True},
    "u": {"g": False, "m": True},
    "p": {"g": False, "x": False},
}


def outline(sql: str, chosen: tuple[str, ...] = ()) -> OuterColumns:
    return outer_columns(sqlglot.parse_one(sql, dialect="duckdb"), TABLES, chosen)


def letters(expression: str, rest: str = "FROM t") -> str:
    """Return e, c, s and r for exact, copied, smooth and rising."""
    ((_, found),) = outline(f"SELECT {expression} AS x {rest}").columns
    if found.exact:
        return "e"
    return "".join(mark for mark, holds in (("c", found.copies), ("s", found.smooth), ("r", found.rising)) if holds)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("g", "e"),
        ("1", "e"),
        ("upper(g)", "e"),
        ("n", "csr"),
        ("(n)", "csr"),
        ("n + s", "sr"),
        ("n - s", "s"),
        ("n - 3", "sr"),
        ("3 - n", "s"),
        ("-n", "s"),
        ("n * s", "s"),
        ("n * 2", "sr"),
        ("n * -2", "s"),
        ("100.0 * n / sum(n) OVER ()", "s"),
        ("n / s", "s"),
        ("n / 2", "sr"),
        ("n / 0", "s"),
        ("sum(n) OVER ()", "sr"),
        ("sum(n) OVER (PARTITION BY g ORDER BY h)", "sr"),
        ("sum(n) OVER (ORDER BY n)", ""),
        ("avg(n) OVER (PARTITION BY s)", ""),
        ("rank() OVER (ORDER BY n)", ""),
        ("rank() OVER (ORDER BY g)", "e"),
        ("lag(n) OVER (ORDER BY g)", "sr"),
        ("n - lag(n) OVER (ORDER BY g)", "s"),
        ("max(n) OVER ()", "r"),
        ("greatest(n, s)", "r"),
        ("floor(n)", "r"),
        ("round(n, 1)", "sr"),
        ("round(n, s)", ""),
        ("abs(n)", ""),
        ("sqrt(n)", "sr"),
        ("n ** 2", "s"),
        ("2 ** n", ""),
        ("n::DOUBLE", "sr"),
        ("n::VARCHAR", ""),
        ("coalesce(n, 0)", "sr"),
        ("nullif(n, 0)", "sr"),
        ("nullif(n, s)", ""),
        ("CASE WHEN g = 'a' THEN n ELSE s END", "sr"),
        ("CASE WHEN n > 3 THEN n ELSE s END", ""),
        ("CASE g WHEN 'a' THEN n END", "sr"),
        ("n > 3", ""),
        ("n % 2", ""),
        ("n // 2", ""),
        ("nosuch", ""),
        ("(SELECT sum(n) FROM t)", "sr"),
        ("(SELECT max(n) FROM t)", "r"),
        ("(SELECT n FROM t ORDER BY n LIMIT 1)", ""),
        ("g IN (SELECT g FROM t WHERE n > 3)", ""),
        ("EXISTS (SELECT 1 FROM t WHERE n > 3)", ""),
        ("sum(n) FILTER (WHERE g = 'a') OVER ()", "sr"),
        ("sum(n) FILTER (WHERE n > 3) OVER ()", ""),
    ],
)
def test_the_properties_of_an_expression(expression: str, expected: str) -> None:
    assert letters(expression) == expected


@pytest.mark.parametrize(
    ("expression", "rest", "expected"),
    [
        ("sum(n)", "FROM t", "sr"),
        ("count(*)", "FROM t", "e"),
        ("count(*)", "FROM t WHERE n > 3", ""),
        ("sum(n)", "FROM t WHERE g = 'a'", "sr"),
        ("sum(n)", "FROM t WHERE n > 3", ""),
        ("sum(n)", "FROM t GROUP BY g", "sr"),
        ("sum(n)", "FROM t GROUP BY n", ""),
        ("max(n)", "FROM t GROUP BY g", "r"),
        ("sum(DISTINCT n)", "FROM t", ""),
        ("sum(t.n - u.m)", "FROM t JOIN u USING (g)", "s"),
        ("sum(t.n)", "FROM t JOIN u ON t.n = u.m", ""),
        ("x * n", "FROM t JOIN p USING (g)", "s"),
        ("m", "FROM (SELECT max(n) AS m FROM t)", "r"),
        ("sum(n)", "FROM (SELECT n FROM t ORDER BY n DESC LIMIT 3)", ""),
        ("sum(n)", "FROM (SELECT n FROM t ORDER BY g LIMIT 3)", "sr"),
        ("sum(n)", "FROM (SELECT DISTINCT n FROM t)", ""),
        ("sum(n)", "FROM (SELECT n FROM t UNION ALL SELECT m FROM u)", "sr"),
        ("sum(n)", "FROM (SELECT n FROM t UNION SELECT m FROM u)", ""),
        ("sum(n)", "FROM (SELECT n FROM t QUALIFY rank() OVER (ORDER BY n) < 3)", ""),
        ("sum(k)", "FROM (SELECT g, n AS k FROM t) AS q(a, k)", "sr"),
    ],
)
def test_the_properties_of_an_expression_over_several_rows(expression: str, rest: str, expected: str) -> None:
    assert letters(expression, rest) == expected


@pytest.mark.parametrize(
    ("sql", "chosen"),
    [
        ("SELECT g, n FROM t", False),
        ("SELECT g, n FROM t ORDER BY n", False),
        ("SELECT g, n FROM t ORDER BY n LIMIT 2", True),
        ("SELECT g, n FROM t ORDER BY g LIMIT 2", False),
        ("SELECT g, n FROM t LIMIT 2", True),
        ("SELECT g, n FROM t WHERE n > 2", True),
        ("SELECT g, n FROM t WHERE g > 'a'", False),
        ("SELECT g, sum(n) AS k FROM t GROUP BY g HAVING k > 3", True),
        ("SELECT DISTINCT g, n FROM t", True),
        ("SELECT g FROM t WHERE g IN (SELECT g FROM u WHERE m > 3)", True),
        ("SELECT g, n FROM t INTERSECT SELECT g, m FROM u", True),
    ],
)
def test_which_queries_choose_rows_by_noise(sql: str, *, chosen: bool) -> None:
    assert bool(outline(sql).choice) is chosen


def test_a_released_table_that_was_chosen_stays_chosen() -> None:
    assert outline("SELECT g, n FROM t", ("t",)).choice == {("t", "n"), ("t", "s")}
    assert outline("SELECT g, m FROM u", ("t",)).choice == frozenset()


@pytest.mark.parametrize(
    ("sql", "relaxed"),
    [
        ("SELECT g, n / 2 AS k FROM t WHERE n > 2 ORDER BY n LIMIT 1", "SELECT g, n / 2 AS k FROM t"),
        ("SELECT g, n FROM t QUALIFY rank() OVER (ORDER BY n) < 3", "SELECT g, n FROM t"),
        ("SELECT g, n / sum(n) OVER () AS k FROM t WHERE n > 2", None),
        ("SELECT g, n FROM (SELECT g, n FROM t WHERE n > 2)", None),
        ("SELECT g, n FROM t", None),
    ],
)
def test_the_query_without_the_choice_at_its_end(sql: str, relaxed: str | None) -> None:
    assert outline(sql).relaxed == relaxed


def test_two_uses_of_a_table_are_different_copies() -> None:
    found = outline("WITH c AS (SELECT g, n FROM t) SELECT a.g, a.n, b.g, b.n FROM c AS a, c AS b")
    uses = [next(iter(each.copies))[0] for _, each in found.columns]
    assert uses[0] == uses[1] != uses[2] == uses[3]
    assert {found.uses[use] for use in uses} == {"t"}


def test_joins_make_keys_equal_only_where_both_sides_have_rows() -> None:
    def sources(sql: str) -> set[str]:
        found = outline(sql)
        return {found.uses[use] for use, _ in found.columns[0][1].copies}

    assert sources("SELECT g FROM t FULL JOIN u USING (g)") == {"t", "u"}
    assert sources("SELECT t.g FROM t JOIN u ON t.g = u.g") == {"t", "u"}
    assert sources("SELECT t.g FROM t LEFT JOIN u ON t.g = u.g") == {"t", "u"}
    assert sources("SELECT t.g FROM t RIGHT JOIN u ON t.g = u.g") == {"t"}
    assert sources("SELECT t.g FROM t FULL JOIN u ON t.g = u.g") == {"t"}
    assert sources("SELECT t.g FROM t, u") == {"t"}


def test_pivot_of_a_sum_is_smooth_and_other_pivots_are_not() -> None:
    smooth = outline("PIVOT (SELECT g, h, n FROM t) ON g USING sum(n)")
    assert smooth.others is not None
    assert smooth.others.smooth
    assert [name for name, each in smooth.columns if each.exact] == ["h"]
    for sql in ("PIVOT (SELECT g, n FROM t) ON g USING max(n)", "PIVOT (SELECT n, s FROM t) ON n USING sum(s)"):
        found = outline(sql)
        assert found.others is not None
        assert not found.others.smooth
