"""Limits as users see them: the sentence below answers on rows left out, and the measured cut of a reach."""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from cli_runs import run as tacit
from hostile_text import acting
from tacit.database import Database
from tacit.errors import InvalidError
from tacit.query.results.group_note import keys_note
from tacit.query.results.limits_note import limits_note, not_counted

VISITS = pd.DataFrame(
    {
        "person": [0] * 300 + [1] * 40 + list(range(2, 52)) * 2,
        "ward": (["a", "b"] * 170) + ["a"] * 100,
        "note": ["x"] * 440,
        "cost": [2] * 300 + [9] * 40 + [1] * 100,
    }
)
TERMS: dict[str, Any] = {
    "name": "visits",
    "unit": "person",
    "keys": {"ward": ["a", "b"]},
    "bounds": {"cost": (0, 5)},
    "budget": tc.ApproxDP(epsilon=10**9, delta=0.5),
}
COUNT = "SELECT count(*) AS n FROM visits"
BY_WARD = "SELECT ward, count(*) AS n, sum(cost) AS cost FROM visits GROUP BY ward"
LARGE = 10**6
ENDS = "are not in these numbers, and the intervals do not include them."


def visits(**changes: object) -> Database:
    return tc.open(VISITS, **{**TERMS, **changes})


# --- the sentence ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "query", "note"),
    [
        ({"reach": 20}, COUNT, f"Each person counts as at most 20 rows; rows beyond that {ENDS}"),
        ({"reach": 1}, COUNT, f"Each person counts as at most 1 row; rows beyond that {ENDS}"),
        ({"max_rows": 2000}, COUNT, f"Each person counts as at most 2,000 rows; rows beyond that {ENDS}"),
        (
            {"reach": 20},
            BY_WARD,
            f"Each person counts as at most 20 rows, and cost is clipped to 0 … 5; rows and amounts beyond that {ENDS}",
        ),
        (
            {"max_groups": 1, "max_rows": 3, "reach": 7},
            BY_WARD.replace("sum", "count"),
            (
                "Each person counts in at most 1 group, as at most 3 rows a group and as at most 7 rows in all; "
                f"rows beyond that {ENDS}"
            ),
        ),
        (
            {"max_groups": 1},
            "SELECT ward, count(DISTINCT person) AS n FROM visits GROUP BY ward",
            f"Each person counts in at most 1 group; groups beyond that {ENDS}",
        ),
        (
            {"reach": 1},
            "SELECT ward, count(DISTINCT person) AS n FROM visits GROUP BY ward",
            f"Each person counts as at most 1 in all groups together; groups beyond that {ENDS}",
        ),
        (
            {"reach": 2},
            "SELECT count(DISTINCT note) AS n FROM visits",
            f"Each person counts as at most 2 different values; values beyond that {ENDS}",
        ),
        ({"max_groups": 2}, "SELECT count(DISTINCT person) AS n FROM visits", None),
        ({"unit": tc.ROW}, BY_WARD, f"The column cost is clipped to 0 … 5; amounts beyond that {ENDS}"),
        ({"unit": tc.ROW}, BY_WARD.replace("sum(cost)", "count(cost)"), None),
    ],
)
def test_one_sentence_says_what_limits_leave_out(limits: dict[str, Any], query: str, note: str | None) -> None:
    with visits(**limits) as db:
        answer = db.sql(query, epsilon=1)
        assert limits_note(answer.plan) == note
        receipt: Any = answer.receipt
        keys = "Rows with another ward, and rows where ward is NULL, are not counted." if "GROUP BY" in query else None
        assert not_counted(answer.plan) == [each for each in (keys, note) if each]
        assert receipt.get("not_counted") == (" ".join(not_counted(answer.plan)) or None)
        for shown in (str(answer), answer._repr_html_()):
            assert (note or ENDS) in shown if note else ENDS not in shown
        subtitle = answer.plot().to_dict()["title"]["subtitle"]
        text = subtitle if isinstance(subtitle, str) else " ".join(subtitle)
        assert (note or "") in text
        assert (ENDS in text) == (note is not None)


