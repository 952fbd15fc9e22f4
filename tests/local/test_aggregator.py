from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_protocols import Make, every_oracle
from tacit import InvalidError, SourceError
from tacit.errors import ColumnNotFoundError
from tacit.local import GRR, OLH, OUE, Aggregator, Hadamard, Protocol, Reports, Warner

WORDS = ["tea", "coffee", "water", "mate"]


def some(oracle: Protocol, n: int) -> Reports:
    return oracle.randomize([oracle.domain[i % oracle.domain_size] for i in range(n)])


def part(reports: Reports, low: int, high: int) -> Reports:
    return Reports(protocol=reports.code, digest=reports.digest, records=reports.records[low:high])


def same(one: Aggregator, other: Aggregator) -> bool:
    return (one.n, one.dropped) == (other.n, other.dropped) and np.array_equal(one._cells, other._cells)


@every_oracle
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=4))
def test_streams_and_merges_in_any_order_are_one_batch(make: Make, cuts: list[int]) -> None:
    oracle = make(domain=70, epsilon=1)
    reports = some(oracle, 300)
    batch = oracle.aggregator()
    batch.add(reports)
    edges = [0, *sorted(cuts), 300]
    parts = [oracle.aggregator() for _ in edges[1:]]
    for tally, low, high in zip(parts, edges, edges[1:], strict=False):
        tally.add(part(reports, low, high))
    left, right = oracle.aggregator(), oracle.aggregator()
    for tally in parts:
        left.merge(tally)
    for tally in reversed(parts):
        right.merge(tally)
    assert same(batch, left)
    assert same(batch, right)
    np.testing.assert_array_equal(batch.estimate().counts, left.estimate().counts)


@every_oracle
def test_small_and_large_batches_are_counted_alike(make: Make) -> None:
    oracle = make(domain=130, epsilon=1)
    reports = some(oracle, 6000)
    batch, steps = oracle.aggregator(), oracle.aggregator()
    batch.add(reports)
    for low in range(0, 6000, 100):
        steps.add(part(reports, low, low + 100))
    assert same(batch, steps)


