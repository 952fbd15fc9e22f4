"""Inputs that once broke a bound; the true values are exact convolutions, closed forms or 50-digit sums."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest

import tacit as tc
from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
)
from tacit.guarantees.filters import price


def gaussian(variance: int, l2_squared: int, coordinates: int = 1) -> DiscreteGaussianNoise:
    return DiscreteGaussianNoise(variance=Fraction(variance), l2_squared=l2_squared, coordinates=coordinates)


def sampled(rate: float | Fraction, of: object) -> PoissonSampled:
    return PoissonSampled(rate=rate, of=of)  # type: ignore[arg-type]


CONTINUOUS = GaussianNoise(sigma=Fraction(1), l2=Fraction(40))


@pytest.mark.parametrize(
    ("event", "count", "epsilon", "truth"),
    [
        (sampled(Fraction(1, 100), gaussian(4, 4, 10)), 2, 0.025997, 1.619e-3),  # the mass that Q lacks, on removal
        pytest.param(sampled(Fraction(1, 100), gaussian(100, 100, 1000)), 100, 1.0, 6.63e-7, marks=pytest.mark.long),
        (sampled(Fraction(1, 2), CONTINUOUS), 2, 1.0, 0.75),  # Q far outside P's window
        (sampled(Fraction(1, 2), gaussian(1, 1600)), 2, 1.0, 0.75),
        (sampled(1e-16, PureRelease(epsilon=Fraction(38))), 1, 1.430216784, 1.9e-19),  # a loss that cancels
        (gaussian(10**4, 10**4), 1, 8.5, 6.7379e-17),  # tiny tails moved closer together
        (
            sampled(1e-6, ApproxRelease(epsilon=Fraction("1.1"), delta=Fraction(1, 10**6))),
            2,
            4.008328031216781e-06,
            2e-12,
        ),
    ],
    ids=["lacking", "many coordinates", "far", "far atoms", "small rate", "tails", "everyday rate"],
)
def test_the_truth_is_inside(event: Event, count: int, epsilon: float, truth: float) -> None:
    found = tc.compose([(event, count)]).delta(epsilon=epsilon)
    assert found.lower <= truth * (1 + 1e-3)
    assert truth * (1 - 1e-3) <= found.upper


def test_a_gaussian_so_small_that_its_delta_cancels_is_bounded_from_below_too() -> None:
    found = tc.compose([tc.GaussianDP(mu=1e-12)]).epsilon(delta=1e-13)
    assert found.lower <= 9.0235e-13 <= found.upper


def test_at_delta_zero_only_known_losses_are_claimed() -> None:
    assert tc.compose([tc.PrivacyProfile([(0, 0.4), (1, 0)])]).epsilon(delta=0) == tc.Bounds(0.0, 1.0)
    rare = tc.compose([sampled(1e-10, PureRelease(epsilon=Fraction(600)))]).epsilon(delta=0)
    assert rare.lower <= 576.97 <= rare.upper
    half = DiscreteLaplaceNoise(scale=Fraction(1), l1=Fraction(3, 2), coordinates=1)
    assert tc.compose([half]).epsilon(delta=0) == tc.Bounds(1.0, 1.5)


def test_more_infinite_loss_than_delta_makes_both_ends_infinite() -> None:
    found = tc.compose([(tc.ApproxDP(epsilon=0.1, delta=1e-8), 50)]).epsilon(delta=1e-7)
    assert found == tc.Bounds(inf, inf)


@pytest.mark.parametrize(
    "event",
    [
        sampled(1 - Fraction(1, 10**17), PureRelease(epsilon=Fraction(1))),
        sampled(1e-300, GaussianNoise(sigma=Fraction(1), l2=Fraction(1))),
        sampled(Fraction(1, 2), GaussianNoise(sigma=Fraction(1), l2=Fraction(80))),
        DiscreteLaplaceNoise(scale=Fraction(10**25), l1=Fraction(10**25), coordinates=1),
    ],
    ids=["almost all", "almost none", "very far", "very fine"],
)
def test_extreme_parameters_have_bounds(event: Event) -> None:
    found = tc.compose([event]).epsilon(delta=1e-6)
    assert 0 <= found.lower <= found.upper


@pytest.mark.parametrize(
    "event",
    [
        DiscreteLaplaceNoise(scale=Fraction(10**70), l1=Fraction(1), coordinates=1),
        LaplaceNoise(scale=Fraction(1, 10**19), l1=Fraction(1)),
        sampled(Fraction(1, 2), GaussianNoise(sigma=Fraction(1, 10**10), l2=Fraction(1))),
    ],
    ids=["fine", "steep", "steep on a sample"],
)
def test_extreme_parameters_have_a_renyi_price(event: Event) -> None:
    assert price(tc.RenyiDP(alpha=2, epsilon=1), event).loss > 0


def test_one_relation_for_monotone_selections_too() -> None:
    median = tc.SmoothMedian(bounds=(0, 1), epsilon=1, delta=1e-6)
    for kind in (tc.PermuteAndFlip, tc.NoisyMax, tc.Exponential):
        with pytest.raises(tc.InvalidError, match="neighbour relation"):
            tc.compose([median, kind(sensitivity=1, epsilon=1, monotone=True)])