def test_groups_that_are_found_have_the_sentence_too() -> None:
    with visits(reach=20) as db:
        answer = db.sql("SELECT note, count(*) AS n FROM visits GROUP BY note", epsilon=9, delta=1e-6, max_groups=1)
        assert "Each person counts in at most 1 group and as at most 20 rows; rows beyond that" in str(answer)


def test_the_sentence_of_a_unit_with_any_name_is_one_line() -> None:
    frame = VISITS.rename(columns={"person": "a\x1b[2J\n<b>"})
    with tc.open(frame, **{**TERMS, "unit": "a\x1b[2J\n<b>"}, reach=3) as db:
        answer = db.sql(COUNT, epsilon=1, measure_cut=9)
        assert not acting(str(answer))
        assert len(str(answer).splitlines()) == 6
        assert "<b>" not in answer._repr_html_()


def test_a_recorded_answer_has_the_sentence_and_its_cut() -> None:
    with tc.open(VISITS, **TERMS, reach=20, data_version="1") as db:
        first, again = (db.sql(BY_WARD, epsilon=1, measure_cut=100) for _ in range(2))
        other = db.sql(BY_WARD, epsilon=1, measure_cut=101)
    assert (again.repeated, other.repeated) == (True, False)
    assert str(first) == str(again)
    assert first.cut == again.cut


@pytest.mark.parametrize(
    ("keys", "query", "note"),
    [
        ({"ward": ["A", None]}, "GROUP BY ward", "Rows with another ward are not counted."),
        ({"old": [True, False]}, "GROUP BY old", "Rows where old is NULL are not counted."),
        ({"old": [True, False, None]}, "GROUP BY old", None),
        ({"old": [True]}, "GROUP BY old", "Rows with another old, and rows where old is NULL, are not counted."),
        (
            {"ward": ["A"], "n": [0, 1]},
            "GROUP BY ward, n",
            "Rows with another ward or n, and rows where ward or n is NULL, are not counted.",
        ),
        ({}, "", None),
    ],
)
def test_rows_in_no_listed_group_are_named(keys: dict[str, list[Any]], query: str, note: str | None) -> None:
    rows = pd.DataFrame({"person": [1, 2], "ward": ["A", "B"], "old": [True, False], "n": [0, 1]})
    columns = "".join(f"{name}, " for name in keys)
    with tc.open(rows, name="t", unit="person", reach=1, keys=keys, budget=tc.PureDP(epsilon=1)) as db:
        plan = db.plan(f"SELECT {columns}count(*) AS c FROM t {query}", epsilon=1).plan  # noqa: S608 - fixed text
    assert keys_note(plan) == note


# --- the measured cut -----------------------------------------------------------------------------------------------


def test_the_cut_of_counts_and_sums_is_measured() -> None:
    with visits(reach=20) as db:
        answer = db.sql(BY_WARD, epsilon=LARGE, measure_cut=100)
        assert answer.cost == tc.PureDP(epsilon=LARGE)
        assert answer.cut is not None
        assert answer.cut.names == (
            *("ward", "n_not_counted", "n_not_counted_low", "n_not_counted_high"),
            *("n_up_to_100", "n_up_to_100_low", "n_up_to_100_high"),
            *("cost_not_counted", "cost_not_counted_low", "cost_not_counted_high"),
            *("cost_up_to_100", "cost_up_to_100_low", "cost_up_to_100_high"),
        )
        # person 0 has 300 rows of 2, person 1 has 40 rows of 9, clipped to 5, in both wards alike
        assert [(row["n_not_counted"], row["n_up_to_100"]) for row in answer.cut.dicts()] == [(50, 170), (50, 70)]
        assert [row["cost_not_counted"] for row in answer.cut.dicts()] == [80 + 50] * 2
        assert [row["cost_up_to_100"] for row in answer.cut.dicts()] == [300, 200]
        whole = db.sql(BY_WARD, epsilon=LARGE, measure_cut=300)
        assert whole.cut is not None
        assert [row["n_up_to_300"] for row in whole.cut.dicts()] == [270, 170]


