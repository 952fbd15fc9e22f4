"""The advice of refusals about joins, subqueries, dates, parameters and outer queries works when it is followed.

Each row has a query that is refused, words of its advice, and a query that follows the advice. `test_no_advice_of_a_
module_is_left_out` compares all hints of `query/sql` with those that were shown here and in `test_advice`.
"""

# ruff: noqa: E501, S608 - questions are text

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from math import inf, nan
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from test_advice import CHECKED, SOURCE, UNREACHED, db, hints_in, shown

__all__ = ["db"]


@dataclass(frozen=True)
class Advice:
    """A query that is refused, words of its advice, and a query that follows it, with their options."""

    refused: str
    words: str
    instead: str
    database: str = "visits"
    given: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)


ADVICE = [
    Advice(
        "SELECT count(*) FROM visits CROSS JOIN wards",
        "Write FROM a JOIN b ON a.x = b.x, or LEFT JOIN.",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward",
    ),
    Advice(
        "SELECT count(*) FROM wards LEFT JOIN visits ON visits.ward = wards.ward",
        "Keep the private rows: JOIN, or private LEFT JOIN public.",
        "SELECT count(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward",
    ),
    Advice(
        "SELECT count(*) FROM wards LEFT JOIN rooms ON rooms.floor = wards.floor JOIN visits ON visits.ward = wards.ward",
        "Join the private table first.",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward LEFT JOIN rooms ON rooms.floor = wards.floor",
    ),
    Advice(
        "SELECT count(*) FROM visits JOIN wards ON CAST(visits.note AS INTEGER) = CAST(wards.floor AS INTEGER) + 1",
        "Join on a column of the public table that has no value twice",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward",
        database="rows",
    ),
    Advice(
        "SELECT count(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward AND visits.age > 3",
        "Put a condition on the kept rows into WHERE or into a CASE.",
        "SELECT count(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward WHERE visits.age > 3",
    ),
    Advice(
        "SELECT count(*) FROM visits LEFT JOIN wards ON visits.age > wards.floor",
        "Put a condition on the kept rows into WHERE or into a CASE.",
        "SELECT count(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward",
    ),
    Advice(
        "SELECT count(*) FROM visits JOIN wards ON true",
        "Write FROM a JOIN b ON a.x = b.x, or LEFT JOIN.",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward",
    ),
    Advice(
        "SELECT count(f) FROM visits LEFT JOIN (SELECT upper(ward) AS w, floor + 1 AS f FROM wards) AS x ON visits.ward = x.w",
        "Compute them in the outer SELECT.",
        "SELECT count(f + 1) FROM visits LEFT JOIN (SELECT ward AS w, floor AS f FROM wards) AS x ON visits.ward = x.w",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT * FROM visits JOIN wards ON visits.ward = wards.ward)",
        "Name the columns, or join with USING; a.* stands for the col",
        "SELECT count(*) FROM (SELECT visits.*, floor FROM visits JOIN wards ON visits.ward = wards.ward)",
    ),
    Advice(
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward WHERE ward = 'A'",
        "Write visits.ward or wards.ward.",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward WHERE visits.ward = 'A'",
    ),
    Advice(
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward AND visits.ward IN (SELECT ward FROM wards)",
        "Put the condition into WHERE.",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward WHERE visits.ward IN (SELECT ward FROM wards)",
    ),
    Advice("SELECT count(visits) FROM visits", "Name one column.", "SELECT count(cost) FROM visits"),
    Advice(
        "SELECT ward, count(*) FROM visits GROUP BY 3",
        "Use a position from 1 to 2.",
        "SELECT ward, count(*) FROM visits GROUP BY 1",
    ),
    Advice(
        "SELECT NULL AS k, count(*) FROM visits GROUP BY CASE WHEN age > 3 THEN NULL END",
        "Group by another value. Or give delta; then tacit finds the ",
        "SELECT ward, count(*) FROM visits GROUP BY ward",
    ),
    Advice(
        "SELECT count(*) FROM visits JOIN (SELECT ward, max(floor) AS f FROM wards GROUP BY ward) AS x ON x.ward = visits.ward",
        "Join the public table itself.",
        "SELECT count(*) FROM visits JOIN wards ON wards.ward = visits.ward",
    ),
    Advice(
        "SELECT avg(n) FROM (SELECT ward, count(*) AS n FROM visits WHERE cost > 1 GROUP BY ward) JOIN visits USING (ward)",
        "Aggregate the rows in another SELECT, and join the results.",
        "SELECT ward, count(*) FROM visits GROUP BY ward",
        database="rows",
    ),
    Advice(
        "SELECT avg(c) FROM (SELECT person, max(b) AS c FROM (SELECT person, max(a) AS b FROM (SELECT person, count(*) AS a FROM visits GROUP BY person) GROUP BY person) GROUP BY person)",
        "Compute the innermost two in one: aggregates may have FILTER",
        "SELECT avg(clamp(c, 0, 9)) FROM (SELECT person, max(b) AS c FROM (SELECT person, ward, count(*) + count(*) FILTER (WHERE urgent) AS b FROM visits GROUP BY person, ward) GROUP BY person)",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT person, count(*) AS xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx FROM visits GROUP BY person)",
        "Give the item a short alias: AS x.",
        "SELECT count(*) FROM (SELECT person, count(*) AS x FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT person + 1 AS q, count(*) AS n FROM visits GROUP BY person)",
        "Select person itself; WHERE and HAVING may compare it.",
        "SELECT count(*) FROM (SELECT person, count(*) AS n FROM visits WHERE person > 1 GROUP BY person HAVING person < 5)",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward) JOIN visits USING (ward)",
        "Aggregate the rows in another SELECT, and join the results.",
        "SELECT avg(clamp(n, 0, 9)) FROM (SELECT person, ward, count(*) AS n FROM visits GROUP BY person, ward)",
    ),
    Advice(
        "SELECT avg(a) FROM (SELECT person, age AS a FROM visits GROUP BY person)",
        "Write min(age) or max(age), or add it to GROUP BY.",
        "SELECT avg(a) FROM (SELECT person, max(age) AS a FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT * FROM visits GROUP BY person)",
        "Name the columns.",
        "SELECT count(*) FROM (SELECT person, max(age) AS a FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT count(*) FROM (SELECT person, count(*) AS n FROM visits GROUP BY person, 'x')",
        "Name columns or expressions of columns.",
        "SELECT count(*) FROM (SELECT person, count(*) AS n FROM visits GROUP BY person, ward)",
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, max(count(*)) AS x FROM visits GROUP BY person)",
        "A subquery takes count, sum, avg, min, max, count(DISTINCT x",
        "SELECT avg(clamp(x, 0, 9)) FROM (SELECT person, max(n) AS x FROM (SELECT person, ward, count(*) AS n FROM visits GROUP BY person, ward) GROUP BY person)",
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, median(cost) AS x FROM visits GROUP BY person)",
        "A subquery takes count, sum, avg, min, max, count(DISTINCT x",
        "SELECT count(*) FROM (SELECT person, count(*) AS a, sum(age) AS b, avg(cost) AS c, min(age) AS d, max(age) AS e, count(DISTINCT ward) AS f, bool_or(urgent) AS g, bool_and(urgent) FILTER (WHERE age > 3) AS h FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, sum(DISTINCT age) AS x FROM visits GROUP BY person)",
        "count(DISTINCT x) is.",
        "SELECT avg(clamp(x, 0, 9)) FROM (SELECT person, count(DISTINCT age) AS x FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, count(DISTINCT ward, note) AS x FROM visits GROUP BY person)",
        "Join the texts: count(DISTINCT x || '-' || y).",
        "SELECT avg(clamp(x, 0, 9)) FROM (SELECT person, count(DISTINCT ward || '-' || note) AS x FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, sum(note) AS x FROM visits GROUP BY person)",
        "If it holds numbers, write sum(clamp(CAST(note AS DOUBLE), l",
        "SELECT avg(clamp(x, 0, 9)) FROM (SELECT person, sum(clamp(CAST(note AS DOUBLE), 0, 5)) AS x FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, sum(score) AS x FROM visits GROUP BY person)",
        "Write sum(clamp(score, low, high)) with public bounds, give ",
        "SELECT avg(clamp(x, 0, 9)) FROM (SELECT person, sum(clamp(score, 0, 5)) AS x FROM visits GROUP BY person)",
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, sum(score) AS x FROM visits GROUP BY person)",
        "Write sum(clamp(score, low, high)) with public bounds, give ",
        "SELECT avg(clamp(x, 0, 9)) FROM (SELECT person, sum(score) AS x FROM visits GROUP BY person)",
        options={"bounds": {"score": (0, 5)}},
    ),
    Advice(
        "SELECT avg(x) FROM (SELECT person, max(person) AS x FROM visits GROUP BY person)",
        "count(*) counts the rows of a unit; WHERE may name the unit column.",
        "SELECT avg(clamp(x, 0, 9)) FROM (SELECT person, count(*) AS x FROM visits WHERE person > 1 GROUP BY person)",
    ),
    Advice(
        "SELECT avg(day - day) FROM visits",
        "Write date_diff('hour', b, a), or epoch(a) - epoch(b) for seconds.",
        "SELECT avg(clamp(date_diff('hour', day, day), 0, 9)), avg(clamp(epoch(day) - epoch(day), 0, 9)) FROM visits",
    ),
    Advice(
        "SELECT avg(age - ward) FROM visits",
        "CAST(x AS …) changes the kind of a value.",
        "SELECT avg(clamp(age - CAST(ward AS DOUBLE), 0, 9)) FROM visits",
    ),
    Advice(
        "SELECT avg(extract(century FROM age(day, day))) FROM visits",
        "Use year or month, or count days with date_diff('day', start, end).",
        "SELECT avg(clamp(extract(year FROM age(day, day)), 0, 9)), avg(clamp(date_diff('day', day, day), 0, 9)) FROM visits",
    ),
    Advice(
        "SELECT avg(age(day, day)) FROM visits",
        "Write extract(year FROM age(a, b)), date_diff('day', b, a) o",
        "SELECT avg(clamp(extract(year FROM age(day, day)), 0, 9)), avg(clamp(date_sub('month', day, day), 0, 9)) FROM visits",
    ),
    Advice(
        "SELECT avg(extract(timezone FROM day)) FROM visits",
        "Use one of year, quarter, month, week, isoyear, day, weekday",
        "SELECT avg(extract(month FROM day)) FROM visits",
    ),
    Advice(
        "SELECT count(date_trunc('month', note)) FROM visits",
        "CAST(x AS DATE) makes a date.",
        "SELECT count(date_trunc('month', CAST(note AS DATE))) FROM visits",
    ),
    Advice(
        "SELECT count(strftime(note, '%Y')) FROM visits",
        "CAST(x AS DATE) makes a date.",
        "SELECT count(strftime(CAST(note AS DATE), '%Y')) FROM visits",
    ),
    Advice(
        "SELECT dayname(age), count(*) FROM visits GROUP BY 1",
        "No cast changes a whole number into a date. Use another column.",
        "SELECT dayname(day), count(*) FROM visits GROUP BY 1",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE day > age",
        "No cast makes them one kind. Use other columns or constants.",
        "SELECT count(*) FROM visits WHERE day > DATE '2026-01-31'",
    ),
    Advice(
        "SELECT count(strftime(day, 'x')) FROM visits",
        "Write strftime(day, '%Y-%m').",
        "SELECT count(strftime(day, '%Y-%m')) FROM visits",
    ),
    Advice(
        "SELECT count(strftime(day, '%q')) FROM visits",
        "Use one of %Y, %y, %-y, %m, %d, %H, %M, %S, %V, %-m, %-d, %-",
        "SELECT count(strftime(day, '%Y-%m')) FROM visits",
    ),
    Advice(
        "SELECT count(strftime(day, note)) FROM visits",
        "Write strftime(day, '%Y-%m').",
        "SELECT count(strftime(day, '%Y-%m')) FROM visits",
    ),
    Advice(
        "SELECT count(day + INTERVAL 1.5 DAY) FROM visits",
        "Write a whole number of a smaller unit: INTERVAL 90 MINUTE.",
        "SELECT count(day + INTERVAL 90 MINUTE) FROM visits",
    ),
    Advice(
        "SELECT count(day + INTERVAL '3 days 4 hours') FROM visits",
        "Write day + INTERVAL 30 DAY.",
        "SELECT count(day + INTERVAL 30 DAY) FROM visits",
    ),
    Advice(
        "SELECT count(note + INTERVAL 3 DAY) FROM visits",
        "CAST(x AS DATE) makes a date.",
        "SELECT count(CAST(note AS DATE) + INTERVAL 3 DAY) FROM visits",
    ),
    Advice(
        "SELECT count(date_add(day, 3)) FROM visits",
        "Write date_add(day, INTERVAL 30 DAY).",
        "SELECT count(date_add(day, INTERVAL 30 DAY)) FROM visits",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards LIMIT 1)",
        "Leave it out.",
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards)",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward, floor FROM wards)",
        "Name one column of the public table.",
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards)",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward IN (SELECT visits.ward FROM wards)",
        "Name one of its columns.",
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards)",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor IN (SELECT floor FROM rooms))",
        "Join the public tables.",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward JOIN rooms ON rooms.floor = wards.floor",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE cost IN (SELECT far FROM wards)",
        "Leave them out: WHERE.",
        "SELECT count(*) FROM visits WHERE cost IN (SELECT far FROM wards WHERE far < 9)",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE EXISTS (SELECT 1 FROM wards WHERE wards.floor < visits.age)",
        "Join the public table instead.",
        "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward WHERE wards.floor < visits.age",
    ),
    Advice(
        "WITH t AS (SELECT ward, count(*) AS n FROM visits GROUP BY ward) SELECT count(*) FROM visits JOIN t ON t.ward = visits.ward",
        "Aggregate the rows in another SELECT, and join the results.",
        "WITH t AS (SELECT ward, count(*) AS n FROM visits GROUP BY ward), u AS (SELECT ward, sum(cost) AS s FROM visits GROUP BY ward) SELECT n, s FROM t JOIN u USING (ward)",
    ),
    Advice(
        "SELECT ward, grouping_id(ward), count(*) FROM visits GROUP BY ROLLUP (ward)",
        "Write grouping(x) for each column x.",
        "SELECT ward, grouping(ward), count(*) FROM visits GROUP BY ROLLUP (ward)",
    ),
    Advice(
        "SELECT ward, median(cost) FROM visits GROUP BY ROLLUP (ward)",
        "Run one query for each grouping.",
        "SELECT ward, median(cost) FROM visits GROUP BY ward",
    ),
    Advice(
        "SELECT note, count(*) FROM visits GROUP BY ROLLUP (note)",
        "keys={'note': [...]}",
        "SELECT note, count(*) FROM visits GROUP BY ROLLUP (note)",
        options={"keys": {"note": ["x", "y"]}},
    ),
    Advice(
        "SELECT ward, age > 5, count(*) FROM visits GROUP BY ROLLUP (ward, age > 5)",
        "Write ROLLUP (a, (b > 5)), or give the condition an alias an",
        "SELECT ward, b, count(*) FROM (SELECT ward, age > 5 AS b FROM visits) GROUP BY ROLLUP (ward, b)",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE cost > 1e400",
        "Write a number that fits a double.",
        "SELECT count(*) FROM visits WHERE cost > 1e300",
    ),
    Advice(
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward HAVING n IN (SELECT floor FROM wards)",
        "Put the condition into WHERE.",
        "SELECT ward, count(*) AS n FROM visits WHERE age IN (SELECT floor FROM wards) GROUP BY ward",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward = $w",
        'Pass params={"w": …} in Python, or --param w=… on the command line.',
        "SELECT count(*) FROM visits WHERE ward = $w",
        options={"params": {"w": "A"}},
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward = ?",
        "Give each parameter a name, such as $since.",
        "SELECT count(*) FROM visits WHERE ward = $since",
        options={"params": {"since": "A"}},
    ),
    Advice(
        "SELECT count(*) FROM visits",
        "Write $w in the query, or leave the value out.",
        "SELECT count(*) FROM visits WHERE ward = $w",
        given={"params": {"w": "A"}},
        options={"params": {"w": "A"}},
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward = $w",
        "Use a finite number, text, True or False, a date, a datetime",
        "SELECT count(*) FROM visits WHERE cost > $w OR day > $d OR urgent = $b OR ward = $n",
        given={"params": {"w": nan}},
        options={"params": {"w": 1.5, "d": date(2026, 1, 1), "b": True, "n": None}},
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards JOIN rooms USING (floor))",
        "Name one public table there.",
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards)",
    ),
    Advice(
        "SELECT count(*) FROM visits LEFT JOIN (SELECT wards.ward AS w, beds FROM wards JOIN rooms ON wards.floor = rooms.floor) AS x ON x.w = visits.ward",
        "Join its tables one by one.",
        "SELECT count(*) FROM visits LEFT JOIN wards ON wards.ward = visits.ward LEFT JOIN rooms ON wards.floor = rooms.floor",
    ),
    Advice(
        f"SELECT avg({'(' * 30}age{')' * 30}) FROM visits",
        "Write steps as CTEs",
        f"WITH t AS (SELECT {'(' * 20}age{')' * 20} AS a FROM visits) SELECT avg({'(' * 10}a{')' * 10}) FROM t",
    ),
    Advice(
        f"SELECT count(*) FROM visits WHERE {' OR '.join(f'age = {n}' for n in range(5_000))}",
        "List fewer values",
        f"SELECT count(*) FROM visits WHERE age IN ({', '.join(map(str, range(1_000)))})",
    ),
    Advice(
        "SELECT ward, rank() OVER (ORDER BY count(*)), (SELECT 1) FROM visits GROUP BY ward",
        "Use a CTE.",
        "WITH t AS (SELECT ward, count(*) AS n FROM visits GROUP BY ward) SELECT ward, rank() OVER (ORDER BY n), (SELECT 1) FROM t",
    ),
    Advice(
        "SELECT ward, grouping(ward), rank() OVER (ORDER BY count(*)) FROM visits GROUP BY ward",
        "Leave grouping out.",
        "SELECT ward, rank() OVER (ORDER BY count(*)) FROM visits GROUP BY ward",
    ),
    Advice(
        f"SELECT {' + '.join(f'(SELECT count(*) FROM visits WHERE age > {n})' for n in range(17))}",
        "Ask for several aggregates in one SELECT",
        "SELECT count(*) FILTER (WHERE age > 3) + count(*) FILTER (WHERE age > 4) FROM visits",
    ),
    Advice(
        "SELECT count(*) FROM visits WHERE note LIKE ward",
        "Write the value itself.",
        "SELECT count(*) FROM visits WHERE note LIKE 'x%'",
    ),
    Advice(
        "SELECT avg(extract(year FROM age(note, note))) FROM visits",
        "CAST(x AS DATE) makes a date.",
        "SELECT avg(clamp(extract(year FROM age(CAST(note AS DATE), CAST(note AS DATE))), 0, 9)) FROM visits",
    ),
    Advice(
        "SELECT avg(extract(year FROM age(day, day, day))) FROM visits",
        "age(current_date, birth)",
        "SELECT avg(clamp(extract(year FROM age(current_date, day)), 0, 9)) FROM visits",
    ),
    Advice(
        "SELECT ward AS x, count(*) AS x FROM visits GROUP BY x",
        "Give them different aliases.",
        "SELECT ward AS x, count(*) AS y FROM visits GROUP BY x",
    ),
    # two private tables
    Advice(
        "SELECT count(*) FROM visits JOIN people ON visits.ward = people.ward",
        "Put visits.person = people.person into ON",
        "SELECT count(*) FROM visits JOIN people ON visits.person = people.person",
        database="two",
    ),
    Advice(
        "SELECT avg(n) FROM (SELECT person, count(*) AS n FROM visits GROUP BY person) AS v JOIN people ON v.person = people.person",
        "Join the private tables inside the subquery",
        "SELECT avg(clamp(n, 0, 9)) FROM (SELECT visits.person, count(*) AS n, max(people.height) AS h FROM visits JOIN people ON visits.person = people.person GROUP BY visits.person)",
        database="two",
    ),
    Advice(
        "SELECT count(*) FROM visits FULL JOIN people ON visits.person = people.person",
        "Run one query with LEFT JOIN for each private side",
        "SELECT count(*) FROM visits LEFT JOIN people ON visits.person = people.person",
        database="two",
    ),
    Advice(
        "SELECT count(*) FROM visits FULL JOIN people ON visits.person = people.person",
        "Run one query with LEFT JOIN for each private side",
        "SELECT count(*) FROM people LEFT JOIN visits ON visits.person = people.person",
        database="two",
    ),
]

