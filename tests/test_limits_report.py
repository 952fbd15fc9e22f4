"""`db.limits` and `tacit limits`: intervals that hold, a sensible reach, and what is refused."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import binom

import tacit as tc
from cli_runs import run as tacit
from tacit.charging import SOURCE_FAILED
from tacit.database import Database
from tacit.errors import BudgetError, InvalidError, SourceError, TacitError
from tacit.guarantees.filters import Budget
from tacit.query.results.limits_report import LimitsReport
from tacit.query.results.limits_subject import LimitsSubject
from tacit.query.results.release import release
from tacit.query.unit_sizes import SHOWN_BINS, SHOWN_EDGES

MONTHS = list(range(1, 13))
PEOPLE = 400
YEAR = pd.DataFrame(
    {
        "person": [p for p in range(PEOPLE) for _ in MONTHS],
        "month": MONTHS * PEOPLE,
        "name": [f"month {m}" for m in MONTHS] * PEOPLE,
    }
)
BY_MONTH = "SELECT month, count(*) AS n FROM year GROUP BY month"
EXACT = 400
"""An ε at which the noise of a histogram is 0 but with probability below 2e-170 for each of fewer than 100 bins."""


def opened(rows: pd.DataFrame = YEAR, budget: Budget | None = None, **more: Any) -> Database:  # noqa: ANN401 - of `open`
    terms: dict[str, Any] = {"name": "year", "unit": "person", "keys": {"month": MONTHS}}
    return tc.open(rows, **(terms | more), budget=budget or tc.ApproxDP(epsilon=10**9, delta=0.5))


def of_sizes(sizes: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"person": [p for p, size in enumerate(sizes) for _ in range(size)], "month": 1})


# --- intervals ------------------------------------------------------------------------------------------------------

SIZES = [1] * 300 + [3] * 100 + [7] * 60 + [12] * 40 + [40] * 12
DRAWS, RATE = 1000, 0.05
MOST = int(binom.isf(1e-12, DRAWS, RATE))
"""Intervals that miss with probability 0.05 miss more often than this with probability 1e-12; 60 numbers are tested."""

COSTS: dict[str, tuple[Budget, dict[str, float]]] = {
    "laplace": (tc.PureDP(epsilon=10**9), {"epsilon": 1.0}),
    "gaussian": (tc.ZCDP(rho=10**9), {"rho": 0.05}),
}


def reports(law: str, confidence: float) -> Iterator[LimitsReport]:
    """Yield reports on the same exact integers, each with fresh noise."""
    budget, cost = COSTS[law]
    exact = [0] * SHOWN_BINS
    for size in SIZES:
        exact[bisect_left(SHOWN_EDGES, size)] += 1
    with opened(budget=budget) as db:
        quote = db.limits_plan(**cost)  # type: ignore[arg-type]  # numbers by name
    assert quote.price.noise[0].law == law
    for _ in range(DRAWS):
        released = release(quote.plan, quote.price, [exact], {})
        yield LimitsReport(released, 1.0, 1, tc.PureDP(epsilon=1), confidence, LimitsSubject())


def missed_lines(report: LimitsReport) -> Iterator[tuple[str, int]]:
    """Yield the columns and reaches at which an interval misses the truth: for cut rows, of units up to the cap."""
    cap = SHOWN_EDGES[report._rows.cap]
    for line in report.table.dicts():
        reach: Any = line["reach"]
        truth = {
            "units_above": sum(size > reach for size in SIZES),
            "rows_cut": sum(size - reach for size in SIZES if reach < size <= cap),
        }
        for name, value in truth.items():
            low: Any = line[f"{name}_low"]
            high: Any = line[f"{name}_high"]
            if low is not None and not low <= value <= high:
                yield name, reach


@pytest.mark.parametrize("law", COSTS)
def test_intervals_hold_the_truth_as_often_as_stated(law: str) -> None:
    """A false alarm has probability at most 1e-10."""
    missed = Counter(line for report in reports(law, 1 - RATE) for line in missed_lines(report))
    assert max(missed.values(), default=0) <= MOST


@pytest.mark.parametrize("law", COSTS)
def test_narrower_intervals_would_be_seen(law: str) -> None:
    """Intervals of confidence 0.7 miss about 280 times of 1,000; at most 106 times with probability below 1e-30."""
    missed, above = 0, sum(size > 1 for size in SIZES)
    for report in reports(law, 0.7):
        _, low, high = report._rows.interval_above(0)
        missed += not low <= above <= high
    assert missed > MOST


def test_without_noise_the_table_is_exact() -> None:
    with opened(of_sizes(SIZES)) as db:
        report = db.limits(epsilon=EXACT, spend=1)
    lines = {line["reach"]: line for line in report.table.dicts()}
    for reach, line in lines.items():
        assert isinstance(reach, int)
        above, cut = sum(size > reach for size in SIZES), sum(max(0, size - reach) for size in SIZES)
        ends = [line["units_above_low"], line["units_above_high"]]
        assert (line["units_above"], ends) == (above, [max(0, above - 1), above + 1])  # half a step, rounded
        if line["rows_cut"] is None:
            assert above == 0
        else:
            assert line["rows_cut_low"] <= cut <= line["rows_cut_high"]  # type: ignore[operator]
        assert line["noise"] == pytest.approx(reach)
    assert list(lines) == [edge for edge in SHOWN_EDGES if edge <= 48]


# --- the reach ------------------------------------------------------------------------------------------------------


@cache
def zipf() -> list[int]:
    """Return the sizes of 3,000 units whose k-th has 3,000/k rows."""
    return [3000 // rank for rank in range(1, 3001)]


@pytest.mark.parametrize("spend", [0.05, 0.2, 1])
def test_the_reach_of_zipf_is_a_quantile_and_its_error_is_near_the_least(spend: float) -> None:
    sizes = zipf()
    with opened(of_sizes(sizes)) as db:
        report = db.limits(epsilon=EXACT, spend=spend)
    best = next(edge for edge in SHOWN_EDGES if sum(size > edge for size in sizes) <= 1 / spend + 1e-6)
    assert report.reach == best
    errors = {edge: edge / spend + sum(max(0, size - edge) for size in sizes) for edge in SHOWN_EDGES}
    assert errors[report.reach] <= 1.3 * min(errors.values())


def test_twelve_rows_of_each_need_a_reach_of_twelve() -> None:
    with opened() as db:
        for query in (None, BY_MONTH):
            report = db.limits(query, epsilon=EXACT, spend=1)
            assert report.reach == 12
            assert (
                "Use reach = 12 for an answer that costs ε = 1. Units with more rows: about 0 (95% interval 0 to 1)."
                in (report.why)
            )
        assert report.groups == 12
        assert report.noise_a_row == pytest.approx(1)


def test_one_heavy_unit_does_not_raise_the_reach() -> None:
    with opened(of_sizes([2] * 500 + [5000])) as db:
        assert db.limits(epsilon=EXACT, spend=0.5).reach == 2


def test_at_a_usual_epsilon_the_reach_is_near_twelve() -> None:
    """The noise of the number of units above a reach has a deviation of 8: none of 400 units is at risk."""
    with opened() as db:
        assert db.limits(epsilon=1).reach > 8


# --- groups, costs and texts ----------------------------------------------------------------------------------------


def test_units_are_counted_by_their_groups() -> None:
    rows = pd.concat([YEAR, pd.DataFrame({"person": [999] * 7, "month": [1, 1, 1, 1, 2, 2, 99]})])
    with opened(rows) as db:
        report = db.limits(BY_MONTH, epsilon=2 * EXACT)
        assert db.limits(epsilon=EXACT).groups_table is None
    table = report.groups_table
    assert table is not None
    above = {line["groups"]: line["units_above"] for line in table.dicts()}
    assert above == {1: PEOPLE + 1, 2: PEOPLE, 3: PEOPLE, 4: PEOPLE, 6: PEOPLE, 8: PEOPLE, 12: 0}
    assert {line["reach"]: line["units_above"] for line in report.table.dicts()}[4] == PEOPLE + 1
    assert "Units by their number of groups:" in str(report)


def test_a_report_costs_what_is_given_and_is_for_nine_times_as_much() -> None:
    with opened(budget=tc.PureDP(epsilon=1)) as db:
        assert db.limits_plan(epsilon=0.25).cost == tc.PureDP(epsilon=0.25)
        assert "number of units above a reach: off by at most 70 with" in str(db.limits_plan(epsilon=0.25))
        assert db.left == tc.PureDP(epsilon=1)
        report = db.limits(epsilon=0.25)
        assert report.cost == db.spent == tc.PureDP(epsilon=0.25)
        assert float(report.spend.epsilon) == 2.25  # type: ignore[arg-type]
        assert "for an answer that costs ε = 2.25." in str(report)
        with pytest.raises(BudgetError) as caught:
            db.limits(epsilon=0.8)
        assert caught.value.unspent
    with opened(budget=tc.ZCDP(rho=1)) as db:
        report = db.limits(BY_MONTH, rho=0.01, spend=0.5)
        assert db.spent == tc.ZCDP(rho=0.01)
        assert report.spend == tc.ZCDP(rho=0.5)


def test_a_receipt_has_the_histograms() -> None:
    with opened() as db:
        receipt: Any = db.limits(BY_MONTH, epsilon=1).receipt
    assert receipt["question"].startswith("units by their number of rows and of groups in: SELECT month")
    assert [part["sensitivity_l1"] for part in receipt["mechanisms"]] == [1, 1]
    with opened(neighbours="change one") as db:
        changed: Any = db.limits(epsilon=1).receipt
    assert [part["sensitivity_l1"] for part in changed["mechanisms"]] == [2]


def test_found_groups_are_guessed() -> None:
    query = "SELECT name, count(*) AS n FROM year GROUP BY name"
    with opened() as db:
        report = db.limits(query, epsilon=EXACT, delta=1e-6, max_groups=12, spend=1)
        assert (report.groups, report.groups_table) == (50, None)
        assert report.reach == 12
        with pytest.raises(TacitError, match="are not public") as caught:
            db.limits(query, epsilon=1, max_groups=12)
        assert caught.value.unspent


def test_a_version_of_the_data_repeats_a_report() -> None:
    with opened(data_version="2026") as db:
        first, second = (db.limits(BY_MONTH, epsilon=1) for _ in range(2))
        assert second.table.rows() == first.table.rows()
        assert second.release.repeated
        assert db.spent == tc.ApproxDP(epsilon=1, delta=0)


def test_a_report_can_be_printed_drawn_and_written() -> None:
    for db in (opened(), opened(YEAR.head(0)), opened(of_sizes(zipf()))):
        with db:
            report = db.limits(BY_MONTH, epsilon=1)
        record = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert record["reach"] == report.reach
        names = ["reach", "why", "remark", "limited", "suggest", "policy", "caution", "confidence"]
        assert list(record) == [*names, "cut_is_at_least", "table", "groups", "receipt"]
        assert report.plot().to_dict()["title"]["text"] == "Error against the reach"
        assert report.why in str(report)
        assert report.caution in str(report)
        assert f"reach {report.reach:,}; cost ε = 1" in repr(report)
        assert "<table" in report._repr_html_()
        reaches = [line["reach"] for line in report.table.dicts()]
        assert report.reach in reaches
        assert all(a < b for a, b in pairwise(reaches))  # type: ignore[operator]


# --- queries that are not about rows --------------------------------------------------------------------------------

BY_GROUP = "SELECT month, count(DISTINCT person) AS n FROM year GROUP BY month"


def test_a_query_that_counts_units_is_limited_by_their_groups() -> None:
    few = pd.DataFrame({"person": [p for p in range(900) for _ in range(20)], "month": [1, 2] * 9000})
    with opened(pd.concat([few, YEAR.assign(person=YEAR.person + 1000)])) as db:
        report = db.limits(BY_GROUP, epsilon=EXACT, spend=1)
    assert [line["units_above"] for line in report.table.dicts()][:3] == [1300, 400, 400]
    assert (report.reach, report.groups_table) == (12, None)
    assert report.why == (
        "Use reach = 12 for an answer that costs ε = 1. No unit is in more than 12 groups. "
        "The mean noise in a group is 12 units."
    )
    text = str(report)
    assert "count(DISTINCT person) counts a unit once in each group, so a reach limits the groups of a unit" in text
    assert "units in more groups" in text
    assert "There are 12 groups, so no unit is in more." in text
    axes = [layer["encoding"] for layer in report.plot().to_dict()["layer"]]
    assert axes[0]["x"]["axis"]["title"] == "reach: groups in which a unit counts at most"
    assert axes[0]["y"]["axis"]["title"] == "mean error of a group, in units"


def test_units_above_a_number_of_groups_end_with_the_groups() -> None:
    """Intervals of the last bins have no noise of bins that cannot hold a unit."""
    with opened() as db:
        report = db.limits(BY_GROUP, epsilon=1, spend=1)
    last = report.table.dicts()[-1]
    assert (last["reach"], last["units_above"], last["units_above_high"], last["rows_cut"]) == (12, 0, 0, 0)


def test_a_query_that_counts_each_unit_once_needs_no_limit() -> None:
    with opened() as db:
        with pytest.raises(InvalidError, match="A unit counts once in this query") as caught:
            db.limits("SELECT count(DISTINCT person) AS n FROM year", epsilon=1)
        assert caught.value.unspent


@pytest.mark.parametrize(
    "aggregates", ["avg(cost)", "median(cost)", "max(cost)", "stddev_pop(cost)", "avg(cost), min(cost)"]
)
def test_averages_and_quantiles_alone_need_no_choice_of_the_reach(aggregates: str) -> None:
    query = f"SELECT {aggregates} FROM year"  # noqa: S608 - fixed text
    with opened(YEAR.assign(cost=1.0), bounds={"cost": (0, 5)}) as db:
        for ask in (db.limits, lambda query, epsilon: db.plan(query, epsilon=epsilon, reach="auto")):
            with pytest.raises(InvalidError, match="its noise is least at reach = 1") as caught:
                ask(query, epsilon=1)
            assert "Give a number from 1 to 10" in str(caught.value)
            assert caught.value.unspent


def test_a_cut_is_a_lower_bound_if_units_may_have_more_rows_than_the_cap() -> None:
    with opened() as db:
        report = db.limits(epsilon=1)
    assert report.to_dict()["cut_is_at_least"] is True
    rows = report.table.dicts()
    first = str(report).splitlines()[3].split("at least ")
    assert len(first) == 3  # the mean cut, and both
    assert rows[0]["cut"] is not None
    assert "rows beyond the cap are not in it" in str(report)


@pytest.mark.parametrize(
    ("aggregates", "remark"),
    [
        ("count(*)", None),
        ("sum(cost)", "The noise of sum(cost) is in rows of the largest absolute value that the bounds allow."),
        ("count(DISTINCT name)", "count(DISTINCT name) counts different values."),
        ("avg(cost) AS a, count(*) AS n", "The reach is recommended for count(*)."),
        ("sum(cost) AS s, avg(cost) AS a", "The reach is recommended for sum(cost). The noise of"),
        ("avg(cost) AS a, sum(cost) AS s", "The reach is recommended for sum(cost). The noise of"),
    ],
)
def test_a_report_says_what_its_errors_are_of(aggregates: str, remark: str | None) -> None:
    with opened(YEAR.assign(cost=1.0), bounds={"cost": (0, 5)}) as db:
        report = db.limits(f"SELECT {aggregates} FROM year", epsilon=1)  # noqa: S608 - fixed text
    shown = report.to_dict()["remark"]
    assert shown is None if remark is None else remark in str(shown)
    assert (remark or "") in str(report)
    assert (remark or "") in report._repr_html_()


@pytest.mark.parametrize(
    ("terms", "line"),
    [
        ({}, "To use it in every query, write reach = 12 under [tables.year] of the policy, or open with reach=12;"),
        ({"reach": 5}, "To use it in every query, change reach = 5 to reach = 12 under [tables.year] of the policy"),
        ({"reach": 12}, "The policy has this reach already."),
    ],
)
def test_a_report_names_the_line_of_the_policy(terms: dict[str, Any], line: str) -> None:
    with opened(**terms) as db:
        report = db.limits(epsilon=EXACT, spend=1)
    assert line in str(report)
    assert str(report.to_dict()["policy"]).startswith(line)
    assert report.suggest == "reach = 12"


def test_the_recommended_reach_is_marked_in_the_chart() -> None:
    for sizes, align in (([12] * 400, "right"), ([1] * 400 + [40] * 30, "left")):
        with opened(of_sizes(sizes)) as db:
            report = db.limits(epsilon=EXACT, spend=0.01)
        chart = report.plot().to_dict()
        rule, text = chart["layer"][-2:]
        assert (rule["mark"]["type"], text["mark"]["type"], text["mark"]["align"]) == ("rule", "text", align)
        for layer in (rule, text):
            (row,) = chart["datasets"][layer["data"]["name"]]
            assert row == {"reach": float(report.reach), "label": f"recommended: {report.reach}"}


# --- refusals and failures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({}, "epsilon or rho"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": nan}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": 1, "spend": 0}, "epsilon"),
        ({"epsilon": 1, "spend": nan}, "epsilon"),
        ({"error": 5}, "error"),
        ({"rho": 1}, "rho"),
        ({"epsilon": 1, "confidence": 1}, "confidence"),
        ({"epsilon": 1, "reach": 0}, "reach"),
    ],
)
def test_other_costs_are_refused_before_the_charge(options: dict[str, Any], argument: str) -> None:
    with opened() as db:
        with pytest.raises(InvalidError) as caught:
            db.limits(**options)
        assert caught.value.argument == argument
        assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


def test_rows_that_are_units_need_no_limit() -> None:
    with opened(unit=tc.ROW) as db:
        for ask in (db.limits, db.limits_plan):
            with pytest.raises(InvalidError, match="Each row is a unit, so a unit has one row") as caught:
                ask(epsilon=1)
            assert str(caught.value).endswith("Nothing was spent.")


def test_if_the_source_fails_the_charge_stands() -> None:
    class Broken:
        def __init__(self, engine: Any) -> None:  # noqa: ANN401 - an engine
            self.check, self.close = engine.check, engine.close

        def ready(self) -> None:
            pass

        def measure(self, plan: object) -> None:
            raise ValueError(f"person 17: {plan}")

    with opened() as db:
        policy, engine = db._tables["year"]
        db._tables["year"] = policy, Broken(engine)  # type: ignore[assignment]  # a fake
        with pytest.raises(SourceError) as caught:
            db.limits(epsilon=1)
        assert (caught.value.message, caught.value.unspent) == (SOURCE_FAILED, False)
        assert db.spent == tc.ApproxDP(epsilon=1, delta=0)


# --- the command line -----------------------------------------------------------------------------------------------

POLICY = """
budget = { epsilon = 1_000.0 }
ledger = "year.ledger"

