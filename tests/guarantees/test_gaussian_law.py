from __future__ import annotations

import itertools
from fractions import Fraction
from math import exp, expm1, floor, isqrt, sqrt

import mpmath
import numpy as np
import pytest

from tacit.guarantees import gaussian_law as law
from tacit.guarantees.conversions import delta_of_zcdp, gaussian_delta

TWO = Fraction(2)


def exact_delta(tau: float, shift: int, epsilon: float) -> float:
    """The hockey-stick divergence of K and K - shift, by brute force over the integers, in 40 digits."""
    with mpmath.workdps(40):
        reach = int(20 * sqrt(tau) + epsilon * tau / shift) + shift + 5
        f = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(tau))) for k in range(-reach, reach + shift + 1)}
        total = mpmath.fsum(f[k] for k in range(-reach, reach + 1))
        gaps = (f[k] - mpmath.exp(epsilon) * f[k + shift] for k in range(-reach, reach + 1))
        return float(mpmath.fsum(gap for gap in gaps if gap > 0) / total)


CASES = list(itertools.product([0.04, 0.25, 1.0, 4.0, 100.0], [1, 2, 5], [0.01, 0.5, 2.0, 8.0]))


@pytest.mark.parametrize(("tau", "shift", "epsilon"), CASES)
def test_the_scalar_delta_is_the_exact_one_rounded_up(tau: float, shift: int, epsilon: float) -> None:
    truth, bound = exact_delta(tau, shift, epsilon), law.scalar_delta(Fraction(tau), shift, Fraction(epsilon))
    assert truth <= bound <= truth * (1 + 1e-8) + 1e-299


@pytest.mark.parametrize(("tau", "epsilon"), [(0.25, 0.5), (1.0, 0.1), (4.0, 1.0), (9.0, 0.01)])
def test_no_smaller_shift_is_worse_than_the_largest(tau: float, epsilon: float) -> None:
    deltas = [exact_delta(tau, shift, epsilon) for shift in range(1, 8)]
    assert deltas == sorted(deltas)


def test_the_discrete_law_is_not_the_continuous_one() -> None:
    """At Δ = 1 its δ reaches 3.7 times the continuous one's for σ = 0.5 and 1.25 times for σ = 2, while δ > 1e-8."""
    for sigma, ratio in ((0.5, 3.7), (2.0, 1.25)):
        pairs = [
            (law.scalar_delta(Fraction(sigma) ** 2, 1, Fraction(epsilon)), gaussian_delta(1 / sigma, epsilon))
            for epsilon in np.linspace(0.01, 30, 2000)
        ]
        assert max(discrete / continuous for discrete, continuous in pairs if continuous > 1e-8) >= ratio


@pytest.mark.parametrize("shift", [1, 50, 1000, 4000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 4.0])
def test_integrals_and_sums_agree_and_the_integrals_err_upward(shift: int, epsilon: float) -> None:
    tau, size = Fraction(3000**2), Fraction(epsilon)
    start = floor(size * tau / shift - Fraction(shift, 2)) + 1
    by_sum, by_integral = law._termwise(tau, shift, size, start), law._by_integrals(tau, shift, size, start)
    assert by_integral >= by_sum * (1 - 1e-9)
    if by_sum > 1e-60:
        assert by_integral <= by_sum * 1.01


@pytest.mark.parametrize("steps", [2**16, 2**20, 2**30])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_a_fine_grid_approaches_the_continuous_law(steps: int, epsilon: float) -> None:
    """With σ = 2 sensitivities, many steps a sensitivity; the bound may exceed the continuous δ by O(1/steps²)."""
    bound = law.scalar_delta(Fraction((2 * steps) ** 2), steps, Fraction(epsilon))
    assert bound == pytest.approx(gaussian_delta(0.5, epsilon), rel=1e-6)


