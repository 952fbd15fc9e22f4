"""The privacy loss against laws that are enumerated or integrated in 60 digits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from math import exp, expm1, inf, isclose, log, tanh
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from tacit.errors import InvalidError
from tacit.guarantees import events
from tacit.guarantees.pld import Bounds
from tacit.guarantees.privacy_loss import PrivacyLoss

mp = mpmath.mp.clone()
mp.dps = 60
Law = dict[Any, Any]
"""Losses and their probabilities, as mpmath's numbers."""


def law_of(p: Callable[[int], Any], q: Callable[[int], Any], outputs: Iterable[int]) -> Law:
    """Return the law of ln p/q under p, normalised."""
    masses: Law = defaultdict(lambda: mp.mpf(0))
    total = mp.mpf(0)
    for z in outputs:
        masses[mp.mpf(mp.nstr(mp.log(p(z) / q(z)), 45))] += p(z)  # equal losses are one
        total += p(z)
    return {loss: mass / total for loss, mass in masses.items()}


def laplace_law(scale: Fraction, shift: int) -> Law:
    s = mp.mpf(scale.numerator) / scale.denominator
    reach = int(150 * scale) + shift + 5
    return law_of(lambda z: mp.exp(-abs(z) / s), lambda z: mp.exp(-abs(z - shift) / s), range(-reach, reach))


def gaussian_law(variance: Fraction, shift: int) -> Law:
    tau = mp.mpf(variance.numerator) / variance.denominator
    reach = int(40 * float(variance) ** 0.5) + shift + 3
    weights = range(-reach, reach + 1)
    return law_of(lambda z: mp.exp(-z * z / (2 * tau)), lambda z: mp.exp(-((z + shift) ** 2) / (2 * tau)), weights)


def raw(law: Law, n: int) -> Any:  # noqa: ANN401 - mpmath has no types
    return sum(mass * loss**n for loss, mass in law.items())


def central(law: Law, n: int) -> Any:  # noqa: ANN401 - mpmath has no types
    mean = raw(law, 1)
    return sum(mass * (loss - mean) ** n for loss, mass in law.items())


def beyond(law: Law, x: float) -> list[tuple[Any, Any]]:
    """Return the losses above x, minus x, with their masses. A float means its decimal."""
    gaps = [(loss - mp.mpf(repr(x)), mass) for loss, mass in law.items()]
    return [(gap, mass) for gap, mass in gaps if gap > mp.mpf(10) ** -40]


def tail(law: Law, x: float) -> float:
    return float(sum(mass for _, mass in beyond(law, x)))


def hinge(law: Law, x: float) -> float:
    return float(sum(mass * (1 - mp.exp(-gap)) for gap, mass in beyond(law, x)))


def near(found: float, truth: object, rel: float = 1e-12) -> bool:
    expected = float(truth)  # type: ignore[arg-type]  # mpmath has no types
    return isclose(found, expected, rel_tol=rel, abs_tol=1e-30)


def check(loss: PrivacyLoss, law: Law, sizes: Iterable[float]) -> None:
    for n in range(1, 8):
        assert near(loss.moment(n), raw(law, n)), n
        assert near(loss.moment(n, central=True), central(law, n)), n
    assert near(loss.mean, raw(law, 1))
    assert near(loss.variance, central(law, 2))
    for x in sizes:
        for bounds, truth in ((loss.exceeds(epsilon=x), tail(law, x)), (loss.delta(epsilon=x), hinge(law, x))):
            assert bounds.lower <= truth * (1 + 1e-15) + 1e-300
            assert bounds.upper >= truth * (1 - 1e-15)
            assert bounds.upper - bounds.lower <= 1e-12 * truth + 1e-300


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (1, 0.1), (3, 1), (5, 4), (2, 20), (7, 0.5)])
def test_discrete_laplace_noise(sensitivity: int, epsilon: float) -> None:
    mechanism = tc.Laplace(sensitivity=sensitivity, epsilon=epsilon)
    law = laplace_law(mechanism.event.scale, sensitivity)
    check(mechanism.loss, law, [0, 0.05, epsilon / 3, epsilon * 0.99, epsilon, 2 * epsilon])


@pytest.mark.parametrize(("sigma", "shift"), [(0.5, 1), (1, 1), (2, 1), (3.9, 1), (4, 1), (6, 1), (0.3, 1)])
def test_discrete_gaussian_noise(sigma: float, shift: int) -> None:
    mechanism = tc.Gaussian(sensitivity=shift, sigma=sigma)
    check(mechanism.loss, gaussian_law(mechanism.event.variance, shift), [0, 0.1, 0.5, 1, 3])


