"""Laplace and Gaussian: values, noise, errors and invalid input."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log, nan, sqrt
from time import perf_counter_ns
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tacit.errors import InvalidError
from tacit.guarantees import ZCDP, ApproxDP, PureDP, gaussian_law
from tacit.guarantees.conversions import gaussian_delta
from tacit.guarantees.exact import Exact
from tacit.mechanisms import Gaussian, Laplace, compare_noise

Mechanism = Laplace | Gaussian

INTEGRAL: list[Mechanism] = [Laplace(sensitivity=1, epsilon=0.1), Gaussian(sensitivity=1, sigma=10)]
REAL: list[Mechanism] = [Laplace(sensitivity=2.5, epsilon=0.5), Gaussian(sensitivity=2.5, sigma=10)]


@pytest.mark.parametrize("m", INTEGRAL)
def test_integers_in_integers_out_in_any_shape(m: Mechanism) -> None:
    assert type(m.release(337)) is int
    assert type(m.release(np.int16(3))) is int
    for value in ([1, 2, 3], np.zeros((2, 3, 4), dtype=np.uint8), (5,)):
        released = m.release(value)
        assert isinstance(released, np.ndarray)
        assert released.dtype == np.int64
        assert released.shape == np.shape(value)


@pytest.mark.parametrize("m", REAL)
def test_reals_in_reals_out(m: Mechanism) -> None:
    assert type(m.release(3.5)) is float
    assert type(m.release(3)) is float
    one = m.release([3.5])
    assert isinstance(one, np.ndarray)
    assert one.shape == (1,)


def test_a_real_vector_has_the_length_that_was_declared() -> None:
    m = Laplace(sensitivity=2.5, epsilon=0.1, outputs=2)
    with pytest.raises(InvalidError, match="outputs=2"):
        m.release([1.0, 2.0, 3.0])
    assert np.shape(m.release([3.5, 4.25])) == (2,)


def test_the_error_of_a_declared_vector_is_joint_by_default() -> None:
    m = Laplace(sensitivity=1.0, epsilon=1, outputs=300)
    assert m.error(confidence=0.95) == m.error(confidence=0.95, outputs=300) > m.error(confidence=0.95, outputs=1)
    assert Laplace.for_error(10, sensitivity=1, outputs=6).error(confidence=0.95) == 10


HOLES = [0.0, 0.1, -7.3, 1 / 3, 1e6, 1e-12]


@pytest.mark.parametrize("m", [*REAL, Laplace(sensitivity=0.1, epsilon=3), Gaussian(sensitivity=1 / 3, rho=0.5)])
@pytest.mark.parametrize("value", HOLES)
def test_the_reachable_outputs_do_not_depend_on_the_input(m: Mechanism, value: float) -> None:
    """Every output is float(index·step) for an integer index (Mironov's attack has nothing to count)."""
    step = m.granularity
    for _ in range(200):
        released = m.release(value)
        assert released == round(float(released) / step) * step


@pytest.mark.parametrize("m", REAL)
def test_neighbouring_inputs_reach_the_same_outputs(m: Mechanism) -> None:
    """Near their centre, both inputs hit every residue of the grid index modulo 8: no output is missing for one."""
    for value in (0.0, 2.5, 0.1):
        index = np.array([round(float(m.release(value)) / m.granularity) for _ in range(600)])
        assert set((index % 8).tolist()) == set(range(8))  # misses one with probability < 8·(7/8)^600 < 1e-33


@pytest.mark.parametrize("m", INTEGRAL)
def test_value_plus_noise_saturates_and_never_raises(m: Mechanism) -> None:
    for value in (2**62, -(2**62)):
        assert abs(int(m.release(value)) - value) < 10**4
    wide = Laplace(sensitivity=1, scale=2**56)
    released = np.asarray(wide.release(np.full(20_000, 2**62)))
    assert released.max() <= 2**63 - 1
    assert released.min() >= -(2**63 - 1)


def test_a_parameter_means_its_decimal() -> None:
    m = Laplace(sensitivity=1, epsilon=0.1)
    assert m.event.scale == 10
    assert m.guarantee == PureDP(epsilon=0.1)
    assert m.scale == 10.0
    assert Laplace(sensitivity=1, scale=10).guarantee == PureDP(epsilon=0.1)
    assert Laplace(sensitivity=1, scale=3).guarantee.epsilon >= 1 / 3


@given(st.floats(1e-9, 1e9), st.integers(1, 10**6))
def test_laplace_epsilon_and_scale_are_inverse(epsilon: float, sensitivity: int) -> None:
    m = Laplace(sensitivity=sensitivity, epsilon=epsilon)
    assert isinstance(m.guarantee.epsilon, Exact)
    assert m.guarantee.epsilon.fraction == Fraction(repr(epsilon))
    assert Laplace(sensitivity=sensitivity, scale=m.event.scale).guarantee == m.guarantee


def test_epsilon_has_no_upper_limit_but_the_floats() -> None:
    for epsilon in (1e3, 1e9, 1e300):
        assert Laplace(sensitivity=1, epsilon=epsilon).release(7) == 7
        assert Laplace(sensitivity=1.0, epsilon=epsilon).release(7.0) == pytest.approx(7.0, abs=0.1)


@pytest.mark.parametrize("outputs", [1, 3, 50])
@pytest.mark.parametrize("step", [None, 0.3, 1.0])
def test_a_real_vectors_noise_pays_for_its_rounding(outputs: int, step: float | None) -> None:
    m = Laplace(sensitivity=2.5, epsilon=0.1, outputs=outputs, granularity=step)
    assert m.event.scale == m._grid.l1_steps(Fraction(5, 2)) * 10
    assert m.scale >= 25
    g = Gaussian(sensitivity=2.5, rho=0.1, outputs=outputs, granularity=step)
    assert g.event.l2_squared == g._grid.l2_squared_steps(Fraction(5, 2))
    assert isinstance(g.guarantee, ZCDP)
    assert g.guarantee == ZCDP(rho=0.1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-9), (0.05, 1e-5), (4.0, 1e-12), (20.0, 1e-6)])
