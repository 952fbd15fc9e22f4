"""Hostile input gives one clear error, or a record that is counted and dropped; never another exception."""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from local_protocols import Make, every_oracle
from tacit import InvalidError, SourceError, TacitError
from tacit.errors import UnreadableFileError
from tacit.local import (
    GRR,
    OLH,
    OUE,
    Aggregator,
    ProjectiveGeometry,
    Protocol,
    Reports,
    SubsetSelection,
    Warner,
    plot_errors,
    protocol,
)

WORDS = ["tea", "coffee", "water", "mate"]


def some(oracle: Protocol, n: int = 40) -> Reports:
    return oracle.randomize([oracle.domain[i % oracle.domain_size] for i in range(n)])


def mutated(data: bytes, seed: int, times: int) -> Iterator[bytes]:
    """Give copies of the bytes with a few of them changed, cut out or doubled."""
    chance = random.Random(seed)  # noqa: S311 - reproducible on purpose
    for _ in range(times):
        copy = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(copy))
            kind = chance.randrange(4)
            if kind == 0:
                del copy[at : at + chance.randint(1, 8)]
            elif kind == 1:
                copy[at:at] = copy[at : at + chance.randint(1, 8)]
            else:
                copy[at] = chance.randrange(256)
            copy = copy or bytearray(b"x")
        yield bytes(copy)


# Saved tallies


def saved(total: Aggregator, path: Path, **changes: object) -> Path:
    """Write a tally with other numbers in its text, as `save` would."""
    total.save(path)
    with np.load(path) as parts:
        about, cells = json.loads(parts["about"].tobytes()), parts["cells"]
    text = json.dumps({**about, **changes}).encode()
    with path.open("wb") as file:
        np.savez_compressed(file, about=np.frombuffer(text, dtype=np.uint8), cells=cells)
    return path


