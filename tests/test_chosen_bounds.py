"""Bounds that a query chooses privately: `bounds={"cost": "auto"}`."""

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
from tacit.database import Database
from tacit.errors import BudgetError, ColumnNotFoundError, InvalidError
from tacit.query.noise_law import NoiseLaw
from tacit.query.pricing.bounds_choice import WIDEST, BoundsChoice
from tacit.quotes import ChoosingQuote

PEOPLE = 3_000
AMPLE = 1_000.0
"""An ε at which noise does not matter."""

VISITS = pd.DataFrame(
    {
        "person": np.repeat(np.arange(PEOPLE), 2),
        "ward": np.tile(["A", "B"], PEOPLE),
        "cost": np.tile([20.0, 90.0], PEOPLE),
        "age": np.repeat(np.arange(PEOPLE) % 60 + 20, 2),
        "day": pd.Timestamp("2026-01-01").date(),
        "note": "x",
    }
)
SUM = "SELECT sum(cost) AS s FROM visits"
AUTO: dict[str, Any] = {"bounds": {"cost": "auto"}}


def visits(budget: Any = None, **more: Any) -> Database:  # noqa: ANN401 - passed on
    terms: dict[str, Any] = {"unit": "person", "reach": 2, "keys": {"ward": ["A", "B"]}} | more
    return tc.open(VISITS, name="visits", budget=budget or tc.PureDP(epsilon=10**6), **terms)


def test_a_sum_without_bounds_is_answered_and_costs_its_epsilon() -> None:
    with visits() as db:
        answer = db.sql(SUM, epsilon=AMPLE, **AUTO)
        assert answer.rows()[0][0] == pytest.approx(PEOPLE * 110, rel=0.01)
        assert (answer.cost, db.spent) == (tc.PureDP(epsilon=AMPLE), tc.PureDP(epsilon=AMPLE))
        chosen: Any = answer.receipt["limits_chosen"]
        low, high = map(float, chosen["bounds"]["cost"]["bounds"])
        assert low in (0, 16, 20) and 90 <= high <= 96  # noqa: PT018 - two ends of one pair
        assert "settled" not in answer.receipt


CURRENCIES = [
    (tc.ApproxDP(epsilon=10**4, delta=1e-3), {"epsilon": AMPLE, "delta": 1e-6}),
    (tc.ZCDP(rho=10**6), {"rho": 500}),
]
AVERAGE = "SELECT ward, avg(cost) AS a, count(*) AS n FROM visits GROUP BY ward"


@pytest.mark.parametrize(("budget", "cost"), CURRENCIES)
def test_every_currency(budget: Any, cost: dict[str, Any]) -> None:  # noqa: ANN401 - several classes
    with visits(budget) as db:
        answer = db.sql(AVERAGE, reach="auto", **AUTO, **cost)
        assert [a for _, a, _ in answer.rows()] == pytest.approx([20, 90], abs=3)
        assert db.ledger.spent.delta == Fraction(cost.get("delta", 0)).limit_denominator(10**9)


@pytest.mark.parametrize(("budget", "cost"), [CURRENCIES[0], (tc.ZCDP(rho=10**6), {"rho": 50})])
def test_the_whole_cost_is_spent(budget: Any, cost: dict[str, Any]) -> None:  # noqa: ANN401 - several classes
    with visits(budget) as db:
        db.sql(AVERAGE, reach="auto", **AUTO, **cost)
        assert float(db.ledger.spent.loss) == pytest.approx(cost.get("epsilon", cost.get("rho")), rel=1e-12)


def test_the_parts_of_the_cost_add_up_and_the_plan_names_them() -> None:
    with visits() as db:
        quote = db.plan(SUM, epsilon=1, reach="auto", share=0.2, **AUTO)
        assert isinstance(quote, ChoosingQuote)
        assert quote.choice is not None
        assert quote.choice.epsilon == Fraction(1, 10)
        (bounds,) = quote.bounds_choices
        assert Fraction(bounds.law.sensitivity) / bounds.law.amount == Fraction(1, 10)
        text = str(quote)
        assert "The reach and the bounds of 'cost' are chosen privately for ε = 0.2. The rest answers." in text
        assert "Bounds of 'cost' are found if one of 1,036 fixed bins holds all values of" in text
        assert not db.ledger.entries()