@pytest.mark.parametrize("sensitivity", [1, 1.0, 3])
def test_sigma_meets_the_target_and_a_little_less_does_not(epsilon: float, delta: float, sensitivity: float) -> None:
    m = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta)
    assert m.guarantee == ApproxDP(epsilon=epsilon, delta=delta)
    assert m.delta(epsilon) <= delta
    less = Fraction(m.event.variance) * Fraction(999_999, 1_000_000)
    assert gaussian_law.delta(less, m.event.l2_squared, m.event.coordinates, Fraction(repr(epsilon))) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (5.0, 1e-9)])
def test_on_a_fine_grid_the_analytic_sigma_comes_out(epsilon: float, delta: float) -> None:
    sigma = Gaussian(sensitivity=1.0, epsilon=epsilon, delta=delta).sigma
    assert gaussian_delta(1 / sigma, epsilon) == pytest.approx(delta, rel=1e-6)


def test_the_classic_sigma_is_the_textbooks_and_is_refused_from_one_on() -> None:
    m = Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6, method="classic")
    assert m.sigma == pytest.approx(sqrt(2 * log(1.25e6)) / 0.5)
    assert m.delta(0.5) <= 1e-6
    for epsilon in (1, 1.0, 10, 50):
        with pytest.raises(InvalidError, match="method='classic'") as caught:
            Gaussian(sensitivity=1, epsilon=epsilon, delta=1e-6, method="classic")
        assert caught.value.argument == "epsilon"


def test_the_classic_sigma_would_break_its_promise_beyond_one() -> None:
    for epsilon, true_delta in ((10, 1.9e-6), (50, 0.25)):
        sigma = sqrt(2 * log(1.25 / 1e-6)) / epsilon
        assert gaussian_delta(1 / sigma, epsilon) == pytest.approx(true_delta, rel=0.05)


@pytest.mark.parametrize("m", [*INTEGRAL, *REAL])
@pytest.mark.parametrize("outputs", [1, 20])
def test_the_stated_error_holds_and_is_not_slack(m: Mechanism, outputs: int) -> None:
    """20,000 draws at 95 %: 8 standard deviations each way, false alarm below 1e-14."""
    bound = m.error(confidence=0.95, outputs=outputs)
    draws = _noise_of(m, 20_000 * outputs).reshape(-1, outputs)
    within = (np.abs(draws).max(axis=1) <= bound).mean()
    slack = 8 * sqrt(0.95 * 0.05 / 20_000)
    atom = 0.05 if m in INTEGRAL else 0.0  # on the integers the error is the next whole number
    assert 0.95 - slack <= within <= 0.95 + slack + atom