VISITS = pd.DataFrame(
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
WARDS = pd.DataFrame({"ward": ["A", "B"], "floor": [1, 2], "far": [1.0, inf]})
ROOMS = pd.DataFrame({"floor": [1, 2], "beds": [4, 6]})
PEOPLE = pd.DataFrame({"person": range(1, 7), "ward": ["A", "B"] * 3, "height": [150.0] * 6})
TWO_TABLES = """
budget = { epsilon = 1e9 }
[tables.visits]
source = "visits.parquet"
unit = "person"
reach = 5
[tables.visits.columns]
cost = { bounds = [0, 10] }
[tables.people]
source = "people.parquet"
unit = "person"
reach = 5
"""


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Database]]:
    budget, keys = tc.PureDP(epsilon=1e9), {"ward": ["A", "B"]}
    folder = tmp_path_factory.mktemp("two")
    for name, table in (("visits", VISITS), ("people", PEOPLE)):
        table.to_parquet(folder / f"{name}.parquet")
    (folder / "two.toml").write_text(TWO_TABLES)
    bounds = {"cost": (0, 10), "age": (0, 120)}
    public = {"wards": WARDS, "rooms": ROOMS}
    terms = {"name": "visits", "public": public, "budget": budget, "keys": keys, "bounds": bounds}
    opened = {
        "visits": tc.open(VISITS, unit="person", max_groups=2, max_rows=5, **terms),  # type: ignore[arg-type]
        "rows": tc.open(VISITS, unit=tc.ROW, **terms),  # type: ignore[arg-type]
        "two": tc.open(str(folder / "two.toml")),
    }
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture(scope="module")
def hints(databases: Mapping[str, Database]) -> list[str]:
    """The hint of each row of ADVICE, in its order."""
    return [hint_of_row(databases, row) for row in ADVICE]


