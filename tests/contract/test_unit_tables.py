"""Subqueries that group by the unit: every engine computes the exact values of an oracle in plain Python."""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from contract.homes import joined
from contract.questions import UNITS as UNITS_OF
from contract.questions import VALUES as QUESTION_VALUES
from contract.questions import UnitKind, kinds_of, policy
from contract.tables import KINDS, VALUES, Opener, Row
from contract.unit_table_oracle import read_unit_rows, unit_rows
from policies import table_policy
from tacit.query.expressions import Kind, Value
from tacit.query.plan import Plan
from tacit.query.sql.parse import parse
from tacit.query.unit_tables import UnitTable

SUBQUERIES = {
    "counts and sums of whole numbers": (
        "SELECT u, count(*) AS n, count(x) AS nx, count(DISTINCT name) AS dn, count(DISTINCT x) AS dx, sum(a) AS sa, "
        "count(DISTINCT a) AS da, avg(a) AS aa, min(a) AS la, max(a) AS ha, sum(b) AS sb, avg(b) AS ab, "
        "sum(a) / count(a) AS q, sum(a) / (count(*) - 1) AS z FROM t GROUP BY u"
    ),
    "sums of reals": (
        "SELECT u, sum(clamp(x, -1000000, 1000000)) AS s1, avg(clamp(x, -7, 100)) AS a1, sum(clamp(x, 3, 3)) AS s4, "
        "sum(clamp(x, -1e300, 1e300)) AS s2, avg(clamp(x, -1e300, 1e300)) AS a2, sum(clamp(x, 0, 1e-300)) AS s3, "
        "sum(clamp(x, 5, 9)) AS s5, avg(clamp(x, -9, -5)) AS a5, sum(clamp(a, -5, 5) / 3) AS s6 FROM t GROUP BY u"
    ),
    "least and largest": (
        "SELECT u, min(name) AS ln, max(name) AS hn, min(d) AS ld, max(d) AS hd, min(m) AS lm, max(m) AS hm, "
        "bool_or(b) AS bo, bool_and(b) AS ba, min(b) AS lb, max(b) AS hb, bool_or(x > 0) AS po, min(x) AS lx, "
        "max(x) AS hx, max(clamp(x, -1, 1)) AS cx FROM t GROUP BY u"
    ),
    "conditions": (
        "SELECT u, sum(a) FILTER (WHERE b) AS s, max(x) FILTER (WHERE a > 0) AS m, "
        "bool_and(b) FILTER (WHERE a > 0) AS f, "
        "count(DISTINCT name) FILTER (WHERE NOT b) AS c, count(*) * 2 + max(a) AS e, count_if(b) AS cb, "
        "CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END AS k FROM t WHERE a IS NOT NULL OR b GROUP BY u "
        "HAVING count(*) > 1 OR max(x) IS NULL OR u = 3"
    ),
    "keys": "SELECT u, b, year(d) AS y, x > 0 AS pos, count(*) AS n, sum(a) AS s FROM t GROUP BY u, b, year(d), x > 0",
    "keys of reals and texts": "SELECT u, x, name AS who, count(*) AS n FROM t GROUP BY u, x, name",
    "nested": (
        "SELECT u, max(n) AS most, sum(n) AS total, count(*) AS parts, max(s) AS s FROM "
        "(SELECT u, b, count(*) AS n, sum(clamp(x, 0, 9)) AS s FROM t GROUP BY u, b) WHERE n > 0 GROUP BY u"
    ),
    "the unit is not selected": "SELECT count(*) AS u, max(a) AS v FROM t GROUP BY u",
}
ON_SPARK = ["counts and sums of whole numbers", "sums of reals", "least and largest", "nested"]
"""The subqueries that Spark runs in short tests too."""

TABLE = table_policy("t", KINDS, unit="u", reach=2, neighbours="add/remove")


def nasty_rows(seed: int = 0, count: int = 160) -> list[Row]:
    """Rows with values that engines stumble over, of few units, the same in every run."""
    chance = random.Random(seed)  # noqa: S311 - test data
    return [{name: chance.choice(values) for name, values in VALUES.items()} for _ in range(count)]


def plan_of(subquery: str) -> Plan:
    return parse(f"SELECT count(*) AS n FROM ({subquery}) AS s", {"t": TABLE})


def listed(rows: Sequence[Row]) -> list[str]:
    return sorted(repr({name: row[name] for name in sorted(row)}) for row in rows)


def inner(plan: Plan) -> UnitTable:
    assert plan.units is not None
    return plan.units


def compare(engine: Opener, names: Sequence[str]) -> None:
    rows = nasty_rows()
    with engine(KINDS, rows) as opened:
        for name in names:
            plan = plan_of(SUBQUERIES[name])
            expected = unit_rows(inner(plan), rows)
            assert expected
            assert listed(read_unit_rows(opened, plan)) == listed(expected), name


