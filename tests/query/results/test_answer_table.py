"""An answer as a number, a sequence, columns, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import date
from math import inf
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from tacit import InvalidError
from tacit.database import Database
from tacit.errors import ColumnNotFoundError, RowNotFoundError, UnusedOptionError
from tacit.query.results.release import Release
from tacit.query.results.table import Table
from tacit.safe_text import spreadsheet_text

WARDS = ["=cmd()", 'a,"b"', "", "north"]


@pytest.fixture(scope="module")
def db() -> Database:
    rows = pd.DataFrame({"ward": WARDS * 25, "cost": range(100), "day": [date(2026, 1, 1)] * 100})
    return tc.open(
        rows,
        unit=tc.ROW,
        keys={"ward": WARDS},
        bounds={"cost": (0, 100)},
        types={"day": "date"},
        budget=tc.PureDP(epsilon=10**9),
    )


@pytest.fixture(scope="module")
def total(db: Database) -> Release:
    return db.count(epsilon=1000)


@pytest.fixture(scope="module")
def grouped(db: Database) -> Release:
    return db.count(by="ward", epsilon=1000)


def test_an_answer_of_one_value_is_a_number(total: Release) -> None:
    assert (float(total), int(total), total.value, total.interval) == (100.0, 100, 100, (100.0, 100.0))
    assert f"{total:,.1f}" == "100.0"
    assert f"{total}" == str(total)
    assert (len(total), list(total), total[0], total["count"]) == (1, [(100,)], (100,), [100])


def test_the_line_of_an_answer_shows_its_only_value(total: Release, grouped: Release, db: Database) -> None:
    assert repr(total) == "<Release: count = 100, 95% interval 100 … 100; cost ε = 1000>"
    assert repr(grouped) == "<Release: 4 rows of ward, count; cost ε = 1000>"
    assert repr(db.sql("SELECT mode(ward) AS w FROM data WHERE ward = 'north'", epsilon=1000)).startswith(
        "<Release: w = north; cost"
    )


def test_an_answer_can_be_rounded_and_read_as_mappings(total: Release, grouped: Release, db: Database) -> None:
    half = db.sql("SELECT count(*) / 8 AS n FROM data", epsilon=1000)
    assert (round(total), round(half), round(half, 1)) == (100, 12, 12.5)
    assert grouped.dicts()[3] == {"ward": "north", "count": 25}
    with pytest.raises(InvalidError, match="not one value"):
        round(grouped)


def test_the_interval_has_the_confidence_of_the_query(db: Database) -> None:
    for confidence in (0.5, 0.99):
        answer = db.count(epsilon=0.1, confidence=confidence)
        _, low, high = answer.intervals().rows()[0]
        assert answer.interval == (low, high) == answer.intervals(confidence).rows()[0][1:]


def test_a_real_is_an_int_only_if_it_is_whole(db: Database) -> None:
    half = db.sql("SELECT count(*) / 8 AS n FROM data", epsilon=1000)
    assert (half.value, float(half)) == (12.5, 12.5)
    with pytest.raises(InvalidError, match=r"not a whole number\. Write round"):
        int(half)
    assert int(db.sql("SELECT count(*) / 4 AS n FROM data", epsilon=1000)) == 25


def test_what_is_not_a_number_says_so(db: Database) -> None:
    chosen = db.choose("ward", epsilon=1000)
    assert chosen.value in WARDS
    assert chosen.interval is None
    with pytest.raises(InvalidError, match=r"of type text.*r\.value"):
        float(chosen)
    nothing = db.sql("SELECT 1 / (count(*) - count(*)) AS n FROM data", epsilon=1000)
    assert nothing.value is None
    for convert in (float, int):
        with pytest.raises(InvalidError, match="NULL"):
            convert(nothing)


@pytest.mark.parametrize("ask", [float, int, lambda r: r.value, lambda r: f"{r:.2f}"])
def test_several_values_are_not_one_number(grouped: Release, ask: Callable[[Release], object]) -> None:
    with pytest.raises(InvalidError, match=r"4 rows of 2 columns.*Write r\[0\] for a row, or r\['count'\]"):
        ask(grouped)


def test_the_interval_of_several_values_names_the_table(grouped: Release, db: Database) -> None:
    with pytest.raises(InvalidError, match=r"Write r\.intervals\(\)"):
        _ = grouped.interval
    none = db.sql("SELECT count(*) AS n FROM data HAVING count(*) > 1000000", epsilon=1000)
    assert (len(none), list(none), bool(none)) == (0, [], False)
    with pytest.raises(InvalidError, match=r"0 rows of 1 column, so it is not one value\. No group"):
        _ = none.value


def test_an_answer_is_a_sequence_of_rows(grouped: Release) -> None:
    rows = grouped.rows()
    assert len(grouped) == 4
    assert list(grouped) == rows == [(ward, 25) for ward in WARDS]
    assert list(reversed(grouped)) == rows[::-1]
    for index in range(-4, 4):
        assert grouped[index] == rows[index]
    for part in (slice(1, 3), slice(None, None, -1), slice(-2, None), slice(9, 12)):
        assert grouped[part] == rows[part]
    assert grouped["ward"] == WARDS
    assert ("north", 25) in grouped


@pytest.mark.parametrize("index", [4, -5, 10**30])
def test_a_missing_row_is_an_index_error_of_ours(grouped: Release, index: int) -> None:
    with pytest.raises(RowNotFoundError, match="the answer has 4 rows") as caught:
        _ = grouped[index]
    assert isinstance(caught.value, IndexError)


def test_a_missing_column_suggests_one(grouped: Release) -> None:
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'count'"):
        _ = grouped["cuont"]
    with pytest.raises(ColumnNotFoundError, match="The columns are 'ward', 'count'"):
        _ = grouped["zzz"]


@pytest.mark.parametrize("index", [1.0, None, True, (0, 1), b"ward"])
def test_an_index_is_a_name_a_number_or_a_slice(grouped: Release, index: object) -> None:
    with pytest.raises(InvalidError, match="the index must be"):
        _ = grouped[index]  # type: ignore[call-overload]


def test_dicts_and_frames_take_intervals(grouped: Release) -> None:
    assert grouped.to_dict() == {"ward": WARDS, "count": [25] * 4}
    with_ends = grouped.to_dict(intervals=True, confidence=0.9)
    assert list(with_ends) == ["ward", "count", "count_low", "count_high"]
    for frame in (grouped.to_pandas(intervals=True), grouped.to_polars(intervals=True)):
        assert list(frame.columns) == list(with_ends)
    assert grouped.to_arrow(intervals=True).to_pydict() == with_ends
    with pytest.raises(UnusedOptionError, match="Add intervals=True"):
        grouped.to_dict(confidence=0.9)
    with pytest.raises(InvalidError, match=r"confidence=0\.9"):
        grouped.to_dict(intervals=0.9)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="confidence"):
        grouped.to_csv(intervals=True, confidence=2)


def test_json_is_a_list_of_objects(grouped: Release, tmp_path: Path) -> None:
    assert json.loads(grouped.to_json()) == [{"ward": ward, "count": 25} for ward in WARDS]
    assert grouped.to_json(tmp_path / "a.json", intervals=True) is None
    read = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert read[0] == {"ward": "=cmd()", "count": 25, "count_low": 25.0, "count_high": 25.0}
    odd = Table(("x", "day"), ("real", "date"), ((inf, 0.1), (date(2026, 1, 2), None)))
    assert json.loads(odd.to_json()) == [{"x": None, "day": "2026-01-02"}, {"x": 0.1, "day": None}]
    assert json.loads(Table(("\ud800",), ("text",), (("a\u202e",),)).to_json()) == [{"\ud800": "a\u202e"}]


def test_csv_reads_back_and_runs_no_formula(grouped: Release, tmp_path: Path) -> None:
    text = grouped.to_csv()
    assert text.splitlines()[1] == "'=cmd(),25"
    cells = list(csv.reader(io.StringIO(text)))
    assert [spreadsheet_text(ward) for ward, _ in cells[1:]] == WARDS
    exact = grouped.to_csv(spreadsheet=False)
    assert [ward for ward, _ in csv.reader(io.StringIO(exact))][1:] == WARDS
    assert grouped.to_csv(tmp_path / "a.csv") is None
    assert (tmp_path / "a.csv").read_bytes().decode() == text
    with pytest.raises(InvalidError, match="spreadsheet must be"):
        grouped.to_csv(spreadsheet="no")  # type: ignore[call-overload]


def test_csv_has_all_digits_and_tells_null_from_an_empty_text() -> None:
    table = Table(("=n", "t"), ("real", "text"), ((0.1 + 0.2, 1e300, inf, None), ("", None, "a\nb", "@x")))
    lines = table.to_csv().split("\n")
    assert lines == ["'=n,t", '0.30000000000000004,""', "1e+300,", 'inf,"a', 'b"', ",'@x", ""]


@pytest.mark.parametrize("path", ["no/such/folder/a.csv", "", "a\0b", 3])
def test_a_path_that_cannot_be_written_is_our_error(grouped: Release, path: object) -> None:
    for write in (grouped.to_csv, grouped.to_json):
        with pytest.raises(InvalidError) as caught:
            write(path)  # type: ignore[call-overload]
        assert caught.value.argument == "path"