def hint_of_row(databases: Mapping[str, Database], row: Advice) -> str:
    with pytest.raises(tc.TacitError) as refusal:
        databases[row.database].plan(row.refused, **{"epsilon": 1, **row.given})  # type: ignore[arg-type]
    return refusal.value.hint or ""


def test_a_query_that_follows_the_advice_is_not_refused(databases: Mapping[str, Database], hints: list[str]) -> None:
    """A plan refuses everything that is refused before the charge."""
    for row, hint in zip(ADVICE, hints, strict=True):
        assert row.words in hint, row.refused
        databases[row.database].plan(row.instead, **{"epsilon": 1, **row.options})  # type: ignore[arg-type]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", ADVICE, ids=lambda row: f"{row.database}: {row.refused:.90}")
def test_following_the_advice_gives_an_answer(databases: Mapping[str, Database], row: Advice) -> None:
    assert databases[row.database].sql(row.instead, **{"epsilon": 1, **row.options}).to_dict()  # type: ignore[arg-type]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", ADVICE, ids=lambda row: f"{row.database}: {row.instead:.90}")
def test_the_recorded_text_of_a_query_has_the_same_plan(databases: Mapping[str, Database], row: Advice) -> None:
    """Receipts, ledgers and queries with several parts use the text that is generated from the parsed query."""
    if "params" not in row.options and "WITH" not in row.instead:
        first = databases[row.database].plan(row.instead, **{"epsilon": 1, **row.options}).plan  # type: ignore[arg-type]
        again = databases[row.database].plan(first.sql, **{"epsilon": 1, **row.options}).plan  # type: ignore[arg-type]
        assert [each.ask for each in again.aggregates] == [each.ask for each in first.aggregates]
        assert replace(again, sql="", aggregates=(), outputs=()) == replace(first, sql="", aggregates=(), outputs=())


