"""The least noise for many uses: it fits, a little less does not, and other algorithms agree."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

import tacit as tc
from oracles_bad_input import NOT_A_COUNT, NOT_POSITIVE, refused, short
from tacit.errors import InvalidError, TooMuchNoiseError
from tacit.guarantees.composition_rules import optimal
from tacit.guarantees.exact import Exact
from tacit.guarantees.pld import Bounds
from tacit.mechanisms.calibrate import Uses, read_weights
from tacit.mechanisms.scale_search import Target, search

BUDGET = tc.ApproxDP(epsilon=1, delta=1e-6)
TWENTY = [1 + i / 7 for i in range(20)]

Kind = type[tc.Laplace] | type[tc.Gaussian]


def fits(uses: Uses[Any], budget: tc.ApproxDP, share: Fraction = Fraction(1)) -> bool:
    """Return whether any sound rule certifies these mechanisms, with a share of their noise, for the budget."""
    some, delta = uses.at(uses.scale.fraction * share), budget.delta
    total = tc.compose(some.parts)
    return (
        (uses.kind is tc.Laplace and total.epsilon(delta=delta, rule="basic").upper <= budget.epsilon)
        or (
            len(some.parts) == some.total(0) == 1
            and some.kind is tc.Gaussian
            and some.mechanism.delta(budget.epsilon) <= delta
        )
        or total.epsilon(delta=delta, rule="zcdp").upper <= budget.epsilon
        or any(total.epsilon(delta=delta, width=width).upper <= budget.epsilon for width in (0.03, 5e-4))
    )


def of_bits(sizes: list[float], epsilon: float) -> float:
    """Return δ(ε) of randomized responses, summed over all their outcomes."""
    p, q = np.ones(1), np.ones(1)
    for size in sizes:
        keep = 1 / (1 + np.exp(-size))
        p, q = np.append(p * keep, p * (1 - keep)), np.append(q * (1 - keep), q * keep)
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


def continuous_sigma(epsilon: float, delta: float) -> float:
    """Return σ of continuous Gaussian noise for sensitivity 1 (Balle and Wang 2018), by SciPy."""

    def excess(log_sigma: float) -> float:
        mu = float(np.exp(-log_sigma))
        a, b = norm.cdf(mu / 2 - epsilon / mu), norm.logcdf(-mu / 2 - epsilon / mu)
        return float(a - np.exp(epsilon + b)) - delta

    return float(np.exp(brentq(excess, log(1e-2), log(1e6), xtol=1e-12)))


CASES: list[tuple[Kind, int | float, Any, tc.ApproxDP]] = [
    (tc.Laplace, 1, 30, BUDGET),
    (tc.Laplace, 1.0, 100, BUDGET),
    (tc.Laplace, 3, 100, BUDGET),
    (tc.Laplace, 1, TWENTY, BUDGET),
    (tc.Laplace, 2.5, {"a": 3, "b": 1}, tc.ApproxDP(epsilon=0.5, delta=0.01)),
    (tc.Laplace, 1, 30, tc.ApproxDP(epsilon=0.1, delta=0.3)),
    (tc.Laplace, 1.0, 30, tc.ApproxDP(epsilon=50, delta=1e-6)),
    (tc.Gaussian, 1, 1, BUDGET),
    (tc.Gaussian, 1, 10, tc.ApproxDP(epsilon=2, delta=1e-12)),
    (tc.Gaussian, 1.0, 100, BUDGET),
    (tc.Gaussian, 3, 2, BUDGET),
    (tc.Gaussian, 1, TWENTY, BUDGET),
    (tc.Gaussian, 1, 30, tc.ApproxDP(epsilon=50, delta=1e-6)),
    (tc.Gaussian, 1, 30, tc.ApproxDP(epsilon=0.1, delta=0.9)),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "sensitivity", "uses", "budget"), CASES, ids=short)
def test_the_noise_fits_and_two_percent_less_does_not(
    kind: Kind,
    sensitivity: float,
    uses: Any,  # noqa: ANN401 - a count or weights
    budget: tc.ApproxDP,
) -> None:
    found = tc.calibrate(kind, sensitivity=sensitivity, uses=uses, budget=budget)
    assert 0 <= found.spent.lower <= found.spent.upper <= budget.epsilon
    assert found.better >= 1
    assert fits(found.uses, budget)
    assert not fits(found.uses, budget, Fraction(98, 100))


@pytest.mark.parametrize("examples", [4, pytest.param(12, marks=pytest.mark.long)])
def test_any_count_and_budget_fits(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        st.sampled_from([tc.Laplace, tc.Gaussian]),
        st.integers(1, 200),
        st.floats(0.05, 8),
        st.floats(1e-9, 0.1),
    )
    def check(kind: Kind, uses: int, epsilon: float, delta: float) -> None:
        budget = tc.ApproxDP(epsilon=epsilon, delta=delta)
        found = tc.calibrate(kind, sensitivity=1, uses=uses, budget=budget)
        assert found.better >= 1
        assert found.spent.upper <= epsilon
        assert fits(found.uses, budget)
        assert not fits(found.uses, budget, Fraction(98, 100))

    check()


@pytest.mark.parametrize("k", [10, 30, 300, 10_000])
def test_on_the_unit_grid_the_optimal_rule_agrees_within_a_thousandth(k: int) -> None:
    """One integer under Laplace noise is randomized response, for which that rule is exact."""
    scale = tc.calibrate(tc.Laplace, sensitivity=1, uses=k, budget=BUDGET).uses.scale.fraction

    def exact(noise: Fraction) -> float:
        return optimal([(tc.PureDP(epsilon=Exact(1 / noise)), k)], BUDGET.delta)

    assert exact(scale) <= 1 < exact(scale * Fraction(999, 1000))


@pytest.mark.parametrize("weights", [[1, 2, 3, 4], [1] * 10 + [3] * 6, TWENTY[:16]])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (2.0, 1e-3)])
def test_weighted_bits_agree_with_the_sum_over_all_outcomes(weights: list[float], epsilon: float, delta: float) -> None:
    budget = tc.ApproxDP(epsilon=epsilon, delta=delta)
    found = tc.calibrate(tc.Laplace, sensitivity=1, uses=weights, budget=budget)
    assert isinstance(found.mechanisms, tuple)
    sizes = [float(1 / m.event.scale) for m in found.mechanisms]
    assert of_bits(sizes, epsilon) <= delta * (1 + 1e-9)
    assert of_bits([size * 1.002 for size in sizes], epsilon) > delta


@pytest.mark.parametrize("sensitivity", [1, 1.0])
@pytest.mark.parametrize("k", [20, 1000])
def test_gaussian_noise_grows_with_the_root_of_the_uses(sensitivity: float, k: int) -> None:
    found = tc.calibrate(tc.Gaussian, sensitivity=sensitivity, uses=k, budget=BUDGET)
    assert found.mechanism.sigma == pytest.approx(sqrt(k) * continuous_sigma(1, 1e-6), rel=2e-3)


def test_weighted_gaussian_noise_grows_with_the_root_of_the_squares() -> None:
    weights = {"count": 1, "mean": 2, "histogram": 5}
    found = tc.calibrate(tc.Gaussian, sensitivity=7.5, uses=weights, budget=BUDGET)
    assert isinstance(found.mechanisms, dict)
    for name, weight in weights.items():
        wanted = 7.5 * sqrt(30) / weight * continuous_sigma(1, 1e-6)
        assert found.mechanisms[name].sigma == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize("sensitivity", [1, 3, 2.5])
def test_one_use_is_the_plain_mechanism(sensitivity: float) -> None:
    one = tc.calibrate(tc.Gaussian, sensitivity=sensitivity, uses=1, budget=BUDGET)
    plain = tc.Gaussian(sensitivity=sensitivity, epsilon=1, delta=1e-6)
    assert one.mechanism.sigma == pytest.approx(plain.sigma, rel=1e-9)
    assert one.better == 1
    assert tc.calibrate(tc.Laplace, sensitivity=1, uses=1, budget=tc.PureDP(epsilon=0.1)).mechanism.event.scale == 10


@pytest.mark.parametrize("k", [1, 3, 7, 10**9])
def test_without_delta_the_parts_add_up_exactly(k: int) -> None:
    found = tc.calibrate(tc.Laplace, sensitivity=5, uses=k, budget=tc.PureDP(epsilon=0.1))
    event = found.mechanism.event
    assert k * event.l1 / event.scale == Fraction(1, 10)
    assert found.spent == tc.Bounds(0.1, 0.1)
    assert found.better == 1


def test_without_delta_weights_share_epsilon_exactly() -> None:
    found = tc.calibrate(tc.Laplace, sensitivity=1, uses={"a": 0.1, "b": 0.7}, budget=tc.ApproxDP(epsilon=0.4, delta=0))
    assert isinstance(found.mechanisms, dict)
    assert [1 / m.event.scale for m in found.mechanisms.values()] == [Fraction(1, 20), Fraction(7, 20)]


def test_real_vectors_pay_for_their_rounding() -> None:
    found = tc.calibrate(tc.Laplace, sensitivity=2.5, uses=4, budget=tc.PureDP(epsilon=1), outputs=300)
    event = found.mechanism.event
    assert 1 - 1e-5 < 4 * event.l1 / event.scale <= 1
    tight = tc.calibrate(tc.Gaussian, sensitivity=2.5, uses=100, budget=BUDGET, outputs=3)
    assert tight.mechanism.sigma == pytest.approx(25 * continuous_sigma(1, 1e-6), rel=2e-3)
    assert np.shape(tight.mechanism.release([1.0, 2.0, 3.0])) == (3,)


def test_alone_is_an_even_split() -> None:
    laplace = tc.calibrate(tc.Laplace, sensitivity=1, uses=1000, budget=BUDGET)
    assert laplace.alone.mechanism.event.scale == 1000
    assert laplace.better == pytest.approx(1000 / laplace.mechanism.scale)
    assert laplace.better == pytest.approx(7.49, rel=2e-3)
    gaussian = tc.calibrate(tc.Gaussian, sensitivity=1, uses=10, budget=BUDGET)
    split = tc.Gaussian(sensitivity=1, epsilon=0.1, delta=1e-7)
    assert gaussian.alone.mechanism.sigma == pytest.approx(split.sigma, rel=1e-9)


def test_weights_far_apart_leave_the_heaviest_nearly_all() -> None:
    found = tc.calibrate(tc.Gaussian, sensitivity=1, uses=[1, 1e12], budget=BUDGET)
    light, heavy = found.uses.parts
    assert heavy[0].sigma == pytest.approx(tc.Gaussian(sensitivity=1, epsilon=1, delta=1e-6).sigma, rel=1e-3)
    assert light[0].sigma == pytest.approx(1e12 * heavy[0].sigma)


@pytest.mark.parametrize("kind", [tc.Laplace, pytest.param(tc.Gaussian, marks=pytest.mark.long)])
def test_a_thousand_million_uses(kind: Kind) -> None:
    found = tc.calibrate(kind, sensitivity=1.0, uses=10**9, budget=BUDGET)
    assert found.spent.upper <= 1
    assert float(found.uses.scale) == pytest.approx(sqrt(1e9) * continuous_sigma(1, 1e-6), rel=0.02)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [tc.Laplace, tc.Gaussian])
@pytest.mark.parametrize("epsilon", [1e-90, 1e-9, 1e4, 1e90])
def test_enormous_and_tiny_budgets_end_in_a_finite_noise(kind: Kind, epsilon: float) -> None:
    found = tc.calibrate(kind, sensitivity=1, uses=30, budget=tc.ApproxDP(epsilon=epsilon, delta=1e-6))
    assert 0 < found.uses.scale < inf
    assert 1 <= found.better < inf
    assert found.spent.upper <= epsilon


def test_names_order_and_counts_are_kept() -> None:
    named = tc.calibrate(tc.Laplace, sensitivity=1, uses={"b": 2, "a": 1, "c": 2}, budget=tc.PureDP(epsilon=1))
    assert isinstance(named.mechanisms, dict)
    assert {name: m.scale for name, m in named.mechanisms.items()} == {"b": 2.5, "a": 5.0, "c": 2.5}
    listed = tc.calibrate(tc.Laplace, sensitivity=1, uses=(2, 1, 2), budget=tc.PureDP(epsilon=1))
    assert isinstance(listed.mechanisms, tuple)
    assert [m.scale for m in listed.mechanisms] == [2.5, 5.0, 2.5]
    assert [(m.scale, count) for m, count in listed.uses.parts] == [(2.5, 2), (5.0, 1)]
    equal = tc.calibrate(tc.Laplace, sensitivity=1, uses=4, budget=tc.PureDP(epsilon=1))
    assert equal.mechanisms == (equal.mechanism,) * 4
    assert tc.calibrate(tc.Laplace, sensitivity=1, uses=[3, 3], budget=tc.PureDP(epsilon=1)).mechanism.scale == 2
    with pytest.raises(InvalidError, match=r"\.mechanisms"):
        _ = listed.mechanism


def test_a_calibration_has_a_summary() -> None:
    pure = tc.calibrate(tc.Laplace, sensitivity=1, uses=4, budget=tc.PureDP(epsilon=1))
    assert str(pure) == repr(pure)
    start, end = str(pure).split("; ")
    assert start == "4 × Laplace(sensitivity=1, scale=4.0): epsilon = 1 of 1 at delta = 0"
    assert end == "no less noise than by splitting the budget"
    tight = tc.calibrate(tc.Laplace, sensitivity=1, uses=[1] * 300 + [2] * 300, budget=BUDGET)
    assert str(tight).startswith("600 × Laplace noise of 2 scales from ")
    assert str(tight).endswith(f"{tight.better:.4g} times less noise than by splitting the budget")


def test_the_calibrated_mechanism_can_draw() -> None:
    assert isinstance(tc.calibrate(tc.Laplace, sensitivity=1, uses=50, budget=BUDGET).mechanism.release(3), int)
    assert isinstance(tc.calibrate(tc.Gaussian, sensitivity=1.5, uses=2, budget=BUDGET).mechanism.release(3), float)


@pytest.mark.parametrize("bad", [*NOT_A_COUNT[:-1], 10**9 + 1, [], {}, (), np.array([1, 2]), {1, 2}], ids=short)
def test_uses_are_a_count_or_weights(bad: Any) -> None:  # noqa: ANN401
    refused("uses", lambda: tc.calibrate(tc.Laplace, sensitivity=1, uses=bad, budget=BUDGET))


@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_weights_and_sensitivities_are_positive_numbers(bad: Any) -> None:  # noqa: ANN401
    refused("weight", lambda: tc.calibrate(tc.Laplace, sensitivity=1, uses=[1, bad], budget=BUDGET))
    refused("weight", lambda: tc.calibrate(tc.Laplace, sensitivity=1, uses={"a": bad}, budget=BUDGET))
    refused("sensitivity", lambda: tc.calibrate(tc.Gaussian, sensitivity=bad, uses=2, budget=BUDGET))


def test_weights_are_of_one_world() -> None:
    refused("uses", lambda: tc.calibrate(tc.Laplace, sensitivity=1, uses=[1, 1e16], budget=BUDGET))


@pytest.mark.parametrize(
    "bad",
    [
        tc.ZCDP(rho=1),
        tc.GaussianDP(mu=1),
        tc.RenyiDP(alpha=2, epsilon=1),
        None,
        1.0,
        nan,
        "1",
        tc.PureDP(epsilon=0),
        tc.ApproxDP(epsilon=0, delta=1e-6),
        tc.ApproxDP(epsilon=1e-91, delta=1e-6),
        tc.ApproxDP(epsilon=1, delta=1e-91),
        tc.ApproxDP(epsilon=1, delta=1),
    ],
    ids=short,
)
def test_a_budget_is_pure_or_approximate_and_not_empty(bad: Any) -> None:  # noqa: ANN401
    refused("budget", lambda: tc.calibrate(tc.Laplace, sensitivity=1, uses=2, budget=bad))


@pytest.mark.parametrize("budget", [tc.PureDP(epsilon=1), tc.ApproxDP(epsilon=1, delta=0)])
def test_gaussian_noise_needs_a_delta(budget: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError, match="delta > 0"):
        tc.calibrate(tc.Gaussian, sensitivity=1, uses=2, budget=budget)


@pytest.mark.parametrize("bad", [tc.Exponential, "laplace", None, tc.Laplace(sensitivity=1, epsilon=1)], ids=short)
def test_the_kind_is_one_of_two_classes(bad: Any) -> None:  # noqa: ANN401
    refused("kind", lambda: tc.calibrate(bad, sensitivity=1, uses=2, budget=BUDGET))


def test_outputs_are_a_count() -> None:
    refused("outputs", lambda: tc.calibrate(tc.Laplace, sensitivity=1.0, uses=2, budget=BUDGET, outputs=0))


@pytest.mark.parametrize(
    ("kind", "uses", "budget"),
    [
        (tc.Laplace, 10**9, tc.PureDP(epsilon=1e-9)),
        (tc.Laplace, 10, tc.ApproxDP(epsilon=1e-17, delta=1e-30)),
        (tc.Gaussian, 10, tc.ApproxDP(epsilon=1e-17, delta=1e-30)),
        (tc.Gaussian, [1, 1e15], tc.ApproxDP(epsilon=1e-4, delta=1e-6)),
    ],
    ids=short,
)
def test_noise_beyond_64_bits_is_refused_by_the_budgets_name(kind: Kind, uses: Any, budget: Any) -> None:  # noqa: ANN401
    with pytest.raises(TooMuchNoiseError, match="2\\^56") as caught:
        tc.calibrate(kind, sensitivity=1, uses=uses, budget=budget)
    assert caught.value.argument == "budget"


def test_a_split_that_would_not_fit_64_bits_is_still_compared_with() -> None:
    for kind in (tc.Laplace, tc.Gaussian):
        found = tc.calibrate(kind, sensitivity=2**40, uses=10**5, budget=BUDGET)
        assert found.better > 70
        with pytest.raises(TooMuchNoiseError):
            _ = found.alone.mechanism


def test_weights_are_relative_to_the_heaviest() -> None:
    assert read_weights(np.int64(3)) == 3
    assert read_weights({"a": 0.1, "b": 0.4}) == {"a": Fraction(1, 4), "b": 1}


class Price:
    """A curve that counts its evaluations."""

    def __init__(self, curve: Any) -> None:  # noqa: ANN401 - a function
        self.curve, self.asked = curve, 0

    def __call__(self, scale: Fraction) -> Bounds:
        self.asked += 1
        found = self.curve(float(scale))
        return Bounds(found, found)


TARGET = Target(Fraction(1), Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("curve", "least"),
    [
        (lambda s: 100 / s, 100.0),
        (lambda s: 5 / s + 95 / s**2, 12.559),
        (lambda s: 0.5 + 3.5 / s, 7.0),
        (lambda s: exp(7 - s), 7.0),
        (lambda s: inf if s < 7 else 0.0, 7.0),
        (lambda s: 2.0 if s < 7 else 0.5, 7.0),
    ],
)
@pytest.mark.parametrize("first", [0.01, 6.0, 8.0, 900.0])
def test_the_search_ends_close_to_the_least(curve: Any, least: float, first: float) -> None:  # noqa: ANN401
    price = Price(curve)
    found = search(price, TARGET, first, Fraction(1000))
    assert curve(float(found.scale)) <= 1
    assert least * (1 - 1e-5) <= found.scale <= least * (1 + 2e-3)
    assert price.asked < 60


def test_a_smooth_search_asks_few_times() -> None:
    price = Price(lambda s: 5 / s + 95 / s**2)
    search(price, TARGET, 10.0, Fraction(1000))
    assert price.asked <= 5


@pytest.mark.parametrize("curve", [lambda _: inf, lambda _: 1.5])
def test_a_search_without_a_fit_returns_the_known_one(curve: Any) -> None:  # noqa: ANN401
    price = Price(curve)
    found = search(price, TARGET, 10.0, Fraction(1000, 3))
    assert found.scale == Fraction(1000, 3)
    assert found.price is None
    assert price.asked <= 4
