"""Every piece of advice that a refusal of SQL gives works: a query that follows it is answered.

Each row has a query that is refused, words of its advice, and a query that follows the advice. `test_no_advice_is_left_
out` compares the hints in the source with those that these rows have shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.query import refusals
from tacit.query.expressions import Value
from tacit.query.refusals import _BY_ARGUMENT, _BY_NODE, _FUNCTIONS_INSTEAD, _INSTEAD

SOURCE = Path(refusals.__file__).parent / "sql"


@dataclass(frozen=True)
class Advice:
    """A query that is refused, words of the advice, and a query that follows it."""

    refused: str
    words: str
    instead: str
    keys: dict[str, list[Value]] = field(default_factory=dict)
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def db() -> Database:
    visits = pd.DataFrame(
        {
            "person": [1, 1, 2, 3, 4, 5, 6, 6] * 5,
            "ward": ["A", "B"] * 20,
            "cost": [1.5, 2.0, 3.0, 9.0] * 10,
            "age": [20, 40, 60, 80] * 10,
            "day": pd.to_datetime(["2026-01-05", "2026-02-07"] * 20),
            "urgent": [True, False, False, False] * 10,
            "note": ["x", "y"] * 20,
            "score": [1.0, 2.0] * 20,
        }
    )
    return tc.open(
        visits,
        name="visits",
        unit="person",
        max_groups=2,
        max_rows=5,
        bounds={"cost": (0, 10), "age": (0, 120)},
        keys={"ward": ["A", "B"]},
        public={"wards": pd.DataFrame({"ward": ["A", "B"], "floor": [1, 2]})},
        budget=tc.PureDP(epsilon=1e9),
    )


BY_WARD = "SELECT ward, count(*) FROM visits GROUP BY ward"
RANKS = "SELECT ward, rank() OVER (ORDER BY n DESC) FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward)"
TOP = "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3"
ALL = "SELECT count(*) FROM visits"
PEOPLE = "SELECT avg(n) FROM (SELECT person, clamp(count(*), 0, 9) AS n FROM visits GROUP BY person)"

ROWS = [
    # rows, windows and sets
    Advice("SELECT * FROM visits", "count(*), sum(x), avg(x)", "SELECT count(*), sum(cost), avg(cost) FROM visits"),
    Advice("SELECT DISTINCT ward FROM visits", "SELECT x, count(*)", BY_WARD),
    Advice(
        "SELECT count(*) FROM (SELECT DISTINCT age FROM visits)",
        "count(DISTINCT x)",
        "SELECT count(DISTINCT age) FROM visits",
    ),
    Advice("SELECT DISTINCT ON (ward) ward FROM visits", "SELECT x, count(*)", BY_WARD),
    Advice("SELECT ward, row_number() OVER (ORDER BY cost) FROM visits", "OVER (ORDER BY n DESC)", RANKS),
    Advice("SELECT count(*) OVER () FROM visits", "Aggregate with GROUP BY in a subquery", RANKS),
    Advice(
        "SELECT *, count(*) FROM visits GROUP BY ALL",
        "Name the columns",
        "SELECT ward, count(*) FROM visits GROUP BY ALL",
    ),
    Advice("SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY ALL", "Name the columns", TOP),
    Advice(
        "SELECT ward, age, count(*) FROM visits GROUP BY ward",
        "Group by it",
        "SELECT ward, age, count(*) FROM visits GROUP BY ward, age",
    ),
    Advice(
        "SELECT ward, age FROM visits GROUP BY ward",
        "count, sum or avg",
        "SELECT ward, avg(age) FROM visits GROUP BY ward",
    ),
    Advice("SELECT ward FROM visits GROUP BY ward", "Add count(*)", BY_WARD),
    Advice("SELECT 1, count(*) FROM visits GROUP BY 1", "Name columns", BY_WARD),
    Advice(
        "SELECT note, count(*) FROM visits GROUP BY note",
        "keys={'note'",
        "SELECT note, count(*) FROM visits GROUP BY note",
        {"note": ["x", "y"]},
    ),
    Advice(
        "SELECT v, count(*) FROM (SELECT person, count(*) AS v FROM visits GROUP BY person) GROUP BY v",
        "With bounds={'v': (low, high)} or --bounds v=LOW:HIGH each whole number is a group",
        "SELECT v, count(*) FROM (SELECT person, count(*) AS v FROM visits GROUP BY person) GROUP BY v",
        bounds={"v": (1, 9)},
    ),
    Advice(
        "SELECT avg(v) FROM (SELECT person, count(*) AS v FROM visits GROUP BY person)",
        "bounds={'v': (low, high)} or --bounds v=LOW:HIGH",
        "SELECT avg(v) FROM (SELECT person, count(*) AS v FROM visits GROUP BY person)",
        bounds={"v": (1, 9)},
    ),
    Advice(
        "SELECT ward, count(*) / (SELECT count(*) FROM visits) AS share FROM visits GROUP BY ward",
        "sum(count(*)) OVER ()",
        "SELECT ward, count(*) / sum(count(*)) OVER () AS share FROM visits GROUP BY ward",
    ),
    Advice(
        "PIVOT (SELECT ward, urgent, count(*) AS n FROM visits GROUP BY ward, urgent) ON ward USING sum(n)",
        "WITH p AS (SELECT x, y, count(*) AS n FROM t GROUP BY x, y) PIVOT p ON y USING sum(n)",
        "WITH p AS (SELECT ward, urgent, count(*) AS n FROM visits GROUP BY ward, urgent) PIVOT p ON ward USING sum(n)",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE person IN (SELECT person FROM visits WHERE urgent)",
        "(SELECT person, bool_or(x > 1) AS met FROM visits GROUP BY person) WHERE met",
        "SELECT count(*) FROM (SELECT person, bool_or(age > 1) AS met FROM visits GROUP BY person) WHERE met",
    ),
    Advice("SELECT string_agg(ward, ',') FROM visits", "SELECT x, count(*)", BY_WARD),
    Advice(
        "SELECT date_format(day, 'yyyy-MM') AS m, count(*) FROM visits GROUP BY m",
        "strftime(day, '%Y-%m')",
        "SELECT strftime(day, '%m') AS m, count(*) FROM visits GROUP BY m",
    ),
    Advice("SELECT sum(isnull(cost, 0)) FROM visits", "coalesce(x, 0)", "SELECT sum(coalesce(cost, 0)) FROM visits"),
    Advice(
        "SELECT count(to_date(note)) FROM visits", "CAST(x AS DATE)", "SELECT count(CAST(note AS DATE)) FROM visits"
    ),
    Advice(
        "SELECT score, count(*) FROM visits GROUP BY score",
        "floor(x / 10) * 10",
        "SELECT floor(clamp(score, 0, 50) / 10) * 10 AS b, count(*) FROM visits GROUP BY b",
    ),
    Advice(
        "SELECT age * 1000 + floor(cost * 1000), count(*) FROM visits GROUP BY 1",
        "larger bins",
        "SELECT floor(age / 10) * 10 AS b, count(*) FROM visits GROUP BY b",
    ),
    # the unit
    Advice("SELECT person, count(*) FROM visits GROUP BY person", "Group by another column", BY_WARD),
    Advice("SELECT person, count(*) FROM visits GROUP BY person", "in a subquery", PEOPLE),
    Advice("SELECT count(person) FROM visits", "count(DISTINCT person)", "SELECT count(DISTINCT person) FROM visits"),
    Advice(
        "SELECT count(person) FROM visits", "WHERE may name the unit", "SELECT count(*) FROM visits WHERE person < 4"
    ),
    Advice(
        "SELECT person, count(*) FROM visits",
        "count(DISTINCT person) counts units",
        "SELECT count(DISTINCT person), count(*) FROM visits",
    ),
    Advice("SELECT count(*) FROM visits a JOIN visits b ON a.person = b.person", "groups by the unit column", PEOPLE),
    # subqueries
    Advice(
        "SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits)",
        "as a constant",
        "SELECT count(*) FROM visits WHERE cost > 3.9",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE age IN (SELECT age FROM visits)",
        "IN ('a', 'b')",
        "SELECT count(*) FROM visits WHERE ward IN ('A', 'B')",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE age > ANY (SELECT age FROM visits)",
        "Compare with a constant",
        "SELECT count(*) FROM visits WHERE age > 20",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE age > ALL (SELECT age FROM visits)",
        "x IN (1, 2)",
        "SELECT count(*) FROM visits WHERE age IN (20, 40)",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT age FROM visits LIMIT 5)",
        "outermost SELECT",
        "SELECT count(*) FROM (SELECT age FROM visits) LIMIT 5",
    ),
    Advice(
        "WITH RECURSIVE c AS (SELECT * FROM visits) SELECT count(*) FROM c",
        "without RECURSIVE",
        "WITH c AS (SELECT * FROM visits) SELECT count(*) FROM c",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT age, age FROM visits)",
        "another name",
        "SELECT count(*) FROM (SELECT age, age AS b FROM visits)",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT *, age + 1 AS age FROM visits)",
        "REPLACE",
        "SELECT count(*) FROM (SELECT * REPLACE (age + 1 AS age) FROM visits)",
    ),
    Advice(
        "SELECT count(*) FROM visits, LATERAL (SELECT visits.age)",
        "subquery in FROM",
        "SELECT count(a) FROM (SELECT age + 1 AS a FROM visits)",
    ),
    Advice(
        "SELECT avg(a) FROM (SELECT person, b + 1 AS a, a + 1 AS b FROM visits GROUP BY person)",
        "such as count(*) AS b",
        "SELECT avg(clamp(a, 0, 9)) FROM (SELECT person, b + 1 AS a, count(*) AS b FROM visits GROUP BY person)",
    ),
    # aggregates
    Advice(
        "SELECT avg(avg(cost)) FROM visits",
        "Aggregate in a subquery",
        "SELECT max(n) FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward)",
    ),
    Advice("SELECT max(count(*)) FROM visits", "arg_max(x, count(*))", "SELECT arg_max(ward, count(*)) FROM visits"),
    Advice(
        "SELECT arg_max(ward, cost) FROM visits",
        "arg_max(ward, sum(cost))",
        "SELECT arg_max(ward, sum(cost)) FROM visits",
    ),
    Advice(
        "SELECT arg_min(ward, cost) FROM visits",
        "arg_min(ward, count(*))",
        "SELECT arg_min(ward, count(*)) FROM visits",
    ),
    Advice(
        "SELECT arg_max(ward, avg(cost)) FROM visits",
        "ORDER BY v DESC LIMIT 1",
        "SELECT ward, avg(cost) AS v FROM visits GROUP BY ward ORDER BY v DESC LIMIT 1",
    ),
    Advice("SELECT arg_max(ward, count(*), 2) FROM visits", "ORDER BY n DESC LIMIT 3", TOP),
    Advice("SELECT arg_max(age, sum(cost)) FROM visits", "compare counts", "SELECT arg_max(age, count(*)) FROM visits"),
    Advice(
        "SELECT histogram(ward), count(*) FROM visits",
        "one query with the histogram",
        "SELECT histogram(ward) FROM visits",
    ),
    Advice("SELECT max(histogram(ward)) FROM visits", "SELECT x, count(*)", BY_WARD),
    Advice(
        "SELECT histogram(age, [age]) FROM visits",
        "histogram(age, [17, 64, 120])",
        "SELECT histogram(age, [17, 64, 120]) FROM visits",
    ),
    Advice(
        "SELECT histogram(*) FROM visits",
        "histogram(age, [17, 64, 120])",
        "SELECT histogram(age, [17, 64, 120]) FROM visits",
    ),
    Advice(
        "SELECT any_value(note) FROM visits",
        "Group by the column",
        "SELECT note, count(*) FROM visits GROUP BY note",
        {"note": ["x"]},
    ),
    Advice("SELECT any_value(ward) FROM visits", "mode(x)", "SELECT mode(ward) FROM visits"),
    Advice("SELECT any_value(age) FROM visits", "min, max or avg", "SELECT min(age), max(age), avg(age) FROM visits"),
    Advice(
        "SELECT median(cost) FILTER (WHERE urgent) FROM visits",
        "CASE WHEN",
        "SELECT median(CASE WHEN urgent THEN cost END) FROM visits",
    ),
    Advice("SELECT sum(DISTINCT cost) FROM visits", "Leave it out", "SELECT sum(cost) FROM visits"),
    Advice("SELECT sum(DISTINCT cost) FROM visits", "count(DISTINCT x)", "SELECT count(DISTINCT cost) FROM visits"),
    Advice("SELECT median(DISTINCT cost) FROM visits", "Leave it out", "SELECT median(cost) FROM visits"),
    Advice("SELECT bool_or(DISTINCT urgent) FROM visits", "bool_or(c)", "SELECT bool_or(urgent) FROM visits"),
    Advice("SELECT bool_and(cost) FROM visits", "Compare the value", "SELECT bool_and(cost > 1) FROM visits"),
    Advice("SELECT count(cost ORDER BY age) FROM visits", "Leave it out", "SELECT count(cost) FROM visits"),
    Advice(
        "SELECT quantile_cont(cost, [0.25, 0.75]) + 1 FROM visits",
        "quantile_cont(x, 0.25)",
        "SELECT quantile_cont(cost, 0.25), quantile_cont(cost, 0.75) FROM visits",
    ),
    Advice(
        "SELECT quantile_cont(cost) FROM visits", "quantile_cont(x, 0.9)", "SELECT quantile_cont(cost, 0.9) FROM visits"
    ),
    Advice(
        "SELECT quantile_cont(cost, 2) FROM visits",
        "quantile_cont(x, 0.9)",
        "SELECT quantile_cont(cost, 0.9) FROM visits",
    ),
    Advice(
        "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY cost, age) FROM visits",
        "WITHIN GROUP (ORDER BY x)",
        "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY cost) FROM visits",
    ),
    Advice(
        "SELECT mode(DISTINCT ward) FROM visits",
        "Write mode(x)",
        "SELECT mode(ward), mode() WITHIN GROUP (ORDER BY ward) FROM visits",
    ),
    Advice(
        "SELECT count(DISTINCT ward, note) FROM visits",
        "x || '-' || y",
        "SELECT count(DISTINCT ward || '-' || note) FROM visits",
    ),
    Advice("SELECT sum(score) FROM visits", "clamp(score, low, high)", "SELECT sum(clamp(score, 0, 5)) FROM visits"),
    Advice(
        "SELECT sum(note) FROM visits",
        "CAST(note AS DOUBLE)",
        "SELECT sum(clamp(CAST(note AS DOUBLE), 0, 5)) FROM visits",
    ),
    Advice("SELECT count(ward, age) FROM visits", "count(*) or count(x)", "SELECT count(*), count(age) FROM visits"),
    Advice(
        "SELECT sum(cost) FROM visits WHERE sum(cost) > 3", "HAVING", "SELECT sum(cost) AS s FROM visits HAVING s > 3"
    ),
    Advice(
        "SELECT bit_and(age) FROM visits",
        "count, sum, avg, median, min, max",
        "SELECT count(age), sum(age), avg(age), median(age), min(age), max(age) FROM visits",
    ),
    Advice("SELECT list(ward) FROM visits", "SELECT x, count(*)", BY_WARD),
    Advice(
        "SELECT kurtosis(cost) FROM visits",
        "quantile_cont(x, 0.01)",
        "SELECT quantile_cont(cost, 0.01), quantile_cont(cost, 0.99) FROM visits",
    ),
    Advice(
        "SELECT approx_quantile(cost, 0.5) FROM visits",
        "quantile_cont(x, 0.5)",
        "SELECT quantile_cont(cost, 0.5) FROM visits",
    ),
    Advice("SELECT approx_top_k(ward, 3) FROM visits", "ORDER BY n DESC LIMIT 3", TOP),
    Advice("SELECT entropy(ward) FROM visits", "SELECT x, count(*)", BY_WARD),
    Advice("SELECT every(urgent) FROM visits", "bool_and(c)", "SELECT bool_and(urgent) FROM visits"),
    Advice("SELECT geomean(cost) FROM visits", "exp(avg(", "SELECT exp(avg(clamp(ln(cost), -3, 3))) FROM visits"),
    Advice("SELECT product(cost) FROM visits", "exp(sum(", "SELECT exp(sum(clamp(ln(cost), -3, 3))) FROM visits"),
    Advice("SELECT mad(cost) FROM visits", "median(abs(x - 10))", "SELECT median(abs(cost - 10)) FROM visits"),
    Advice(
        "SELECT sem(cost) FROM visits", "sqrt(count(x))", "SELECT stddev_samp(cost) / sqrt(count(cost)) FROM visits"
    ),
    Advice("SELECT skewness_pop(cost) FROM visits", "skewness(x)", "SELECT skewness(cost) FROM visits"),
    Advice(
        "SELECT regr_sxx(cost, age) FROM visits",
        "var_pop(x)",
        "SELECT regr_count(cost, age) * var_pop(age) FROM visits",
    ),
    Advice(
        "SELECT regr_sxy(cost, age) FROM visits",
        "covar_pop(y, x)",
        "SELECT regr_count(cost, age) * covar_pop(cost, age) FROM visits",
    ),
    Advice(
        "SELECT regr_syy(cost, age) FROM visits",
        "var_pop(y)",
        "SELECT regr_count(cost, age) * var_pop(cost) FROM visits",
    ),
    # joins
    Advice(
        "SELECT count(*) FROM visits, wards",
        "JOIN b ON",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward",
    ),
    Advice(
        "SELECT count(*) FROM visits CROSS JOIN wards",
        "LEFT JOIN",
        "SELECT count(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward",
    ),
    Advice(
        "SELECT count(*) FROM visits NATURAL JOIN wards", "USING", "SELECT count(*) FROM visits JOIN wards USING (ward)"
    ),
    Advice(
        "SELECT count(*) FROM visits RIGHT JOIN wards USING (ward)",
        "LEFT JOIN",
        "SELECT count(*) FROM visits LEFT JOIN wards USING (ward)",
    ),
    Advice(
        "SELECT count(*) FROM visits FULL JOIN wards USING (ward)",
        "LEFT JOIN",
        "SELECT count(*) FROM visits LEFT JOIN wards USING (ward)",
    ),
    Advice(
        "SELECT count(*) FROM visits SEMI JOIN wards USING (ward)",
        "Write JOIN",
        "SELECT count(*) FROM visits JOIN wards USING (ward)",
    ),
    Advice("SELECT count(*) FROM visits JOIN visits ON true", "alias", "SELECT count(*) FROM visits AS b"),
    Advice(
        "SELECT floor, count(*) FROM wards GROUP BY floor",
        "join a private table",
        "SELECT floor, count(*) FROM visits JOIN wards USING (ward) GROUP BY floor",
    ),
    # expressions
    Advice("SELECT count(*) FROM visits WHERE age", "Compare the value", "SELECT count(*) FROM visits WHERE age > 0"),
    Advice(
        "SELECT count(*) FROM visits WHERE age = ward",
        "CAST(x AS",
        "SELECT count(*) FROM visits WHERE CAST(age AS TEXT) = ward",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE (ward, age) = ('A', 3)",
        "one by one",
        "SELECT count(*) FROM visits WHERE ward = 'A' AND age = 3",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE note GLOB 'x*'", "LIKE", "SELECT count(*) FROM visits WHERE note LIKE 'x%'"
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE regexp_matches(note, 'x')",
        "LIKE, starts_with, left or substring",
        "SELECT count(*) FROM visits WHERE note LIKE '%x%' OR starts_with(left(note, 2), substring(note, 1, 1))",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE note COLLATE nocase = 'x'",
        "lower(x)",
        "SELECT count(*) FROM visits WHERE lower(note) = 'x'",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE note LIKE 'a!%' ESCAPE '!'",
        "replace(x, '%', '') <> x",
        "SELECT count(*) FROM visits WHERE replace(note, '%', '') <> note",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE try(cost / 0) > 3", "x / 0", "SELECT count(*) FROM visits WHERE cost / 0 > 3"
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE age BETWEEN SYMMETRIC 5 AND 3",
        "lower end first",
        "SELECT count(*) FROM visits WHERE age BETWEEN 3 AND 5",
    ),
    Advice(
        "SELECT count(CAST(cost AS DECIMAL(10, 2))) FROM visits",
        "cast to DOUBLE and round",
        "SELECT count(round(CAST(cost AS DOUBLE), 2)) FROM visits",
    ),
    Advice(
        "SELECT count(note[1]) FROM visits", "substring(x, 1, 1)", "SELECT count(substring(note, 1, 1)) FROM visits"
    ),
    Advice("SELECT count(trim(LEADING 'x' FROM note)) FROM visits", "trim(x)", "SELECT count(trim(note)) FROM visits"),
    Advice("SELECT sqrtt(cost) FROM visits", "Did you mean sqrt", "SELECT sum(sqrt(cost)) FROM visits"),
    Advice("SELECT COLUMNS('c.*') FROM visits", "Name the columns", "SELECT avg(cost) FROM visits"),
    Advice("SELECT count(visits.*) FROM visits", "count(*)", ALL),
    # dates
    Advice(
        "SELECT count(INTERVAL 3 DAY) FROM visits",
        "day + INTERVAL 30 DAY",
        "SELECT count(day + INTERVAL 30 DAY) FROM visits",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE hour(day) > current_time",
        "hour(now())",
        "SELECT count(*) FROM visits WHERE hour(day) > hour(now())",
    ),
    Advice(
        "SELECT count(now(3)) FROM visits",
        "current_date or now()",
        "SELECT count(*) FROM visits WHERE day > current_date OR day > now()",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE day AT TIME ZONE 'UTC' > '2026-01-01'",
        "without an offset",
        "SELECT count(*) FROM visits WHERE day > '2026-01-01'",
    ),
    # sources and clauses
    Advice("SELECT count(*) FROM main.visits", "the table or the column alone", ALL),
    Advice("SELECT count(*) FROM read_csv('x.csv')", "tables of the policy", ALL),
    Advice("SELECT count(*) FROM 'x.csv'", "Query one of: ", ALL),
    Advice("SELECT count(*) FROM (VALUES (1))", "tables of the policy", ALL),
    Advice("SELECT count(*)", "Write FROM", ALL),
    Advice("SELECT count(*) FROM visits TABLESAMPLE 10%", "Leave it out", ALL),
    Advice("SELECT count(*) FROM visits FETCH FIRST 3 ROWS ONLY", "LIMIT", "SELECT count(*) FROM visits LIMIT 3"),
    Advice("SELECT count(*) FROM visits LIMIT 10%", "LIMIT 10", "SELECT count(*) FROM visits LIMIT 10"),
    Advice("SELECT count(*) FROM visits FOR UPDATE", "Leave them out", ALL),
    Advice("DELETE FROM visits", "Only SELECT", ALL),
    Advice("SELECT 1; SELECT count(*) FROM visits", "one by one", ALL),
]


def hint_of(db: Database, sql: str) -> str:
    with pytest.raises(tc.TacitError) as refusal:
        db.plan(sql, epsilon=1)
    return refusal.value.hint or ""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.refused)
def test_following_the_advice_gives_an_answer(db: Database, row: Advice) -> None:
    assert row.words in hint_of(db, row.refused)
    answer = db.sql(row.instead, epsilon=1, keys=row.keys or None, bounds=row.bounds or None)
    assert answer.to_dict()


ELSEWHERE = frozenset({"joins", "hint", "hints", "when", "unnest", "field", "kind", "into", "windows"})
"""Arguments of no query that the parser accepts, or that an earlier check refuses; others have the same advice."""

RELEASED = frozenset({"grouping_sets", "rollup", "cube", "totals", "qualify", "pivots", "ordinality"})
"""Clauses that are supported over released values; over rows another check refuses them first."""


@cache
def shown(db: Database) -> set[str]:
    """Return the hints of all refused queries."""
    return {hint_of(db, row.refused) for row in ROWS}


def test_no_advice_of_an_aggregate_is_left_out(db: Database) -> None:
    assert {hint for hint in (*_INSTEAD.values(), *_FUNCTIONS_INSTEAD.values()) if hint} <= shown(db)


def test_no_advice_of_a_clause_is_left_out(db: Database) -> None:
    seen = shown(db)
    for name, (_, hint) in _BY_ARGUMENT.items():
        assert not hint or hint in seen or name in ELSEWHERE | RELEASED, name


PARSED_ELSEWHERE = frozenset(
    {
        *("Union", "Intersect", "Except", "Pivot", "Rollup", "Cube", "GroupingSets"),  # supported over released values
        *("Placeholder", "Parameter", "SessionParameter"),  # advice on arguments of Python, see test_parameters
        *("Lambda", "Dot"),  # the reason, not a query
        *("CountIf", "Exists", "RespectNulls"),  # the same advice as of other rows
    }
)


def test_no_advice_of_a_node_is_left_out(db: Database) -> None:
    seen = shown(db)
    for name, (_, hint) in _BY_NODE.items():
        assert not hint or hint in seen or name in PARSED_ELSEWHERE, name


CHECKED = ("arg_max_calls", "histogram_calls", "mode_calls", "parse", "quantile_calls", "select_list")
UNREACHED = frozenset(
    {
        "The groups have",  # a million cells
        "refers to the column of that name",  # see test_refusal_texts
        "would choose among",  # a thousand values, see test_mode
        "has no value to choose but NULL",  # see test_mode
        "has its value twice",  # shares its advice with two others
        "of one value in the order of another",
        "takes one value and one share",
        "mode takes one value",
    }
)


def hints_in(module: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the reason and the hint of each refusal in a module, if the hint is written there."""
    tree = ast.parse((SOURCE / f"{module}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refused" and len(node.args) == 2:
            hint = _pattern(node.args[1])
            if hint is not None:
                yield (_pattern(node.args[0]) or re.compile("")).pattern, hint


def _pattern(node: ast.expr) -> re.Pattern[str] | None:
    if isinstance(node, ast.Constant):
        return re.compile(re.escape(str(node.value)))
    if isinstance(node, ast.JoinedStr):
        parts = (re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in node.values)
        return re.compile("".join(parts))
    return None


@pytest.mark.parametrize("module", CHECKED)
def test_no_advice_beside_a_check_is_left_out(db: Database, module: str) -> None:
    seen = shown(db)
    for reason, hint in hints_in(module):
        exempt = any(re.escape(words) in reason for words in UNREACHED)
        assert exempt or any(hint.search(text) for text in seen), hint.pattern