def _noise_of(m: Mechanism, size: int) -> npt.NDArray[Any]:
    if m in INTEGRAL:
        return np.asarray(m.release(np.zeros(size, dtype=np.int64)))
    step = m.granularity
    if isinstance(m, Laplace):
        return np.asarray(
            Laplace(sensitivity=2.5, scale=m.scale, outputs=size, granularity=step).release(np.zeros(size))
        )
    return np.asarray(Gaussian(sensitivity=2.5, sigma=m.sigma, outputs=size, granularity=step).release(np.zeros(size)))


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 0.999), st.integers(1, 50), st.integers(1, 500))
def test_laplace_for_error_is_accurate_and_a_little_more_private_is_not(
    confidence: float, outputs: int, error: int
) -> None:
    m = Laplace.for_error(error, confidence=confidence, sensitivity=1, outputs=outputs)
    assert m.error(confidence=confidence, outputs=outputs) <= error
    wider = Laplace(sensitivity=1, epsilon=m.guarantee.epsilon * (1 - 1e-6))
    assert wider.error(confidence=confidence, outputs=outputs) > error


@pytest.mark.parametrize("sensitivity", [1, 1.0, 3])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_gaussian_for_error_is_accurate_and_a_little_more_private_is_not(
    sensitivity: float, delta: float | None
) -> None:
    m = Gaussian.for_error(25, confidence=0.9, sensitivity=sensitivity, delta=delta, outputs=1)
    assert m.error(confidence=0.9) <= 25
    assert isinstance(m.guarantee, ZCDP if delta is None else ApproxDP)
    assert Gaussian(sensitivity=sensitivity, sigma=m.sigma * (1 + 1e-5)).error(confidence=0.9) > 25


@pytest.mark.parametrize(("outputs", "better"), [(1, "laplace"), (4, "laplace"), (6, "gaussian"), (1000, "gaussian")])
def test_counting_queries_prefer_laplace_when_few_and_gaussian_when_many(outputs: int, better: str) -> None:
    compared = compare_noise(l1=float(outputs), l2=sqrt(outputs), outputs=outputs, epsilon=1, delta=1e-6)
    assert compared.better == better
    assert compared.laplace_error > 0
    assert compared.gaussian_error > 0


@pytest.mark.parametrize("error", [1, 10**6, 1e16])
@pytest.mark.parametrize("delta", [5e-6, 1e-12, 0.3])
def test_gaussian_for_error_ends_for_small_and_large_errors(error: float, delta: float) -> None:
    m = Gaussian.for_error(error, sensitivity=1, delta=delta)
    assert m.error(confidence=0.95) <= error
    assert m.guarantee.delta == delta  # type: ignore[union-attr]


def test_laplace_for_error_stops_where_noise_no_longer_fits() -> None:
    assert Laplace.for_error(1e18, sensitivity=1).error(confidence=0.95) <= 1e18


@pytest.mark.parametrize("sigma", [0.3, 2.0, 50.0])
def test_the_epsilon_of_given_noise_meets_its_delta_and_a_little_less_does_not(sigma: float) -> None:
    m = Gaussian(sensitivity=1, sigma=sigma, delta=1e-6)
    assert isinstance(m.guarantee, ApproxDP)
    assert m.delta(m.guarantee.epsilon) <= 1e-6 < m.delta(m.guarantee.epsilon * (1 - 1e-6))


@pytest.mark.parametrize(
    "value",
    [
        [2**60 + 128, 0.5],
        [np.int64(2**60 + 1), 0.5],
        [True, 5],
        np.ma.array([5, 999], mask=[False, True]),
        np.timedelta64(1),
        [np.timedelta64(1, "D")],
        10**400,
        1e308,
        [10**400, 1],
    ],
)
def test_numbers_that_numpy_would_bend_are_refused(value: Any) -> None:  # noqa: ANN401
    m = Laplace(sensitivity=1.0, epsilon=1, outputs=np.size(value), granularity=1.0)
    with pytest.raises(InvalidError) as caught:
        m.release(value)
    assert caught.value.argument == "value"
    assert caught.value.__cause__ is None


