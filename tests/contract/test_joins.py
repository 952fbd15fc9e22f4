"""Joins against two oracles, nested loops in Python and plain SQL; and their neighbours, by brute force.

Neighbours differ in one unit, in all private tables at once. Public tables have doubled keys, so that joins multiply
rows; NULL, NaN, zeros of both signs and texts that look like numbers stand everywhere.
"""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from math import inf, isfinite, isnan, nan
from typing import Literal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tacit as tc
from contract.examples import drawn
from contract.plans import added_up, cells
from contract.tables import Row
from contract.test_questions import oversteps
from policies import table_policy
from row_evaluator import evaluate
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb_tables
from tacit.engines.source import Source
from tacit.engines.sql.builder import SQL, cast
from tacit.engines.sql.engine import StatementEngine
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Column, Kind, Value
from tacit.query.joins import Join
from tacit.query.plan import Plan
from tacit.query.policy import ROW, TablePolicy
from tacit.query.policy.engine_settings import EngineSettings
from tacit.query.sql.parse import parse
from tacit.query.sql.row_work import row_work

ARROW: dict[Kind, pa.DataType] = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string()}
SHAPES: dict[str, dict[str, Kind]] = {
    "v": {"u": "integer", "k": "text", "x": "real", "n": "integer"},
    "p": {"id": "integer", "k": "text", "y": "integer"},
    "r": {"k": "text", "name": "text", "z": "integer", "w": "real"},
    "c": {"name": "text", "rich": "text"},
}
TEXTS: list[Value] = [None, "a", "A", "é", "e\u0301", "1", "01", ""]
WHOLE: list[Value] = [None, 0, 1, 2]
REALS: list[Value] = [None, nan, inf, 0.0, -0.0, 0.5, 1.0, 2.0]
VALUES: dict[str, list[Value]] = {
    "u": [None, 1, 2, 3],
    "id": [None, 1, 2, 3],
    "k": TEXTS,
    "x": REALS,
    "n": WHOLE,
    "y": WHOLE,
    "name": ["A", "B", "C", None],
    "z": WHOLE,
    "w": REALS,
    "rich": ["yes", "no"],
}
UNITS = {"v": "u", "p": "id"}
SECRET = (1234567890123456789, 9876543210987654321)

Tables = Mapping[str, Sequence[Row]]

SOURCES = [
    "v JOIN r ON v.k = r.k",
    "v JOIN r USING (k)",
    "r JOIN v ON r.k = v.k AND v.n = r.z",
    "v LEFT JOIN r ON v.k = r.k",
    "r RIGHT JOIN v ON v.x = r.w",
    "v JOIN r ON v.x = r.w",
    "v JOIN r ON v.n = r.z AND v.x <= r.w",
    "v JOIN r ON v.n < r.z",
    "v LEFT JOIN r ON v.n = r.z AND r.name <> 'B'",
    "v LEFT JOIN (SELECT * FROM r WHERE z > 0) AS r ON v.n = r.z",
    "v LEFT JOIN (SELECT k, coalesce(name, 'none') AS name, w + 1 AS w, z FROM r) AS r ON v.k = r.k",
    "v JOIN (SELECT lower(k) AS low, name, z, w FROM r WHERE z IS NOT NULL) AS r ON lower(v.k) = low",
    "(SELECT *, n + 1 AS m FROM v WHERE n < 2) AS v JOIN r ON v.m = r.z",
    "v JOIN r ON CAST(v.k AS INTEGER) = r.z",
    "v JOIN r ON v.k = r.k JOIN c ON r.name = c.name",
    "r JOIN c ON r.name = c.name JOIN v ON v.k = r.k",
    "v LEFT JOIN r ON v.n = r.z LEFT JOIN c ON r.name = c.name",
    "v JOIN r ON v.k = r.k LEFT JOIN r AS r2 ON v.n = r2.z",
    "v JOIN p ON v.u = p.id JOIN r ON p.y = r.z",
    "v LEFT JOIN p ON v.u = p.id JOIN r ON v.k = r.k",
    "v LEFT JOIN p ON v.u = p.id AND p.y > 0 AND v.k = p.k LEFT JOIN r ON p.y = r.z",
    "v RIGHT JOIN p ON v.u = p.id JOIN r ON p.k = r.k",
    "p JOIN v ON p.id = v.u AND p.k = v.k JOIN r ON v.n = r.z",
    "p JOIN (SELECT v.u, v.n, v.x, r.name, r.z, r.w FROM v JOIN r ON v.k = r.k) AS r ON r.u = p.id",
    "p LEFT JOIN (SELECT u, n * 2 AS n, x FROM v) AS v ON v.u = p.id JOIN r ON p.k = r.k",
    "r JOIN p ON p.y = r.z JOIN v ON v.u = p.id",
]


