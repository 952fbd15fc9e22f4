"""Subqueries that group by the unit: exact values on every engine, and no unit moves an answer further than priced.

The values are compared with an oracle in plain Python. The sensitivity is compared over all small tables, and over
random queries and tables; planted errors must be found.
"""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given

from contract.questions import (
    REACHED,
    SPELLINGS,
    UNIT_SOURCES,
    Trial,
    UnitKind,
    kinds_of,
    policy,
    trials,
)
from contract.questions import UNITS as UNITS_OF
from contract.questions import VALUES as QUESTION_VALUES
from contract.tables import KINDS, VALUES, Opener, Row
from contract.test_questions import BRIEF, LONG, SECRET, check, engine_of, measured, oversteps
from contract.unit_table_oracle import read_unit_rows, unit_rows
from policies import table_policy
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Value
from tacit.query.plan import Plan
from tacit.query.sql.parse import parse
from tacit.query.unit_tables import UnitTable

# --- values ---------------------------------------------------------------------------------------------------------

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
        "SELECT u, sum(a) FILTER (WHERE b) AS s, max(x) FILTER (WHERE a > 0) AS m, bool_and(b) FILTER (WHERE a > 0) AS f, "
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


def test_every_engine_computes_the_values_of_the_definition(engine: Opener) -> None:
    rows = nasty_rows()
    with engine(KINDS, rows) as opened:
        for subquery in SUBQUERIES.values():
            plan = plan_of(subquery)
            expected = unit_rows(inner(plan), rows)
            assert expected
            assert listed(read_unit_rows(opened, plan)) == listed(expected), subquery


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


# --- sensitivity, over all small tables -----------------------------------------------------------------------------

RELATIONS: tuple[Neighbours, ...] = ("add/remove", "change one")
ROW_TYPES = [{"g": g, "n": n} for g, n in product(["a", "unlisted"], [0, 4])]
OTHERS: list[list[tuple[Value, int]]] = [[], [(2, 1), (2, 2), (None, 0)]]
SMALL = [
    "SELECT count(*), sum(v), avg(v) FROM (SELECT u, clamp(count(*), 0, 2) AS v FROM t GROUP BY u)",
    "SELECT v, count(*) FROM (SELECT u, clamp(count(*), 0, 3) AS v FROM t GROUP BY u) GROUP BY v",
    "SELECT sum(v) FROM (SELECT u, clamp(sum(n), -3, 5) AS v FROM t WHERE n > 0 GROUP BY u)",
    "SELECT g, sum(v), count(DISTINCT u) FROM (SELECT u, g, max(n) AS v FROM t GROUP BY u, g) GROUP BY g",
    "SELECT count(*), sum(v) FROM (SELECT u, n, clamp(count(*), 0, 2) AS v FROM t GROUP BY u, n)",
    "SELECT w, count(*) FROM (SELECT u, count(*) AS w, max(n) AS m FROM (SELECT u, g, max(n) AS n FROM t GROUP BY u, g) "
    "GROUP BY u HAVING max(n) > 0) WHERE m > 0 GROUP BY w HAVING count(*) > 0",
]


def small_tables() -> Iterator[tuple[int, list[Row]]]:
    """Yield all tables in which the unit 1 has at most three rows, and others have fixed ones; with the others' number."""
    for index, others in enumerate(OTHERS):
        fixed = [_row(unit, ROW_TYPES[number]) for unit, number in others]
        for count in range(4):
            for types in combinations_with_replacement(ROW_TYPES, count):
                yield index, [*fixed, *(_row(1, each) for each in types)]


def _row(unit: Value, values: Row) -> Row:
    return {"u": unit, **dict.fromkeys(QUESTION_VALUES), **values}


@cache
def tables() -> list[tuple[int, list[Row]]]:
    return list(small_tables())


def worst(plan: Plan, claimed: Plan | None = None) -> list[str]:
    """Return how any two tables that differ in the rows of one unit exceed the sensitivity of a plan."""
    found: list[str] = []
    results = [(index, rows, measured("integer", plan, rows, SECRET)) for index, rows in tables()]
    for index, rows, before in results:
        for other, after_rows, after in results:
            gone = not any(row["u"] == 1 for row in after_rows)
            if index == other and (gone or plan.table.neighbours == "change one") and rows is not after_rows:
                found += oversteps(plan if claimed is None else claimed, before, after)
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sql", SMALL)
def test_no_small_table_moves_an_answer_further_than_its_price(sql: str, relation: Neighbours) -> None:
    keys = {"w": [1, 2, 3]} if "AS w" in sql else None
    plan = parse(sql, {"t": policy("integer", relation, 1, 2)}, keys=keys)
    engine_of("integer").check(plan)
    assert worst(plan) == []


def test_a_planted_error_is_found() -> None:
    sql = "SELECT count(*) FROM (SELECT u, n, max(m) AS v FROM t GROUP BY u, n)"
    plan = parse(sql, {"t": policy("integer", "add/remove", 1, 1)})
    one_row = replace(plan, table=replace(plan.table, unit=None))  # several rows a unit, priced as one
    assert worst(one_row) != []
    assert worst(plan) == []
    several = parse("SELECT count(*) FROM t", {"t": policy("integer", "add/remove", 1, 3)})
    once = parse("SELECT count(*) FROM (SELECT u FROM t GROUP BY u)", {"t": policy("integer", "add/remove", 1, 1)})
    assert worst(once) == []
    assert worst(several, claimed=once) != []


# --- sensitivity, of random queries ---------------------------------------------------------------------------------


@BRIEF
@given(trials(["integer", "text", "real"], sources=UNIT_SOURCES))
def test_a_unit_moves_any_answer_over_a_subquery_by_no_more_than_its_price_says(trial: Trial) -> None:
    check(trial)


@BRIEF
@given(trials(["integer"], sources=UNIT_SOURCES, limits=REACHED, of=frozenset(SPELLINGS) - {"count_distinct"}))
def test_so_does_a_unit_with_a_reach(trial: Trial) -> None:
    check(trial)


@pytest.mark.long
@LONG
@given(trials(["integer", "text", "real"], sources=UNIT_SOURCES, most=4))
def test_so_it_is_in_a_long_search(trial: Trial) -> None:
    check(trial)
