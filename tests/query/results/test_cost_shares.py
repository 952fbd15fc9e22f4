"""The parts of a query's cost: they add up, they are those of the noise, and hidden aggregates are among them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

import tacit as tc
from tacit.guarantees.exact import to_fraction
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.results.cost_shares import hidden_aggregates, shares_json
from tacit.query.results.quote import Quote
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit="u",
    max_groups=2,
    max_rows=3,
    neighbours="add/remove",
    columns={
        "u": ColumnPolicy(kind="integer"),
        "x": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(10))),
        "y": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(1))),
        "region": ColumnPolicy(kind="text", keys=("north", "south", "east")),
        "town": ColumnPolicy(kind="text"),
    },
)
BY_REGION = "SELECT region, avg(x) AS m FROM t GROUP BY region"
QUERIES = [
    BY_REGION,
    f"{BY_REGION} ORDER BY sum(y) DESC",
    f"{BY_REGION} HAVING count(DISTINCT u) > 5 ORDER BY median(y)",
    "SELECT region FROM t GROUP BY region HAVING count(*) > 3",
    "SELECT median(x) AS a, sum(y) AS b, count(*) AS n, count(DISTINCT x) AS d FROM t",
]


def quoted(sql: str, **cost: float) -> Quote:
    plan = parse(sql, {"t": TABLE})
    return Quote(plan, price(plan, Cost(**cost or {"epsilon": 1})), 0.95, 1000)


@pytest.mark.parametrize(
    ("sql", "cost"),
    [
        *((sql, cost) for sql in QUERIES for cost in ({"epsilon": 0.7}, {"rho": 0.3})),
        (QUERIES[1], {"epsilon": 0.7, "delta": 1e-6}),
    ],
)
def test_the_parts_are_the_whole_cost(sql: str, cost: dict[str, float]) -> None:
    asked = quoted(sql, **cost)
    assert sum(share.share for share in asked.shares) == 1
    named = {name for share in asked.shares for name in share.aggregates}
    assert named == {aggregate.sql for aggregate in asked.plan.aggregates}


@pytest.mark.parametrize("sql", QUERIES)
def test_a_part_of_epsilon_is_what_its_noise_costs(sql: str) -> None:
    """Noise of scale s for a sensitivity of Δ costs Δ/s, whatever the plan says."""
    asked = quoted(sql, epsilon=0.7)
    for share in asked.shares:
        indices = {i for each in asked.plan.aggregates if each.sql in share.aggregates for i in each.bundles}
        costs = (asked.price.noise[index].sensitivity / asked.price.noise[index].amount for index in indices)
        assert sum(costs, Fraction(0)) == Fraction(7, 10) * share.share


def test_found_groups_take_a_part_and_their_units_come_with_it() -> None:
    by_town = "SELECT town, avg(x) AS m FROM t GROUP BY town ORDER BY count(DISTINCT u)"
    asked = quoted(by_town, epsilon=1, delta=1e-6)
    finding, mean = asked.shares
    assert (finding.purpose, finding.share, mean.aggregates) == ("finding the groups", Fraction(3, 5), ("avg(x)",))
    assert asked.price.choice is not None
    assert asked.price.choice.epsilon == Fraction(3, 5)
    alone = quoted("SELECT town FROM t GROUP BY town", epsilon=1, delta=1e-6)
    assert [share.share for share in alone.shares] == [1]
    assert "Of the cost" not in str(alone)


def test_hidden_aggregates_are_named_with_their_clauses() -> None:
    by = "SELECT region, avg(x) AS m FROM t GROUP BY region"
    assert hidden_aggregates(quoted(f"{by} HAVING sum(y) > 1 ORDER BY sum(y)").plan) == {
        "sum(y)": ("HAVING", "ORDER BY")
    }
    assert hidden_aggregates(quoted(f"{by} ORDER BY m, avg(x) + 1").plan) == {}
    assert hidden_aggregates(quoted(f"{by} ORDER BY avg(x) / sum(y)").plan) == {"sum(y)": ("ORDER BY",)}


def test_the_plan_says_what_is_hidden_and_what_it_costs() -> None:
    asked = quoted(f"{BY_REGION} ORDER BY sum(y) DESC")
    plain = quoted(BY_REGION)
    assert asked.error_without_hidden == {"m": plain.error["m"]}
    assert asked.error["m"] == pytest.approx(2 * plain.error["m"], rel=0.01)
    for text in (str(asked), asked._repr_html_()):
        assert "Of the cost, 50% is for avg(x); 50% is for sum(y), which only ORDER BY names." in text
        assert f"Without sum(y), m would be off by at most {plain.error['m']:.3f}"[:45] in text
    assert "Of the cost" not in str(plain)
    assert plain.error_without_hidden == {}
    shared = quoted(f"{BY_REGION} ORDER BY count(*) DESC")
    assert "100% is for avg(x) and count(*); count(*), which only ORDER BY names, costs nothing extra" in str(shared)
    assert "Without" not in str(shared)


def test_errors_without_hidden_aggregates_keep_the_confidence_of_the_query() -> None:
    """HAVING makes errors hold in all groups at once; leaving out its cost does not."""
    chosen = quoted(f"{BY_REGION} HAVING sum(y) > 1")
    assert chosen.error_without_hidden["m"] > quoted(BY_REGION).error["m"]
    assert chosen.error_without_hidden["m"] < chosen.error["m"]


def test_amounts_are_given_where_they_add_up() -> None:
    query = f"{BY_REGION} ORDER BY sum(y)"
    for cost, name, amount in (({"epsilon": 0.5}, "epsilon", 0.25), ({"rho": 0.2}, "rho", 0.1)):
        asked = quoted(query, **cost)
        shares = shares_json(asked.shares, asked.price)
        assert [share[name] for share in shares] == [amount, amount]
        assert shares[1] == {
            "for": ["sum(y)"],
            "purpose": None,
            "share": 0.5,
            name: amount,
            "only_in": {"sum(y)": ["ORDER BY"]},
        }
    gaussian = quoted(query, epsilon=0.5, delta=1e-6)
    gaussian = replace(gaussian, price=replace(gaussian.price, guarantee=tc.ApproxDP(epsilon=0.5, delta=1e-6)))
    assert all("epsilon" not in share for share in shares_json(gaussian.shares, gaussian.price))


def test_chosen_limits_and_a_measured_cut_have_parts_too() -> None:
    frame = pd.DataFrame({"u": range(100), "x": [1] * 100})
    with tc.open(frame, name="t", unit="u", bounds={"x": (0, 5)}, budget=tc.PureDP(epsilon=9)) as db:
        chosen = db.plan("SELECT sum(x) AS s FROM t", epsilon=1, reach="auto")
        assert [(share.purpose, share.share) for share in chosen.shares] == [
            ("choosing the limits", Fraction(1, 10)),
            (None, Fraction(9, 10)),
        ]
        assert to_fraction(chosen.price.chosen or 0, "chosen") == Fraction(1, 10)
        cut = db.plan("SELECT sum(x) AS s FROM t", epsilon=1, reach=5, measure_cut=50)
        assert [(share.purpose, share.share) for share in cut.shares] == [
            (None, Fraction(9, 10)),
            ("the cut of", Fraction(1, 10)),
        ]
        assert "10% is for the cut of sum(x)" in str(cut)
        report = db.limits_plan(epsilon=1)
        assert report.shares == ()
        assert "Of the cost" not in str(report)
