from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import tacit as tc
from tacit.errors import RefusedError
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={
        "x": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(10))),
        "urban": ColumnPolicy(kind="boolean"),
    },
)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("count(*) FILTER (WHERE urban)", "count(CASE WHEN urban THEN 1 END)"),
        ("count(*) FILTER (urban)", "count(CASE WHEN urban THEN 1 END)"),
        ("count(x) FILTER (WHERE x > 3)", "count(CASE WHEN x > 3 THEN x END)"),
        ("sum(x) FILTER (WHERE x > 3 OR urban)", "sum(CASE WHEN x > 3 OR urban THEN x END)"),
        ("avg(x) FILTER (WHERE NOT urban)", "avg(CASE WHEN NOT urban THEN x END)"),
        ("count_if(x > 3)", "count(CASE WHEN x > 3 THEN 1 END)"),
        ("countif(urban)", "count(CASE WHEN urban THEN 1 END)"),
        ("count_if(urban) FILTER (WHERE x > 3)", "count(CASE WHEN urban AND x > 3 THEN 1 END)"),
        (
            "count_if(urban) + sum(x) FILTER (WHERE urban)",
            "count(CASE WHEN urban THEN 1 END) + sum(CASE WHEN urban THEN x END)",
        ),
        ("sum(urban)", "sum(CAST(urban AS INTEGER))"),
        ("avg(x > 3)", "avg(CAST(x > 3 AS INTEGER))"),
        ("count(CASE WHEN x > '3' THEN 1 END)", "count(CASE WHEN x > 3 THEN 1 END)"),
        ("count(CASE WHEN x IN ('3', 4) THEN 1 END)", "count(CASE WHEN x IN (3, 4) THEN 1 END)"),
    ],
)
def test_short_forms_mean_the_long_ones(short: str, long: str) -> None:
    first, second = (parse(f"SELECT {form} AS n FROM t", {"t": TABLE}) for form in (short, long))  # noqa: S608
    assert first.bundles == second.bundles
    assert first.outputs == second.outputs


def test_a_filter_that_cannot_become_a_case_is_refused() -> None:
    for sql in (
        "SELECT count(DISTINCT x, y) FILTER (WHERE urban) FROM t",
        "SELECT row_number() FILTER (WHERE urban) FROM t",
    ):
        with pytest.raises(RefusedError, match="FILTER"):
            parse(sql, {"t": TABLE})


def test_filters_count_the_filtered_rows() -> None:
    """The sum has noise of scale 1/500: it moves by 1/2 with probability below 1e-100, and counts move less often."""
    data = pd.DataFrame({"x": [1, 2, 3, 99, None], "urban": [True, False, True, True, False]})
    db = tc.open(data, name="t", unit=tc.ROW, bounds={"x": (0, 10)}, budget=tc.PureDP(epsilon=100_000))
    sql = "SELECT count(*) FILTER (WHERE x > 10), sum(x) FILTER (WHERE urban), count_if(urban), sum(urban) FROM t"
    assert [round(float(str(value))) for value in db.sql(sql, epsilon=20_000).rows()[0]] == [1, 14, 3, 3]