@every_oracle
def test_a_tally_whose_numbers_cannot_be_is_refused(make: Make, tmp_path: Path) -> None:
    oracle = make(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    total.add(some(oracle))
    path = tmp_path / "tally"
    assert Aggregator.load(saved(total, path)).n == 40
    least = int(total._cells.max())
    for n in (10**400, 1 << 60, -1, 1.5, "40", None, least - 1):
        with pytest.raises(InvalidError, match="contradict"):
            Aggregator.load(saved(total, path, n=n))
    for dropped in (10**400, -1, None):
        with pytest.raises(InvalidError, match="contradict"):
            Aggregator.load(saved(total, path, dropped=dropped))
    for cells in (total._cells[:-1], total._cells.astype(float), total._cells.reshape(1, -1), -total._cells - 1):
        wrong = oracle.aggregator()
        wrong._cells, wrong.n = cells, 40
        with pytest.raises(InvalidError):
            Aggregator.load(saved(wrong, path))


@pytest.mark.parametrize("oracle", [GRR(domain=4, epsilon=1), Warner(p=0.75), SubsetSelection(domain=9, epsilon=1)])
def test_a_tally_with_another_number_of_reports_than_its_cells_tell_is_refused(
    oracle: Protocol, tmp_path: Path
) -> None:
    total = oracle.aggregator()
    total.add(some(oracle))
    for n in (41, 10**6):
        with pytest.raises(InvalidError, match="contradict"):
            Aggregator.load(saved(total, tmp_path / "tally", n=n))


def test_cells_whose_sum_runs_over_64_bits_are_refused(tmp_path: Path) -> None:
    oracle = GRR(domain=1 << 12, epsilon=1)
    total = oracle.aggregator()
    total._cells[:] = 1 << 52  # 2^64 together, which is 0 modulo 2^64
    total.n = 1 << 52
    total._cells[0] += 1 << 52
    with pytest.raises(InvalidError, match="contradict"):
        Aggregator.load(saved(total, tmp_path / "tally", n=1 << 53))
    total._cells[:] = 0
    total._cells[0] = 1 << 53
    assert Aggregator.load(saved(total, tmp_path / "tally", n=1 << 53)).n == 1 << 53


def test_more_reports_than_a_transform_can_hold_exactly_are_refused() -> None:
    """Supports of 2^40 reports, whose counts are exact integers of Python beside them, are right; of 2^45 refused."""
    oracle = ProjectiveGeometry(domain=13, epsilon=1)
    total = oracle.aggregator()
    for power in (40, 45):
        total._cells[:] = np.random.default_rng(power).integers(0, (1 << power) // total._cells.size, total._cells.size)
        total._cells[0] += (1 << power) - total._cells.sum()
        total.n = 1 << power
        if power == 45:
            with pytest.raises(InvalidError, match="transform"):
                total.estimate()
            continue
        sums = oracle._support(total._cells)
        outputs = [number.to_bytes(oracle.report_bytes, "little") for number in range(total._cells.size)]
        for value in (0, 7, 12):
            inside = [
                oracle._chance(record, value) == max(oracle._chance(each, value) for each in outputs)
                for record in outputs
            ]
            assert int(sums[value]) == sum(int(cell) for cell, holds in zip(total._cells, inside, strict=True) if holds)


def test_damaged_tallies_are_refused_or_are_tallies(tmp_path: Path) -> None:
    oracle = OUE(domain=50, epsilon=1)
    total = oracle.aggregator()
    total.add(some(oracle))
    path = tmp_path / "tally"
    total.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in mutated(path.read_bytes(), 1, 400):
            path.write_bytes(data)
            try:
                loaded = Aggregator.load(path)
            except InvalidError:
                continue
            assert loaded.estimate().counts.shape == (50,)


def test_a_small_file_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    total.add(some(oracle))
    total.save(tmp_path / "tally")
    with zipfile.ZipFile(tmp_path / "tally") as parts:
        about = parts.read("about.npy")
    cells = io.BytesIO()
    np.save(cells, np.zeros(20_000_000, dtype=np.int64))
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("about.npy", about)
        parts.writestr("cells.npy", cells.getvalue())
    with pytest.raises(UnreadableFileError, match="damaged"):
        Aggregator.load(tmp_path / "bomb")


@pytest.mark.parametrize("where", ["nowhere/tally", "", ".", "a\0b", 5, None])
def test_a_tally_that_cannot_be_written_stays_in_memory(where: object, tmp_path: Path) -> None:
    total = GRR(domain=WORDS, epsilon=1).aggregator()
    with pytest.raises(InvalidError) as unwritable:
        total.save(tmp_path / where if isinstance(where, str) else where)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnreadableFileError) as unreadable:
        Aggregator.load(tmp_path / where if isinstance(where, str) else where)  # type: ignore[arg-type]
    assert unwritable.value.argument == unreadable.value.argument == "path"


# Streams


@every_oracle
def test_damaged_messages_and_lines_are_dropped_or_count(make: Make) -> None:
    oracle = make(domain=WORDS, epsilon=1)
    reports = some(oracle, 3)
    total = oracle.aggregator()
    messages = list(mutated(reports.to_bytes(), 2, 300))
    total.add_bytes(messages)
    assert total.n + total.dropped >= len(messages)
    for message in messages:
        try:
            Reports.from_bytes(message)
        except InvalidError:
            continue
    lines = [line for line in mutated(some(oracle, 1).to_json_lines().encode(), 3, 300) if line.strip()]
    fresh = oracle.aggregator()
    fresh.add_json_lines(lines)
    assert fresh.n + fresh.dropped == len(lines)
    oracle.aggregator().add_json_lines(b"".join(lines))
    for line in lines:
        try:
            Reports.from_json_lines(line)
        except InvalidError:
            continue


def test_bytes_of_lines_are_lines() -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    text = some(oracle).to_json_lines()
    for form in (text, text.encode(), bytearray(text.encode()), memoryview(text.encode()), io.BytesIO(text.encode())):
        total = oracle.aggregator()
        assert total.add_json_lines(form) == 40  # type: ignore[arg-type]
        assert total.dropped == 0
    assert len(Reports.from_json_lines(text.encode())) == 40


def test_views_of_bytes_are_read_whatever_their_strides() -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    data = some(oracle).to_bytes()
    spaced = memoryview(np.frombuffer(data, np.uint8).repeat(2).tobytes())[::2]
    assert len(Reports.from_bytes(spaced)) == 40
    released = memoryview(b"x")
    released.release()
    total = oracle.aggregator()
    assert total.add_bytes([spaced, memoryview(data).cast("b"), released]) == 80
    assert total.dropped == 1


def test_what_is_no_stream_is_refused_and_a_stream_that_fails_adds_nothing() -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    for wrong in (5, None, 1.5):
        with pytest.raises(InvalidError):
            total.add_bytes(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidError):
            total.add_json_lines(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidError):
            Reports.from_json_lines(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidError):
            Reports.from_arrow(wrong)
        with pytest.raises(InvalidError, match="protocol"):
            Aggregator(wrong)  # type: ignore[arg-type]
    text = some(oracle).to_json_lines().encode() + b"\xff\n"
    with pytest.raises(InvalidError, match="UTF-8"):
        total.add_json_lines(io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    assert (total.n, total.dropped) == (0, 0)


# Tables


@pytest.mark.parametrize("kind", ["'00000001'::BIT", "[1]", "'a'", "7", "{'x': 1}", "NULL"])
def test_a_column_that_holds_no_bytes_is_refused(kind: str) -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    connection = duckdb.connect()
    digest = f"from_hex('{oracle.digest}')"
    connection.execute(f"CREATE TABLE a AS SELECT {kind} AS report, {digest} AS parameters")
    connection.execute(f"CREATE TABLE b AS SELECT '\\x01'::BLOB AS report, {kind} AS parameters")
    total = oracle.aggregator()
    for table in "ab":
        with pytest.raises(InvalidError, match="BLOB"):
            total.add_table(connection, table)
    with pytest.raises(InvalidError, match="connection"):
        total.add_table("here", "a")  # type: ignore[arg-type]
    assert (total.n, total.dropped) == (0, 0)


def test_null_in_a_table_is_dropped() -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    connection = duckdb.connect()
    digest = f"from_hex('{oracle.digest}')"
    rows = f"('\\x01'::BLOB, {digest}), (NULL, {digest}), ('\\x01'::BLOB, NULL), ('\\x09'::BLOB, {digest})"
    connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) v(report, parameters)")  # noqa: S608
    total = oracle.aggregator()
    assert total.add_table(connection, "t") == 1
    assert total.dropped == 3


def test_damaged_parquet_files_are_refused_or_dropped(tmp_path: Path) -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    path = tmp_path / "reports.parquet"
    pq.write_table(some(oracle).to_arrow(), path)
    total = oracle.aggregator()
    for data in mutated(path.read_bytes(), 4, 60):
        path.write_bytes(data)
        before = (total.n, total.dropped)
        try:
            total.add_parquet(path)
        except (InvalidError, SourceError):
            assert (total.n, total.dropped) == before


def test_an_arrow_column_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    pq.write_table(some(GRR(domain=WORDS, epsilon=1)).to_arrow(), path)
    path.write_bytes(path.read_bytes().replace(b"parameters", b"par\xc1meters"))
    table = pq.read_table(path)
    with pytest.raises(UnicodeDecodeError):
        table.schema.names  # noqa: B018 - it is read
    with pytest.raises(InvalidError, match="column"):
        Reports.from_arrow(table)


# Parameters, domains and values


@pytest.mark.parametrize(
    "make",
    [
        lambda: GRR(domain=3, epsilon=Decimal("1." + "0" * 230 + "1")),
        lambda: GRR(domain=3, epsilon=Fraction(10**9000 + 1, 10**9000)),
        lambda: Warner(p=Fraction(2 * 10**250 + 1, 3 * 10**250)),
        lambda: Warner(p=Fraction(2 * 10**9000 + 1, 3 * 10**9000)),
    ],
)
def test_what_parameters_cannot_hold_is_refused_when_a_protocol_is_made(make: Callable[[], Protocol]) -> None:
    with pytest.raises(InvalidError, match="400 characters"):
        make()


def test_the_longest_epsilon_comes_back(tmp_path: Path) -> None:
    oracle = GRR(domain=3, epsilon=Fraction(10**198 + 1, 10**198))
    assert len(json.loads(oracle.parameters())["epsilon"]) == 399
    total = oracle.aggregator()
    total.save(tmp_path / "tally")
    assert Aggregator.load(tmp_path / "tally").protocol.digest == oracle.digest


def test_mutated_parameters_are_refused() -> None:
    right = OLH(domain=WORDS, epsilon=1).parameters()
    for text in mutated(right.encode(), 5, 500):
        try:
            made = protocol(text)
        except InvalidError:
            continue
        assert made.parameters() == right or made.digest in text.decode()
    with pytest.raises(InvalidError, match="read_text"):
        protocol("survey.json")
    with pytest.raises(InvalidError, match="read_text"):
        protocol(Path("survey.json"))


def test_a_set_has_no_order_and_is_refused() -> None:
    for domain in ({"a", "b"}, frozenset("ab")):
        with pytest.raises(InvalidError, match="sorted"):
            OLH(domain=domain, epsilon=1)
    assert OLH(domain={"a": 1, "b": 2}.keys(), epsilon=1).domain == ("a", "b")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(WORDS),
        pa.chunked_array([WORDS[:2], WORDS[2:]]),
        pa.array(WORDS, pa.large_string()),
        pa.array(WORDS).dictionary_encode(),
        pl.Series(WORDS),
        pl.Series(WORDS).cast(pl.Categorical),
        pd.Series(WORDS),
        pd.Series(WORDS, dtype="category"),
        np.array(WORDS),
    ],
    ids=lambda column: type(column).__name__,
)
def test_columns_of_text_are_domains_and_values(column: object) -> None:
    oracle = OUE(domain=column, epsilon=1)
    assert oracle.digest == OUE(domain=WORDS, epsilon=1).digest
    assert len(oracle.randomize(column)) == 4


