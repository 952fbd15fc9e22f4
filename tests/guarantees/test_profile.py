"""Privacy profiles: chords against curves known in closed form, and profiles that compose like mechanisms."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, inf, log, nan
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import tacit as tc
from tacit.errors import InvalidError
from tacit.guarantees.conversions import delta_of_pure, delta_of_renyi, delta_of_zcdp, epsilon_of_renyi, epsilon_of_zcdp
from tacit.guarantees.profile import PrivacyProfile
from tacit.guarantees.values import Guarantee

Points = list[tuple[float, float]]
POINTS = st.lists(st.tuples(st.floats(0, 20), st.floats(0, 1)), min_size=1, max_size=8)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ), at 40 digits."""
    with mpmath.workdps(40):
        m, e = mpf(mu), mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


def gaussian(mu: float, points: int, last: float = 8.0) -> PrivacyProfile:
    """Return a profile of Gaussian noise at a number of ε, each δ a little above the truth, as a guarantee must be."""
    scale = (last * i / (points - 1) for i in range(points))
    return PrivacyProfile([(x, gaussian_delta(mu, x) * (1 + 1e-12)) for x in scale])


def promised(points: Points, epsilon: float) -> Fraction:
    """Return the least δ that points guarantee at ε by brute force: all chords in e^ε, all points at or below ε."""
    x = Fraction(exp(epsilon))
    grown = [(Fraction(0), Fraction(1)), *((Fraction(exp(e)), Fraction(d)) for e, d in points)]
    best = min((y for a, y in grown if a <= x), default=Fraction(1))
    for a, y in grown:
        for b, z in grown:
            if a < x < b:
                best = min(best, y + (z - y) * (x - a) / (b - a))
    return best


@settings(max_examples=60, deadline=None)
@given(POINTS, st.floats(0, 25))
def test_a_profile_guarantees_the_delta_of_the_best_chord(points: Points, epsilon: float) -> None:
    found, truth = PrivacyProfile(points).delta(epsilon), float(promised(points, epsilon))
    assert found == pytest.approx(truth, rel=1e-9, abs=1e-12)
    assert found >= truth - 1e-12


@settings(max_examples=60, deadline=None)
@given(POINTS, POINTS)
def test_useless_points_change_nothing_and_better_ones_only_help(points: Points, more: Points) -> None:
    known, both = PrivacyProfile(points), PrivacyProfile([*more, *points])
    useless = [(x + 0.1, min(1.0, known.delta(x) * 1.1 + 1e-9)) for x, _ in more]
    assert PrivacyProfile([*points, *useless]).points == known.points
    assert PrivacyProfile(points[::-1] * 2) == known
    for x, _ in [*points, *more]:
        assert both.delta(x) <= known.delta(x) + 1e-12


@settings(max_examples=60, deadline=None)
@given(POINTS, st.floats(0, 1))
def test_epsilon_is_the_least_at_which_delta_is_promised(points: Points, delta: float) -> None:
    known = PrivacyProfile(points)
    found = known.epsilon(delta)
    if found == inf:
        assert known.delta(600) > delta
        return
    assert known.delta(found) <= delta
    assert found == 0 or known.delta(max(0.0, found * (1 - 1e-9) - 1e-12)) > delta * (1 - 1e-6) - 1e-9


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_the_chords_of_a_convex_curve_lie_above_it(mu: float) -> None:
    few, many = gaussian(mu, 5), gaussian(mu, 257)
    for i in range(101):
        x = 0.08 * i
        truth = gaussian_delta(mu, x)
        assert truth <= many.delta(x) * (1 + 1e-12)
        assert many.delta(x) <= few.delta(x) * (1 + 1e-12)
    assert many.delta(0.37) == pytest.approx(gaussian_delta(mu, 0.37), rel=1e-2)
    assert few.delta(0.37) > gaussian_delta(mu, 0.37) * 1.01


def test_the_pair_of_a_profile_has_just_that_curve() -> None:
    known = gaussian(1.0, 33)
    losses, masses, infinite = known.atoms()
    assert sum(masses) + infinite <= 1 + 1e-12
    for x in (0.0, 0.1, 0.77, 2.0, 5.5, 9.0):
        delta = infinite + sum(p * -expm1(min(x - loss, 0)) for loss, p in zip(losses, masses, strict=True))
        assert delta == pytest.approx(known.delta(x), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("mu", "count"), [(0.5, 1), (0.5, 2), (0.2, 25)])
def test_a_profile_of_a_gaussian_never_costs_less_and_approaches_it_with_more_points(mu: float, count: int) -> None:
    """√k·μ at δ = 1e-3; 601 points are within 1 % of it. Guarantees hold in both directions, so ε < 0 is known too."""
    costs = [tc.compose([(gaussian(mu, points, 6.0), count)]).epsilon(delta=1e-3).upper for points in (4, 13, 61, 601)]
    assert costs == sorted(costs, reverse=True)
    assert gaussian_delta(mu * count**0.5, costs[-1]) <= 1e-3 * (1 + 1e-9)
    assert gaussian_delta(mu * count**0.5, costs[0] * 0.98) < 1e-3
    assert gaussian_delta(mu * count**0.5, costs[-1] * 0.99) >= 1e-3


def test_two_points_compose_like_the_table_that_has_them() -> None:
    """(0, 0.1) and (1, 0) with their mirror image: the pair with losses -1, 0 and 1, convolved by hand."""
    known = PrivacyProfile([(0, 0.1), (1, 0)])
    p = 0.1 / -expm1(-1)  # δ(0) = p·(1 - 1/e) for P = (p, 1 - p - p/e, p/e), and Q the same in reverse
    table = [(1.0, p), (0.0, 1 - p - p * exp(-1)), (-1.0, p * exp(-1))]
    for epsilon in (0.2, 0.9, 1.5):
        truth = sum(p * q * max(0.0, -expm1(epsilon - x - y)) for x, p in table for y, q in table)
        found = tc.compose([(known, 2)]).delta(epsilon=epsilon, width=1e-5)
        assert found.upper >= truth * (1 - 1e-12)
        assert found.upper == pytest.approx(truth, rel=1e-3)