@every_oracle
def test_a_tally_is_saved_and_resumed(make: Make, tmp_path: Path) -> None:
    oracle = make(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    total.add(some(oracle, 40))
    total.add_bytes([b"rubbish"])
    total.save(tmp_path / "tally")
    loaded = Aggregator.load(tmp_path / "tally")
    assert same(total, loaded)
    assert loaded.protocol.parameters() == oracle.parameters()
    more = some(oracle, 10)
    assert loaded.add(more) == 10
    loaded.save(tmp_path / "tally")
    assert Aggregator.load(tmp_path / "tally").n == 50
    assert [file.name for file in tmp_path.iterdir()] == ["tally"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    total.add(some(oracle, 40))
    path = tmp_path / "tally"
    total.save(path)
    whole = path.read_bytes()
    for data in (b"", b"rubbish", whole[:-30], whole[: len(whole) // 2]):
        path.write_bytes(data)
        with pytest.raises(InvalidError):
            Aggregator.load(path)
    with path.open("wb") as file:
        np.savez(file, about=np.frombuffer(b"{}", np.uint8), cells=np.zeros(4))
    with pytest.raises(InvalidError):
        Aggregator.load(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(4))
    with pytest.raises(InvalidError):
        Aggregator.load(path)
    with pytest.raises(InvalidError, match="no such file"):
        Aggregator.load(tmp_path / "nowhere")
    total._cells[0] = -5
    total.save(path)
    with pytest.raises(InvalidError, match="contradict"):
        Aggregator.load(path)


def test_other_protocols_do_not_mix() -> None:
    one = OLH(domain=WORDS, epsilon=1).aggregator()
    for other in (OLH(domain=WORDS, epsilon=2), OLH(domain=WORDS[::-1], epsilon=1), GRR(domain=WORDS, epsilon=1)):
        with pytest.raises(InvalidError, match="equal parameters"):
            one.merge(other.aggregator())
        with pytest.raises(InvalidError, match="other parameters"):
            one.add(some(other, 3))
    for wrong in (None, 5, b"bytes", [1]):
        with pytest.raises(InvalidError):
            one.merge(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidError):
            one.add(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="list"):
        one.add_bytes(b"TL")  # type: ignore[arg-type]
    assert (one.n, one.dropped) == (0, 0)


def test_no_reports_give_no_estimate() -> None:
    oracle = OLH(domain=WORDS, epsilon=1)
    with pytest.raises(InvalidError, match="no reports"):
        oracle.aggregator().estimate()
    with pytest.raises(InvalidError, match="no reports"):
        oracle.estimate(oracle.randomize([]))


@every_oracle
def test_a_parquet_file_and_a_table_of_reports_are_tallied(make: Make, tmp_path: Path) -> None:
    oracle = make(domain=WORDS, epsilon=1)
    reports, strangers = some(oracle, 40), some(make(domain=WORDS, epsilon=2), 3)
    batch = oracle.aggregator()
    batch.add(reports)
    batch.dropped = 3
    both = pa.concat_tables(
        [each.to_arrow().replace_schema_metadata(None).cast(_plain(reports)) for each in (reports, strangers)]
    )
    pq.write_table(both, tmp_path / "it's.parquet")
    total = oracle.aggregator()
    assert total.add_parquet(tmp_path / "it's.parquet") == 40
    assert same(total, batch)
    connection = duckdb.connect()
    connection.register("here", both)
    connection.execute('CREATE TEMP TABLE "odd ""name" AS SELECT report AS r, parameters AS p FROM here')
    total = oracle.aggregator()
    assert total.add_table(connection, 'odd "name', column="r", parameters="p") == 40
    assert same(total, batch)


def _plain(reports: Reports) -> pa.Schema:
    return pa.schema({"report": pa.binary(), "parameters": pa.binary()}) if reports else pa.schema({})


def test_a_parquet_file_as_it_is_written_from_arrow(tmp_path: Path) -> None:
    oracle = OUE(domain=WORDS, epsilon=1)
    reports = some(oracle, 40)
    pq.write_table(reports.to_arrow(), tmp_path / "a.parquet")
    pq.write_table(reports.to_arrow(), tmp_path / "b.parquet")
    assert Reports.from_arrow(pq.read_table(tmp_path / "a.parquet")) == reports
    total = oracle.aggregator()
    assert total.add_parquet(tmp_path / "*.parquet") == 80


def test_a_table_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    (tmp_path / "rubbish.parquet").write_bytes(b"rubbish")
    for name in ("nowhere.parquet", "rubbish.parquet"):
        with pytest.raises(SourceError, match="Nothing was added"):
            total.add_parquet(tmp_path / name)
    with pytest.raises(SourceError, match="Nothing was added"):
        total.add_table(duckdb.connect(), "nowhere")
    for wrong in (5, None):
        with pytest.raises(InvalidError):
            total.add_parquet(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidError):
            total.add_table(duckdb.connect(), wrong)  # type: ignore[arg-type]
    assert (total.n, total.dropped) == (0, 0)


def test_the_tally_does_not_grow_with_people() -> None:
    oracle = Hadamard(domain=1000, epsilon=1)
    total = oracle.aggregator()
    before = total._cells.nbytes
    total.add(some(oracle, 100_000))
    assert total._cells.nbytes == before == 8 * oracle._cells


def test_warner_counts_both_answers() -> None:
    survey = Warner(p=0.75)
    e = survey.estimate(survey.randomize([True] * 300 + [False] * 700))
    assert e.domain == (False, True)
    assert e.counts.sum() == pytest.approx(1000)


def test_reports_that_are_all_dropped_are_said_so() -> None:
    oracle, other = GRR(domain=WORDS, epsilon=1), GRR(domain=WORDS, epsilon=2)
    total = oracle.aggregator()
    with pytest.raises(InvalidError) as nothing:
        total.estimate()
    assert nothing.value.argument == "reports"
    total.add_bytes([b"hostile", some(other, 3).to_bytes()])
    with pytest.raises(InvalidError, match="2 were dropped") as dropped:
        total.estimate()
    assert oracle.digest in str(dropped.value)


def test_what_is_missing_of_a_table_is_named(tmp_path: Path) -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    pq.write_table(some(oracle, 4).to_arrow().rename_columns(["record", "parameters"]), tmp_path / "a.parquet")
    for name in ("nowhere.parquet", "nowhere-*.parquet", "\0"):
        with pytest.raises(SourceError, match=r"There is no file .*Nothing was added"):
            total.add_parquet(str(tmp_path / name))
    with pytest.raises(ColumnNotFoundError) as missing:
        total.add_parquet(tmp_path / "a.parquet")
    assert (missing.value.name, missing.value.columns) == ("report", ("record", "parameters"))
    with pytest.raises(InvalidError) as refused:
        total.add_parquet("s3://reader:hunter2@bucket/a.parquet")
    assert "hunter2" not in str(refused.value)
    assert (total.n, total.dropped) == (0, 0)
    assert total.add_parquet(tmp_path / "a.parquet", column="record") == 4


def test_a_frame_is_no_table_until_it_is_registered() -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    total, frame, connection = oracle.aggregator(), some(oracle, 4).to_arrow(), duckdb.connect()
    with pytest.raises(InvalidError, match=r"connection\.register"):
        total.add_table(frame)
    with pytest.raises(InvalidError, match="the name of a table"):
        total.add_table(connection)
    connection.register("reports", frame)
    assert total.add_table(connection, "reports") == 4
    with pytest.raises(InvalidError, match=r"merge\(\)"):
        oracle.estimate(total)  # type: ignore[arg-type]
