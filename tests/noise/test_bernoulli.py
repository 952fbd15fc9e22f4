from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from evidence import FALSE_ALARM, count_miss, count_p_value
from scripted import THIRD, TOP, TWO_THIRDS, Scripted, endless, uniform, words64
from tacit.noise import Real, bernoulli, bernoulli_exp, exp_neg, logistic, rational
from tacit.noise.bernoulli import settle_float, threshold

SIZE = 1 << 22
POINT = 256
COINS: list[tuple[Real, float, float]] = [  # the coin, its chance, and the chance of a mutant
    (rational(Fraction(1, 3)), 1 / 3, 0.98 / 3),
    (rational(Fraction(999, 1000)), 0.999, 0.98 * 0.999),
    (exp_neg(Fraction(1, 7)), exp(-1 / 7), exp(-1 / 7 / 0.98)),
    (exp_neg(Fraction(3)), exp(-3), exp(-3 / 0.98)),
    (logistic(Fraction(5, 2)), 1 / (1 + exp(2.5)), 1 / (1 + exp(2.5 / 0.98))),
]
CERTAIN = [(Fraction(0), False), (Fraction(1), True)]
GAMMAS = [Fraction(1, 10**12), Fraction(1, 3), Fraction(5), Fraction(20), Fraction(130, 3), Fraction(44)]


@pytest.mark.parametrize(("real", "chance", "mutant"), COINS)
def test_coins_show_as_often_as_stated_and_a_mutant_does_not(real: Real, chance: float, mutant: float) -> None:
    shown = int(bernoulli(real, SIZE).sum())
    assert count_p_value(shown, SIZE, chance) > FALSE_ALARM
    assert count_miss(SIZE, mutant, chance) < FALSE_ALARM
    assert count_p_value(shown, SIZE, mutant) < FALSE_ALARM


@pytest.mark.parametrize("gamma", [Fraction(1, 3), Fraction(1), Fraction(13, 4), Fraction(5)])
def test_exponential_coins_show_as_often_as_stated_and_a_mutant_does_not(gamma: Fraction) -> None:
    shown = int(bernoulli_exp(np.full(SIZE, float(gamma)), lambda _: gamma).sum())
    chance, mutant = exp(-gamma), exp(-gamma / Fraction(98, 100))
    assert count_p_value(shown, SIZE, chance) > FALSE_ALARM
    assert count_miss(SIZE, mutant, chance) < FALSE_ALARM
    assert count_p_value(shown, SIZE, mutant) < FALSE_ALARM


def test_each_exponent_of_an_array_has_its_own_chance() -> None:
    gamma = np.tile([0.0, 0.5, 2.0, 800.0], (1 << 18, 1))
    shown = bernoulli_exp(gamma, lambda i: [Fraction(0), Fraction(1, 2), Fraction(2), Fraction(800)][i % 4])
    assert shown.shape == gamma.shape
    for column, chance in zip(shown.T, [1.0, exp(-0.5), exp(-2.0), exp(-800.0)], strict=True):
        assert count_p_value(int(column.sum()), column.size, chance) > FALSE_ALARM


@pytest.mark.parametrize(("p", "outcome"), CERTAIN)
@pytest.mark.parametrize("byte", [0x00, THIRD, 0xFF])
def test_certain_coins_show_one_side_for_every_word(p: Fraction, outcome: bool, byte: int) -> None:  # noqa: FBT001
    words = [0, 1, 2, 1 << 63, TOP - 2, TOP - 1, TOP]
    shown = bernoulli(rational(p), len(words), Scripted(words64(*words), endless(byte) if byte else endless(1)))
    assert (shown == outcome).all()


def around(truth: int, *, reach: list[int]) -> list[int]:
    """Return words near the first 64 bits of a number, and the two ends."""
    word = truth >> POINT - 64
    near = {word + sign * step for step in reach for sign in (-1, 1)}
    return sorted(w for w in near | {word, 0, 1, TOP - 1, TOP} if 0 <= w <= TOP)


@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
@pytest.mark.parametrize("gamma", [*GAMMAS, Fraction(45), Fraction(64), Fraction(1000)])
def test_every_word_near_the_threshold_falls_on_its_true_side(gamma: Fraction, byte: int) -> None:
    truth = oracles.exp_neg(gamma, POINT)
    words = around(truth, reach=[1, 2, 3])
    shown = bernoulli(exp_neg(gamma), len(words), Scripted(words64(*words), endless(byte)))
    assert shown.tolist() == [uniform(w, byte, POINT) < truth for w in words]


