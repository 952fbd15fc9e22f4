"""Different values stay different when they are read and when they are written."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from cli_runs import run
from tacit.anonymity.cell_values import datetime_cells
from tacit.anonymity.tables import encode, read
from tacit.errors import ColumnValueError, UnreadableFileError


def k(table: object) -> int:
    return tc.anonymity.check(table, quasi=["q"]).k


ARROW = {
    "time": pa.array([1, 2], pa.time64("ns")),
    "moment": pa.array([1, 2], pa.timestamp("ns")),
    "zoned": pa.array([1, 2], pa.timestamp("ns", "Europe/Berlin")),
    "duration": pa.array([1, 2], pa.duration("ns")),
    "far": pa.array([10**17, -(10**17)], pa.timestamp("s")),
    "far, zoned": pa.array([10**17, -(10**17)], pa.timestamp("s", "UTC")),
    "far days": pa.array([10**8, -(10**8)], pa.int32()).cast(pa.date32()),
    "nowhere": pa.array([1, 2], pa.timestamp("s", "Nowhere/Atall")),
    "long": pa.array([2**62, 2**62 + 1], pa.duration("s")),
    "decimal": pa.array([Decimal(90071992547409931), Decimal(90071992547409932)], pa.decimal128(20, 0)),
    "fine decimal": pa.array([Decimal("0.1"), Decimal("0.100000000000000001")], pa.decimal128(38, 18)),
}


@pytest.mark.parametrize("values", ARROW.values(), ids=ARROW)
def test_what_arrow_tells_apart_is_two_classes(values: pa.Array) -> None:
    """The last three digits were lost, and k was 2; other types raised errors of Arrow or Python."""
    assert k(pa.table({"q": values})) == 1
    assert k(pa.table({"q": values.dictionary_encode()})) == 1
    assert k(pa.table({"q": pa.RunEndEncodedArray.from_arrays([1, 2], values)})) == 1
    more = pa.concat_arrays([values, values, pa.nulls(2, values.type)])
    found = tc.anonymity.check(pa.table({"q": more}), quasi=["q"])
    assert (found.k, len(found.groups)) == (2, 3)


@pytest.mark.parametrize("name", ["time", "moment", "decimal", "fine decimal"])
def test_what_parquet_tells_apart_is_two_classes(tmp_path: Path, name: str) -> None:
    """DuckDB returned decimals as floats."""
    pq.write_table(pa.table({"q": ARROW[name]}), tmp_path / "t.parquet")
    assert k(tmp_path / "t.parquet") == 1


@pytest.mark.parametrize("kind", [pl.Datetime("ns"), pl.Datetime("ns", "UTC"), pl.Duration("ns"), pl.Time()], ids=str)
def test_what_polars_tells_apart_is_two_classes(kind: pl.DataType) -> None:
    frame = pl.DataFrame({"q": pl.Series([1, 2, None], dtype=pl.Int64).cast(kind)})
    assert len(tc.anonymity.check(frame, quasi=["q"]).groups) == 3


@pytest.mark.parametrize("kind", [pa.time64("ns"), pa.timestamp("ns"), pa.duration("ns")], ids=str)
def test_what_pandas_holds_as_arrow_is_two_classes(kind: pa.DataType) -> None:
    assert k(pd.DataFrame({"q": pd.Series([1, 2]).astype("int64[pyarrow]").astype(pd.ArrowDtype(kind))})) == 1


def test_what_python_can_hold_stays_what_it_is() -> None:
    days = pl.DataFrame({"q": [date(2024, 1, 1), None]})
    assert read(days).column("q").values == (date(2024, 1, 1), None)
    fine = np.array(["2024-01-01T00:00:00.000000100", "2024-01-01", "NaT"], dtype="M8[ns]")
    assert datetime_cells(fine) == ["2024-01-01T00:00:00.0000001", datetime(2024, 1, 1), None]  # noqa: DTZ001 - as numpy
    assert len({*map(str, datetime_cells(np.array([10**17, -(10**17)], dtype="M8[s]")))}) == 2


def test_midnight_is_another_moment_in_every_zone() -> None:
    """Midnight was written as a day, so two datetimes were one value."""
    zones = [datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=hours))) for hours in (0, 1)]
    assert len(encode("q", zones).texts) == 2
    havana = ZoneInfo("America/Havana")
    twice = [datetime(2023, 11, 5, tzinfo=havana, fold=fold) for fold in (0, 1)]
    assert k({"q": twice}) == 1
    rows = {"q": [datetime(2020, 1, day, tzinfo=UTC) for day in (1, 2)]}
    out = tc.anonymity.anonymize(rows, quasi=["q"], require=tc.KAnonymity(2))
    assert {*read(out.table).column("q").texts} == {"2020-01"}


HARD: dict[str, list[Any]] = {
    "floats": [2**53, 2**53 + 1, 0.5],
    "missing": [2**53, 2**53 + 1, None],
    "zones": [datetime(2020, 1, 1, hours, tzinfo=timezone(timedelta(hours=hours))) for hours in (0, 1, 2)],
    "long decimals": [Decimal("0.1"), Decimal("0.1" + "0" * 38 + "1"), Decimal(2)],
    "decimals": [Decimal("1.1"), Decimal("1.10000000001"), Decimal("1E+20")],
    "large": [2**64, 2**64 + 1, 5],
    "durations": [timedelta(microseconds=1), timedelta(microseconds=2), timedelta(999999999)],
    "truths": [True, 1, 0],
    "days": [date(2020, 1, 1), datetime(2020, 1, 1, 5), datetime(2020, 1, 1, 6)],  # noqa: DTZ001 - without a zone
    "nulls": ["NULL", "null", "x"],
    "numerals": ["1", "1.0", "01"],
    "marks": ['a"b', "a,b", "a\nb"],
}
KINDS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "columns": dict,
    "polars": lambda rows: pl.DataFrame(rows, strict=False),
    "pandas": lambda rows: pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in rows.items()}),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("values", HARD.values(), ids=HARD)
@pytest.mark.parametrize("kind", ["columns", "pandas"])
def test_what_is_handed_out_is_as_diverse_as_what_was_checked(tmp_path: Path, values: list[Any], kind: str) -> None:
    """Frames and files stored two values as one, after the check."""
    rows = KINDS[kind]({"q": ["A"] * 3 + ["B"] * 3, "s": values * 2})
    ask: Any = {"quasi": ["q"], "sensitive": "s"}
    out = tc.anonymity.anonymize(rows, quasi={"q": tc.anonymity.suppress()}, sensitive="s", require=tc.LDiversity(3))
    stream = io.StringIO()
    out.write_csv(stream)
    (tmp_path / "stream.csv").write_text(stream.getvalue(), encoding="utf-8", newline="")
    handed = [out.table, tmp_path / "stream.csv"]
    for name in ("o.csv", "o.tsv", "o.parquet"):
        out.write(tmp_path / name)
        handed.append(tmp_path / name)
    assert [tc.anonymity.check(one, **ask).distinct_l for one in handed] == [3] * len(handed)


def test_a_frame_keeps_the_kinds_that_hold_every_value(tmp_path: Path) -> None:
    moments = [datetime(2020, 1, 1, 5), None]  # noqa: DTZ001 - without a zone
    rows = {"q": ["a", "a"], "i": [1, None], "f": [0.1, 2.0], "b": [True, False], "d": [date(2020, 1, 1), None],
            "t": moments, "x": [Decimal("1.10"), Decimal(2)]}  # fmt: skip
    keep = [name for name in rows if name != "q"]
    out = tc.anonymity.anonymize(pl.DataFrame(rows), quasi=["q"], require=tc.KAnonymity(2), keep=keep)
    kinds = [pl.Int64, pl.Float64, pl.Boolean, pl.Date, pl.Datetime]
    assert all(out.table[name].dtype == kind for name, kind in zip(keep, kinds, strict=False))
    out.write(tmp_path / "o.parquet")
    back = pl.read_parquet(tmp_path / "o.parquet")
    assert back.select("i", "f", "b", "d", "t", "x").sort("f").rows() == [
        (1, 0.1, True, date(2020, 1, 1), moments[0], Decimal("1.1")),
        (None, 2.0, False, None, None, Decimal(2)),
    ]


def test_half_a_character_is_refused_in_words() -> None:
    rows = {"q": ["a", "a"], "s": ["a\ud800", "b"]}
    with pytest.raises(ColumnValueError, match="'s'"):
        tc.anonymity.anonymize(rows, quasi=["q"], sensitive="s", require=tc.KAnonymity(2))


def test_a_name_with_signs_is_one_file_and_no_pattern(tmp_path: Path) -> None:
    """DuckDB read data1.csv instead of data[1].csv, and several files for x*.csv."""
    for name in ("data[1]", "x*", "y?", "{a,b}"):
        (tmp_path / f"{name}.csv").write_text("q\na\nb\n")
        for other in ("data1", "xy", "yy", "a", "b"):
            (tmp_path / f"{other}.csv").write_text("q\na\na\nb\nb\n")
        assert k(tmp_path / f"{name}.csv") == 1
        pl.DataFrame({"q": ["a", "b"]}).write_parquet(tmp_path / "one.parquet")
        (tmp_path / "one.parquet").rename(tmp_path / f"{name}.parquet")
        pl.DataFrame({"q": ["a", "a"]}).write_parquet(tmp_path / "data1.parquet")
        assert k(tmp_path / f"{name}.parquet") == 1
    out = tc.anonymity.anonymize({"q": ["a", "a"]}, quasi=["q"], require=tc.KAnonymity(2))
    out.write(tmp_path / "z*.csv")
    assert k(tmp_path / "z*.csv") == 2


def test_the_name_of_a_folder_is_no_value(tmp_path: Path) -> None:
    """A folder q=2020 replaced the column q."""
    folder = tmp_path / "q=2020"
    folder.mkdir()
    (folder / "x.csv").write_text("q,s\na,1\nb,2\n")
    pl.DataFrame({"q": ["a", "b"]}).write_parquet(folder / "x.parquet")
    assert (k(folder / "x.csv"), k(folder / "x.parquet")) == (1, 1)


def test_no_name_of_a_file_is_too_long_to_be_refused_in_words(tmp_path: Path) -> None:
    for name in ("x" * 4500, "a\0b"):
        for suffix in (".csv", ".parquet", ".duckdb"):
            with pytest.raises(UnreadableFileError) as refused:
                k(str(tmp_path / f"{name}{suffix}"))
            assert refused.value.argument == "the table"
            assert len(str(refused.value)) < 400
        with pytest.raises(UnreadableFileError) as refused:
            tc.anonymity.hierarchy(name)
        assert refused.value.argument == "the hierarchy"


def test_the_commands_refuse_a_name_that_is_too_long(tmp_path: Path) -> None:
    """Python's message showed many lines of it."""
    (tmp_path / "t.csv").write_text("q\na\na\n")
    long = str(tmp_path / ("x" * 4500))
    known = ("--quasi", "q")
    for args in (
        ("check", f"{long}.csv", *known),
        ("check", f"{long}.duckdb", *known),
        ("anonymize", f"{long}.csv", *known, "--k", "2"),
        ("anonymize", str(tmp_path / "t.csv"), *known, "--k", "2", "--hierarchies", long),
        ("anonymize", str(tmp_path / "t.csv"), *known, "--k", "2", "--hierarchies", f"q={long}"),
        ("attack", f"{long}.csv", "--kind", "homogeneity", *known, "--sensitive", "s"),
    ):
        done = run(tmp_path, *args, "--json")
        assert done.returncode in {2, 4}, done.stderr  # 4: the source does not exist
        assert done.stdout == ""
        assert "message" in json.loads(done.stderr)["error"]
