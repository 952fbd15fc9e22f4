"""Events on a Poisson sample: closed forms by the likelihood ratio, and exact products of two-law tables."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import tacit as tc
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    RandomizedBit,
    Unsampled,
)
from tacit.guarantees.pld import Bounds, convolve, delta_bounds, epsilon_bounds, laws, sampled

Real = Any
"""A number of mpmath, which has no type annotations."""
Table = list[tuple[Real, Real]]
"""The outcomes' probabilities under the two laws."""

DIRECTIONS = pytest.mark.parametrize("adding", [False, True], ids=["removal", "addition"])


def real(x: Fraction) -> Real:
    return mpf(x.numerator) / x.denominator


def on_sample(table: Table, rate: Real, *, adding: bool) -> Table:
    if adding:
        return [(p, (1 - rate) * p + rate * q) for p, q in table]
    return [((1 - rate) * q + rate * p, q) for p, q in table]


def hockey_stick(table: Table, count: int, epsilon: float) -> Real:
    """Σ (P - e^ε·Q)₊ over all outcomes of a number of independent uses."""
    grown, terms = mpmath.exp(epsilon), []
    for outcome in product(table, repeat=count):
        p, q = (mpmath.fprod(column) for column in zip(*outcome, strict=True))
        terms.append(max(mpf(0), p - grown * q))
    return mpmath.fsum(terms)


