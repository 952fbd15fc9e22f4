"""Groups over tuples of public values: three engines agree with nested loops, and no unit moves an answer too far."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import pytest

from contract.homes import joined
from contract.tables import Row
from policies import table_policy
from postgres_server import database
from tacit.engines.postgres.engine import open_postgres_tables
from tacit.engines.source import Source
from tacit.engines.sql.engine import StatementEngine
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Kind, Value
from tacit.query.key_tuples import Determined
from tacit.query.noise_law import sensitivity
from tacit.query.plan import Plan
from tacit.query.policy import ROW, TablePolicy
from tacit.query.pricing.public_size import has_public_size, uses_size, with_public_size
from tacit.query.sql.parse import parse

SECRET = (7, 11)
SHAPES: dict[str, dict[str, Kind]] = {
    "t": {"u": "integer", "k": "text", "n": "integer"},
    "p": {"k": "text", "name": "text", "size": "integer"},
}
PUBLIC: list[Row] = [
    {"k": "a", "name": "A", "size": 1},
    {"k": "b", "name": "B", "size": 2},
    {"k": "c", "name": "A", "size": None},
    {"k": None, "name": "lost", "size": 9},
]
DATA: list[Row] = [
    {"u": unit, "k": key, "n": number}
    for unit, key, number in [
        (1, "a", 0),
        (1, "b", 1),
        (2, "c", 2),
        (2, "a", 1),
        (3, "z", 2),
        (3, None, 0),
        (4, "c", 1),
    ]
]
TUPLES: set[tuple[Value, ...]] = {("A", 1), ("B", 2), ("A", None)}
CONDITIONS = {
    "k IN (SELECT k FROM p)": 5,
    "k NOT IN (SELECT k FROM p)": 0,
    "k NOT IN (SELECT DISTINCT k FROM p WHERE size < 5)": 3,
    "k NOT IN (SELECT k FROM p WHERE size > 99)": 7,
    "NOT EXISTS (SELECT * FROM p WHERE p.k = t.k)": 2,
    "EXISTS (SELECT 1 FROM p WHERE p.k = t.k AND p.size = t.n)": 1,
    "n IN (SELECT size FROM p WHERE p.k = t.k)": 1,
    "(n IN (SELECT size FROM p WHERE p.k = t.k)) IS NULL": 2,
}


def policies(
    engine: StatementEngine,
    limits: Mapping[str, int | None],
    *,
    unit: str | None,
    neighbours: Neighbours = "add/remove",
) -> dict[str, TablePolicy]:
    every = {"max_groups": None, "max_rows": None, "reach": None, **limits}
    if unit is None:
        every = {"max_groups": 1, "max_rows": 1, "reach": None}
    reach = every.pop("reach")
    table = table_policy("t", SHAPES["t"], unit=unit or ROW, **every, bounds={"n": (0, 2)}, neighbours=neighbours)  # type: ignore[arg-type]
    return {"t": replace(table, reach=reach), "p": engine.public("p", SHAPES["p"], neighbours)}


def groups(plan: Plan, counts: Sequence[int]) -> dict[tuple[Value, ...], int]:
    fine = plan.bundles[0].measures[0].fraction_bits
    return {keys: count >> fine for keys, count in zip(plan.listed_groups(), counts, strict=True)}


def expected(*, left: bool) -> Mapping[tuple[Value, ...], int]:
    """Return the counts by nested loops."""
    counts: dict[tuple[Value, ...], int] = dict.fromkeys(TUPLES, 0) | ({(None, None): 0} if left else {})
    for row in DATA:
        matches = [other for other in PUBLIC if row["k"] is not None and other["k"] == row["k"]]
        for other in matches:
            counts[other["name"], other["size"]] += 1
        if left and not matches:
            counts[None, None] += 1
    return counts


QUERY = "SELECT p.name, p.size, count(*) AS c FROM t {join} p ON t.k = p.k GROUP BY p.name, p.size"


@pytest.mark.parametrize("name", ["duckdb", "postgres", "spark"])
def test_engines_give_the_tuples_and_the_conditions_of_nested_loops(name: str) -> None:
    with joined(name, SHAPES, {"t": DATA, "p": PUBLIC}, ["p"]) as engine:
        every: list[tuple[str | None, dict[str, int | None]]] = [
            (None, {}),
            ("u", {"max_groups": 9, "max_rows": 9}),
            ("u", {"reach": 9}),
        ]
        for unit, limits in every:
            known = policies(engine, limits, unit=unit)
            for join, left in (("JOIN", False), ("LEFT JOIN", True)):
                plan = parse(QUERY.format(join=join), known)
                assert groups(plan, engine.measure_with(plan, SECRET)[0]) == expected(left=left), (unit, join)
        by_row = policies(engine, {}, unit=None)
        for where, want in CONDITIONS.items():
            plan = parse(f"SELECT count(*) FROM t WHERE {where}", by_row)
            assert engine.measure_with(plan, SECRET)[0] == [want], where
        found = "SELECT t.n, p.name, p.size, count(*) AS c FROM t JOIN p ON t.k = p.k GROUP BY 1, 2, 3"
        open_plan = replace(
            parse(found, by_row),
            keys=tuple(replace(key, values=None) if key.name == "n" else key for key in parse(found, by_row).keys),
        )
        shown = engine.find_with(open_plan, lambda units: range(len(units)), SECRET)  # type: ignore[arg-type,return-value]
        assert {key[1:] for key in shown.keys} <= TUPLES
        values = "median(n), count(DISTINCT n), sum(n), avg(n)"
        several = parse(f"SELECT p.name, p.size, {values} FROM t JOIN p ON t.k = p.k GROUP BY 1, 2", by_row)
        measures = [measure for bundle in several.bundles for measure in bundle.measures]
        sizes = [len(integers) for integers in engine.measure_with(several, SECRET)]
        assert sizes == [3 * measure.bins for measure in measures]


# --- neighbours, by brute force -------------------------------------------------------------------------------------

ROWS: list[Row] = [{"u": unit, "k": key, "n": 2} for unit, key in [(1, "a"), (1, "b"), (1, "c"), (1, "z"), (2, "a")]]
CASES: list[tuple[str, dict[str, int | None]]] = [
    ("JOIN", {}),
    ("LEFT JOIN", {"max_groups": 1, "max_rows": 1}),
    ("LEFT JOIN", {"max_groups": 2, "max_rows": 1}),
    ("JOIN", {"reach": 2}),
]


def every_table(most: int) -> list[tuple[int, ...]]:
    return [rows for size in range(most + 1) for rows in combinations_with_replacement(range(len(ROWS)), size)]


def neighbours_of(tables: Sequence[tuple[int, ...]], *, by_row: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield pairs of tables that differ in one unit, and whether the unit is in both."""
    for first, one in enumerate(tables):
        for second, two in enumerate(tables[:first]):
            gone, new = Counter(one) - Counter(two), Counter(two) - Counter(one)
            if by_row:
                if max(gone.total(), new.total()) == 1:
                    yield first, second, gone.total() == new.total()
                continue
            for unit in (1, 2):
                rest = [tuple(row for row in table if ROWS[row]["u"] != unit) for table in (one, two)]
                mine = [any(ROWS[row]["u"] == unit for row in table) for table in (one, two)]
                if rest[0] == rest[1] and any(mine):
                    yield first, second, all(mine)