def test_answers_without_measure_cut_have_no_cut() -> None:
    with visits(reach=20) as db:
        answer = db.sql(BY_WARD, epsilon=1)
    assert answer.cut is None
    assert answer.cut_columns() == []
    assert "not_counted" not in str(answer)
    assert "cut" not in answer.receipt


def test_it_is_shown_wherever_the_answer_is() -> None:
    sql = "SELECT ward, count(*) AS n, sum(cost) AS cost, avg(cost) AS mean FROM visits GROUP BY ward"
    with visits(reach=20) as db:
        answer = db.sql(sql, epsilon=LARGE, measure_cut=1000, share=0.25)
    measured = (
        "Columns that end in not_counted estimate what rows 21 to 1,000 of each person would add. Those that end in "
        "up_to_1000 are the answer with them. This takes 25 % of the cost. Each has separate noise"
    )
    others = "The cut of mean cannot be measured: only a count or a sum of rows can be corrected."
    for text in (str(answer), answer._repr_html_()):
        assert measured in text
        assert others in text
        assert "95% interval of n_not_counted" in text
        assert "95% interval of cost_up_to_1000" in text
    chart = answer.plot().to_dict()
    drawn = {row.get("column") for rows in chart["datasets"].values() for row in rows}
    assert drawn >= {"n", "n_not_counted", "n_up_to_1000"}
    assert others in " ".join(chart["title"]["subtitle"])
    receipt: Any = json.loads(json.dumps(answer.receipt))
    assert receipt["cut"]["up_to_rows"] == 1000
    assert receipt["cut"]["share"] == "1/4"
    assert set(receipt["cut"]["error_up_to_rows"]) == {"count(*)", "sum(cost)"}
    beyond = [each for each in receipt["mechanisms"] if "rows_beyond_the_reach_up_to" in each["measures"][0]]
    assert [each["for"] for each in beyond] == [["count(*)"], ["sum(cost)"]]
    assert sum(Fraction(each["share"]) for each in beyond) == Fraction(1, 4)
    assert beyond[0]["sensitivity_l1"] == 980 << beyond[0]["measures"][0]["fraction_bits"]


def test_a_query_that_chooses_groups_has_intervals_for_all_of_them() -> None:
    with visits(reach=20) as db:
        plain = db.sql(BY_WARD, epsilon=100, measure_cut=100)
        chosen = db.sql(f"{BY_WARD} HAVING n > -1000000", epsilon=100, measure_cut=100)
    widths: list[Any] = []
    for answer in (plain, chosen):
        assert answer.cut is not None
        row: Any = answer.cut.dicts()[0]
        widths.append(row["n_up_to_100_high"] - row["n_up_to_100_low"])
    assert widths[1] > 1.1 * widths[0]


