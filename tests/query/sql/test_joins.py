"""Joins: golden plans, names, keys and bounds of public tables, and every refusal."""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from query.sql.test_parse import say
from tacit.errors import TacitError
from tacit.query.expressions import Call, Case, Cast, Column, Constant
from tacit.query.joins import Join, rename_columns
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

VISITS = TablePolicy(
    name="visits",
    unit="pid",
    max_groups=3,
    max_rows=5,
    neighbours="add/remove",
    columns={
        "pid": ColumnPolicy(kind="integer"),
        "region": ColumnPolicy(kind="text"),
        "ward": ColumnPolicy(kind="text", keys=("A", "B")),
        "cost": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(100))),
        "day": ColumnPolicy(kind="date"),
        "secret": ColumnPolicy(kind="text", hidden=True),
    },
)
PEOPLE = TablePolicy(
    name="people",
    unit="id",
    max_groups=7,
    max_rows=2,
    neighbours="add/remove",
    columns={
        "id": ColumnPolicy(kind="integer"),
        "age": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(120))),
        "region": ColumnPolicy(kind="text"),
    },
)
STAFF = replace(PEOPLE, name="staff", columns={**PEOPLE.columns, "id": ColumnPolicy(kind="text")})
OLD = replace(PEOPLE, name="old", neighbours="change one")
ROWS = TablePolicy(
    name="each",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={"region": ColumnPolicy(kind="text"), "n": ColumnPolicy(kind="integer")},
)


def public(table: str, /, **columns: ColumnPolicy) -> TablePolicy:
    return TablePolicy(
        name=table, unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=columns, public=True, size=100
    )


REGIONS = public(
    "regions",
    region=ColumnPolicy(kind="text", keys=("n", "s"), copies=1),
    country=ColumnPolicy(kind="text", keys=("X", "Y")),
    people=ColumnPolicy(kind="integer", keys=(10, 20), bounds=(Fraction(10), Fraction(20)), copies=1),
)
COUNTRIES = public(
    "countries",
    name=ColumnPolicy(kind="text", keys=("X", "Y"), copies=1),
    rich=ColumnPolicy(kind="boolean", keys=(False, True)),
    pid=ColumnPolicy(kind="integer", keys=(1, 2)),
)
TABLES = {table.name: table for table in (VISITS, PEOPLE, STAFF, OLD, ROWS, REGIONS, COUNTRIES)}


def plan_of(sql: str) -> Plan:
    return parse(sql, TABLES)


def from_(source: str, what: str = "count(*) AS n", rest: str = "") -> Plan:
    return plan_of(f"SELECT {what} FROM {source} {rest}")


def join_text(join: Join) -> str:
    """Return a join as a short text."""
    parts = [f"{say(left)} = {say(right)}" for left, right in join.pairs]
    parts += [f"unit {join.unit[0]} = {join.unit[1]}"] if join.unit is not None else []
    parts += [f"where {say(join.where)}"] if join.where is not None else []
    return f"{join.kind} {'private' if join.private else 'public'} {join.table}: {', '.join(parts)}"


