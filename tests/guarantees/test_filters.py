from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import exp, hypot, inf, log, nan, pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from oracles_divergence import MP, Shifted, real
from tacit.errors import BudgetError, InvalidError
from tacit.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PureRelease,
    RandomizedBit,
)
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget, Spent, admit, limit, price, start
from tacit.guarantees.prices import _share
from tacit.guarantees.values import ApproxZCDP

Priced = Event | GaussianDP


def pure(epsilon: str | Fraction) -> PureRelease:
    return PureRelease(epsilon=Fraction(epsilon))


def gaussian(variance: Fraction, l2_squared: int = 1) -> DiscreteGaussianNoise:
    return DiscreteGaussianNoise(variance=variance, l2_squared=l2_squared, coordinates=1)


def laplace(scale: Fraction, l1: int = 1) -> DiscreteLaplaceNoise:
    return DiscreteLaplaceNoise(scale=scale, l1=Fraction(l1), coordinates=1)


def approx(epsilon: Fraction, delta: Fraction) -> ApproxRelease:
    return ApproxRelease(epsilon=epsilon, delta=delta)


amounts = st.builds(Fraction, st.integers(1, 300), st.sampled_from([97, 100, 140]))
pure_events = st.one_of(
    st.builds(laplace, amounts, st.integers(1, 5)),
    *(st.builds(kind, epsilon=amounts) for kind in (BoundedRange, PureRelease, RandomizedBit)),
)
approx_events = st.builds(approx, amounts, amounts.map(lambda x: x / 10**6))
gaussians = st.builds(gaussian, amounts.map(lambda x: 100 * x), st.integers(1, 30))
CURRENCIES: dict[str, tuple[Budget, st.SearchStrategy[Any]]] = {
    "pure": (PureDP(epsilon=5), st.one_of(pure_events, approx_events)),
    "approximate": (ApproxDP(epsilon=5, delta=2e-6), st.one_of(pure_events, approx_events)),
    "zcdp": (ZCDP(rho=3), st.one_of(pure_events, gaussians)),
    "approximate zcdp": (ApproxZCDP(rho=3, delta=2e-6), st.one_of(pure_events, approx_events, gaussians)),
    "renyi": (RenyiDP(alpha=2.5, epsilon=4), st.one_of(pure_events, gaussians)),
    "gdp": (GaussianDP(mu=2), st.builds(GaussianDP, mu=amounts)),
}
every_currency = pytest.mark.parametrize(("budget", "events"), CURRENCIES.values(), ids=CURRENCIES)


def all_admitted(budget: Budget, events: list[Priced]) -> tuple[Spent, list[Priced]]:
    """Offer events in turn; return the total and the admitted events."""
    spent, admitted = start(budget), []
    for event in events:
        try:
            spent = admit(spent, budget, event)
        except BudgetError:
            continue
        admitted.append(event)
    return spent, admitted


# Sums


def test_ten_tenths_are_one_and_an_eleventh_is_refused() -> None:
    budget = PureDP(epsilon=1)
    spent, admitted = all_admitted(budget, [pure("0.1")] * 10)
    assert spent.loss == 1
    assert len(admitted) == 10
    with pytest.raises(BudgetError) as refusal:
        admit(spent, budget, pure("0.1"))
    assert refusal.value.message == "This PureRelease costs epsilon = 0.1 but only 0.0 is left."
    assert refusal.value.hint is not None