def test_verbs_measure_the_cut() -> None:
    with visits(reach=20) as db:
        count = db.count(by="ward", epsilon=LARGE, measure_cut=300)
        total = db.sum("cost", epsilon=LARGE, measure_cut=300, share=Fraction(1, 2))
        assert count.cut is not None
        assert [row["count_up_to_300"] for row in count.cut.dicts()] == [270, 170]
        assert total.cut is not None
        assert [row["cost_up_to_300"] for row in total.cut.dicts()] == [300 * 2 + 40 * 5 + 100]
        with pytest.raises(InvalidError, match="histogram or a crosstab cannot be measured") as caught:
            db.histogram("cost", 2, epsilon=1, measure_cut=30)
        assert str(caught.value).endswith("Nothing was spent.")
        with pytest.raises(InvalidError, match="histogram or a crosstab cannot be measured"):
            db.crosstab("ward", epsilon=1, measure_cut=30)


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"epsilon": 0.5, "delta": 1e-6}])
def test_a_plan_shows_the_width_with_the_cut_and_that_of_a_larger_reach(cost: dict[str, Any]) -> None:
    with visits(reach=20) as db:
        plan = db.plan(BY_WARD, **cost, measure_cut=1000)
        larger = db.plan(BY_WARD, **cost, reach=1000)
        assert plan.error_at_once == pytest.approx({name: larger.error[name] for name in ("n", "cost")})
        assert all(plan.uncut_error[name] > plan.error_at_once[name] for name in plan.uncut_error)
        for text in (str(plan), plan._repr_html_()):
            assert "n_up_to_1000: off by at most" in text
            assert "asked with reach=1000 at once: off by at most" in text
        answer = db.sql(BY_WARD, **cost, measure_cut=1000)
        assert answer.cut is not None
        row: Any = answer.cut.dicts()[0]
        assert row["n_up_to_1000_high"] - row["n_up_to_1000"] == pytest.approx(plan.uncut_error["n"], rel=0.01)
        assert db.plan(BY_WARD, **cost).uncut_error == db.plan(BY_WARD, **cost).error_at_once == {}


def test_an_error_is_that_of_the_answer_and_declared_plans_measure_the_cut() -> None:
    with visits(reach=20) as db:
        quote = db.plan(BY_WARD, error=100, measure_cut=1000)
        assert max(quote.error.values()) <= 100
        assert set(quote.error_at_once) == {"n", "cost"}
        (answer,) = tc.declare([quote]).ask()
        assert answer.cut is not None


def test_zcdp_measures_the_cut() -> None:
    with visits(reach=20, budget=tc.ZCDP(rho=10**9)) as db:
        answer = db.sql(BY_WARD, rho=10**8, measure_cut=300)
        assert answer.cut is not None
        assert [row["n_up_to_300"] for row in answer.cut.dicts()] == [270, 170]
        assert db.plan(BY_WARD, rho=1, measure_cut=300).error_at_once["n"] > 0


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, 1, -5, 1.5, 100.0, nan, inf, "100", True, 10**9 + 1, [100], np.float64(100)])
def test_another_cap_is_refused(wrong: object) -> None:
    with visits(reach=20) as db:
        with pytest.raises(
            InvalidError, match=r"measure_cut must be a whole number above the reach, at most"
        ) as caught:
            db.sql(COUNT, epsilon=1, measure_cut=wrong)  # type: ignore[arg-type]
        assert db.spent == tc.ApproxDP(epsilon=0, delta=0)
    assert str(caught.value).endswith("Nothing was spent.")
    assert caught.value.argument == "measure_cut"


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 1.5, nan, inf, "0.1", True])
def test_another_share_is_refused(wrong: object) -> None:
    with visits(reach=20) as db, pytest.raises(InvalidError, match="share must be a number strictly") as caught:
        db.plan(COUNT, epsilon=1, measure_cut=100, share=wrong)  # type: ignore[arg-type]
    assert str(caught.value).endswith("Nothing was spent.")


def test_a_share_of_nothing_is_refused() -> None:
    with visits(reach=20) as db, pytest.raises(InvalidError, match="share has no effect without reach"):
        db.plan(COUNT, epsilon=1, share=0.1)


@pytest.mark.parametrize(
    ("limits", "query", "message"),
    [
        ({"reach": 20}, {"measure_cut": 20}, "above the reach, which is 20"),
        ({}, {"measure_cut": 20, "max_rows": 3}, "the query has no reach"),
        ({"reach": 20}, {"measure_cut": 30, "max_rows": 3}, "the query has max_rows"),
        ({"reach": 20, "max_groups": 1}, {"measure_cut": 30}, "the query has max_groups"),
        ({"unit": tc.ROW}, {"measure_cut": 30, "reach": 20}, "each row is a unit"),
    ],
)
def test_other_limits_are_refused_before_the_charge(
    limits: dict[str, Any], query: dict[str, Any], message: str
) -> None:
    with visits(**limits) as db:
        with pytest.raises(InvalidError, match=message) as caught:
            db.sql(BY_WARD, epsilon=1, **query)
        assert db.spent == tc.ApproxDP(epsilon=0, delta=0)
    assert str(caught.value).endswith("Nothing was spent.")


