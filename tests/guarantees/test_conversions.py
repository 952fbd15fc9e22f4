from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import exp, inf, nan
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidError
from tacit.guarantees import ZCDP, GaussianDP, PureDP, RenyiDP
from tacit.guarantees import conversions as conv
from tacit.guarantees.exact import Exact, Number

TIGHT = 1e-14
NOT_FROM_ZERO: list[Any] = [-1, -1e-9, nan, inf, -inf, "1", True, None, [1], 1j, 10**400]
NOT_A_PROBABILITY: list[Any] = [*NOT_FROM_ZERO, 1.5, Fraction(3, 2)]
NOT_AN_ORDER: list[Any] = [*NOT_FROM_ZERO, 0, 0.5, 1, 1.0]

positive = st.floats(1e-3, 50)
deltas = st.floats(1e-12, 0.5)
orders = st.floats(1.001, 500)


def above(bound: float, truth: Any) -> bool:  # noqa: ANN401 - mpmath has no types
    """Return whether a float prints as at least the truth, and is close to it."""
    printed = mpmath.mpf(repr(float(bound)))
    return bool(truth <= printed <= truth * (1 + TIGHT) + mpmath.mpf(10) ** -320)


def renyi_epsilon(alpha: Any, size: Any, delta: Any) -> Any:  # noqa: ANN401
    return size + mpmath.log((alpha - 1) / alpha) - (mpmath.log(delta) + mpmath.log(alpha)) / (alpha - 1)


def gaussian_delta(mu: Any, epsilon: Any) -> Any:  # noqa: ANN401
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("alpha", "size"), [("1.5", "0.01"), ("2", "0.1"), ("8", "0.5"), ("100", "3"), ("1e6", "20")])
@pytest.mark.parametrize("delta", ["0.01", "1e-6", "1e-100"])
def test_renyi_epsilon_and_delta_are_the_formula_rounded_up(alpha: str, size: str, delta: str) -> None:
    with mpmath.workdps(50):
        truth = renyi_epsilon(*map(mpmath.mpf, (alpha, size, delta)))
        epsilon = conv.epsilon_of_renyi(Decimal(alpha), Decimal(size), Decimal(delta))
        assert above(epsilon, truth)
        a, at = mpmath.mpf(alpha), mpmath.mpf(repr(epsilon))
        back = mpmath.exp((a - 1) * (mpmath.mpf(size) - at)) / (a - 1) * (1 - 1 / a) ** a
        assert above(conv.delta_of_renyi(Decimal(alpha), Decimal(size), epsilon), back)


@pytest.mark.parametrize("rho", ["1e-6", "0.005", "0.5", "10", "1e4"])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-30"])
def test_zcdp_epsilon_is_the_least_over_all_orders(rho: str, delta: str) -> None:
    with mpmath.workdps(50):
        r, d = mpmath.mpf(rho), mpmath.mpf(delta)

        def bound(t: Any) -> Any:  # noqa: ANN401
            return renyi_epsilon(1 + mpmath.exp(t), r * (1 + mpmath.exp(t)), d)

        grid = [mpmath.mpf(step) / 10 for step in range(-200, 400)]
        best = min(grid, key=bound)
        for width in (mpmath.mpf(10) ** -n for n in range(2, 12)):
            best = min((best + step * width for step in range(-12, 13)), key=bound)
        assert above(conv.epsilon_of_zcdp(Decimal(rho), Decimal(delta)), max(mpmath.mpf(0), bound(best)))


@settings(deadline=None)
@given(rho=st.floats(1e-3, 5), delta=deltas)
def test_zcdp_epsilon_inverts_its_delta_and_beats_the_classic_formula(rho: float, delta: float) -> None:
    epsilon = conv.epsilon_of_zcdp(rho, delta)
    assert epsilon <= rho + 2 * (rho * -mpmath.log(delta)) ** 0.5
    if epsilon > 0:
        assert conv.delta_of_zcdp(rho, epsilon) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("mu", ["1e-3", "0.1", "1", "10", "300"])