@pytest.mark.parametrize(
    ("budget", "event", "times"),
    [
        (PureDP(epsilon=1), pure(Fraction(1, 7)), 7),
        (ApproxDP(epsilon=3, delta=1e-6), approx(Fraction(3, 7), Fraction(1, 7 * 10**6)), 7),
        (ApproxDP(epsilon=9, delta=1e-6), approx(Fraction(1, 10), Fraction(1, 3 * 10**6)), 3),
        (ZCDP(rho=0.5), gaussian(Fraction(13)), 13),
        (ZCDP(rho=0.5), pure("0.1"), 100),
        (ApproxZCDP(rho=0.01, delta=1), approx(Fraction(1, 10), Fraction(1, 10**9)), 2),
        (RenyiDP(alpha=8, epsilon=1), gaussian(Fraction(44)), 11),
        (GaussianDP(mu=1), GaussianDP(mu=0.1), 100),
    ],
)
def test_an_event_that_fits_exactly_is_admitted_and_no_more(budget: Budget, event: Priced, times: int) -> None:
    _, admitted = all_admitted(budget, [event] * (times + 3))
    assert len(admitted) == times


@every_currency
@settings(deadline=None)
@given(data=st.data())
def test_totals_are_the_sum_of_prices_and_never_exceed_the_budget(
    budget: Budget, events: st.SearchStrategy[Priced], data: st.DataObject
) -> None:
    spent, admitted = all_admitted(budget, data.draw(st.lists(events, max_size=12)))
    costs = [price(budget, event) for event in admitted]
    assert spent.loss == sum(cost.loss for cost in costs) <= limit(budget).loss
    assert spent.delta == sum(cost.delta for cost in costs) <= limit(budget).delta


@every_currency
@settings(deadline=None)
@given(data=st.data())
def test_order_does_not_matter(budget: Budget, events: st.SearchStrategy[Priced], data: st.DataObject) -> None:
    spent, admitted = all_admitted(budget, data.draw(st.lists(events, max_size=12)))
    assert all_admitted(budget, data.draw(st.permutations(admitted)))[0] == spent


@every_currency
@settings(deadline=None)
@given(data=st.data())
def test_a_refusal_changes_nothing(budget: Budget, events: st.SearchStrategy[Priced], data: st.DataObject) -> None:
    offered = data.draw(st.lists(events, max_size=12))
    spent, admitted = all_admitted(budget, offered)
    assert all_admitted(budget, admitted) == (spent, admitted)  # as if the rejected events had never been offered


def test_after_a_refusal_a_fitting_event_is_still_admitted() -> None:
    budget = PureDP(epsilon=1)
    spent = admit(start(budget), budget, pure("0.9"))
    with pytest.raises(BudgetError, match=r"costs epsilon = 0\.2 but only 0\.1 is left"):
        admit(spent, budget, pure("0.2"))
    assert admit(spent, budget, pure("0.1")).loss == 1


def test_a_total_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        start(PureDP(epsilon=1)).loss = Fraction(0)  # type: ignore[misc]


def test_both_parts_that_are_short_are_named_and_rounded_apart() -> None:
    with pytest.raises(BudgetError, match=r"epsilon = 3\.0 but only 2\.0 is left and delta = 1e-05 but only 1e-06 is"):
        admit(
            start(ApproxDP(epsilon=2, delta=1e-6)),
            ApproxDP(epsilon=2, delta=1e-6),
            approx(Fraction(3), Fraction("1e-5")),
        )
    third, close = PureDP(epsilon=Exact(Fraction(1, 3))), Fraction(1, 3) + Fraction(1, 10**30)  # the same float
    with pytest.raises(BudgetError, match=r"epsilon = 0\.33333333333333337 but only 0\.3333333333333333 is left"):
        admit(start(third), third, pure(close))


def test_a_budget_of_nothing_admits_nothing_and_a_lowered_budget_neither() -> None:
    with pytest.raises(BudgetError, match=r"only 0\.0 is left"):
        admit(start(PureDP(epsilon=0)), PureDP(epsilon=0), pure("1e-9"))
    spent = admit(start(PureDP(epsilon=2)), PureDP(epsilon=2), pure("2"))
    with pytest.raises(BudgetError, match=r"only 0\.0 is left"):
        admit(spent, PureDP(epsilon=1), pure("0.1"))
    wide, narrow = ApproxDP(epsilon=9, delta=1e-6), ApproxDP(epsilon=9, delta=1e-7)
    spent = admit(start(wide), wide, approx(Fraction(1), Fraction(1, 10**6)))
    with pytest.raises(BudgetError, match=r"costs delta = 0\.0 but only 0\.0 is left"):
        admit(spent, narrow, pure("0.1"))


