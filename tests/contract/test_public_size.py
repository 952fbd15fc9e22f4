"""Tables with a public number of rows: three engines agree, and no changed row moves an answer beyond its price."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import inf, nan

import pytest

from bounded import measured as measured_in_python
from contract.homes import arrow, joined
from contract.tables import Opener, Row
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb
from tacit.engines.sql.statement import SOURCE
from tacit.errors import SizeChangedError
from tacit.query.aggregates.margins import as_table_count
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Kind
from tacit.query.plan import Key, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.pricing.public_size import has_public_size, size_plan, uses_size, with_public_size
from tacit.query.results.resolution import noise_inputs
from tacit.query.sql.parse import parse

SECRET, HUGE = (7, 11), 10**9
KINDS: dict[str, Kind] = {"x": "real", "n": "integer", "race": "text", "town": "text", "flag": "boolean"}
FIVE = (Fraction(-2), Fraction(3))
COLUMNS = {
    "x": ColumnPolicy(kind="real", bounds=(Fraction("0.1"), Fraction("0.4")), required=True),
    "n": ColumnPolicy(kind="integer", bounds=FIVE, required=True),
    "race": ColumnPolicy(kind="text", keys=("a", "b", "c"), required=True),
    "town": ColumnPolicy(kind="text", keys=("p", "q")),
    "flag": ColumnPolicy(kind="boolean", required=True),
}
T = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="change one", columns=COLUMNS)

MOMENTS = "SELECT count(*), sum(n), avg(x), var_pop(n), var_pop(x), covar_samp(n, x) FROM t"
BY_RACE = "SELECT race, count(*) AS c FROM t GROUP BY race"
BY_FLAG = "SELECT flag, count(*) AS c FROM t GROUP BY flag"
NAMED = "SELECT CASE WHEN x > 0.2 THEN 'hi' WHEN n = 1 THEN 'one' ELSE 'lo' END AS k, count(*) AS c FROM t GROUP BY k"
CROSSED = "SELECT race, town, count(*) AS c FROM t GROUP BY race, town"
BY_TOWN = "SELECT town, count(*) AS c FROM t GROUP BY town"
TABLES = (CROSSED, BY_TOWN)
QUERIES = (MOMENTS, BY_RACE, BY_FLAG, NAMED, *TABLES)


def sized(sql: str, size: int) -> Plan:
    plan = parse(sql, {"t": T})
    plan = as_table_count(plan) if sql in TABLES else plan
    assert has_public_size(plan, alone=True)
    assert uses_size(plan)
    return with_public_size(plan, size)


# --- a second implementation, in Python ------------------------------------------------------------------------------


def code(key: Key, row: Row) -> int | None:
    """The index of a row's value among a key's values, or the key's default."""
    value = evaluate(key.expression, row)
    return key.listed.index(value) if value in key.listed else key.default


def cells(plan: Plan, rows: Sequence[Row]) -> list[int]:
    """The number of rows of each cell, and of the rest."""
    counts = [0] * plan.measured_cells
    for row in rows:
        place = 0
        codes = [code(key, row) for key in plan.keys]
        for key, number in zip(plan.keys, codes, strict=True):
            place = place * len(key.listed) + (number or 0)
        counts[plan.listed if None in codes else place] += 1
    return counts


def expected(plan: Plan, rows: Sequence[Row]) -> list[list[int]]:
    return [cells(plan, rows)] * len(plan.bundles) if plan.keys else measured_in_python(plan, rows)


ODD: list[Row] = [
    {"x": x, "n": n, "race": race, "town": town, "flag": flag}
    for x, n, race, town, flag in (
        (0.25, 1, "a", "p", True),
        (None, None, None, None, None),
        (nan, -7, "?", "q", False),
        (inf, 3, "b", "", None),
        (-inf, 50, "c", "p", True),
        (0.1, 0, "b", "q", True),
        (0.4, 2, "", "?", None),
    )
]


@pytest.mark.parametrize("sql", [MOMENTS, BY_RACE, NAMED, CROSSED])
def test_engines_measure_the_same_integers(engine: Opener, sql: str) -> None:
    plan = sized(sql, len(ODD))
    with engine(KINDS, ODD) as opened:
        opened.check(plan)
        found = opened.measure_with(plan, SECRET)
        assert [list(map(int, integers)) for integers in found] == expected(plan, ODD)
        if sql == MOMENTS:
            assert opened.measure(size_plan(plan)) == [[len(ODD)]]
            assert opened.reads_every_row("t")


def test_engines_count_units_without_rows_that_have_none(engine: Opener) -> None:
    kinds: dict[str, Kind] = {"who": "integer", "x": "real"}
    columns = {"who": ColumnPolicy(kind="integer"), "x": COLUMNS["x"]}
    table = replace(T, unit="who", columns=columns)
    rows: list[Row] = [{"who": who, "x": x} for who, x in ((1, 0.3), (1, None), (None, 0.2), (2, 0.4), (3, nan))]
    plan = with_public_size(parse("SELECT count(DISTINCT who) AS c, avg(x) AS a FROM t", {"t": table}), 3)
    with engine(kinds, rows) as opened:
        assert opened.measure(size_plan(plan)) == [[3]]
        assert opened.measure_with(plan, SECRET) == measured_in_python(plan, rows)


