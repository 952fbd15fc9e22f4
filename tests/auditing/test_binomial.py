"""Bounds of binomial probabilities, against exact sums, mpmath and brute force."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import mpmath
import pytest

from tacit.auditing.binomial import (
    epsilon_lower,
    log_down,
    log_factorial,
    lower_probability,
    ratio_bound,
    tail_above,
    upper_probability,
)

MP = mpmath.MPContext()
MP.dps = 60
ERRORS = [Fraction(1, 4), Fraction(1, 20), Fraction(1, 10**3), Fraction(1, 10**9), Fraction(1, 10**13)]


def exact_tail(n: int, k: int, p: Fraction) -> Fraction:
    return sum((comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), start=Fraction(0))


def mp_tail(n: int, k: int, p: Fraction) -> Any:  # noqa: ANN401 - a number of mpmath
    """Return Pr[Bin(n, p) ≥ k] for k ≥ n·p, by adding terms up until they no longer matter."""
    x = MP.mpf(p.numerator) / p.denominator
    log = MP.loggamma(n + 1) - MP.loggamma(k + 1) - MP.loggamma(n - k + 1) + k * MP.log(x) + (n - k) * MP.log1p(-x)
    term = total = MP.exp(log)
    for j in range(k, n):
        term *= (n - j) * x / ((j + 1) * (1 - x))
        total += term
        if term < total * MP.mpf(10) ** -40:
            break
    return total


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
def test_the_bounds_are_safe_and_tight_by_exact_sums(n: int, error: Fraction) -> None:
    for k in range(n + 1):
        low, high = lower_probability(k, n, error), upper_probability(k, n, error)
        assert exact_tail(n, k, low) <= error or k == 0
        assert exact_tail(n, n - k, 1 - high) <= error or k == n
        if k > 1:
            assert exact_tail(n, k, low * (1 + Fraction(1, 10**7))) > error
        if k < n - 1:
            assert exact_tail(n, n - k, 1 - high * (1 - Fraction(1, 10**7))) > error


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    ("n", "k"),
    [(100, 2), (100, 50), (100, 99), (5000, 4999), (50_000, 7), (50_000, 25_000), (10**6, 3), (10**6, 700_001)],
)
def test_the_bounds_are_safe_and_tight_by_mpmath(n: int, k: int, error: Fraction) -> None:
    low, high = lower_probability(k, n, error), upper_probability(k, n, error)
    level = MP.mpf(error.numerator) / error.denominator
    assert mp_tail(n, k, low) <= level
    assert mp_tail(n, k, low * (1 + Fraction(1, 10**6))) > level
    assert mp_tail(n, n - k, 1 - high) <= level
    if k < n - 1:
        assert mp_tail(n, n - k, 1 - high * (1 - Fraction(1, 10**6))) > level


@pytest.mark.parametrize(
    ("n", "k", "p"), [(50, 30, "1/3"), (3000, 1100, "1/3"), (10**5, 60_000, "1/2"), (10**6, 10, "1/1000000")]
)
def test_the_tail_is_bounded_from_above_and_closely(n: int, k: int, p: str) -> None:
    tail = tail_above(n, k, Fraction(p))
    true = mp_tail(n, k, Fraction(p))
    assert true <= MP.mpf(tail.numerator) / tail.denominator <= true * (1 + MP.mpf(10) ** -8)


def test_tails_at_the_ends() -> None:
    half = Fraction(1, 2)
    assert [tail_above(5, 0, half), tail_above(5, 6, half), tail_above(5, 1, Fraction(0))] == [1, 0, 0]
    assert tail_above(5, 5, Fraction(1)) == tail_above(5, 1, half) == 1
    assert lower_probability(0, 9, half / 2) == 0
    assert upper_probability(9, 9, half / 2) == 1


@pytest.mark.parametrize("n", [0, 1, 255, 256, 1000, 10**6])
def test_the_logarithm_of_a_factorial(n: int) -> None:
    assert abs(MP.mpf(str(log_factorial(n))) - MP.loggamma(n + 1)) < MP.mpf(10) ** -24


@pytest.mark.parametrize(
    "x", ["2", "1/3", "1000000000/7", "1/123456789123456789", "1000000000000000001/1000000000000000000"]
)
def test_the_logarithm_is_rounded_down(x: str) -> None:
    low, true = log_down(Fraction(x)), MP.log(MP.mpf(Fraction(x).numerator) / Fraction(x).denominator)
    assert MP.mpf(low) < true
    assert true - MP.mpf(low) <= abs(true) * MP.mpf(2) ** -51


def test_the_ratio_of_the_lecture() -> None:
    assert ratio_bound(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)) == 0.0
    assert ratio_bound(Fraction(0), Fraction(1), Fraction(0)) == 0.0
    assert 0.69 < ratio_bound(Fraction(3, 4), Fraction(1, 4), Fraction(1, 4)) < 0.6931471805599454


def sums(chances: Sequence[Fraction]) -> list[Fraction]:
    """Return the law of a sum of independent indicators."""
    law = [Fraction(1)]
    for p in chances:
        law = [a * (1 - p) + b * p for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


GRID = [Fraction(0), Fraction(1, 60), Fraction(1, 9), Fraction(1, 2), Fraction(19, 20), Fraction(1)]


@pytest.mark.parametrize("error", [Fraction(1, 4), Fraction(1, 20), Fraction(1, 100)])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_bounds_hold_if_the_law_drifts(n: int, error: Fraction) -> None:
    bounds = [(lower_probability(k, n, error), upper_probability(k, n, error)) for k in range(n + 1)]
    for chances in product(GRID, repeat=n):
        mean, law = sum(chances, start=Fraction(0)) / n, sums(chances)
        assert sum((law[k] for k in range(n + 1) if bounds[k][0] > mean), start=Fraction(0)) <= error
        assert sum((law[k] for k in range(n + 1) if bounds[k][1] < mean), start=Fraction(0)) <= error


def test_an_exact_interval_would_be_wrong_for_one_hit_if_the_law_drifts() -> None:
    """The reason for the bound a/n: Clopper and Pearson's 1 - (1 - a)^(1/n) is too high for unequal chances."""
    error, n = Fraction(1, 4), 5
    exact = Fraction(1) - Fraction(944087511, 10**9)  # 1 - 0.75^(1/5), rounded down
    chance = exact * n * Fraction(999_999, 10**6)
    assert exact > chance / n
    assert chance > error


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 10)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_one_look_is_wrong_with_at_most_its_probability(epsilon: float, alpha: Fraction) -> None:
    n = 24
    p = 1 / (1 + MP.exp(-epsilon))
    law = [MP.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    wrong = sum(
        law[a] * law[n - b]
        for a in range(n + 1)
        for b in range(n + 1)
        if epsilon_lower((a, n), (b, n), delta=Fraction(0), error=alpha) > epsilon
    )
    assert wrong <= alpha.numerator / alpha.denominator
    assert wrong > 0 or epsilon > 2  # the bound is not vacuous