GUARANTEES: list[tuple[Guarantee, Any, Any]] = [
    (tc.PureDP(epsilon=2), lambda x: delta_of_pure(2, x), lambda d: log((1 + exp(2)) * (1 - d) - 1)),
    (tc.ZCDP(rho=0.1), lambda x: delta_of_zcdp(0.1, x), lambda d: epsilon_of_zcdp(0.1, d)),
    (tc.RenyiDP(alpha=8, epsilon=0.5), lambda x: delta_of_renyi(8, 0.5, x), lambda d: epsilon_of_renyi(8, 0.5, d)),
    (tc.GaussianDP(mu=1), lambda x: gaussian_delta(1.0, x), None),
]


@pytest.mark.parametrize(("guarantee", "delta", "epsilon"), GUARANTEES, ids=lambda g: type(g).__name__)
def test_the_profile_of_a_guarantee_is_its_conversion(guarantee: Guarantee, delta: Any, epsilon: Any) -> None:  # noqa: ANN401
    known = PrivacyProfile.of(guarantee)
    for x in (0.5, 1.0, 1.7, 2.0):  # below, the chord from (e^ε = 0, δ = 1) may guarantee more
        assert known.delta(x) >= delta(x) * (1 - 1e-9)
        assert known.delta(x) == pytest.approx(delta(x), rel=0.05, abs=1e-9)
    for d in (1e-6, 1e-3) if epsilon else ():
        assert known.epsilon(d) >= epsilon(d) * (1 - 1e-9)
        assert known.epsilon(d) == pytest.approx(epsilon(d), rel=0.01)


def test_the_profile_of_an_approximate_guarantee_gives_its_delta_away() -> None:
    known = PrivacyProfile.of(tc.ApproxDP(epsilon=1, delta=0.01))
    assert known.delta(1) == known.delta(5) == 0.01
    assert known.delta(0) == pytest.approx(0.01 + 0.99 * expm1(1) / (1 + exp(1)), rel=1e-9)
    assert known.epsilon(0.009) == inf


@pytest.mark.parametrize(
    "nothing", [tc.PureDP(epsilon=0), tc.ZCDP(rho=0), tc.GaussianDP(mu=0), tc.RenyiDP(alpha=2, epsilon=0)]
)
def test_a_free_guarantee_has_the_profile_of_zero(nothing: Guarantee) -> None:
    assert PrivacyProfile.of(nothing).points == ((0.0, 0.0),)


@pytest.mark.parametrize("extreme", [tc.PureDP(epsilon=1e300), tc.GaussianDP(mu=1e200), tc.ZCDP(rho=1e300)])
def test_a_huge_guarantee_promises_next_to_nothing(extreme: Guarantee) -> None:
    assert PrivacyProfile.of(extreme).delta(1) == 1


@pytest.mark.parametrize(
    ("points", "argument"),
    [
        ([], "points"),
        ([0.5], "points"),
        ([(1,)], "points"),
        ([(1, 0.1, 2)], "points"),
        ([[1, 0.1]], "points"),
        *(([(bad, 0.1)], "epsilon") for bad in (nan, inf, -1, 601, "1", None, True)),
        *(([(1, bad)], "delta") for bad in (nan, inf, -0.1, 1.1, "0", None, True)),
    ],
)
def test_invalid_points_of_a_profile_are_refused_by_name(points: Any, argument: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        PrivacyProfile(points)
    assert caught.value.argument == argument


@pytest.mark.parametrize("bad", [nan, inf, -1, "1", None, True])
def test_arguments_of_a_profile_are_checked(bad: Any) -> None:  # noqa: ANN401
    known = PrivacyProfile([(0, 0.1)])
    for asked in (known.delta, known.epsilon):
        with pytest.raises(InvalidError):
            asked(bad)


@pytest.mark.parametrize("points", [0, 1, -3, 2.5, "9", None])
def test_a_profile_has_at_least_two_points(points: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError):
        PrivacyProfile.of(tc.PureDP(epsilon=1), points)
    with pytest.raises(InvalidError):
        tc.compose([tc.PureDP(epsilon=1)]).profile(points)
    with pytest.raises(InvalidError):
        tc.compose([tc.PureDP(epsilon=1)]).curve(points)


@pytest.mark.parametrize("bad", [None, 1.0, "PureDP", PrivacyProfile([(0, 0.1)])])
def test_only_a_guarantee_has_a_profile(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError, match=r"^guarantee must be one of PureDP"):
        PrivacyProfile.of(bad)


@pytest.mark.parametrize("rule", ["basic", "advanced", "optimal", "zcdp", "renyi", "gdp"])
def test_only_the_laws_know_a_profile(rule: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        tc.compose([PrivacyProfile([(0, 0.1), (1, 0)])]).epsilon(delta=1e-3, rule=rule)
    assert caught.value.argument == "rule"


def test_the_profile_of_a_composition_lies_above_its_lower_bounds() -> None:
    total = tc.compose([(tc.PureDP(epsilon=0.3), 6)])
    known = total.profile(40)
    for x in (0.0, 0.2, 0.5, 1.1, 1.79):
        assert known.delta(x) >= total.delta(epsilon=x).lower
        assert known.delta(x) <= total.delta(epsilon=x).upper * 1.2 + 1e-6
