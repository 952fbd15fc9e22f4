"""`db.itemsets` through a database: answers, intervals, rules, repeats, plans, and refusals before the charge."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tacit as tc
from itemsets import random_baskets
from tacit.database import Database
from tacit.errors import TacitError
from tacit.synthetic.basket_weights import weights_of
from tacit.synthetic.itemset_law import noise_reach
from tacit.synthetic.itemset_noise import Noise
from tacit.synthetic.itemset_question import MeasuredSet
from tacit.synthetic.itemset_release import ItemsetAnswer, ItemsetQuestion, release_itemsets
from tacit.synthetic.itemset_rules import Ends, Items, rules_of

SURE: dict[str, Any] = {"epsilon": 100_000}
BUDGET = tc.ApproxDP(epsilon=10**9, delta=0.5)


def sales(orders: int = 60) -> pd.DataFrame:
    """Return orders of bread (all), milk (half), beer (a third) and one rare item; two orders a person."""
    rows = []
    for order in range(orders):
        items = ["bread", *["milk"][order % 2 :], *["beer"][: order % 3 == 0], *["caviar"][: order == 7]]
        rows += [{"person": order // 2, "order_id": order, "product": item} for item in items]
    return pd.DataFrame(rows)


def opened(**more: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
    arguments: dict[str, Any] = {"unit": "person", "reach": 2, "budget": BUDGET, "name": "sales"}
    return tc.open(sales(), **{**arguments, **more})


SUPPORTS = {
    ("bread",): 60,
    ("milk",): 30,
    ("beer",): 20,
    ("bread", "milk"): 30,
    ("beer", "bread"): 20,
    ("beer", "milk"): 10,
}


@pytest.mark.parametrize("more", [{"keys": ["bread", "milk", "beer", "caviar", "absent"]}, {"delta": 1e-6}])
def test_an_answer_at_a_huge_epsilon_is_exact(more: dict[str, Any]) -> None:
    found = opened().itemsets(basket="order_id", item="product", k=6, **SURE, **more)
    rows = {tuple(sorted(items)): (n, low, high) for items, n, low, high in found.rows()}
    expected = {**SUPPORTS, ("beer", "bread", "milk"): 10}
    assert {items: n for items, (n, _, _) in rows.items()} == {items: expected[items] for items in rows}
    assert sorted(n for n, _, _ in rows.values()) == [10, 20, 20, 30, 30, 60]
    assert all(low <= n <= high for n, low, high in rows.values())
    assert round(found.baskets[0]) == 60
    assert len(found) == len(list(found)) == 6
    assert found.to_pandas()["itemset"].iloc[0] == ("bread",)
    assert found.to_csv().splitlines()[1].startswith("bread,60,")
    assert "All intervals hold together in 95% of releases" in str(found)
    assert json.dumps(found.to_dict())
    assert "<table" in found._repr_html_()
    assert found.plot().to_dict()["description"].startswith("itemsets of sales: product by order_id, k=6")


def test_min_support_returns_the_sets_that_reach_it() -> None:
    found = opened().itemsets(
        basket="order_id", item="product", min_support=0.4, keys=["bread", "milk", "beer"], **SURE
    )
    assert {tuple(sorted(items)): n for items, n, _, _ in found} == {
        ("bread",): 60,
        ("milk",): 30,
        ("bread", "milk"): 30,
    }


def test_the_reach_counts_baskets_and_most_their_items() -> None:
    cut = opened().itemsets(basket="order_id", item="product", reach=1, k=1, keys=["bread"], **SURE)
    assert cut.rows()[0][1] == 30  # one order of each person
    short = opened().itemsets(basket="order_id", item="product", most=1, k=3, keys=["bread", "milk", "beer"], **SURE)
    assert sum(n for items, n, _, _ in short if len(items) == 1) == 60  # each basket keeps one item
    whole = opened().itemsets(item="product", k=2, keys=["bread", "milk", "beer"], **SURE)
    assert {n for _, n, _, _ in whole} == {30}  # all rows of a person are one basket
    assert whole.reach == 1


def test_rules_have_intervals_and_cost_nothing() -> None:
    db = opened()
    found = db.itemsets(basket="order_id", item="product", k=7, keys=["bread", "milk", "beer"], **SURE)
    spent = db.spent
    rules = {(row["antecedent"], row["consequent"]): row for row in found.rules(min_confidence=0.45).dicts()}
    assert db.spent == spent
    assert set(rules) >= {("milk", "bread"), ("beer", "bread"), ("beer", "milk"), ("bread", "milk")}
    half = rules["bread", "milk"]
    assert half["confidence_low"] <= half["confidence"] <= half["confidence_high"]
    assert half["confidence"] == pytest.approx(0.5, abs=0.01)
    assert rules["beer", "milk"]["lift"] == pytest.approx(1.0, abs=0.05)
    assert all(a >= b for a, b in pairwise(found.rules()["confidence"]))
    with pytest.raises(tc.InvalidError, match="min_confidence"):
        found.rules(min_confidence=2)


def test_the_interval_of_a_rule_holds_if_those_of_its_supports_do() -> None:
    """For true supports anywhere inside their intervals, the true quotients are inside too."""
    random = np.random.default_rng(4)
    for _ in range(300):
        n, a, b = sorted((int(x) for x in random.integers(1, 100, 3)), reverse=True)
        both = int(random.integers(1, b + 1))
        ends = [
            (t + random.normal(), max(0.0, t - random.uniform(0, 9)), t + random.uniform(0, 9)) for t in (n, a, b, both)
        ]
        known: dict[Items, Ends] = {("x",): ends[1], ("y",): ends[2], ("x", "y"): ends[3]}
        for rule in rules_of([("x", "y")], known, ends[0], 0.0, 0.0):
            left = a if rule.antecedent == ("x",) else b
            assert rule.confidence[1] <= both / left * (1 + 1e-12)
            assert both / left <= rule.confidence[2] * (1 + 1e-12)
            assert rule.lift[1] <= both * n / (a * b) * (1 + 1e-12)
            assert both * n / (a * b) <= rule.lift[2] * (1 + 1e-12)


# --- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "terms"), [(Fraction(1, 2), 1), (Fraction(3), 2), (Fraction(5, 2), 16), (Fraction(40), 4)]
)
def test_the_reach_of_a_sum_is_that_of_convolved_masses(scale: Fraction, terms: int) -> None:
    q = float(np.exp(-1 / float(scale)))
    k = np.arange(-2_500, 2_501)
    mass, one = q ** np.abs(k) * (1 - q) / (1 + q), np.ones(1)
    for _ in range(terms):
        one = np.convolve(one, mass)
    one = one / one.sum()
    middle = len(one) // 2
    for beta in (Fraction(1, 20), Fraction(1, 10_000)):
        t = int(noise_reach(Noise(pure=True, amount=scale, terms=terms), beta))
        inside = one[middle - t : middle + t + 1].sum()
        assert 1 - inside <= float(beta) * (1 + 1e-6) + 1e-9
        assert t == 0 or 1 - one[middle - t + 1 : middle + t].sum() > float(beta) * (1 - 1e-6) - 1e-9  # the least


def test_wide_and_narrow_sums_agree() -> None:
    beta = Fraction(1, 1_000)
    just, beyond = (noise_reach(Noise(pure=True, amount=Fraction(scale), terms=8), beta) for scale in (4_000, 4_100))
    assert beyond / just == pytest.approx(4_100 / 4_000, rel=0.01)


def exact_support(answer: ItemsetAnswer, sets: list[tuple[int, ...]], itemset: tuple[int, ...]) -> float:
    """Return a support in the baskets as the answer weighs them: by their number of listed items."""
    longest = 18
    limit = longest if answer.method == "basis" else answer.most
    weights = weights_of(limit, [s * (s - 1) // 2 for s in range(longest + 1)], pure=answer.total.law.pure)
    listed = set(answer.items)
    steps = [weights.steps[len(listed & set(one))] for one in sets if set(itemset) <= set(one)]
    return sum(steps) / weights.scale


def covered(answer: ItemsetAnswer, sets: list[tuple[int, ...]], part: float) -> bool:
    """Return whether all measured supports are within a part of their simultaneous 90 % interval."""

    def holds(one: MeasuredSet, exact: float) -> bool:
        return abs(one.count - exact) <= part * noise_reach(one.law, beta) + 1e-9

    beta = Fraction(1, 10) / (len(answer.measured) + 2)
    measured = [(one, exact_support(answer, sets, one.itemset)) for one in (answer.total, *answer.measured)]
    return all(holds(one, exact) for one, exact in [*measured, (answer.baskets, len(sets))])


@pytest.mark.parametrize(("items", "delta"), [(4, "0"), (18, "0"), (18, "1e-6")])
def test_all_intervals_hold_together_as_often_as_stated(items: int, delta: str) -> None:
    """False alarms: 1e-10 for each case. Intervals of half the width must be caught."""
    sets, baskets = random_baskets(items, 50, seed=items)
    question = ItemsetQuestion(k=30, epsilon=Fraction(2), delta=Fraction(delta))
    answers = [release_itemsets(baskets, question) for _ in range(100)]
    allowed = binom.isf(1e-10, len(answers), 0.1)
    assert sum(not covered(one, sets, 1.0) for one in answers) <= allowed
    assert sum(not covered(one, sets, 0.5) for one in answers) > allowed


# --- the database -----------------------------------------------------------------------------------------------------


def test_a_repeat_is_free_and_another_question_is_not() -> None:
    db = opened(data_version="1")
    asked: dict[str, Any] = {"basket": "order_id", "item": "product", "epsilon": 1, "keys": ["bread", "milk"]}
    first = db.itemsets(k=3, **asked)
    again = db.itemsets(k=3, **asked)
    assert again.repeated
    assert again.rows() == first.rows()
    assert db.spent == tc.ApproxDP(epsilon=1, delta=0)
    for changed in ({"k": 2}, {"k": 3, "reach": 1}, {"k": 3, "most": 3}, {"k": 3, "where": "product <> 'beer'"}):
        assert not db.itemsets(**{**asked, **changed}).repeated
    named = opened()
    one, two = (named.itemsets(k=2, request="baskets", **asked) for _ in range(2))
    assert (one.rows(), two.repeated) == (two.rows(), True)


def test_bins_with_other_outer_edges_are_another_question() -> None:
    """The recorded answer names its items by their bins, and the outer edges of bins change no code of a row."""
    frame = pd.DataFrame({"age": [10, 30] * 50})
    db = tc.open(frame, unit=tc.ROW, bounds={"age": (0, 50)}, budget=BUDGET, data_version="1")
    for edges, names in (
        ([0, 25, 50], {"age=[0, 25)", "age=[25, 50]"}),
        ([5, 25, 99], {"age=[5, 25)", "age=[25, 99]"}),
    ):
        found = db.itemsets(columns=["age"], bins={"age": edges}, k=2, **SURE)
        assert ({item for items, *_ in found for item in items}, found.repeated) == (names, False)


def test_a_plan_spends_nothing() -> None:
    db = opened()
    plan = db.itemsets(basket="order_id", item="product", k=10, epsilon=1, delta=1e-9, plan=True)
    assert plan.cost == tc.ApproxDP(epsilon=1, delta=1e-9)
    assert db.spent == tc.ApproxDP(epsilon=0, delta=0)
    assert "At most 2 baskets of a unit count, each with at most 64 items." in str(plan)
    assert min(plan.error.values()) > 0


def test_a_budget_in_rho_pays_for_public_items() -> None:
    db = opened(budget=tc.ZCDP(rho=1000))
    found = db.itemsets(basket="order_id", item="product", k=1, rho=900, keys=["bread", "milk"])
    assert abs(found.rows()[0][1] - 60) < 20  # the standard deviation is below 1
    with pytest.raises(tc.RefusedError, match="not public"):
        db.itemsets(basket="order_id", item="product", k=1, rho=1)


def test_an_empty_table_and_a_table_of_nulls_have_answers() -> None:
    for where in ("order_id < 0", "product IS NULL"):
        found = opened().itemsets(basket="order_id", item="product", k=5, where=where, epsilon=1, delta=1e-9)
        assert found.baskets[1] == 0
        found.rules(min_confidence=0)
        str(found)
    alone = opened().itemsets(basket="order_id", item="product", k=5, keys=["absent"], epsilon=1)
    assert len(alone) <= 1


@pytest.mark.parametrize(
    "more",
    [
        {"k": 0},
        {"k": 10**9},
        {"k": True},
        {"min_support": 0},
        {"min_support": 1.5},
        {"k": 5, "min_support": 0.5},
        {},
        {"k": 5, "most": 0},
        {"k": 5, "most": 10**9},
        {"k": 5, "reach": 0},
        {"k": 5, "keys": ["bread", "bread"]},
        {"k": 5, "keys": []},
        {"k": 5, "keys": [1]},
        {"k": 5, "keys": "bread"},
        {"k": 5, "item": "nothing"},
        {"k": 5, "basket": "nothing"},
        {"k": 5, "columns": ["product"]},
        {"k": 5, "item": None},
        {"k": 5, "bins": {"order_id": 3}},
        {"k": 5, "epsilon": 1e-12},
        {"k": 5, "epsilon": 0},
        {"k": 5, "delta": None},
        {"k": 5, "confidence": 1},
        {"k": 5, "where": "nothing = 1"},
        {"k": 5, "basket": None, "reach": 3},
    ],
    ids=str,
)
def test_bad_input_is_refused_before_the_charge(more: dict[str, Any]) -> None:
    db = opened()
    asked: dict[str, Any] = {"basket": "order_id", "item": "product", "epsilon": 1, "delta": 1e-9}
    with pytest.raises(TacitError) as caught:
        db.itemsets(**{**asked, **more})
    assert str(caught.value).endswith("Nothing was spent.")
    assert db.spent == tc.ApproxDP(epsilon=0, delta=0)


def test_rows_of_several_units_are_no_basket_and_rows_are() -> None:
    frame = pd.DataFrame({"a": ["x", "y"] * 30, "b": [True, False] * 30, "n": [1.0, 5.0] * 30})
    db = tc.open(frame, unit=tc.ROW, keys={"a": ["x", "y"]}, budget=BUDGET)
    with pytest.raises(tc.RefusedError, match="several units"):
        db.itemsets(item="a", k=3, epsilon=1)
    found = db.itemsets(columns=["a", "b", "n"], bins={"n": [0, 2, 9]}, k=14, **SURE)
    triple = {frozenset(items): n for items, n, _, _ in found}[frozenset({"a=x", "b=true", "n=[0, 2)"})]
    assert triple == 30


def test_baskets_of_thousands_of_items_have_an_answer() -> None:
    frame = pd.DataFrame({"person": np.repeat(np.arange(20), 3_000), "product": np.tile(np.arange(3_000), 20)})
    db = tc.open(frame, unit="person", budget=BUDGET)
    found = db.itemsets(item="product", most=3_000, k=5, epsilon=1, delta=1e-9)
    assert found.most == 3_000
