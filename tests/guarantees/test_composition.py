from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest

import tacit as tc
from tacit.errors import InvalidError
from tacit.guarantees.conversions import gaussian_delta

LAPLACE = tc.compose([tc.Laplace(sensitivity=1, epsilon=0.01)] * 1000)


def test_mechanisms_events_guarantees_and_counts_say_the_same() -> None:
    m = tc.Laplace(sensitivity=1, epsilon=0.01)
    assert tc.compose([(m, 1000)]) == LAPLACE == tc.compose([(m.event, 600), *[m] * 400])
    assert tc.compose([(m, 0)]) == tc.compose([])
    pure = tc.compose([(tc.PureDP(epsilon=0.01), 1000)])
    assert pure.epsilon(delta=1e-6).upper == pytest.approx(LAPLACE.epsilon(delta=1e-6).upper, rel=1e-6)


def test_the_law_that_is_drawn_is_priced() -> None:
    """On the unit grid the law is randomized response, for which the optimal rule is exact."""
    tight, optimal = LAPLACE.epsilon(delta=1e-6), LAPLACE.epsilon(delta=1e-6, rule="optimal").upper
    assert tight.lower <= optimal <= tight.upper * (1 + 1e-9)
    assert LAPLACE.delta(epsilon=1).upper == pytest.approx(LAPLACE.delta(epsilon=1, rule="optimal").upper, rel=1e-6)


def test_every_rule_is_an_upper_bound_of_the_tight_one() -> None:
    tight = LAPLACE.epsilon(delta=1e-6)
    for rule in ("basic", "advanced", "optimal", "zcdp", "renyi"):
        found = LAPLACE.epsilon(delta=1e-6, rule=rule)
        assert found.lower == 0
        assert found.upper >= tight.lower
    assert LAPLACE.epsilon(delta=1e-6, rule="pld") == tight


@pytest.mark.parametrize("k", [1, 4, 100])
def test_any_number_of_gaussians_merges(k: int) -> None:
    total = tc.compose([(tc.GaussianDP(mu=1 / k**0.5), k)])
    assert total.epsilon(delta=1e-6).lower <= 4.886554 + 1e-6
    assert total.epsilon(delta=1e-6).upper >= 4.886554 - 1e-6
    assert total.epsilon(delta=1e-6, rule="gdp").upper == pytest.approx(4.886554, abs=1e-6)
    assert total.delta(epsilon=1, rule="gdp").upper == pytest.approx(gaussian_delta(1.0, 1.0), rel=1e-6)


def test_discrete_gaussians_do_not_merge() -> None:
    drawn = tc.compose([(tc.Gaussian(sensitivity=1, sigma=2), 4)]).epsilon(delta=1e-6)
    merged = tc.compose([(tc.GaussianDP(mu=0.5), 4)]).epsilon(delta=1e-6)
    assert drawn.lower > merged.upper


def test_sums_are_exact() -> None:
    ten = tc.compose([(tc.PureDP(epsilon=0.1), 10)])
    assert ten.epsilon(delta=0, rule="basic") == tc.Bounds(0.0, 1.0)
    assert ten.epsilon(delta=0) == tc.Bounds(1.0, 1.0)
    thirds = tc.compose(tc.split(tc.PureDP(epsilon=0.1), 3))
    assert thirds.epsilon(delta=0, rule="basic").upper == 0.1


def test_at_delta_zero_noise_without_a_largest_loss_costs_everything() -> None:
    assert tc.compose([tc.Gaussian(sensitivity=1, sigma=1)]).epsilon(delta=0) == tc.Bounds(inf, inf)
    assert tc.compose([tc.ApproxDP(epsilon=1, delta=1e-6)]).epsilon(delta=0) == tc.Bounds(inf, inf)


def test_an_empty_composition_costs_nothing() -> None:
    assert tc.compose([]).epsilon(delta=1e-6) == tc.compose([]).delta(epsilon=0) == tc.Bounds(0.0, 0.0)


