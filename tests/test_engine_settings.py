"""`tc.open` with time, memory, threads and a temporary directory, on DuckDB; see the engines for the others."""

from __future__ import annotations

import gc
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tacit.charging import SOURCE_FAILED
from tacit.database import Database
from tacit.engines import temporary
from tacit.engines.duckdb.engine import GONE, DuckDBEngine
from tacit.engines.time_limit import TimeLimit
from tacit.errors import NOTHING_SPENT, InvalidError, SourceError, TimeLimitError
from tacit.query.policy.engine_settings import EngineSettings

UNITS = 1_500_000
COUNT = "SELECT g, count(*) AS n FROM visits GROUP BY g"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose units do not fit 64 MB."""
    file = tmp_path_factory.mktemp("large") / "visits.parquet"
    pq.write_table(pa.table({"u": range(UNITS), "g": [0, 1, 2] * (UNITS // 3)}), file)
    return file


def opened(source: object, **settings: Any) -> Database:  # noqa: ANN401 - settings of several types
    return tc.open(
        source,
        name="visits",
        unit="u",
        max_groups=1,
        max_rows=1,
        keys={"g": [0, 1, 2]},
        budget=tc.PureDP(epsilon=10**9),
        **settings,
    )


def engine(db: Database) -> DuckDBEngine:
    found = db._tables["visits"][1]
    assert isinstance(found, DuckDBEngine)
    return found


def setting(db: Database, name: str) -> str:
    found = engine(db)._connection.execute(f"SELECT current_setting('{name}')").fetchone()
    return str(found and found[0])


SMALL = pa.table({"u": [1, 2, 3], "g": [0, 1, 1]})


def test_a_query_that_is_stopped_stays_charged_and_the_next_one_works(large: Path) -> None:
    db = opened(large, timeout=0.01)
    with pytest.raises(TimeLimitError) as caught:
        db.sql(COUNT, epsilon=1)
    assert caught.value.message == (
        "The engine did not finish within its time limit of 0.01 s. The query was charged, and the charge stands."
    )
    assert (caught.value.__context__, caught.value.unspent) == (None, False)
    assert NOTHING_SPENT not in str(caught.value)
    assert db.spent == tc.PureDP(epsilon=1)
    assert db.ledger.entries()[-1].outcome == "failed"
    engine(db).settings = EngineSettings()
    assert db.sql(COUNT, epsilon=10**6).to_dict()["n"] == [UNITS // 3] * 3


def test_no_statement_starts_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny statement would end in time, so without an interrupt only the check before it can stop it."""
    monkeypatch.setattr(TimeLimit, "left", property(lambda _: 0.0))
    monkeypatch.setattr(DuckDBEngine, "_interrupt", lambda _: None)
    db = opened(SMALL)
    with pytest.raises(TimeLimitError):
        db.sql(COUNT, epsilon=1)
    db.close()


