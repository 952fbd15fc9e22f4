"""Receipts that agree with themselves in most fields, but whose promise is false: each must be rejected."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import tacit as tc
from receipt_examples import APPROX, BOX, examples, people
from tacit.auditing import receipt_losses as losses
from tacit.auditing.receipts import verify_receipt

Receipt = dict[str, Any]


def copy(name: str) -> Receipt:
    return json.loads(json.dumps(examples()[name]))  # type: ignore[no-any-return]  # a receipt is an object


def event(kind: str, **fields: object) -> str:
    return json.dumps({"event": kind, "version": 1, **fields})


def laplace(l1: int, scale: int, integers: int = 1) -> str:
    return event("DiscreteLaplaceNoise", l1=str(l1), scale=str(scale), coordinates=integers)


def pure(epsilon: str) -> str:
    return event("PureRelease", epsilon=epsilon)


def approx(epsilon: str, delta: str) -> str:
    return event("ApproxRelease", epsilon=epsilon, delta=delta)


def with_noise(part: Receipt, l1: int, scale: int) -> str:
    """Give a mechanism Laplace noise for a sensitivity; return its event."""
    part.update(reach_in_one_group=l1, sensitivity_l1=l1, scale=str(scale), event=laplace(l1, scale))
    return str(part["event"])


def one_cell(tuples: Receipt, cells: int = 1) -> Receipt:
    """Two listed towns as one cell or none, so that the noise is for one group a unit."""
    receipt = copy("count")
    (part,), privacy = receipt["mechanisms"], receipt["privacy"]
    most = part["reach_in_one_group"]
    privacy.update(public_tuples=[tuples], cells=cells, groups_a_unit_can_reach=1)
    privacy["charged"] = [with_noise(part, most, 2 * most)]
    return receipt


def half_of_a_sum() -> Receipt:
    """Two sums by town with the noise of two counts that add up to the number of rows."""
    receipt = copy("public size")
    measure = {"of": "row", "grid_step": "1", "bounds_in_steps": [-8, 8], "row_adds": [-8, 8], "fraction_bits": 0}
    part = {"for": ["sum(age)"], "measures": [measure], "law": "discrete laplace", "share": "1"}
    receipt["privacy"].update(public_keys={"town": ["a", "b"]}, cells=2, charged=[with_noise(part, 8, 16)])
    receipt["public_size"]["counts_add_up"] = True
    return {**receipt, "mechanisms": [part], "accuracy": {"error": {"sum(age)": 1}}}


def gaussian_histogram() -> Receipt:
    """Bounds from a histogram with almost no Gaussian noise, which nothing is charged for."""
    receipt = copy("automatic bounds")
    bounds = receipt["limits_chosen"]["bounds"]["age"]
    (part,) = bounds["histogram"]["mechanisms"]
    square, law = part["sensitivity_l1"] ** 2, {"law": "discrete gaussian", "variance": "1/1000000"}
    bounds["event"] = event("DiscreteGaussianNoise", l2_squared=square, variance="1/1000000", coordinates=496)
    part.update(law, sensitivity_l2_squared=square, event=bounds["event"])
    receipt["privacy"]["charged"] = receipt["privacy"]["charged"][1:]
    receipt["privacy"]["promise"] = {"epsilon": 810}
    return receipt


def products_that_are_too_small() -> Receipt:
    """Two sums of up to 8 whose formulas say that one of them is always 0."""
    receipt = copy("several")
    for measure, factor in zip(receipt["mechanisms"][0]["measures"], (8, 0), strict=True):
        measure.update(row_adds=[0, 8], product_of=[factor])
    return receipt


def a_row_that_adds_nothing() -> Receipt:
    receipt = copy("sum, change one")
    (part,) = receipt["mechanisms"]
    part["measures"][0]["row_adds"] = [0, 0]
    receipt["privacy"]["charged"] = [with_noise(part, 1, 4)]
    return receipt


def sum_of_centred_values() -> Receipt:
    """Rows that add from -3.5 to 3.5 for values from -2 to 5, with noise for 3.5 in place of 5."""
    receipt = copy("sum, change one")
    (part,), (low, high) = receipt["mechanisms"], receipt["mechanisms"][0]["measures"][0]["bounds_in_steps"]
    part["measures"][0]["row_adds"] = [(low - high) // 2, (high - low) // 2]
    most = (high - low) * 3 << part["measures"][0]["fraction_bits"]
    receipt["privacy"]["charged"] = [with_noise(part, most, 2 * most)]
    part["sensitivity_l1"] = most
    return receipt


def rows_that_count_as_nothing() -> Receipt:
    receipt = copy("count")
    (part,) = receipt["mechanisms"]
    part["measures"][0].update(bounds_in_steps=[0, 0], row_adds=[0, 0])
    receipt["privacy"]["charged"] = [with_noise(part, 2, 4)]
    part["event"] = receipt["privacy"]["charged"][0] = laplace(2, 4, 2)
    return receipt


def declared(epsilon: float, noise: list[str]) -> Receipt:
    """Forty queries with found groups, at a δ of 1e-9 in place of forty times 1e-3, and with other noise."""
    receipt = copy("found groups")
    part = {"queries": 40, "charged": receipt["privacy"]["charged"], "noise": noise}
    promise = {"epsilon": epsilon, "delta": 1e-9}
    plan = {"questions": 40, "promise": promise, "charged": [approx(str(Fraction(epsilon)), "1/1000000000")]}
    return {**receipt, "declared_plan": {**plan, "parts": [part]}}


def disjoint() -> Receipt:
    """Queries of ε = 0.1 about disjoint rows, for ε = 0.001."""
    receipt = copy("declared")
    promise = {"epsilon": 0.001, "delta": 1e-12}
    receipt["declared_plan"].update(disjoint=[], promise=promise, charged=[approx("1/1000", "1/1000000000000")])
    return receipt


def other_neighbours() -> Receipt:
    """A computed answer from two releases whose promises are about different neighbours."""
    receipt, changed = copy("computed"), copy("count, change one")
    receipt["released"][0] = {**changed, "name": "aggregate 1"}
    queries = [(each["privacy"]["charged"], [p["event"] for p in each["mechanisms"]]) for each in receipt["released"]]
    parts = [{"queries": 1, "charged": charged, "noise": noise} for charged, noise in queries]
    receipt["together"] = {"charged": [text for charged, _ in queries for text in charged], "parts": parts}
    receipt["privacy"]["promise"] = {"epsilon": 10}
    return receipt


def sampled_and_dear() -> Receipt:
    receipt = copy("charge")
    sample = {"event": "PoissonSampled", "rate": "1/10", "of": json.loads(pure("1/100")), "version": 1}
    return {**receipt, "events": [json.dumps(sample), pure("1000")]}


def selection_at_a_huge_scale() -> Receipt:
    """Noise of scale 10^110 that is cut off at ±1: each group of one unit is shown with probability 1/3."""
    receipt = copy("found groups")
    receipt["privacy"]["groups"].update(scale="1" + "0" * 110, limit=1)
    return receipt


def receipt_in_a_receipt() -> Receipt:
    receipt = copy("count")
    receipt["privacy"]["promise"]["epsilon"] = 0.001
    return {**receipt, "receipt": examples()["count"]}


def exact_average() -> Receipt:
    receipt = copy("public size")
    receipt["privacy"]["charged"] = []
    receipt["public_size"]["exact"] = ["avg(age)", "var_pop(age)"]
    return {**receipt, "mechanisms": []}


def variance_of_centred_values() -> Receipt:
    """The covariance of values from -4 to 4 moves as much as that of values from 0 to 8."""
    receipt = copy("public size")
    part = receipt["mechanisms"][1]
    for measure in part["measures"][1:3]:
        measure.update(row_adds=[-4, 4], bounds_in_steps=[-4, 4])
    receipt["privacy"]["charged"][1] = with_noise(part, 112, 448)
    return receipt


def variance_without_a_public_size() -> Receipt:
    receipt = copy("public size")
    part = receipt["mechanisms"][1]
    part["combined"]["rows"] = 1
    receipt["privacy"]["charged"][1] = with_noise(part, 1, 4)
    del receipt["public_size"]
    return receipt


def marginals_with_two_scales() -> Receipt:
    receipt = copy("laplace marginals")
    receipt["noise"]["scale_of_count"] = {"town": "1"}
    return receipt


def another_choice() -> Receipt:
    """A draw of the reach under another name, which nothing is charged for."""
    receipt = copy("automatic reach")
    receipt["limits_chosen"]["reach_drawn"] = receipt["limits_chosen"].pop("reach")
    receipt["privacy"]["charged"] = receipt["privacy"]["charged"][1:]
    receipt["privacy"]["promise"] = {"epsilon": 0.45}
    return receipt


def bounds_without_their_choice() -> Receipt:
    receipt = copy("automatic bounds")
    receipt["limits_chosen"]["bounds"] = {}
    receipt["privacy"]["charged"] = receipt["privacy"]["charged"][1:]
    receipt["privacy"]["promise"] = {"epsilon": 810}
    return receipt


FORGED: dict[str, Callable[[], Receipt]] = {
    "a tuple of a key and another name": lambda: one_cell({"keys": ["town", "other"], "values": []}),
    "a tuple of no keys": lambda: one_cell({"keys": [], "values": []}, 0),
    "a tuple of one key with one of its values": lambda: one_cell({"keys": ["town"], "values": [["a"]]}),
    "half of a sum": half_of_a_sum,
    "Gaussian histogram": gaussian_histogram,
    "products that are too small": products_that_are_too_small,
    "a row that adds nothing": a_row_that_adds_nothing,
    "sum of centred values": sum_of_centred_values,
    "rows that count as nothing": rows_that_count_as_nothing,
    "declared: noise without δ": lambda: declared(81, [pure("201/100")]),
    "declared: many small parts": lambda: declared(30, [pure("1/50")] * 101),
    "declared: no selection": lambda: declared(40, [copy("found groups")["mechanisms"][1]["event"]]),
    "disjoint and dear": disjoint,
    "other neighbours": other_neighbours,
    "a sample and a dear event": sampled_and_dear,
    "selection at a huge scale": selection_at_a_huge_scale,
    "exact average": exact_average,
    "variance of centred values": variance_of_centred_values,
    "variance without a public size": variance_without_a_public_size,
    "bounds without their choice": bounds_without_their_choice,
    "a choice without its name": another_choice,
    "marginals with two scales": marginals_with_two_scales,
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_receipt_is_rejected(name: str) -> None:
    assert verify_receipt(FORGED[name]()).problems


def test_a_receipt_in_a_receipt_is_not_read() -> None:
    with pytest.raises(tc.InvalidError, match="a receipt inside a receipt"):
        verify_receipt(receipt_in_a_receipt())


def test_one_of_several_measures_is_listed_as_not_checked() -> None:
    receipt = copy("several")
    part = receipt["mechanisms"][0]
    part["a_row_adds_to"] = "one measure"
    assert "a row adds to each of its products" in verify_receipt(receipt).problems[0]
    for measure in part["measures"]:
        del measure["product_of"]
        measure["row_adds"] = measure["bounds_in_steps"]
    check = verify_receipt(receipt)
    assert check.holds
    assert any(line.startswith("that a row adds to one measure only") for line in check.unchecked)


@pytest.mark.parametrize("power", [1, 20, 60, 70, 75, 76, 77, 90, 300])
@pytest.mark.parametrize("k", [1, 2, 40])
def test_the_end_of_truncated_noise_is_never_below_the_truth(power: int, k: int) -> None:
    """At a tiny ε the probability is close to 1/(2k + 1); bounds of 256 bits cannot show it there."""
    with mpmath.workdps(700):
        r = mpmath.exp(-(mpmath.mpf(10) ** -power))
        truth = r**k * (1 - r) / (1 + r - 2 * r ** (k + 1))
        found = losses.end_probability(k, Fraction(1, 10**power))
        assert truth <= mpmath.mpf(found.numerator) / found.denominator <= 1


def test_a_plan_of_a_trillion_draws_takes_no_memory() -> None:
    receipt = declared(30, [pure("1/50")] * 10_000)
    receipt["declared_plan"]["parts"][0]["queries"] = 10**6
    assert "too many queries" in verify_receipt(receipt).problems[0]


def gaussian_plan() -> Receipt:
    """Five queries with Gaussian noise of a variance of about 10^16, which are charged as one."""
    plans = people(APPROX, **BOX)
    text = "SELECT sum(age), sum(age + 1), sum(age + 2), sum(age + 3), sum(age + 4) FROM data"
    answers = tc.declare([plans.plan(text, epsilon=1, delta=1e-3)] * 5).ask()
    return json.loads(json.dumps(answers[0].receipt))  # type: ignore[no-any-return]  # a receipt is an object


def test_a_plan_of_gaussian_noise_is_checked_by_the_bound_of_vectors() -> None:
    """Its privacy-loss law would have 10^9 atoms."""
    receipt = gaussian_plan()
    part, plan = receipt["declared_plan"]["parts"][0], receipt["declared_plan"]
    assert all("DiscreteGaussianNoise" in text for text in part["noise"])
    check = verify_receipt(receipt)
    assert check.holds
    assert "the charge covers the composition of the queries" in check.checked
    charged = json.loads(plan["charged"][0])
    plan["charged"] = [approx(str(Fraction(charged["epsilon"]) * Fraction(98, 100)), charged["delta"])]
    assert "less than the composition of the queries" in verify_receipt(receipt).problems[0]


def test_wide_gaussian_noise_among_other_noise_is_listed_as_not_checked() -> None:
    receipt = copy("declared")
    noise = event("DiscreteGaussianNoise", l2_squared=10**28, variance=str(10**32), coordinates=1)
    receipt["declared_plan"]["parts"].append({"queries": 1, "charged": [approx("1/5", "1/1000000")], "noise": [noise]})
    receipt["declared_plan"]["questions"] += 1
    check = verify_receipt(receipt)
    assert any("not the privacy-loss law of DiscreteGaussianNoise" in line for line in check.unchecked)


def test_that_the_question_is_not_read_is_listed() -> None:
    """A mechanism that is left out, with its charge and its error, cannot be seen: the SQL text names it alone."""
    receipt = copy("several")
    part = receipt["mechanisms"][0]
    receipt["privacy"].update(charged=[part["event"]], promise={"epsilon": 0.5})
    receipt.update(mechanisms=[{**part, "share": "1"}], accuracy={"error": {}})
    check = verify_receipt(receipt)
    assert check.holds
    assert "that the question needs no other noise: its SQL text is not read" in check.unchecked


def test_found_groups_in_a_declared_plan_hold() -> None:
    """The plan may state the selection and the noise, or one guarantee of both; it may not state less."""
    receipt = copy("found groups")
    charged = receipt["privacy"]["charged"]
    for noise in (charged, [charged[0], pure("4/5")]):
        receipt["declared_plan"] = declared(80, noise)["declared_plan"]
        receipt["declared_plan"].update(promise={"epsilon": 80, "delta": 0.04}, charged=[approx("80", "1/25")])
        assert verify_receipt(receipt).holds
    receipt["declared_plan"]["parts"][0]["noise"] = [charged[0], pure("7/10")]
    assert not verify_receipt(receipt).holds