GOLDEN = [
    ("visits JOIN regions USING (region)", ["inner public regions: region = regions.region"], None),
    ("visits v INNER JOIN regions AS r ON v.region = r.region", ["inner public regions: region = r.region"], None),
    ("regions r JOIN visits v ON r.region = v.region", ["inner public regions: region = r.region"], None),
    ("visits v LEFT JOIN regions r ON r.region = v.region", ["left public regions: region = r.region"], None),
    ("regions r RIGHT OUTER JOIN visits v USING (region)", ["left public regions: region = r.region"], None),
    (
        "visits v JOIN regions r ON v.region = r.region AND (v.ward = 'A' AND r.people > v.cost)",
        ["inner public regions: region = r.region"],
        "(and (equal ward 'A') (greater (real r.people) cost))",
    ),
    (
        "visits v JOIN regions r ON v.cost BETWEEN r.people AND r.people + 5",
        ["inner public regions: "],
        "(and (greater_equal cost (real r.people)) (less_equal cost (add (real r.people) 5.0)))",
    ),
    (
        "visits v LEFT JOIN (SELECT * FROM regions WHERE country <> 'X') r ON v.region = r.region AND r.people > 10",
        ["left public regions: region = r.region, where (and (not_equal r.country 'X') (greater r.people 10))"],
        None,
    ),
    (
        "visits v JOIN (SELECT upper(region) AS big, country FROM regions WHERE people > 10) ON upper(v.region) = big",
        ["inner public regions: (upper region) = (upper regions.region)"],
        "(greater regions.people 10)",
    ),
    (
        "visits v JOIN regions r USING (region) JOIN countries c ON r.country = c.name",
        ["inner public regions: region = r.region", "inner public countries: r.country = c.name"],
        None,
    ),
    (
        "regions r JOIN countries c ON r.country = c.name JOIN visits v ON v.region = r.region",
        ["inner public regions: region = regions.region", "inner public countries: regions.country = countries.name"],
        None,
    ),
    (
        "visits v JOIN regions home ON v.region = home.region LEFT JOIN regions AS work ON v.ward = work.region",
        ["inner public regions: region = home.region", "left public regions: ward = work.region"],
        None,
    ),
    ("visits JOIN people ON visits.pid = people.id", ["inner private people: unit pid = people.id"], None),
    (
        "visits v LEFT JOIN people p ON p.id = v.pid AND p.region = v.region AND p.age > 3",
        ["left private people: region = p.region, unit pid = p.id, where (greater p.age 3)"],
        None,
    ),
    ("visits v RIGHT JOIN people p ON p.id = v.pid", ["left private visits: unit id = v.pid"], None),
    (
        "visits v JOIN (SELECT id AS pid, age FROM people WHERE age > 17) p USING (pid)",
        ["inner private people: unit pid = p.id"],
        "(greater p.age 17)",
    ),
    (
        "regions r JOIN visits v USING (region) LEFT JOIN people p ON v.pid = p.id",
        ["inner public regions: region = r.region", "left private people: unit pid = p.id"],
        None,
    ),
    (
        "visits v JOIN (SELECT p.id, r.country FROM people p JOIN regions r USING (region)) q ON v.pid = q.id",
        ["inner private people: unit pid = q.id", "inner public regions: q.region = regions.region"],
        None,
    ),
    (
        "visits v JOIN (SELECT region AS a, count FROM (SELECT region, people AS count FROM regions)) ON v.region = a",
        ["inner public regions: region = regions.region"],
        None,
    ),
    ("each e JOIN regions USING (region)", ["inner public regions: region = regions.region"], None),
    ("each e LEFT JOIN regions r ON e.n = r.people", ["left public regions: n = r.people"], None),
]


@pytest.mark.parametrize(("source", "joins", "where"), GOLDEN)
def test_a_join_becomes_its_plan(source: str, joins: list[str], where: str | None) -> None:
    plan = from_(source)
    assert list(map(join_text, plan.joins)) == joins
    assert (None if plan.where is None else say(plan.where)) == where
    for join in plan.joins:
        assert [(plan.table.columns[name].kind, raw) for name, raw in join.columns] == [
            (column.kind, raw) for raw, column in TABLES[join.table].columns.items()
        ]


def test_a_query_without_a_join_has_its_table() -> None:
    plan = from_("visits")
    assert plan.joins == ()
    assert plan.table is VISITS


def test_a_cte_may_join_and_be_joined() -> None:
    plan = plan_of(
        "WITH a AS (SELECT v.*, r.country FROM visits v JOIN regions r USING (region)), "
        "b AS (SELECT name AS country, rich FROM countries) "
        "SELECT rich, avg(cost) AS c FROM a JOIN b USING (country) GROUP BY rich"
    )
    assert list(map(join_text, plan.joins)) == [
        "inner public regions: region = r.region",
        "inner public countries: r.country = b.name",
    ]
    assert plan.keys[0].values == (False, True)


def test_the_policy_of_a_join_is_that_of_the_private_table_with_all_columns() -> None:
    table = from_("regions r JOIN visits v USING (region)").table
    assert (table.name, table.unit, table.max_groups, table.max_rows, table.public) == ("visits", "pid", 3, 5, False)
    assert set(table.columns) == {*VISITS.columns, *(f"r.{name}" for name in REGIONS.columns)}


@pytest.mark.parametrize(
    "source", ["visits v JOIN people p ON v.pid = p.id", "people p LEFT JOIN visits v ON v.pid = p.id"]
)
def test_of_two_private_tables_the_smaller_limits_hold(source: str) -> None:
    table = from_(source).table
    assert (table.max_groups, table.max_rows) == (3, 2)


