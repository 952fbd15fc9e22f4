"""Subqueries that group by the unit: no unit moves an answer further than priced.

That holds over all small tables, and over random queries and tables. Planted errors must be found.
"""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given, settings

from contract.examples import drawn
from contract.questions import REACHED, SPELLINGS, UNIT_SOURCES, VALUES, Trial, policy, trials
from contract.tables import Row
from contract.test_found_groups import PLAIN
from contract.test_found_groups import check as check_discovered
from contract.test_questions import LONG, SECRET, SLOW, check, engine_of, measured, oversteps
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Value
from tacit.query.plan import Plan
from tacit.query.pricing.price import Cost, price
from tacit.query.pricing.public_size import has_public_size, uses_size, with_public_size
from tacit.query.results.resolution import noise_inputs
from tacit.query.sql.parse import parse

# --- all small tables -----------------------------------------------------------------------------

RELATIONS: tuple[Neighbours, ...] = ("add/remove", "change one")
ROW_TYPES: list[Row] = [{"g": g, "n": n} for g, n in product(["a", "unlisted"], [0, 4])]
OTHERS: list[tuple[Value, int]] = [(2, 1), (2, 2), (None, 0)]
SMALL = [
    "SELECT count(*), sum(v), avg(v) FROM (SELECT u, clamp(count(*), 0, 2) AS v FROM t GROUP BY u)",
    "SELECT v, count(*) FROM (SELECT u, clamp(count(*), 0, 3) AS v FROM t GROUP BY u) GROUP BY v",
    "SELECT sum(v) FROM (SELECT u, clamp(sum(n), -3, 5) AS v FROM t WHERE n > 0 GROUP BY u)",
    "SELECT g, sum(v), count(DISTINCT u) FROM (SELECT u, g, max(n) AS v FROM t GROUP BY u, g) GROUP BY g",
    "SELECT count(*), sum(v) FROM (SELECT u, n, clamp(count(*), 0, 2) AS v FROM t GROUP BY u, n)",
    (
        "SELECT w, count(*) FROM (SELECT u, count(*) AS w, max(n) AS m FROM "
        "(SELECT u, g, max(n) AS n FROM t GROUP BY u, g) GROUP BY u HAVING max(n) > 0) WHERE m > 0 GROUP BY w"
    ),
]


def small_tables() -> Iterator[list[Row]]:
    """Yield all tables in which the unit 1 has up to three rows, and other units have fixed rows."""
    fixed = [_row(unit, ROW_TYPES[number]) for unit, number in OTHERS]
    for count in range(4):
        for types in combinations_with_replacement(ROW_TYPES, count):
            yield [*fixed, *(_row(1, each) for each in types)]


def _row(unit: Value, values: Row) -> Row:
    return {"u": unit, **dict.fromkeys(VALUES), **values}


@cache
def tables() -> list[list[Row]]:
    return list(small_tables())


def worst(plan: Plan, claimed: Plan | None = None) -> list[str]:
    """Return how any two tables that differ in the rows of one unit exceed the sensitivity of a plan."""
    found: list[str] = []
    results = [(rows, measured("integer", plan, rows, SECRET)) for rows in tables()]
    for rows, before in results:
        for others, after in results:
            gone = not any(row["u"] == 1 for row in others)
            if (gone or plan.table.neighbours == "change one") and rows is not others and before != after:
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


# --- a public number of units ----------------------------------------------------------------------------------------

COUNTED = "(SELECT u, count(*) AS v FROM t GROUP BY u)"
SIZED = [
    f"SELECT count(*), sum(v), avg(v), var_pop(v) FROM {COUNTED}",
    f"SELECT CASE WHEN v > 1 THEN 'many' ELSE 'few' END AS k, count(*) FROM {COUNTED} GROUP BY k",
    f"SELECT CASE WHEN v > 2 THEN 'many' WHEN v > 1 THEN 'two' ELSE 'few' END AS k, count(*) FROM {COUNTED} GROUP BY k",
]


def sized_oversteps(sql: str, step: int) -> list[str]:
    """Return how a changed unit exceeds the sensitivity, less `step`, of a plan that uses the number of units."""
    plan = parse(sql, {"t": policy("integer", "change one", 1, 1)}, bounds={"v": (1, 3)})
    assert has_public_size(plan, alone=True)
    assert not has_public_size(plan, alone=False)
    assert uses_size(plan)
    plan = with_public_size(plan, 2)
    laws = [price(plan, Cost(epsilon=10**9)).noise, price(plan, Cost(rho=10**18)).noise]
    vectors = []
    for rows in tables():
        if any(row["u"] == 1 for row in rows):  # a unit has at least one row before and after
            found = noise_inputs(plan, measured("integer", plan, rows, SECRET))
            drawn = slice(1) if plan.halves else slice(None)
            vectors.append([[int(x) for part in parts for x in part][drawn] for parts in found])
    wrong = []
    for one, other in product(vectors, vectors):
        for before, after, laplace, gaussian in zip(one, other, *laws, strict=True):
            moves = [abs(a - b) for a, b in zip(before, after, strict=True)]
            wrong += ["L1"] if sum(moves) > laplace.sensitivity - step else []
            wrong += ["L2"] if sum(move**2 for move in moves) > gaussian.sensitivity - step else []
    return wrong


@pytest.mark.parametrize("sql", SIZED)
def test_no_changed_unit_moves_an_answer_that_uses_their_number_further_than_its_price(sql: str) -> None:
    assert sized_oversteps(sql, 0) == []
    assert sized_oversteps(sql, 1) != []


# --- random queries ---------------------------------------------------------------------------------


FEW = settings(deadline=None, max_examples=drawn(14), suppress_health_check=SLOW)


@FEW
@given(trials(["integer", "text", "real"], sources=UNIT_SOURCES))
def test_a_unit_moves_any_answer_over_a_subquery_by_no_more_than_its_price_says(trial: Trial) -> None:
    check(trial)


@FEW
@given(trials(["integer"], sources=UNIT_SOURCES, limits=REACHED, of=frozenset(SPELLINGS) - {"count_distinct"}))
def test_so_does_a_unit_with_a_reach(trial: Trial) -> None:
    check(trial)


@FEW
@given(trials(["integer", "text"], sources=UNIT_SOURCES, of=PLAIN, found=True))
def test_so_does_a_unit_in_groups_that_are_discovered(trial: Trial) -> None:
    check_discovered(trial)


@pytest.mark.long
@LONG
@given(trials(["integer", "text", "real"], sources=UNIT_SOURCES, most=4))
def test_so_it_is_in_a_long_search(trial: Trial) -> None:
    check(trial)