def test_the_size_of_a_total_does_not_grow_with_history_and_it_is_rounded_up() -> None:
    budget, odd = PureDP(epsilon=10), range(10**6 + 1, 10**6 + 1001, 2)
    spent, exact = start(budget), Fraction(0)
    for denominator in odd:
        spent = admit(spent, budget, pure(Fraction(1, denominator)))
        exact += Fraction(1, denominator)
    assert exact.denominator.bit_length() > 5000 > spent.loss.denominator.bit_length()
    assert 0 < spent.loss - exact < Fraction(1, 2**4080)


# Prices


@pytest.mark.parametrize(
    ("budget", "event", "loss", "delta"),
    [
        (PureDP(epsilon=1), laplace(Fraction(10), 3), "3/10", "0"),
        (PureDP(epsilon=1), BoundedRange(epsilon=Fraction(1, 2)), "1/2", "0"),
        (PureDP(epsilon=1), RandomizedBit(epsilon=Fraction(1, 2)), "1/2", "0"),
        (ApproxDP(epsilon=1, delta=0), approx(Fraction(1, 2), Fraction(1, 10**6)), "1/2", "1/1000000"),
        (ZCDP(rho=1), gaussian(Fraction(7, 3), 5), "15/14", "0"),
        (ZCDP(rho=1), laplace(Fraction(10), 3), "9/200", "0"),
        (ZCDP(rho=1), pure("1/2"), "1/8", "0"),
        (ZCDP(rho=1), pure("4"), "4", "0"),
        (ZCDP(rho=1), RandomizedBit(epsilon=Fraction(1, 2)), "1/8", "0"),
        (ZCDP(rho=1), BoundedRange(epsilon=Fraction(1, 2)), "1/32", "0"),
        (ZCDP(rho=1), BoundedRange(epsilon=Fraction(16)), "16", "0"),
        (ApproxZCDP(rho=1, delta=0), approx(Fraction(1, 2), Fraction(1, 10**6)), "1/8", "1/1000000"),
        (RenyiDP(alpha=2.5, epsilon=1), gaussian(Fraction(7, 3), 5), "75/28", "0"),
        (RenyiDP(alpha=2.5, epsilon=1), BoundedRange(epsilon=Fraction(1, 2)), "5/64", "0"),
        (GaussianDP(mu=1), GaussianDP(mu=0.3), "9/100", "0"),
    ],
)
def test_each_event_has_its_closed_price(budget: Budget, event: Priced, loss: str, delta: str) -> None:
    cost = price(budget, event)
    assert (cost.loss, cost.delta) == (Fraction(loss), Fraction(delta))


ORDERS = [Fraction(1001, 1000), Fraction(3, 2), Fraction(2), Fraction(5), Fraction(32)]


def divergence(log_p: list[Any], log_q: list[Any], alpha: Fraction) -> Any:  # noqa: ANN401 - mpmath has no types
    """D_α(P‖Q) by its definition, term by term."""
    a = real(alpha)
    total = MP.fsum(MP.exp(a * p + (1 - a) * q) for p, q in zip(log_p, log_q, strict=True))
    return MP.log(total) / (a - 1)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize(("variance", "shift"), [(Fraction(1, 4), 1), (Fraction(3), 1), (Fraction(20), 3)])
