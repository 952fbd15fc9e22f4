from __future__ import annotations

import json
from fractions import Fraction
from math import inf, prod
from typing import Any

import pytest

import tacit
from bounded import REAL, WHOLE, ask_for, bounds, key, plan_of, policy
from tacit.guarantees import filters
from tacit.guarantees.composition import compose
from tacit.guarantees.events import DiscreteGaussianNoise, DiscreteLaplaceNoise, Neighbours, from_json
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.expressions import Value
from tacit.query.formatting import amounts
from tacit.query.plan import Plan
from tacit.query.pricing.price import Cost, price
from tacit.query.results.receipt import receipt

ASKS = (
    ask_for("count"),
    ask_for("count", REAL),
    ask_for("count_units"),
    ask_for("sum", WHOLE, bounds(-5, 3)),
    ask_for("sum", REAL, bounds(0, 0.3)),
    ask_for("avg", WHOLE, bounds(-5, 3)),
)
MANY = [key("k", *(f"k{i}" for i in range(25)))]
Paper = dict[str, Any]
CONTEXT = {"policy": "abc", "ledger_entry": 4, "software": "tacit 0"}


def asked(neighbours: Neighbours = "add/remove", groups: int = 2, *, grouped: bool = True) -> Plan:
    return plan_of(policy(groups=groups, rows=3, neighbours=neighbours), *ASKS, keys=MANY if grouped else ())


def written(plan: Plan, **spend: float) -> str:
    return json.dumps(receipt(plan, price(plan, Cost(**spend)), CONTEXT), allow_nan=False)


def recomputed(text: str) -> dict[str, float]:
    """The guarantee of a release, from its receipt alone: reach, sensitivity, law, then the sum or the composition."""
    paper = json.loads(text)
    privacy, events = paper["privacy"], []
    for part in paper["mechanisms"]:
        event = from_json(part["event"])
        reach = max(1, *reaches(part, privacy["max_rows"]))
        if isinstance(event, DiscreteLaplaceNoise):
            assert (part["law"], Fraction(part["scale"])) == ("discrete laplace", event.scale)
            assert event.l1 == part["sensitivity_l1"] == reach * times(part, privacy, mixed=2)
        else:
            assert isinstance(event, DiscreteGaussianNoise)
            assert (part["law"], Fraction(part["variance"])) == ("discrete gaussian", event.variance)
            assert event.l2_squared == part["sensitivity_l2_squared"] == reach**2 * times(part, privacy, mixed=4)
        events.append(event)
    assert sum(Fraction(part["share"]) for part in paper["mechanisms"]) == 1
    said = privacy["promise"]
    if "rho" in said:
        return {"rho": float(sum(filters.price(ZCDP(rho=1), event).loss for event in events))}
    if "delta" in said:
        return {"epsilon": said["epsilon"], "delta": compose(events).delta(epsilon=said["epsilon"]).upper}
    return {"epsilon": float(sum(filters.price(PureDP(epsilon=1), event).loss for event in events))}


def times(part: Paper, privacy: Paper, mixed: int) -> int:
    """Return by how many reaches (or their squares) two neighbouring tables can differ."""
    groups = privacy["groups_a_unit_can_reach"]
    if privacy["neighbours"] == "add/remove":
        return int(groups)
    one_sign = len({value > 0 for measure in part["measures"] for value in measure["row_adds"] if value}) <= 1
    if one_sign and len(part["measures"]) == 1:
        return int(min(2 * groups, prod(map(len, privacy["public_keys"].values()))))
    return int(groups) * (2 if one_sign else mixed)


def reaches(part: Paper, max_rows: int) -> list[int]:
    """Return the amounts that one unit adds to a cell if its rows are all at the low or all at the high bound."""
    measures = part["measures"]
    return [
        sum(
            (1 if m["of"] == "unit" else max_rows) * abs(m["row_adds"][end]) * 2 ** m["fraction_bits"] for m in measures
        )
        for end in (0, 1)
    ]


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
@pytest.mark.parametrize("grouped", [True, False])
def test_the_guarantee_can_be_recomputed_from_the_receipt_alone(*, neighbours: Neighbours, grouped: bool) -> None:
    plan = asked(neighbours, grouped=grouped)
    assert recomputed(written(plan, epsilon=0.7)) == {"epsilon": 0.7}
    assert recomputed(written(plan, rho=0.3)) == {"rho": 0.3}