def response(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Table:
    kept, d = 1 / (1 + mpmath.exp(-real(epsilon))), real(delta)
    flipped = 1 - kept
    table = [((1 - d) * kept, (1 - d) * flipped), ((1 - d) * flipped, (1 - d) * kept)]
    return [*table, (d, mpf(0)), (mpf(0), d)] if delta else table


def discrete_laplace(scale: Fraction, shift: int) -> Table:
    """Tails on both sides are one outcome each: their likelihood ratio is constant."""
    r = mpmath.exp(-1 / real(scale))
    inner = [((1 - r) / (1 + r) * r ** (shift - j), (1 - r) / (1 + r) * r**j) for j in range(1, shift)]
    return [(1 / (1 + r), r**shift / (1 + r)), *inner, (r**shift / (1 + r), 1 / (1 + r))]


def discrete_gaussian(variance: Fraction, shift: int) -> Table:
    reach = range(-12, 13 + shift)
    weight = {k: mpmath.exp(-mpf(k * k) / (2 * real(variance))) for k in range(-40, 41)}
    norm = mpmath.fsum(weight.values())
    return [(weight[k - shift] / norm, weight[k] / norm) for k in reach]


@dataclass(frozen=True)
class Case:
    event: Unsampled
    rate: Fraction
    count: int
    epsilon: float

    @property
    def sampled(self) -> PoissonSampled:
        return PoissonSampled(rate=self.rate, of=self.event)

    def table(self) -> Table:
        match self.event:
            case ApproxRelease(epsilon=e, delta=d):
                return response(e, d)
            case DiscreteLaplaceNoise(scale=s, l1=d):
                return discrete_laplace(s, int(d))
            case DiscreteGaussianNoise(variance=v):
                return discrete_gaussian(v, 1)
            case RandomizedBit(epsilon=e):
                return response(e)
        raise AssertionError(self.event)

    @cache  # noqa: B019 - a few cases, for as long as the tests run
    def truth(self, *, adding: bool) -> float:
        with mpmath.workdps(40):
            table = on_sample(self.table(), real(self.rate), adding=adding)
            return float(hockey_stick(table, self.count, self.epsilon))

    def one_way(self, *, adding: bool) -> Bounds:
        return one_way(self.sampled, self.count, self.epsilon, adding=adding)


def one_way(event: PoissonSampled, count: int, epsilon: float, *, adding: bool) -> Bounds:
    """Compose one direction alone on a fine grid, at several tilts; each of them gives a bound."""
    up, low = (
        [convolve.total([(law(event, 2e-4, adding=adding), count)], delta) for delta in (0.5, 0.03, 1e-4)]
        for law in (sampled.upper, sampled.lower)
    )
    return Bounds(max(one.lower(epsilon) for one in low), min(one.upper(epsilon) for one in up))


def one_use(event: PoissonSampled, epsilon: float, *, adding: bool) -> Bounds:
    """δ(ε) of the two laws on a grid, one use, one direction: no convolution."""
    up, low = (law(event, 2e-4, adding=adding) for law in (sampled.upper, sampled.lower))
    found = [
        cells.infinite + float((cells.mass * -np.expm1(np.minimum(epsilon - cells.losses - cells.offset, 0))).sum())
        for cells in (low, up)
    ]
    return Bounds(*found)


def discrete(scale: Fraction, shift: int) -> Unsampled:
    return DiscreteLaplaceNoise(scale=scale, l1=Fraction(shift), coordinates=1)


ROUGH = DiscreteGaussianNoise(variance=Fraction(3, 2), l2_squared=1, coordinates=1)
GIVING = ApproxRelease(epsilon=Fraction(1), delta=Fraction(1, 100))
CASES = [
    Case(RandomizedBit(epsilon=Fraction(1)), Fraction(1, 2), 2, 0.25),  # addition is worse, by 36 %
    Case(RandomizedBit(epsilon=Fraction(1)), Fraction(7, 10), 4, 1.8),
    Case(RandomizedBit(epsilon=Fraction(3)), Fraction(1, 10), 3, 1.0),  # removal is worse
    Case(discrete(Fraction(2), 2), Fraction(1, 5), 4, 0.4),
    Case(discrete(Fraction(3, 2), 4), Fraction(1, 20), 3, 0.7),
    Case(ROUGH, Fraction(1, 4), 2, 0.5),
    Case(ROUGH, Fraction(9, 10), 3, 1.5),
    Case(GIVING, Fraction(3, 10), 4, 0.6),
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.count} {type(case.event).__name__}")


def holds(found: Bounds, truth: float) -> bool:
    return found.lower <= truth * (1 + 1e-11) and truth <= found.upper * (1 + 1e-11)


@each_case
def test_the_bracket_holds_the_worse_direction_of_exact_products(case: Case) -> None:
    truth = max(case.truth(adding=False), case.truth(adding=True))
    found = delta_bounds([(case.sampled, case.count)], case.epsilon, 1e-4)
    assert holds(found, truth)
    assert found.upper - found.lower <= 1e-3 * found.upper


@each_case
@DIRECTIONS
def test_each_direction_alone_is_its_own_exact_product(case: Case, *, adding: bool) -> None:
    found = case.one_way(adding=adding)
    truth = case.truth(adding=adding)
    assert holds(found, truth)
    assert truth < 1e-9 or found.upper - found.lower <= 0.2 * truth


def test_neither_direction_alone_would_do() -> None:
    """If one direction is worse, the bracket of the other is below the truth."""
    assert CASES[0].one_way(adding=False).upper < CASES[0].truth(adding=True) * 0.8
    assert CASES[2].one_way(adding=True).upper < CASES[2].truth(adding=False) * 0.8


@pytest.mark.sampled(3)
@each_case
def test_a_rate_two_percent_too_high_or_low_is_excluded(case: Case) -> None:
    truth = max(case.truth(adding=False), case.truth(adding=True))
    for factor in (Fraction(98, 100), Fraction(102, 100)):
        planted = PoissonSampled(rate=case.rate * factor, of=case.event)
        assert not holds(delta_bounds([(planted, case.count)], case.epsilon, 1e-4), truth)


STEPS = (PoissonSampled(rate=Fraction(1, 100), of=GaussianNoise(sigma=Fraction(1), l2=Fraction(1))), 10**4)


@pytest.mark.parametrize("width", [1e-3, 1e-4])
def test_ten_thousand_steps_of_sampled_gaussian_noise_cost_the_golden_epsilon(width: float) -> None:
    found = epsilon_bounds([STEPS], 1e-6, width)
    assert found.lower <= 6.9074 + 5e-5
    assert found.upper >= 6.9074 - 5e-5
    assert found.upper - found.lower <= width * found.upper
    assert tc.compose([STEPS]).epsilon(delta=1e-6, width=width).upper <= found.upper


def test_two_percent_more_sampling_misses_the_golden_epsilon() -> None:
    planted = PoissonSampled(rate=Fraction(102, 10000), of=STEPS[0].of)
    assert epsilon_bounds([(planted, 10**4)], 1e-6, 1e-3).lower > 6.9074 + 5e-5


def gaussian(mu: Real, rate: Real, epsilon: float, *, adding: bool) -> Real:
    """The ratio of the two densities rises (removal) or falls (addition) in x: δ is taken on a half-line."""
    grown = mpmath.exp(epsilon)
    ratio = (1 / grown - 1 + rate) / rate if adding else (grown - 1 + rate) / rate  # of N(μ,1) to N(0,1) at its end
    if ratio <= 0:
        return mpf(0)
    end = mpmath.log(ratio) / mu + mu / 2
    if adding:
        left, shifted = mpmath.ncdf(end), mpmath.ncdf(end - mu)
        return left - grown * ((1 - rate) * left + rate * shifted)
    right, shifted = mpmath.ncdf(-end), mpmath.ncdf(mu - end)
    return (1 - rate) * right + rate * shifted - grown * right


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("sigma", "rate"), [("1", "0.01"), ("0.5", "0.2"), ("3", "0.6"), ("0.8", "0.001")])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5, 2.0])
@DIRECTIONS
def test_one_use_of_gaussian_noise_has_its_closed_form(sigma: str, rate: str, epsilon: float, *, adding: bool) -> None:
    with mpmath.workdps(40):
        truth = float(gaussian(1 / mpf(sigma), mpf(rate), epsilon, adding=adding))
    event = PoissonSampled(rate=Fraction(rate), of=GaussianNoise(sigma=Fraction(sigma), l2=Fraction(1)))
    found = one_use(event, epsilon, adding=adding)
    assert holds(found, truth)
    assert truth < 1e-9 or found.upper - found.lower <= 0.05 * truth