def test_a_format_survives_the_current_date_parameters_and_outer_queries(databases: Mapping[str, Database]) -> None:
    visits, keys = databases["visits"], {"m": ["2026-01", "2026-02"]}
    month = "SELECT to_char(day, 'YYYY-MM') AS m, count(*) AS n FROM visits"
    texts = [
        f"{month} WHERE day > '2000-01-01' GROUP BY m",
        f"{month} WHERE day < current_date + INTERVAL 9000 DAY GROUP BY m",
        f"SELECT m, n + 0 FROM ({month} GROUP BY m)",
    ]
    for text in [*texts, f"{month} WHERE age > $a GROUP BY m"]:
        params = {"a": 0} if "$a" in text else None
        rows = visits.sql(text, epsilon=1e6, keys=keys, params=params, reach=999).rows()
        assert [(row[0], round(float(str(row[1])))) for row in rows] == [("2026-01", 20), ("2026-02", 20)], text


@pytest.mark.parametrize(
    ("wrong", "form"),
    [
        ("extract(timezone FROM day)", "extract({} FROM day)"),
        ("strftime(day, '%q')", "strftime(day, '%Y {}')"),
        ("to_char(day, 'QX')", "to_char(day, 'YYYY {}')"),
    ],
)
def test_every_unit_and_code_that_a_hint_lists_is_supported(
    databases: Mapping[str, Database], wrong: str, form: str
) -> None:
    visits = databases["visits"]
    with pytest.raises(tc.TacitError) as refusal:
        visits.plan(f"SELECT count({wrong}) FROM visits", epsilon=1)
    names = re.findall(
        r"%-?\w|%%|\b\w[\w-]*\b", (refusal.value.hint or "").partition("one of ")[2].partition(", and ")[0]
    )
    assert len(names) > 5
    for name in names:
        visits.plan(f"SELECT count({form.format(name)}) FROM visits", epsilon=1)


