"""PostgreSQL under a time limit, with a share of memory and a number of workers."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

import tacit as tc
from postgres_server import Database, database
from tacit.engines.postgres.connection import milliseconds, resources_of
from tacit.engines.postgres.engine import PostgresEngine
from tacit.engines.time_limit import TimeLimit
from tacit.errors import TimeLimitError, UnusedOptionError
from tacit.query.policy.engine_settings import EngineSettings

SLOW = "SELECT avg(clamp(x, 0, 9)) AS m, median(x) AS d, count(DISTINCT x) AS n FROM many"


@pytest.fixture(scope="module")
def clinic() -> Iterator[Database]:
    with database() as made:
        made.run("CREATE TABLE many AS SELECT i AS u, i % 10 AS x FROM generate_series(1, 300000) AS s(i)")
        made.grant("many")
        yield made


def opened(clinic: Database, **settings: Any) -> tc.database.Database:  # noqa: ANN401 - settings of several types
    return tc.open(
        clinic.reader,
        table="many",
        unit="u",
        reach=1,
        bounds={"x": (0, 9)},
        budget=tc.PureDP(epsilon=10**9),
        **settings,
    )


def engine(db: tc.database.Database) -> PostgresEngine:
    found = db._tables["many"][1]
    assert isinstance(found, PostgresEngine)
    return found


def shown(db: tc.database.Database, name: str) -> str:
    with engine(db)._reading() as run:
        return str(run(f"SHOW {name}", {})[0][0])


def test_memory_and_threads_are_settings_of_the_transaction(clinic: Database) -> None:
    with opened(clinic, memory="1GiB", threads=3, timeout=90) as db:
        assert shown(db, "work_mem") == "64MB"
        assert shown(db, "max_parallel_workers_per_gather") == "2"
        assert shown(db, "statement_timeout").endswith("s")
    with opened(clinic, memory="64GiB", threads=1) as db:
        assert shown(db, "work_mem") == "4GB"
        assert shown(db, "max_parallel_workers_per_gather") == "0"
    with opened(clinic) as db:
        assert shown(db, "work_mem") == "64MB"


def test_the_largest_memory_is_one_that_the_server_takes(clinic: Database) -> None:
    with opened(clinic, memory="1000TB") as db:
        assert shown(db, "work_mem") == "2147483647kB"
    assert resources_of(EngineSettings()) == {}


@pytest.mark.parametrize(("seconds", "text"), [(1e-9, "1ms"), (0.0005, "1ms"), (1.0001, "1001ms"), (60, "60000ms")])
def test_a_limit_is_rounded_up_because_0_is_no_limit(seconds: float, text: str) -> None:
    assert milliseconds(seconds) == text


def test_a_directory_is_refused_unless_it_comes_from_the_environment(
    clinic: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnusedOptionError, match=r"temporary has no effect on this source of PostgreSQL\. .*temp_table"):
        opened(clinic, temporary="/scratch")
    monkeypatch.setenv("TACIT_TEMPORARY", "/scratch")  # for other databases of this machine
    opened(clinic).close()


def test_all_statements_of_a_reading_share_one_limit(clinic: Database) -> None:
    with opened(clinic) as db:
        start = monotonic()
        db.sql(SLOW, epsilon=1)
        whole = monotonic() - start
        assert len(db.plan(SLOW, epsilon=1).plan.bundles) > 1
    with opened(clinic, timeout=whole / 20) as db:
        with pytest.raises(TimeLimitError) as caught:
            db.sql(SLOW, epsilon=1)
        assert str(caught.value) == str(TimeLimitError(whole / 20, charged=True))
        assert db.spent == tc.PureDP(epsilon=1)


def test_a_statement_gets_the_time_that_the_others_left(clinic: Database) -> None:
    with opened(clinic, timeout=100) as db, engine(db)._lock, engine(db)._reading() as run:
        engine(db)._limit = limit = TimeLimit(100)
        limit._end -= 60  # the statements before took a minute
        (left,) = run("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'", {})[0]
        assert 35_000 < left <= 40_000
        limit._end -= 60
        with pytest.raises(TimeoutError):
            engine(db)._in_time(run)("SELECT 1", {})
        engine(db)._limit = None
