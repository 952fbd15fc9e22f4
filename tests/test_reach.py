"""A reach as users meet it: in `tc.open`, in a policy file, in queries and verbs, on the command line, in receipts."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from cli_runs import run as tacit
from policies import CLINIC, Folder
from tacit.database import Database
from tacit.errors import InvalidError
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.policy.build import version
from tacit.query.pricing.price import Cost, price
from tacit.query.sql.parse import parse

MONTHS = list(range(1, 13))
YEAR = pd.DataFrame(
    {
        "person": [p for p in range(50) for _ in MONTHS] + [99] * 120,
        "month": MONTHS * 50 + [1] * 120,
        "name": [f"month {m}" for _ in range(50) for m in MONTHS] + ["month 1"] * 120,
        "cost": [float(m) for _ in range(50) for m in MONTHS] + [5.0] * 120,
    }
)
TERMS: dict[str, Any] = {
    "name": "year",
    "unit": "person",
    "keys": {"month": MONTHS},
    "bounds": {"cost": (0, 12)},
    "budget": tc.ApproxDP(epsilon=10**9, delta=0.5),
}
BY_MONTH = "SELECT month, count(*) AS n FROM year GROUP BY month"
LARGE = 10**5
"""An ε at which noise is far below one row."""


def year(**limits: Any) -> Database:  # noqa: ANN401 - passed on
    return tc.open(YEAR, **TERMS, **limits)


@pytest.mark.parametrize("limits", [{"reach": 12}, {"reach": np.int64(12)}])
def test_a_person_with_twelve_rows_in_twelve_months_loses_nothing(limits: dict[str, Any]) -> None:
    expected = [50 + 12] + [50] * 11
    with year(**limits) as db:
        assert [n for _, n in db.sql(BY_MONTH, epsilon=LARGE).rows()] == expected
    with year() as db:
        assert [n for _, n in db.sql(BY_MONTH, epsilon=LARGE, **limits).rows()] == expected


def test_every_aggregate_counts_weighted_rows() -> None:
    sql = "SELECT count(*) AS n, count(cost) AS c, sum(cost) AS s, avg(cost) AS a, median(cost) AS m FROM year"
    with year(reach=12) as db:
        (row,) = db.sql(sql, epsilon=100 * LARGE).rows()
        units = db.sql("SELECT count(DISTINCT person) AS u FROM year", epsilon=LARGE).rows()
    n, c, s, a, m = row
    assert (n, c) == (612, 612)
    assert s == pytest.approx(50 * 78 + 12 * 5, abs=0.01)
    assert a == pytest.approx((50 * 78 + 12 * 5) / 612, abs=0.001)
    assert isinstance(m, float)
    assert 5 <= m <= 7
    assert units == [(51,)]


def test_units_are_scaled_to_the_reach_over_their_groups() -> None:
    sql = "SELECT month, count(DISTINCT person) AS u FROM year GROUP BY month"
    with year(reach=6) as db:
        assert [u for _, u in db.sql(sql, epsilon=LARGE).rows()] == [26] + [25] * 11
        counts = [u for _, u in db.sql(sql, epsilon=LARGE, max_groups=6).rows() if isinstance(u, int)]
        assert sum(counts) == 50 * 6 + 1


def test_tables_that_add_up_are_in_rows() -> None:
    with year(reach=12) as db:
        table = db.crosstab("month", epsilon=LARGE)
        assert [n for _, n in table.rows()] == [62] + [50] * 11
        assert table.margin().rows()[0][0] == 612
        planned = db.plan(BY_MONTH, epsilon=1)
        assert planned.error["n"] == pytest.approx(12 * np.log(20), rel=0.01)


def test_the_noise_is_that_of_the_box_with_as_many_rows() -> None:
    with year() as db:
        ball, box = db.plan(BY_MONTH, epsilon=1, reach=12), db.plan(BY_MONTH, epsilon=1, max_groups=4, max_rows=3)
        assert ball.error["n"] == pytest.approx(box.error["n"], rel=0.05)
        limits: list[dict[str, Any]] = [{"reach": 12}, {"reach": 12, "max_rows": 1}, {"max_groups": 12, "max_rows": 1}]
        gaussian = [db.plan(BY_MONTH, epsilon=0.5, delta=1e-6, **some).error["n"] for some in limits]
        assert gaussian[0] > 1.3 * gaussian[1]
        assert gaussian[1] == pytest.approx(gaussian[2], rel=0.05)


def test_each_limit_is_optional() -> None:
    with year() as db:
        assert db.plan(BY_MONTH, epsilon=1, max_rows=1).error["n"] == pytest.approx(12 * np.log(20), rel=0.1)
        assert db.plan("SELECT count(*) AS n FROM year", epsilon=1, max_rows=2, max_groups=1).error["n"] < 7
        with pytest.raises(InvalidError, match="This query needs a limit: reach, the largest number of rows") as caught:
            db.plan(BY_MONTH, epsilon=1)
        assert caught.value.argument == "reach"
        assert str(caught.value).endswith("Nothing was spent.")
        with pytest.raises(InvalidError, match="needs a limit: reach"):
            db.plan(BY_MONTH, epsilon=1, max_groups=3)
        with pytest.raises(InvalidError, match="needs a limit: reach"):
            db.plan("SELECT month, count(DISTINCT person) AS n FROM year GROUP BY month", epsilon=1)
        assert db.plan("SELECT count(DISTINCT person) AS n FROM year", epsilon=1).error["n"] < 4


def test_found_groups_need_max_groups() -> None:
    query = "SELECT name, count(*) AS n, count(DISTINCT person) AS u FROM year GROUP BY name"
    with year(reach=12) as db:
        with pytest.raises(InvalidError, match="needs max_groups"):
            db.plan(query, epsilon=1, delta=1e-6)
        answer = {name: (n, u) for name, n, u in db.sql(query, epsilon=LARGE, delta=1e-6, max_groups=12).rows()}
    assert answer == {f"month {m}": (62, 51) if m == 1 else (50, 50) for m in MONTHS}


@pytest.mark.parametrize("wrong", [0, -1, 1.5, 20.0, nan, inf, "20", True, 10**9 + 1, 2**31, 2**40, [20]])
@pytest.mark.parametrize("limit", ["reach", "max_groups", "max_rows"])
def test_another_limit_is_refused(limit: str, wrong: object) -> None:
    with pytest.raises(tc.InvalidError, match=f"{limit} must be a whole number from 1 to 1,000,000,000"):
        year(**{limit: wrong})
    with year(reach=12) as db, pytest.raises(tc.InvalidError, match=f"{limit} must be a whole number") as caught:
        db.sql(BY_MONTH, epsilon=1, **{limit: wrong})  # type: ignore[arg-type]
    assert str(caught.value).endswith("Nothing was spent.")


def test_rows_that_are_units_need_no_reach_and_ignore_it() -> None:
    with tc.open(YEAR, **{**TERMS, "unit": tc.ROW}, reach=1) as db:
        limited: list[dict[str, Any]] = [{}, {"reach": 1, "max_groups": 1, "max_rows": 1}]
        for limits in limited:
            assert [n for _, n in db.sql(BY_MONTH, epsilon=LARGE, **limits).rows()] == [170] + [50] * 11
        with pytest.raises(tc.InvalidError, match="reach must be"):
            db.plan(BY_MONTH, epsilon=1, reach=0)


@pytest.mark.parametrize("rows", [YEAR.head(0), YEAR.assign(month=0), YEAR.assign(person=None)])
def test_tables_without_rows_units_or_listed_groups(rows: pd.DataFrame) -> None:
    rows = rows.astype({"person": "Int64", "month": "Int64"})
    with tc.open(rows, **TERMS, reach=3) as db:
        assert [n for _, n in db.sql(BY_MONTH, epsilon=LARGE).rows()] == [0] * 12


def test_verbs_take_limits() -> None:
    with year() as db:
        assert db.count(epsilon=LARGE, reach=12).rows() == [(612,)]
        assert db.sum("cost", epsilon=LARGE, reach=12).rows()[0][0] == pytest.approx(3960, abs=0.1)
        assert [n for _, n in db.histogram("cost", [0, 6, 12], epsilon=LARGE, reach=12).rows()] == [262, 350]
        assert db.crosstab("month", epsilon=LARGE, reach=12).rows()[0] == (1, 62)
        median = db.median("cost", epsilon=LARGE, reach=12).rows()[0][0]
        assert isinstance(median, float)
        assert 5 <= median <= 7


def test_a_plan_says_its_limits_and_a_receipt_records_them() -> None:
    with year(reach=12) as db:
        text = str(db.plan(BY_MONTH, epsilon=1, max_rows=3))
        assert (
            "Each unit (column 'person') counts as at most 3 rows a group (more are scaled down to that) and "
            "as at most 12 rows in the whole answer (more are scaled down to that)."
        ) in text
        receipt: Any = db.sql(BY_MONTH, epsilon=1, max_rows=3).receipt
    privacy, (part,) = receipt["privacy"], receipt["mechanisms"]
    assert (privacy["reach"], privacy["max_rows"], privacy["max_groups"]) == (12, 3, None)
    row = 2 ** part["measures"][0]["fraction_bits"]
    assert (part["reach_in_one_group"], part["reach_in_all_groups"]) == (3 * row, 12 * row)
    assert part["sensitivity_l1"] == 12 * row


def test_error_solves_with_a_reach() -> None:
    with year(reach=12) as db:
        quote = db.plan(BY_MONTH, error=50)
        assert quote.error["n"] <= 50
        assert quote.error["n"] == pytest.approx(50, rel=0.01)


# --- policies and old digests ---------------------------------------------------------------------------------------


def test_a_policy_file_has_a_reach(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with_reach = CLINIC.replace("max_rows = 5", "reach = 20")
    assert folder.opened(with_reach).tables["visits"].reach == 20
    assert folder.opened(with_reach).tables["visits"].max_rows is None
    assert folder.opened(with_reach).version != folder.opened(with_reach.replace("reach = 20", "reach = 21")).version
    ((line, where, message),) = folder.wrong(CLINIC.replace("max_rows = 5", "reach = 0"))
    assert (line, where) == (10, "tables.visits.reach")
    assert "1,000,000,000" in message
    assert folder.wrong(CLINIC + '\n[public.regions]\nsource = "r.csv"\nreach = 3\n')


def test_policies_and_plans_without_a_reach_keep_their_hashes(tmp_path: Path) -> None:
    """Computed by tacit 0.2.0: ledgers hold them."""
    assert Folder(tmp_path).opened(CLINIC).version == CLINIC_VERSION
    columns = {
        "u": ColumnPolicy(kind="integer"),
        "g": ColumnPolicy(kind="text", keys=("a", "b", "c")),
        "x": ColumnPolicy(kind="real", bounds=(Fraction(-1), Fraction(3))),
    }
    sql = (
        "SELECT g, count(*) AS n, sum(x) AS s, median(x) AS m, count(DISTINCT x) AS d, var_pop(x) AS v, "
        "corr(x, x) AS c FROM t WHERE x > 0 GROUP BY g"
    )
    table = TablePolicy(name="t", unit="u", max_groups=2, max_rows=5, neighbours="change one", columns=columns)
    plan = parse(sql, {"t": table})
    paid = price(plan, Cost(epsilon=1))
    assert sha256(repr((plan, paid.noise, paid.shares)).encode()).hexdigest() == PLAN_HASH
    assert version(table) == TABLE_VERSION
    assert version(replace(table, reach=3)) != TABLE_VERSION
    assert "reach=3)" in repr(replace(table, reach=3))


CLINIC_VERSION = "199ce9d1e4e96c264e5fbbf06cfd37026d0be7cf53018eab4e578197db5831d6"
TABLE_VERSION = "b28efa68c80e66329a3df52926eb20fa7445f42a07a4de5b9b6ca5957bce495d"
PLAN_HASH = "993650a198ff1141752fcb2d2a9358fb03688b06a12379e904ae6cf36c013dbf"


# --- the command line -----------------------------------------------------------------------------------------------

POLICY = """
budget = { epsilon = 1_000_000.0 }
ledger = "year.ledger"

