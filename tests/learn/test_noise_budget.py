"""The noise of all draws together against the closed form of the Gaussian mechanism."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.conversions import delta_of_zcdp, gaussian_delta
from tacit.learn.fitting import Setting, budget_for
from tacit.learn.noise_budget import NoiseBudget, concentrated_budget, pure_budget
from tacit.learn.private_sums import Layout, Moved

LAYOUT = Layout((0, 1, 2), 3, (2, 16, 41), (0, 1, -1))
ONE = Moved(8, 64, 10)


def setting(scale: int = 1, reach: int = 1) -> Setting:
    return Setting(LAYOUT, scale, reach, "add/remove")


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("accuracy", [Fraction(0), Fraction(1, 20)])
def test_the_budget_is_that_of_continuous_noise_but_for_rounding(epsilon: float, accuracy: Fraction) -> None:
    """μ² = m has δ(ε) ≤ δ by the closed form, and 2 % more has not: little is lost to the comparison."""
    m = float(budget_for(setting(), Fraction(epsilon), Fraction(1, 10**6), accuracy).amount)
    assert gaussian_delta(m**0.5, epsilon) <= 1e-6
    assert gaussian_delta((1.02 * m) ** 0.5, epsilon) > 1e-6
    assert delta_of_zcdp(m / 2, epsilon) > 1e-6  # better than the conversion of zCDP


def test_every_draw_costs_at_most_its_share() -> None:
    budget, shares = concentrated_budget(Fraction(1, 7)), [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    spent = sum(Fraction(ONE.l2_squared) / Fraction(budget.deviation(ONE, share) ** 2) / 2 for share in shares)
    assert float(spent) <= 1 / 7 * (1 + 1e-12)
    pure = pure_budget(Fraction(1, 3))
    scales = [pure.deviation(ONE, share) / 2**0.5 for share in shares]
    assert sum(ONE.l1 / scale for scale in scales) == pytest.approx(1 / 3)


@pytest.mark.parametrize("schedule", setting().schedules(Fraction(1, 20)))
def test_every_schedule_spends_the_whole_and_no_more(schedule: list[tuple[Fraction, Moved]]) -> None:
    assert sum(share for share, _ in schedule) == 1


@pytest.mark.parametrize("budget", [concentrated_budget(Fraction(1, 50)), pure_budget(Fraction(1, 5))])
def test_the_noise_has_its_deviation(budget: NoiseBudget) -> None:
    """20,000 draws: the variance is within 6 standard errors (false alarm below 1e-8); 10 % less would fail."""
    values, deviation = budget.noisy(np.zeros(20_000, dtype=np.int64), ONE, Fraction(1, 2))
    fourth = 3 if budget.law == "gaussian" else 6
    error = deviation**2 * ((fourth - 1) / 20_000) ** 0.5
    assert abs(values.var() - deviation**2) < 6 * error
    assert 0.19 * deviation**2 > 6 * error  # a deviation of 90 % is found


def test_sums_that_wrap_keep_the_noise_modulo_two_to_the_64() -> None:
    exact = np.array([2**63 - 1, -(2**63)], dtype=np.int64)
    values, noise = concentrated_budget(Fraction(1, 2)).noisy(exact, ONE, Fraction(1))
    assert noise > 0
    assert np.abs(values).max() <= 2.0**63


def test_amounts_that_no_noise_can_meet_are_refused() -> None:
    with pytest.raises(InvalidError, match="too small"):
        budget_for(setting(), Fraction(1, 10**40), Fraction(1, 10**300), Fraction(0))
    budget = budget_for(setting(2**16, 2**40), Fraction(1, 100), Fraction(1, 10**9), Fraction(0))
    with pytest.raises(RefusedError, match="larger than"):
        setting(2**16, 2**40).check(budget, Fraction(0))