def test_concentrated_and_renyi_guarantees_have_their_own_rules() -> None:
    total = tc.compose([(tc.ZCDP(rho=0.05), 2)])
    assert total.epsilon(delta=1e-6, rule="zcdp").upper == pytest.approx(2.1419389, rel=1e-6)
    assert total.epsilon(delta=1e-6, rule="renyi").upper >= total.epsilon(delta=1e-6, rule="zcdp").upper * (1 - 1e-9)
    with pytest.raises(InvalidError, match=r"pld.*'zcdp' or 'renyi'") as caught:
        total.epsilon(delta=1e-6, rule="pld")
    assert caught.value.argument == "rule"
    assert tc.compose([tc.RenyiDP(alpha=8, epsilon=0.1)]).epsilon(delta=1e-6, rule="renyi").upper < inf


def test_the_default_rule_uses_the_least_closed_rule_for_guarantees_without_a_law() -> None:
    concentrated = tc.compose([tc.ZCDP(rho=0.1)])
    assert concentrated.epsilon(delta=1e-6) == concentrated.epsilon(delta=1e-6, rule="zcdp")
    assert concentrated.delta(epsilon=1) == concentrated.delta(epsilon=1, rule="zcdp")
    mixed = tc.compose([tc.RenyiDP(alpha=8, epsilon=0.5), tc.Laplace(sensitivity=1, epsilon=0.1)])
    assert mixed.epsilon(delta=1e-6) == mixed.epsilon(delta=1e-6, rule="renyi")
    assert mixed.delta(epsilon=2) == mixed.delta(epsilon=2, rule="renyi")
    noisy = tc.compose([tc.ZCDP(rho=0.1), tc.Gaussian(sensitivity=1, rho=0.1), tc.PureDP(epsilon=0.01)])
    least = min(noisy.epsilon(delta=1e-6, rule=rule).upper for rule in ("zcdp", "renyi"))
    assert noisy.epsilon(delta=1e-6) == tc.Bounds(0.0, least)


def test_the_delta_of_a_renyi_guarantee_inverts_its_epsilon() -> None:
    total = tc.compose([(tc.RenyiDP(alpha=8, epsilon=0.1), 3)])
    epsilon = total.epsilon(delta=1e-6).upper
    assert total.delta(epsilon=epsilon).upper == pytest.approx(1e-6, rel=1e-9)
    assert total.delta(epsilon=0).upper <= 1


def test_guarantees_that_no_rule_prices_together_are_refused_with_a_way_out() -> None:
    profile = tc.PrivacyProfile([(0.5, 0.01), (1.0, 0.0)])
    for other in (tc.ZCDP(rho=0.1), tc.RenyiDP(alpha=2, epsilon=0.1)):
        total = tc.compose([other, profile])
        with pytest.raises(InvalidError, match="No rule can price") as caught:
            total.epsilon(delta=1e-6)
        assert caught.value.argument == "items"
        with pytest.raises(InvalidError, match="No rule can price"):
            total.delta(epsilon=1)


@pytest.mark.parametrize("bad", [3, "x", None, (tc.PureDP(epsilon=1), -1), (tc.PureDP(epsilon=1), 1.5), (1,), (3, 2)])
def test_values_other_than_releases_are_refused(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        tc.compose([bad])
    assert caught.value.argument == "items"


def test_one_composition_has_one_neighbour_relation() -> None:
    changed = tc.SmoothMedian(bounds=(0, 1), epsilon=1, delta=1e-6).event
    other = type(changed)(epsilon=Fraction(1), delta=Fraction(1, 10**6), neighbours="add/remove")
    with pytest.raises(InvalidError, match="neighbour relation"):
        tc.compose([changed, other])


@pytest.mark.parametrize("bad", [-1, 2, nan, inf, "1", True, None])
def test_delta_is_a_probability(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        LAPLACE.epsilon(delta=bad)
    assert caught.value.argument == "delta"


@pytest.mark.parametrize("bad", [0, 1e-7, 2, nan, "1"])
def test_the_width_is_from_a_millionth_to_one(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        LAPLACE.epsilon(delta=1e-6, width=bad)
    assert caught.value.argument == "width"


@pytest.mark.parametrize("rule", ["exact", None, 1])
def test_unknown_rules_are_refused(rule: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        LAPLACE.epsilon(delta=1e-6, rule=rule)
    assert caught.value.argument == "rule"
    with pytest.raises(InvalidError) as caught:
        LAPLACE.delta(epsilon=1, rule=rule)
    assert caught.value.argument == "rule"