def vector_delta(tau: float, shift: tuple[int, ...], epsilon: float) -> float:
    """Brute force over the product lattice."""
    reach = int(9 * sqrt(tau)) + 3
    axis = np.arange(-reach, reach + 1)
    mass = np.exp(-(axis**2) / (2 * tau))
    total = np.exp(-(np.arange(-9 * reach, 9 * reach + 1) ** 2) / (2 * tau)).sum()
    joint, loss = np.ones(1), np.zeros(1)
    for d in shift:
        joint = (joint[:, None] * (mass / total)).ravel()
        loss = (loss[:, None] + (2 * axis * d + d * d) / (2 * tau)).ravel()
    gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float((joint * gain).sum())


def shifts(squared: int) -> list[tuple[int, ...]]:
    """All integer vectors, up to signs, order and zeros, whose squared length is at most `squared`."""
    sizes = range(1, isqrt(squared) + 1)
    every = (itertools.combinations_with_replacement(sizes, m) for m in range(1, squared + 1))
    return [parts for parts in itertools.chain(*every) if sum(d * d for d in parts) <= squared]


@pytest.mark.parametrize(("tau", "squared"), [(0.5, 2), (1.0, 3), (4.0, 4), (2.0, 4), (6.25, 3)])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0])
def test_the_vector_bound_covers_every_shift(tau: float, squared: int, epsilon: float) -> None:
    bound = law.delta(Fraction(tau), squared, squared, Fraction(epsilon))
    for shift in shifts(squared):
        assert vector_delta(tau, shift, epsilon) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_the_comparison_alone_covers_every_shift(epsilon: float) -> None:
    for tau, squared in ((25.0, 2), (49.0, 3), (100.0, 2)):
        bound = law._by_comparison([[(Fraction(tau), squared, squared)]], epsilon)
        assert max(vector_delta(tau, shift, epsilon) for shift in shifts(squared)) <= bound


def product_delta(taus: tuple[float, float], shift: tuple[int, int], epsilon: float) -> float:
    """The hockey-stick divergence of two independent discrete Gaussians, each moved, by brute force."""
    laws, moved = [], []
    for tau, d in zip(taus, shift, strict=True):
        k = np.arange(-int(14 * sqrt(tau)) - d, int(14 * sqrt(tau)) + d + 1)
        total = np.exp(-(np.arange(-2000, 2001) ** 2) / (2 * tau)).sum()
        laws.append(np.exp(-(k**2) / (2 * tau)) / total)
        moved.append(np.exp(-((k + d) ** 2) / (2 * tau)) / total)
    gap = np.multiply.outer(*laws) - exp(epsilon) * np.multiply.outer(*moved)
    return float(gap[gap > 0].sum())


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize(("taus", "shift"), [((25.0, 400.0), (1, 5)), ((64.0, 64.0), (2, 3)), ((1.0, 100.0), (1, 4))])
def test_the_joint_bound_covers_two_laws_and_is_not_far_off(
    taus: tuple[float, float], shift: tuple[int, int], epsilon: float
) -> None:
    truth = product_delta(taus, shift, epsilon)
    parts = [(Fraction(tau), d * d, 1) for tau, d in zip(taus, shift, strict=True)]
    assert truth <= law.joint_delta(parts, Fraction(epsilon)) * (1 + 1e-9)
    compared = law._by_comparison([parts], epsilon)
    assert truth <= compared * (1 + 1e-9)
    fine = [(tau * 2**40, square * 2**40, m) for tau, square, m in parts]
    mu = sqrt(sum(d * d / tau for tau, d in zip(taus, shift, strict=True)))
    assert law.joint_delta(fine, Fraction(epsilon)) == pytest.approx(gaussian_delta(mu, epsilon), rel=1e-6)


def test_the_comparison_is_tight_on_a_fine_grid() -> None:
    steps, outputs = 2**20, 100
    bound = law.delta(Fraction((8 * steps) ** 2), steps**2, outputs, Fraction(1, 2))
    assert bound == pytest.approx(gaussian_delta(1 / 8, 0.5), rel=1e-6)


def test_the_cell_ratio_of_the_comparison_stays_in_its_proved_range() -> None:
    """1 - 1/24τ ≤ J(k) ≤ e^(k²/24τ²), by quadrature."""
    for tau in (1.0, 3.0, 50.0):
        for k in (0, 1, 2, 10, 40):
            cell = mpmath.quad(
                lambda v, k=k, tau=tau: mpmath.cosh(k * v / tau) * mpmath.exp(-v * v / 2 / tau), [-0.5, 0.5]
            )
            assert 1 - 1 / (24 * tau) <= cell <= exp(k * k / (24 * tau * tau))