def test_the_discrete_gaussian_costs_at_least_its_divergence(variance: Fraction, shift: int, alpha: Fraction) -> None:
    reach = 40 * shift * max(1, int(alpha)) + 60  # the summand is centred at most (α-1)·shift off the middle
    support = range(-reach, reach + 1)
    log_z = MP.log(MP.fsum(MP.exp(-real(k * k / (2 * variance))) for k in support))
    laws = [[-real((k - d) ** 2 / (2 * variance)) - log_z for k in support] for d in (0, shift)]
    true, event = divergence(laws[0], laws[1], alpha), gaussian(variance, shift**2)
    by_order, by_rho = price(RenyiDP(alpha=Exact(alpha), epsilon=1), event).loss, price(ZCDP(rho=1), event).loss
    assert true <= real(by_order) * (1 + MP.mpf(10) ** -40)
    assert by_order == alpha * by_rho
    if alpha.denominator == 1:  # then the shifted sum is over the same lattice, and the price is exact
        assert true >= real(by_order) * (1 - MP.mpf(10) ** -40)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize(
    ("scale", "shift"), [(Fraction(1, 3), 1), (Fraction(2), 1), (Fraction(5), 4), (Fraction(9), 1)]
)
def test_discrete_laplace_costs_at_least_its_divergence(scale: Fraction, shift: int, alpha: Fraction) -> None:
    support = range(-150 * int(scale + 1), 150 * int(scale + 1))
    laws = [[Shifted(centre, real(scale)).log(MP.mpf(k)) for k in support] for centre in (0, shift)]
    true, event = divergence(laws[0], laws[1], alpha), laplace(scale, shift)
    by_order, by_rho = price(RenyiDP(alpha=Exact(alpha), epsilon=1), event).loss, price(ZCDP(rho=1), event).loss
    assert true <= real(by_order) + MP.mpf(10) ** -45
    assert by_order <= alpha * by_rho
    if shift == 1:  # then the law is randomized response, and the price is exact
        assert true >= real(by_order) - MP.mpf(10) ** -45


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 2), Fraction(3), Fraction(30)])
def test_selections_and_bits_cost_at_least_their_divergence(epsilon: Fraction, alpha: Fraction) -> None:
    """The extreme pairs of range ε have two losses, t and t - ε; a bit has the losses ε and -ε."""
    e = real(epsilon)
    worst = max(divergence(*two_points(t, t - e), alpha) for t in (e * k / 200 for k in range(1, 200)))
    bounded = price(RenyiDP(alpha=Exact(alpha), epsilon=1), BoundedRange(epsilon=epsilon)).loss
    assert worst <= real(bounded)
    assert worst >= real(bounded) * (0.999 if epsilon * alpha < 0.01 else 0.3)
    bit = price(RenyiDP(alpha=Exact(alpha), epsilon=1), RandomizedBit(epsilon=epsilon)).loss
    assert abs(divergence(*two_points(e, -e), alpha) - real(bit)) < MP.mpf(10) ** -45


def two_points(high: Any, low: Any) -> tuple[list[Any], list[Any]]:  # noqa: ANN401 - mpmath has no types
    """Return log P and log Q of the pair on two points whose privacy losses are `high` > 0 > `low`."""
    q = (1 - MP.exp(low)) / (MP.exp(high) - MP.exp(low))
    log_q = [MP.log(q), MP.log(1 - q)]
    return [log_q[0] + high, log_q[1] + low], log_q


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_an_approximate_release_keeps_the_promise_of_its_price(epsilon: float) -> None:
    """The worst (ε,δ) pair is randomized response that reveals everything with probability δ; its δ(e) is known."""
    delta = 1e-3
    cost = price(ApproxZCDP(rho=1, delta=1), approx(Fraction(epsilon), Fraction(delta)))
    for e in np.linspace(0, 1.2 * epsilon, 30):
        true = delta + (1 - delta) * max(0.0, exp(epsilon) - exp(e)) / (1 + exp(epsilon))
        assert true <= float(cost.delta) + (1 - delta) * delta_of_zcdp(float(cost.loss), e) + 1e-12


