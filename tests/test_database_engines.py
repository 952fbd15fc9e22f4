"""A session on PostgreSQL and on Spark: answers, trouble in the middle of a question, and what is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from contract.tables import Row
from postgres_server import PASSWORD, Database, database
from spark_session import spark
from tacit.charging import SOURCE_FAILED
from tacit.database import Database as Session
from tacit.engines.postgres.engine import NOT_READY, PostgresEngine
from tacit.errors import SourceError
from tacit.query.expressions import Kind
from tacit.query.results.release import Release

KINDS: dict[str, Kind] = {"u": "integer", "g": "text", "x": "real"}
ROWS: list[Row] = [{"u": i % 50, "g": "ab"[i % 2], "x": float(i % 7)} for i in range(400)]
ASKED = "SELECT g, count(*) AS n, sum(x) AS s, median(x) AS m FROM visits GROUP BY g"
POLICY = """
[tables.visits]
source = "{source}"
{table}unit = "u"
max_groups = 2
max_rows = 9

[tables.visits.columns.g]
keys = ["a", "b"]

[tables.visits.columns.x]
bounds = [0, 6]

[budget]
epsilon = 100
"""


def opened(source: object, **more: Any) -> Session:  # noqa: ANN401 - passed on
    return tc.open(
        source,
        name="visits",
        unit="u",
        max_groups=2,
        max_rows=9,
        bounds={"x": (0, 6)},
        keys={"g": ["a", "b"]},
        budget=tc.PureDP(epsilon=100),
        **more,
    )


def right(answer: Release) -> bool:
    """Return whether an answer at a large ε is near the truth, 200 rows a group; false with probability below 1e-13."""
    return all(isinstance(n, int) and abs(n - 200) < 40 for _, n, *_ in answer.rows())


@pytest.fixture(scope="module")
def place() -> Iterator[Database]:
    with database() as made:
        yield made


@pytest.fixture
def visits(place: Database) -> Database:
    place.fill("visits", KINDS, ROWS)
    return place


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


def test_postgresql_answers_as_all_engines_do(visits: Database) -> None:
    with opened(visits.reader, table="visits") as db:
        assert right(db.sql(ASKED, epsilon=50))
        assert db.count(by=["g"], epsilon=1).rows()
        assert db.spent == tc.PureDP(epsilon=51)


def test_a_policy_file_names_a_table_of_postgresql_by_a_variable(
    visits: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINIC_URL", visits.reader)
    policy = tmp_path / "clinic.toml"
    policy.write_text(POLICY.format(source="${CLINIC_URL}", table='table = "visits"\n'))
    with tc.open(policy) as db:
        answer = db.sql(ASKED, epsilon=50)
    assert right(answer)
    assert PASSWORD not in str(answer.receipt) + repr(answer) + str(db)


def test_spark_answers_as_all_engines_do(parquet: Path, tmp_path: Path) -> None:
    with opened(spark().read.parquet(str(parquet))) as db:
        assert right(db.sql(ASKED, epsilon=50))
    policy = tmp_path / "clinic.toml"
    policy.write_text(POLICY.format(source=f"spark:{parquet}", table=""))
    with tc.open(policy) as db:
        assert right(db.sql(ASKED, epsilon=50))


def trouble(db: Session) -> None:
    """Run a query that fails: the charge stands, the text is constant, and no text of the engine is in the error."""
    left, start = db.left, monotonic()
    assert isinstance(left, tc.PureDP)
    with pytest.raises(SourceError) as caught:
        db.sql(ASKED, epsilon=1)
    assert caught.value.message == SOURCE_FAILED
    assert not caught.value.unspent
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert db.left == tc.PureDP(epsilon=left.epsilon - 1)
    assert monotonic() - start < 60


def backends(place: Database) -> list[tuple[int, str]]:
    found = place.run("SELECT pid, state FROM pg_stat_activity WHERE usename = %s", [place.role])
    return [(int(pid), str(state)) for pid, state in found]


def test_a_backend_that_is_killed_in_the_middle_costs_one_question(visits: Database) -> None:
    over = Event()

    def kill() -> None:
        while not over.wait(0.05):  # as soon as it waits
            visits.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE usename = %s AND wait_event_type = 'Lock'",
                [visits.role],
            )

    with opened(visits.reader, table="visits") as db:
        with psycopg.connect(visits.admin) as other:
            other.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
            killer = Thread(target=kill)
            killer.start()
            try:
                trouble(db)
            finally:
                over.set()
                killer.join()
        assert right(db.sql(ASKED, epsilon=50))
        assert {state for _, state in backends(visits)} <= {"idle"}


def test_a_table_that_is_altered_or_gone_costs_nothing(visits: Database) -> None:
    with opened(visits.reader, table="visits") as db:
        for change, said in (
            ("ALTER TABLE visits ALTER COLUMN x TYPE text", NOT_READY),
            ("DROP TABLE visits", "The database has no table that this role may read"),
        ):
            visits.run(change)
            for _ in range(2):
                with pytest.raises(SourceError) as caught:
                    db.sql(ASKED, epsilon=1)
                assert str(caught.value).startswith(said)
            assert db.plan(ASKED, epsilon=1).cost == tc.PureDP(epsilon=1)
        assert db.spent == tc.PureDP(epsilon=0)
        visits.fill("visits", KINDS, ROWS)
        assert right(db.sql(ASKED, epsilon=50))
        temporary = visits.run("SELECT count(*) FROM pg_class WHERE relpersistence = 't'")
        assert temporary == [(0,)]


def test_a_table_that_is_altered_after_it_was_looked_at_costs_one_question(
    visits: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = PostgresEngine.ready

    def ready(engine: PostgresEngine) -> None:
        look(engine)
        visits.run("ALTER TABLE visits ALTER COLUMN x TYPE text")

    monkeypatch.setattr(PostgresEngine, "ready", ready)
    with opened(visits.reader, table="visits") as db:
        trouble(db)


def test_an_answer_is_repeated_when_its_table_is_gone(visits: Database) -> None:
    with opened(visits.reader, table="visits", data_version="2026") as db:
        first = db.sql(ASKED, epsilon=1)
        visits.run("DROP TABLE visits")
        assert db.sql(ASKED, epsilon=1).rows() == first.rows()
        assert db.spent == tc.PureDP(epsilon=1)


def test_files_that_are_gone_cost_one_question_on_spark(parquet: Path) -> None:
    views = set(spark().catalog.listTables())
    with opened(f"spark:{parquet}") as db:
        kept = parquet.read_bytes()
        parquet.unlink()
        trouble(db)
        parquet.write_bytes(kept)
        assert right(db.sql(ASKED, epsilon=50))
    assert set(spark().catalog.listTables()) == views
