"""The properties of columns of outer queries: exact, copied, smooth, rising, and whether noise chose the rows."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from tacit.errors import RefusedError
from tacit.query.sql.outer_analysis import OuterAnalysis
from tacit.query.sql.outer_columns import OuterColumns, outer_columns
from tacit.query.sql.outer_grammar import ALLOWED
from tacit.query.sql.outer_scopes import OuterScope

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
        ("n * s", ""),
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
        ("floor(n)", "sr"),
        ("round(n, 1)", "sr"),
        ("round(n, s)", ""),
        ("abs(n)", ""),
        ("sqrt(n)", "sr"),
        ("n ** 2", ""),
        ("2 ** n", ""),
        ("n::DOUBLE", "sr"),
        ("n::VARCHAR", ""),
        ("coalesce(n, 0)", "sr"),
        ("nullif(n, 0)", ""),
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
        ("n / nullif(s, 0)", "s"),
        ("1 - n / s", "s"),
        ("100 * (n / s)", "s"),
        ("n / s + s", ""),
        ("n / s / s", ""),
        ("n / s - lag(n / s) OVER (ORDER BY g)", ""),
        ("lag(n / s) OVER (ORDER BY g)", "s"),
        ("coalesce(n / s, 0)", ""),
        ("greatest(n / s, 0)", ""),
        ("greatest(n, 0)", "sr"),
        ("round(n / s, 2)", "s"),
        ("sqrt(n - s)", "s"),
        ("sqrt(n) - sqrt(s)", ""),
        ("CAST(n / 100 AS INTEGER)", "sr"),
        ("TRY_CAST(n AS TINYINT)", ""),
        ("n IN (SELECT x FROM p)", ""),
        ("count(*) OVER (ORDER BY g ROWS n PRECEDING)", ""),
        ("sum(s) OVER w", ""),
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
        ("sum((n - 149) ** 2)", "FROM t", ""),
        ("sqrt(sum((n - 149) ** 2) / 12)", "FROM t", ""),
        ("sum(sqrt(power(n - 149, 2)))", "FROM t", ""),
        ("sum(power(n / s, 2))", "FROM t", ""),
        ("avg(n * n) - avg(n) * avg(n)", "FROM t", ""),
        ("sum(round(n, -2))", "FROM t", "r"),
        ("sum(CAST(n / 100 AS INTEGER))", "FROM t", "r"),
        ("sum(n / s)", "FROM t", ""),
        ("sum(n) / sum(s)", "FROM t", "s"),
        ("avg(coalesce(n, 0))", "FROM t", "sr"),
        ("avg(nullif(n, 0))", "FROM t", ""),
        ("m", "FROM t, LATERAL (SELECT n * 2 AS m) AS q", "sr"),
        ("z", "FROM t, unnest([n, 2 * n]) AS q(z)", ""),
        ("z", "FROM t, range(n) AS q(z)", ""),
        ("z", "FROM t, range(3) AS q(z)", "e"),
        ("count(*)", "FROM t, range(n) AS q(z)", ""),
        ("count(*)", "FROM t, range(3) AS q(z)", "e"),
        ("z", "FROM (VALUES ((SELECT max(n) FROM t))) AS q(z)", ""),
        ("(SELECT max(z + n) FROM range(3) AS q(z))", "FROM t", "r"),
        ("(SELECT max(z + n) FROM (VALUES (1)) AS q(z))", "FROM t", ""),
        ("sum(n)", "FROM (SELECT * FROM t, range(3) AS q(z))", "sr"),
        ("(SELECT max(n) FROM range(3))", "FROM t", ""),
        ("count(*)", "FROM t WHERE n IN (SELECT x FROM p)", ""),
        ("count(*)", "FROM t WHERE g IN (SELECT g FROM p)", "e"),
        ("count(*)", "FROM (SELECT n, count(*) AS c FROM t GROUP BY ALL)", ""),
        ("c", "FROM (SELECT n, count(*) AS c FROM t GROUP BY ALL)", ""),
        ("c", "FROM (SELECT g, count(*) AS c FROM t GROUP BY ALL)", "e"),
        ("c", "FROM (SELECT count(*) AS c FROM t GROUP BY ROLLUP (g, n))", ""),
        ("product(x)", "FROM t JOIN p USING (g) WHERE n > 3", ""),
        ("geomean(x)", "FROM t JOIN p USING (g) WHERE n > 3", ""),
        ("product(x)", "FROM t JOIN p USING (g)", "e"),
        ("count(*)", "FROM (PIVOT t ON n)", ""),
        ("count(*)", "FROM (PIVOT (SELECT g, n FROM t) ON g USING sum(n))", "e"),
        ("sum(a)", "FROM (SELECT * FROM (PIVOT (SELECT g, n FROM t) ON g USING sum(n * n)))", ""),
        ("count(*)", "FROM (SELECT g FROM t ORDER BY g LIMIT (SELECT max(n) FROM t))", ""),
        ("x", "FROM (SELECT DISTINCT ON (h) h, x FROM t JOIN p USING (g) ORDER BY n)", ""),
        ("count(*)", "FROM (SELECT g FROM (SELECT g FROM t ORDER BY n) LIMIT 2)", ""),
        ("count(*)", "FROM ((SELECT g FROM t ORDER BY n) LIMIT 2)", ""),
        ("first(g)", "FROM (SELECT g FROM t ORDER BY n)", ""),
        ("last(n)", "FROM (SELECT n FROM t ORDER BY n)", ""),
        ("any_value(n)", "FROM (SELECT n FROM t ORDER BY n)", ""),
        ("string_agg(g)", "FROM (SELECT g FROM t ORDER BY n)", ""),
        ("row_number() OVER ()", "FROM (SELECT g FROM t ORDER BY n)", ""),
        ("lag(n) OVER ()", "FROM (SELECT n FROM t ORDER BY n)", ""),
        ("sum(n) OVER (ORDER BY g ROWS 1 PRECEDING)", "FROM (SELECT * FROM t ORDER BY n)", ""),
        ("sum(n)", "FROM (SELECT n FROM t ORDER BY n)", "sr"),
        ("sum(n) OVER ()", "FROM (SELECT n FROM t ORDER BY n)", "sr"),
        ("row_number() OVER ()", "FROM (SELECT g FROM t ORDER BY ALL)", ""),
        ("c", "FROM (SELECT * FROM t NATURAL JOIN p) AS q(a, b, c)", ""),
        ("b", "FROM (SELECT COLUMNS(*), g FROM t) AS q(a, b)", ""),
        ("k", "FROM (SELECT * RENAME (n AS k) FROM t)", "csr"),
        ("count(*)", "FROM (t JOIN u ON t.n = u.m)", ""),
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


CONSTANTS = (exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.DataType, exp.DataTypeParam)
"""The node classes that hold a word or a number, and no value."""
QUERIES = (exp.Select, exp.Subquery, exp.Union, exp.Except, exp.Intersect, exp.Pivot)
"""The node classes that hold clauses; the tests above have each clause."""


@pytest.mark.parametrize("node", sorted(ALLOWED - {exp.Column, *CONSTANTS, *QUERIES}, key=repr))
def test_a_noisy_argument_of_any_node_makes_its_value_noisy(node: type[exp.Expr]) -> None:
    """Each class that the grammar of outer queries allows, with a noisy column as each of its arguments."""
    analysis = OuterAnalysis({name: (name, columns) for name, columns in TABLES.items()})
    relation = analysis.query(exp.select("*").from_("t"), {}, None)
    scope = OuterScope({"t": relation}, {}, None)
    for name in node.arg_types:
        for made in (node(**{name: exp.column("n")}), node(**{name: [exp.column("n")]})):
            if made.find(exp.Column) is None or (name == "ifs" and not isinstance(made.args["ifs"], list)):
                continue  # the parser reads a unit of time as a word, and the conditions of CASE are a list
            assert not analysis.derive(made, scope, frozenset(), {}).exact, f"{node.__name__}({name}=n)"


def test_a_window_over_groups_that_having_chose_is_not_exact() -> None:
    found = outline("SELECT g, row_number() OVER (ORDER BY g) AS k FROM t GROUP BY g HAVING sum(n) > 3")
    derivation = found.derivation(1, "k", 2)
    assert derivation is not None
    assert not derivation.exact
    assert not derivation.smooth


def test_an_unknown_node_is_never_exact() -> None:
    for expression in ("list_sum([n])", "nosuch(g)", "[n][1]", "{'a': g}", "x -> x + 1"):
        assert letters(expression) == ""


def test_columns_that_are_not_linear_in_their_noise_are_not_smooth() -> None:
    tree = sqlglot.parse_one("SELECT n, 2 * n AS m, 1 - n AS k, s - 1 AS l FROM t", dialect="duckdb")
    found = dict(outer_columns(tree, TABLES, (), [("t", "n")]).columns)
    assert {name: (each.smooth, each.rising) for name, each in found.items()} == {
        "n": (False, True), "m": (False, True), "k": (False, False), "l": (True, True)
    }  # fmt: skip


def test_only_noisy_denominators_are_guarded_in_draws() -> None:
    """A guard of an exact denominator would change the condition, and so the draws."""
    found = outline(
        "SELECT CASE WHEN x / (0 - 2) < 0 THEN n ELSE n / m END AS z FROM t JOIN u USING (g) JOIN p USING (g)"
    )
    assert "x / (0 - 2) < 0" in found.drawn
    assert "CASE WHEN m > 0" in found.drawn


def _nested(clause: str, depth: int) -> str:
    return "SELECT n FROM t" if depth == 0 else f"SELECT n FROM t {clause} ({_nested(clause, depth - 1)})"


def _doubled(times: int) -> str:
    """Return a query that joins its rows to themselves, so that its columns double each time."""
    steps = [f"c{i + 1} AS (SELECT a.*, b.* FROM c{i} AS a, c{i} AS b)" for i in range(times)]
    return f"WITH {', '.join(['c0 AS (SELECT n FROM t)', *steps])} SELECT * FROM c{times}"


def _steps(sql: str) -> int:
    analysis = OuterAnalysis({name: (name, columns) for name, columns in TABLES.items()})
    relation = analysis.query(sqlglot.parse_one(sql, dialect="duckdb"), {}, None)
    assert relation.columns[0][1].inputs == {("t", "n")}
    return analysis.steps


def test_the_work_of_a_star_grows_with_its_columns() -> None:
    assert 2**10 < _steps(_doubled(10)) < 2**13


@pytest.mark.parametrize("term", ["n", "(SELECT max(n) FROM t)", "(n)", "CAST(n AS DOUBLE)"])
def test_the_work_of_an_expression_grows_with_its_length(term: str) -> None:
    """Each part is derived once, so a sum of 40 terms has at most 20 steps for each."""
    assert 40 < _steps(f"SELECT {' + '.join([term] * 40)} AS x FROM t") < 40 * 20


@pytest.mark.parametrize(
    "sql",
    [
        *(_nested(clause, 30) for clause in ("ORDER BY", "HAVING n >", "QUALIFY n >")),
        _doubled(40),
        f"SELECT {' + '.join(['n'] * 3000)} FROM t",
    ],
)
def test_a_query_whose_work_could_grow_without_bound_is_refused(sql: str) -> None:
    with pytest.raises(RefusedError, match="nested too deep"):
        outline(sql)
