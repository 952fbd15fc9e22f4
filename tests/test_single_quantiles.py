"""Single quantiles as users see them: drawn values and intervals, costs, records, receipts and the command line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from cli_runs import run as tacit
from tacit.cli.demo import write_survey
from tacit.database import Database
from tacit.errors import InvalidError
from tacit.guarantees.events import BoundedRange, PureRelease, ZCDPRelease, from_json
from tacit.query.results.release import Release

ROWS = 6000
DATA = pd.DataFrame(
    {
        "person": np.arange(ROWS) % 3000,
        "ward": ["a", "b", "c"] * (ROWS // 3),
        "note": [f"n{i % 4}" for i in range(ROWS)],
        "x": (np.arange(ROWS) + 0.5) * (100 / ROWS),
        "age": np.arange(ROWS) % 100,
    }
)
TERMS: dict[str, Any] = {
    "name": "t",
    "unit": tc.ROW,
    "keys": {"ward": ["a", "b", "c", "empty"]},
    "bounds": {"x": (0, 100), "age": (0, 120)},
    "budget": tc.ApproxDP(epsilon=10**6, delta=0.5),
}
MEDIAN = "SELECT median(x) AS m FROM t"
BY_WARD = "SELECT ward, median(x) AS m FROM t GROUP BY ward"
CLIPPED = (
    "The column x is clipped to 0 … 100; amounts beyond that are not in these numbers, and the intervals do not "
    "include them."
)


def opened(**changes: object) -> Database:
    return tc.open(DATA, **{**TERMS, **changes})


def mechanisms(answer: Release) -> list[dict[str, Any]]:
    found = answer.receipt["mechanisms"]
    assert isinstance(found, list)
    return found


# --- values and intervals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{}, {"unit": "person", "reach": 2}])
def test_quantiles_are_close_and_inside_their_intervals(limits: dict[str, Any]) -> None:
    """A value of 100 has 60 rows. At ε = 100 for a quantile one row is 28 e-folds or more, with units of two rows."""
    with opened(**limits) as db:
        answer = db.sql("SELECT median(x) AS m, quantile_cont(x, 0.9) AS h FROM t", epsilon=200)
        low = db.sql("SELECT min(x) AS a, max(age) AS b FROM t", epsilon=200)
    table = answer.intervals().dicts()[0]
    for name, true in (("m", 50), ("h", 90)):
        assert table[f"{name}_low"] <= table[name] <= table[f"{name}_high"]  # type: ignore[operator]
        assert abs(float(table[name]) - true) < 1  # type: ignore[arg-type]
    assert 0 <= float(low.rows()[0][0]) < 2  # type: ignore[arg-type]
    assert low.rows()[0][1] in (98, 99)
    assert [each["law"] for each in mechanisms(answer)] == ["exponential mechanism over ranks"] * 2


def test_groups_without_rows_get_a_value_within_the_bounds_and_an_interval() -> None:
    with opened() as db:
        rows = db.sql(BY_WARD, epsilon=10).intervals().rows()
    *_, (ward, value, low, high) = rows
    assert ward == "empty"
    assert 0 <= float(low) <= float(value) <= float(high) <= 100  # type: ignore[arg-type]


def test_a_higher_confidence_has_wider_intervals_and_can_be_asked_for() -> None:
    with opened() as db:
        answer = db.sql(MEDIAN, epsilon=1)
        sure = db.sql(MEDIAN, epsilon=1, confidence=0.999)
    (_, low, high), (_, far_low, far_high) = (answer.intervals(c).rows()[0] for c in (0.95, 0.999))
    assert float(far_low) <= float(low) <= float(high) <= float(far_high)  # type: ignore[arg-type]
    assert mechanisms(sure)[0]["interval"]["miss"] == "1/1000"
    assert sure.intervals().rows() == sure.intervals(0.95).rows()


# --- without intervals ----------------------------------------------------------------------------------------------


def test_without_intervals_only_drawn_quantiles_lack_one() -> None:
    query = "SELECT median(x) AS m, median(x) / avg(x) AS r, count(*) AS n FROM t"
    with opened() as db:
        plan = db.plan(query, epsilon=3, intervals=False, assume=1000)
        answer = db.sql(query, epsilon=3, intervals=False)
    assert plan.error["m"] < db.plan(query, epsilon=3, assume=1000).error["m"]
    assert "drawn by permute-and-flip, without intervals" in str(plan)
    assert "r: the error is not known before, because its denominator may be 0\n" in f"{plan}\n"
    assert answer.intervals().names == ("m", "r", "n", "n_low", "n_high")
    assert answer.notes == ["m and r have no intervals: intervals=False (--no-intervals).", CLIPPED]
    assert mechanisms(answer)[0]["law"] == "permute-and-flip over ranks"
    assert "interval" not in mechanisms(answer)[0]
    assert answer.plot() is not None


def test_many_quantiles_have_intervals_either_way() -> None:
    query = "SELECT " + ", ".join(f"quantile_cont(x, 0.{i:02}) AS q{i}" for i in range(5, 100, 5)) + " FROM t"  # noqa: S608
    with opened() as db:
        answer = db.sql(query, epsilon=1, intervals=False)
    assert answer.notes == [CLIPPED]
    assert "q5_low" in answer.intervals().names


def test_verbs_take_intervals() -> None:
    with opened() as db:
        assert db.median("x", epsilon=1, intervals=False).intervals().names == ("x",)
        assert db.median("x", by="ward", epsilon=1).intervals().names == ("ward", "x", "x_low", "x_high")
        several = db.quantile("x", [0.25, 0.5, 0.75], epsilon=1, intervals=False)
        assert len(several.rows()[0]) == 3
        assert [float(each["epsilon"]) for each in map(event_of, mechanisms(several))] == [pytest.approx(1 / 3)] * 3
        assert db.count(epsilon=1, intervals=False).intervals().names == ("count", "count_low", "count_high")


def event_of(mechanism: dict[str, Any]) -> dict[str, Any]:
    event = from_json(mechanism["event"])
    assert isinstance(event, (BoundedRange, PureRelease))
    return {"epsilon": event.epsilon}


@pytest.mark.parametrize("wrong", [None, 1, "no"])
def test_intervals_is_true_or_false(wrong: object) -> None:
    with opened() as db, pytest.raises(InvalidError, match="intervals must be True or False"):
        db.sql(MEDIAN, epsilon=1, intervals=wrong)  # type: ignore[arg-type]
    assert db.spent == tc.ApproxDP(epsilon=0, delta=0)


# --- costs ----------------------------------------------------------------------------------------------------------


def test_the_whole_cost_is_charged_once() -> None:
    with opened() as db:
        answer = db.sql("SELECT median(x) AS m, count(*) AS n FROM t", epsilon=1, delta=1e-6)
        assert answer.cost == tc.PureDP(epsilon=1.0)
        assert db.spent == tc.ApproxDP(epsilon=1, delta=0)


def test_a_budget_in_rho() -> None:
    with opened(budget=tc.ZCDP(rho=10), unit="person", max_groups=2, max_rows=1) as db:
        answer = db.sql(BY_WARD, rho=0.5)
        assert db.spent == tc.ZCDP(rho=0.5)
        assert from_json(mechanisms(answer)[0]["event"]) == ZCDPRelease(rho=Fraction(1, 2))
        for intervals in (True, False):
            priced = db.plan(BY_WARD, epsilon=1, intervals=intervals)
            assert priced.price.events == (BoundedRange(epsilon=Fraction(1)),)
        db.sql(BY_WARD, epsilon=2)
        assert db.spent == tc.ZCDP(rho=1.0)  # a bounded range of 2 costs 2²/8
        assert db.plan(BY_WARD, error=20, assume=1000).cost.rho < 0.1  # type: ignore[union-attr]


def test_an_error_in_place_of_a_cost() -> None:
    with opened() as db:
        plan = db.plan(MEDIAN, error=2, assume=1000)
        assert plan.error == {"m": pytest.approx(2, rel=1e-3)}
        assert float(plan.cost.epsilon) < 0.25  # type: ignore[arg-type]
        assert float(db.plan(MEDIAN, error=2, assume=1000, intervals=False).cost.epsilon) < 0.16  # type: ignore[arg-type]
        answer = db.sql(MEDIAN, error=2, assume=1000)
        assert answer.cost == plan.cost


def test_a_declared_plan_composes_draws() -> None:
    with opened() as db:
        plans = [db.plan(f"SELECT median(x) AS m FROM t WHERE age > {age}", epsilon=0.05) for age in range(40)]  # noqa: S608
        declared = tc.declare(plans, delta=1e-6)
        assert float(declared.cost.epsilon) < 0.6 * 40 * 0.05  # type: ignore[arg-type]
        assert len(declared.ask()) == 40
        assert db.spent == declared.cost


# --- groups, limits and records -------------------------------------------------------------------------------------


def test_groups_that_are_found_in_the_data() -> None:
    with opened(unit="person", max_groups=2, max_rows=2) as db:
        answer = db.sql("SELECT note, median(x) AS m FROM t GROUP BY note", epsilon=50, delta=1e-6)
        chosen = db.sql("SELECT note, median(x) AS m FROM t GROUP BY note HAVING median(x) > 0", epsilon=50, delta=1e-6)
    assert [row[0] for row in answer.rows()] == ["n0", "n1", "n2", "n3"]
    for _, value, low, high in answer.intervals().rows():
        assert float(low) <= float(value) <= float(high)  # type: ignore[arg-type]
        assert abs(float(value) - 50) < 10  # type: ignore[arg-type]
    assert mechanisms(chosen)[0]["interval"]["miss"] == "1/1000"  # 50 groups are assumed


def test_having_needs_intervals_for_all_groups_together() -> None:
    with opened() as db:
        answer = db.sql(f"{BY_WARD} HAVING median(x) > 0", epsilon=1)
    assert mechanisms(answer)[0]["interval"]["miss"] == "1/80"
    assert answer.intervals().names == ("ward", "m", "m_low", "m_high")


def test_a_reach_is_chosen_and_the_cut_is_measured_beside_draws() -> None:
    with opened(unit="person") as db:
        query = "SELECT ward, median(x) AS m, count(*) AS n FROM t GROUP BY ward"
        chosen = db.sql(query, epsilon=100, reach="auto")
        assert "exponential mechanism over ranks" in [each["law"] for each in mechanisms(chosen)]
        cut = db.sql("SELECT median(x) AS m, count(*) AS n FROM t", epsilon=100, reach=1, measure_cut=2)
        assert cut.cut is not None
        assert cut.cut.names == ("n_not_counted", "n_not_counted_low", "n_not_counted_high", *cut.cut.names[3:])


def test_a_recorded_answer_is_repeated_with_its_intervals() -> None:
    with opened(data_version="1") as db:
        for options in ({}, {"intervals": False}):
            first, second = (db.sql(BY_WARD, epsilon=1, **options) for _ in range(2))  # type: ignore[arg-type]
            assert second.repeated
            assert second.rows() == first.rows()
            assert second.intervals().rows() == first.intervals().rows()
            assert second.receipt == first.receipt
        assert db.spent == tc.ApproxDP(epsilon=2, delta=0)
        assert not db.sql(BY_WARD, epsilon=1, confidence=0.9).repeated  # another interval is another draw


def test_a_request_repeats_a_draw() -> None:
    with opened() as db:
        first, second = (db.sql(MEDIAN, epsilon=1, request="monday") for _ in range(2))
        assert (second.repeated, second.rows()) == (True, first.rows())


def test_a_receipt_has_all_that_the_guarantee_follows_from() -> None:
    with opened(unit="person", reach=3) as db:
        answer = db.sql("SELECT quantile_cont(x, 0.9) AS h, max(age) AS b FROM t", epsilon=2)
    first, second = mechanisms(answer)
    assert json.loads(json.dumps(first)) == first
    assert first["rank"] == {"share": "9/10"}
    assert first["cells"] == first["cells_of_a_bin"] * first["measures"][0]["bins"]
    assert Fraction(first["sensitivity"]) == Fraction(9, 10) * first["reach_in_all_groups"]
    assert Fraction(first["scale"]) == 2 * Fraction(first["sensitivity"]) / Fraction(event_of(first)["epsilon"])
    assert second["rank"]["from"] == "above"
    assert f"at rank about {second['rank']['rows']} from above" in answer.receipt["notes"]["max(age)"]  # type: ignore[index]


# --- the command line -----------------------------------------------------------------------------------------------

POLICY = """
budget = { epsilon = 10.0 }
ledger = "survey.ledger"

[tables.survey]
source = "survey.csv"
unit = "person_id"
reach = 2

[tables.survey.columns]
income = { bounds = [0, 200_000] }
"""


def test_no_intervals_on_the_command_line(tmp_path: Path) -> None:
    write_survey(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    query = ["policy.toml", "SELECT median(income) AS m FROM survey", "--epsilon", "1", "--no-intervals"]
    planned = json.loads(tacit(tmp_path, "plan", *query, "--json").stdout)
    assert "without intervals" in planned["noise"]
    answer = json.loads(tacit(tmp_path, "query", *query, "--yes", "--json").stdout)
    assert list(answer["rows"][0]) == ["m"]
    printed = tacit(tmp_path, "query", *query[:-1], "--yes").stdout
    assert "95% interval of m" in printed
    assert "m has no interval: intervals=False (--no-intervals)." in tacit(tmp_path, "query", *query, "--yes").stdout
