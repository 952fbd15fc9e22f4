# ruff: noqa: S608 - queries are text
from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError, TacitError
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.sql.parse import parse

SURVEY = TablePolicy(
    name="survey",
    unit="person_id",
    max_groups=3,
    max_rows=5,
    neighbours="add/remove",
    columns={
        "person_id": ColumnPolicy(kind="integer"),
        "region": ColumnPolicy(kind="text", keys=("north", "south")),
        "income": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(200_000))),
        "age": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(120))),
        "visits": ColumnPolicy(kind="integer"),
        "score": ColumnPolicy(kind="real"),
        "urban": ColumnPolicy(kind="boolean"),
        "note": ColumnPolicy(kind="text"),
        "day": ColumnPolicy(kind="date"),
        "at": ColumnPolicy(kind="timestamp"),
        "name": ColumnPolicy(kind="text", hidden=True),
    },
)
OTHER = TablePolicy(name="other", unit=None, max_groups=1, max_rows=1, neighbours="add/remove")


def plan_query(sql: str) -> None:
    price(parse(sql, {"survey": SURVEY, "other": OTHER}), Cost(epsilon=1))


def refuse(sql: str, *phrases: str) -> tuple[str, tuple[str, ...]]:
    return sql, phrases


REFUSED = [
    # rows themselves
    refuse("SELECT * FROM survey", "selects rows"),
    refuse("SELECT income FROM survey", "selects rows"),
    refuse("SELECT 1 FROM survey", "selects rows"),
    refuse("SELECT survey FROM survey", "rows"),
    refuse("SELECT survey.* FROM survey", "selects rows"),
    refuse("SELECT *, count(*) FROM survey", "selects rows"),
    refuse("FROM survey", "selects rows"),
    refuse("TABLE survey", "Only SELECT"),
    refuse("SELECT income, count(*) FROM survey", "'income' is outside an aggregate"),
    refuse("SELECT region, income, count(*) FROM survey GROUP BY region", "'income' is outside"),
    refuse("SELECT region, count(*) FROM survey GROUP BY region ORDER BY income", "'income' is outside"),
    refuse("SELECT region, count(*) FROM survey GROUP BY region HAVING income > 5", "'income' is outside"),
    refuse("SELECT survey, count(*) FROM survey", "whole rows"),
    refuse("SELECT count(survey) FROM survey", "whole rows"),
    refuse("SELECT count(survey.*) FROM survey", "stands for rows", "count(*)"),
    refuse("SELECT count(* EXCLUDE (age)) FROM survey", "stands for rows"),
    refuse("SELECT region FROM survey GROUP BY region", "reads nothing from the data"),
    # the unit
    refuse("SELECT person_id, count(*) FROM survey GROUP BY person_id", "unit column", "single units"),
    refuse("SELECT person_id % 2, count(*) FROM survey GROUP BY 1", "unit column"),
    refuse("SELECT p, count(*) FROM (SELECT person_id AS p FROM survey) GROUP BY p", "unit column"),
    refuse("SELECT person_id, count(*) FROM survey", "unit column", "never released"),
    refuse("SELECT count(person_id) FROM survey", "unit column", "count(DISTINCT person_id)"),
    refuse("SELECT sum(clamp(person_id, 0, 9)) FROM survey", "unit column"),
    refuse("SELECT count(CASE WHEN person_id = 1 THEN 1 END) FROM survey", "unit column", "WHERE may name"),
    # DISTINCT
    refuse("SELECT DISTINCT region FROM survey", "SELECT DISTINCT", "GROUP BY"),
    refuse("SELECT DISTINCT ON (region) region FROM survey", "DISTINCT"),
    refuse("SELECT count(DISTINCT person_id, age) FROM survey", "takes one value", "||"),
    refuse("SELECT count(DISTINCT (age, urban)) FROM survey", "Rows of several values"),
    refuse("SELECT count(DISTINCT person_id + 1) FROM survey", "unit column", "count(DISTINCT person_id)"),
    refuse("SELECT count(DISTINCT *) FROM survey", "stands for rows"),
    refuse("SELECT var_pop(DISTINCT age) FROM survey", "DISTINCT inside var_pop"),
    refuse("SELECT stddev(person_id) FROM survey", "unit column", "count(DISTINCT person_id)"),
    refuse("SELECT corr(age, person_id) FROM survey", "unit column"),
    refuse("SELECT covar_pop(age, region) FROM survey", "covar_pop takes numbers", "CAST"),
    refuse("SELECT corr(age, avg(age)) FROM survey", "inside an aggregate"),
    refuse("SELECT corr(age, clamp(income, 3, 3)) FROM survey", "have no width"),
    refuse("SELECT count(*) FROM survey WHERE var_pop(age) > 3", "the value of one row is needed"),
    refuse("SELECT regr_sxx(age, age) FROM survey", "The aggregate"),
    refuse("SELECT sum(DISTINCT age) FROM survey", "DISTINCT inside sum"),
    refuse("SELECT avg(DISTINCT age) FROM survey", "DISTINCT inside avg"),
    # hidden columns, anywhere
    refuse("SELECT name, count(*) FROM survey GROUP BY name", "hides the column 'name'"),
    refuse("SELECT count(name) FROM survey", "hides the column 'name'"),
    refuse("SELECT count(*) FROM survey WHERE NAME = 'x'", "policy hides"),
    refuse("SELECT count(*) FROM survey WHERE survey.name IS NULL", "policy hides"),
    refuse("SELECT count(*) FROM (SELECT name FROM survey)", "policy hides"),
    refuse("SELECT count(*) FROM (SELECT * EXCLUDE (name) FROM survey)", "policy hides"),
    refuse("SELECT count(*) FROM survey ORDER BY name", "policy hides"),
    refuse("SELECT count(*) AS n FROM survey HAVING max_name > name", "max_name"),
    refuse("SELECT sum(CASE WHEN name LIKE 'a%' THEN 1 ELSE 0 END) FROM survey", "policy hides"),
    # windows, sets, joins
    refuse("SELECT region, count(*) OVER () FROM survey GROUP BY region", "Window functions"),
    refuse("SELECT row_number() OVER (ORDER BY income) FROM survey", "Window functions"),
    refuse("SELECT count(*) FROM survey WINDOW w AS (PARTITION BY region)", "Window functions"),
    refuse("SELECT count(*) FROM survey QUALIFY row_number() OVER () = 1", "QUALIFY", "HAVING"),
    refuse("SELECT count(*) FROM survey UNION SELECT count(*) FROM survey", "Set operations"),
    refuse("SELECT count(*) FROM survey UNION ALL BY NAME SELECT count(*) FROM survey", "Set operations"),
    refuse("SELECT count(*) FROM survey INTERSECT SELECT 1", "Set operations"),
    refuse("SELECT count(*) FROM survey EXCEPT SELECT 1", "Set operations"),
    refuse("SELECT count(*) FROM (SELECT age FROM survey UNION ALL SELECT age FROM survey)", "Set operations"),
    refuse("SELECT count(*) FROM survey JOIN other ON true", "'other' is a unit"),
    refuse("SELECT count(*) FROM survey, other", "Joins without a condition"),
    refuse("SELECT count(*) FROM survey CROSS JOIN survey AS b", "CROSS joins"),
    refuse("SELECT count(*) FROM survey NATURAL JOIN other", "NATURAL joins", "USING"),
    refuse("SELECT count(*) FROM survey ASOF JOIN survey AS b ON survey.age >= b.age", "ASOF joins"),
    refuse("SELECT count(*) FROM survey POSITIONAL JOIN survey AS b", "POSITIONAL joins"),
    refuse("SELECT count(*) FROM survey SEMI JOIN other ON true", "SEMI joins"),
    refuse("SELECT count(*) FROM survey, LATERAL (SELECT survey.age)", "LATERAL"),
    # subqueries
    refuse("SELECT count(*) FROM survey WHERE age IN (SELECT age FROM survey)", "IN (SELECT"),
    refuse("SELECT count(*) FROM survey WHERE EXISTS (SELECT 1 FROM survey)", "EXISTS"),
    refuse("SELECT count(*) FROM survey WHERE NOT EXISTS (FROM other)", "EXISTS"),
    refuse("SELECT count(*) FROM survey WHERE age > (SELECT avg(age) FROM survey)", "Subqueries inside expressions"),
    refuse("SELECT (SELECT 1), count(*) FROM survey", "Subqueries inside expressions", "FROM"),
    refuse("SELECT count(*) FROM survey WHERE age > ANY (SELECT age FROM survey)", "ANY and ALL"),
    refuse("SELECT count(*) FROM survey WHERE age > ALL (SELECT age FROM survey)", "ANY and ALL"),
    refuse("SELECT count(*) FROM (SELECT DISTINCT age FROM survey)", "SELECT DISTINCT"),
    refuse("SELECT count(*) FROM (SELECT age FROM survey LIMIT 5)", "LIMIT inside a subquery"),
    refuse("SELECT count(*) FROM (SELECT age FROM survey OFFSET 5)", "OFFSET inside a subquery"),
    refuse("SELECT count(*) FROM (SELECT age FROM survey ORDER BY age)", "ORDER BY inside a subquery"),
    refuse("SELECT sum(n) FROM (SELECT count(*) AS n FROM survey GROUP BY region)", "must group by the unit column"),
    refuse("SELECT count(*) FROM (SELECT region FROM survey HAVING true)", "must group by the unit column"),
    refuse("WITH c AS (SELECT sum(income) AS s FROM survey) SELECT count(*) FROM c", "GROUP BY person_id"),
    refuse(
        "WITH c AS (SELECT median(income) AS s FROM survey) SELECT count(*) FROM c", "must group by the unit column"
    ),
    refuse("WITH RECURSIVE c AS (SELECT * FROM survey) SELECT count(*) FROM c", "Recursive"),
    refuse("WITH c AS (SELECT 1 AS a) SELECT count(*) FROM c", "names no table"),
    refuse("WITH c AS (DELETE FROM survey) SELECT count(*) FROM c", "DELETE"),
    refuse("WITH c AS (SELECT age FROM survey), C AS (SELECT 1 AS x FROM survey) SELECT count(*) FROM c", "Two CTEs"),
    refuse("SELECT count(*) FROM (SELECT *, age + 1 AS age FROM survey)", "'age' twice", "REPLACE"),
    refuse("SELECT count(*) FROM (SELECT age, age FROM survey)", "'age' twice"),
    refuse("SELECT count(*) FROM (SELECT *, visits AS AGE FROM survey)", "'AGE' twice"),
    refuse("SELECT count(*) FROM (SELECT age FROM survey) AS s(a, b)", "names 2 columns of 1"),
    # statements that are not one SELECT
    refuse("COPY survey TO 'out.csv'", "Only SELECT", "COPY"),
    refuse("PRAGMA database_list", "Only SELECT"),
    refuse("ATTACH 'x.db'", "Only SELECT"),
    refuse("SET threads = 1", "Only SELECT"),
    refuse("INSTALL httpfs", "Only SELECT"),
    refuse("LOAD httpfs", "Only SELECT"),
    refuse("DROP TABLE survey", "Only SELECT"),
    refuse("CREATE TABLE x AS SELECT count(*) FROM survey", "Only SELECT"),
    refuse("INSERT INTO survey VALUES (1)", "Only SELECT"),
    refuse("UPDATE survey SET age = 1", "Only SELECT"),
    refuse("DELETE FROM survey", "Only SELECT"),
    refuse("EXPLAIN ANALYZE SELECT count(*) FROM survey", "Only SELECT"),
    refuse("SUMMARIZE survey", "Only SELECT"),
    refuse("VALUES (1)", "Only SELECT"),
    refuse("PIVOT survey ON region USING count(*)", "Only SELECT"),
    refuse("CALL pragma_version()", "Only SELECT"),
    refuse("SELECT count(*) FROM survey; DROP TABLE survey", "Several statements"),
    refuse("SELECT count(*) FROM survey;; SELECT count(*) FROM survey", "Several statements"),
    refuse("WITH c AS (SELECT 1) INSERT INTO survey SELECT * FROM c", "INSERT"),
    refuse("SELECT count(*) INTO x FROM survey", "SELECT INTO"),
    # tables that are not tables
    refuse("SELECT count(*) FROM 'x.parquet'", "Files and URLs in FROM", "survey"),
    refuse('SELECT count(*) FROM "data/x.csv"', "Files and URLs"),
    refuse("SELECT count(*) FROM read_csv('x.csv')", "Table functions"),
    refuse("SELECT count(*) FROM range(10)", "Table functions"),
    refuse("SELECT count(*) FROM duckdb_tables()", "Table functions"),
    refuse("SELECT count(*) FROM unnest([1, 2])", "UNNEST"),
    refuse("SELECT count(*) FROM (VALUES (1)) AS v(a)", "VALUES"),
    refuse("SELECT count(*) FROM main.survey", "schema or a database"),
    refuse("SELECT count(*) FROM survey AT (VERSION => 1)", "Older versions"),
    refuse("SELECT count(*) FROM survey TABLESAMPLE 10%", "Sampling"),
    refuse("SELECT count(*) FROM survey USING SAMPLE 10%", "Sampling"),
    refuse("SELECT count(*) FROM survey PIVOT (count(*) FOR region IN ('north'))", "PIVOT"),
    refuse("SELECT count(*) FROM (PIVOT survey ON region USING count(*))", "PIVOT"),
    refuse("SELECT count(*) FROM survey UNPIVOT (v FOR n IN (age, visits))", "PIVOT"),
    refuse("SELECT count(*) FROM survey FOR UPDATE", "FOR UPDATE"),
    refuse("SELECT count(*)", "names no table"),
    refuse("SELECT", "names no table"),
    # grouping and ordering
    refuse("SELECT *, count(*) FROM survey GROUP BY ALL", "GROUP BY ALL"),
    refuse("SELECT region, count(*) FROM survey GROUP BY ROLLUP (region)", "ROLLUP"),
    refuse("SELECT region, count(*) FROM survey GROUP BY region WITH ROLLUP", "ROLLUP"),
    refuse("SELECT region, count(*) FROM survey GROUP BY CUBE (region)", "CUBE"),
    refuse("SELECT region, count(*) FROM survey GROUP BY GROUPING SETS ((region), ())", "GROUPING SETS"),
    refuse("SELECT region, count(*) FROM survey GROUP BY (region, urban)", "several values"),
    refuse("SELECT region, count(*) FROM survey GROUP BY 2", "the value of one row is needed"),
    refuse("SELECT 'x', count(*) FROM survey GROUP BY 'x'", "GROUP BY a constant"),
    refuse("SELECT note, count(*) FROM survey GROUP BY note", "not public", "keys={'note': [...]}", "Or give delta"),
    refuse("SELECT score, count(*) FROM survey GROUP BY score", "not public", "bins"),
    refuse(
        "SELECT age, visits % 1000 AS v, count(*) FROM survey GROUP BY age, v, day(day), month(day)", "combinations"
    ),
    refuse("SELECT count(*) FROM survey ORDER BY ALL", "ORDER BY ALL"),
    refuse("SELECT count(*) FROM survey LIMIT 10%", "LIMIT"),
    refuse("SELECT count(*) FROM survey LIMIT 2 + 3", "LIMIT takes a whole number"),
    refuse("SELECT count(*) FROM survey LIMIT -1", "LIMIT takes a whole number"),
    refuse("SELECT count(*) FROM survey LIMIT 'a'", "LIMIT takes a whole number"),
    refuse("SELECT count(*) FROM survey OFFSET 1.5", "OFFSET takes a whole number"),
    refuse("SELECT count(*) FROM survey FETCH FIRST 3 ROWS ONLY", "FETCH"),
    refuse("SELECT count(*) AS n FROM survey HAVING n", "HAVING takes a condition"),
    refuse("SELECT count(*) FROM survey WHERE age", "WHERE takes a condition"),
    refuse("SELECT count(*) FROM survey WHERE count(*) > 5", "the value of one row is needed", "HAVING"),
    refuse("SELECT count(*) FROM survey WHERE mean(age) > 5", "the value of one row is needed"),
    # aggregates
    refuse("SELECT mode(income) FROM survey", "The values of 'income' are not public", "keys of the column"),
    refuse("SELECT kurtosis(income) FROM survey", "The aggregate kurtosis", "quantile_cont(x, 0.99)"),
    refuse("SELECT string_agg(note, ',') FROM survey", "The aggregate"),
    refuse("SELECT any_value(note) FROM survey", "any_value", "public tables", "min, max or avg"),
    refuse("SELECT approx_top_k(age, 3) FROM survey", "The aggregate"),
    refuse("SELECT fsum(age) FROM survey", "The function 'fsum'"),
    refuse("SELECT count_if(DISTINCT urban) FROM survey", "count_if", "count(CASE WHEN"),
    refuse("SELECT median(age) FILTER (WHERE urban) FROM survey", "FILTER", "count(CASE WHEN"),
    refuse("SELECT sum(income ORDER BY age) FROM survey", "ORDER BY inside an aggregate"),
    refuse("SELECT count(age, income) FROM survey", "count takes one column"),
    refuse("SELECT mean(age, income) FROM survey", "mean takes one value"),
    refuse("SELECT sum(*) FROM survey", "sum takes one value"),
    refuse("SELECT sum(sum(income)) FROM survey", "An aggregate inside an aggregate"),
    refuse("SELECT sum(income) IGNORE NULLS FROM survey", "IGNORE NULLS"),
    refuse("SELECT sum(note) FROM survey", "takes numbers, not text", "sum(clamp(CAST(note AS DOUBLE), low, high))"),
    refuse("SELECT avg(day) FROM survey", "day has no bounds", "clamp"),
    refuse("SELECT avg(date_diff('day', day, at)) FROM survey", "at, day have no bounds"),
    refuse("SELECT sum(day) FROM survey", "takes numbers, not date"),
    # bounds
    refuse("SELECT sum(visits) FROM survey", "visits has no bounds", "sum(clamp(visits, low, high))"),
    refuse("SELECT avg(score * 2) FROM survey", "score has no bounds"),
    refuse("SELECT sum(income * visits) FROM survey", "visits has no bounds"),
    refuse(
        "SELECT sum(income / age) FROM survey",
        "range of a value computed from age, income cannot be proved",
        "clamp(x, low, high)",
    ),
    refuse("SELECT sum(CAST(note AS INTEGER)) FROM survey", "cannot be proved"),
    refuse("SELECT sum(CASE WHEN urban THEN visits ELSE 0 END) FROM survey", "visits has no bounds"),
    refuse("SELECT sum(coalesce(age, visits)) FROM survey", "visits has no bounds"),
    refuse("SELECT sum(least(visits, age)) FROM survey", "visits has no bounds"),
    refuse("SELECT sum(exp(income)) FROM survey", "cannot be proved"),
    refuse("SELECT sum(NULL) FROM survey", "cannot be proved"),
    refuse("SELECT sum(clamp(score, age, 100)) FROM survey", "Argument 2 of clamp must be a constant"),
    refuse("SELECT sum(clamp(score, 0)) FROM survey", "clamp does not take 2 arguments"),
    # functions and expressions
    refuse("SELECT count(my_udf(age)) FROM survey", "'my_udf' is not supported", "listed functions"),
    refuse("SELECT count(main.my_udf(age)) FROM survey", "with a dot"),
    refuse("SELECT sum(clmp(age, 0, 1)) FROM survey", "'clmp'", "Did you mean clamp?"),
    refuse("SELECT avg(income), random() FROM survey", "Random functions"),
    refuse("SELECT count(*) FROM survey WHERE day = current_date", "the clock"),
    refuse("SELECT avg(v) FROM (SELECT region, count(*) AS v FROM survey GROUP BY region)", "must group by the unit"),
    refuse("SELECT count(*) FROM survey WHERE at < now()", "the clock"),
    refuse("SELECT count(*) FROM survey WHERE INTERVAL 1 DAY > 1", "interval of time alone", "day + INTERVAL"),
    refuse("SELECT count(*) FROM survey WHERE day + 1.5 > '2024-01-01'", "one kind"),
    refuse("SELECT count(*) FROM survey WHERE at - at > 1", "an interval, not a number", "date_diff"),
    refuse("SELECT stddev(day) FROM survey", "takes numbers, not date", "date_diff"),
    refuse("SELECT sum(income.field) FROM survey", "Fields inside a column", "income.field"),
    refuse("SELECT count(*) FROM survey WHERE survey.income.field = 1", "schema or a database"),
    refuse("SELECT sum(income['a']) FROM survey", "Elements and fields"),
    refuse("SELECT count(*) FROM survey WHERE note[1] = 'a'", "Elements and fields"),
    refuse("SELECT count({'a': age}) FROM survey", "Structs"),
    refuse("SELECT count([age]) FROM survey", "Structs"),
    refuse("SELECT count(MAP {'a': 1}) FROM survey", "Structs"),
    refuse("SELECT count(*) FROM survey WHERE (age, visits) = (1, 2)", "several values"),
    refuse("SELECT count(list_transform([age], x -> x + 1)) FROM survey", "list_transform"),
    refuse("SELECT COLUMNS('a.*') FROM survey", "COLUMNS"),
    refuse("SELECT count(*) FROM survey WHERE age = ?", "A parameter has no value", "--param"),
    refuse("SELECT count(*) FROM survey WHERE age = $1", "A parameter has no value"),
    refuse("SELECT count(*) FROM survey WHERE age = :x", "A parameter has no value"),
    refuse("SELECT count(*) FROM survey WHERE note ~ 'a.*'", "Regular expressions", "LIKE"),
    refuse("SELECT count(*) FROM survey WHERE note SIMILAR TO 'a'", "Regular expressions"),
    refuse("SELECT count(*) FROM survey WHERE note GLOB 'a*'", "GLOB"),
    refuse("SELECT count(*) FROM survey WHERE note LIKE 'a!%' ESCAPE '!'", "ESCAPE"),
    refuse("SELECT count(*) FROM survey WHERE note LIKE region", "Argument 2 of LIKE must be a constant"),
    refuse("SELECT count(*) FROM survey WHERE note COLLATE NOCASE = 'a'", "COLLATE"),
    refuse("SELECT count(*) FROM survey WHERE age BETWEEN SYMMETRIC 5 AND 1", "SYMMETRIC"),
    refuse("SELECT count(*) FROM survey WHERE ltrim(note) = 'a'", "trim(x)"),
    refuse("SELECT count(*) FROM survey WHERE trim(note, 'x') = 'a'", "trim with expression"),
    refuse("SELECT count(*) FROM survey WHERE substring(note, 0, 2) = 'a'", "positions ≥ 1"),
    refuse("SELECT count(*) FROM survey WHERE substring(note, age, 2) = 'a'", "constant whole numbers"),
    refuse("SELECT count(*) FROM survey WHERE left(note, -1) = 'a'", "lengths ≥ 0"),
    refuse("SELECT count(*) FROM survey WHERE round(income, age) = 1", "constant number of digits"),
    refuse("SELECT count(*) FROM survey WHERE round(income, 99) = 1", "-15 to 15"),
    refuse("SELECT count(*) FROM survey WHERE floor(income, 2) = 1", "floor with decimals"),
    refuse("SELECT count(*) FROM survey WHERE date_trunc('hour', day) = '2024-01-01'", "date_trunc of a date"),
    refuse("SELECT count(*) FROM survey WHERE date_trunc('eon', at) = '2024-01-01'", "date_trunc of a timestamp"),
    refuse("SELECT count(*) FROM survey WHERE extract(era FROM at) > 5", "part of a date", "year"),
    refuse("SELECT count(*) FROM survey WHERE year(note) = 2024", "year takes dates", "CAST"),
    refuse("SELECT count(*) FROM survey WHERE note > 5", "integer and text", "CAST"),
    refuse("SELECT count(*) FROM survey WHERE urban = 'true'", "= takes values of one kind, not boolean and text"),
    refuse("SELECT count(*) FROM survey WHERE coalesce(age, 'x') = 1", "coalesce takes values of one kind"),
    refuse(
        "SELECT count(*) FROM survey WHERE regexp_extract(note, 'a') = 'a'", "function regexp_extract is not supported"
    ),
    refuse("SELECT count(*) FROM survey WHERE note + 1 > 2", "+ takes values of one kind"),
    refuse("SELECT string_agg(note, ',') FROM survey", "is not supported"),
    refuse("SELECT approx_quantile(age, 0.5) FROM survey", "The aggregate approx_quantile is not supported"),
    refuse(
        f"SELECT count(*) FROM survey WHERE age IN ({', '.join(map(str, range(9001)))})",
        "IN has 9,001 values",
        "the limit is 9,000",
    ),
    refuse("SELECT count(*) FROM survey WHERE urban = 1", "boolean and integer"),
    refuse("SELECT count(*) FROM survey WHERE lower(age) = 'a'", "lower takes text, not integer"),
    refuse("SELECT count(*) FROM survey WHERE age AND urban", "AND takes conditions, not integer"),
    refuse("SELECT sum(CASE WHEN age THEN 1 END) FROM survey", "WHEN takes a condition"),
    refuse("SELECT sum(CASE WHEN urban THEN 1 ELSE 'a' END) FROM survey", "CASE takes values of one kind"),
    refuse("SELECT count(*) FROM survey WHERE income::TEXT = '1'", "cast from real to text"),
    refuse("SELECT count(*) FROM survey WHERE day::INTEGER = 1", "cast from date to integer"),
    refuse("SELECT count(*) FROM survey WHERE CAST(note AS DECIMAL(10, 2)) = 1", "DECIMAL"),
    refuse("SELECT count(*) FROM survey WHERE CAST(note AS BLOB) = 'a'", "cast to"),
    refuse("SELECT count(*) FROM survey WHERE CAST(note AS INTEGER[]) = 1", "A cast to ARRAY"),
    refuse("SELECT count(*) FROM survey WHERE TRY(age / 0) = 1", "TRY is not supported"),
    refuse("SELECT count(*) FROM survey WHERE age IS 5", "IS takes NULL"),
    refuse("SELECT count(*) FROM survey WHERE typeof(age) = 'a'", "The function"),
    refuse("SELECT count(*) FROM survey WHERE error('x') IS NULL", "'error' is not supported"),
    refuse("SELECT region AS (a, b), count(*) FROM survey GROUP BY 1", "Several aliases"),
]


