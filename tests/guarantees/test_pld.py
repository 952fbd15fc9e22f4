"""Brackets of composed privacy loss against closed forms, 50-digit sums and exact convolution."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.guarantees.composition_rules import optimal
from tacit.guarantees.conversions import gaussian_delta
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    LossEvent,
    PureRelease,
    RandomizedBit,
    Unsampled,
)
from tacit.guarantees.pld import convolve, delta_bounds, epsilon_bounds, laws
from tacit.guarantees.pld.bounds import LossSizes
from tacit.guarantees.pld.cells import Cells, floor_atoms, spread_atoms
from tacit.guarantees.values import PureDP


def laplace(k: int) -> LaplaceNoise:
    return LaplaceNoise(scale=Fraction(repr(sqrt(k))), l1=Fraction(1))


def unit_grid(k: int) -> LossEvent:
    return DiscreteLaplaceNoise(scale=Fraction(repr(sqrt(k))), l1=Fraction(1), coordinates=1)


GOLDEN: list[tuple[list[tuple[LossEvent, int]], float, float]] = [
    ([(laplace(10), 10)], 1e-6, 3.161256),
    ([(laplace(100), 100)], 1e-6, 4.692667),
    ([(laplace(10**4), 10**4)], 1e-6, 4.876258),
    ([(unit_grid(10), 10)], 1e-6, 3.162039),
    ([(unit_grid(100), 100)], 1e-6, 4.774568),
    ([(unit_grid(10**4), 10**4)], 1e-6, 4.885516),
    ([(GaussianNoise(sigma=Fraction(1), l2=Fraction(1)), 1)], 1e-6, 4.886554),
    ([(GaussianNoise(sigma=Fraction(1), l2=Fraction(1)), 1)], 1e-12, 7.238494),
]


@pytest.mark.parametrize(("parts", "delta", "truth"), GOLDEN)
@pytest.mark.parametrize("width", [1e-3, 1e-5])
def test_the_bracket_holds_the_golden_value_and_is_as_narrow_as_asked(
    parts: list[tuple[LossEvent, int]], delta: float, truth: float, width: float
) -> None:
    found = epsilon_bounds(parts, delta, width)
    assert found.lower <= truth + 5e-7
    assert truth - 5e-7 <= found.upper
    assert found.upper - found.lower <= width * found.upper


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-20, 1e-60])
def test_a_gaussian_is_bracketed_down_to_the_smallest_delta(delta: float) -> None:
    found = epsilon_bounds([(GaussianNoise(sigma=Fraction(1), l2=Fraction(1)), 1)], delta, 1e-4)
    assert gaussian_delta(1.0, found.upper) <= delta * (1 + 1e-9)
    assert gaussian_delta(1.0, found.lower) >= delta * (1 - 1e-9)


def convolved(atoms: list[tuple[dict[Fraction, mpmath.mpf], int]]) -> dict[Fraction, mpmath.mpf]:
    """Convolve loss laws with rational losses exactly."""
    total = {Fraction(0): mpmath.mpf(1)}
    for law, count in atoms:
        for _ in range(count):
            out: Counter[Fraction] = Counter()
            for x, p in total.items():
                for y, q in law.items():
                    out[x + y] += p * q
            total = dict(out)
    return total


def true_delta(law: dict[Fraction, mpmath.mpf], epsilon: float) -> mpmath.mpf:
    gains = (
        p * -mpmath.expm1(epsilon - mpmath.mpf(x.numerator) / x.denominator) for x, p in law.items() if x > epsilon
    )
    return mpmath.fsum(gains)


def response(epsilon: Fraction) -> dict[Fraction, mpmath.mpf]:
    e = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    return {epsilon: e / (1 + e), -epsilon: 1 / (1 + e)}


def discrete_laplace(scale: Fraction, shift: int) -> dict[Fraction, mpmath.mpf]:
    r = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    law = {(shift - 2 * j) / scale: (1 - r) / (1 + r) * r**j for j in range(1, shift)}
    return {**law, shift / scale: 1 / (1 + r), -shift / scale: r**shift / (1 + r)}


MIXTURES: list[list[tuple[LossEvent, dict[Fraction, mpmath.mpf], int]]] = [
    [(RandomizedBit(epsilon=Fraction(1, 3)), response(Fraction(1, 3)), 8)],
    [
        (PureRelease(epsilon=Fraction(1, 3)), response(Fraction(1, 3)), 5),
        (RandomizedBit(epsilon=Fraction(2, 7)), response(Fraction(2, 7)), 6),
    ],
    [
        (DiscreteLaplaceNoise(scale=Fraction(7), l1=Fraction(3), coordinates=1), discrete_laplace(Fraction(7), 3), 4),
        (
            DiscreteLaplaceNoise(scale=Fraction(5, 2), l1=Fraction(2), coordinates=1),
            discrete_laplace(Fraction(5, 2), 2),
            2,
        ),
    ],
]


@pytest.mark.parametrize("mixture", MIXTURES, ids=["one kind", "two kinds", "discrete Laplace"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_delta_agrees_with_exact_convolution(
    mixture: list[tuple[LossEvent, dict[Fraction, mpmath.mpf], int]], epsilon: float
) -> None:
    with mpmath.workdps(40):
        truth = float(true_delta(convolved([(law, count) for _, law, count in mixture]), epsilon))
    found = delta_bounds([(event, count) for event, _, count in mixture], epsilon, 1e-4)
    assert found.lower <= truth * (1 + 1e-12)
    assert truth <= found.upper * (1 + 1e-12)
    assert found.upper - found.lower <= 1e-3 * found.upper


def test_randomized_responses_agree_with_the_optimal_rule() -> None:
    for k, epsilon in ((5, Fraction(1, 2)), (200, Fraction(1, 20))):
        found = epsilon_bounds([(RandomizedBit(epsilon=epsilon), k)], 1e-6, 1e-6)
        assert found.upper == pytest.approx(optimal([(PureDP(epsilon=float(epsilon)), k)], 1e-6), rel=1e-6)


def test_a_give_away_counts_whole() -> None:
    found = epsilon_bounds([(ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9)), 100)], 1e-6, 1e-4)
    alone = epsilon_bounds([(PureRelease(epsilon=Fraction(1, 10)), 100)], 1e-6 - 1e-7, 1e-4)
    assert found.upper == pytest.approx(alone.upper, rel=1e-6)
    assert epsilon_bounds([(ApproxRelease(epsilon=Fraction(1), delta=Fraction(1, 10)), 1)], 1e-6, 1e-3).upper == np.inf


@pytest.mark.parametrize(("sigma", "shift"), [(2, 1), (2, 3), (10, 1), (10, 5)])
def test_a_discrete_gaussian_is_priced_by_its_own_law(sigma: int, shift: int) -> None:
    event = DiscreteGaussianNoise(variance=Fraction(sigma**2), l2_squared=shift**2, coordinates=1)
    for epsilon in (0.1, 1.0):
        k = np.arange(-40 * sigma, 40 * sigma + 1)
        mass = np.exp(-(k**2) / (2 * sigma**2))
        loss = (2 * k + shift) * shift / (2 * sigma**2)
        truth = float((mass / mass.sum() * -np.expm1(np.minimum(epsilon - loss, 0))).sum())
        found = delta_bounds([(event, 1)], epsilon, 1e-4)
        assert found.lower <= truth * (1 + 1e-9)
        assert truth <= found.upper * (1 + 1e-9)


def test_several_moving_numbers_cost_as_much_as_one_that_moves_by_all_of_it() -> None:
    several, one = (DiscreteLaplaceNoise(scale=Fraction(20), l1=Fraction(2), coordinates=m) for m in (2, 1))
    assert epsilon_bounds([(several, 100)], 1e-6, 1e-3) == epsilon_bounds([(one, 100)], 1e-6, 1e-3)


def test_fine_lattices_approach_the_continuous_laws() -> None:
    fine = DiscreteLaplaceNoise(scale=Fraction(2**20 * 10), l1=Fraction(2**20), coordinates=1)
    found, smooth = epsilon_bounds([(fine, 100)], 1e-6, 1e-4), epsilon_bounds([(laplace(100), 100)], 1e-6, 1e-5)
    assert found.lower <= smooth.upper
    assert smooth.lower <= found.upper
    noise = DiscreteGaussianNoise(variance=Fraction((2**20) ** 2), l2_squared=2**40, coordinates=50)
    assert epsilon_bounds([(noise, 1)], 1e-6, 1e-3).upper == pytest.approx(4.886554, rel=2e-4)


def test_below_the_window_nothing_is_claimed() -> None:
    """The window for δ = 1e-6 is far above ε = 0.1, and does not hold the mass between them."""
    step = 1e-4
    found = convolve.total([(laws.upper(RandomizedBit(epsilon=Fraction(1, 3)), step), 3000)], 1e-6)
    assert found.losses[0] > 0.1
    assert found.upper(0.1) == 1.0


EVENTS = st.one_of(
    st.builds(RandomizedBit, epsilon=st.fractions(Fraction(1, 20), 1)),
    st.builds(LaplaceNoise, scale=st.fractions(1, 20), l1=st.just(Fraction(1))),
    st.builds(
        DiscreteLaplaceNoise,
        scale=st.fractions(1, 20),
        l1=st.integers(1, 5).map(Fraction),
        coordinates=st.integers(1, 2),
    ),
    st.builds(GaussianNoise, sigma=st.fractions(1, 20), l2=st.just(Fraction(1))),
    st.builds(BoundedRange, epsilon=st.fractions(Fraction(1, 20), 1)),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(EVENTS, st.integers(1, 20)), min_size=1, max_size=3), EVENTS)
def test_lower_is_below_upper_and_one_more_event_never_lowers_epsilon(
    parts: list[tuple[LossEvent, int]], more: LossEvent
) -> None:
    fewer, all_of_them = epsilon_bounds(parts, 1e-6, 1e-2), epsilon_bounds([*parts, (more, 1)], 1e-6, 1e-2)
    for found in (fewer, all_of_them):
        assert 0 <= found.lower <= found.upper
    assert all_of_them.upper >= fewer.lower
    assert epsilon_bounds(parts[::-1], 1e-6, 1e-2).upper >= fewer.lower


@given(st.floats(-3, 3), st.floats(1e-4, 1.0))
def test_an_atom_keeps_both_masses_when_spread_and_only_falls_when_floored(loss: float, step: float) -> None:
    up, low = spread_atoms(np.array([loss]), np.ones(1), step), floor_atoms(np.array([loss]), np.ones(1), step)
    assert up.mass.sum() == pytest.approx(1)
    assert (up.mass * np.exp(-up.losses)).sum() == pytest.approx(exp(-loss), rel=1e-9)
    assert low.losses[0] + low.offset <= loss
    assert loss - step * 1.001 <= low.losses[0] + low.offset


def total_mass(cells: Cells) -> float:
    return float(cells.mass.sum()) + cells.infinite


@pytest.mark.parametrize(
    "event",
    [
        RandomizedBit(epsilon=Fraction(1, 3)),
        LaplaceNoise(scale=Fraction(3), l1=Fraction(1)),
        DiscreteLaplaceNoise(scale=Fraction(3), l1=Fraction(2), coordinates=1),
        DiscreteLaplaceNoise(scale=Fraction(10**6), l1=Fraction(10**6), coordinates=1),
        GaussianNoise(sigma=Fraction(3), l2=Fraction(1)),
        DiscreteGaussianNoise(variance=Fraction(9), l2_squared=1, coordinates=1),
        ApproxRelease(epsilon=Fraction(1, 3), delta=Fraction(1, 10)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_law_from_above_has_all_its_mass_and_one_from_below_no_more(event: Unsampled) -> None:
    assert total_mass(laws.upper(event, 0.01)) == pytest.approx(1, abs=1e-12)
    assert 1 - 1e-9 <= total_mass(laws.lower(event, 0.01)) <= 1 + 1e-12


def test_give_aways_are_not_counted_twice_from_below() -> None:
    """Five releases that reveal everything with probability 0.1 do so together with 1 - 0.9^5, not 0.5."""
    found = delta_bounds([(ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10)), 5)], 3.0, 1e-3)
    assert found.lower <= 1 - 0.9**5 <= found.upper


def partitions(n: int, largest: int) -> list[tuple[int, ...]]:
    """All ways to write n as a sum of parts from the largest down."""
    if n == 0:
        return [()]
    return [(part, *rest) for part in range(min(n, largest), 0, -1) for rest in partitions(n - part, part)]


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(7)])
@pytest.mark.parametrize("shift", [2, 3, 4, 5])
def test_no_vector_shift_is_worse_than_the_scalar_one_for_discrete_laplace_noise(scale: Fraction, shift: int) -> None:
    """Every way to spread an L1 shift over coordinates, at every ε between two losses."""
    with mpmath.workdps(40):
        scalar = discrete_laplace(scale, shift)
        for parts in partitions(shift, shift)[1:]:
            spread = convolved([(discrete_laplace(scale, part), 1) for part in parts])
            for epsilon in np.linspace(-float(shift / scale), float(shift / scale), 41):
                assert true_delta(spread, float(epsilon)) <= true_delta(scalar, float(epsilon)) + mpmath.mpf(10) ** -30


def test_a_planted_error_would_be_seen() -> None:
    """If the masses of the upper law are replaced by rounding down, the golden value is missed."""
    step = LossSizes.of([(laplace(100), 100)]).step(1e-6, 1e-3, 1)
    wrong = convolve.total([(laws.lower(laplace(100), step * 1.01), 100)], 1e-6)
    assert wrong.upper(4.692667) < 1e-6