def test_a_limit_that_is_not_given_is_no_limit_in_a_join() -> None:
    tables = {**TABLES, "people": replace(PEOPLE, max_groups=None)}
    plan = parse("SELECT count(*) FROM visits v JOIN people p ON v.pid = p.id", tables)
    assert (plan.table.max_groups, plan.table.max_rows) == (3, 2)


def test_names_in_the_plan_never_collide() -> None:
    odd = replace(VISITS, columns={**VISITS.columns, "r.region": ColumnPolicy(kind="text")})
    plan = parse("SELECT count(*) FROM visits v JOIN regions r ON v.region = r.region", {**TABLES, "visits": odd})
    assert join_text(plan.joins[0]) == "inner public regions: region = r_1.region"


def keys_of(source: str, key: str) -> list[object]:
    (group_key,) = from_(source, f"{key} AS k, count(*) AS n", "GROUP BY k").keys
    return [say(group_key.expression), *group_key.listed]


def test_groups_by_public_columns_have_their_values() -> None:
    assert keys_of("visits JOIN regions USING (region)", "country") == ["regions.country", "X", "Y"]
    assert keys_of("visits LEFT JOIN regions USING (region)", "country") == ["regions.country", "X", "Y", None]
    assert keys_of("visits JOIN regions USING (region)", "people") == ["regions.people", 10, 20]


def test_a_column_of_using_is_the_public_one_if_that_alone_has_keys() -> None:
    assert keys_of("visits JOIN regions USING (region)", "region") == ["regions.region", "n", "s"]
    wards = {**TABLES, "wards": public("wards", ward=ColumnPolicy(kind="text", keys=("A", "B", "C"), copies=1))}
    plan = parse("SELECT ward, count(*) FROM visits JOIN wards USING (ward) GROUP BY ward", wards)
    assert (say(plan.keys[0].expression), plan.keys[0].values) == ("ward", ("A", "B"))


def test_public_numbers_have_bounds() -> None:
    plan = from_("visits JOIN regions USING (region)", "sum(people) AS s")
    assert plan.aggregates[0].ask.bounds == ((Fraction(10), Fraction(20)),)


def test_a_public_column_of_the_units_name_is_not_the_unit() -> None:
    for source in ("visits v JOIN countries c USING (pid)", "countries c JOIN visits v USING (pid)"):
        plan = from_(source, "count(DISTINCT pid) AS n")
        assert plan.aggregates[0].ask.function == "count_units"
        assert plan.table.unit == "pid"
        for key in ("pid", "v.pid"):
            with pytest.raises(TacitError, match="unit column"):
                from_(source, f"{key}, count(*)", f"GROUP BY {key}")


def test_the_unit_of_an_inner_joined_private_table_is_the_unit() -> None:
    plan = from_("visits v JOIN people p ON v.pid = p.id", "count(DISTINCT p.id) AS n")
    assert plan.aggregates[0].ask.function == "count_units"
    with pytest.raises(TacitError, match="unit column"):
        from_("visits v JOIN people p ON v.pid = p.id", "sum(clamp(p.id, 0, 1))")


def test_what_a_left_joined_subquery_computes_is_null_without_a_match() -> None:
    plan = from_(
        "visits v LEFT JOIN (SELECT region, coalesce(country, '-') AS c, 1 AS one FROM regions) r USING (region)",
        "sum(one) AS s",
        "WHERE c = '-'",
    )
    assert say(plan.where) == ("(equal (case (not (is_null r.region))→(coalesce r.country '-') else -) '-')")
    assert say(plan.aggregates[0].ask.values[0]) == "(case (not (is_null r.region))→1 else -)"


def test_stars_over_joins() -> None:
    plan = plan_of("SELECT sum(people) AS s FROM (SELECT * FROM visits JOIN regions USING (region))")
    assert len(plan.joins) == 1
    plan = plan_of(
        "SELECT count(name) AS n FROM (SELECT v.*, c.* EXCLUDE (pid) FROM visits v JOIN countries c USING (pid))"
    )
    assert say(plan.aggregates[0].ask.values[0]) == "c.name"
    with pytest.raises(TacitError, match="'pid' twice"):
        plan_of("SELECT count(*) FROM (SELECT * FROM visits v JOIN countries c ON v.region = c.name)")


