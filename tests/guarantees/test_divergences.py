"""Rényi divergences of single laws against sums and integrals of their densities at 60 digits."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from tacit.errors import InvalidError
from tacit.guarantees import divergences
from tacit.guarantees.events import DiscreteLaplaceNoise, Event, GaussianNoise, LaplaceNoise, PoissonSampled
from tacit.guarantees.filters import price
from tacit.guarantees.values import RenyiDP

Real = Any
"""A number of mpmath, which has no type annotations."""

ORDERS = [Fraction(9, 8), Fraction(2), Fraction(7, 2), Fraction(32)]
every_order = pytest.mark.parametrize("alpha", ORDERS, ids=str)


def real(x: Fraction) -> Real:
    return mpf(x.numerator) / x.denominator


def is_just_above(found: Fraction, truth: Real, margin: float = 1e-30) -> bool:
    """Return whether a rational is at least a number, up to its last ten digits, and hardly more."""
    return bool(truth * (1 - mpf(10) ** (10 - mpmath.mp.dps)) <= real(found) <= truth + margin * (1 + abs(truth)))


def divergence(moment: Real, alpha: Fraction) -> Real:
    return mpmath.log(moment) / real(alpha - 1)


@every_order
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(4), Fraction(200)], ids=str)
def test_randomized_response_is_a_sum_of_two_terms(epsilon: Fraction, alpha: Fraction) -> None:
    with mpmath.workdps(80):
        kept, flipped = (1 / (1 + mpmath.exp(sign * real(epsilon))) for sign in (-1, 1))
        a = real(alpha)
        truth = divergence(kept**a * flipped ** (1 - a) + flipped**a * kept ** (1 - a), alpha)
        assert is_just_above(divergences.randomized_response(epsilon, alpha), truth)


@every_order
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(6)], ids=str)
def test_continuous_laplace_noise_is_an_integral(epsilon: Fraction, alpha: Fraction) -> None:
    with mpmath.workdps(60):
        e, a = real(epsilon), real(alpha)

        def integrand(x: Real) -> Real:
            return mpmath.exp(-a * abs(x) - (1 - a) * abs(x - e)) / 2

        truth = divergence(mpmath.quad(integrand, [-mpmath.inf, -2, 0, e / 2, e, e + 2, mpmath.inf]), alpha)
        assert is_just_above(divergences.laplace(epsilon, alpha), truth)


@every_order
@pytest.mark.parametrize(
    ("scale", "shift"), [(Fraction(1), 1), (Fraction(1, 4), 3), (Fraction(5, 2), 4), (Fraction(6), 20)], ids=str
)
def test_discrete_laplace_noise_is_a_sum_over_the_integers(scale: Fraction, shift: int, alpha: Fraction) -> None:
    with mpmath.workdps(60):
        r, a = mpmath.exp(-1 / real(scale)), real(alpha)
        reach = ceil(150 * scale) + shift
        terms = (r ** (a * abs(k) + (1 - a) * abs(k - shift)) for k in range(-reach, reach + 1))
        truth = divergence((1 - r) / (1 + r) * mpmath.fsum(terms), alpha)
        assert is_just_above(divergences.discrete_laplace(scale, shift, alpha), truth)


@pytest.mark.parametrize("alpha", ORDERS[:2], ids=str)
@pytest.mark.parametrize("scale", [10**6, 10**18, 573 * 10**22, 573 * 10**56], ids="{:.0e}".format)
def test_a_fine_grid_keeps_its_digits(scale: int, alpha: Fraction) -> None:
    """The same sum, its geometric part in closed form, at 300 digits, for Δ = 1.73s."""
    shift = 173 * scale // 100
    with mpmath.workdps(300):
        r, a = mpmath.exp(-1 / mpf(scale)), real(alpha)
        g = r ** (2 * a - 1)
        inner = (1 - r) * g * (1 - g ** (shift - 1)) / (1 - g)
        truth = divergence((r ** ((1 - a) * shift) * (1 + inner) + r ** (a * shift)) / (1 + r), alpha)
        assert is_just_above(divergences.discrete_laplace(Fraction(scale), shift, alpha), truth)


def sampled_moment(rate: Real, mu: Real, alpha: int, *, adding: bool) -> Real:
    """E_Q[(1-γ+γr)^α] on removal and E_P[(1-γ+γr)^(1-α)] on addition, r the ratio of N(μ,1) to N(0,1), under N(0,1)."""
    power = 1 - alpha if adding else alpha

    def integrand(x: Real) -> Real:
        return mpmath.npdf(x) * (1 - rate + rate * mpmath.exp(mu * x - mu * mu / 2)) ** power

    return mpmath.quad(integrand, mpmath.linspace(-18, 18 + alpha * mu, 19))


@pytest.mark.parametrize(("rate", "mu"), [("0.01", "1"), ("0.3", "0.5"), ("0.9", "1.5")])
@pytest.mark.parametrize("alpha", [2, 5, 9])
def test_gaussian_noise_on_a_sample_is_an_integral_and_removal_is_worse(rate: str, mu: str, alpha: int) -> None:
    with mpmath.workdps(30):
        found = divergences.sampled_gaussian(Fraction(rate), Fraction(mu) ** 2, alpha)
        removal, addition = (
            mpmath.log(sampled_moment(mpf(rate), mpf(mu), alpha, adding=way)) / (alpha - 1) for way in (False, True)
        )
        assert is_just_above(found, removal, 1e-22)
        assert addition <= real(found)


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 100), Fraction(1, 2), Fraction(1)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1, 3), Fraction(5), Fraction(500)], ids=str)
def test_amplification_is_the_worst_ratio_of_the_sampled_table(rate: Fraction, epsilon: Fraction) -> None:
    """Randomized response on a sample, as a table of two outcomes, in both directions."""
    with mpmath.workdps(80):
        kept, flipped = (1 / (1 + mpmath.exp(sign * real(epsilon))) for sign in (-1, 1))
        laws, gamma = [(kept, flipped), (flipped, kept)], real(rate)
        removal = max(((1 - gamma) * q + gamma * p) / q for p, q in laws)
        addition = max(p / ((1 - gamma) * p + gamma * q) for p, q in laws)
        found = divergences.amplified(rate, epsilon)
        assert is_just_above(found, mpmath.log(removal))
        assert mpmath.log(addition) <= real(found) + mpf(10) ** -60


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(2, 5)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)], ids=str)
def test_a_give_away_is_thinned_with_the_sample(rate: Fraction, epsilon: Fraction) -> None:
    """(ε,δ) with its extremal table of four outcomes becomes (ln(1+γ(e^ε-1)), γδ) in both directions, and no better."""
    with mpmath.workdps(50):
        d, gamma, grown = mpf("0.01"), real(rate), 1 + real(rate) * mpmath.expm1(real(epsilon))
        kept = (1 - d) / (1 + mpmath.exp(-real(epsilon)))
        table = [(kept, 1 - d - kept), (1 - d - kept, kept), (d, mpf(0)), (mpf(0), d)]
        removal = mpmath.fsum(max(mpf(0), (1 - gamma) * q + gamma * p - grown * q) for p, q in table)
        addition = mpmath.fsum(max(mpf(0), p - grown * ((1 - gamma) * p + gamma * q)) for p, q in table)
        assert abs(removal - gamma * d) < mpf(10) ** -45
        assert addition <= gamma * d + mpf(10) ** -45


@settings(max_examples=40, deadline=None)
@given(
    st.fractions(Fraction(1, 1000), 10, max_denominator=1000),
    st.fractions(Fraction(101, 100), 60, max_denominator=100),
    st.fractions(Fraction(1, 100), 10, max_denominator=100),
)
def test_divergences_rise_with_the_order_and_stay_below_randomized_response(
    epsilon: Fraction, alpha: Fraction, more: Fraction
) -> None:
    tiny = Fraction(1, 10**30)
    whole = divergences.randomized_response(epsilon, alpha)
    assert whole <= min(epsilon, alpha * epsilon**2 / 2) + tiny
    assert whole <= divergences.randomized_response(epsilon, alpha + more) + tiny
    smooth = divergences.laplace(epsilon, alpha)
    assert smooth <= divergences.laplace(epsilon, alpha + more) + tiny
    for steps in (1, 3):
        drawn = divergences.discrete_laplace(steps / epsilon, steps, alpha)
        assert smooth <= drawn + tiny
        assert drawn <= whole + tiny
        assert drawn <= divergences.discrete_laplace(steps / epsilon, steps, alpha + more) + tiny


EVENTS: list[Event] = [
    LaplaceNoise(scale=Fraction(1), l1=Fraction(10**20)),
    LaplaceNoise(scale=Fraction(1), l1=Fraction(10**300)),
    DiscreteLaplaceNoise(scale=Fraction(10**100), l1=Fraction(1), coordinates=1),
    DiscreteLaplaceNoise(scale=Fraction(10**100), l1=Fraction(10**100), coordinates=1),
    DiscreteLaplaceNoise(scale=Fraction(1, 10**20), l1=Fraction(1), coordinates=1),
    PoissonSampled(rate=Fraction(1, 2), of=GaussianNoise(sigma=Fraction(1), l2=Fraction(10**12))),
    PoissonSampled(rate=Fraction(1, 10**300), of=GaussianNoise(sigma=Fraction(10**300), l2=Fraction(1))),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_tiny_and_huge_parameters_have_a_price_or_a_clear_refusal(event: Event) -> None:
    for alpha in (Fraction(9, 8), Fraction(16)):
        try:
            found = price(RenyiDP(alpha=float(alpha), epsilon=1), event).loss
        except InvalidError:
            continue
        assert found >= 0


def test_a_planted_error_in_the_thirtieth_digit_would_be_seen() -> None:
    with mpmath.workdps(60):
        truth = mpmath.log((2 * mpmath.e + mpmath.exp(-2)) / 3)
        found = divergences.laplace(Fraction(1), Fraction(2))
        assert is_just_above(found, truth)
        assert not is_just_above(found - Fraction(1, 10**30), truth)
        assert not is_just_above(found + Fraction(1, 10**29), truth)