[tables.year]
source = "year.parquet"
unit = "person"

[tables.year.columns]
month = { keys = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }
"""


def test_the_command_line_takes_limits(tmp_path: Path) -> None:
    YEAR.to_parquet(tmp_path / "year.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    refused = tacit(tmp_path, "plan", "policy.toml", BY_MONTH, "--epsilon", "1")
    assert refused.returncode == 2
    assert "This query needs a limit: reach" in refused.stderr
    planned = tacit(tmp_path, "plan", "policy.toml", BY_MONTH, "--epsilon", "1", "--reach", "12", "--json")
    assert json.loads(planned.stdout)["limits"] == {"reach": 12, "max_groups": None, "max_rows": None}
    options = ["--epsilon", "100000", "--yes", "--json"]
    done = tacit(tmp_path, "query", "policy.toml", BY_MONTH, *options, "--reach", "12")
    assert [row["n"] for row in json.loads(done.stdout)["rows"]] == [62] + [50] * 11
    box = tacit(tmp_path, "query", "policy.toml", BY_MONTH, *options, "--max-groups", "4", "--max-rows", "3")
    assert sum(row["n"] for row in json.loads(box.stdout)["rows"]) == 50 * 4 + 3
    for wrong in ("0", "-1", "1.5", "x", "3000000000"):
        bad = tacit(tmp_path, "query", "policy.toml", BY_MONTH, *options, "--reach", wrong)
        assert bad.returncode == 2
        assert not bad.stdout