def test_a_certified_guarantee_can_be_recomputed_too() -> None:
    plan = plan_of(policy(groups=20, rows=2), ask_for("count"), ask_for("avg", WHOLE, bounds(0, 9)), keys=MANY)
    text = written(plan, epsilon=1.0, delta=1e-6)
    assert json.loads(text)["mechanisms"][0]["law"] == "discrete gaussian"
    found = recomputed(text)
    assert found["delta"] <= 1e-6 == json.loads(text)["privacy"]["promise"]["delta"]


def test_a_planted_smaller_sensitivity_is_found() -> None:
    paper = json.loads(written(asked(), epsilon=0.7))
    for part in paper["mechanisms"]:
        part["measures"][0]["row_adds"] = [end + 1 if end >= 0 else end - 1 for end in part["measures"][0]["row_adds"]]
    with pytest.raises(AssertionError):
        recomputed(json.dumps(paper))


def test_a_receipt_says_what_was_asked_of_what_under_which_limits() -> None:
    paper = json.loads(written(asked("change one"), epsilon=0.5))
    assert (paper["schema"], paper["question"], paper["table"]) == (1, "SELECT …", "t")
    privacy = paper["privacy"]
    assert privacy["promise"] == {"epsilon": 0.5}
    assert (privacy["neighbours"], privacy["unit"]) == ("change one", "all rows with one value of id")
    assert (privacy["max_groups"], privacy["max_rows"], privacy["groups_a_unit_can_reach"]) == (2, 3, 2)
    assert privacy["public_keys"] == {"k": [f"k{i}" for i in range(25)]}
    assert privacy["noise"].startswith("Laplace")
    assert {name: paper[name] for name in CONTEXT} == CONTEXT
    total = paper["mechanisms"][3]
    assert total["for"] == ["sum(n)"]
    assert total["measures"][0]["bounds_in_steps"] == total["measures"][0]["row_adds"] == [-5, 3]
    assert [m["row_adds"] for m in paper["mechanisms"][5]["measures"]] == [[0, 8], [8, 0]]
    assert [m["of"] for p in paper["mechanisms"][:3] for m in p["measures"]] == ["rows", "row", "unit"]
    assert plan_of(policy(unit=None), ask_for("count")).table.unit is None
    row = receipt(
        plan_of(policy(unit=None), ask_for("count")),
        price(plan_of(policy(unit=None), ask_for("count")), Cost(epsilon=1)),
        {},
    )
    assert json.loads(json.dumps(row))["privacy"]["unit"] == "row"


def test_a_receipt_says_how_accurate_each_aggregate_is() -> None:
    plan = asked()
    cost = price(plan, Cost(epsilon=0.5))
    accuracy = json.loads(json.dumps(receipt(plan, cost, {})))["accuracy"]
    assert accuracy["confidence"] == 0.95
    assert accuracy["error"]["count(*)"] == cost.noise[0].quantile(Fraction(1, 20))
    assert accuracy["error"]["avg(n)"] == 8
    assert all(0 < error < inf for error in accuracy["error"].values())


def test_keys_of_every_kind_can_be_written() -> None:
    values: list[Value] = ["a", None, 1, 2.5, True]
    plan = plan_of(policy(), ask_for("count"), keys=[key("k", *values)])
    assert json.loads(written(plan, epsilon=1.0))["privacy"]["public_keys"] == {"k": ["a", None, "1", "2.5", "true"]}


def test_promises_are_named() -> None:
    assert amounts(PureDP(epsilon=0.1)) == {"epsilon": 0.1}
    assert amounts(ApproxDP(epsilon=0.1, delta=1e-9)) == {"epsilon": 0.1, "delta": 1e-9}
    assert amounts(ZCDP(rho=0.1)) == {"rho": 0.1}
    assert tacit.PureDP is PureDP