def test_bounded_range_pays_a_quarter_of_what_pure_privacy_pays() -> None:
    assert (_share(BoundedRange(epsilon=Fraction(1))), _share(pure("1"))) == (8, 2)


# Adaptivity, by enumeration: every answer opens a separate branch


Tree = list[tuple[float, float]]


def leaves(budget: Budget, offers: Iterator[Fraction], depth: int) -> Tree:
    """Ask randomized bits of sizes that differ from branch to branch; return (log P, log Q) of all outcomes."""

    def grow(spent: Spent, depth: int) -> Tree:
        event = RandomizedBit(epsilon=next(offers))
        try:
            spent = admit(spent, budget, event)
        except BudgetError:
            return [(0.0, 0.0)]
        e = float(event.epsilon)
        kept, flipped = -log(1 + exp(-e)), -log(1 + exp(e))
        branches = ((kept, flipped), (flipped, kept))
        below = [grow(spent, depth - 1) if depth > 1 else [(0.0, 0.0)] for _ in branches]
        return [(p + x, q + y) for (p, q), sub in zip(branches, below, strict=True) for x, y in sub]

    return grow(start(budget), depth)


@settings(max_examples=200, deadline=None)
@given(st.lists(amounts, min_size=15, max_size=15))
def test_every_adaptive_tree_that_is_admitted_keeps_the_promise(sizes: list[Fraction]) -> None:
    def divergence_of(budget: Budget, alpha: float) -> float:
        tree = leaves(budget, iter(sizes), 4)
        assert abs(sum(exp(p) for p, _ in tree) - 1) < 1e-12
        return log(sum(exp(alpha * p + (1 - alpha) * q) for p, q in tree)) / (alpha - 1)

    assert max(p - q for p, q in leaves(PureDP(epsilon=4), iter(sizes), 4)) <= 4 + 1e-12
    assert divergence_of(RenyiDP(alpha=3, epsilon=1.5), 3) <= 1.5 + 1e-12
    for alpha in (1.1, 2, 4, 16):
        assert divergence_of(ZCDP(rho=1), alpha) <= alpha + 1e-12


# The counterexample to filters made of privacy-loss distributions


Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def gaussian_curve(mu: float) -> Curve:
    """δ(e) of Gaussian noise with Δ/σ = μ, for any real e (Balle and Wang 2018)."""
    return lambda e: ndtr(mu / 2 - e / mu) - np.exp(e + log_ndtr(-mu / 2 - e / mu))


