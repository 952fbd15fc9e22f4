"""Columns and tables that are called like names in generated statements: the answer is that of any other name."""

from __future__ import annotations

import pandas as pd
import pytest

import tacit as tc

COLUMNS = [
    "v",
    "V0",
    "v_1",
    "u",
    "cell",
    "d0",
    "p0",
    "g0",
    "k0",
    "c0",
    "n",
    "sd0",
    "there",
    "l",
    "r",
    "data",
    "located",
]
TABLES = ["data", "located", "layer0", "key0", "pairs", "source_0", "joined1", "left1_0", "v0"]
SURE = 10**7
"""An ε with which every count is exact but for a chance below 1e-9."""


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_may_be_called_like_one_of_ours(name: str) -> None:
    rows = pd.DataFrame({name: [place % 7 for place in range(100)], "other": [place % 3 for place in range(100)]})
    terms = {"name": "t", "bounds": {name: (0, 6), "other": (0, 2)}, "keys": {"other": [0, 1, 2]}}
    db = tc.open(rows, unit=tc.ROW, budget=tc.PureDP(epsilon=10 * SURE), **terms)  # type: ignore[arg-type]
    query = f"""SELECT other, count(*) AS n, sum("{name}" + other) AS s FROM t WHERE "{name}" * 2 < 11 GROUP BY other"""  # noqa: S608 - ours
    kept = rows[rows[name] * 2 < 11]
    expected = [(key, len(part), (part[name] + part["other"]).sum()) for key, part in kept.groupby("other")]
    assert db.sql(query, epsilon=SURE).rows() == [pytest.approx(row, abs=0.5) for row in expected]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("other", ["regions", "data"])
def test_a_table_may_be_called_like_a_part_of_a_statement(name: str, other: str) -> None:
    if name == other:
        other = "located"
    rows = pd.DataFrame({"person": range(60), "region": [place % 3 for place in range(60)], f"{other}.size": [9] * 60})
    regions = pd.DataFrame({"region": [0, 1], "size": [5, 7]})
    limits = {"max_groups": 1, "max_rows": 1, "budget": tc.PureDP(epsilon=10 * SURE)}
    db = tc.open(rows, name=name, unit="person", public={other: regions}, **limits)  # type: ignore[arg-type]
    query = f'SELECT sum(o.size) AS s, count(*) AS n FROM "{name}" AS p JOIN "{other}" AS o ON p.region = o.region'  # noqa: S608 - ours
    assert db.sql(query, epsilon=SURE).rows() == [pytest.approx((20 * 5 + 20 * 7, 40), abs=0.5)]
