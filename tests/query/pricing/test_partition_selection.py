"""Groups chosen in private: the law that is drawn, its limits, its guarantee by enumeration; that none is better."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounded import ask_for, key, plan_of, policy
from evidence import FALSE_ALARM, count_p_value, p_value
from laws import MP, mpf
from tacit.errors import InvalidError, TooMuchNoiseError
from tacit.guarantees.events import Neighbours
from tacit.query.plan import Key, Plan
from tacit.query.pricing.partition_selection import (
    TruncatedLaplace,
    bundles_of_selection,
    describe,
    end_probability,
    selection_law,
    truncation,
)

CLOSE, TINY = MP.mpf(10) ** -15, MP.mpf(10) ** -55
CASES = [
    (Fraction(1), Fraction(1, 100_000)),
    (Fraction(1, 3), Fraction(1, 100)),
    (Fraction(2), Fraction(1, 10)),
    (Fraction(1, 10), Fraction(1, 1000)),
    (Fraction(5), Fraction(1, 50)),
    (Fraction(20), Fraction(1, 3)),
    (Fraction(7, 10), Fraction(1, 10**9)),
]


def law(epsilon: Fraction, delta: Fraction) -> TruncatedLaplace:
    """The law of one count."""
    return selection_law(open_plan(), epsilon, delta)


def open_plan(
    groups: int = 1, neighbours: Neighbours = "add/remove", *, unit: str | None = "id", rows: int = 1
) -> Plan:
    table = policy(groups=groups, rows=rows, neighbours=neighbours, unit=unit)
    return plan_of(table, ask_for("count"), keys=[Key(name="k", expression=key("k").expression, values=None)])


def pmf(epsilon: Fraction, k: int) -> dict[int, Any]:
    """The law of the noise, from its weights alone."""
    weights = {x: MP.exp(-mpf(epsilon) * abs(x)) for x in range(-k, k + 1)}
    total = MP.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


Outcome = tuple[int, int] | None
"""The limit and the noisy number of a group that is shown; or nothing."""


def outcomes(n: int, epsilon: Fraction, k: int, coin: Fraction) -> dict[Outcome, Any]:
    """Return the possible outputs for a group of n units, with probabilities, by enumeration of coin and noise."""
    found: dict[Outcome, Any] = {}
    for chance, most in ((mpf(1 - coin), k), (mpf(coin), k - 1)):
        for x, p in pmf(epsilon, most).items():
            outcome = (most, n + x) if n + x > most else None
            found[outcome] = found.get(outcome, MP.mpf(0)) + chance * p
    return found


def excess(one: dict[Outcome, Any], other: dict[Outcome, Any], epsilon: Fraction) -> Any:  # noqa: ANN401 - mpmath
    """The δ that ε leaves: the sum of what is more than e^ε times likelier."""
    factor, none = MP.exp(mpf(epsilon)), MP.mpf(0)
    return MP.fsum(max(none, p - factor * other.get(outcome, none)) for outcome, p in one.items())


# --- the guarantee --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_what_is_said_of_a_group_is_private_both_ways_for_every_number_of_units(
    epsilon: Fraction, delta: Fraction
) -> None:
    k, coin = truncation(epsilon, delta)
    laws = [outcomes(n, epsilon, k, coin) for n in range(2 * k + 4)]
    for one, other in pairwise(laws):
        assert excess(one, other, epsilon) <= mpf(delta)
        assert excess(other, one, epsilon) <= mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_a_limit_lower_by_one_or_a_likelier_coin_would_not_be(epsilon: Fraction, delta: Fraction) -> None:
    k, coin = truncation(epsilon, delta)
    for planted in ((k - 1, Fraction(0)), (k, min(Fraction(1), coin + Fraction(1, 1000)))):
        if planted == (k, Fraction(1)):
            continue
        none, one = (outcomes(n, epsilon, *planted) for n in (0, 1))
        assert excess(one, none, epsilon) > mpf(delta)


@settings(deadline=None, max_examples=200)
@given(st.fractions(Fraction(1, 1000), 30), st.fractions(Fraction(1, 10**12), Fraction(9, 10)))
def test_the_limit_is_the_least_and_the_coin_uses_all_of_delta_and_no_more(epsilon: Fraction, delta: Fraction) -> None:
    k, coin = truncation(epsilon, delta)
    e = mpf(epsilon)
    r = MP.exp(-e)

    def p(j: int) -> Any:  # noqa: ANN401 - mpmath
        return MP.exp(-e * j) * (1 - r) / (1 + r - 2 * MP.exp(-e * (j + 1))) if j else MP.mpf(1)

    assert k >= 1
    assert p(k) <= mpf(delta)
    assert k == 1 or p(k - 1) > mpf(delta)
    assert 0 <= coin < 1
    used = mpf(coin) * p(k - 1) + mpf(1 - coin) * p(k)
    assert mpf(delta) * (1 - CLOSE) - MP.mpf(2) ** -63 <= used <= mpf(delta)
    assert p(k) * (1 - TINY) <= mpf(end_probability(k, epsilon, delta)) <= p(k) * (1 + CLOSE)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (Fraction(1, 10**9), Fraction(1, 10**12)),
        (Fraction(700), Fraction(1, 10**300)),
        (Fraction(10**12), Fraction(1, 10**6)),
        (Fraction(1, 10**13), Fraction(1, 10**300)),
    ],
)
def test_limits_far_out(epsilon: Fraction, delta: Fraction) -> None:
    k, _ = truncation(epsilon, delta)
    assert end_probability(k, epsilon, delta) <= delta
    assert end_probability(k - 1, epsilon, delta) > delta


def test_a_group_without_units_is_never_shown() -> None:
    for epsilon, delta in CASES:
        one = law(epsilon, delta)
        assert set(outcomes(0, epsilon, one.most, one.coin)) == {None}
        assert one.probability(0) == 0
        assert one.select(np.zeros(100_000, dtype=np.int64)).places.size == 0


def test_a_group_of_twice_the_limit_and_one_is_always_shown() -> None:
    for epsilon, delta in CASES:
        one = law(epsilon, delta)
        assert one.probability(2 * one.most + 1) == 1
        assert one.select(np.full(10_000, 2 * one.most + 1)).places.size == 10_000


# --- no choice is better --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_no_private_choice_shows_groups_more_often(epsilon: Fraction, delta: Fraction) -> None:
    k, coin = truncation(epsilon, delta)
    factor, slack, best = MP.exp(mpf(epsilon)), mpf(delta), MP.mpf(0)
    for n in range(2 * k + 4):
        own = 1 - outcomes(n, epsilon, k, coin).get(None, MP.mpf(0))
        assert own <= best + CLOSE
        assert own >= best - (CLOSE if n < 2 * k else slack)
        assert law(epsilon, delta).probability(n) == pytest.approx(float(own), rel=1e-9, abs=1e-14)
        best = min(factor * best + slack, 1 - (1 - best - slack) / factor, MP.mpf(1))


# --- what is drawn --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [*CASES[1:4], (Fraction(1, 50), Fraction(1, 500))])
@pytest.mark.parametrize("size", [3000, 300_000])
def test_the_noise_has_its_law_and_another_limit_would_be_seen(epsilon: Fraction, delta: Fraction, size: int) -> None:
    one = law(epsilon, delta)
    for drawn_by in (one, one.lower):
        drawn = np.array(drawn_by.draw(size))
        chances = pmf(epsilon, drawn_by.most)
        counts = np.bincount(drawn + drawn_by.most, minlength=len(chances))
        assert p_value(counts, [float(p) for p in chances.values()]) > FALSE_ALARM
    if size > 3000 and one.most < 50:  # noise of the lower limit is never at the higher one, and that would be seen
        assert count_p_value(0, size, float(2 * pmf(epsilon, one.most)[one.most])) < FALSE_ALARM


@pytest.mark.parametrize(("epsilon", "delta"), CASES[:4])
def test_groups_are_shown_as_often_as_said(epsilon: Fraction, delta: Fraction) -> None:
    one, size = law(epsilon, delta), 50_000
    for n in (one.most // 2, one.most, one.most + 1, one.most + 3):
        shown = one.select(np.full(size, n, dtype=np.int64))
        assert count_p_value(shown.places.size, size, one.probability(n)) > FALSE_ALARM
        limits = one.most - shown.lower
        assert (shown.noisy > limits).all()
        assert (np.abs(shown.noisy - n) <= limits).all()


def test_the_coin_is_thrown_as_often_as_it_may_be() -> None:
    one, size = law(Fraction(1, 3), Fraction(1, 100)), 100_000
    shown = one.select(np.full(size, 1000, dtype=np.int64))
    assert 0.1 < one.coin < 0.9
    assert count_p_value(int(shown.lower.sum()), size, float(one.coin)) > FALSE_ALARM


# --- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [*CASES[:3], (Fraction(1, 50), Fraction(1, 500))])
@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 4), Fraction(1, 1000)])
def test_intervals_hold_the_units_of_shown_groups_as_often_as_they_say(
    epsilon: Fraction, delta: Fraction, beta: Fraction
) -> None:
    for one in (law(epsilon, delta), law(epsilon, delta).lower):
        chances = pmf(epsilon, one.most)
        for n in {1, 2, one.most // 2 + 1, one.most, one.most + 1, one.most + 5, 2 * one.most, 3 * one.most + 2}:
            shown = {n + x: p for x, p in chances.items() if n + x > one.most}
            held = [p for y, p in shown.items() if one.around(y, beta)[0] <= n <= one.around(y, beta)[1]]
            assert MP.fsum(held) >= mpf(1 - beta) * MP.fsum(shown.values()) * (1 - CLOSE)


def test_an_interval_far_above_the_limit_is_that_of_the_noise() -> None:
    one, beta = law(Fraction(1, 10), Fraction(1, 1000)), Fraction(1, 20)
    reach, chances = one.quantile(beta), pmf(Fraction(1, 10), one.most)
    assert one.around(10_000, beta) == (10_000 - reach, 10_000 + reach)
    assert MP.fsum(p for x, p in chances.items() if abs(x) > reach) <= mpf(beta)
    assert MP.fsum(p for x, p in chances.items() if abs(x) >= reach) > mpf(beta)


def test_a_group_that_is_barely_shown_may_have_one_unit() -> None:
    one = law(Fraction(1, 10), Fraction(1, 1000))
    low, high = one.around(one.most + 1, Fraction(1, 20))
    assert low == 1
    assert high >= one.most + 1


# --- how it is priced -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("neighbours", "moved"), [("add/remove", 3), ("change one", 6)])
def test_epsilon_and_delta_are_split_over_the_counts_that_a_unit_moves(neighbours: Neighbours, moved: int) -> None:
    chosen = selection_law(open_plan(3, neighbours), Fraction(1), Fraction(1, 10**6))
    assert chosen.moving == moved
    assert chosen.amount == moved
    assert (chosen.most, chosen.coin) == truncation(Fraction(1, moved), Fraction(1, moved * 10**6))
    assert chosen.event.epsilon == 1
    assert chosen.event.delta == Fraction(1, 10**6)


def test_a_row_that_is_a_unit_is_in_one_group() -> None:
    assert selection_law(open_plan(5, unit=None), Fraction(1), Fraction(1, 10**6)).moving == 1


def test_what_is_told_already_needs_no_other_noise() -> None:
    keys = [Key(name="k", expression=key("k").expression, values=None)]
    count, units, average = ask_for("count"), ask_for("count_units"), ask_for("count", key("k").expression)
    assert bundles_of_selection(plan_of(policy(rows=1), count, units, average, keys=keys)) == {0, 1}
    assert bundles_of_selection(plan_of(policy(rows=2), count, units, average, keys=keys)) == {1}
    assert bundles_of_selection(plan_of(policy(unit=None, rows=2), count, average, keys=keys)) == {0}


def test_a_person_is_told_how_large_groups_must_be() -> None:
    chosen = selection_law(open_plan(), Fraction(1), Fraction(1, 100_000))
    assert describe(chosen).endswith(
        "of 12 units is released with probability about one half, a group of 23 units always."
    )
    assert chosen.probability(11) < 0.5 <= chosen.probability(12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**20), Fraction(1, 10**16)])
def test_an_epsilon_whose_noise_does_not_fit_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(TooMuchNoiseError):
        selection_law(open_plan(100), epsilon, Fraction(1, 10**30))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1, 1000), Fraction(1, 2)), (Fraction(1, 10**9), Fraction(1, 10**8))]
)
def test_a_delta_that_is_not_far_below_epsilon_is_refused(epsilon: Fraction, delta: Fraction) -> None:
    with pytest.raises(InvalidError, match="far smaller than epsilon"):
        selection_law(open_plan(), epsilon, delta)