def test_rows_that_are_units_choose_bounds_only() -> None:
    with tc.open(VISITS, name="visits", unit=tc.ROW, budget=tc.PureDP(epsilon=10**6)) as db:
        answer = db.sql(SUM, epsilon=AMPLE, reach="auto", **AUTO)
        assert answer.rows()[0][0] == pytest.approx(PEOPLE * 110, rel=0.01)


def test_a_column_without_values_keeps_the_bounds_of_the_policy() -> None:
    empty = VISITS.assign(cost=np.nan)
    with tc.open(
        empty, name="visits", unit="person", reach=2, bounds={"cost": (0, 7)}, budget=tc.PureDP(epsilon=10**6)
    ) as db:
        with pytest.warns(UserWarning, match="No bounds of cost were found"):
            answer = db.sql(SUM, epsilon=AMPLE, **AUTO)
        assert abs(float(str(answer.rows()[0][0]))) < 1
        assert answer.warnings == [
            f"{NOT_FOUND} The answer uses those of the policy, 0 … 7; values beyond them are clipped."
        ]
        chosen: Any = answer.receipt["limits_chosen"]
        assert chosen["bounds"]["cost"]["bounds"] == ["0", "7"]
        assert not chosen["bounds"]["cost"]["found"]


POLICY = """
budget = { epsilon = 100.0 }
ledger = "visits.ledger"

[tables.visits]
source = "visits.parquet"
unit = "person"
reach = 2
"""
NOT_FOUND = "No bounds of cost were found at this cost."
ADVICE = "Spend more on the query, or give bounds of cost."


def test_bounds_that_are_not_found_are_announced_wherever_the_answer_is_shown(tmp_path: Path) -> None:
    VISITS.to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    opened = tc.open(tmp_path / "policy.toml", ledger=tmp_path / "other.ledger")
    with opened as db:
        answers = (db.sql(SUM, epsilon=0.01 + number / 1e4, **AUTO) for number in range(12))
        with pytest.warns(UserWarning, match=NOT_FOUND):
            answer = next(each for each in answers if each.warnings)  # noise finds bounds in at most 1 of 20 queries
    (warning,) = answer.warnings
    assert warning.startswith(f"{NOT_FOUND} The answer uses 0 … 1, which has nothing to do with the data")
    assert warning.endswith(ADVICE)
    assert str(answer).startswith(f"WARNING: {warning}")
    assert answer._repr_html_().startswith(f"<p><strong>WARNING: {warning}</strong></p><table>")
    title = answer.plot().to_dict()["title"]
    assert title["text"][0].startswith("SELECT SUM(cost) AS s FROM visits · ε = 0.01")
    assert " ".join(title["text"][1:]) == f"WARNING: {warning}"
    assert title["color"] == "#B00020"
    assert answer.receipt["warnings"] == [warning]
    costs = [str(0.01 + number / 1e4) for number in range(12)]
    runs = ((["policy.toml", SUM, "--epsilon", cost, "--bounds", "cost=auto", "--yes"]) for cost in costs)
    asked = ((options, tacit(tmp_path, "query", *options)) for options in runs)
    options, done = next(each for each in asked if "WARNING" in each[1].stdout)
    assert done.stdout.startswith(f"WARNING: {warning}")
    assert "Warning" not in done.stderr
    printed = tacit(tmp_path, "query", *options, "--json")
    assert (json.loads(printed.stdout)["warnings"], printed.stderr) == ([warning], "")


