"""Joins in PostgreSQL are what nested loops give, and what DuckDB gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from contract.plans import added_up, cells
from contract.test_joins import QUICK, SECRET, SHAPES, SOME, Tables, joined_rows, policies, question, tables
from postgres_server import Database, database
from tacit.engines.postgres.engine import open_postgres_tables
from tacit.engines.source import Source
from tacit.query.sql.parse import parse


@pytest.fixture(scope="module")
def clinic() -> Iterator[Database]:
    with database() as made:
        yield made


def sources(clinic: Database) -> dict[str, Source]:
    return {name: Source(source=clinic.reader, table=name, public=name in ("r", "c")) for name in SHAPES}


@QUICK
@given(tables(), SOME)
def test_joins_are_what_nested_loops_give(clinic: Database, data: Tables, asked: list[str]) -> None:
    for name, kinds in SHAPES.items():
        clinic.fill(name, kinds, data[name])
    engine = open_postgres_tables(sources(clinic))
    known = policies(engine)
    for source in asked:
        plan = parse(question(source), known)
        rows = joined_rows(plan, data)
        assert engine.measure_with(plan, SECRET) == added_up(plan, cells(plan, rows)), source
    engine.close()


def test_units_of_other_types_are_joined_without_loss(clinic: Database) -> None:
    """A NUMERIC beyond 2^53 that went through a double would meet another unit."""
    rows = {name: [dict.fromkeys(kinds)] for name, kinds in SHAPES.items()}
    rows["v"] = [{"u": 2**53 + more, "k": "a", "x": 0.0, "n": 1} for more in (0, 2)]
    rows["r"] = [{"k": "a", "name": "A", "z": 1, "w": 0.0}]
    for name, kinds in SHAPES.items():
        clinic.fill(name, kinds, rows[name])
    clinic.run("ALTER TABLE p ALTER id TYPE numeric")
    clinic.run("INSERT INTO p (id, y) VALUES (9007199254740993, 1), (9007199254740994, 1)")
    engine = open_postgres_tables(sources(clinic))
    plan = parse("SELECT count(*) AS a FROM v JOIN p ON v.u = p.id JOIN r ON p.y = r.z", policies(engine))
    ((found,),) = engine.measure(plan)
    assert found >> plan.bundles[0].measures[0].fraction_bits == 1
    engine.close()