def laplace_curve(epsilon: float) -> Curve:
    """δ(e) of Laplace noise with Δ/s = ε, for any real e: 1 - e^((e-ε)/2) between -ε and ε."""

    def curve(e: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = -np.expm1((np.clip(e, -epsilon, epsilon) - epsilon) / 2)
        return np.where(e < -epsilon, -np.expm1(np.minimum(e, 0)), inside)

    return curve


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """δ(ε) that ρ-zCDP promises (Canonne et al. 2020, corollary 13), at the best α of a fine grid."""
    alpha = 1 + np.geomspace(1e-4, 1e4, 20_001)
    log_delta = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
    return float(np.exp(np.minimum(log_delta.min(), 0)))


@dataclass(frozen=True)
class Counterexample:
    """A Gaussian mechanism, then by its outcome a Gaussian or a Laplace mechanism.

    Given the first privacy loss L₁ = l, the second must exceed ε - l, so with the second mechanism's curve
    δ₂ the pair has δ(ε) = E[δ₂(ε - L₁)], L₁ ~ N(μ₁²/2, μ₁²): one integral, taken by the trapezoid rule. The target
    is that of the pair with Laplace noise; μ₂ is such that the pair of Gaussians has the same δ(ε). Both fixed
    pairs meet the target. An analyst who chooses, for each l, the second mechanism with the larger δ₂(ε - l) does not.
    """

    mu_first: float = 0.2
    laplace: float = 3.0
    epsilon: float = 3.9

    def delta(self, *seconds: Curve) -> float:
        """Return δ(ε) if the larger of the curves is used at each first loss."""
        mean, spread = self.mu_first**2 / 2, self.mu_first
        loss = np.linspace(mean - 12 * spread, mean + 16 * spread, 50_001)
        density = np.exp(-(((loss - mean) / spread) ** 2) / 2) / (spread * sqrt(2 * pi))
        chosen = np.max([curve(self.epsilon - loss) for curve in seconds], axis=0)
        return float(np.trapezoid(density * chosen, loss))

    @cached_property
    def target(self) -> float:
        return self.delta(laplace_curve(self.laplace))

    @cached_property
    def mu_second(self) -> float:
        return float(brentq(lambda mu: self.delta(gaussian_curve(mu)) / self.target - 1, 0.1, 2.0, xtol=1e-14))


CASE = Counterexample()
STEPS = 10**6
"""Steps of the grid in one sensitivity: so fine that the discrete laws are nearly the continuous ones."""
FIRST = gaussian((STEPS / Fraction(CASE.mu_first)) ** 2, STEPS**2)
SECOND_GAUSSIAN = gaussian((STEPS / Fraction(CASE.mu_second)) ** 2, STEPS**2)
SECOND_LAPLACE = laplace(STEPS / Fraction(CASE.laplace), STEPS)


def test_composed_curves_are_no_filter_the_true_delta_is_twice_the_target() -> None:
    with_gaussian, with_laplace = gaussian_curve(CASE.mu_second), laplace_curve(CASE.laplace)
    assert CASE.target == pytest.approx(1.105e-7, rel=1e-3)
    assert CASE.delta(with_laplace) <= CASE.target
    assert CASE.delta(with_gaussian) <= CASE.target * (1 + 1e-9)
    closed = float(gaussian_curve(hypot(CASE.mu_first, CASE.mu_second))(np.array(CASE.epsilon)))
    assert CASE.delta(with_gaussian) == pytest.approx(closed, rel=1e-6)  # the integral against the closed form
    assert CASE.delta(with_gaussian, with_laplace) > 1.99 * CASE.target


def test_the_zcdp_filter_refuses_both_second_mechanisms() -> None:
    """The budget is the largest ρ that promises the target, so everything that it admits meets the target."""
    rho = float(brentq(lambda rho: log(delta_of_zcdp(rho, CASE.epsilon) / CASE.target), 0.05, 5.0))
    budget = ZCDP(rho=rho)
    spent = admit(start(budget), budget, FIRST)
    for second in (SECOND_GAUSSIAN, SECOND_LAPLACE):
        with pytest.raises(BudgetError, match="costs rho"):
            admit(spent, budget, second)
    left = float(limit(budget).loss - spent.loss)  # a Gaussian and a Laplace mechanism that spend all of it
    mu, epsilon = sqrt(2 * left), sqrt(2 * left)
    admit(spent, budget, gaussian((STEPS / Fraction(mu * (1 - 1e-9))) ** 2, STEPS**2))
    admit(spent, budget, laplace(STEPS / Fraction(epsilon * (1 - 1e-9)), STEPS))
    assert CASE.delta(gaussian_curve(mu), laplace_curve(epsilon)) < CASE.target


@pytest.mark.parametrize("alpha", [6, 10, 15, 25, 60])
def test_the_renyi_filter_refuses_both_second_mechanisms(alpha: int) -> None:
    """(α, r)-Rényi DP promises δ = e^((α-1)(r-ε))/(α-1)·(1-1/α)^α: r is solved for the target."""
    r = CASE.epsilon + (log(CASE.target) + log(alpha - 1) - alpha * log(1 - 1 / alpha)) / (alpha - 1)
    budget = RenyiDP(alpha=alpha, epsilon=r)
    spent = admit(start(budget), budget, FIRST)
    for second in (SECOND_GAUSSIAN, SECOND_LAPLACE):
        with pytest.raises(BudgetError, match="costs epsilon"):
            admit(spent, budget, second)


@pytest.mark.parametrize("share", [0.26, 0.3, 0.4, 0.5, 0.6, 0.8])
def test_the_basic_filter_refuses_both_second_mechanisms(share: float) -> None:
    """The budget is the target; a Gaussian mechanism may enter at any point (e, δ(e)) of its curve."""
    budget = ApproxDP(epsilon=CASE.epsilon, delta=CASE.target)

    def at(mu: float, e: float) -> ApproxRelease:
        return approx(Fraction(e), Fraction(float(gaussian_curve(mu)(np.array(e)))))

    spent = admit(start(budget), budget, at(CASE.mu_first, share * CASE.epsilon))
    for second in (at(CASE.mu_second, (1 - share) * CASE.epsilon), SECOND_LAPLACE):
        with pytest.raises(BudgetError, match="costs"):
            admit(spent, budget, second)


def test_the_gaussian_filter_cannot_price_the_choice() -> None:
    """μ is that of the target. It admits two Gaussians; a Laplace mechanism has no price in it."""
    budget = GaussianDP(mu=hypot(CASE.mu_first, CASE.mu_second) * (1 + 1e-12))
    spent = admit(start(budget), budget, GaussianDP(mu=CASE.mu_first))
    admit(spent, budget, GaussianDP(mu=CASE.mu_second))
    for second in (SECOND_LAPLACE, SECOND_GAUSSIAN):
        with pytest.raises(InvalidError, match=f"gdp cannot price a {type(second).__name__}"):
            admit(spent, budget, second)


# Bad input


BUDGETS: list[Budget] = [budget for budget, _ in CURRENCIES.values()]


@pytest.mark.parametrize(
    ("mine", "other"), [p for p in product(BUDGETS, BUDGETS) if limit(p[0]).currency != limit(p[1]).currency]
)
def test_a_total_in_another_currency_is_refused_by_name(mine: Budget, other: Budget) -> None:
    event = GaussianDP(mu=0.1) if isinstance(mine, GaussianDP) else pure("0.1")
    with pytest.raises(InvalidError, match=f"in {limit(other).currency}.*in {limit(mine).currency}"):
        admit(start(other), mine, event)


def test_two_orders_are_two_currencies() -> None:
    with pytest.raises(InvalidError, match=r"renyi of order 2, .* renyi of order 3"):
        admit(start(RenyiDP(alpha=2, epsilon=1)), RenyiDP(alpha=3, epsilon=1), pure("0.1"))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("event", [None, "PureRelease", 0.1, ZCDP(rho=0.1), PureDP(epsilon=0.1), object()])
def test_values_other_than_events_are_refused(budget: Budget, event: Any) -> None:  # noqa: ANN401 - a value of the wrong type
    with pytest.raises(InvalidError, match="cannot price") as caught:
        admit(start(budget), budget, event)
    assert caught.value.argument == "event"


@pytest.mark.parametrize(
    ("budget", "event"),
    [
        (ApproxDP(epsilon=1, delta=1e-6), gaussian(Fraction(100))),
        (RenyiDP(alpha=2, epsilon=1), approx(Fraction(1, 10), Fraction(1, 10**9))),
        (ZCDP(rho=1), GaussianDP(mu=0.1)),
        *((GaussianDP(mu=1), event) for event in (gaussian(Fraction(100)), laplace(Fraction(9)), pure("0.1"))),
    ],
)
def test_an_event_without_a_price_in_the_currency_is_refused_by_name(budget: Budget, event: Priced) -> None:
    with pytest.raises(InvalidError, match=f"cannot price a {type(event).__name__}"):
        admit(start(budget), budget, event)


def test_two_neighbour_relations_do_not_add() -> None:
    budget = ApproxDP(epsilon=9, delta=0.1)
    one, other = (
        ApproxRelease(epsilon=Fraction(1), delta=Fraction(1, 10**6), neighbours=relation)
        for relation in ("add/remove", "change one")
    )
    spent = admit(admit(admit(start(budget), budget, pure("1")), budget, one), budget, pure("1"))
    assert spent.neighbours == "add/remove"
    with pytest.raises(InvalidError, match="Use 'add/remove'") as caught:
        admit(spent, budget, other)
    assert caught.value.argument == "neighbours"
    with pytest.raises(InvalidError, match="Use 'change one'"):
        admit(start(budget, "change one"), budget, one)


@pytest.mark.parametrize("budget", [None, 1.0, "ε = 1", pure("1")])
def test_values_other_than_budgets_are_refused(budget: Any) -> None:  # noqa: ANN401 - a value of the wrong type
    with pytest.raises(InvalidError, match=r"^budget must be one of PureDP"):
        start(budget)


@pytest.mark.parametrize("total", [None, 0, PureDP(epsilon=0)])
def test_values_other_than_totals_are_refused(total: Any) -> None:  # noqa: ANN401 - a value of the wrong type
    with pytest.raises(InvalidError, match=r"^spent must be a total"):
        admit(total, PureDP(epsilon=1), pure("0.1"))


@pytest.mark.parametrize("bad", [nan, inf, -1, -0.1, "1", True, None])
@pytest.mark.parametrize("name", ["rho", "delta"])
def test_a_budget_in_approximate_zcdp_is_checked(name: str, bad: Any) -> None:  # noqa: ANN401 - a value of the wrong type
    with pytest.raises(InvalidError, match=f"^{name} must be"):
        ApproxZCDP(**{"rho": 1, "delta": 0} | {name: bad})


def test_a_delta_above_one_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"^delta must be a number from 0 to 1"):
        ApproxZCDP(rho=1, delta=1.1)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *product(("loss", "delta"), (nan, inf, -1, Fraction(-1, 9), "1", True, None)),
        ("currency", "euro"),
        ("neighbours", "next door"),
        ("order", Fraction(2)),
    ],
)
def test_a_total_is_checked(name: str, bad: Any) -> None:  # noqa: ANN401 - a value of the wrong type
    fields: dict[str, Any] = {"currency": "basic", "loss": Fraction(0), "delta": Fraction(0)}
    with pytest.raises(InvalidError, match=f"^{name} must be"):
        Spent(**fields | {name: bad})


