"""`db.plan` and every refusal read nothing: after opening, whatever is asked of DuckDB raises, and is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from query.test_refusals import REFUSED
from tacit.charging import SOURCE_FAILED
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.query.expressions import Value

TABLE = pa.table(
    {
        "person_id": pa.array([1, 1, 2], pa.int64()),
        "region": ["north", "south", "north"],
        "income": [1.0, 2.0, 3.0],
        "age": pa.array([20, 30, 40], pa.int64()),
        "visits": pa.array([1, 2, 3], pa.int64()),
        "score": [0.5, 0.25, 0.125],
        "urban": [True, False, None],
        "note": ["a", "b", "c"],
        "day": pa.array([0, 1, 2], pa.date32()),
        "at": pa.array([0, 1, 2], pa.timestamp("us")),
        "name": ["x", "y", "z"],
    }
)
COUNT = "SELECT count(*) AS n FROM survey"

ANSWERED = [
    COUNT,
    "SELECT count(note), count(DISTINCT person_id), sum(age), avg(income) FROM survey",
    "SELECT region, avg(income) AS income FROM survey GROUP BY region",
    "SELECT region, urban, count(*) AS n FROM survey GROUP BY 1, 2",
    "SELECT floor(age / 10) * 10 AS bin, count(*) AS n FROM survey GROUP BY bin HAVING n > 5 ORDER BY n DESC LIMIT 3",
    "SELECT age, count(*) FROM survey WHERE person_id <> 7 AND day > '2020-01-01' GROUP BY age",
    "SELECT CASE WHEN income > 10 THEN 'rich' ELSE 'poor' END AS c, sum(clamp(score, 0, 1)) FROM survey GROUP BY c",
    "WITH c AS (SELECT *, age * 2 AS twice FROM survey WHERE urban) SELECT sum(twice) / count(*) FROM c",
    "SELECT month(day), year(at) % 4 AS y, count(*) FROM (SELECT day, at FROM survey) GROUP BY 1, 2",
    "SELECT sum(CAST(urban AS INTEGER)), sum(clamp(length(note), 0, 20)) FROM survey WHERE note LIKE 'a%'",
]


@dataclass
class Watched:
    """Replaces a DuckDB connection: records each access, and raises."""

    seen: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> object:
        self.seen.append(name)
        raise AssertionError(f"{name} was asked of the data")


def opened(source: object, ledger: Path | None = None) -> Database:
    return tc.open(
        source,
        name="survey",
        unit="person_id",
        max_groups=3,
        max_rows=5,
        bounds={"income": (0, 200_000), "age": (0, 120)},
        keys={"region": ["north", "south"]},
        hidden=["name"],
        budget=tc.ApproxDP(epsilon=1, delta=1e-6),
        ledger=ledger,
    )


def engine_of(db: Database) -> DuckDBEngine:
    return cast("DuckDBEngine", db._tables["survey"][1])


def watch(db: Database) -> tuple[Watched, duckdb.DuckDBPyConnection]:
    """Take the connection from an open database; what is done without it cannot have read anything."""
    engine, watched = engine_of(db), Watched()
    connection, engine._connection = engine._connection, cast("duckdb.DuckDBPyConnection", watched)
    return watched, connection


@pytest.fixture(scope="module")
def watched() -> Iterator[tuple[Database, Watched]]:
    """One database for all tests; no test may access it."""
    db = opened(TABLE)
    seen, connection = watch(db)
    yield db, seen
    connection.close()


@pytest.fixture
def fresh() -> Iterator[tuple[Database, Watched]]:
    db = opened(TABLE)
    seen, connection = watch(db)
    yield db, seen
    connection.close()


def untouched(db: Database, seen: Watched) -> bool:
    return seen.seen == [] and not db.ledger.entries() and db.spent == tc.ApproxDP(epsilon=0, delta=0)


@pytest.mark.parametrize("sql", ANSWERED)
@pytest.mark.parametrize("delta", [None, 1e-7])
def test_a_plan_reads_nothing(watched: tuple[Database, Watched], sql: str, delta: float | None) -> None:
    db, seen = watched
    planned = db.plan(sql, epsilon=0.5, delta=delta, assume=100)
    assert planned.cost.epsilon == 0.5
    assert all(error >= 0 for error in planned.error.values())
    assert str(planned)
    assert untouched(db, seen)


def test_a_plan_with_keys_of_the_askers_own_reads_nothing(watched: tuple[Database, Watched]) -> None:
    db, seen = watched
    db.plan("SELECT note, count(*) FROM survey GROUP BY note", epsilon=0.5, keys={"note": ["a", None]})
    assert untouched(db, seen)


COMPUTATIONS = [
    sql
    for sql, _ in REFUSED
    if (
        sql.startswith("SELECT count(*) FROM survey ")
        and any(
            word in sql
            for word in (
                *("QUALIFY row_number", "UNION", "INTERSECT", "EXCEPT"),
                *("current_date", "now()"),  # constants of the query, from the clock of the session
            )
        )
    )
    or (
        sql.startswith("SELECT region, count(*) FROM survey GROUP BY ")
        and any(word in sql for word in ("ROLLUP (", "CUBE (", "GROUPING SETS"))
    )
    or sql
    in (
        "SELECT sum(n) FROM (SELECT count(*) AS n FROM survey GROUP BY region)",
        "SELECT avg(v) FROM (SELECT region, count(*) AS v FROM survey GROUP BY region)",
        "WITH c AS (SELECT sum(income) AS s FROM survey) SELECT count(*) FROM c",
        "WITH c AS (SELECT median(income) AS s FROM survey) SELECT count(*) FROM c",
    )
]
"""Queries that no single plan answers, but that are split into private aggregates and a computation with them."""


@pytest.mark.parametrize("sql", COMPUTATIONS)
def test_a_plan_of_a_computation_reads_nothing(watched: tuple[Database, Watched], sql: str) -> None:
    db, seen = watched
    assert str(db.plan(sql, epsilon=0.5))
    assert untouched(db, seen)


@pytest.mark.parametrize("sql", [sql for sql, _ in REFUSED if sql not in COMPUTATIONS])
def test_a_refusal_reads_nothing(watched: tuple[Database, Watched], sql: str) -> None:
    db, seen = watched
    for ask in (db.plan, db.sql):
        with pytest.raises(tc.TacitError) as refusal:
            ask(sql, epsilon=0.5)
        assert not isinstance(refusal.value, tc.SourceError)
    assert untouched(db, seen)


Ask = Callable[[Database], object]
MISTAKES: dict[str, Ask] = {
    "more than the budget": lambda db: db.sql(COUNT, epsilon=1.5),
    "more δ than the budget": lambda db: db.sql("SELECT age, count(*) FROM survey GROUP BY age", epsilon=1, delta=1e-3),
    "no ε": lambda db: db.sql(COUNT),
    "ε of 0": lambda db: db.sql(COUNT, epsilon=0),
    "ε and ρ": lambda db: db.sql(COUNT, epsilon=0.5, rho=0.5),
    "δ of 2": lambda db: db.sql(COUNT, epsilon=0.5, delta=2),
    "too much noise": lambda db: db.sql("SELECT sum(income) FROM survey", epsilon=1e-15),
    "a confidence of 2": lambda db: db.sql(COUNT, epsilon=0.5, confidence=2),
    "an assumption of -1": lambda db: db.sql(COUNT, epsilon=0.5, assume=-1),
    "keys of nothing": lambda db: db.sql(COUNT, epsilon=0.5, keys={"note": ["a"]}),
    "an unknown table": lambda db: db.sql("SELECT count(*) FROM other", epsilon=0.5),
    "an unknown column": lambda db: db.sql("SELECT sum(x) FROM survey", epsilon=0.5),
    "no question": lambda db: db.sql("", epsilon=0.5),
    "a sum beyond 64 bits": lambda db: db.sql(
        "SELECT sum(clamp(score, 1e17, 1e17 + 16) * 1e17) FROM survey", epsilon=0.5
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_reads_nothing(watched: tuple[Database, Watched], mistake: str) -> None:
    db, seen = watched
    with pytest.raises(tc.TacitError) as error:
        MISTAKES[mistake](db)
    assert isinstance(error.value, tc.BudgetError) == ("budget" in mistake)
    assert not isinstance(error.value, tc.SourceError)
    assert untouched(db, seen)


@pytest.mark.parametrize("sql", ANSWERED)
def test_but_an_answer_does_read_and_stays_charged(fresh: tuple[Database, Watched], sql: str) -> None:
    db, seen = fresh
    with pytest.raises(tc.SourceError) as failure:
        db.sql(sql, epsilon=0.5)
    assert failure.value.message == SOURCE_FAILED
    assert seen.seen == ["execute"]
    assert [one.outcome for one in db.ledger.entries()] == ["failed"]
    assert db.spent == tc.ApproxDP(epsilon=0.5, delta=0)
    with pytest.raises(tc.BudgetError):
        db.sql(sql, epsilon=0.75)
    assert seen.seen == ["execute"]
    assert len(db.ledger.entries()) == 1


def test_the_same_holds_for_a_durable_ledger_and_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    file, keys = tmp_path / "survey.parquet", {"note": list[Value](["a"])}
    pq.write_table(TABLE, file)
    with opened(file, ledger=tmp_path / "survey.ledger") as db:
        file.write_bytes(b"these are no rows")
        for sql in ANSWERED:
            db.plan(sql, epsilon=0.5)
        db.plan("SELECT note, count(*) FROM survey GROUP BY note", epsilon=0.5, keys=keys)
        for sql in [sql for sql, _ in REFUSED if sql not in COMPUTATIONS][::10]:
            with pytest.raises((tc.RefusedError, tc.InvalidError)):
                db.sql(sql, epsilon=0.5)
        with pytest.raises(tc.BudgetError):
            db.sql(COUNT, epsilon=2)
        assert not db.ledger.entries()
        with pytest.raises(tc.SourceError):
            db.sql(COUNT, epsilon=0.5)
        assert [one.outcome for one in db.ledger.entries()] == ["failed"]
        file.unlink()
        with pytest.raises(tc.SourceError, match=r"does not exist any more.*Nothing was spent\.$"):
            db.sql(COUNT, epsilon=0.5)
        assert len(db.ledger.entries()) == 1
