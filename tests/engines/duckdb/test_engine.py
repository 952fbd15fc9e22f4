"""The engine: it fails with one constant text, draws a fresh key each time, and reads nothing before it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contract.plans import NAME, key, plan, table
from tacit.engines import Engine
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb
from tacit.engines.sql.reading import FAILED
from tacit.errors import SourceError
from tacit.query.plan import Measure

UNITS = Measure(value=None, per="unit")
TABLE = pa.table({"u": list(range(200)) * 10, "name": [f"key {i // 200}" for i in range(2000)]})
KEYS = [key(NAME, *(f"key {i}" for i in range(10)))]


@pytest.fixture
def opened() -> Iterator[DuckDBEngine]:
    engine = open_duckdb(TABLE, threads=2)
    yield engine
    engine.close()


def test_it_is_an_engine(opened: DuckDBEngine) -> None:
    as_engine: Engine = opened
    assert as_engine.name == "data"
    assert as_engine.schema() == {"u": "integer", "name": "text"}


def test_a_fresh_key_chooses_other_cells(opened: DuckDBEngine) -> None:
    asked = plan(table(groups=1), UNITS, keys=KEYS)
    answers = [opened.measure(asked)[0] for _ in range(5)]
    assert all(sum(answer) == 200 for answer in answers)
    assert len({tuple(answer) for answer in answers}) > 1  # all alike with probability below 10^-12
    assert opened.measure_with(asked, (1, 2)) == opened.measure_with(asked, (1, 2))


def test_a_source_that_is_gone_fails_with_a_constant_text_and_no_context(tmp_path: Path) -> None:
    file = tmp_path / "secret-4711.parquet"
    pq.write_table(TABLE, file)
    engine = open_duckdb(file)
    file.unlink()
    with pytest.raises(SourceError) as caught:
        engine.measure(plan(table(), UNITS))
    assert caught.value.message == FAILED
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    pq.write_table(TABLE, file)
    assert engine.measure(plan(table(), UNITS)) == [[200]]
    engine.close()


def test_an_engine_that_was_closed_fails_likewise(opened: DuckDBEngine) -> None:
    opened.close()
    with pytest.raises(SourceError, match="stays charged"):
        opened.measure(plan(table(), UNITS))


def test_opening_reads_no_row(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(TABLE, file, use_dictionary=False, compression="none")
    footer = int.from_bytes(file.read_bytes()[-8:-4], "little") + 8
    with file.open("r+b") as bytes_:
        bytes_.seek(4)
        bytes_.write(b"\xff" * (file.stat().st_size - footer - 4))
    engine = open_duckdb(file)
    assert engine.schema() == {"u": "integer", "name": "text"}
    with pytest.raises(SourceError):
        engine.measure(plan(table(), UNITS))
    engine.close()


def test_a_file_whose_columns_changed_fails_likewise(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(TABLE, file)
    engine = open_duckdb(file)
    pq.write_table(pa.table({"u": ["x"], "other": [1]}), file)
    with pytest.raises(SourceError):
        engine.measure(plan(table(), UNITS, keys=KEYS))
    engine.close()


def test_memory_that_runs_out_fails_likewise_and_the_engine_lives_on(opened: DuckDBEngine) -> None:
    connection = duckdb.connect(config={"memory_limit": "20MB", "temp_directory": "", "threads": 1})
    connection.execute("CREATE VIEW data AS SELECT range AS u, 'key ' || range % 10 AS name FROM range(3000000)")
    engine = DuckDBEngine(connection, "big")
    with pytest.raises(SourceError) as caught:
        engine.measure(plan(table(groups=1), UNITS, keys=KEYS))
    assert caught.value.message == FAILED
    connection.execute("CREATE OR REPLACE VIEW data AS SELECT 1 AS u, 'key 1' AS name")
    assert engine.measure(plan(table(), UNITS)) == [[1]]
    engine.close()
    assert opened.measure(plan(table(), UNITS)) == [[200]]


def test_questions_from_several_threads_are_all_answered(opened: DuckDBEngine) -> None:
    found: list[list[list[int]]] = []
    threads = [
        Thread(target=lambda: found.append(opened.measure(plan(table(groups=10), UNITS, keys=KEYS)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[200] * 10]] * 8