@DIRECTIONS
def test_continuous_laplace_noise_has_its_integral(*, adding: bool) -> None:
    """ε₀ = 2 and a rate of 0.3: two laws of densities e^-|x|/2 and e^-|x-2|/2."""
    rate, grown = mpf("0.3"), mpmath.exp(mpf("0.25"))

    def excess(x: Real) -> Real:
        p, q = mpmath.exp(-abs(x - 2)) / 2, mpmath.exp(-abs(x)) / 2
        ((one, other),) = on_sample([(p, q)], rate, adding=adding)
        return max(mpf(0), one - grown * other)

    truth = float(mpmath.quad(excess, mpmath.linspace(-40, 42, 165), maxdegree=4))
    event = PoissonSampled(rate=Fraction(3, 10), of=LaplaceNoise(scale=Fraction(1, 2), l1=Fraction(1)))
    found = one_use(event, 0.25, adding=adding)
    assert found.lower <= found.upper
    assert found.lower == pytest.approx(truth, rel=5e-3)
    assert found.upper == pytest.approx(truth, rel=5e-3)


@pytest.mark.parametrize("t", [0.2, 0.75, 1.0, 1.3, 1.8])
def test_bounded_range_covers_every_law_on_two_points(t: float) -> None:
    """Losses t and t - ε for ε = 2, sampled at 0.3, used twice."""
    p = (mpmath.exp(2) - mpmath.exp(t)) / mpmath.expm1(2)
    table = [(1 - p, (1 - p) * mpmath.exp(2 - t)), (p, p * mpmath.exp(-t))]
    event = PoissonSampled(rate=Fraction(3, 10), of=BoundedRange(epsilon=Fraction(2)))
    for epsilon in (0.05, 0.3, 0.6):
        found = delta_bounds([(event, 2)], epsilon, 1e-3)
        for adding in (False, True):
            assert hockey_stick(on_sample(table, mpf("0.3"), adding=adding), 2, epsilon) <= found.upper * (1 + 1e-12)


UNSAMPLED: list[Unsampled] = [
    RandomizedBit(epsilon=Fraction(1, 2)),
    BoundedRange(epsilon=Fraction(1, 2)),
    GIVING,
    LaplaceNoise(scale=Fraction(2), l1=Fraction(1)),
    discrete(Fraction(4), 2),
    GaussianNoise(sigma=Fraction(2), l2=Fraction(1)),
    ROUGH,
    DiscreteGaussianNoise(variance=Fraction(10**10), l2_squared=10**9, coordinates=1),
    DiscreteGaussianNoise(variance=Fraction(10**10), l2_squared=10**9, coordinates=7),
]


every_event = pytest.mark.parametrize("event", UNSAMPLED, ids=lambda event: type(event).__name__)


@every_event
@DIRECTIONS
def test_a_whole_sample_is_no_sample(event: Unsampled, *, adding: bool) -> None:
    whole = PoissonSampled(rate=Fraction(1), of=event)
    for law, plain in ((sampled.upper, laws.upper), (sampled.lower, laws.lower)):
        one, other = law(whole, 0.01, adding=adding), plain(event, 0.01)
        assert (one.start, one.infinite, one.offset) == (other.start, other.infinite, other.offset)
        assert (one.mass == other.mass).all()


@every_event
def test_a_smaller_sample_never_costs_more(event: Unsampled) -> None:
    above = epsilon_bounds([(event, 5)], 0.1, 1e-2).upper
    for rate in (Fraction(99, 100), Fraction(1, 2), Fraction(1, 20)):
        found = epsilon_bounds([(PoissonSampled(rate=rate, of=event), 5)], 0.1, 1e-2)
        assert found.lower <= found.upper <= above * 1.01
        above = found.upper


def test_fine_discrete_noise_on_a_sample_approaches_the_continuous_noise() -> None:
    of = DiscreteGaussianNoise(variance=Fraction(10**16), l2_squared=10**16, coordinates=1)
    found = epsilon_bounds([(PoissonSampled(rate=Fraction(1, 100), of=of), 1000)], 1e-6, 1e-3)
    smooth = epsilon_bounds([(STEPS[0], 1000)], 1e-6, 1e-3)
    assert found.lower <= smooth.upper
    assert smooth.lower <= found.upper
    assert found.upper == pytest.approx(smooth.upper, rel=5e-3)