def test_other_answers_have_no_warnings() -> None:
    with visits() as db:
        for answer in (db.sql(SUM, epsilon=AMPLE, **AUTO), db.count(epsilon=1)):
            assert answer.warnings == []
            assert "WARNING" not in str(answer) + answer._repr_html_()
            assert "warnings" not in answer.receipt
            assert answer.plot().to_dict()["title"]["color"] == "#222222"


def test_bounds_that_are_found_and_equal_the_default_are_shown_as_found() -> None:
    binary = VISITS.assign(age=np.arange(len(VISITS)) % 2)
    with tc.open(
        binary, name="visits", unit="person", reach=2, budget=tc.PureDP(epsilon=10**6), data_version="2026"
    ) as db:
        for _ in range(2):
            answer = db.sql("SELECT sum(age) AS s FROM visits", epsilon=AMPLE, bounds={"age": "auto"})
            chosen: Any = answer.receipt["limits_chosen"]
            assert (chosen["bounds"]["age"]["bounds"], chosen["bounds"]["age"]["found"]) == (["0", "1"], True)
            assert "The bounds 0 … 1 of age were chosen privately." in str(answer)
        assert answer.repeated


def test_recorded_answers_keep_their_bounds() -> None:
    with visits(data_version="2026") as db:
        first, second = (db.sql(SUM, epsilon=1, **AUTO) for _ in range(2))
        assert (second.rows(), second.repeated) == (first.rows(), True)
        assert second.receipt["limits_chosen"] == first.receipt["limits_chosen"]
        assert not db.sql(SUM, epsilon=1, share=0.2, **AUTO).repeated
        assert len(db.ledger.entries()) == 2


@pytest.mark.parametrize("column", ["day", "note"])
def test_columns_that_are_no_numbers_are_refused_before_the_charge(column: str) -> None:
    with visits() as db:
        with pytest.raises(InvalidError) as caught:
            db.sql("SELECT count(*) AS n FROM visits", epsilon=1, bounds={column: "auto"})
        assert str(caught.value).endswith("Nothing was spent.")
        with pytest.raises(ColumnNotFoundError):
            db.sql(SUM, epsilon=1, bounds={"price": "auto"})
        with pytest.raises(InvalidError, match="Bounds cannot be chosen for a query with an error"):
            db.sql(SUM, error=1, **AUTO)
        assert not db.ledger.entries()


def test_a_budget_that_does_not_suffice_is_not_touched() -> None:
    with visits(tc.PureDP(epsilon=0.5)) as db:
        with pytest.raises(BudgetError):
            db.sql(SUM, epsilon=1, **AUTO)
        assert db.spent == tc.PureDP(epsilon=0)


def choice(kind: Any, default: Any = (0, 1)) -> BoundsChoice:  # noqa: ANN401 - a kind of numbers
    with visits() as db:
        quote = db.plan(SUM, epsilon=AMPLE, **AUTO)
        assert isinstance(quote, ChoosingQuote)
        law = NoiseLaw(law="laplace", amount=Fraction(1, 10**6), sensitivity=1, moving=1)
        plan, widest = quote.bounds_choices[0].plan, WIDEST[kind]
        return BoundsChoice(column="x", kind=kind, plan=plan, law=law, default=default, declared=False, widest=widest)


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_chosen_bounds_are_increasing_and_within_the_widest(kind: Any) -> None:  # noqa: ANN401 - a kind
    from tacit.query.aggregates.value_bins import value_bins  # noqa: PLC0415 - for this test alone

    bins = value_bins(kind)
    for first in (0, 1, bins.find(0), bins.find(5), bins.count - 1):
        for last in range(first, bins.count, 97):
            integers = [0] * bins.count
            integers[first] = integers[last] = 10**6
            pair = choice_cached(kind).choose(integers)
            assert pair is not None
            assert WIDEST[kind][0] <= pair[0] < pair[1] <= WIDEST[kind][1]


_CHOICES: dict[str, BoundsChoice] = {}


def choice_cached(kind: str) -> BoundsChoice:
    return _CHOICES.setdefault(kind, choice(kind)) if kind not in _CHOICES else _CHOICES[kind]