@pytest.mark.parametrize("name", ["duckdb", "postgres", "spark"])
def test_a_left_join_with_a_public_table_keeps_every_row_once(name: str) -> None:
    town: dict[str, Kind] = {"town": "text", "size": "integer"}
    public = replace(
        T,
        name="r",
        public=True,
        size=2,
        columns={"town": ColumnPolicy(kind="text", keys=("p", "x"), copies=1), "size": ColumnPolicy(kind="integer")},
    )
    sql = "SELECT count(*), avg(x), sum(n) FROM t LEFT JOIN r ON t.town = r.town"
    plan = parse(sql, {"t": T, "r": public})
    assert has_public_size(plan, alone=True)
    rows: list[Row] = [{"town": "p", "size": 3}, {"town": "x", "size": 5}]
    with joined(name, {"t": KINDS, "r": town}, {"t": ODD, "r": rows}, {"r"}) as opened:
        found = opened.measure_with(with_public_size(plan, len(ODD)), SECRET)
        assert found == measured_in_python(sized("SELECT count(*), avg(x), sum(n) FROM t", len(ODD)), ODD)


# --- all small tables, on DuckDB -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened() -> Iterator[DuckDBEngine]:
    engine = open_duckdb(arrow(KINDS, []), threads=1)
    yield engine
    engine.close()


def inputs(engine: DuckDBEngine, plan: Plan, rows: Sequence[Row]) -> list[list[int]]:
    """The exact integers that get noise: for each bundle; of two cells that add up, only the first does."""
    engine._connection.register(SOURCE, arrow(KINDS, rows))
    vectors = noise_inputs(plan, engine.measure_with(plan, SECRET))
    drawn = slice(1) if plan.halves else slice(None)
    return [[int(x) for part in parts for x in part][drawn] for parts in vectors]


ROWS = ODD[:6]
Claim = Callable[[Plan], Plan]


def oversteps(engine: DuckDBEngine, sql: str, size: int, claim: Claim = lambda plan: plan) -> list[str]:
    """Every way in which a changed row moves a bundle of a table of this size beyond what its noise is made for."""
    plan = sized(sql, size)
    claimed = claim(plan)
    laplace, gaussian = price(claimed, Cost(epsilon=HUGE)).noise, price(claimed, Cost(rho=HUGE**2)).noise
    by_rest: dict[tuple[int, ...], list[list[list[int]]]] = {}
    for chosen in combinations_with_replacement(range(len(ROWS)), size):
        found = inputs(engine, plan, [ROWS[index] for index in chosen])
        for place in range(size):
            by_rest.setdefault(chosen[:place] + chosen[place + 1 :], []).append(found)
    wrong = []
    for tables in by_rest.values():
        for one, other in product(tables, tables):
            for index, (before, after) in enumerate(zip(one, other, strict=True)):
                moves = [abs(a - b) for a, b in zip(before, after, strict=True) if a != b]
                if sum(moves) > laplace[index].sensitivity:
                    wrong.append(f"L1 of bundle {index}")
                if sum(move**2 for move in moves) > gaussian[index].sensitivity:
                    wrong.append(f"L2 of bundle {index}")
                if len(moves) > min(laplace[index].moving, gaussian[index].moving):
                    wrong.append(f"integers of bundle {index}")
    return sorted(set(wrong))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("sql", QUERIES)
def test_no_changed_row_moves_an_answer_further_than_its_price_says(opened: DuckDBEngine, sql: str, size: int) -> None:
    assert oversteps(opened, sql, size) == []


def smaller(plan: Plan) -> Plan:
    """A plan that claims a sensitivity smaller by one step."""
    bundles = [replace(each, contribution=each.contribution - 1) for each in plan.bundles if each.combined is not None]
    return replace(plan, bundles=tuple(bundles))


def as_two_cells(plan: Plan) -> Plan:
    """A table of three cells that claims to have two, which would halve its noise."""
    return replace(plan, rest=False)


def test_planted_errors_are_found(opened: DuckDBEngine) -> None:
    assert oversteps(opened, "SELECT sum(n), var_pop(n) FROM t", 2, smaller) == [
        "L1 of bundle 0",
        "L1 of bundle 1",
        "L2 of bundle 0",
        "L2 of bundle 1",
    ]
    assert oversteps(opened, BY_TOWN, 2, as_two_cells) == [
        "L1 of bundle 0",
        "L2 of bundle 0",
        "integers of bundle 0",
    ]


def test_rows_without_a_listed_key_that_were_dropped_would_be_found(opened: DuckDBEngine) -> None:
    plan = sized(BY_RACE, 2)
    dropping = replace(plan, keys=tuple(replace(key, default=None) for key in plan.keys))
    with pytest.raises(SizeChangedError):
        inputs(opened, dropping, [ODD[0], ODD[2]])
    assert inputs(opened, plan, [ODD[0], ODD[2]]) == [[2, 0, 0]]


@pytest.mark.parametrize("sql", QUERIES)
def test_a_table_that_grew_is_refused(opened: DuckDBEngine, sql: str) -> None:
    with pytest.raises(SizeChangedError):
        inputs(opened, sized(sql, 2), ODD[:3])