def test_one_value_of_an_array_or_of_arrow_is_a_value() -> None:
    oracle = OUE(domain=WORDS, epsilon=1)
    for value in (np.array("tea"), np.str_("tea"), pa.scalar("tea")):
        assert len(oracle.randomize(value)) == 1
    assert len(OUE(domain=5, epsilon=1).randomize(np.array(3))) == 1


def test_tables_and_columns_with_null_are_refused_as_values() -> None:
    oracle, numbers = OUE(domain=["tea", "mate"], epsilon=1), OUE(domain=5, epsilon=1)
    for wrong in (
        {"tea": 1},
        pd.DataFrame({"tea": ["mate"]}),
        pl.DataFrame({"tea": ["mate"]}),
        pa.table({"tea": ["mate"]}),
        pa.array(["tea", None]),
        pl.Series(["tea", None]),
    ):
        with pytest.raises(InvalidError) as caught:
            oracle.randomize(wrong)
        assert caught.value.argument == "values"
    for other in ({1: 1}, pd.DataFrame({1: [2]}), pa.table({"a": [1]}), pa.array([1, None])):
        with pytest.raises(InvalidError) as caught:
            numbers.randomize(other)
        assert caught.value.argument == "values"


def test_a_range_from_0_is_its_length_and_others_are_shown_by_their_number() -> None:
    assert repr(OLH(domain=range(5), epsilon=1)) == "OLH(domain=5, epsilon=1)"
    counted = OLH(domain=5, epsilon=1)
    assert OLH(domain=counted.domain, epsilon=1).digest == counted.digest
    assert repr(OLH(domain=range(1, 1201), epsilon=1)) == "OLH(domain=<1,200 values>, epsilon=1)"
    for wrong in (range(10**30), range(1, 10**30), range(0), range(-3)):
        with pytest.raises(InvalidError, match="domain"):
            OLH(domain=wrong, epsilon=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilons": 5, "domain_size": 3},
        {"epsilons": [], "domain_size": 3},
        {"epsilons": "12", "domain_size": 3},
        {"epsilons": [1, "x"], "domain_size": 3},
        {"epsilons": [1, 60], "domain_size": 3},
        {"epsilons": [1, 2], "domain_size": 2.5},
        {"epsilons": [1, 2], "domain_size": None},
        {"domain_sizes": [2, 3.5], "epsilon": 1},
        {"domain_sizes": [2, 8], "epsilon": "1"},
        {"domain_sizes": [2, 8], "epsilon": None},
    ],
)
def test_charts_of_errors_refuse_other_arguments(wrong: dict[str, object]) -> None:
    with pytest.raises(TacitError):
        plot_errors(**wrong)  # type: ignore[arg-type]


def test_charts_of_errors_take_arrays_and_fractions() -> None:
    plot_errors(domain_sizes=np.array([2, 8]), epsilon=Fraction(1, 2))  # type: ignore[arg-type]
    plot_errors(epsilons=np.linspace(1, 3, 3), domain_size=8)  # type: ignore[arg-type]