def rows_of(table: str, least: int = 0, most: int = 7) -> st.SearchStrategy[list[dict[str, Value]]]:
    columns = {name: st.sampled_from(VALUES[name]) for name in SHAPES[table]}
    return st.lists(st.fixed_dictionaries(columns), min_size=least, max_size=most)


def tables() -> st.SearchStrategy[dict[str, list[dict[str, Value]]]]:
    return st.fixed_dictionaries({name: rows_of(name, least=name in ("r", "c")) for name in SHAPES})


def arrow(table: str, rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in SHAPES[table].items()})


@contextmanager
def opened(data: Tables) -> Iterator[DuckDBEngine]:
    sources = {name: Source(source=arrow(name, data[name]), public=name in ("r", "c")) for name in SHAPES}
    engine = open_duckdb_tables(sources, EngineSettings(threads=1))
    try:
        yield engine
    finally:
        engine.close()


def policies(
    engine: StatementEngine, *, groups: int = 9, rows: int = 10_000, neighbours: Neighbours = "add/remove"
) -> dict[str, TablePolicy]:
    limits = {"max_groups": groups, "max_rows": rows}
    bounds = {"v": {"x": (-1, 1), "n": (0, 4)}, "p": {"y": (0, 2)}}
    private = {
        name: table_policy(name, SHAPES[name], unit=unit, **limits, bounds=bounds[name], neighbours=neighbours)  # type: ignore[arg-type]
        for name, unit in UNITS.items()
    }
    return private | {name: engine.public(name, SHAPES[name], neighbours) for name in ("r", "c")}


def question(source: str, *, grouped: bool = True) -> str:
    side = "r" if "r.u = p.id" in source else "v"
    asked = f"count(*) AS a, sum({side}.n) AS b, sum({side}.x) AS c, count(DISTINCT {_first_unit(source)}) AS d"
    return f"SELECT r.name AS g, {asked} FROM {source} GROUP BY g" if grouped else f"SELECT {asked} FROM {source}"


def _first_unit(source: str) -> str:
    """The unit's column: that of the private table that is first, or is kept."""
    if source.startswith(("p ", "r JOIN p")) or "RIGHT JOIN p" in source:
        return "p.id"
    return "v.u"


# --- nested loops ---------------------------------------------------------------------------------------------------


def there(value: Value) -> bool:
    return value is not None and not (isinstance(value, float) and isnan(value))


def equal(one: Value, two: Value) -> bool:
    return there(one) and there(two) and one == two


def matches(join: Join, row: Row, other: Row) -> bool:
    pairs = [(evaluate(a, row), evaluate(b, other)) for a, b in join.pairs]
    pairs += [] if join.unit is None else [(row[join.unit[0]], other[join.unit[1]])]
    where = join.where is None or evaluate(join.where, other) is True
    return where and all(equal(one, two) for one, two in pairs)


def joined_rows(plan: Plan, data: Tables) -> list[dict[str, Value]]:
    """The rows of a plan's joins, by nested loops."""
    found = [dict(row) for row in data[plan.table.name]]
    for join in plan.joins:
        others = [{name: row[raw] for name, raw in join.columns} for row in data[join.table]]
        below: list[dict[str, Value]] = []
        for row in found:
            fits = [other for other in others if matches(join, row, other)]
            empty = dict.fromkeys(name for name, _ in join.columns)
            below += [{**row, **other} for other in fits or ([empty] if join.kind == "left" else [])]
        found = below
    return found


QUICK = settings(deadline=None, max_examples=drawn(12), suppress_health_check=list(HealthCheck))
SOME = st.lists(st.sampled_from(SOURCES), min_size=1, max_size=4, unique=True)