@pytest.mark.parametrize(("sql", "phrases"), REFUSED)
def test_a_query_is_refused_with_its_reason(sql: str, phrases: tuple[str, ...]) -> None:
    with pytest.raises(TacitError) as refusal:
        plan_query(sql)
    message = str(refusal.value)
    for phrase in phrases:
        assert phrase in message
    assert isinstance(refusal.value, ColumnNotFoundError if "max_name" in sql else RefusedError)


@pytest.mark.parametrize(
    ("sql", "phrase"),
    [
        ("", "no statement"),
        ("  ;; ", "no statement"),
        ("selct count(*) FROM survey", "Did you mean SELECT?"),
        ("SELECT count(*) FROM survey WHERE age = 'five'", "is not a whole number"),
        ("SELECT count(*) FROM survey WHERE age IN (1, 'a')", "is not a whole number"),
        ("-- nothing", "no statement"),
        ("SELECT count(* FROM survey", "parentheses do not match"),
        ("SELECT count(*)) FROM survey", "parentheses do not match"),
        ("SELECT count(*) FROM survey WHERE trim(note = 'x'", "parentheses do not match"),
        ("SELECT count(*) FROM survey WHERE", "line 1"),
        ("SELECT count(*)\nFROM survey\nGROUP region", "line 3"),
        ("SELECT count(*) FROM survey WHERE note = 'x", "ends inside a quotation"),
        ("SELECT count(*) FROM survey /* x", "ends inside a quotation or a comment"),
        ("SELECT count(*) FROM survey WHERE note = 'a\0b'", "NUL"),
        ("SELECT count(*) FROM survey WHERE note = '\ud800'", "half a surrogate pair"),
        ("SELECT count(*) FROM survey WHERE note = '" + "x" * 100_000 + "'", "the limit is 100,000"),
        ("SELECT count(*) FROM servey", "Did you mean 'survey'?"),
        ("SELECT count(*) FROM clients", "Unknown table 'clients'"),
        ("SELECT avg(incme) FROM survey", "Did you mean 'income'?"),
        ("SELECT avg(SURVEY.incme) FROM survey", "Did you mean 'income'?"),
        ("SELECT avg(zzz) FROM survey", "Unknown column 'zzz'"),
        ("SELECT avg(s.income) FROM survey", "Unknown table 's'"),
        ("SELECT avg(survey.income) FROM survey AS s", "Unknown table 'survey'"),
        ("SELECT count(*) FROM survey GROUP BY 5", "position from 1 to 1"),
        ("SELECT count(*) FROM survey ORDER BY 0", "position from 1 to 1"),
        ("SELECT count(*) FROM survey GROUP BY 1.5", "position from 1 to 1"),
        ("SELECT count(*) FROM survey WHERE day > '2024-13-01'", "YYYY-MM-DD"),
        ("SELECT count(*) FROM survey WHERE day = DATE '2023-02-29'", "YYYY-MM-DD"),
        ("SELECT count(*) FROM survey WHERE at = '10:00'", "HH:MM:SS"),
        ("SELECT count(*) FROM survey WHERE score > 1e999", "1e308"),
        ("SELECT sum(clamp(score, 10, 1)) FROM survey", "lower end of clamp is above"),
        ("SELECT count(*) FROM (SELECT * REPLACE (age + 1) FROM survey)", "is incomplete"),
        ("SELECT count(*) FROM (SELECT * EXCLUDE (agee) FROM survey)", "Did you mean 'age'?"),
    ],
)
def test_a_mistake_is_named(sql: str, phrase: str) -> None:
    with pytest.raises(InvalidError) as mistake:
        plan_query(sql)
    assert phrase in str(mistake.value)
    assert mistake.value.argument == "sql"
    assert len(str(mistake.value)) < 400


