"""Errors instead of ε: they are met, and hardly less would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest
from scipy.optimize import brentq

from bounded import REAL, WHOLE, ask_for, bounds, key, plan_of, policy
from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Computed, Noisy, Plan
from tacit.query.pricing.price import Cost, Price, price
from tacit.query.pricing.solve import read_errors, solve

KEYS = [key("k", "a", "b", "c")]
COUNT, TOTAL, MEAN = ask_for("count"), ask_for("sum", WHOLE, bounds(0, 9)), ask_for("avg", WHOLE, bounds(0, 9))
OTHER = ask_for("sum", REAL, bounds(-1, 1))


def plan(*asks: Ask, groups: int = 2, rows: int = 3) -> Plan:
    """A plan whose aggregates share what they can, as the parser makes it."""
    made = plan_of(policy(groups=groups, rows=rows), *asks, keys=KEYS)
    bundles, places = arrange(asks, made.table)
    aggregates = tuple(replace(one, bundles=own) for one, own in zip(made.aggregates, places, strict=True))
    return replace(made, bundles=bundles, aggregates=aggregates)


def errors(found: Plan, paid: Price, assume: int | None = None) -> dict[str, float]:
    """The 95 % error of each aggregate, by its name in the answer."""
    result = {}
    for place, one in enumerate(found.aggregates):
        own, noise = [found.bundles[i] for i in one.bundles], [paid.noise[i] for i in one.bundles]
        result[f"a{place}"] = STATISTICS[one.ask.function].error(one.ask, own, noise, 0.95, assume)
    return result


def size(paid: Price) -> float:
    match paid.guarantee:
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
            return float(epsilon)
        case ZCDP(rho=rho):
            return float(rho)


def test_a_counts_epsilon_is_the_least_that_the_exact_tail_allows() -> None:
    asked = plan_of(policy(unit=None), ask_for("count"))
    found, paid = solve(asked, Cost(error=50), confidence=0.95)
    assert errors(found, paid) == {"a0": 50}
    # Pr[|k| > 50] = 2e^(-51ε)/(1 + e^-ε) = 0.05
    least = brentq(lambda e: 2 * exp(-51 * e) / (1 + exp(-e)) - 0.05, 1e-4, 1)
    assert least <= size(paid) <= 1.002 * least


CASES: list[tuple[tuple[Ask, ...], Mapping[str, float] | float, int | None]] = [
    ((COUNT,), 7.0, None),
    ((COUNT, TOTAL), {"a0": 20, "a1": 100}, None),
    ((COUNT, TOTAL), {"a0": 2, "a1": 10_000}, None),
    ((COUNT, TOTAL), {"a0": 500, "a1": 10}, None),
    ((COUNT, MEAN, OTHER), {"a0": 20, "a1": 0.5, "a2": 3}, 1000),
    ((ask_for("count_units"), MEAN), {"a0": 20, "a1": 0.5}, 1000),
]


DELTA = {"delta": Fraction(1, 10**6)}
SLOW = [(DELTA, CASES[place]) for place in (0, 2, 3, 5)]
"""With δ, a case takes seconds."""


@pytest.mark.parametrize(
    ("asks", "wanted", "assume", "cost"),
    [
        pytest.param(*case, cost, marks=[pytest.mark.long] * ((cost, case) in SLOW))
        for cost in ({}, DELTA, {"by_rho": Fraction(1)})
        for case in CASES
    ],
)
def test_errors_are_met_and_hardly_less_would_do(
    asks: tuple[Ask, ...], wanted: Mapping[str, float] | float, assume: int | None, cost: dict[str, Fraction]
) -> None:
    asked = plan(*asks)
    targets = read_errors(asked, wanted)
    delta, by_rho = cost.get("delta", 0), bool(cost.get("by_rho"))
    found, paid = solve(asked, Cost(error=wanted, delta=delta), confidence=0.95, assume=assume, by_rho=by_rho)
    assert all(error <= targets[name] for name, error in errors(found, paid, assume).items())
    less = 0.99 * size(paid)
    cheaper = price(found, Cost(rho=less) if by_rho else Cost(epsilon=less, delta=delta))
    assert any(error > targets[name] for name, error in errors(found, cheaper, assume).items())


@pytest.mark.parametrize(("asks", "wanted", "assume"), CASES)
def test_no_other_shares_of_epsilon_would_do_for_a_twentieth_less(
    asks: tuple[Ask, ...], wanted: Mapping[str, float] | float, assume: int | None
) -> None:
    """Every arrangement alone, priced by the sum of what each of its aggregates needs by itself."""
    asked = plan(*asks)
    targets = read_errors(asked, wanted)
    _, paid = solve(asked, Cost(error=wanted), confidence=0.95, assume=assume)
    alone = 0.0
    for place, ask in enumerate(asks):
        one = plan_of(policy(groups=2, rows=3), ask, keys=KEYS)
        _, own = solve(one, Cost(error={"a0": targets[f"a{place}"]}), confidence=0.95, assume=assume)
        alone += size(own)
    assert size(paid) <= 1.003 * alone


def test_each_aggregate_gets_what_it_needs_and_no_more() -> None:
    asked = plan(ask_for("count_units"), OTHER)
    found, paid = solve(asked, Cost(error={"a0": 10, "a1": 300}), confidence=0.95)
    met = errors(found, paid)
    assert met["a0"] == 10
    assert 299 < met["a1"] <= 300


def test_ratios_need_an_assumed_size_of_group() -> None:
    asked = plan(MEAN)
    with pytest.raises(RefusedError, match="assume=1000"):
        solve(asked, Cost(error=1), confidence=0.95)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x", None, True, [5]])
def test_an_error_must_be_a_number_above_zero(bad: object) -> None:
    with pytest.raises(InvalidError, match="error"):
        read_errors(plan(COUNT), bad)


def test_an_error_below_the_grid_is_refused() -> None:
    with pytest.raises(InvalidError, match="step of its grid"):
        read_errors(plan(COUNT), 0.5)
    with pytest.raises(InvalidError, match="step of its grid"):
        read_errors(plan(TOTAL), 1e-9)


def test_errors_are_given_by_the_names_of_aggregates_and_for_all_of_them() -> None:
    asked = plan(COUNT, OTHER)
    with pytest.raises(InvalidError, match="'nope'"):
        read_errors(asked, {"nope": 5, "a0": 5, "a1": 5})
    with pytest.raises(InvalidError, match=r"no target for sum\(x\)"):
        read_errors(asked, {"a0": 5})
    ratio = Computed("divide", (Noisy(0, "integer"), Noisy(1, "real")), "real")
    computed = plan_of(policy(), COUNT, OTHER, keys=KEYS, more={"ratio": ratio})
    assert read_errors(computed, 5) == {"a0": 5, "a1": 5, "ratio": 5}
    assert read_errors(computed, {"a0": 5, "a1": 1}) == {"a0": 5, "a1": 1}
    assert read_errors(computed, {"ratio": 0.1}) == {"ratio": Fraction(1, 10)}
    with pytest.raises(RefusedError, match="'ratio' is not known before, because its denominator may be 0"):
        solve(computed, Cost(error={"ratio": 0.1}), confidence=0.95, assume=100)


def test_the_error_of_a_ratio_is_met_and_hardly_less_would_do() -> None:
    """The oracle is the rule for ratios, with errors of the exact tails of both parts at 97.5 %."""
    share = Computed("divide", (Noisy(0, "integer"), Noisy(1, "integer")), "real")
    some = ask_for("count", WHOLE)
    asked = replace(plan_of(policy(unit=None), some, COUNT, keys=[]), outputs=(("r", share),))
    found, paid = solve(asked, Cost(error=0.01), confidence=0.95, assume=5000)

    def error(noise: Sequence[NoiseLaw]) -> float:
        top, bottom = (float(law.quantile(Fraction(1, 40))) for law in noise)
        return (top + bottom) / (5000 - bottom)

    assert error(paid.noise) <= 0.01
    assert error(price(found, Cost(epsilon=0.98 * size(paid))).noise) > 0.01
    with pytest.raises(RefusedError, match="assume=1000"):
        solve(asked, Cost(error=0.01), confidence=0.95)


@pytest.mark.long
def test_an_error_of_50_holds_in_94_to_97_of_100_runs() -> None:
    asked = plan(COUNT)
    found, paid = solve(asked, Cost(error=50), confidence=0.95)
    noise = paid.noise[0].draw(20_000)
    assert 0.94 * 20_000 <= sum(abs(x) <= 50 for x in noise) <= 0.97 * 20_000
    assert errors(found, paid)["a0"] <= 50