@QUICK
@given(tables(), SOME)
def test_joins_are_what_nested_loops_give(data: Tables, sources: list[str]) -> None:
    with opened(data) as engine:
        known = policies(engine)
        for source in sources:
            plan = parse(question(source), known)
            rows = joined_rows(plan, data)
            assert engine.measure_with(plan, SECRET) == added_up(plan, cells(plan, rows)), source


# --- plain SQL ------------------------------------------------------------------------------------------------------


def without_hostile(data: Tables) -> dict[str, list[dict[str, Value]]]:
    """Return the rows that name a unit, without NaN and infinity, which plain SQL compares differently."""
    return {
        name: [{key: tame(value) for key, value in row.items()} for row in rows if row.get(UNITS.get(name, ""), 1)]
        for name, rows in data.items()
    }


def tame(value: Value) -> Value:
    return 0.25 if isinstance(value, float) and not isfinite(value) else value


@QUICK
@given(tables(), SOME)
def test_joins_are_what_plain_sql_gives(data: Tables, sources: list[str]) -> None:
    data = without_hostile(data)
    plain = duckdb.connect()
    for name, rows in data.items():
        plain.register(name, arrow(name, rows))
    with opened(data) as engine:
        known = policies(engine)
        for source in sources:
            sql = f"SELECT r.name AS g, count(*) AS a FROM {source} GROUP BY g"
            plan = parse(sql, known)
            (counts,) = engine.measure_with(plan, SECRET)
            fine = plan.bundles[0].measures[0].fraction_bits
            asked = sql.replace("CAST(v.k AS INTEGER)", "TRY_CAST(v.k AS INTEGER)")
            want = dict(plain.execute(asked).fetchall())
            found = dict(zip(plan.keys[0].listed, (count >> fine for count in counts), strict=True))
            assert {key: count for key, count in found.items() if count} == want, source


# --- the work of one row --------------------------------------------------------------------------------------------

PUBLIC = [source for source in SOURCES if not re.search(r"\bp\b", source)]


@QUICK
@given(tables(), rows_of("v", 1, 7))
def test_one_row_becomes_at_most_as_many_rows_as_the_plan_says(data: Tables, private: list[Row]) -> None:
    with opened(data) as engine:
        known = policies(engine)
        for source in PUBLIC:
            plan = parse(question(source), known)
            found = [len(joined_rows(plan, {**data, "v": [row]})) for row in private]
            assert max(found) <= row_work(plan).rows, source


def test_the_bound_on_joined_rows_is_reached_and_a_smaller_one_would_be_found_wrong() -> None:
    one: Row = {"u": 1, "k": "a", "x": 1.0, "n": 1}
    data: Tables = {"v": [one], "p": [], "r": MANY, "c": [{"name": name, "rich": "no"} for name in "AAB"]}
    with opened(data) as engine:
        plan = parse(question("v JOIN r ON v.k = r.k JOIN c ON r.name = c.name"), policies(engine))
        assert row_work(plan).rows == 60 * 2
        assert len(joined_rows(plan, data)) == 20 * 2 + 20
        alike = {**data, "c": [{"name": "A", "rich": "no"}] * 2, "r": MANY[:20]}
        assert len(joined_rows(plan, alike)) == 40
    with opened(alike) as engine:
        assert row_work(parse(plan.sql, policies(engine))).rows == 40


# --- neighbours -----------------------------------------------------------------------------------------------------


def without(data: Tables, unit: Value) -> dict[str, Sequence[Row]]:
    """All tables without one unit."""
    return {
        "v": [row for row in data["v"] if row["u"] != unit],
        "p": [row for row in data["p"] if row["id"] != unit],
        **{name: data[name] for name in ("r", "c")},
    }


def changed(data: Tables, unit: int, other: Tables) -> dict[str, Sequence[Row]]:
    """All tables with other rows for one unit."""
    kept = without(data, unit)
    more_v = [{**row, "u": unit} for row in other["v"]]
    more_p = [{**row, "id": unit} for row in other["p"]]
    return {**kept, "v": [*kept["v"], *more_v], "p": [*kept["p"], *more_p]}


