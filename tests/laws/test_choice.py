"""Probabilities of choices, against enumeration of all orders, all coins and all ties."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext

import oracles_selection as oracle
from tacit.laws import FiniteLaw, exponential_choice, first_coin_choice

MP = MPContext()
MP.dps = 60
RATIOS = [Fraction(1, 2), Fraction(9, 10), Fraction(1, 1000)]


def exponents(scores: tuple[int, ...], r: Fraction) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([(max(scores) - score) * log(r) for score in scores])


@pytest.mark.parametrize("r", RATIOS)
def test_choices_among_up_to_four_are_those_of_enumeration(r: Fraction) -> None:
    for size in (1, 2, 3, 4):
        for scores in product(range(3), repeat=size):
            weights = oracle.rational_weights(scores, r)
            at = exponents(scores, r)
            flips = np.array([float(chance) for chance in oracle.permute_and_flip(weights)])
            assert np.allclose(first_coin_choice(at), flips, rtol=1e-12, atol=0)
            largest = np.array([float(chance) for chance in oracle.noisy_max(weights, r)])
            assert np.allclose(first_coin_choice(at), largest, rtol=1e-12, atol=0)  # the same law
            plain = np.array([float(chance) for chance in oracle.exponential(weights)])
            assert np.allclose(exponential_choice(at), plain, rtol=1e-12, atol=0)


def integral(coins: list[float], candidate: int) -> float:
    """Return p_r·∫₀¹ Π (1 - p_j·t) dt by expanding the polynomial, with 60 digits or more."""
    polynomial = [MP.mpf(1)]
    for j, coin in enumerate(coins):
        if j != candidate:
            longer = [*polynomial, MP.mpf(0)]
            polynomial = [a - MP.mpf(coin) * b for a, b in zip(longer, [MP.mpf(0), *polynomial], strict=True)]
    return float(MP.mpf(coins[candidate]) * MP.fsum(a / (k + 1) for k, a in enumerate(polynomial)))


@given(st.lists(st.floats(min_value=-30, max_value=0), min_size=1, max_size=30), st.integers(1, 12))
def test_the_quadrature_is_the_integral(gaps: list[float], ties: int) -> None:
    at = np.array(gaps + [0.0] * ties)
    coins = np.exp(at).tolist()
    got = first_coin_choice(at)
    assert np.allclose([got[i] for i in (0, -1)], [integral(coins, 0), integral(coins, -1 % len(coins))], rtol=1e-12)


@pytest.mark.parametrize("size", [39, 40, 41, 42, 43, 1000, 100_000])
def test_equal_candidates_are_equally_likely(size: int) -> None:
    for choice in (first_coin_choice, exponential_choice):
        assert np.allclose(choice(np.zeros(size)), 1 / size, rtol=1e-12, atol=0)


@pytest.mark.parametrize("size", [3, 45, 5000])
def test_probabilities_add_up_to_1(size: int) -> None:
    at = -np.abs(np.random.default_rng(1).normal(size=size)) * 3
    at[0] = 0
    for choice in (first_coin_choice, exponential_choice):
        assert abs(choice(at).sum() - 1) < 1e-12


def test_hopeless_candidates_are_never_chosen() -> None:
    at = np.array([0.0, -np.inf, -800.0])
    for choice in (first_coin_choice, exponential_choice):
        assert np.allclose(choice(at), [1.0, 0.0, 0.0], rtol=1e-14, atol=0)


def test_a_finite_law_is_that_of_a_die() -> None:
    die = FiniteLaw.of([6, 1, 2, 3, 4, 5, 6, 1], [1 / 12, 1 / 12, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 12, 1 / 12])
    assert die.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.allclose([die.mean, die.variance, die.std**2], [3.5, 35 / 12, 35 / 12], rtol=1e-14)
    assert np.allclose(die.pmf([0, 1, 1.5, 6, 7, np.inf]), [0, 1 / 6, 0, 1 / 6, 0, 0])
    assert np.allclose(die.cdf([0.9, 1, 3.5, 6, np.inf]), [0, 1 / 6, 1 / 2, 1, 1])
    assert np.allclose(die.sf([-np.inf, 0.9, 1, 3.5, 6]), [1, 1, 5 / 6, 1 / 2, 0])
    assert np.asarray(die.quantile([0, 0.1, 0.5, 0.51, 1])).tolist() == [1, 1, 3, 4, 6]
    assert np.isnan(die.cdf(np.nan))
    assert "probability" in die._repr_html_()


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200, 8e307])
def test_moments_neither_overflow_nor_vanish(unit: float) -> None:
    law = FiniteLaw.of([-unit, unit], [0.25, 0.75])
    assert law.mean == pytest.approx(unit / 2, rel=1e-14, abs=0)
    assert law.std == pytest.approx(float(MP.sqrt(3) / 2 * unit), rel=1e-14, abs=0)
    assert law.variance == pytest.approx(float(MP.mpf(3) / 4 * MP.mpf(unit) ** 2), rel=1e-14, abs=0)


def test_a_value_of_probability_0_has_no_part_in_the_moments() -> None:
    law = FiniteLaw.of([0.0, 2.0, inf], [0.5, 0.5, 0.0])
    assert (law.mean, law.variance, law.std) == (1, 1, 1)
    assert FiniteLaw.of([7.0], [1.0]).std == 0
    endless = FiniteLaw.of([0.0, inf], [0.5, 0.5])
    assert (endless.mean, endless.variance, endless.std) == (inf, inf, inf)
    assert FiniteLaw.of([0.0, 1e200], [1.0, 1e-300]).variance == pytest.approx(1e100, rel=1e-12)