def test_renaming_reaches_every_part() -> None:
    x, y = Column("x", "integer"), Column("t.x", "integer")
    one = Constant(1, "integer")
    for old, new in (
        (Call("add", (x, one), "integer"), Call("add", (y, one), "integer")),
        (Cast(x, "real"), Cast(y, "real")),
        (
            Case(((Call("is_null", (x,), "boolean"), x),), x, "integer"),
            Case(((Call("is_null", (y,), "boolean"), y),), y, "integer"),
        ),
        (
            Case(((Constant(value=True, kind="boolean"), x),), None, "integer"),
            Case(((Constant(value=True, kind="boolean"), y),), None, "integer"),
        ),
    ):
        assert rename_columns(old, {"x": "t.x"}) == new


CHAIN = "regions r JOIN countries c ON r.country = c.name"

REFUSED = [
    # public rows without a match
    ("visits v RIGHT JOIN regions r ON v.region = r.region", "keeps rows of the public table 'regions'"),
    ("regions r LEFT JOIN visits v ON v.region = r.region", "keeps rows of the public table 'regions'"),
    ("visits v FULL JOIN regions r ON v.region = r.region", "FULL joins"),
    ("visits v FULL OUTER JOIN people p ON v.pid = p.id", "FULL joins"),
    ("visits v JOIN regions r ON v.region = r.region RIGHT JOIN countries c ON r.country = c.name", "keeps rows"),
    # without a condition that joins the sides
    ("visits, regions", "without a condition"),
    ("visits v, regions r WHERE v.region = r.region", "without a condition"),
    ("visits JOIN regions", "without a condition"),
    ("visits CROSS JOIN regions", "CROSS joins"),
    ("visits JOIN regions ON true", "without a condition on both sides"),
    ("visits v JOIN regions r ON r.people = 10", "without a condition on both sides"),
    ("visits v JOIN regions r ON v.ward = 'A' AND r.people = 10", "without a condition on both sides"),
    ("visits v LEFT JOIN regions r ON v.cost < r.people", "In a LEFT JOIN, ON takes equalities"),
    ("visits v LEFT JOIN regions r ON v.region = r.region AND v.ward = 'A'", "In a LEFT JOIN, ON takes equalities"),
    ("visits v LEFT JOIN regions r ON r.people = 10", "must equate"),
    ("visits v JOIN regions r ON v.region", "takes a condition"),
    ("visits v JOIN regions r ON v.cost = r.region", "CAST"),
    # kinds of joins
    ("visits NATURAL JOIN regions", "NATURAL joins"),
    ("visits v ASOF JOIN regions r ON v.cost >= r.people", "ASOF joins"),
    ("visits POSITIONAL JOIN regions", "POSITIONAL joins"),
    ("visits SEMI JOIN regions USING (region)", "SEMI joins"),
    ("visits ANTI JOIN regions USING (region)", "ANTI joins"),
    ("visits JOIN LATERAL (SELECT 1) ON true", "LATERAL"),
    ("visits, LATERAL (SELECT visits.cost)", "LATERAL"),
    ("visits JOIN unnest([1]) ON true", ""),
    ("visits v JOIN (regions r JOIN countries c ON r.country = c.name) ON v.region = r.region", "inside a join"),
    ("visits v JOIN regions r JOIN countries c ON r.country = c.name ON v.region = r.region", "inside a join"),
    ("visits v JOIN read_csv('x.csv') r ON v.region = r.region", "Table functions are not supported"),
    # private tables
    ("visits a JOIN visits b ON a.pid = b.pid", "with itself"),
    ("visits a JOIN (SELECT * FROM visits) b USING (pid)", "with itself"),
    ("visits a JOIN people p ON a.pid = p.id JOIN visits b ON b.pid = p.id", "with itself"),
    ("visits v JOIN people p ON v.region = p.region", "must equate their units"),
    ("visits v JOIN people p ON v.pid = p.age", "must equate their units"),
    ("visits v JOIN people p ON v.pid = p.id + 0", "must equate their units"),
    ("visits v JOIN people p ON v.pid = p.id OR v.region = p.region", "must equate their units"),
    ("visits v JOIN people p ON v.pid <= p.id", "must equate their units"),
    ("visits v JOIN people p ON NOT v.pid = p.id", "must equate their units"),
    ("visits v JOIN people p ON v.pid IS NOT DISTINCT FROM p.id", "must equate their units"),
    ("visits v JOIN people p ON p.id = p.id", "must equate their units"),
    ("visits v JOIN people p ON v.pid = v.pid", "must equate their units"),
    ("visits v LEFT JOIN people p USING (region)", "must equate their units"),
    ("visits v JOIN countries c USING (pid) JOIN people p ON c.pid = p.id", "must equate their units"),
    ("visits v JOIN (SELECT id + 1 AS id FROM people) p ON v.pid = p.id", "must equate their units"),
    ("visits v JOIN (SELECT age AS id FROM people) p ON v.pid = p.id", "must equate their units"),
    ("visits v JOIN staff s ON v.pid = s.id", "different kinds", "integer", "text"),
    ("visits v JOIN old o ON v.pid = o.id", "different neighbours"),
    ("visits v JOIN each e ON v.region = e.region", "'each' is a unit"),
    ("each e JOIN people p ON e.n = p.id", "'each' is a unit"),
    # a row that is a unit stays one row
    ("each e JOIN regions r ON e.region = r.country", "could turn one row into several"),
    ("each e JOIN regions r ON e.region = upper(r.region)", "could turn one row into several"),
    ("each e JOIN regions r ON CAST(e.n AS DOUBLE) = r.people", "could turn one row into several"),
    ("each e JOIN regions r ON e.n < r.people", "could turn one row into several"),
    ("each e JOIN regions r USING (region) JOIN countries c ON c.pid = e.n", "could turn one row into several"),
    (
        "regions r JOIN countries c ON r.people = c.pid JOIN each e ON e.region = r.region",
        "could turn one row into several",
    ),
    # names
    ("visits JOIN regions ON region = region", "'region' is in 'visits' and in 'regions'", "visits.region or regions"),
    ("visits v JOIN regions r ON v.region = r.region WHERE region = 'n'", "'region' is in 'v' and in 'r'"),
    ("visits JOIN visits ON true", "have the name 'visits'"),
    ("visits v JOIN regions V ON v.region = v.region", "have the name"),
    ("visits v JOIN regions r ON visits.region = r.region", "Unknown table 'visits'"),
    ("visits v JOIN regions r ON v.country = r.region", "Unknown column 'country'"),
    ("visits v JOIN regions r ON v.secret = r.region", "policy hides"),
    ("visits v JOIN regions r USING (secret)", "policy hides"),
    ("visits v JOIN regions r USING (country)", "Unknown column 'country'"),
    ("visits v JOIN elsewhere e ON true", "Unknown table 'elsewhere'"),
    ("visits v JOIN 'regions.csv' r ON true", ""),
    # public tables alone
    ("regions", "is public"),
    ("regions r JOIN countries c ON r.country = c.name", "is public"),
    ("regions r LEFT JOIN countries c ON r.country = c.name", "outer join of two public tables"),
    # subqueries that cannot be flattened
    (
        f"visits v LEFT JOIN (SELECT r.region, c.rich FROM {CHAIN}) x USING (region)",
        "inside the right side",
    ),
    ("visits v LEFT JOIN (SELECT region, lower(region) AS low FROM regions) r ON v.region = low", "own columns"),
    (
        f"visits v JOIN (SELECT r.region, c.rich, c.name FROM {CHAIN}) x ON v.region = x.name",
        "must equate",
    ),
    ("visits v JOIN (SELECT region, count(*) AS n FROM regions GROUP BY region) r USING (region)", "GROUP BY inside"),
]


@pytest.mark.parametrize(("source", "phrases"), [(source, phrases) for source, *phrases in REFUSED])
def test_other_joins_are_refused_with_the_reason(source: str, phrases: list[str]) -> None:
    with pytest.raises(TacitError) as refusal:
        from_(source)
    for phrase in phrases:
        assert phrase in str(refusal.value)


def test_a_hidden_column_makes_a_name_ambiguous_as_well() -> None:
    spies = {**TABLES, "spies": public("spies", secret=ColumnPolicy(kind="text"), region=ColumnPolicy(kind="text"))}
    with pytest.raises(TacitError, match="'secret' is in"):
        parse("SELECT count(secret) FROM visits v JOIN spies s ON v.region = s.region", spies)
    parse("SELECT count(s.secret) FROM visits v JOIN spies s ON v.region = s.region", spies)