@pytest.mark.parametrize("delta", ["0.01", "1e-6", "1e-12", "1e-60"])
def test_gaussian_epsilon_meets_delta_and_a_little_less_does_not(mu: str, delta: str) -> None:
    epsilon = conv.gaussian_epsilon(Decimal(mu), Decimal(delta))
    with mpmath.workdps(400):
        assert gaussian_delta(mpmath.mpf(mu), mpmath.mpf(repr(epsilon))) <= mpmath.mpf(delta)
        if epsilon > 0:
            less = mpmath.mpf(repr(epsilon)) * (1 - mpmath.mpf(10) ** -8)
            assert gaussian_delta(mpmath.mpf(mu), less) > mpmath.mpf(delta)


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-6, 4.886554), (1e-12, 7.2385)])
def test_gaussian_epsilon_golden(delta: float, epsilon: float) -> None:
    assert conv.gaussian_epsilon(1, delta) == pytest.approx(epsilon, abs=5e-5)


@pytest.mark.parametrize("eps0", ["1e-200", "0.001", "1", "40", "700", "1e5"])
@pytest.mark.parametrize("share", ["0", "0.5", "0.999"])
def test_delta_of_pure_golden(eps0: str, share: str) -> None:
    at = Decimal(eps0) * Decimal(share)
    with mpmath.workdps(300):
        e0, e = mpmath.mpf(eps0), mpmath.mpf(str(at))
        truth = (1 - mpmath.exp(e - e0)) / (1 + mpmath.exp(-e0))
        assert above(conv.delta_of_pure(Decimal(eps0), at), truth)


@pytest.mark.parametrize("epsilon", ["1e-30", "0.001", "1", "20", "800"])
@pytest.mark.parametrize("alpha", ["1.0001", "1.5", "2", "64", "1e6"])
def test_pure_to_renyi_golden(epsilon: str, alpha: str) -> None:
    with mpmath.workdps(200):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(alpha)
        truth = mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))) / (a - 1)
        bound = conv.pure_to_renyi(PureDP(epsilon=Exact(Fraction(epsilon))), Decimal(alpha)).epsilon
        assert above(bound, truth)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_pure_to_renyi_rises_from_the_mean_loss_to_epsilon(epsilon: float) -> None:
    pure = PureDP(epsilon=epsilon)
    orders: list[Number] = [1 + Fraction(1, 10**300), 1.1, 2, 10, 1e4, 1e10, 1e300]
    curve = [conv.pure_to_renyi(pure, order).epsilon for order in orders]
    assert curve == sorted(curve)
    assert curve[0] == pytest.approx(epsilon * (1 - exp(-epsilon)) / (1 + exp(-epsilon)), rel=1e-9)
    assert curve[-1] == epsilon


@settings(deadline=None)
@given(epsilon=positive, alpha=orders)
def test_pure_to_renyi_is_below_both_of_its_bounds(epsilon: float, alpha: float) -> None:
    pure = PureDP(epsilon=epsilon)
    tight = conv.pure_to_renyi(pure, alpha)
    assert tight.epsilon <= epsilon
    assert tight.epsilon <= conv.zcdp_to_renyi(conv.pure_to_zcdp(pure), alpha).epsilon


def test_rational_conversions_are_exact() -> None:
    third = Exact(Fraction(1, 3))
    assert conv.exactly(conv.pure_to_zcdp(PureDP(epsilon=third)).rho) == Fraction(1, 18)
    assert conv.exactly(conv.gdp_to_zcdp(GaussianDP(mu=third)).rho) == Fraction(1, 18)
    assert conv.zcdp_to_renyi(ZCDP(rho=0.1), 3) == RenyiDP(alpha=3, epsilon=Exact(Fraction(3, 10)))


@settings(deadline=None)
@given(mu=st.floats(1e-2, 5), delta=deltas)
def test_a_longer_way_never_promises_more(mu: float, delta: float) -> None:
    rho = conv.gdp_to_zcdp(GaussianDP(mu=mu)).rho
    direct, by_zcdp = conv.gaussian_epsilon(mu, delta), conv.epsilon_of_zcdp(rho, delta)
    by_renyi = min(
        conv.epsilon_of_renyi(alpha, conv.zcdp_to_renyi(ZCDP(rho=rho), alpha).epsilon, delta) for alpha in (1.5, 4, 32)
    )
    assert direct <= by_zcdp * (1 + 1e-12)
    assert by_zcdp <= by_renyi * (1 + 1e-12)