@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
@pytest.mark.parametrize("gamma", [*GAMMAS, Fraction(64), Fraction(65), Fraction(700), Fraction(10**6)])
def test_every_word_near_a_float_threshold_falls_on_its_true_side(gamma: Fraction, byte: int) -> None:
    truth = oracles.exp_neg(gamma, POINT)
    words = around(truth, reach=[1 << i for i in range(30)] + [(1 << 13) + 1, (1 << 14) - 1])
    source = Scripted(words64(*words), endless(byte))
    shown = bernoulli_exp(np.full(len(words), float(gamma)), lambda _: gamma, source)
    assert shown.tolist() == [uniform(w, byte, POINT) < truth for w in words]


@pytest.mark.parametrize("error", [-(2.0**-49), 2.0**-49])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_a_float_exponent_may_have_the_documented_error(gamma: Fraction, error: float) -> None:
    truth = oracles.exp_neg(gamma, POINT)
    words = around(truth, reach=[1 << i for i in range(40)])
    source = Scripted(words64(*words), endless(THIRD))
    shown = bernoulli_exp(np.full(len(words), float(gamma) * (1 + error)), lambda _: gamma, source)
    assert shown.tolist() == [uniform(w, THIRD, POINT) < truth for w in words]


@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
@pytest.mark.parametrize(("below", "above"), [(1, 0), (0, 1)])
@pytest.mark.parametrize("sevenths", [1, 2, 3, 4, 5, 6])
def test_an_enclosure_may_be_two_units_wide(sevenths: int, below: int, above: int, byte: int) -> None:
    def loose(n: int) -> tuple[int, int]:
        lo, hi = rational(Fraction(sevenths, 7))(n)
        return lo - below, hi + above

    words = around((sevenths << POINT) // 7, reach=[1, 2, 3])
    shown = bernoulli(loose, len(words), Scripted(words64(*words), endless(byte)))
    assert shown.tolist() == [7 * uniform(w, byte, POINT) < sevenths << POINT for w in words]


@pytest.mark.parametrize("error", [-0.99, 0.99])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_a_float_probability_may_be_off_by_a_part_in_two_to_the_42(gamma: Fraction, error: float) -> None:
    truth = oracles.exp_neg(gamma, POINT)
    words = around(truth, reach=[1 << i for i in range(45)])
    scaled = np.full(len(words), truth / 2 ** (POINT - 64) * (1 + error * 2.0**-42))
    source = Scripted(rest=endless(THIRD))
    shown = settle_float(scaled, np.array(words, dtype=np.uint64), lambda _: exp_neg(gamma), source)
    assert shown.tolist() == [uniform(w, THIRD, POINT) < truth for w in words]


def test_a_tie_asks_for_the_exponent_at_its_own_place() -> None:
    exact = [Fraction(1), Fraction(2), Fraction(3), Fraction(4)]
    words = [oracles.exp_neg(gamma, 64) for gamma in exact]
    asked: list[int] = []

    def exponent(i: int) -> Fraction:
        asked.append(i)
        return exact[i]

    gamma = np.array([[1.0, 2.0], [3.0, 4.0]])
    shown = bernoulli_exp(gamma, exponent, Scripted(words64(*words), endless(0x00)))
    assert asked == [0, 1, 2, 3]
    assert shown.tolist() == [[True, True], [True, True]]


def test_the_callers_error_state_changes_nothing() -> None:
    gamma = np.array([0.0, 1.0, 800.0, 1e300])
    with np.errstate(all="raise"):
        shown = bernoulli_exp(gamma, lambda i: Fraction(gamma[i]), Scripted(rest=endless(THIRD)))
    assert shown.tolist() == [True, True, False, False]


def test_zero_draws_give_an_empty_array() -> None:
    assert bernoulli(rational(Fraction(1, 2)), 0).size == 0
    assert bernoulli_exp(np.array([]), lambda _: Fraction(0)).size == 0


@given(p=st.fractions(0, 1))
def test_the_threshold_is_a_word_at_most_two_below(p: Fraction) -> None:
    low = threshold(rational(p))
    assert 0 <= low <= TOP
    assert low <= p * 2**64 <= low + 2


def test_the_platforms_exponential_is_within_four_units_in_the_last_place() -> None:
    """Check the error of np.exp that `settle_float` and `choose_exp` assume."""
    x = np.concatenate([np.random.default_rng(2).uniform(-64, 0, 20_000), -np.exp2(np.arange(-60.0, 7))])
    got, mp = np.exp(x), oracles.context(128)
    for at, value in zip(x.tolist(), got.tolist(), strict=True):
        assert abs(mp.mpf(value) - mp.exp(at)) <= 4 * np.spacing(value)
