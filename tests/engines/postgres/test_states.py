"""One question sees one state of the data: partitions that come meanwhile, public tables that change, and odd units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import tacit as tc
from contract.plans import key, plan, table
from postgres_server import Database, database
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.postgres.engine import PostgresEngine, open_postgres, open_postgres_tables, pieces
from tacit.engines.source import Source
from tacit.engines.sql.reading import FAILED
from tacit.engines.sql.runner import ResultRows
from tacit.errors import SourceError
from tacit.query.expressions import Call, Column, Constant, Expression, Kind
from tacit.query.plan import Bundle, Measure, Plan
from tacit.query.sql.parse import parse

SECRET = (1, 2)
KINDS: dict[str, Kind] = {"u": "integer", "g": "integer", "x": "real"}


@pytest.fixture
def clinic() -> Iterator[Database]:
    with database() as made:
        yield made


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something once the first statement over the rows has run."""
    real, done = PostgresEngine._batches, list[bool]()

    def batches(self: PostgresEngine, connection: Any, sql: str, parameters: Any) -> Iterator[ResultRows]:  # noqa: ANN401 - passed on
        yield from real(self, connection, sql, parameters)
        if "WITH" in sql and "RECURSIVE" not in sql and not done:
            done.append(True)
            act()

    monkeypatch.setattr(PostgresEngine, "_batches", batches)


def two_statements() -> Plan:
    different = Measure(value=Column("g", "integer"), per="value")
    return plan(table(unit="u", groups=1, rows=5, kinds=KINDS), Measure(value=None), different)


PARTED = (
    "CREATE TABLE t (u int, g int, x float8) PARTITION BY LIST (g); CREATE TABLE ta PARTITION OF t FOR VALUES IN (1)",
    "ALTER TABLE t ATTACH PARTITION tb FOR VALUES IN (2)",
)
INHERITED = ("CREATE TABLE t (u int, g int, x float8)", "ALTER TABLE tb INHERIT t")


@pytest.mark.parametrize(("made", "joined"), [PARTED, INHERITED], ids=["partition", "child"])
def test_a_part_that_comes_between_two_statements_is_found_out(
    clinic: Database, monkeypatch: pytest.MonkeyPatch, made: str, joined: str
) -> None:
    clinic.run(made)
    clinic.run("CREATE TABLE tb (LIKE t); INSERT INTO tb VALUES (7, 2, 0)")
    clinic.run("INSERT INTO t VALUES (7, 1, 5)")
    clinic.grant("t")
    engine = open_postgres(clinic.reader, table="t")
    assert engine.measure_with(two_statements(), SECRET) == [[1], [1]]
    between(monkeypatch, lambda: clinic.run(joined))
    with pytest.raises(SourceError) as caught:
        engine.measure_with(two_statements(), SECRET)
    assert caught.value.message == FAILED
    engine.ready()
    assert engine.measure_with(two_statements(), SECRET) == [[2], [2]]
    engine.close()


def by_reach(kinds: dict[str, Kind]) -> Plan:
    limits = table(unit="u", groups=None, rows=None, reach=2, kinds=kinds)
    return plan(limits, Measure(value=None, fraction_bits=8), keys=[key(Column("g", "integer"), 1, 2)])