@pytest.mark.parametrize("bad", [None, nan, Fraction(1, 2)])
def test_the_order_of_a_total_is_checked(bad: Any) -> None:  # noqa: ANN401 - a value of the wrong type
    with pytest.raises(InvalidError, match=r"^order must be"):
        Spent(currency="renyi", loss=Fraction(0), delta=Fraction(0), order=bad)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**300), Fraction(10**300)])
@pytest.mark.parametrize("budget", BUDGETS[:5])
def test_tiny_and_huge_events_have_a_finite_price(budget: Budget, epsilon: Fraction) -> None:
    cost = price(budget, pure(epsilon))
    assert 0 < cost.loss <= epsilon * 3
    if epsilon > 1:
        with pytest.raises(BudgetError, match=r"costs \w+ = \d"):
            admit(start(budget), budget, pure(epsilon))


def test_continuous_noise_has_its_textbook_price() -> None:
    laplace = LaplaceNoise(scale=Fraction(10), l1=Fraction(1))
    gaussian = GaussianNoise(sigma=Fraction(10), l2=Fraction(1))
    assert price(PureDP(epsilon=1), laplace).loss == Fraction(1, 10)
    assert price(ZCDP(rho=1), gaussian).loss == Fraction(1, 200)
    assert price(GaussianDP(mu=1), gaussian).loss == Fraction(1, 100)
    with pytest.raises(InvalidError):
        price(PureDP(epsilon=1), gaussian)
