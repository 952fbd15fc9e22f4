"""Whole questions on PostgreSQL: the exact integers are those of brute force, and of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.homes import arrow
from contract.plans import NAME, A, X, added_up, call, cells, is_unit, key, plan, plans, table
from contract.tables import KINDS, UNITS, Row, rows
from postgres_server import Database, database
from tacit.engines.duckdb.engine import open_duckdb
from tacit.engines.postgres import engine as postgres
from tacit.engines.postgres.engine import PostgresEngine, open_postgres
from tacit.engines.sql.engine import StatementEngine
from tacit.errors import InvalidError
from tacit.query.expressions import Case, Constant, Value
from tacit.query.plan import Bundle, Measure, Plan

COUNT, UNITS_HERE = Measure(value=None), Measure(value=None, per="unit")
MANY = 10**9
DISTINCT = st.sampled_from([NAME, A, X]).map(lambda value: Measure(value=value, per="value"))


@pytest.fixture(scope="module")
def clinic() -> Iterator[Database]:
    with database() as made:
        made.fill("t", KINDS, [])
        made.run(f"GRANT SELECT ON t TO {made.role}")
        yield made


@pytest.fixture(scope="module")
def engine(clinic: Database) -> Iterator[PostgresEngine]:
    opened = open_postgres(clinic.reader)
    yield opened
    opened.close()


def refill(clinic: Database, data: list[Row]) -> None:
    """Put other rows in the table, which stays the same one."""
    columns = ", ".join(KINDS)
    values = ", ".join(f"({', '.join(['%s'] * len(KINDS))})" for _ in data)
    clinic.run("TRUNCATE t")
    if data:
        clinic.run(f"INSERT INTO t ({columns}) VALUES {values}", [row[name] for row in data for name in KINDS])  # noqa: S608


def in_duckdb(data: list[Row]) -> StatementEngine:
    return open_duckdb(arrow(KINDS, data), threads=1)


@settings(deadline=None, max_examples=24)
@given(plans(groups=MANY), rows())
def test_the_integers_are_those_of_brute_force_and_of_duckdb(
    clinic: Database, engine: PostgresEngine, asked: Plan, data: list[Row]
) -> None:
    refill(clinic, data)
    found = engine.measure(asked)
    assert found == added_up(asked, cells(asked, data))
    assert all(type(integer) is int for integers in found for integer in integers)
    other = in_duckdb(data)
    assert other.measure(asked) == found
    other.close()


@settings(deadline=None, max_examples=16)
@given(plans(unit=None), rows())
def test_rows_that_are_their_own_units_add_up(
    clinic: Database, engine: PostgresEngine, asked: Plan, data: list[Row]
) -> None:
    refill(clinic, data)
    assert engine.measure(asked) == added_up(asked, cells(asked, data))


@settings(deadline=None, max_examples=16)
@given(plans(), rows(40), st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)))
def test_each_unit_keeps_max_groups_cells_in_all_statements_of_a_plan(
    clinic: Database, engine: PostgresEngine, asked: Plan, data: list[Row], secret: tuple[int, int]
) -> None:
    refill(clinic, data)
    units = [unit for unit in UNITS if unit is not None]
    marks = Bundle(measures=tuple(map(is_unit, units)), contribution=len(units), nonnegative=True)
    both = Plan(
        sql="",
        table=asked.table,
        where=asked.where,
        keys=asked.keys,
        bundles=(*asked.bundles, marks),
        aggregates=(),
        outputs=(),
    )
    found = engine.measure_with(both, secret)
    marked: dict[Value, list[int]] = dict(zip(units, found[-len(units) :], strict=True))
    there = cells(asked, data)
    kept = {unit: {number: some for number, some in own.items() if marked[unit][number]} for unit, own in there.items()}
    for unit, own in kept.items():
        assert len(own) == min(asked.groups, len(there[unit]))
    assert found[: -len(units)] == added_up(asked, kept)


@settings(deadline=None, max_examples=12)
@given(plans(groups=MANY), rows(), DISTINCT)
def test_different_values_are_counted_as_in_duckdb(
    clinic: Database, engine: PostgresEngine, asked: Plan, data: list[Row], counted: Measure
) -> None:
    refill(clinic, data)
    question = plan(table(groups=MANY, rows=MANY), counted, keys=asked.keys, where=asked.where)
    other = in_duckdb(data)
    assert engine.measure(question) == other.measure(question)
    other.close()


def test_the_choice_is_fair(clinic: Database, engine: PostgresEngine) -> None:
    """Check that each of 4,000 units with the same 20 cells keeps 5, and that cells are kept equally often.

    The number of units that keep a cell is binomial (4000, 1/4) if choices are independent: mean 1000, standard
    deviation 27.4. Beyond 8 of them in either direction, for any of 20 cells, has probability below 20·2·1e-14.
    A choice that is the same rotation for all units, as that of an unmixed sum of hashes, is beyond for most keys.
    """
    clinic.run("TRUNCATE t")
    clinic.run("INSERT INTO t (u, a) SELECT u, a FROM generate_series(1, 4000) AS u, generate_series(0, 19) AS a")
    asked = plan(table(groups=5), UNITS_HERE, keys=[key(A, *range(20))])
    found = engine.measure(asked)[0]
    assert sum(found) == 20_000
    assert max(abs(units - 1000) for units in found) < 8 * 27.4


def test_many_measures_are_answered_in_several_statements_that_agree(clinic: Database, engine: PostgresEngine) -> None:
    clinic.run("TRUNCATE t")
    clinic.run(
        "INSERT INTO t (u, a, name) SELECT u, 5, n FROM generate_series(1, 50) AS u, unnest(ARRAY['a', 'b']) AS n"
    )
    below = [Case(((call("less", "boolean", A, Constant(i, "integer")), A),), None, "integer") for i in range(450)]
    asked = [Measure(value=value, low=0, high=9) for value in below]
    one = plan(table(groups=1), UNITS_HERE, *asked, UNITS_HERE, keys=[key(NAME, "a", "b")])
    with pytest.raises(InvalidError, match="too many parts"):
        engine.check(one)  # a bundle is never cut
    few = (UNITS_HERE, *asked[:220], UNITS_HERE)
    many = replace(one, bundles=tuple(Bundle(measures=(each,), contribution=9, nonnegative=False) for each in few))
    found = engine.measure(many)
    assert len(engine._prepared(many, engine._statements)) > 1
    assert sum(found[0]) == 50
    assert found == [found[0], *([5 * units for units in found[0]] if i > 5 else [0, 0] for i in range(220)), found[0]]


@pytest.mark.parametrize(("parts", "most"), [(90, 160), pytest.param(900, 1600, marks=pytest.mark.long)])
def test_a_question_of_too_many_parts_is_refused_before_it_is_asked(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch, parts: int, most: int
) -> None:
    """A short run has a tenth of the parts, and of the columns that a statement may have."""
    assert postgres._MOST_COLUMNS == 1600
    monkeypatch.setattr(postgres, "_MOST_COLUMNS", most)
    reals = [call("divide", "real", X, Constant(1.0 + i, "real")) for i in range(parts)]
    value = call("greatest", "real", *(call("divide", "real", one, X) for one in reals))
    with pytest.raises(InvalidError, match="too many parts"):
        engine.check(plan(table(), Measure(value=value, low=0, high=3)))