def test_a_table_with_children_is_read_once_in_a_statement(clinic: Database) -> None:
    """Otherwise a child that comes between two lookups of the planner would be in only some reads."""
    clinic.run("CREATE TABLE t (u int, g int, x float8); CREATE TABLE tb (LIKE t); INSERT INTO tb VALUES (7, 2, 0)")
    clinic.run("INSERT INTO t VALUES (7, 1, 5), (7, 1, 5), (8, 1, 5)")
    clinic.grant("t")
    engine = open_postgres(clinic.reader, table="t")
    asked = by_reach(KINDS)
    assert engine.measure(asked) == [[3 << 8, 0]]
    assert statements(engine, asked) == ["ONLY", "NOT MATERIALIZED"]
    clinic.run("ALTER TABLE tb INHERIT t")
    with pytest.raises(SourceError):  # the statement was written for a table without children
        engine.measure(asked)
    engine.ready()
    assert engine.measure(asked) == [[2 * ((2 << 8) // 3) + (1 << 8), (2 << 8) // 3]]
    assert statements(engine, asked) == ["MATERIALIZED"]
    clinic.run("ALTER TABLE tb NO INHERIT t")
    engine.ready()
    assert engine.measure(asked) == [[3 << 8, 0]]
    assert statements(engine, asked) == ["ONLY", "NOT MATERIALIZED"]
    engine.close()


def statements(engine: PostgresEngine, asked: Plan) -> list[str]:
    """Return the words of a plan's statement that say how often it reads its table."""
    ((_, written),) = engine._statements(asked)
    return re.findall(r"(?<=FROM )ONLY|(?<=located AS )(?:NOT )?MATERIALIZED", written.sql)


def test_a_partitioned_table_is_read_again(clinic: Database) -> None:
    clinic.run(PARTED[0])
    clinic.run("CREATE TABLE tb PARTITION OF t FOR VALUES IN (2); INSERT INTO t VALUES (7, 1, 5), (7, 1, 5), (7, 2, 0)")
    clinic.grant("t")
    engine = open_postgres(clinic.reader, table="t")
    assert engine.measure(by_reach(KINDS)) == [[2 * ((2 << 8) // 3), (2 << 8) // 3]]
    assert statements(engine, by_reach(KINDS)) == ["NOT MATERIALIZED"]
    engine.close()


UNITS: dict[str, tuple[Kind, list[str]]] = {
    "float8": ("real", ["0.0", "-0.0", "1", "inf", "NaN"]),
    "float4": ("real", ["0.1", "-0", "0"]),
    "numeric": ("real", ["2", "NaN", *(f"1.{'0' * digits}" for digits in range(1, 9))]),
    "int2": ("integer", ["-1", "0", "1"]),
    "int8": ("integer", ["-9223372036854775808", "9223372036854775807", "5"]),
    "char(3)": ("text", ["a", "a ", "b"]),
    "text": ("text", ["", " ", "é", "E"]),
    "uuid": ("text", ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000A"]),
    "bool": ("boolean", ["t", "f"]),
    "date": ("date", ["2024-02-29", "infinity"]),
    "timestamp": ("timestamp", ["2024-02-29 01:02:03.5", "-infinity"]),
}


@pytest.mark.parametrize("sort", UNITS)
def test_equal_units_are_in_the_same_half(clinic: Database, sort: str) -> None:
    """A unit whose rows were in both halves would count twice its reach, and one in no half nothing of its weight."""
    kind, values = UNITS[sort]
    rows = ", ".join(f"('{value}'::{sort}, {1 + index % 2})" for value in values for index in range(4))
    clinic.run(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) AS v(u, g)")  # noqa: S608 - a table of a test's
    clinic.grant("t")
    engine = open_postgres(clinic.reader, table="t")
    asked = by_reach({"u": kind, "g": "integer"})
    again = engine.measure(asked)
    engine.dialect = POSTGRES
    once = engine.measure(replace(asked))
    assert again == once
    assert sum(again[0]) > 0
    engine.close()


def test_a_bundle_is_never_cut_into_two_statements() -> None:
    def bundle(size: int) -> Bundle:
        return Bundle(measures=(Measure(value=None),) * size, contribution=1, nonnegative=True)

    sizes = [
        [len(one.measures) for one in piece] for piece in pieces([bundle(n) for n in (150, 50, 1, 300, 2, 198, 1)])
    ]
    assert sizes == [[150, 50], [1], [300], [2, 198], [1]]


def test_a_public_table_in_which_a_value_stands_twice_by_now_fails_rows_that_are_units(clinic: Database) -> None:
    clinic.run("CREATE TABLE visits (region text, u int); INSERT INTO visits VALUES ('a', 1), ('b', 2)")
    clinic.run("CREATE TABLE regions (region text, area text); INSERT INTO regions VALUES ('a', 'n'), ('b', 's')")
    clinic.grant("visits", "regions")
    asked = "SELECT count(*) AS n FROM visits JOIN regions ON visits.region = regions.region"
    budget, public = tc.PureDP(epsilon=1000), {"regions": clinic.reader}
    rows = tc.open(clinic.reader, table="visits", unit=tc.ROW, public=public, budget=budget)
    units = tc.open(clinic.reader, table="visits", unit="u", max_groups=1, max_rows=1, public=public, budget=budget)
    for db in (rows, units):
        assert db.sql(asked, epsilon=100).rows() == [(2,)]
    clinic.run("INSERT INTO regions SELECT 'a', 'n' FROM generate_series(1, 1000)")
    with pytest.raises(SourceError):
        rows.sql(asked, epsilon=100)
    assert units.sql(asked, epsilon=100).rows() == [(2,)]  # a unit counts for max_rows, however many match
    clinic.run("DELETE FROM regions; INSERT INTO regions VALUES ('a', 'n'), ('c', 's')")
    assert rows.sql(asked, epsilon=100).rows() == [(1,)]
    for db in (rows, units):
        db.close()


def test_units_that_are_enums_are_compared_as_texts(clinic: Database) -> None:
    clinic.run("CREATE TYPE one AS ENUM ('x', 'y'); CREATE TYPE two AS ENUM ('y', 'x'); CREATE DOMAIN held AS one")
    for name, kind in (("t", "held"), ("s", "one"), ("r", "two")):
        clinic.run(f"CREATE TABLE {name} AS SELECT u::{kind}, g FROM (VALUES ('x', 1), ('y', 2), ('y', 1)) AS v(u, g)")  # noqa: S608 - a table of a test's
    clinic.grant("t", "s", "r")
    kinds: dict[str, Kind] = {"u": "text", "g": "integer"}
    different = Measure(value=Column("g", "integer"), per="value")
    asked = plan(table(unit="u", groups=1, kinds=kinds), different, keys=[key(Column("g", "integer"), 1, 2)])
    opened = open_postgres(clinic.reader, table="t")
    assert sum(opened.measure_with(asked, SECRET)[0]) in {1, 2}
    opened.close()
    engine = open_postgres_tables({name: Source(source=clinic.reader, table=name) for name in ("t", "s", "r")})
    policies = {name: replace(table(kinds=kinds), name=name) for name in ("t", "s", "r")}
    for other in ("s", "r"):
        joined = parse(f"SELECT count(DISTINCT t.u) AS n FROM t JOIN {other} ON t.u = {other}.u", policies)  # noqa: S608
        assert engine.measure_with(joined, SECRET) == [[2]]
    engine.close()


LONG = 2**24  # letters of two bytes each: 32 MB


@pytest.mark.parametrize(
    ("function", "size", "expected"),
    [
        *((function, LONG, 3) for function in ("concat", "replace", "trim")),
        *((function, LONG + 1, 2) for function in ("concat", "replace", "trim", "lower", "upper")),
    ],
)
def test_a_long_text_makes_no_function_fail(clinic: Database, function: str, size: int, expected: int) -> None:
    clinic.run(f"CREATE TABLE t AS SELECT 1 AS u, 'a' AS s UNION SELECT 2, repeat('é', {size}) UNION SELECT 3, 'b'")
    clinic.grant("t")
    text = Column("s", "text")
    more: dict[str, tuple[Expression, ...]] = {
        "concat": (text,) * 15,
        "replace": (Constant("é", "text"), Constant("b" * 16, "text")),
    }
    made = Call(function, (text, *more.get(function, ())), "text")
    there = Measure(value=Call("length", (made,), "integer"), low=1, high=1)
    asked = plan(table(kinds={"u": "integer", "s": "text"}), there)
    engine = open_postgres(clinic.reader, table="t")
    assert engine.measure_with(asked, SECRET) == [[expected]]
    engine.close()


def test_a_row_that_changes_between_two_disjoint_questions_is_in_one_of_them(clinic: Database) -> None:
    """A row moves from one part to the other after the first question: both must see where it was."""
    clinic.run("CREATE TABLE t (u int, x int); INSERT INTO t VALUES (1, 1)")
    clinic.grant("t")
    with tc.open(clinic.reader, table="t", unit=tc.ROW, budget=tc.PureDP(epsilon=1000)) as db:
        plans = [db.plan(f"SELECT count(*) AS n FROM t WHERE x = {x}", epsilon=300) for x in (1, 2)]  # noqa: S608 - a test's own text
        declared = tc.declare(plans)
        assert declared.together.loss == 300
        engine = db._tables["t"][1]
        with engine.one_state():
            first = engine.measure(plans[0].plan)
            clinic.run("UPDATE t SET x = 2")
            assert [first, engine.measure(plans[1].plan)] == [[[1]], [[0]]]
        assert [engine.measure(each.plan) for each in plans] == [[[0]], [[1]]]
        assert [answer.rows() for answer in declared.ask()] == [[(0,)], [(1,)]]


def test_a_declared_plan_whose_state_changed_is_not_answered(clinic: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that comes meanwhile is seen by later statements, so the plan fails, and stays charged."""
    made, joined = PARTED
    clinic.run(made)
    clinic.run("CREATE TABLE tb (LIKE t); INSERT INTO tb VALUES (7, 2, 0); INSERT INTO t VALUES (7, 1, 5)")
    clinic.grant("t")
    with tc.open(clinic.reader, table="t", unit=tc.ROW, budget=tc.PureDP(epsilon=1000)) as db:
        plans = [db.plan(f"SELECT count(*) AS n FROM t WHERE g = {g}", epsilon=300) for g in (1, 2)]  # noqa: S608 - a test's own text
        between(monkeypatch, lambda: clinic.run(joined))
        with pytest.raises(SourceError):
            tc.declare(plans).ask()
        assert [entry.outcome for entry in db.ledger.entries()] == ["failed"]
        assert float(db.ledger.spent.loss) == 300
