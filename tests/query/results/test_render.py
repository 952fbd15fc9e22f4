from __future__ import annotations

from math import inf

from tacit.query.results.render import AnswerColumn, as_html, as_table, as_text, text_rows

REGION = AnswerColumn("region", "text", ("north", None), None)
COUNT = AnswerColumn("n", "integer", (3_123_456, 20), ((3_123_400.0, 3_123_500.0), (-4.0, 44.0)))
MEAN = AnswerColumn("mean", "real", (41_000.123456, 2.0), ((41_000.0, 41_000.25), (-inf, inf)))


def test_a_value_stands_beside_its_interval_with_the_digits_that_tell_them_apart() -> None:
    headings, rows = text_rows([REGION, COUNT, MEAN], 0.9)
    assert headings == ["region", "n", "90% interval of n", "mean", "90% interval of mean"]
    assert rows == [
        ["north", "3123456", "3123400 … 3123500", "41000.12", "41000.00 … 41000.25"],
        ["NULL", "20", "-4 … 44", "2.00", "-inf … inf"],
    ]


def test_text_and_html_are_cut_and_escaped() -> None:
    many = AnswerColumn("<n>", "integer", tuple(range(60)), tuple((n - 1.0, n + 1.0) for n in range(60)))
    assert as_text([many], 0.95).splitlines()[-1] == "… and 10 more rows"
    assert len(as_text([many], 0.95).splitlines()) == 52
    assert "<n>" not in as_html([many], 0.95)
    assert as_html([many], 0.95).count("<tr>") == 51


def test_cells_without_an_interval_are_empty() -> None:
    some = AnswerColumn("x", "real", (1.0, None), ((0.0, 2.0), None))
    assert text_rows([some], 0.95)[1] == [["1.0", "0.0 … 2.0"], ["NULL", ""]]
    assert as_table([some]).rows() == [(1.0, 0.0, 2.0), (None, None, None)]


def test_columns_of_intervals_never_collide() -> None:
    low = AnswerColumn("n_low", "integer", (7, 8), None)
    table = as_table([COUNT, low])
    assert table.names == ("n", "n_low_1", "n_high", "n_low")
    assert table.dicts()[0]["n_low"] == 7
