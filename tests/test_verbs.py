"""Verbs: the same questions as in SQL, with the same plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError

ROWS = pd.DataFrame(
    {
        "person": [n // 2 for n in range(600)],
        "income": [n % 100 * 10.0 for n in range(600)],
        "age group": [("young", "old")[n % 2] for n in range(600)],
        "urban": [n % 3 == 0 for n in range(600)],
        "town": [str(n % 7) for n in range(600)],
    }
)


@pytest.fixture
def db() -> Database:
    return tc.open(
        ROWS,
        unit="person",
        max_groups=2,
        max_rows=2,
        bounds={"income": (0, 1000)},
        keys={"age group": ["young", "old"]},
        budget=tc.PureDP(epsilon=10**6),
    )


LARGE = 10_000  # so that noise is 0 but with probability below e^-1000


@pytest.mark.parametrize(
    ("ask", "sql"),
    [
        (lambda db: db.count(epsilon=LARGE), 'SELECT count(*) AS "count" FROM data'),
        (
            lambda db: db.count(by="age group", where="income >= 500", epsilon=LARGE),
            'SELECT "age group", count(*) AS "count" FROM data WHERE income >= 500 GROUP BY 1',
        ),
        (lambda db: db.sum("income", epsilon=LARGE), "SELECT sum(income) AS income FROM data"),
        (
            lambda db: db.mean("income", by=["age group", "urban"], epsilon=LARGE),
            'SELECT "age group", urban, avg(income) AS income FROM data GROUP BY 1, 2',
        ),
        (lambda db: db.mean("income / 10", epsilon=LARGE), "SELECT avg(income / 10) AS mean FROM data"),
    ],
)
def test_a_verb_asks_what_its_sql_asks(db: Database, ask: Callable[[Database], Any], sql: str) -> None:
    spoken, written = ask(db), db.sql(sql, epsilon=LARGE)
    for one, two in zip(spoken.rows(), written.rows(), strict=True):
        assert one[:-1] == two[:-1]
        assert one[-1] == pytest.approx(two[-1], rel=1e-2)
    assert [name for name, _ in spoken.plan.outputs] == [name for name, _ in written.plan.outputs]
    assert spoken.plan.bundles == written.plan.bundles


def test_other_statistics_are_near_the_truth(db: Database) -> None:
    [(variance,)] = db.variance("income", epsilon=LARGE).rows()
    assert variance == pytest.approx(ROWS["income"].var(), rel=0.02)
    [(population,)] = db.variance("income", sample=False, epsilon=LARGE).rows()
    assert population == pytest.approx(ROWS["income"].var(ddof=0), rel=0.02)
    [(median,)] = db.median("income", epsilon=LARGE).rows()
    assert median == pytest.approx(ROWS["income"].median(), abs=15)
    asked = db.quantile("income", [0.25, 0.75], epsilon=LARGE)
    assert [name for name, _ in asked.plan.outputs] == ["income_0.25", "income_0.75"]
    assert asked.rows()[0] == pytest.approx((250, 750), abs=15)


def test_a_histogram_counts_each_value_in_one_bin_the_last_edge_included(db: Database) -> None:
    found = db.histogram("income", bins=[0, 100, 500, 990], epsilon=LARGE)
    assert found.rows() == [("[0, 100)", 60), ("[100, 500)", 240), ("[500, 990]", 300)]
    assert db.histogram("income", bins=2, by="urban", epsilon=LARGE).rows() == [
        (False, "[0, 500)", 200),
        (False, "[500, 1000]", 200),
        (True, "[0, 500)", 100),
        (True, "[500, 1000]", 100),
    ]


def test_one_bin_is_a_histogram_too(db: Database) -> None:
    assert db.histogram("income", bins=[0, 1000], epsilon=LARGE).rows() == [("[0, 1000]", 600)]


BAD_BINS = [[], [1], [2, 1], [1, 1], [0, float("nan")], [0, float("inf")], "ab", 0, -3, True, [0, "1"]]


@pytest.mark.parametrize("bins", BAD_BINS)
def test_bins_must_be_increasing_finite_edges(db: Database, bins: object) -> None:
    with pytest.raises(InvalidError, match="bins"):
        db.histogram("income", bins=bins, epsilon=1)  # type: ignore[call-overload]
    assert not db.ledger.entries()


def test_a_crosstab_adds_up(db: Database) -> None:
    found = db.crosstab("age group", "urban", epsilon=LARGE)
    assert found.rows() == [("young", False, 200), ("young", True, 100), ("old", False, 200), ("old", True, 100)]
    (*_, low, high), (true, count, *_) = found.margin("urban").rows()
    assert (low, high) == pytest.approx((400, 400), abs=0.51)  # half a step of the grid
    assert (true, count) == (True, 200)
    with pytest.raises(ColumnNotFoundError, match="income") as caught:
        found.margin("income")
    assert caught.value.columns == ("age group", "urban")
    with pytest.raises(InvalidError, match="margin"):
        db.count(epsilon=1).margin()


def test_a_noisy_crosstab_is_whole_never_negative_and_priced_by_error_too(db: Database) -> None:
    found = db.crosstab("age group", "urban", where="income < 20", epsilon=0.05)
    assert all(isinstance(row[-1], int) and row[-1] >= 0 for row in found.rows())
    assert found.cost == tc.PureDP(epsilon=0.05)
    wanted = db.crosstab("age group", "urban", error=25)
    assert max(high - low for *_, low, high in wanted.intervals().rows()) <= 50.001  # type: ignore[operator]


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: db.mean("incme", epsilon=1),
        lambda db: db.mean("income; SELECT 1", epsilon=1),
        lambda db: db.mean("income FROM data", epsilon=1),
        lambda db: db.mean("", epsilon=1),
        lambda db: db.mean(None, epsilon=1),
        lambda db: db.count(where="urban) OR (urban", epsilon=1),
        lambda db: db.count(where="urban GROUP BY urban", epsilon=1),
        lambda db: db.count(where="", epsilon=1),
        lambda db: db.count(by="nothing", epsilon=1),
        lambda db: db.count(table="other", epsilon=1),
        lambda db: db.quantile("income", 1.5, epsilon=1),
        lambda db: db.quantile("income", [], epsilon=1),
        lambda db: db.quantile("income", float("nan"), epsilon=1),
        lambda db: db.crosstab(epsilon=1),
        lambda db: db.crosstab("town", epsilon=1),
        lambda db: db.count(by="person", epsilon=1),
        lambda db: db.count(),
    ],
)
def test_mistakes_are_told_before_anything_is_spent(db: Database, ask: Callable[[Database], Any]) -> None:
    with pytest.raises((InvalidError, RefusedError)):
        ask(db)
    assert not db.ledger.entries()