@settings(deadline=None)
@given(epsilon=positive, delta=deltas)
def test_pure_by_way_of_zcdp_and_renyi_never_promises_more(epsilon: float, delta: float) -> None:
    for alpha in (1.5, 4, 32):
        at = conv.epsilon_of_renyi(alpha, conv.pure_to_renyi(PureDP(epsilon=epsilon), alpha).epsilon, delta)
        assert conv.delta_of_pure(epsilon, at) <= delta * (1 + 1e-12)


def test_limits_are_exact() -> None:
    for delta in (0, 1e-400, 1e-6, 1):
        assert conv.epsilon_of_zcdp(0, delta) == conv.gaussian_epsilon(0, delta) == 0
        assert conv.epsilon_of_renyi(2, 0, delta) == 0
    assert conv.epsilon_of_zcdp(3, 1) == conv.gaussian_epsilon(3, 1) == conv.epsilon_of_renyi(2, 3, 1) == 0
    assert conv.delta_of_renyi(2, 0, 0) == 0
    assert conv.delta_of_renyi(2, 1e9, 1) == 1
    assert conv.delta_of_renyi(1e9, 1, 1e20) == 5e-324
    assert conv.delta_of_pure(0, 0) == conv.delta_of_pure(1, 1) == conv.delta_of_pure(1, 2) == 0
    assert conv.delta_of_pure(1e300, 0) == 1
    assert conv.pure_to_renyi(PureDP(epsilon=0), 2).epsilon == 0


def test_huge_and_tiny_parameters_give_a_bound_and_never_nan() -> None:
    for rho in (1e-300, 1e-10, 1e10, 1e300, 1.7e308):
        for delta in (1e-300, 0.5, 1 - 1e-16):
            assert conv.epsilon_of_zcdp(rho, delta) >= 0
            assert conv.epsilon_of_renyi(1 + Fraction(1, 10**300), rho, delta) >= 0
            assert conv.epsilon_of_renyi(1e300, rho, delta) <= rho * (1 + 1e-15)
    assert conv.gaussian_epsilon(1e-150, 1e-300) > 0
    assert conv.gaussian_epsilon(1e150, 1e-300) >= 5e299


@pytest.mark.parametrize("bad", NOT_FROM_ZERO)
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: conv.epsilon_of_zcdp(x, 1e-6), "rho"),
        (lambda x: conv.gaussian_epsilon(x, 1e-6), "mu"),
        (lambda x: conv.epsilon_of_renyi(2, x, 1e-6), "epsilon"),
        (lambda x: conv.delta_of_renyi(2, x, 1), "epsilon"),
        (lambda x: conv.delta_of_renyi(2, 1, x), "at"),
        (lambda x: conv.delta_of_pure(x, 1), "eps0"),
        (lambda x: conv.delta_of_pure(1, x), "epsilon"),
    ],
)
def test_numbers_below_zero_are_refused_by_name(call: Any, argument: str, bad: object) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        call(bad)
    assert caught.value.argument == argument


@pytest.mark.parametrize("bad", [*NOT_A_PROBABILITY, 0, 0.0, Fraction(1, 10**400)])
@pytest.mark.parametrize(
    "call",
    [
        lambda d: conv.epsilon_of_zcdp(1, d),
        lambda d: conv.gaussian_epsilon(1, d),
        lambda d: conv.epsilon_of_renyi(2, 1, d),
    ],
)
def test_delta_is_a_probability_above_zero(call: Any, bad: object) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        call(bad)
    assert caught.value.argument == "delta"


@pytest.mark.parametrize("bad", NOT_AN_ORDER)
@pytest.mark.parametrize(
    "call",
    [
        lambda a: conv.epsilon_of_renyi(a, 1, 1e-6),
        lambda a: conv.delta_of_renyi(a, 1, 1),
        lambda a: conv.zcdp_to_renyi(ZCDP(rho=1), a),
        lambda a: conv.pure_to_renyi(PureDP(epsilon=1), a),
    ],
)
def test_an_order_is_a_finite_number_above_one(call: Any, bad: object) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        call(bad)
    assert caught.value.argument == "alpha"


@pytest.mark.parametrize("mu", [1e-200, 1e200])
def test_a_mu_whose_square_is_not_a_float_is_refused(mu: float) -> None:
    with pytest.raises(InvalidError, match="mu must be"):
        conv.gaussian_epsilon(mu, 1e-6)