@pytest.mark.parametrize(("variance", "shift"), [(Fraction(9), 3), (Fraction(81), 5), (Fraction(4, 9), 2)])
def test_discrete_gaussian_noise_on_one_number_that_moves_by_more(variance: Fraction, shift: int) -> None:
    event = events.DiscreteGaussianNoise(variance=variance, l2_squared=shift**2, coordinates=1)
    check(tc.compose([event]).loss, gaussian_law(variance, shift), [0, 0.3, 2])


def test_wide_discrete_gaussian_noise_is_summed_term_by_term() -> None:
    loss = tc.Gaussian(sensitivity=1, sigma=300).loss
    assert near(loss.mean, 1 / (2 * 300**2))
    assert near(loss.std, 1 / 300)
    truth = gaussian_law(Fraction(300**2), 1)
    assert near(loss.exceeds(epsilon=0.01).upper, tail(truth, 0.01))


def sums(laws: Iterable[Law]) -> Law:
    """Return the law of a sum of independent losses."""
    total: Law = {mp.mpf(0): mp.mpf(1)}
    for law in laws:
        longer: Law = defaultdict(lambda: mp.mpf(0))
        for (x, p), (y, q) in product(total.items(), law.items()):
            longer[x + y] += p * q
        total = longer
    return total


@pytest.mark.parametrize("sigma", [0.7, 1.5])
def test_the_first_three_moments_of_a_vector_are_the_same_for_all_moves(sigma: float) -> None:
    loss = tc.Gaussian(sensitivity=2, sigma=sigma).loss
    variance = Fraction(str(sigma)) ** 2
    one, four = gaussian_law(variance, 2), sums([gaussian_law(variance, 1)] * 2)
    for n in (1, 2, 3):
        assert near(loss.moment(n), raw(one, n))
    assert near(loss.mean, 2 * raw(four, 1))
    assert near(loss.variance, 2 * central(four, 2))
    with pytest.raises(InvalidError, match="Above the order 3"):
        loss.moment(4)


def power(n: int) -> Callable[[Any], Any]:
    return lambda x: x**n


def between(density: Callable[[Any], Any], low: float, high: float) -> Any:  # noqa: ANN401 - mpmath has no types
    return mp.quad(density, mp.linspace(low, high, 9))