ELSEWHERE = frozenset(
    {
        *("cannot have bounds", "Bounds are for numbers"),  # of db.bounds, see test_advice_arguments
        *("is a unit, so it cannot be joined", "have different kinds"),  # the steward changes the policy
        "are instants",  # the steward changes the policy, see test_time_zones
        *(
            "The query is too long",
            "has too many values",
            "could become",
            "rows of public tables",
            "could take",
            "the limit for bounds",
            "could be longer than",
            "has too many columns, or queries that are nested too deep",
        ),  # sizes
        "contain no combination",  # names nothing to write
        *("parts, aliases in full", "takes a date or a timestamp"),  # sizes; the same advice as of dates
        *(
            "so a subquery cannot group rows of one unit",
            "must group by the unit column",
        ),  # such a subquery is released
    }
)
OTHERS = frozenset(
    {
        *(
            "Query each table alone.",
            "Give it another name.",
            "Give one of them another name.",
            "The SQL reference lists what is supported.",
        ),
        "Shorten long sums, and write chains of OR with IN.",
    }
)
"""Hints that name nothing to write, or that are the same as another."""


def test_no_advice_of_a_module_is_left_out(hints: list[str], db: Database) -> None:
    seen = shown(db) | set(hints)
    modules = sorted(file.stem for file in Path(SOURCE).glob("*.py") if file.stem not in CHECKED)
    missing = [
        (module, reason, hint.pattern)
        for module in modules
        for reason, hint in hints_in(module)
        if not any(hint.search(text) for text in seen)
        and not any(re.escape(words) in reason for words in UNREACHED | ELSEWHERE)
        and hint.pattern not in map(re.escape, OTHERS)
    ]
    assert not missing, "\n".join(map(str, missing))
