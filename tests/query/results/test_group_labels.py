"""Labels of groups: no two groups share one, whatever their texts are."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.query.expressions import Value
from tacit.query.results.render import group_label
from tacit.safe_text import chart_label

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
    (drawn,) = chart["datasets"].values() if "datasets" in chart else (chart["data"]["values"],)
    assert len({row["group"] for row in drawn}) == 8


def test_an_escape_and_the_text_of_an_escape_have_different_labels() -> None:
    assert len({chart_label(group_label([text])) for text in ("\x1b", r"\x1b", "\u202e", r"\u202e")}) == 4