@pytest.mark.parametrize("exponent", [40, 150, 10**6, 10**12, 10**16, 10**40])
def test_an_epsilon_just_below_the_loss_keeps_its_delta(exponent: int) -> None:
    """σ² = 1/2ε·(1 - 1e-15) makes the loss at 0 exceed ε by less than a float can tell; δ on {0} is about 1e-15·ε."""
    epsilon = Fraction(exponent)
    variance = (1 - Fraction(1, 10**15)) / (2 * epsilon)
    truth = -expm1(-float(min(1 / (2 * variance) - epsilon, Fraction(700))))
    assert law.delta(variance, 1, 1, epsilon) >= truth * (1 - 1e-12)


@pytest.mark.parametrize("tau", [0.09, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_the_quantile_is_the_least_that_keeps_its_confidence(tau: float, beta: float) -> None:
    t = law.two_sided_quantile(Fraction(tau), beta)
    reach = int(15 * sqrt(tau)) + 5
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-(k**2) / (2 * tau))
    mass /= mass.sum()
    assert mass[np.abs(k) > t].sum() <= beta * (1 + 1e-9)
    assert t == 0 or mass[np.abs(k) >= t].sum() > beta * (1 - 1e-9)


def test_the_quantile_of_a_wide_law_is_the_normal_one() -> None:
    assert law.two_sided_quantile(Fraction(10**30), 0.05) == pytest.approx(1.959963984540054e15, rel=1e-9)


@pytest.mark.parametrize(
    ("mu", "epsilon"),
    [(1.0, 1.0), (0.1, 0.5), (5.0, 3.0), (0.01, 0.2), (1.0, 30.0), (0.5, 0.0), (1500.0, 1e6), (1e5, 5e9)],
)
def test_the_continuous_delta_agrees_with_high_precision(mu: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        truth = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    computed = gaussian_delta(mu, epsilon)
    assert truth <= computed <= truth * (1 + mpmath.mpf(10) ** -6) + mpmath.mpf(10) ** -300


@pytest.mark.parametrize(("rho", "epsilon"), [(0.1, 1.0), (0.5, 3.0), (1e-4, 0.05), (5.0, 30.0)])
def test_the_zcdp_conversion_beats_the_simple_one_and_covers_the_gaussian(rho: float, epsilon: float) -> None:
    """Bun and Steinke's prop. 1.3: δ = e^(-(ε-ρ)²/4ρ); the Gaussian with μ² = 2ρ is ρ-zCDP."""
    converted = delta_of_zcdp(rho, epsilon)
    assert gaussian_delta(sqrt(2 * rho), epsilon) <= converted <= exp(-((epsilon - rho) ** 2) / (4 * rho))


def test_the_zcdp_conversion_is_near_the_best_order() -> None:
    rho, epsilon = 0.1, 1.0
    alphas = np.linspace(1.0001, 60, 200_001)
    less = alphas - 1
    logs = less * (alphas * rho - epsilon) - np.log(less) + alphas * np.log1p(-1 / alphas)
    assert delta_of_zcdp(rho, epsilon) == pytest.approx(float(np.exp(logs.min())), rel=1e-6)


def test_schedules_that_outputs_choose_between_cost_more_than_each_alone() -> None:
    """One schedule has the larger factors and the other more vectors: events may take outputs of both."""
    few, many = [(Fraction(40), 1, 60)], [(Fraction(4000), 10, 20)] * 10
    alone = max(law._by_comparison([each], 1.0) for each in (few, many))
    assert law._by_comparison([few, many], 1.0) > 1.2 * alone
    together = law.adaptive_delta([few, many], Fraction(1))
    assert together >= max(law.adaptive_delta([each], Fraction(1)) for each in (few, many))
    assert law.adaptive_delta([few, few], Fraction(1)) == law.joint_delta(few, Fraction(1))