@pytest.mark.parametrize("most", [2, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize(("join", "limits"), CASES, ids=str)
def test_no_unit_moves_tuples_beyond_the_sensitivity_and_some_unit_reaches_it(
    join: str, limits: dict[str, int | None], most: int
) -> None:
    tables = every_table(most)
    unit = "u" if limits else None
    sql = QUERY.format(join=join).replace("count(*) AS c", "count(*) AS c, sum(n) AS s")
    plans: dict[Neighbours, Plan] = {}
    with joined("duckdb", SHAPES, {"t": DATA, "p": PUBLIC}, ["p"]) as engine:
        relations: tuple[Neighbours, ...] = ("add/remove", "change one")
        for relation in relations:
            plans[relation] = parse(sql, policies(engine, limits, unit=unit, neighbours=relation))
    measured: list[list[list[int]]] = []
    for table in tables:
        with joined("duckdb", SHAPES, {"t": [ROWS[row] for row in table], "p": PUBLIC}, ["p"]) as engine:
            measured.append(engine.measure_with(plans["add/remove"], SECRET))
    for relation, plan in plans.items():
        bounds = [sensitivity(plan, bundle, "laplace") for bundle in plan.bundles]
        furthest = [0] * len(bounds)
        for one, two, changed in neighbours_of(tables, by_row=unit is None):
            if changed != (relation == "change one"):
                continue
            start = 0
            for index, bundle in enumerate(plan.bundles):
                end = start + len(bundle.measures)
                pairs = zip(measured[one][start:end], measured[two][start:end], strict=True)
                moved = sum(abs(a - b) for first, second in pairs for a, b in zip(first, second, strict=True))
                furthest[index], start = max(furthest[index], moved), end
        assert all(moved <= bound for moved, bound in zip(furthest, bounds, strict=True)), (relation, furthest, bounds)
        assert any(moved == bound for moved, bound in zip(furthest, bounds, strict=True)), (relation, furthest, bounds)


@pytest.mark.parametrize("name", ["duckdb", "postgres", "spark"])
def test_tuples_with_a_public_size_add_up_to_it(name: str) -> None:
    with joined(name, SHAPES, {"t": DATA, "p": [row for row in PUBLIC if row["k"]]}, ["p"]) as engine:
        plan = parse(QUERY.format(join="LEFT JOIN"), policies(engine, {}, unit=None, neighbours="change one"))
        assert has_public_size(plan, alone=True)
        assert uses_size(plan)
        sized = with_public_size(plan, len(DATA))
        (counts,) = engine.measure_with(sized, SECRET)
        assert sum(counts) == len(DATA)
        assert dict(zip(sized.listed_groups(), counts, strict=True)) == expected(left=True)
        names, sizes = sized.tuples[0].columns
        fewer = tuple("unknown" if name == "B" else name for name in names)  # rows with other tuples count under NULL
        (counts,) = engine.measure_with(
            replace(sized, tuples=(replace(sized.tuples[0], columns=(fewer, sizes)),)), SECRET
        )
        assert sum(counts) == len(DATA)


BY_REQUIRED = "SELECT t.k, p.name, p.size, count(*) AS c FROM t {join} p ON t.k = p.k GROUP BY 1, 2, 3"
LISTED = ["a", "b", "x"]


def counts_by_required(*, left: bool) -> Counter[tuple[Value, ...]]:
    """Return the counts of rows with a listed k by nested loops; a row without k has the first."""
    counts = Counter[tuple[Value, ...]]()
    for row in DATA:
        key = row["k"] or LISTED[0]
        matches = [other for other in PUBLIC if other["k"] == key]
        none: list[Row] = [{"name": None, "size": None}] if left and not matches else []
        counts.update((key, other["name"], other["size"]) for other in [*matches, *none] if key in LISTED)
    return counts


@pytest.mark.parametrize("name", ["duckdb", "postgres", "spark"])
def test_a_required_column_is_equated_with_the_public_key(name: str) -> None:
    with joined(name, SHAPES, {"t": DATA, "p": [row for row in PUBLIC if row["k"]]}, ["p"]) as engine:
        table = table_policy("t", SHAPES["t"], unit=ROW, neighbours="change one", required=["k"], keys={"k": LISTED})
        known = {"t": table, "p": engine.public("p", SHAPES["p"], table.neighbours)}
        for join, cells in (("JOIN", 2), ("LEFT JOIN", 5)):
            plan = parse(BY_REQUIRED.format(join=join), known)
            want = counts_by_required(left=join == "LEFT JOIN")
            assert plan.cells == cells
            assert Counter(groups(plan, engine.measure_with(plan, SECRET)[0])) == want
            assert uses_size(plan) == (join == "LEFT JOIN")
        sized = with_public_size(plan, len(DATA))
        (counts,) = engine.measure_with(sized, SECRET)
        others = Counter({(LISTED[0], None, None): len(DATA) - want.total()})  # rows with another k
        assert others.total() == 3
        assert Counter(groups(sized, counts)) == want + others


def test_a_public_table_that_changed_has_the_groups_and_values_of_its_opening() -> None:
    public = [row for row in PUBLIC if row["k"]]
    with database() as place:
        for table, rows in (("t", DATA), ("p", public)):
            place.fill(table, SHAPES[table], rows)
        sources = {name: Source(source=place.reader, table=name, public=name == "p") for name in SHAPES}
        engine = open_postgres_tables(sources)
        known = policies(engine, {}, unit=None, neighbours="change one")
        place.run("INSERT INTO p VALUES ('z', 'new', 7); UPDATE p SET size = 99 WHERE k = 'b'")
        inner = parse(QUERY.format(join="JOIN"), known)
        assert groups(inner, engine.measure_with(inner, SECRET)[0]) == {("A", 1): 2, ("B", 2): 0, ("A", None): 2}
        sized = with_public_size(parse(QUERY.format(join="LEFT JOIN"), known), len(DATA))
        (counts,) = engine.measure_with(sized, SECRET)
        found = dict(zip(sized.listed_groups(), counts, strict=True))
        assert found == {("A", 1): 2, ("B", 2): 0, ("A", None): 2, (None, None): 3}
        exact = parse("SELECT p.k, max(p.size) AS m, count(*) AS c FROM t JOIN p ON t.k = p.k GROUP BY 1", known)
        (output,) = (output for _, output in exact.outputs if isinstance(output, Determined))
        assert output.value(["b"]) == 2
        engine.close()