def test_integers_of_mixed_numpy_kinds_stay_integers() -> None:
    m = Laplace(sensitivity=1, epsilon=1e6)
    released = m.release([np.uint64(2**60 + 129), np.int64(2**60 + 128)])
    assert np.asarray(released).tolist() == [2**60 + 129, 2**60 + 128]


def test_an_index_beyond_the_limit_is_refused_although_its_float_is_not() -> None:
    m = Laplace(sensitivity=1.0, epsilon=1, granularity=1.0)
    with pytest.raises(InvalidError, match="2\\^62"):
        m.release(2**62 + 200)


def test_parameters_that_cannot_be_shown_are_still_refused_by_name() -> None:
    for bad in (-(10**5000), 10**5000):
        with pytest.raises(InvalidError) as caught:
            Laplace(sensitivity=1, epsilon=bad)
        assert caught.value.argument == "epsilon"


@pytest.mark.parametrize("sigma", [0.01, 1 / 76, 1e-4])
def test_noise_far_below_the_sensitivity_has_a_guarantee_too(sigma: float) -> None:
    m = Gaussian(sensitivity=1.0, sigma=sigma, delta=1e-6)
    assert isinstance(m.guarantee, ApproxDP)
    assert m.guarantee.epsilon > 1 / (2 * sigma * sigma)
    assert m.delta(1) == pytest.approx(1)


def test_the_callers_numpy_settings_change_nothing() -> None:
    with np.errstate(all="raise"):
        for value in (1e-300, 5e-324, 1.0):
            Laplace(sensitivity=1 / 3, epsilon=1).release(value)
            Laplace(sensitivity=1 / 3, epsilon=1, outputs=100).release(np.full(100, value))


def test_a_zero_dimensional_parameter_is_refused_by_name() -> None:
    with pytest.raises(InvalidError) as caught:
        Laplace(sensitivity=1, epsilon=np.array(0.1))
    assert caught.value.argument == "epsilon"


def test_a_guarantee_beyond_the_floats_is_refused_by_its_own_name() -> None:
    with pytest.raises(InvalidError) as caught:
        Laplace(sensitivity=2**62, scale=1e-300)
    assert caught.value.argument == "scale"
    with pytest.raises(InvalidError) as caught:
        Gaussian(sensitivity=1e100, sigma=1e-90, granularity=1e-100, delta=1e-6)
    assert caught.value.argument == "sigma"


NUMBERS = [0, -1, -0.5, nan, inf, -inf, "1", True, np.bool_(1), None, [1], 1j, Fraction(0)]


@pytest.mark.parametrize("bad", NUMBERS)
@pytest.mark.parametrize("argument", ["sensitivity", "epsilon", "scale"])
def test_laplace_names_the_bad_parameter(argument: str, bad: object) -> None:
    good: dict[str, Any] = {"sensitivity": 1, "scale" if argument == "scale" else "epsilon": 1}
    with pytest.raises(InvalidError) as caught:
        Laplace(**{**good, argument: bad})
    assert argument in (caught.value.argument or "")