@pytest.mark.parametrize("size", [0.01, 0.5, 1, 6])
def test_continuous_laplace_noise(size: float) -> None:
    e = Fraction(str(size))
    loss = tc.compose([events.LaplaceNoise(scale=Fraction(1), l1=e)]).loss

    def mean(f: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - mpmath has no types
        edge = mp.mpf(str(size))
        inner = between(lambda x: mp.exp(-(edge - x) / 2) / 4 * f(x), -edge, edge)
        return f(edge) / 2 + f(-edge) * mp.exp(-edge) / 2 + inner

    for n in range(1, 7):
        assert near(loss.moment(n), mean(power(n)))
    centre = mean(lambda x: x)
    assert near(loss.moment(4, central=True), mean(lambda x: (x - centre) ** 4))
    assert near(loss.exceeds(epsilon=size / 2).upper, 1 - exp(-size / 4) / 2)
    assert near(loss.delta(epsilon=size / 2).upper, -expm1(-size / 4))
    assert loss.exceeds(epsilon=size) == Bounds(0.0, 0.0)


@pytest.mark.parametrize("mu", [0.01, 0.5, 1, 5])
def test_continuous_gaussian_noise(mu: float) -> None:
    loss, m = tc.compose([tc.GaussianDP(mu=mu)]).loss, mp.mpf(str(mu))
    assert near(loss.mean, m**2 / 2, 1e-15)
    assert near(loss.variance, m**2, 1e-15)
    assert loss.moment(3, central=True) == 0
    assert near(loss.moment(4, central=True), 3 * m**4)
    assert near(loss.moment(3), (m**2 / 2) ** 3 + 3 * (m**2 / 2) * m**2)
    for x in (0, mu / 2, 4 * mu):
        truth = mp.ncdf(m / 2 - mp.mpf(x) / m)
        bounds = loss.exceeds(epsilon=x)
        assert bounds.lower <= truth <= bounds.upper
        assert near(bounds.upper, truth, 1e-11)
        delta = loss.delta(epsilon=x)
        exact = truth - mp.exp(x) * mp.ncdf(-m / 2 - mp.mpf(x) / m)
        assert delta.lower <= exact <= delta.upper
        assert near(delta.upper, exact, 1e-9)


@pytest.mark.parametrize("size", [0.1, 1, 5])
def test_a_selection_of_bounded_range(size: float) -> None:
    loss, e = tc.Exponential(sensitivity=1, epsilon=size).loss, mp.mpf(str(size))

    def mean(f: Callable[[Any], Any], low: Any = None) -> Any:  # noqa: ANN401 - mpmath has no types
        return between(lambda x: mp.exp(x / 2) / (4 * mp.sinh(e / 2)) * f(x), -e if low is None else low, e)

    for n in range(1, 7):
        assert near(loss.moment(n), mean(power(n)))
    at = e / 3
    assert near(loss.exceeds(epsilon=Fraction(str(size)) / 3).upper, mean(lambda _: mp.mpf(1), at))
    assert near(loss.delta(epsilon=Fraction(str(size)) / 3).upper, mean(lambda x: 1 - mp.exp(at - x), at))


def test_the_loss_of_a_real_number_has_the_law_of_its_grid_and_is_close_to_the_continuous_one() -> None:
    fine = tc.Laplace(sensitivity=1.0, epsilon=1).loss
    plain = tc.compose([events.LaplaceNoise(scale=Fraction(1), l1=Fraction(1))]).loss
    for n in range(1, 6):
        assert near(fine.moment(n), plain.moment(n), 1e-6)
    assert near(fine.exceeds(epsilon=0.5).upper, plain.exceeds(epsilon=0.5).upper, 1e-5)


@given(st.floats(1e-3, 5), st.integers(1, 6), st.floats(0.3, 6))
@settings(max_examples=15)
def test_the_loss_of_pure_releases_is_bounded_and_its_mean_too(epsilon: float, shift: int, sigma: float) -> None:
    loss = tc.Laplace(sensitivity=shift, epsilon=epsilon).loss
    assert 0 < loss.mean <= epsilon * tanh(epsilon / 2) * (1 + 1e-12)
    assert loss.mean <= epsilon * expm1(epsilon)
    assert loss.exceeds(epsilon=epsilon).upper == 0
    normal = tc.Gaussian(sensitivity=shift, sigma=sigma)
    assert near(normal.loss.mean, shift**2 / (2 * sigma**2))


# several releases


def test_the_moments_of_a_total_are_those_of_the_sum() -> None:
    loss = tc.compose([(tc.Laplace(sensitivity=2, epsilon=1), 3), (tc.RandomizedResponse(epsilon=0.5), 2)]).loss
    bit = {mp.mpf(sign) / 2: 1 / (1 + mp.exp(-mp.mpf(sign) / 2)) for sign in (1, -1)}
    law = sums([*[laplace_law(Fraction(2), 2)] * 3, bit, bit])
    for n in range(1, 8):
        assert near(loss.moment(n), raw(law, n))
        assert near(loss.moment(n, central=True), central(law, n))
    for x in (0, 0.25, 1, 2.2, 3.5, 4.0, 5):
        bounds = loss.exceeds(epsilon=x)
        assert bounds.lower <= tail(law, x) + 1e-12
        assert bounds.upper >= tail(law, x) - 1e-12
        assert loss.delta(epsilon=x).lower <= hinge(law, x) + 1e-12
        assert loss.delta(epsilon=x).upper >= hinge(law, x) - 1e-12


def binomial(k: int, epsilon: float) -> Law:
    p = 1 / (1 + mp.exp(-mp.mpf(str(epsilon))))
    return {(k - 2 * j) * mp.mpf(str(epsilon)): mp.binomial(k, j) * p ** (k - j) * (1 - p) ** j for j in range(k + 1)}


@pytest.mark.parametrize("x", [0.0, 0.05, 0.5, 2.0, 3.1, 6.0])
def test_the_tail_of_a_hundred_releases_is_enclosed(x: float) -> None:
    loss, law = tc.compose([(tc.PureDP(epsilon=0.1), 100)]).loss, binomial(100, 0.1)
    bounds = loss.exceeds(epsilon=x)
    low, high = tail(law, x), tail(law, x - 1e-12)  # an atom at x may count or not
    assert bounds.lower <= low
    assert bounds.upper >= low
    assert bounds.upper - bounds.lower <= (high - low) + 0.25 * high + 1e-15


def test_the_tail_exceeds_delta_and_both_are_those_of_the_notes() -> None:
    loss = tc.compose([(tc.Laplace(sensitivity=1.0, epsilon=0.1), 100)]).loss
    bounds, delta = loss.exceeds(epsilon=4.6927), loss.delta(epsilon=4.6927)
    assert 6.1718e-6 < bounds.lower < 6.1733e-6 < bounds.upper < 6.1743e-6  # 6.6e-6 is the bound on a grid from above
    assert 9.9e-7 < delta.lower < delta.upper < 1.01e-6
    assert bounds.lower > 5 * delta.upper  # Pr[L > ε] ≤ δ is sufficient, not necessary


def test_many_gaussians_are_one() -> None:
    loss = tc.compose([(tc.GaussianDP(mu=0.3), 4), tc.GaussianDP(mu=0.8)]).loss
    assert near(loss.variance, 1)
    assert near(loss.exceeds(epsilon=0.5).upper, 0.5, 1e-9)


def test_an_infinite_loss_counts_in_the_tail_and_has_no_moments() -> None:
    loss = tc.compose([tc.ApproxDP(epsilon=1, delta=0.01)]).loss
    p = 1 / (1 + exp(-1))
    assert near(loss.exceeds(epsilon=0.5).upper, 0.01 + 0.99 * p)
    assert near(loss.exceeds(epsilon=1).upper, 0.01)
    assert near(loss.delta(epsilon=5).upper, 0.01)
    with pytest.raises(InvalidError, match="infinite with a probability"):
        _ = loss.mean
    twice = tc.compose([(tc.ApproxDP(epsilon=1, delta=0.01), 2)]).loss.exceeds(epsilon=2)
    assert twice.lower <= 1 - 0.99**2 <= twice.upper


def test_no_release_has_no_loss() -> None:
    loss = tc.compose([]).loss
    assert (loss.mean, loss.variance, loss.exceeds(epsilon=0), loss.delta(epsilon=0)) == (
        0,
        0,
        Bounds(0, 0),
        Bounds(0, 0),
    )


@pytest.mark.parametrize("size", [1e-9, 1e-30, 1e-100])
def test_tiny_losses_keep_their_digits(size: float) -> None:
    loss = tc.compose([tc.PureDP(epsilon=size)]).loss
    assert near(loss.mean / size**2, 0.5)
    assert near(loss.variance / size**2, 1)


def test_moments_far_below_the_losses_do_not_cancel_to_zero() -> None:
    """With q = 1/(1+e^ε) the loss is ε - 2εJ, and J is 1 with probability q and else 0."""
    with mp.workdps(2000):
        size = mp.mpf(700)
        q = 1 / (1 + mp.exp(size))
        exact = [(-2 * size) ** n * (q * (1 - q) ** n + (1 - q) * (-q) ** n) for n in (2, 3, 7)]
        width = 2 * size * mp.sqrt(q * (1 - q))
    loss = tc.RandomizedResponse(epsilon=700).loss
    assert [loss.moment(n, central=True) for n in (2, 3, 7)] == [float(each) for each in exact]
    assert loss.variance == float(exact[0])
    assert isclose(loss.std, float(width), rel_tol=1e-15)
    assert isclose(tc.RandomizedResponse(epsilon=1e-130).loss.mean, 5e-261, rel_tol=1e-15)
    with mp.workdps(2000):
        tiny = 2000 * mp.exp(-500)  # the variance, about 4e6·e^-1000, is below the floats
    assert isclose(tc.compose([tc.PureDP(epsilon=1000)]).loss.std, float(tiny), rel_tol=1e-15)


@pytest.mark.parametrize("epsilon", [1e19, 1e300])
def test_delta_at_an_epsilon_whose_exponential_is_beyond_the_decimals(epsilon: float) -> None:
    assert tc.Laplace(sensitivity=2, epsilon=1).loss.delta(epsilon=epsilon) == Bounds(0, 0)
    assert tc.compose([tc.PureDP(epsilon=1)]).loss.delta(epsilon=epsilon) == Bounds(0, 0)
    delta = tc.compose([tc.ApproxDP(epsilon=1, delta=0.25)]).loss.delta(epsilon=epsilon)
    assert delta.lower <= 0.25 <= delta.upper <= 0.25 * (1 + 1e-15)


# at an output


def test_the_loss_at_an_output_is_the_ratio_of_the_probabilities() -> None:
    m = tc.Laplace(sensitivity=1, epsilon=0.1)
    assert m.loss.at(331, on=337, against=338) == 0.1
    assert m.loss.at(338, on=337, against=338) == -0.1
    assert m.loss.at(500, on=337, against=337) == 0
    wide = tc.Laplace(sensitivity=4, epsilon=1).loss
    assert [wide.at(z, on=0, against=4) for z in (-1, 0, 1, 2, 4, 9)] == [1, 1, 0.5, 0, -1, -1]
    assert tc.Gaussian(sensitivity=1, sigma=2).loss.at(3, on=0, against=1) == pytest.approx((4 - 9) / 8)
    assert tc.RandomizedResponse(epsilon=2).loss.at(output=True, on=True, against=False) == 2
    assert tc.RandomizedResponse(epsilon=2).loss.at([True, False], on=[True, False], against=[True, True]) == 2
    pair = tc.Laplace(sensitivity=2, epsilon=1).loss.at([0, 5], on=[0, 5], against=[1, 4])
    assert pair == 1
    real = tc.Laplace(sensitivity=2.5, epsilon=0.1, outputs=2)
    assert real.loss.at([0.0, 2.5], on=[0.0, 2.5], against=[0.0, 0.0]) == pytest.approx(0.1, rel=1e-6)


def test_the_loss_at_outputs_has_the_law_that_its_moments_state() -> None:
    m = tc.Laplace(sensitivity=3, epsilon=1)
    law = laplace_law(Fraction(3), 3)
    losses = {m.loss.at(z, on=0, against=3) for z in range(-5, 9)}
    assert sorted(losses) == pytest.approx(sorted(float(x) for x in law))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.at(3, on=0, against=2), "not neighbours"),
        (lambda: tc.Gaussian(sensitivity=1, sigma=1).loss.at([3, 3], on=[0, 0], against=[1, 1]), "not neighbours"),
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.at(3.5, on=0, against=1), "output must be"),
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.at(float("nan"), on=0, against=1), "output must be"),
        (lambda: tc.Laplace(sensitivity=1.0, epsilon=1).loss.at(0.1, on=0.0, against=1.0), "not on the grid"),
        (lambda: tc.Laplace(sensitivity=1.0, epsilon=1).loss.at(float("inf"), on=0.0, against=1.0), "infinity"),
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.at([3, 4], on=0, against=1), "one shape"),
        (lambda: tc.RandomizedResponse(epsilon=1).loss.at([True], on=[True, True], against=[True]), "one shape"),
        (lambda: tc.RandomizedResponse(epsilon=1).loss.at([1, 1], on=[1, 1], against=[0, 0]), "more than one bit"),
        (lambda: tc.Exponential(sensitivity=1, epsilon=1).loss.at("a", on={}, against={}), "adds noise or flips bits"),
        (lambda: tc.compose([tc.PureDP(epsilon=1)]).loss.at(1, on=1, against=0), "adds noise or flips bits"),
        (lambda: tc.compose([tc.ZCDP(rho=1)]).loss, "not a law"),
        (lambda: tc.compose([tc.RenyiDP(alpha=2, epsilon=1)]).loss, "not a law"),
        (lambda: tc.compose([tc.PrivacyProfile([(0, 0.1), (1, 1e-6)])]).loss, "not a law"),
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.moment(0), "order must be"),
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.moment(1.5), "order must be"),  # type: ignore[arg-type]
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.exceeds(epsilon=float("nan")), "epsilon must be"),
        (lambda: tc.Laplace(sensitivity=1, epsilon=1).loss.delta(epsilon=-1), "epsilon must be"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        call()


def test_a_sample_has_no_single_loss() -> None:
    sampled = events.PoissonSampled(rate=Fraction(1, 10), of=tc.Laplace(sensitivity=1, epsilon=1).event)
    with pytest.raises(InvalidError, match="different privacy losses"):
        _ = tc.compose([sampled]).loss


def test_an_error_shows_no_value() -> None:
    with pytest.raises(InvalidError) as caught:
        tc.Laplace(sensitivity=1, epsilon=1).loss.at(np.int64(31_415), on=31_415, against=27_182)
    assert "31" not in str(caught.value)


# ε at δ of guarantees that have no ε


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_epsilon_of_a_guarantee_is_that_of_its_composition(delta: float) -> None:
    for guarantee in (tc.ZCDP(rho=0.1), tc.RenyiDP(alpha=8, epsilon=0.5), tc.GaussianDP(mu=1)):
        found = guarantee.epsilon(delta=delta)  # type: ignore[operator]  # the ε of a RenyiDP can be called
        assert near(found, tc.compose([guarantee]).epsilon(delta=delta).upper, 1e-9)
    rho, size = mp.mpf("0.1"), mp.log(1 / mp.mpf(str(delta)))

    def at(a: Any) -> Any:  # noqa: ANN401 - mpmath has no types
        return rho * (1 + a) + mp.log(a / (1 + a)) + (size - mp.log(1 + a)) / a

    best = min(at(mp.mpf(10) ** (mp.mpf(n) / 200)) for n in range(-400, 800))
    assert 0 <= best - tc.ZCDP(rho=0.1).epsilon(delta=delta) < 1e-4
    m, e = mp.mpf(1), mp.mpf(tc.GaussianDP(mu=1).epsilon(delta=delta))
    assert near(float(mp.ncdf(m / 2 - e) - mp.exp(e) * mp.ncdf(-m / 2 - e)), delta, 1e-9)
    order = 0.5 + log(7 / 8) - (log(delta) + log(8)) / 7
    assert near(tc.RenyiDP(alpha=8, epsilon=0.5).epsilon(delta=delta), max(0, order))  # type: ignore[operator]


def test_the_epsilon_of_an_approximate_zcdp_uses_the_rest_of_delta() -> None:
    guarantee = tc.ApproxZCDP(rho=0.1, delta=1e-6)
    assert guarantee.epsilon(delta=3e-6) == tc.ZCDP(rho=0.1).epsilon(delta=2e-6)
    assert guarantee.epsilon(delta=1e-6) == inf
    assert tc.ApproxZCDP(rho=0, delta=1e-6).epsilon(delta=1e-6) == 0
    with pytest.raises(InvalidError, match="delta must be"):
        guarantee.epsilon(delta=2)


def test_a_gaussian_loss_exceeds_every_number_with_a_probability_above_0() -> None:
    """The true values are below the least float; an upper end of 0 would be false."""
    normal = tc.compose([tc.GaussianDP(mu=1)]).loss
    discrete = tc.Gaussian(sensitivity=1, sigma=1).loss
    for loss, size in ((normal, 60), (normal, 1e300), (discrete, 1e10)):
        assert loss.exceeds(epsilon=size).lower == 0 < loss.exceeds(epsilon=size).upper
        assert loss.delta(epsilon=size).lower == 0 < loss.delta(epsilon=size).upper
    assert tc.compose([tc.GaussianDP(mu=1e-200)]).loss.delta(epsilon=1).upper > 0


def test_normal_tails_hold_for_the_least_and_the_largest_mu() -> None:
    small, large = (tc.compose([tc.GaussianDP(mu=mu)]).loss for mu in (1e-200, 1e200))
    assert small.exceeds(epsilon=0).lower <= 0.5 <= small.exceeds(epsilon=0).upper
    assert small.exceeds(epsilon=1).upper < 1e-300
    assert large.exceeds(epsilon=1).lower > 1 - 1e-12
    for mu, size in ((0.3, 0.1), (2.0, 7.0), (5.0, 0.0)):
        truth = mp.erfc((mp.mpf(repr(size)) / mp.mpf(repr(mu)) - mp.mpf(repr(mu)) / 2) / mp.sqrt(2)) / 2
        found = tc.compose([tc.GaussianDP(mu=mu)]).loss.exceeds(epsilon=size)
        assert found.lower <= truth <= found.upper <= found.lower * (1 + 1e-10)


@pytest.mark.parametrize("epsilon", [2, 40])
def test_totals_of_two_answers_are_enclosed_near_their_atoms(epsilon: int) -> None:
    """The loss of two randomized responses is 2ε with probability p², 0 or -2ε.

    At ε = 40 the standard deviation is about 1e-7: steps are then rounded by a large part of themselves.
    """
    loss = tc.compose([(tc.RandomizedResponse(epsilon=epsilon), 2)]).loss
    kept = 1 / (1 + mp.exp(-epsilon))
    for size in (0, 1, 2 * epsilon - 1, 2 * epsilon, 2 * epsilon + 1):
        found = loss.exceeds(epsilon=size)
        truth = kept**2 if size < 2 * epsilon else mp.mpf(0)
        assert found.lower <= truth <= found.upper, size