def moves(plan: Plan, one: DuckDBEngine, two: DuckDBEngine) -> list[str]:
    return oversteps(plan, one.measure_with(plan, SECRET), two.measure_with(plan, SECRET))


@QUICK
@given(tables(), tables(), SOME, st.integers(1, 3), st.sampled_from(["add/remove", "change one"]))
def test_no_unit_moves_a_join_further_than_is_claimed(
    data: Tables, other: Tables, sources: list[str], unit: int, neighbours: Literal["add/remove", "change one"]
) -> None:
    after = without(data, unit) if neighbours == "add/remove" else changed(data, unit, other)
    with opened(data) as one, opened(after) as two:
        known = policies(one, groups=2, rows=2, neighbours=neighbours)
        for source in sources:
            for grouped in (True, False):
                assert moves(parse(question(source, grouped=grouped), known), one, two) == [], source


@settings(QUICK, max_examples=10)
@given(tables(), SOME)
def test_rows_without_a_unit_are_in_no_join(data: Tables, sources: list[str]) -> None:
    with opened(data) as one, opened(without(data, None)) as two:
        known = policies(one, groups=2, rows=2)
        for source in sources:
            plan = parse(question(source), known)
            assert one.measure_with(plan, SECRET) == two.measure_with(plan, SECRET), source


MANY: list[dict[str, Value]] = [{"k": "a", "name": name, "z": 1, "w": 1.0} for name in "ABC" for _ in range(20)]


def test_a_join_that_multiplies_rows_does_not_multiply_the_reach() -> None:
    rows: list[dict[str, Value]] = [{"u": unit, "k": "a", "x": 1.0, "n": 4} for unit in (1, 2) for _ in range(5)]
    data: Tables = {"v": rows, "p": [], "r": MANY, "c": [{"name": "A", "rich": "yes"}]}
    with opened(data) as one, opened(without(data, 1)) as two:
        known = policies(one, groups=2, rows=3)
        plan = parse("SELECT r.name, count(*) AS a, sum(v.n) AS b FROM v JOIN r USING (k) GROUP BY 1", known)
        assert moves(plan, one, two) == []
        short = replace(plan, table=replace(plan.table, max_groups=1))
        assert oversteps(short, one.measure_with(plan, SECRET), two.measure_with(plan, SECRET))


def test_a_join_of_private_tables_on_another_column_would_be_found() -> None:
    """The parser refuses it; a plan that does it all the same oversteps."""
    data: Tables = {
        "v": [{"u": unit, "k": "a", "x": 1.0, "n": 1} for unit in (1, 2, 3)],
        "p": [{"id": unit, "k": "a", "y": 1} for unit in (1, 2, 3)],
        "r": MANY[:1],
        "c": [{"name": "A", "rich": "yes"}],
    }
    with opened(data) as one, opened(without(data, 1)) as two:
        plan = parse("SELECT count(*) AS a FROM v JOIN p ON v.u = p.id", policies(one, groups=1, rows=1))
        assert moves(plan, one, two) == []
        other = ((Column("n", "integer"), Column("p.id", "integer")),)
        wrong = replace(plan, joins=(replace(plan.joins[0], unit=None, pairs=other),))
        assert moves(wrong, one, two) != []


# --- units are compared exactly -------------------------------------------------------------------------------------

CLOSE = [Decimal("10000000000000000.01"), Decimal("10000000000000000.02"), Decimal("10000000000000000.03")]


def decimal_tables(*, without_one: bool = False) -> DuckDBEngine:
    kind = pa.decimal128(30, 2)
    ids = CLOSE[:1]
    ages = CLOSE[1:] if not without_one else CLOSE[2:]
    return open_duckdb_tables(
        {
            "a": Source(source=pa.table({"u": pa.array(ids, kind)})),
            "b": Source(source=pa.table({"u": pa.array(ages, kind), "y": [1.0] * len(ages)})),
        },
        EngineSettings(threads=1),
    )


def decimal_plan() -> Plan:
    known = {
        "a": table_policy("a", {"u": "real"}, unit="u", max_groups=1, max_rows=9),
        "b": table_policy("b", {"u": "real", "y": "real"}, unit="u", max_groups=1, max_rows=9, bounds={"y": (0, 1)}),
    }
    return parse("SELECT count(*) AS n FROM a JOIN b ON a.u = b.u", known)