def test_memory_that_does_not_suffice_is_written_to_the_directory(large: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        opened(large, memory="64MB", threads=2).sql(COUNT, epsilon=10**6)
    assert caught.value.message == SOURCE_FAILED
    with opened(large, memory="64MB", threads=2, temporary=tmp_path) as db:
        assert db.sql(COUNT, epsilon=10**6).to_dict()["n"] == [UNITS // 3] * 3
        (spill,) = tmp_path.iterdir()
        assert spill.stat().st_mode & 0o777 == 0o700  # nobody else may read the rows there
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_removed_when_nobody_uses_the_database_any_more(tmp_path: Path) -> None:
    db: Database | None = opened(SMALL, temporary=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    del db
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_settings_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    db = opened(SMALL, memory="1GB", threads=3, timeout=5)
    assert (setting(db, "threads"), setting(db, "memory_limit")) == ("3", "953.6 MiB")
    assert engine(db).settings.timeout == 5
    monkeypatch.setenv("TACIT_THREADS", "2")
    assert setting(opened(SMALL), "threads") == "2"
    assert setting(opened(SMALL, threads=1), "threads") == "1"
    monkeypatch.setenv("TACIT_MEMORY", "8G")
    with pytest.raises(InvalidError, match=r"^TACIT_MEMORY must be"):
        opened(SMALL)


def test_memory_bounds_the_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="too small for 5 threads") as caught:
        opened(SMALL, memory="64MB", threads=5, temporary=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert "at most 4 threads" in str(caught.value)
    monkeypatch.setattr("os.cpu_count", lambda: 96)
    with opened(SMALL, memory="64MB") as db:
        assert setting(db, "threads") == "4"
        assert db.sql(COUNT, epsilon=10**6).to_dict()["n"] == [1, 2, 0]  # the least memory suffices for a small plan


Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 - as shutil's


def full(_: object) -> Usage:
    return Usage(10**12, 10**12, temporary.LEAST_FREE - 1)


def test_a_directory_that_cannot_be_used_is_refused_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    reasons = {
        tmp_path / "missing": "does not exist",
        tmp_path / "file": "is not a directory",
        Path("/proc"): "cannot be written to",  # not even by root
    }
    for directory, reason in reasons.items():
        with pytest.raises(InvalidError, match=f"The temporary directory {reason}") as caught:
            opened(SMALL, temporary=directory)
        assert str(directory) not in str(caught.value)
    monkeypatch.setattr(shutil, "disk_usage", full)
    with pytest.raises(InvalidError, match="less than 64 MB free"):
        opened(SMALL, temporary=tmp_path)


def test_a_directory_that_goes_away_or_fills_up_is_noticed_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "spill"
    directory.mkdir()
    db = opened(SMALL, temporary=directory)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", full)
        with pytest.raises(InvalidError, match=r"less than 64 MB free.*Nothing was spent\.$"):
            db.sql(COUNT, epsilon=1)
    assert len(db.sql(COUNT, epsilon=1)) == 3
    shutil.rmtree(directory)
    with pytest.raises(InvalidError, match=r"does not exist.*Nothing was spent\.$"):
        db.sql(COUNT, epsilon=1)
    assert db.spent == tc.PureDP(epsilon=1)


def test_a_file_that_is_gone_is_noticed_before_the_charge(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("u,g\n1,0\n")
    db = tc.open(file, unit=tc.ROW, budget=tc.PureDP(epsilon=9))
    file.unlink()
    with pytest.raises(SourceError) as caught:
        db.sql("SELECT count(*) FROM visits", epsilon=1)
    assert (caught.value.message, caught.value.unspent) == (GONE, True)
    assert db.spent == tc.PureDP(epsilon=0)


def test_a_policy_file_may_be_opened_with_other_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "visits.csv").write_text("u,g\n1,0\n")
    policy = tmp_path / "clinic.toml"
    policy.write_text(
        "budget = { epsilon = 1 }\nengine = { threads = 1, timeout = 7 }\n"
        '[tables.visits]\nsource = "visits.csv"\neach_row = true\n'
    )
    with tc.open(policy) as db:
        assert (setting(db, "threads"), engine(db).settings.timeout) == ("1", 7)
    monkeypatch.setenv("TACIT_THREADS", "2")
    with tc.open(policy, timeout=9) as db:
        assert (setting(db, "threads"), engine(db).settings.timeout) == ("2", 9)


def test_memory_also_bounds_the_answer_before_the_charge() -> None:
    keys = {"g": list(range(2_000)), "h": list(range(500))}
    data, query = {"u": [1], "g": [0], "h": [0]}, "SELECT g, h, count(*) AS n FROM data GROUP BY g, h"
    with tc.open(data, unit="u", reach=1, keys=keys, budget=tc.PureDP(epsilon=1), memory="64MB") as db:
        with pytest.raises(tc.RefusedError, match=r"the limit is 64 MB\..*memory=.*Nothing was spent\.$"):
            db.sql(query, epsilon=1)
        assert db.spent == tc.PureDP(epsilon=0)
