from __future__ import annotations

import sys
from datetime import date, datetime
from math import inf, nan

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import MissingPackageError, TacitError
from tacit.query.expressions import Kind, Value
from tacit.query.results.table import Table, format_value

DAY, MOMENT = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 0, 5)  # noqa: DTZ001 - timestamps have no zone
NAMES: tuple[str, ...] = ("whole", "number", "word", "truth", "day", "moment")
KINDS: tuple[Kind, ...] = ("integer", "real", "text", "boolean", "date", "timestamp")
COLUMNS: tuple[tuple[Value, ...], ...] = (
    (3, None),
    (1.5, None),
    ("a", None),
    (True, None),
    (DAY, None),
    (MOMENT, None),
)
EVERY = Table(NAMES, KINDS, COLUMNS)


def test_rows_are_tuples_or_dictionaries_in_order() -> None:
    assert EVERY.rows() == list(zip(*COLUMNS, strict=True))
    assert EVERY.dicts() == [dict(zip(NAMES, row, strict=True)) for row in EVERY.rows()]
    assert len(EVERY) == 2
    assert Table((), (), ()).rows() == []
    assert len(Table((), (), ())) == 0


def test_arrow_has_the_kinds_and_nulls() -> None:
    table = EVERY.to_arrow()
    types = [pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us")]
    assert table.schema.types == types
    assert table.to_pylist() == EVERY.dicts()


def test_any_reader_of_arrow_streams_takes_it() -> None:
    assert pa.table(EVERY).to_pylist() == EVERY.dicts()
    assert pl.DataFrame(EVERY).rows(named=True) == EVERY.dicts()


def test_polars_has_the_kinds_and_nulls() -> None:
    frame = EVERY.to_polars()
    assert frame.rows(named=True) == EVERY.dicts()
    assert list(frame.schema.values()) == [pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Date, pl.Datetime("us")]


def test_pandas_has_the_values() -> None:
    frame = EVERY.to_pandas()
    assert list(frame.columns) == list(NAMES)
    assert frame["whole"].tolist()[0] == 3
    assert pd.isna(frame["number"][1])
    assert frame["moment"][0] == pd.Timestamp(MOMENT)
    assert Table(("n",), ("integer",), ((1, 2),)).to_pandas()["n"].dtype == "int64"


def test_an_empty_answer_keeps_its_kinds() -> None:
    empty = Table(NAMES, KINDS, ((),) * len(KINDS))
    assert empty.to_arrow().schema == EVERY.to_arrow().schema
    assert empty.to_polars().height == 0
    assert list(empty.to_pandas().columns) == list(NAMES)
    assert str(empty).split() == list(NAMES)
    assert "<tbody></tbody>" in empty._repr_html_()


def test_whole_numbers_beyond_64_bits_stop_at_the_ends() -> None:
    table = Table(("n",), ("integer",), ((2**70, -(2**70), 2**63 - 1, -(2**63), None),))
    assert table.to_arrow()["n"].to_pylist() == [2**63 - 1, -(2**63), 2**63 - 1, -(2**63), None]
    assert table.rows()[0] == (2**70,)


def test_infinities_survive() -> None:
    table = Table(("low", "high"), ("real", "real"), ((-inf,), (inf,)))
    assert table.to_polars().rows() == [(-inf, inf)]


def test_names_that_stand_twice_are_no_trouble_for_arrow() -> None:
    assert Table(("n", "n"), ("integer", "integer"), ((1,), (2,))).to_arrow().column_names == ["n", "n"]


def test_text_is_in_columns() -> None:
    table = Table(("place", "n"), ("text", "integer"), (("Köln", None), (5, 12345)))
    assert str(table).splitlines() == ["place      n", " Köln      5", " NULL  12345"]


def test_long_answers_are_cut_when_shown_and_whole_otherwise() -> None:
    table = Table(("n",), ("integer",), (tuple(range(1000)),))
    assert str(table).splitlines()[-1] == "… and 950 more rows"
    assert len(str(table).splitlines()) == 52
    assert "950 more rows" in table._repr_html_()
    assert table._repr_html_().count("<tr>") == 51
    assert len(table.rows()) == table.to_arrow().num_rows == 1000


def test_html_is_escaped() -> None:
    evil = "<script>alert('x') & \"y\"</script>"
    page = Table((evil,), ("text",), ((evil, None),))._repr_html_()
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#x27;x&#x27;) &amp; &quot;y&quot;&lt;/script&gt;") == 2
    assert page.startswith("<table>")
    assert "<td>NULL</td>" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (False, "false"),
        (12345678, "12345678"),
        (0.1 + 0.2, "0.3"),
        (1e20, "1e+20"),
        (inf, "inf"),
        (nan, "nan"),
        ("it's", "it's"),
        (DAY, "2024-02-29"),
    ],
)
def test_values_are_said_as_people_write_them(value: Value, text: str) -> None:
    assert format_value(value) == text


@pytest.mark.parametrize("form", ["to_polars", "to_pandas", "to_arrow"])
def test_a_form_whose_package_is_missing_says_so(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TacitError, match="pyarrow, which is not installed"):
        getattr(EVERY, form)()


@pytest.mark.parametrize(
    ("form", "package"), [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")]
)
def test_the_command_installs_the_package_of_the_frame(
    form: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"pip install {package}"):
        getattr(EVERY, form)()
