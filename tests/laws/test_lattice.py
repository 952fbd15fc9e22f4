"""Discrete Laplace and Gaussian laws as functions, against mpmath with 60 digits."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from mpmath import MPContext

from tacit.laws import DiscreteGaussian, DiscreteLaplace, LatticeLaw, sum_tail

MP = MPContext()
MP.dps = 60
CLOSE = 1e-12
LEAST = 1e-300

SCALES = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(10), Fraction(12_345, 7), Fraction(2**56)]
VARIANCES = [
    *(Fraction(1, 50), Fraction(1, 3), Fraction(99, 100), Fraction(1), Fraction(7), Fraction(100)),
    *(Fraction(255**2), Fraction(256**2), Fraction(256**2 + 1), Fraction(10**6), Fraction(2**100)),
]


def mpf(value: Fraction | float) -> Any:  # noqa: ANN401 - mpmath is not typed
    exact = Fraction(value)
    return MP.mpf(exact.numerator) / exact.denominator


def points(scale: float, multiples: list[float]) -> list[int]:
    return sorted({0, 1, 2, 3, 7, *(int(scale * multiple) for multiple in multiples)})


def check(got: object, expected: Any) -> None:  # noqa: ANN401 - mpmath is not typed
    if expected > LEAST:
        assert abs(mpf(float(got)) / expected - 1) < CLOSE  # type: ignore[arg-type]  # an array of no dimension


def check_law(law: LatticeLaw, k: int, mass: Any, beyond: Any) -> None:  # noqa: ANN401 - mpmath is not typed
    """Compare all functions at k and -k with Pr[K = k] and Pr[K > k], k ≥ 0."""
    at = np.array(float(k))
    with np.errstate(under="ignore"):
        check(law.mass(at), mass)
        check(law.mass(-at), mass)
        check(law.sf(at), beyond)
        check(law.cdf(at), 1 - beyond)
        check(law.cdf(-at - 1), beyond)
        check(law.sf(-at - 1), 1 - beyond)


@pytest.mark.parametrize("scale", SCALES)
def test_the_laplace_law_has_twelve_digits(scale: Fraction) -> None:
    law, decay = DiscreteLaplace(scale), 1 / mpf(scale)
    ratio = MP.exp(-decay)
    for k in points(float(scale), [0.5, 1, 3, 40, 300, 680]):
        at = mpf(float(k))
        check_law(law, k, MP.tanh(decay / 2) * MP.exp(-decay * at), MP.exp(-decay * (at + 1)) / (1 + ratio))
    check(law.variance, 2 * ratio / (1 - ratio) ** 2)
    check(law.std, MP.sqrt(2 * ratio) / (1 - ratio))


def gaussian_tail(variance: Fraction, start: float) -> Any:  # noqa: ANN401 - mpmath is not typed
    """Return Σ_{j ≥ start} e^(-j²/2τ): term by term, or for a large σ by five terms of Euler-Maclaurin."""
    tau = mpf(variance)
    if variance < 300**2:
        last = int(start + 45 * float(variance) ** 0.5) + 40
        return MP.fsum(MP.exp(-(MP.mpf(j) ** 2) / (2 * tau)) for j in range(int(start), last))
    x, sigma = mpf(start) - MP.mpf(1) / 2, MP.sqrt(tau)
    total = sigma * MP.sqrt(MP.pi / 2) * MP.erfc(x / sigma / MP.sqrt(2))
    for order, factor in ((1, "1/24"), (3, "-7/5760"), (5, "31/967680"), (7, "-127/154828800"), (9, "73/3503554560")):
        hermite = 2 ** (-MP.mpf(order) / 2) * MP.hermite(order, x / sigma / MP.sqrt(2))
        total -= mpf(Fraction(factor)) * hermite / sigma**order * MP.exp(-x * x / (2 * tau))
    return total


@lru_cache(maxsize=32)
def gaussian_total(variance: Fraction) -> Any:  # noqa: ANN401 - mpmath is not typed
    tau = mpf(variance)
    if variance > 50:
        return MP.sqrt(2 * MP.pi * tau)
    return 1 + 2 * MP.fsum(MP.exp(-(MP.mpf(j) ** 2) / (2 * tau)) for j in range(1, 400))


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_gaussian_law_has_twelve_digits(variance: Fraction) -> None:
    law, tau, total = DiscreteGaussian(variance), mpf(variance), gaussian_total(variance)
    for k in points(float(variance) ** 0.5, [0.5, 1, 3, 12, 36]):
        mass = MP.exp(-(mpf(float(k)) ** 2) / (2 * tau)) / total
        check_law(law, k, mass, gaussian_tail(variance, k + 1.0) / total)
    if variance < 50:
        squares = MP.fsum(MP.mpf(j) ** 2 * MP.exp(-(MP.mpf(j) ** 2) / (2 * tau)) for j in range(1, 400))
        check(law.variance, 2 * squares / total)
        check(law.std, MP.sqrt(2 * squares / total))
    else:
        check(law.variance, tau)
        check(law.std, MP.sqrt(tau))


@pytest.mark.parametrize("size", [Fraction(1, 700), Fraction(1, 1000), Fraction(1, 1300)])
def test_a_standard_deviation_is_not_0_where_the_variance_is(size: Fraction) -> None:
    r = MP.exp(-1 / mpf(size))
    check(DiscreteLaplace(size).std, MP.sqrt(2 * r) / (1 - r))
    total = 1 + 2 * r  # f(2) is r⁴, with τ = size/2
    check(DiscreteGaussian(size / 2).std, MP.sqrt(2 * r / total))


def test_the_two_ways_to_a_gaussian_tail_agree_where_they_meet() -> None:
    k = np.arange(1.0, 9_000.0, 37.0)
    by_terms, by_integral = DiscreteGaussian(Fraction(256**2)), DiscreteGaussian(Fraction(256**2 + 1))
    moved = by_integral._by_integral(k - 0.5) * np.exp(-k * k / 2 / 256**2 + k * k / 2 / (256**2 + 1))
    assert np.allclose(moved / by_integral._total, by_terms.upper(k), rtol=1e-3)
    same = DiscreteGaussian(Fraction(256**2))
    assert np.allclose(same._by_integral(k - 0.5) / same._total, by_terms.upper(k), rtol=1e-12)


LAWS = [*map(DiscreteLaplace, SCALES[:-1]), *map(DiscreteGaussian, VARIANCES[:-1])]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_quantile_is_the_inverse_of_the_distribution_function(law: LatticeLaw) -> None:
    k = np.arange(-80.0, 81.0)
    with np.errstate(all="ignore"):
        upto = law.cdf(k)
        inside = (upto > 1e-300) & (upto < 1 - 1e-14)
        assert (law.quantile(upto)[inside] == k[inside]).all()
        above = np.nextafter(upto[inside], 1.0)
        assert (law.quantile(above) == k[inside] + 1).all()


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(2**56)), DiscreteGaussian(Fraction(2**100))], ids=repr)
def test_a_quantile_of_an_extreme_scale_is_right_to_the_last_digits(law: LatticeLaw) -> None:
    p = np.array([1e-300, 1e-20, 0.3, 0.5, 0.9, 1 - 1e-9])
    assert np.allclose(law.cdf(law.quantile(p)), p, rtol=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_quantiles_of_nothing_and_of_everything_are_infinite(law: LatticeLaw) -> None:
    with np.errstate(all="ignore"):
        assert law.quantile(np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]
        ends = np.array([-np.inf, np.inf])
        assert (law.cdf(ends).tolist(), law.sf(ends).tolist()) == ([0.0, 1.0], [1.0, 0.0])


def test_a_law_of_almost_no_noise_is_zero() -> None:
    for law in (DiscreteLaplace(Fraction(1, 10**300)), DiscreteGaussian(Fraction(1, 10**200))):
        with np.errstate(all="ignore"):
            assert (float(law.mass(np.array(0.0))), law.variance) == (1.0, 0.0)
            assert law.quantile(np.array([1e-300, 0.5, 0.999])).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("first", "second"), [(1, 1), (3, 3), (2, 3), (5, 4), (Fraction(1, 3), Fraction(1, 2)), (1, 10)]
)
def test_the_tail_of_a_sum_is_that_of_the_convolution(first: Fraction, second: Fraction) -> None:
    a, b = (DiscreteLaplace(Fraction(scale)) for scale in (first, second))
    k = np.arange(-900.0, 901.0)
    with np.errstate(under="ignore"):
        masses = np.convolve(a.mass(k), b.mass(k))
        at = np.arange(-100.0, 101.0)
        expected = np.cumsum(masses[::-1])[::-1][1700:1901]
        got = sum_tail(a, b, at)
    seen = expected > LEAST
    assert np.allclose(got[seen], expected[seen], rtol=1e-11, atol=0)
    assert np.allclose(sum_tail(b, a, at), got, rtol=1e-14, atol=0)


def test_a_sum_of_almost_no_noise_is_zero() -> None:
    tiny = DiscreteLaplace(Fraction(1, 10**300))
    with np.errstate(all="ignore"):
        tails = sum_tail(tiny, DiscreteLaplace(Fraction(1, 10**290)), np.array([0.0, 1.0]))
    assert tails.tolist() == [1.0, 0.0]