@pytest.mark.parametrize("bad", NUMBERS)
@pytest.mark.parametrize("argument", ["sensitivity", "epsilon", "delta", "rho", "sigma"])
def test_gaussian_names_the_bad_parameter(argument: str, bad: object) -> None:
    by_delta = {"epsilon": 1, "delta": 1e-6}
    good: dict[str, Any] = {"sensitivity": 1, **({argument: 1} if argument in ("rho", "sigma") else by_delta)}
    with pytest.raises(InvalidError) as caught:
        Gaussian(**{**good, argument: bad})
    assert argument in (caught.value.argument or "")


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1, "scale": 1},
        {},
    ],
)
def test_laplace_wants_exactly_one_of_two(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="exactly one of"):
        Laplace(sensitivity=1, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1, "delta": 1e-6, "rho": 1},
        {"rho": 1, "sigma": 1},
        {"delta": 1e-6},
        {"epsilon": 1},
        {"rho": 1, "delta": 1e-6},
        {"sigma": 1, "method": "classic"},
        {"epsilon": 1, "delta": 1e-6, "method": ["analytic"]},
        {"epsilon": 1, "delta": 1e-300},
        {"epsilon": 1, "delta": 1 - Fraction(1, 10**20)},
        {"epsilon": 10**400, "delta": 1e-6},
        {"epsilon": 1e-300, "delta": 1e-6},
        {"rho": Fraction(1, 10**700)},
        {"sigma": 10**400},
        {"epsilon": 1, "delta": 1e-6, "method": "exact"},
        {"epsilon": 1, "delta": 1},
        {},
    ],
)
def test_gaussian_refuses_mixtures_and_unknown_methods(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidError):
        Gaussian(sensitivity=1, **given)


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.5, nan, inf, "0.9", True, None])
@pytest.mark.parametrize("m", [INTEGRAL[0], INTEGRAL[1]])
def test_confidence_is_strictly_between_zero_and_one(m: Mechanism, bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        m.error(confidence=bad)
    assert caught.value.argument == "confidence"


@pytest.mark.parametrize("bad", [0, -1, 1.5, nan, "2", True, 2**63])
def test_outputs_is_a_whole_number(bad: Any) -> None:  # noqa: ANN401
    for call in (lambda: INTEGRAL[0].error(outputs=bad), lambda: Laplace(sensitivity=1.0, epsilon=1, outputs=bad)):
        with pytest.raises(InvalidError) as caught:
            call()
        assert caught.value.argument == "outputs"


@pytest.mark.parametrize("m", [*INTEGRAL, *REAL])
@pytest.mark.parametrize("bad", [[], np.array(3), [[1], [1, 2]], "3", None, [nan], [inf], 2**70, [True], {"a": 1}])
def test_a_bad_value_is_refused_and_nothing_is_drawn(
    m: Mechanism,
    bad: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_bits(*_: object) -> bytes:
        raise AssertionError("bits were drawn")

    monkeypatch.setattr("tacit.noise.bits.SystemBits.take", no_bits)
    with pytest.raises(InvalidError) as caught:
        m.release(bad)
    assert caught.value.argument == "value"


def test_floats_for_integers_are_refused_with_a_hint() -> None:
    with pytest.raises(InvalidError, match="float sensitivity takes reals"):
        INTEGRAL[0].release(3.0)
    with pytest.raises(InvalidError, match="int sensitivity"):
        Laplace(sensitivity=1, epsilon=1, granularity=0.5)


def test_noise_beyond_64_bits_is_refused_by_name() -> None:
    with pytest.raises(InvalidError, match="2\\^56") as caught:
        Laplace(sensitivity=1, epsilon=1e-300)
    assert caught.value.argument == "epsilon"
    with pytest.raises(InvalidError, match="2\\^56"):
        Gaussian(sensitivity=1, sigma=1e18)


@pytest.mark.parametrize("m", [*INTEGRAL, *REAL])
def test_a_mechanism_is_fixed_and_shows_the_call_that_makes_it(m: Mechanism) -> None:
    with pytest.raises(AttributeError, match="is frozen"):
        m.guarantee = PureDP(epsilon=0)
    with pytest.raises(AttributeError, match="is frozen"):
        del m.event
    twin = eval(repr(m), {"Laplace": Laplace, "Gaussian": Gaussian})  # noqa: S307 - our own representation
    assert twin.event == m.event


@pytest.mark.parametrize("m", [*INTEGRAL, *REAL])
def test_the_time_of_a_release_does_not_tell_the_noise(m: Mechanism) -> None:
    """Spearman over 10,000 releases within ±0.1: ten deviations under independence, a false alarm below 1e-20."""
    value = 337 if m in INTEGRAL else 337.0
    rows = [_timed(m, value) for _ in range(10_000)]
    seconds, noise = np.array(rows).T
    assert abs(spearmanr(seconds, noise).statistic) < 0.1


def _timed(m: Mechanism, value: float) -> tuple[float, float]:
    start = perf_counter_ns()
    released = m.release(value)
    return perf_counter_ns() - start, abs(float(released) - value)