def test_numpy_integers_and_the_largest_cap_are_taken() -> None:
    with visits(reach=20) as db:
        assert db.plan(COUNT, epsilon=1, measure_cut=np.int64(100)).plan.cap == 100  # type: ignore[arg-type]
        assert db.plan(COUNT, epsilon=1, measure_cut=10**9).uncut_error["n"] > 10**9


def test_too_much_noise_says_to_lower_the_cap() -> None:
    with visits(reach=20, bounds={"cost": (0, 2**30)}) as db:
        with pytest.raises(InvalidError, match="smaller measure_cut"):
            db.plan("SELECT sum(cost) AS s FROM visits", epsilon=1e-3, measure_cut=10**9)
        with pytest.raises(InvalidError, match="smaller measure_cut"):
            db.plan("SELECT sum(clamp(cost, 0, 1e12)) AS s FROM visits", epsilon=1e-6, measure_cut=10**9)


@pytest.mark.parametrize("rows", [VISITS.head(0), VISITS.assign(ward="c"), VISITS.assign(person=None)])
def test_tables_without_rows_units_or_listed_groups(rows: pd.DataFrame) -> None:
    with tc.open(rows.astype({"person": "Int64", "cost": "Int64"}), **TERMS, reach=3) as db:
        answer = db.sql(BY_WARD, epsilon=LARGE, measure_cut=30)
        assert answer.cut is not None
        assert [row["n_up_to_30"] for row in answer.cut.dicts()] == [0, 0]


# --- the command line -----------------------------------------------------------------------------------------------

POLICY = """
budget = { epsilon = 10_000_000.0 }
ledger = "visits.ledger"

[tables.visits]
source = "visits.parquet"
unit = "person"
reach = 20

[tables.visits.columns]
ward = { keys = ["a", "b"] }
cost = { bounds = [0, 5] }
"""


def test_the_command_line_measures_the_cut(tmp_path: Path) -> None:
    VISITS.to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    options = ["policy.toml", BY_WARD, "--epsilon", "1000000", "--measure-cut", "300"]
    planned = json.loads(tacit(tmp_path, "plan", *options, "--share", "0.2", "--json").stdout)
    assert planned["cut"]["up_to_rows"] == 300
    assert planned["cut"]["share"] == 0.2
    assert set(planned["cut"]["error_up_to_rows"]) == set(planned["cut"]["error_at_once"]) == {"n", "cost"}
    assert "are not counted. Each person counts as at most 20 rows, and cost" in planned["not_counted"]
    assert "asked with reach=300 at once" in tacit(tmp_path, "plan", *options).stdout
    done = tacit(tmp_path, "query", *options, "--yes")
    assert done.returncode == 0
    assert "Each person counts as at most 20 rows" in done.stdout
    assert "This takes 10 % of the cost." in " ".join(done.stdout.split())
    answer = json.loads(tacit(tmp_path, "query", *options, "--yes", "--json").stdout)
    assert answer["not_counted"] == planned["not_counted"]
    assert [row["n_up_to_300"] for row in answer["cut"]["rows"]] == [270, 170]
    plain = json.loads(tacit(tmp_path, "query", *options[:-2], "--yes", "--json").stdout)
    assert plain["cut"] is None
    for wrong in (
        ["--measure-cut", "20"],
        ["--measure-cut", "x"],
        ["--share", "0.1"],
        ["--measure-cut", "30", "--share", "1"],
    ):
        bad = tacit(tmp_path, "query", *options[:-2], *wrong, "--yes", "--json")
        assert bad.returncode == 2
        assert not bad.stdout
