"""Answers as text and HTML, the labels of groups, and the catalog of tables."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from math import inf

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.query.expressions import Value
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.results.render import (
    AnswerColumn,
    as_html,
    as_table,
    as_text,
    catalog_html,
    group_label,
    public_facts,
    text_rows,
)
from tacit.safe_text import chart_label

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


texts = st.none() | st.sampled_from(["NULL", "all", "", "a", ", ", '"', '"NULL"', "a, b", "b"]) | st.text(', "aN\\')
groups = st.tuples(texts, texts)


@given(groups, groups)
def test_different_groups_have_different_labels(one: tuple[Value, ...], two: tuple[Value, ...]) -> None:
    assert (group_label(one) == group_label(two)) == (one == two)


@given(texts, texts)
def test_one_key_is_told_apart_too_and_from_no_key(one: Value, two: Value) -> None:
    assert (group_label([one]) == group_label([two])) == (one == two)
    assert group_label([one]) != group_label([])


def test_a_chart_has_a_line_for_each_group() -> None:
    keys: dict[str, list[Value]] = {"a": ["x", "x, y", "NULL", None], "b": ["z", "y, z"]}
    rows = pd.DataFrame({"a": ["x"], "b": ["z"]})
    db = tc.open(rows, name="t", unit=tc.ROW, keys=keys, budget=tc.PureDP(epsilon=1))
    chart = db.sql("SELECT a, b, count(*) AS n FROM t GROUP BY a, b", epsilon=1).plot().to_dict()
    drawn = next(iter(chart["datasets"].values()))
    assert len({(row["first"], row["second"]) for row in drawn}) == 8


def test_an_escape_and_the_text_of_an_escape_have_different_labels() -> None:
    assert len({chart_label(group_label([text])) for text in ("\x1b", r"\x1b", "\u202e", r"\u202e")}) == 4


TABLE = TablePolicy(
    name="t",
    unit="who",
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={
        "who": ColumnPolicy(kind="integer"),
        "<cost>": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(20_000))),
        "secret": ColumnPolicy(kind="text", hidden=True),
    },
)


def test_what_is_public_is_said_in_words() -> None:
    assert (
        public_facts(ColumnPolicy(kind="date", days=(date(2024, 1, 1), date(2024, 12, 31))))
        == "days 2024-01-01 to 2024-12-31"
    )
    assert public_facts(ColumnPolicy(kind="integer", keys=tuple(range(10)))) == "keys 0, 1, 2, 3, 4, 5 and 4 more"
    assert public_facts(ColumnPolicy(kind="text")) == ""


def test_hidden_columns_are_not_listed_and_names_are_escaped() -> None:
    page = catalog_html({"t": TABLE})
    assert "secret" not in page
    assert "&lt;cost&gt;" in page
    assert "bounds 0 to 20000" in page
    assert "the unit" in page