def test_every_engine_computes_the_values_of_the_definition(engine: Opener) -> None:
    compare(engine, ON_SPARK if engine.name == "spark" else list(SUBQUERIES))


@pytest.mark.long
def test_so_does_spark_for_all_subqueries(every_engine: dict[str, Opener]) -> None:
    compare(every_engine["spark"], list(SUBQUERIES))


@pytest.mark.parametrize("seed", range(1, 6))
def test_so_does_duckdb_on_other_rows(seed: int, every_engine: dict[str, Opener]) -> None:
    rows = nasty_rows(seed, count=5 * seed)
    with every_engine["duckdb"](KINDS, rows) as opened:
        for subquery in SUBQUERIES.values():
            plan = plan_of(subquery)
            assert listed(read_unit_rows(opened, plan)) == listed(unit_rows(inner(plan), rows)), subquery


@pytest.mark.parametrize("unit", ["text", "real"])
def test_units_of_other_kinds_are_grouped_by_their_exact_values(
    unit: UnitKind, every_engine: dict[str, Opener]
) -> None:
    rows: list[Row] = [
        {"u": value, **{name: values[0] for name, values in QUESTION_VALUES.items()}} for value in UNITS_OF[unit] * 2
    ]
    plan = parse(
        "SELECT count(*) FROM (SELECT u, count(*) AS n FROM t GROUP BY u)", {"t": policy(unit, "add/remove", 1, 1)}
    )
    for name in ("duckdb", "postgres"):
        with every_engine[name](kinds_of(unit), rows) as opened:
            found = read_unit_rows(opened, plan)
            assert sorted(repr(row["n"]) for row in found) == sorted(repr(r["n"]) for r in unit_rows(inner(plan), rows))
            assert opened.measure(plan) == [[len(unit_rows(inner(plan), rows))]]


def test_no_rows_make_no_groups(every_engine: dict[str, Opener]) -> None:
    for name in ("duckdb", "postgres"):
        with every_engine[name](KINDS, []) as opened:
            for subquery in SUBQUERIES.values():
                assert opened.measure(plan_of(subquery)) == [[0]]


# --- joins inside ---------------------------------------------------------------------------------------------------

SHAPES: dict[str, dict[str, Kind]] = {
    "visits": {"u": "integer", "town": "text", "cost": "integer"},
    "persons": {"u": "integer", "sex": "text"},
    "regions": {"place": "text", "region": "text"},
}
DATA: dict[str, list[Row]] = {
    "visits": [
        {"u": u, "town": town, "cost": cost}
        for u, town, cost in ((1, "a", 5), (1, "b", 7), (2, "a", 1), (3, "c", 9), (None, "a", 100))
    ],
    "persons": [{"u": u, "sex": sex} for u, sex in ((1, "f"), (2, "m"), (4, "f"), (None, "x"))],
    "regions": [{"place": "a", "region": "n"}, {"place": "b", "region": "s"}],
}
JOINED: dict[str, list[dict[str, Value]]] = {
    "SELECT v.u, max(p.sex) AS sex, sum(v.cost) AS s FROM visits AS v JOIN persons AS p ON v.u = p.u GROUP BY v.u": [
        {"u": 1, "sex": "f", "s": 12},
        {"u": 2, "sex": "m", "s": 1},
    ],
    "SELECT p.u, count(v.cost) AS n FROM persons AS p LEFT JOIN visits AS v ON v.u = p.u GROUP BY p.u": [
        {"u": 1, "n": 2},
        {"u": 2, "n": 1},
        {"u": 4, "n": 0},
    ],
    "SELECT u, region, count(*) AS n FROM visits LEFT JOIN regions ON town = place GROUP BY u, region": [
        {"u": 1, "region": "n", "n": 1},
        {"u": 1, "region": "s", "n": 1},
        {"u": 2, "region": "n", "n": 1},
        {"u": 3, "region": None, "n": 1},
    ],
    "SELECT u, max(n) AS m FROM (SELECT u, town, count(*) AS n FROM visits GROUP BY u, town) "
    "JOIN regions ON town = place GROUP BY u": [{"u": 1, "m": 1}, {"u": 2, "m": 1}],
}


@pytest.mark.parametrize("engine_name", ["duckdb", "postgres"])
def test_subqueries_may_join_private_tables_on_the_unit_and_public_ones(engine_name: str) -> None:
    with joined(engine_name, SHAPES, DATA, ["regions"]) as opened:
        tables = {name: table_policy(name, SHAPES[name], unit="u", reach=9) for name in ("visits", "persons")}
        tables["regions"] = opened.public("regions", SHAPES["regions"])
        for sql, expected in JOINED.items():
            plan = parse(f"SELECT count(*) FROM ({sql}) AS s", tables)
            opened.check(plan)
            assert listed(read_unit_rows(opened, plan)) == listed(expected), sql
            if inner(plan).is_one_row:
                assert opened.measure(plan) == [[len(expected)]]
