"""Randomized response: the coin's exact bias, the estimate, and error bounds against the binomial law."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import oracles
from evidence import FALSE_ALARM, count_miss, count_p_value, miss, p_value
from oracles_bad_input import NOT_A_COUNT, NOT_A_SHARE, NOT_POSITIVE, RAGGED, SECRET, refused, short
from tacit import PureDP, RandomizedResponse
from tacit.guarantees.events import RandomizedBit
from tacit.mechanisms import randomized_response
from tacit.noise import Real

EPSILONS = [Fraction(1, 10**6), Fraction(1, 10), Fraction(1), Fraction(5), Fraction(100)]
DRAWS = 200_000


def flip_chance(epsilon: float) -> float:
    return 1 / (1 + exp(epsilon))


# Privacy: the odds of keeping a bit are e^ε, no more and no less.


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_coin_is_the_logistic_function_to_200_bits(epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    coins: list[Real] = []

    def note(real: Real, size: int) -> npt.NDArray[np.bool_]:
        coins.append(real)
        return np.zeros(size, dtype=bool)

    monkeypatch.setattr(randomized_response, "bernoulli", note)
    RandomizedResponse(epsilon=epsilon).release([True, False])
    low, high = coins[0](200)
    assert high - low <= 2
    expected = oracles.logistic(epsilon, 264)
    assert low << 64 <= expected + oracles.SLACK
    assert expected - oracles.SLACK <= high << 64


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_odds_are_e_to_the_epsilon(epsilon: Fraction) -> None:
    mp = oracles.context(400)
    flip = mp.mpf(oracles.logistic(epsilon, 300)) / 2**300
    assert abs(mp.log((1 - flip) / flip) - mp.mpf(epsilon.numerator) / epsilon.denominator) < 1e-30


@pytest.mark.parametrize("bit", [False, True])
def test_flips_fit_the_law(*, bit: bool) -> None:
    """At ε = 1 a mutant a tenth off is missed with a chance below 1e-13."""
    answers = np.asarray(RandomizedResponse(epsilon=1).release([bit] * DRAWS))
    flips = int((answers != bit).sum())
    assert count_p_value(flips, DRAWS, flip_chance(1)) > FALSE_ALARM
    for mutant in (flip_chance(1.1), flip_chance(0.9)):
        assert count_miss(DRAWS, mutant, flip_chance(1)) < 1e-13
        assert count_p_value(flips, DRAWS, mutant) < FALSE_ALARM


def test_bits_are_flipped_independently() -> None:
    """Words of four flips; the test would detect two flips that share a coin every fifth time."""
    answers = np.asarray(RandomizedResponse(epsilon=1).release(np.zeros((DRAWS // 4, 4), dtype=bool)))
    counts = np.bincount(answers @ np.array([1, 2, 4, 8]), minlength=16).tolist()
    p = flip_chance(1)
    claimed = [p ** word.bit_count() * (1 - p) ** (4 - word.bit_count()) for word in range(16)]
    shared = [p ** (word & 7).bit_count() * (1 - p) ** (3 - (word & 7).bit_count()) for word in range(8)]
    mutant = [0.8 * claimed[word] + 0.2 * shared[word & 7] * ((word & 1) == (word >> 3)) for word in range(16)]
    assert p_value(counts, claimed) > FALSE_ALARM
    assert miss(claimed, mutant, DRAWS // 4) < 1e-13


def test_a_huge_epsilon_keeps_every_bit_and_a_tiny_one_keeps_half() -> None:
    bits = np.arange(5000) % 3 == 0
    assert (RandomizedResponse(epsilon=8e307).release(bits) == bits).all()
    kept = np.asarray(RandomizedResponse(epsilon=1e-300).release(bits)) == bits
    assert count_p_value(int(kept.sum()), 5000, 0.5) > FALSE_ALARM


def test_the_promise_is_recorded() -> None:
    made = RandomizedResponse(epsilon=0.1)
    assert made.guarantee == PureDP(epsilon=0.1)
    assert made.event == RandomizedBit(epsilon=Fraction(1, 10), neighbours="change one")
    assert made.p == pytest.approx(1 - flip_chance(0.1))
    assert repr(made) == "RandomizedResponse(epsilon=0.1)"


# Shapes.


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3), (2, 1, 5)])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64])
def test_an_array_keeps_its_shape(shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
    answers = RandomizedResponse(epsilon=1).release(np.ones(shape, dtype=dtype))
    assert isinstance(answers, np.ndarray)
    assert (answers.shape, answers.dtype) == (shape, np.dtype(bool))


@pytest.mark.parametrize("bit", [True, 0, np.True_, np.int64(1)])
def test_a_bit_gives_a_bool(bit: bool) -> None:  # noqa: FBT001 - the argument is the matter
    assert type(RandomizedResponse(epsilon=1).release(bit)) is bool


def test_the_input_stays_as_it_was() -> None:
    bits = np.array([True, False] * 50)
    RandomizedResponse(epsilon=0.01).release(bits)
    assert bits.tolist() == [True, False] * 50


# The estimate and its error.


@given(epsilon=st.floats(1e-3, 50), true=st.integers(0, 40), n=st.just(40))
def test_the_estimate_is_unbiased(epsilon: float, true: int, n: int) -> None:
    """The mean over the exact law of the answers."""
    made = RandomizedResponse(epsilon=epsilon)
    mean_yes = true * (1 - flip_chance(epsilon)) + (n - true) * flip_chance(epsilon)
    ends = made.estimate([False]), made.estimate([True])
    assert ends[0] + (ends[1] - ends[0]) * mean_yes / n == pytest.approx(true / n, abs=1e-9)


def law_of_yes(n: int, true: int, flip: float) -> npt.NDArray[np.float64]:
    """The chances of 0, …, n noes and yeses if `true` bits are set."""
    kept = binom.pmf(np.arange(true + 1), true, 1 - flip)
    raised = binom.pmf(np.arange(n - true + 1), n - true, flip)
    return np.convolve(kept, raised)


@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 12])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("n", [1, 10, 200])
def test_the_estimate_stays_within_the_error(epsilon: float, confidence: float, n: int) -> None:
    made = RandomizedResponse(epsilon=epsilon)
    error = made.error(confidence=confidence, n=n)
    ends = made.estimate([False]), made.estimate([True])
    estimates = ends[0] + (ends[1] - ends[0]) * np.arange(n + 1) / n
    for true in {0, 1, n // 3, n // 2, n}:
        beyond = np.abs(estimates - true / n) > error * (1 + 1e-12)
        assert law_of_yes(n, true, flip_chance(epsilon))[beyond].sum() <= 1 - confidence + 1e-12


def test_the_error_is_the_smaller_of_two_bounds() -> None:
    hoeffding = RandomizedResponse(epsilon=0.1).error(confidence=0.95, n=1000)
    assert hoeffding == pytest.approx(sqrt(log(40) / 2000) / (2 * (1 - flip_chance(0.1)) - 1))
    rate, variance = log(40) / 1000, flip_chance(6) * (1 - flip_chance(6))
    bernstein = RandomizedResponse(epsilon=6).error(confidence=0.95, n=1000)
    slope = 1 - 2 * flip_chance(6)
    assert bernstein == pytest.approx((rate / 3 + sqrt(rate**2 / 9 + 2 * rate * variance)) / slope)


@pytest.mark.parametrize(("error", "confidence", "n"), [(0.1, 0.95, 1000), (0.01, 0.5, 10_000), (0.9, 0.999, 50)])
def test_for_error_meets_the_error_and_a_little_less_does_not(error: float, confidence: float, n: int) -> None:
    made = RandomizedResponse.for_error(error, confidence=confidence, n=n)
    less = RandomizedResponse(epsilon=made.guarantee.epsilon * (1 - 1e-6))
    assert made.error(confidence=confidence, n=n) <= error
    assert less.error(confidence=confidence, n=n) > error


def test_an_error_that_no_epsilon_reaches_is_refused() -> None:
    refused("error", lambda: RandomizedResponse.for_error(1e-9, n=1000))


@pytest.mark.parametrize("epsilon", [8e307, 1e-300])
def test_extreme_epsilons_have_an_estimate_and_an_error(epsilon: float) -> None:
    made = RandomizedResponse(epsilon=epsilon)
    assert np.isfinite([made.estimate([True]), made.error(n=10)]).all()


def test_a_mechanism_crosses_processes() -> None:
    made = RandomizedResponse(epsilon=0.1)
    assert pickle.loads(pickle.dumps(made)).guarantee == made.guarantee  # noqa: S301 - our own bytes


# Invalid input.

NO_BITS: list[Any] = [
    [],
    np.array([], dtype=bool),
    np.array(True),  # noqa: FBT003 - a 0-d array
    RAGGED,
    2,
    -1,
    SECRET,
    [0, 1, SECRET],
    [0.0, 1.0],
    [True, None],
    "1",
    ["True", str(SECRET)],
    None,
    float("nan"),
    1j,
]


@pytest.mark.parametrize("bad", NO_BITS, ids=repr)
def test_values_other_than_bits_are_refused(bad: Any) -> None:  # noqa: ANN401
    made = RandomizedResponse(epsilon=1)
    refused("bits", lambda: made.release(bad))
    refused("answers", lambda: made.estimate(bad))


@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_epsilon_and_a_wanted_error_are_positive_numbers(bad: Any) -> None:  # noqa: ANN401
    refused("epsilon", lambda: RandomizedResponse(epsilon=bad))
    refused("error", lambda: RandomizedResponse.for_error(bad, n=10))


@pytest.mark.parametrize("bad", NOT_A_SHARE, ids=short)
def test_confidence_is_strictly_between_0_and_1(bad: Any) -> None:  # noqa: ANN401
    made = RandomizedResponse(epsilon=1)
    refused("confidence", lambda: made.error(confidence=bad, n=10))
    refused("confidence", lambda: RandomizedResponse.for_error(0.5, confidence=bad, n=10))


@pytest.mark.parametrize("bad", NOT_A_COUNT, ids=repr)
def test_bits_are_counted_in_whole_numbers(bad: Any) -> None:  # noqa: ANN401
    made = RandomizedResponse(epsilon=1)
    refused("n", lambda: made.error(n=bad))
    refused("n", lambda: RandomizedResponse.for_error(0.5, n=bad))
