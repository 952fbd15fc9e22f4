"""Regressions, skewness, `bool_or`, `arg_max` and their kin through `db.sql`: equal to DuckDB at a huge ε."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.query.noise_law import sensitivity
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

RNG = np.random.default_rng(5)
ROWS = 400
X = RNG.integers(0, 11, ROWS)
FRAME = pd.DataFrame(
    {
        "person": np.arange(ROWS),
        "ward": RNG.choice(["A", "B", "C"], ROWS, p=[0.5, 0.3, 0.2]),
        "x": X,
        "y": np.clip(2 + 0.5 * X + RNG.normal(size=ROWS), 0, 10),
        "rare": np.arange(ROWS) == 7,
    }
)
FRAME.loc[3, "y"] = None


def exact(sql: str) -> list[tuple[Any, ...]]:
    """Return DuckDB's answer."""
    connection = duckdb.connect()
    connection.register("people", FRAME)
    return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def db() -> Database:
    return tc.open(
        FRAME,
        name="t",
        unit="person",
        max_groups=3,
        max_rows=1,
        bounds={"x": (0, 10), "y": (0, 10)},
        keys={"ward": ["A", "B", "C"]},
        budget=tc.PureDP(epsilon=1e12),
    )


@pytest.mark.parametrize(
    "call",
    [
        *("regr_slope(y, x)", "regr_intercept(y, x)", "regr_r2(y, x)", "regr_count(y, x)", "regr_avgx(y, x)"),
        *("regr_avgy(y, x)", "skewness(y)", "bool_or(rare)", "bool_and(rare)", "bool_and(x <= 10)", "bool_or(x > 10)"),
        *("approx_count_distinct(ward)", "count(DISTINCT ward)"),
    ],
)
def test_without_noise_it_is_duckdbs_answer(db: Database, call: str) -> None:
    sql = f"SELECT ward, {call} AS a FROM t GROUP BY ward ORDER BY ward"  # noqa: S608 - a test's own text
    found = db.sql(sql, epsilon=1e7).rows()
    expected = exact(sql.replace("FROM t", "FROM people"))
    for (ward, value), (other, truth) in zip(found, expected, strict=True):
        assert ward == other
        assert value == pytest.approx(truth, abs=5e-3)


def test_the_best_ward_is_that_of_a_grouped_query(db: Database) -> None:
    for total in ("count(*)", "sum(x)", "sum(x - 5)", "count(y)"):
        wards = exact(f"SELECT ward FROM people GROUP BY ward ORDER BY {total}")  # noqa: S608 - a test's own text
        sql = f"SELECT arg_max(ward, {total}) AS a, arg_min(ward, {total}) AS b FROM t"  # noqa: S608 - as above
        assert db.sql(sql, epsilon=1e6).rows() == [(wards[-1][0], wards[0][0])]


def test_arg_max_of_a_grouped_query_computes_with_its_answer(db: Database) -> None:
    sql = "SELECT arg_max(ward, n) AS best FROM (SELECT ward, count(*) AS n FROM t GROUP BY ward)"
    assert db.sql(sql, epsilon=1e6).rows() == [("A",)]


def test_any_value_of_keys_is_exact(db: Database) -> None:
    sql = "SELECT ward, any_value(ward) AS a, any_value(lower(ward) || '!') AS b, count(*) AS n FROM t GROUP BY ward"
    assert [row[:3] for row in db.sql(sql, epsilon=1).rows()] == [(w, w, f"{w.lower()}!") for w in "ABC"]
    with pytest.raises(tc.RefusedError, match="expressions of keys"):
        db.plan("SELECT ward, any_value(ward || CAST(x AS TEXT)) FROM t GROUP BY ward", epsilon=1)


def test_categories_and_truth_values_have_errors_in_words(db: Database) -> None:
    plan = db.plan("SELECT bool_or(rare) AS o, arg_min(ward, sum(x)) AS w FROM t", epsilon=2)
    assert (
        "o: true if 3 or more units have a true value with 95% confidence; wrong with probability 27% if none"
        in str(plan)
    )
    assert "w: its sum is at most 37 above the least of 3 values" in str(plan).replace("36.8888", "37")
    answer = db.sql("SELECT bool_or(rare) AS o, arg_min(ward, sum(x)) AS w FROM t", epsilon=2)
    assert any("o is true if 3 or more units have a true value" in note for note in answer.notes)
    assert any("the sum of the shown w is at most" in note for note in answer.notes)
    accuracy = json.loads(json.dumps(answer.receipt))["accuracy"]["error"]
    assert accuracy["bool_or(rare)"] == {"units_that_are_seen": 3.0}
    with pytest.raises(tc.RefusedError, match="truth value"):
        db.plan("SELECT bool_or(rare) AS o FROM t", error=3)


def test_an_error_without_a_bound_is_not_stated(db: Database) -> None:
    sql = "SELECT regr_slope(y, x) AS s, skewness(y) AS k FROM t"
    plan = db.plan(sql, epsilon=1)
    assert plan.unknown == ("s", "k")
    assert set(db.plan(sql, epsilon=1, assume=400).error) == {"s", "k"}
    receipt = db.sql(sql, epsilon=1).receipt
    assert json.loads(json.dumps(receipt))["accuracy"]["error"]["skewness(y)"] is None


def test_a_discovered_group_counts_each_unit_fully() -> None:
    """No reach applies to units of discovered groups, so their sensitivity is that of max_groups."""
    columns = {"u": ColumnPolicy(kind="integer"), "g": ColumnPolicy(kind="text"), "b": ColumnPolicy(kind="boolean")}
    table = TablePolicy(
        name="t", unit="u", max_groups=4, max_rows=None, reach=2, neighbours="add/remove", columns=columns
    )
    found = parse("SELECT g, bool_or(b) AS o FROM t GROUP BY g", {"t": table})
    assert sensitivity(found, found.bundles[0], "laplace") == 4
    listed = parse("SELECT g, bool_or(b) AS o FROM t GROUP BY g", {"t": table}, keys={"g": ["a", "b", "c", "d"]})
    unit = 1 << listed.bundles[0].measures[0].fraction_bits
    assert sensitivity(listed, listed.bundles[0], "laplace") == 2 * unit
