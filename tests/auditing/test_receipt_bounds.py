"""The bounds of the check of receipts, against mpmath and against the accountants of tacit."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.auditing import receipt_bounds as bounds
from tacit.auditing import receipt_losses as losses
from tacit.guarantees import conversions, gaussian_law
from tacit.guarantees.composition import compose
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    PureRelease,
)
from tacit.query.pricing import partition_selection

rationals = st.fractions(min_value=-40, max_value=40, max_denominator=10**9)


def exact(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def encloses(ends: tuple[Fraction, Fraction], value: mpmath.mpf, relative: float) -> bool:
    low, high = map(exact, ends)
    return bool(low <= value <= high and high - low <= relative * abs(value))


@given(rationals)
def test_exponentials_and_roots_enclose_mpmath(x: Fraction) -> None:
    with mpmath.workdps(120):
        assert encloses(bounds.exp(x), mpmath.exp(exact(x)), 1e-60)
        low, high = bounds.root(abs(x))
        assert exact(low) <= mpmath.sqrt(exact(abs(x))) <= exact(high)


def test_exponentials_far_out() -> None:
    with mpmath.workdps(120):
        assert encloses(bounds.exp(Fraction(8000)), mpmath.exp(8000), 1e-60)
    assert bounds.exp(Fraction(-9000))[0] == 0
    with pytest.raises(OverflowError):
        bounds.exp(Fraction(9000))


@given(st.fractions(min_value=-30, max_value=30, max_denominator=10**6))
def test_normal_tails_enclose_mpmath(x: Fraction) -> None:
    with mpmath.workdps(450):
        assert encloses(bounds.normal_tail(x), mpmath.erfc(exact(x) / mpmath.sqrt(2)) / 2, 1e-20)


@given(st.fractions(min_value=Fraction(1, 100), max_value=20), st.fractions(min_value=0, max_value=20))
def test_gaussian_delta_is_just_above_that_of_tacit(square: Fraction, epsilon: Fraction) -> None:
    other = conversions.gaussian_delta(float(square) ** 0.5, float(epsilon))
    assert float(bounds.gaussian_delta(square, epsilon)) == pytest.approx(other, rel=1e-6, abs=1e-300)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=5), st.fractions(min_value=Fraction(1, 10), max_value=20))
def test_the_delta_of_zcdp_is_that_of_tacit(rho: Fraction, epsilon: Fraction) -> None:
    other = conversions.delta_of_zcdp(float(rho), float(epsilon))
    assume(other < 0.2)
    assert float(losses.zcdp_delta(rho, epsilon)) == pytest.approx(other, rel=1e-4, abs=1e-280)


@pytest.mark.parametrize(("variance", "square", "integers"), [(10**6, 10**4, 10), (400, 3, 2), (10**9, 10**6, 500)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(2)])
def test_vectors_of_gaussian_noise_agree(variance: int, square: int, integers: int, epsilon: Fraction) -> None:
    vector = losses.Vector(Fraction(variance), square, integers)
    found = float(losses.noise_delta((vector, vector), epsilon, Fraction(0)))
    assert found == pytest.approx(gaussian_law.joint_delta([vector, vector], epsilon), rel=1e-5)


EVENTS: list[tuple[list[Event], Fraction]] = [
    ([DiscreteLaplaceNoise(scale=Fraction(10), l1=Fraction(1), coordinates=1)] * 60, Fraction(2)),
    ([DiscreteLaplaceNoise(scale=Fraction(10**7), l1=Fraction(10**6), coordinates=1)] * 10, Fraction(1, 2)),
    ([DiscreteGaussianNoise(variance=Fraction(1, 2), l2_squared=1, coordinates=1)], Fraction(5)),
    ([DiscreteGaussianNoise(variance=Fraction(50), l2_squared=4, coordinates=1)] * 3, Fraction(2)),
    (
        [*[PureRelease(epsilon=Fraction(1, 10))] * 30, ApproxRelease(epsilon=Fraction(1), delta=Fraction(1, 10**7))],
        Fraction(2),
    ),
]


@pytest.mark.parametrize(("events", "epsilon"), EVENTS)
def test_compositions_are_bounded_closely(events: list[Event], epsilon: Fraction) -> None:
    """Two programs bound the same δ: ours is never below the other's lower bound, and at most 2 % above its upper."""
    found = float(losses.composed_delta(tuple(events), epsilon))
    other = compose(events).delta(epsilon=float(epsilon), width=1e-3)
    assert other.lower * (1 - 1e-12) <= found <= other.upper * 1.02


def test_randomized_response_composes_as_the_binomial_law_says() -> None:
    k, each, epsilon = 12, Fraction(1, 2), Fraction(2)
    p = 1 / (1 + exp(-0.5))
    terms = [comb(k, j) * p**j * (1 - p) ** (k - j) * max(0.0, 1 - exp(2 - (2 * j - k) / 2)) for j in range(k + 1)]
    found = float(losses.composed_delta((PureRelease(epsilon=each),) * k, epsilon))
    assert sum(terms) <= found <= sum(terms) * 1.001


def test_the_delta_of_events_stays_in_a_composition() -> None:
    events = (ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 1000)),) * 5
    found = losses.composed_delta(events, Fraction(3, 5))
    assert 1 - Fraction(999, 1000) ** 5 <= found <= Fraction(5, 1000) * (1 + Fraction(1, 10**12))


def test_a_law_that_is_not_known_is_an_error() -> None:
    with pytest.raises(losses.UnpricedError, match="BoundedRange"):
        losses.composed_delta((BoundedRange(epsilon=Fraction(1)),), Fraction(1))


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(5)])
@pytest.mark.parametrize("k", [0, 1, 7, 500])
def test_the_end_of_truncated_noise_is_that_of_the_selection(k: int, epsilon: Fraction) -> None:
    found = losses.end_probability(k, epsilon)
    r = mpmath.exp(-exact(epsilon))
    with mpmath.workdps(80):
        truth = r**k * (1 - r) / (1 + r - 2 * r ** (k + 1)) if k else mpmath.mpf(1)
    assert float(found) == pytest.approx(float(truth), rel=1e-12)
    other = partition_selection.end_probability(k, epsilon, Fraction(1, 10**9))
    assert float(found) == pytest.approx(float(other), rel=1e-9)