[tables.year]
source = "year.parquet"
unit = "person"

[tables.year.columns]
month = { keys = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }
"""
OTHER = """
[tables.other]
source = "year.parquet"
unit = "person"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    YEAR.to_parquet(tmp_path / "year.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def test_the_command_prints_a_report_and_spends(folder: Path) -> None:
    done = tacit(folder, "limits", "policy.toml", "--epsilon", "400", "--spend", "1", "--yes")
    assert done.returncode == 0
    assert "Use reach = 12 for an answer that costs ε = 1." in done.stdout
    assert "Spent ε = 400; left ε = 600." in done.stderr
    grouped = tacit(folder, "limits", "policy.toml", BY_MONTH, "--epsilon", "400", "--yes", "--json")
    record = json.loads(grouped.stdout)
    assert (record["reach"], record["cost"], record["left"]) == (12, {"epsilon": 400}, {"epsilon": 200})
    assert record["table"][0]["units_above"] == PEOPLE
    assert record["groups"][0]["units_above"] == pytest.approx(PEOPLE, abs=1)
    refused = tacit(folder, "limits", "policy.toml", "--epsilon", "400", "--yes")
    assert refused.returncode == 3
    assert "Nothing was spent." in refused.stderr
    assert not refused.stdout


def test_the_command_refuses_what_costs_nothing_or_too_little(folder: Path) -> None:
    for arguments, code, fact in (
        ((), 2, "no cost"),
        (("--epsilon", "0"), 2, "epsilon"),
        (("--epsilon", "1", "--chart", "chart.xyz"), 2, "--chart"),
        (("SELECT count(*) FROM yaer", "--epsilon", "1"), 2, "year"),
        (("--table", "yaer", "--epsilon", "1"), 2, "year"),
    ):
        done = tacit(folder, "limits", "policy.toml", *arguments, "--yes")
        assert (done.returncode, fact in done.stderr, done.stdout) == (code, True, ""), done.stderr
    (folder / "policy.toml").write_text(POLICY.replace('ledger = "year.ledger"', ""), encoding="utf-8")
    done = tacit(folder, "limits", "policy.toml", "--epsilon", "1", "--yes")
    assert done.returncode == 3
    assert 'ledger = "' in done.stderr
    assert "Nothing was spent." in done.stderr


def test_one_of_several_tables_is_named(folder: Path) -> None:
    (folder / "policy.toml").write_text(POLICY + OTHER, encoding="utf-8")
    refused = tacit(folder, "limits", "policy.toml", "--epsilon", "1", "--yes")
    assert refused.returncode == 2
    assert "table" in refused.stderr
    assert "Nothing was spent." in refused.stderr
    done = tacit(folder, "limits", "policy.toml", "--table", "other", "--epsilon", "400", "--yes", "--json")
    assert json.loads(done.stdout)["reach"] == 12


def test_the_command_draws_a_chart(folder: Path) -> None:
    done = tacit(folder, "limits", "policy.toml", "--epsilon", "1", "--yes", "--chart", "chart.svg")
    assert done.returncode == 0
    assert "Wrote the chart to chart.svg" in done.stderr
    assert (folder / "chart.svg").read_text().startswith("<svg")


def test_the_command_chooses_a_reach(folder: Path) -> None:
    options = ["--epsilon", "100", "--reach", "auto", "--share", "0.2", "--yes", "--json"]
    record = json.loads(tacit(folder, "query", "policy.toml", BY_MONTH, *options).stdout)
    assert record["receipt"]["limits_chosen"]["reach"] >= 1
    assert record["left"] == {"epsilon": 900}
    planned = tacit(folder, "plan", "policy.toml", BY_MONTH, *options[:-2])
    assert "is chosen privately for ε = 20. The rest answers." in planned.stdout
    wrong = tacit(folder, "query", "policy.toml", BY_MONTH, *options[:4], "--share", "1", "--yes")
    assert (wrong.returncode, "share" in wrong.stderr) == (2, True)


def test_a_report_on_listed_tuples_has_a_receipt() -> None:
    people = {"id": [1, 1, 2], "town": ["a", "b", "a"], "sex": ["f", "m", "f"]}
    pairs = {("town", "sex"): [("a", "f"), ("b", "m")]}
    db = tc.open(people, unit="id", reach=2, keys=pairs, budget=tc.PureDP(epsilon=1))
    receipt: Any = db.limits("SELECT town, sex, count(*) FROM data GROUP BY town, sex", epsilon=0.5).receipt
    (listed,) = receipt["privacy"]["public_tuples"]
    assert listed == {"keys": ["town", "sex"], "values": [["a", "f"], ["b", "m"]]}
