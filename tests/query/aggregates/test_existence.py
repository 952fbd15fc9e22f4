"""`bool_or` and `bool_and`: what is counted, and the probabilities of wrong answers, against the law of the noise."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import mpmath
import numpy as np
import pytest

from bounded import Row, contribution, plan_of, policy
from tacit.query.aggregates import STATISTICS, bundles_of
from tacit.query.aggregates.existence import Existence, false_alarm, needed
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Call, Column, Constant
from tacit.query.noise_law import Law, NoiseLaw, sensitivity
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.pricing.price import Cost, price

POSITIVE = Call("greater", (Column("x", "real"), Constant(0.0, "real")), "boolean")
OR, AND = Ask(function="bool_or", values=(POSITIVE,)), Ask(function="bool_and", values=(POSITIVE,))
TABLES: list[list[Row]] = [[{"x": x} for x in values] for values in ([], [None], [1.0], [-1.0], [1.0, -1.0], [1.0] * 9)]


@pytest.mark.parametrize(("ask", "counted"), [(OR, [0, 0, 1, 0, 1, 1]), (AND, [0, 0, 0, 1, 1, 0])])
def test_a_unit_counts_once_if_it_has_a_row_that_decides(ask: Ask, counted: list[int]) -> None:
    (bundle,) = bundles_of(ask, policy(rows=3))
    assert [contribution(bundle.measures[0], rows, 3) for rows in TABLES] == counted
    assert bundle.contribution == 1  # not max_rows
    assert bundle.nonnegative


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
def test_a_unit_moves_one_group_by_one(relation: str) -> None:
    plan = plan_of(policy(rows=3, neighbours=relation), OR)  # type: ignore[arg-type]
    assert sensitivity(plan, plan.bundles[0], "laplace") == 1
    assert sensitivity(plan, plan.bundles[0], "gaussian") == 1


def test_a_row_that_is_a_unit_counts_as_a_row() -> None:
    (bundle,) = bundles_of(OR, policy(unit=None))
    assert bundle.measures[0].per == "row"
    assert [contribution(bundle.measures[0], [{"x": x}], 1) for x in (1.0, -1.0, None)] == [1, 0, 0]


def test_a_unit_in_more_groups_than_its_reach_weighs_less() -> None:
    (bundle,) = bundles_of(OR, policy(groups=9, rows=None, reach=2))
    unit = 1 << bundle.measures[0].fraction_bits
    assert (bundle.contribution, bundle.total) == (unit, 2 * unit)


@pytest.mark.parametrize(("integer", "exists"), [(-3, False), (0, False), (1, True), (7, True)])
def test_the_noisy_number_is_compared_with_one_half(integer: int, *, exists: bool) -> None:
    noise = NoiseLaw(law="laplace", amount=Fraction(1), sensitivity=1, moving=1)
    (bundle,) = bundles_of(OR, policy())
    assert STATISTICS["bool_or"].estimate(OR, [Released(bundle, [integer], noise)]) is exists
    assert STATISTICS["bool_and"].estimate(AND, [Released(bundle, [integer], noise)]) is not exists
    fine = Bundle(measures=(Measure(value=None, per="unit", fraction_bits=4),), contribution=16, nonnegative=True)
    assert [Existence().estimate(OR, [Released(fine, [x], noise)]) for x in (8, 9)] == [False, True]


def chances(law: NoiseLaw, most: int) -> dict[int, float]:
    """The exact law of the noise, by mpmath, on whole numbers up to a size."""
    with mpmath.workdps(40):
        scale = mpmath.mpf(law.amount.numerator) / law.amount.denominator
        size = abs if law.law == "laplace" else (lambda k: Fraction(k * k, 2))
        weights = {k: mpmath.exp(-mpmath.mpf(float(size(k))) / scale) for k in range(-most, most + 1)}
        total = mpmath.fsum(weights.values())
        return {k: float(w / total) for k, w in weights.items()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("amount", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
@pytest.mark.parametrize("bits", [0, 3])
@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 100), Fraction(2, 5)])
def test_the_stated_probabilities_are_those_of_the_law(law: Law, amount: Fraction, bits: int, beta: Fraction) -> None:
    noise = NoiseLaw(
        law=law, amount=amount * 4**bits if law == "gaussian" else amount * 2**bits, sensitivity=1, moving=1
    )
    bundle = Bundle(
        measures=(Measure(value=None, per="unit", fraction_bits=bits),), contribution=1 << bits, nonnegative=True
    )
    known = chances(noise, 6000)

    def seen(units: int) -> float:
        return sum(
            p for k, p in known.items() if Existence().estimate(OR, [Released(bundle, [(units << bits) + k], noise)])
        )

    assert false_alarm(bundle, noise) == pytest.approx(seen(0), rel=1e-6, abs=1e-12)
    assert false_alarm(bundle, noise) < 0.5
    least = needed(bundle, noise, beta)
    assert 1 - seen(least) <= float(beta) + 1e-9
    assert least == 1 or 1 - seen(least - 1) > float(beta) - 1e-9


def test_the_probability_at_epsilon_one_is_that_of_the_docstring() -> None:
    plan = plan_of(policy(), OR)
    (noise,) = price(plan, Cost(epsilon=1)).noise
    assert false_alarm(plan.bundles[0], noise) == pytest.approx(1 / (1 + exp(1)))
    drawn = np.array(noise.draw(20_000))
    assert abs(np.mean(drawn >= 1) - 1 / (1 + exp(1))) < 0.025  # 8 standard deviations
