"""Extreme parameters: zero, one and a billion uses, δ of 0 and 1, tiny and huge numbers, parts that cost nothing."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from fractions import Fraction
from math import exp, expm1, inf, isnan, log1p, nan
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import tacit as tc
from tacit.errors import InvalidError
from tacit.guarantees.composition import Composition
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedBit,
    Unsampled,
)

ONE = Fraction(1)


def valid(found: tc.Bounds) -> bool:
    return not isnan(found.lower) and not isnan(found.upper) and 0 <= found.lower <= found.upper


def laws(x: Fraction) -> dict[str, Unsampled]:
    """Return events whose privacy loss is about x, without those whose parameters do not fit into a float."""
    found: dict[str, Unsampled] = {
        "pure": PureRelease(epsilon=x),
        "range": BoundedRange(epsilon=x),
        "approximate": ApproxRelease(epsilon=x, delta=Fraction(1, 10**9)),
        "Laplace": LaplaceNoise(scale=1 / x, l1=ONE),
        "Gaussian": GaussianNoise(sigma=1 / x, l2=ONE),
        "discrete Laplace": DiscreteLaplaceNoise(scale=1 / x, l1=ONE, coordinates=1),
    }
    if Fraction(1, 10**150) <= x <= 10**150:
        found["discrete Gaussian"] = DiscreteGaussianNoise(variance=1 / x**2, l2_squared=1, coordinates=2)
    return found


@pytest.fixture
def _little_memory() -> Iterator[None]:
    """Limit the memory, so that an array of the length that a tiny ε would need fails at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()  # engines use much memory
    resource.setrlimit(resource.RLIMIT_AS, (held + (8 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


EXTREMES = [
    (f"{name} {x}", event)
    for x in ("1e-300", "1e-100", "1e-12", "700", "1e4", "1e100", "1e300")
    for name, event in laws(Fraction(x)).items()
]


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("rate", [None, Fraction(1, 2)], ids=["whole", "sampled"])
@pytest.mark.parametrize(("name", "event"), EXTREMES, ids=[name for name, _ in EXTREMES])
def test_tiny_and_huge_parameters_have_bounds_or_a_clear_refusal(
    name: str, event: Unsampled, rate: Fraction | None
) -> None:
    total = tc.compose([event if rate is None else PoissonSampled(rate=rate, of=event)])
    tight = total.epsilon(delta=1e-6, width=0.1) if "Gaussian" not in name else refused_or_bounds(total, "tight")
    assert valid(tight)
    delta = total.delta(epsilon=1, width=0.1)
    assert valid(delta)
    assert delta.upper <= 1
    for rule in ("basic", "zcdp", "renyi"):
        found = refused_or_bounds(total, rule)
        assert valid(found)
        assert tight.lower <= found.upper


def refused_or_bounds(total: Composition, rule: Any, delta: float = 1e-6) -> tc.Bounds:  # noqa: ANN401
    try:
        return total.epsilon(delta=delta, rule=rule, width=0.1)
    except InvalidError:
        return tc.Bounds(0.0, inf)


def test_zero_uses_cost_nothing_and_one_use_costs_its_price() -> None:
    one = tc.PureDP(epsilon=1)
    assert tc.compose([(one, 0)]) == tc.compose([]) == tc.compose([(one, 0), (tc.GaussianDP(mu=1), 0)])
    assert tc.compose([(one, 1)]) == tc.compose([one])
    assert tc.compose([one]).delta(epsilon=0).upper == pytest.approx(expm1(1) / (1 + exp(1)), rel=1e-9)


def test_a_billion_uses_approach_the_gaussian_limit() -> None:
    """ε₀ = 1e-5 a billion times is Gaussian with μ = √(k·ε₀²) = 0.316, up to about ε₀ of it."""
    found = tc.compose([(tc.PureDP(epsilon=1e-5), 10**9)]).epsilon(delta=1e-6)
    limit = tc.compose([tc.GaussianDP(mu=10**4.5 * 1e-5)]).epsilon(delta=1e-6).upper
    assert valid(found)
    assert found.upper == pytest.approx(limit, rel=2e-3)
    assert found.lower == pytest.approx(limit, rel=2e-3)


def test_a_billion_gaussians_merge_and_one_more_than_a_billion_is_refused() -> None:
    found = tc.compose([(tc.GaussianDP(mu=1e-5), 10**9)]).epsilon(delta=1e-6).upper
    with mpmath.workdps(30):
        mu, e = mpmath.sqrt(mpf("0.1")), mpf(found)
        delta = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
    assert float(delta) == pytest.approx(1e-6, rel=1e-9)
    with pytest.raises(InvalidError, match=r"10\^9"):
        tc.compose([(tc.PureDP(epsilon=1), 10**9 + 1)])


ITEMS: list[Any] = [
    tc.PureDP(epsilon=1),
    tc.ApproxDP(epsilon=1, delta=1e-3),
    tc.GaussianDP(mu=1),
    tc.Laplace(sensitivity=1, epsilon=1),
    tc.Gaussian(sensitivity=1, sigma=1),
    PoissonSampled(rate=Fraction(1, 3), of=PureRelease(epsilon=ONE)),
]
every_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: type(item).__name__)


@every_item
def test_at_delta_one_nothing_is_promised_and_epsilon_is_zero(item: Any) -> None:  # noqa: ANN401
    assert tc.compose([(item, 7)]).epsilon(delta=1) == tc.Bounds(0.0, 0.0)


@every_item
def test_the_smallest_delta_has_bounds_or_a_clear_refusal(item: Any) -> None:  # noqa: ANN401
    found = refused_or_bounds(tc.compose([(item, 3)]), "tight", delta=5e-324)
    assert valid(found)
    assert found.lower <= tc.compose([(item, 3)]).epsilon(delta=0).upper


def test_at_delta_zero_the_largest_loss_is_the_answer() -> None:
    sampled = PoissonSampled(rate=Fraction(1, 3), of=PureRelease(epsilon=ONE))
    found = tc.compose([tc.PureDP(epsilon=0.1), (sampled, 2)]).epsilon(delta=0)
    truth = 0.1 + 2 * log1p(expm1(1) / 3)
    assert found.lower <= truth * (1 + 1e-15)
    assert found.upper == pytest.approx(truth, rel=1e-15)
    assert found.upper >= truth * (1 - 1e-15)


@pytest.mark.parametrize("l1", [Fraction(1, 2), Fraction(3, 2)])
def test_whole_numbers_move_by_whole_steps_at_delta_zero(l1: Fraction) -> None:
    found = tc.compose([DiscreteLaplaceNoise(scale=ONE, l1=l1, coordinates=1)]).epsilon(delta=0)
    assert found.lower <= int(l1)
    assert int(l1) <= found.upper <= l1


NOTHING = [tc.PureDP(epsilon=0), tc.ApproxDP(epsilon=0, delta=0), tc.ZCDP(rho=0), tc.GaussianDP(mu=0)]


@pytest.mark.parametrize("nothing", [*NOTHING, tc.RenyiDP(alpha=3, epsilon=0)], ids=lambda one: type(one).__name__)
def test_a_part_that_costs_nothing_changes_nothing(nothing: Any) -> None:  # noqa: ANN401
    assert tc.compose([(nothing, 5)]).epsilon(delta=0) == tc.Bounds(0.0, 0.0)
    assert tc.compose([nothing]).delta(epsilon=0) == tc.Bounds(0.0, 0.0)
    both = tc.compose([tc.PureDP(epsilon=1), nothing])
    assert both == tc.compose([tc.PureDP(epsilon=1)])


@pytest.mark.parametrize("delta", [1e-9, 0.1, 0.75])
def test_a_give_away_alone_costs_its_delta(delta: float) -> None:
    """Two of them reveal everything with probability 1 - (1-δ)²."""
    total, truth = tc.compose([(tc.ApproxDP(epsilon=0, delta=delta), 2)]), delta * (2 - delta)
    for epsilon in (0.0, 3.0):
        found = total.delta(epsilon=epsilon)
        assert found.lower <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= found.upper <= truth * (1 + 1e-6)
    assert total.epsilon(delta=min(1.0, truth * 1.001)).upper == 0
    assert total.epsilon(delta=truth * 0.999).upper == inf


def test_relations_do_not_mix_not_even_by_a_sample() -> None:
    one, other = (
        ApproxRelease(epsilon=ONE, delta=Fraction(1, 10**6), neighbours=relation)
        for relation in ("add/remove", "change one")
    )
    sampled = PoissonSampled(rate=Fraction(1, 2), of=PureRelease(epsilon=ONE))
    assert len(tc.compose([one, sampled, tc.PureDP(epsilon=1)]).parts) == 3
    mixtures: list[list[Event]] = [[one, other], [other, sampled]]
    for mixed in mixtures:
        with pytest.raises(InvalidError, match="neighbour relation"):
            tc.compose(mixed)
    with pytest.raises(InvalidError, match="'add/remove'"):
        PoissonSampled(rate=Fraction(1, 2), of=other)


@pytest.mark.parametrize(
    ("item", "rule", "delta", "named"),
    [
        (tc.ZCDP(rho=0.1), "pld", 1e-6, "'zcdp' or 'renyi'"),
        (tc.RenyiDP(alpha=2, epsilon=0.1), "zcdp", 1e-6, "'renyi'"),
        (tc.GaussianDP(mu=1), "basic", 1e-6, "Rule 'basic' cannot price"),
        (tc.PureDP(epsilon=1), "renyi", 0, "'basic' and 'optimal'"),
        (tc.GaussianDP(mu=1), "gdp", 0, "'basic' and 'optimal'"),
        (tc.PureDP(epsilon=1), "advanced", 0, "the basic rule"),
        (tc.PureDP(epsilon=1), "gdp", 1e-6, "'tight'"),
        (tc.PureDP(epsilon=1), "none", 1e-6, "'tight', 'pld', 'basic'"),
    ],
)
def test_a_rule_that_does_not_serve_says_which_do(item: Any, rule: Any, delta: float, named: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        tc.compose([item]).epsilon(delta=delta, rule=rule)
    assert named in str(caught.value)


@pytest.mark.parametrize("bad", [nan, inf, -1, "1", None, True])
def test_values_other_than_numbers_are_refused_everywhere(bad: Any) -> None:  # noqa: ANN401
    total = tc.compose([tc.PureDP(epsilon=1)])
    for asked in (lambda: total.delta(epsilon=bad), lambda: total.log_moments([bad]), lambda: total.epsilon(delta=bad)):
        with pytest.raises(InvalidError):
            asked()


EVENTS = st.one_of(
    st.builds(RandomizedBit, epsilon=st.fractions(Fraction(1, 20), 1)),
    st.builds(LaplaceNoise, scale=st.fractions(1, 20), l1=st.just(ONE)),
    st.builds(GaussianNoise, sigma=st.fractions(1, 20), l2=st.just(ONE)),
    st.builds(ApproxRelease, epsilon=st.fractions(Fraction(1, 20), 1), delta=st.just(Fraction(1, 10**9))),
    st.builds(PoissonSampled, rate=st.fractions(Fraction(1, 20), 1), of=st.builds(BoundedRange, epsilon=st.just(ONE))),
)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(EVENTS, st.integers(1, 9)), min_size=1, max_size=3), EVENTS, st.randoms())
def test_order_does_not_matter_and_more_never_costs_less(
    parts: list[tuple[Event, int]],
    more: Event,
    chance: Any,  # noqa: ANN401
) -> None:
    found = tc.compose(parts).epsilon(delta=1e-5, width=1e-2)
    singly = [event for event, count in parts for _ in range(count)]
    chance.shuffle(singly)
    other = tc.compose(singly).epsilon(delta=1e-5, width=1e-2)
    assert valid(found)
    assert valid(other)
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert tc.compose([*parts, more]).epsilon(delta=1e-5, width=1e-2).upper >= found.lower


@settings(max_examples=10, deadline=None)
@given(st.fractions(Fraction(1, 10), 2), st.integers(1, 20), st.fractions(Fraction(1, 20), 1))
def test_post_processing_never_costs_more(epsilon: Fraction, count: int, rate: Fraction) -> None:
    """Every ε-DP mechanism post-processes randomized response, and more noise post-processes less."""
    worst = tc.compose([(PureRelease(epsilon=epsilon), count)]).epsilon(delta=1e-5, width=1e-2).upper
    noise = LaplaceNoise(scale=1 / epsilon, l1=ONE)
    for event in (
        BoundedRange(epsilon=epsilon),
        noise,
        LaplaceNoise(scale=2 / epsilon, l1=ONE),
        DiscreteLaplaceNoise(scale=3 / epsilon, l1=Fraction(3), coordinates=2),
        PoissonSampled(rate=rate, of=noise),
    ):
        assert tc.compose([(event, count)]).epsilon(delta=1e-5, width=1e-2).lower <= worst


@pytest.mark.parametrize(("rate", "epsilon"), [(10**8, 30), (10**12, 40), (10**14, 50)])
def test_the_largest_loss_keeps_its_digits_when_the_rate_is_tiny(rate: int, epsilon: int) -> None:
    """On removal Pr[L = ln(1-γ+γe^ε)] = P, so δ(x) = P·(1 - e^(x-L)) just below it."""
    with mpmath.workdps(60):
        gamma, kept = mpf(1) / rate, 1 / (1 + mpmath.exp(-epsilon))
        mass, loss = (1 - gamma) * (1 - kept) + gamma * kept, mpmath.log1p(gamma * mpmath.expm1(epsilon))
        truth = loss + mpmath.log1p(-mpf("1e-20") / mass)
    event = PoissonSampled(rate=Fraction(1, rate), of=PureRelease(epsilon=Fraction(epsilon)))
    found = tc.compose([event]).epsilon(delta=1e-20, width=1e-6)
    assert found.lower <= float(truth) * (1 + 1e-12)
    assert found.upper >= float(truth) * (1 - 1e-12)


@pytest.mark.parametrize("coordinates", [1, 2])
def test_numbers_that_move_by_less_than_a_step_do_not_raise_the_lower_bound(coordinates: int) -> None:
    """From below such noise has no loss, so the bit has all of δ, (e - e^½)/(1 + e)."""
    still = DiscreteLaplaceNoise(scale=Fraction(10), l1=Fraction(1, 2), coordinates=coordinates)
    bit = RandomizedBit(epsilon=Fraction(1))
    found = tc.compose([(PoissonSampled(rate=Fraction(1, 2), of=still), 100), bit]).delta(epsilon=0.5)
    truth = float((mpmath.e - mpmath.exp("0.5")) / (1 + mpmath.e))
    assert found.lower <= truth * (1 + 1e-12)


def test_a_rate_that_is_one_but_for_rounding_is_priced() -> None:
    event = PoissonSampled(rate=1 - Fraction(1, 10**30), of=RandomizedBit(epsilon=Fraction(1)))
    assert tc.compose([event]).epsilon(delta=1e-6).upper == pytest.approx(1, rel=1e-3)


def test_at_delta_zero_a_sampled_release_has_its_largest_loss() -> None:
    """ln(1 + γ(e^600 - 1)) = 600 + ln γ, to all digits of a float."""
    found = tc.compose([PoissonSampled(rate=Fraction(1, 100), of=PureRelease(epsilon=Fraction(600)))]).epsilon(delta=0)
    assert found.lower <= float(600 + mpmath.log("0.01")) * (1 + 1e-15)
    assert found.lower <= found.upper < inf
