"""Outer queries whose result is too large: refused before the charge, or announced if noisy values choose the rows."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

from typing import Any

import pytest

import tacit as tc
from tacit import dry_run
from tacit.database import Database
from tacit.engines.duckdb import sandbox
from tacit.errors import RefusedError

ROWS = {"k": [1, 2], "j": ["a", "b"]}
COUNTS = "WITH a AS (SELECT k, j, count(*) AS n FROM t GROUP BY k, j) "


def opened(keys: int) -> Database:
    listed: Any = {"k": range(keys), "j": ["a", "b"]}
    return tc.open(ROWS, name="t", unit=tc.ROW, keys=listed, budget=tc.PureDP(epsilon=100))


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a result have 50 rows, and a small table with made-up values 10."""
    monkeypatch.setattr(sandbox, "MOST_ROWS", 50)
    monkeypatch.setattr(dry_run, "MOST_ROWS", 50)
    monkeypatch.setattr(dry_run, "FEW_ROWS", 10)


def test_a_result_of_more_than_a_hundred_thousand_rows_costs_nothing() -> None:
    with opened(50_001) as db:
        with pytest.raises(RefusedError, match="more than 100,000 rows") as caught:
            db.sql(COUNTS + "SELECT k, j, n + 1 AS m FROM a", epsilon=1)
        assert "LIMIT" in str(caught.value)
        assert db.left.epsilon == 100


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    "outer",
    [
        "SELECT k, n + 1 AS m FROM a",
        "SELECT a.k, i, n FROM a, range(9) r(i) WHERE a.k < 6",
        "SELECT x.k, x.n + y.n AS m FROM a x JOIN a y ON x.j = y.j WHERE x.k < 5",
        "SELECT k, n FROM a WHERE k < 13 UNION ALL SELECT k, n FROM a WHERE k >= 13",
        "SELECT k, j, sum(n) AS n FROM a GROUP BY ROLLUP (k, j)",
        "SELECT k, unnest([1, 2]) AS i, n FROM a",
    ],
)
def test_what_the_real_number_of_keys_makes_too_large_is_refused(outer: str) -> None:
    with opened(26) as db:
        with pytest.raises(RefusedError):
            db.sql(COUNTS + outer, epsilon=1)
        assert db.left.epsilon == 100


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("outer", "rows"),
    [
        ("SELECT k, n + 1 AS m FROM a LIMIT 50", 50),
        ("SELECT sum(n) AS total FROM a", 1),
        ("SELECT j, sum(n) AS total FROM a GROUP BY j", 2),
        ("SELECT k, n + 1 AS m FROM a WHERE k < 25", 50),
        ("SELECT x.k, x.n + y.n AS m FROM a x JOIN a y ON x.k = y.k AND x.j < y.j", 26),
    ],
)
def test_what_fits_is_answered(outer: str, rows: int) -> None:
    with opened(26) as db:
        answer = db.sql(COUNTS + outer, epsilon=1)
        assert (len(answer), db.left.epsilon) == (rows, 99)


@pytest.mark.usefixtures("small_limits")
def test_rows_that_noise_chooses_are_announced_and_may_be_too_many() -> None:
    chosen = COUNTS + "SELECT k, j, n FROM a WHERE n > {}"
    with opened(26) as db:
        assert "the answer has the released tables" in str(db.plan(chosen.format(-1000), epsilon=50))
        with pytest.warns(UserWarning, match="released, but the computation with them failed"):
            assert len(db.sql(chosen.format(-1000), epsilon=50)) == 52
        assert len(db.sql(chosen.format(1000), epsilon=50)) == 0  # another number has probability e^-900
    with opened(25) as db:
        assert "released tables" not in str(db.plan(chosen.format(-1000), epsilon=50))