def test_units_that_differ_in_a_far_digit_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    one = decimal_tables()
    assert float(CLOSE[0]) == float(CLOSE[1])
    assert one.measure_with(decimal_plan(), SECRET) == [[0]]

    def rounded(first: tuple[SQL, str], second: tuple[SQL, str], _: Kind) -> tuple[SQL, SQL]:
        return cast(first[0], "DOUBLE"), cast(second[0], "DOUBLE")

    monkeypatch.setattr(DUCKDB, "comparable_units", rounded)
    (with_all,), (with_less,) = (
        engine.measure_with(decimal_plan(), SECRET) for engine in (one, decimal_tables(without_one=True))
    )
    assert with_all != with_less  # one unit's row was in the rows of another


UNIT_TYPES = [
    (pa.int64(), pa.int32(), [1, 2, 3], [2, 3, 4], 2),
    (pa.uint64(), pa.int64(), [2**63, 1], [-1, 1], 1),
    (pa.float32(), pa.float64(), [0.5, nan], [0.5, nan, 0.1], 1),
    (pa.float32(), pa.float64(), [0.1], [0.1], 0),
    (pa.string(), pa.dictionary(pa.int32(), pa.string()), ["a", "A", None], ["a", "b", None], 1),
    (pa.string(), pa.string(), ["a", "A ", "é"], ["A", "e\u0301", "é"], 1),
]


@pytest.mark.parametrize(("one", "two", "left", "right", "want"), UNIT_TYPES)
def test_units_of_types_that_fit_are_compared(
    one: pa.DataType, two: pa.DataType, left: list[Value], right: list[Value], want: int
) -> None:
    engine = open_duckdb_tables(
        {
            "a": Source(source=pa.table({"u": pa.array(left, one)})),
            "b": Source(source=pa.table({"u": pa.array(right, two)})),
        }
    )
    known = {name: table_policy(name, engine.schema(name), unit="u", max_groups=1, max_rows=9) for name in "ab"}
    plan = parse("SELECT count(*) AS n FROM a JOIN b USING (u)", known)
    assert engine.measure_with(plan, SECRET) == [[want]]


@pytest.mark.parametrize(
    ("one", "two"),
    [(pa.decimal128(20, 2), pa.float64()), (pa.decimal128(20, 2), pa.decimal128(20, 4)), (pa.int64(), pa.float64())],
)
def test_units_of_types_that_do_not_fit_are_refused(one: pa.DataType, two: pa.DataType) -> None:
    engine = open_duckdb_tables(
        {"a": Source(source=pa.table({"u": pa.array([], one)})), "b": Source(source=pa.table({"u": pa.array([], two)}))}
    )
    known = {name: table_policy(name, {"u": "real"}, unit="u", max_groups=1, max_rows=9) for name in "ab"}
    plan = parse("SELECT count(*) AS n FROM a JOIN b USING (u)", known)
    with pytest.raises(tc.InvalidError, match="cannot be compared exactly"):
        engine.check(plan)


# --- each row a unit ------------------------------------------------------------------------------------------------


def test_where_each_row_is_a_unit_a_row_stays_one_row() -> None:
    rows: list[dict[str, Value]] = [{"u": None, "k": key, "x": 1.0, "n": 1} for key in ("a", "a", "é", None, "1")]
    public: list[dict[str, Value]] = [{"k": key, "name": "A", "z": 1, "w": 1.0} for key in ("a", "é", "zz", None, None)]
    data: Tables = {"v": rows, "p": [], "r": public, "c": [{"name": "A", "rich": "yes"}]}
    with opened(data) as engine:
        known = {**policies(engine), "v": table_policy("v", SHAPES["v"], unit=ROW)}
        for source, want in (("v JOIN r USING (k)", 3), ("v LEFT JOIN r USING (k)", 5)):
            assert engine.measure_with(parse(f"SELECT count(*) AS n FROM {source}", known), SECRET) == [[want]]
        with pytest.raises(tc.RefusedError, match="into several"):
            parse("SELECT count(*) AS n FROM v JOIN r ON v.n = r.z", known)