@pytest.mark.parametrize("sql", [None, 5, b"SELECT 1", ["SELECT 1"]])
def test_a_query_must_be_text(sql: object) -> None:
    with pytest.raises(InvalidError, match="text"):
        plan_query(sql)  # type: ignore[arg-type]


DEEP: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: f"SELECT sum({'(' * n}age{')' * n}) FROM survey",
    "functions": lambda n: f"SELECT sum({'abs(' * n}age{')' * n}) FROM survey",
    "cases": lambda n: f"SELECT sum({'CASE WHEN urban THEN ' * n}age{' END' * n}) FROM survey",
    "subqueries": lambda n: f"SELECT count(*) FROM {'(SELECT * FROM ' * n}survey{')' * n}",
    "negations": lambda n: f"SELECT count(*) FROM survey WHERE {'NOT ' * n}urban",
    "sums": lambda n: f"SELECT sum({'age + ' * n}age) FROM survey",
    "minus signs": lambda n: f"SELECT sum({'- ' * n}age) FROM survey",
    "doublings": lambda n: f"WITH c0 AS (FROM survey), {doublings(n)} SELECT sum(age) FROM c{n}",
}


def doublings(n: int) -> str:
    return ", ".join(f"c{i} AS (SELECT age + age AS age FROM c{i - 1})" for i in range(1, n + 1))


@pytest.mark.parametrize("form", DEEP)
def test_nesting_is_supported_up_to_a_depth_and_then_refused(form: str) -> None:
    plan_query(DEEP[form](10))
    for depth in (200, 1000):
        with pytest.raises(RefusedError, match=r"nested too deep|the limit is 10,000"):
            plan_query(DEEP[form](depth))


LONG = "x" * 5000


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count({LONG}) FROM survey",
        f"SELECT count(*) FROM {LONG}",
        f"SELECT count(income.{LONG}) FROM survey",
        f"SELECT sum({LONG}(age)) FROM survey",
        f"SELECT count(*) FROM (SELECT age AS {LONG}, age AS {LONG} FROM survey)",
        f"WITH {LONG} AS (FROM survey), {LONG} AS (FROM survey) SELECT count(*) FROM survey",
        f"SELECT note = '{LONG}' OR note = score, count(*) FROM survey GROUP BY 1",
        f"SELECT concat(note, '{LONG}'), count(*) FROM survey GROUP BY 1",
        f"{LONG} survey",
    ],
)
def test_a_message_never_repeats_a_long_query(sql: str) -> None:
    with pytest.raises(TacitError) as refusal:
        plan_query(sql)
    assert len(str(refusal.value)) < 500
