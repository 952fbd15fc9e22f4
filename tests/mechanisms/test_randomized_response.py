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
from tacit.local import Warner
from tacit.mechanisms import flip_tails, yes_no
from tacit.noise import BitSource, Real

EPSILONS = [Fraction(1, 10**6), Fraction(1, 10), Fraction(1), Fraction(5), Fraction(100)]
DRAWS = 200_000


def flip_chance(epsilon: float) -> float:
    return 1 / (1 + exp(epsilon))


# Privacy: the odds of keeping a bit are e^ε, no more and no less.


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_coin_is_the_logistic_function_to_200_bits(epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    coins: list[Real] = []

    def note(real: Real, size: int, _bits: BitSource) -> npt.NDArray[np.bool_]:
        coins.append(real)
        return np.zeros(size, dtype=bool)

    monkeypatch.setattr(yes_no, "bernoulli", note)
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


def misses(made: RandomizedResponse, error: float, n: int, true: int) -> float:
    """Return the chance that the estimate is off by more than an error, if `true` of n bits are set."""
    ends = made.estimate([False]), made.estimate([True])
    estimates = ends[0] + (ends[1] - ends[0]) * np.arange(n + 1) / n
    beyond = np.abs(estimates - true / n) > error
    return float(law_of_yes(n, true, flip_chance(float(made.guarantee.epsilon)))[beyond].sum())


@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 12])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("n", [1, 2, 10, 61])
def test_the_error_is_the_least_that_holds_for_every_number_of_true_bits(
    epsilon: float, confidence: float, n: int
) -> None:
    made = RandomizedResponse(epsilon=epsilon)
    error = made.error(confidence=confidence, n=n)
    assert max(misses(made, error + 1e-13, n, true) for true in range(n + 1)) <= 1 - confidence + 1e-12
    assert max(misses(made, error * (1 - 1e-6), n, true) for true in range(n + 1)) > 1 - confidence


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize(("epsilon", "n"), [(0.1, 1000), (1, 1000), (1, 1537), (3, 1500), (6, 3000), (9, 2000)])
def test_the_error_of_many_bits_is_within_a_percent_of_the_least(epsilon: float, n: int, confidence: float) -> None:
    """The worst of many numbers of true bits bounds the least error from below."""
    made = RandomizedResponse(epsilon=epsilon)
    error = made.error(confidence=confidence, n=n)
    some = {*range(12), *range(n // 2 - 12, n // 2 + 1), *range(0, n // 2, 37)}
    assert max(misses(made, error + 1e-13, n, true) for true in some) <= 1 - confidence + 1e-12
    assert max(misses(made, error * 0.99, n, true) for true in some) > 1 - confidence


def test_both_ways_of_computing_the_tails_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """All numbers of true bits together have a bound that is larger by at most a sixteenth of an answer."""
    for epsilon, n in ((0.1, 300), (1, 300), (2, 501)):
        one_by_one = flip_tails.deviation(n, epsilon, 0.05)
        with monkeypatch.context() as few:
            few.setattr(flip_tails, "_MOST_CHANCES", 0)
            assert one_by_one <= flip_tails.deviation(n, epsilon, 0.05) <= one_by_one + 1 / 16


@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_error_of_a_million_bits_is_that_of_the_normal_law(epsilon: float) -> None:
    """The tails of Bin(n, q), where no bit is true, are known for any n."""
    n, made = 10**6, RandomizedResponse(epsilon=epsilon)
    flip, slope = flip_chance(epsilon), 1 - 2 * flip_chance(epsilon)
    error = made.error(confidence=0.95, n=n)
    assert error == pytest.approx(1.959964 * sqrt(flip * (1 - flip) / n) / slope, rel=1e-3)
    far = error * slope * n
    outside = float(binom.sf(np.floor(n * flip + far), n, flip) + binom.cdf(np.ceil(n * flip - far) - 1, n, flip))
    assert 0.0498 < outside <= 0.05


def test_the_error_was_two_fifths_larger_by_closed_bounds() -> None:
    """Hoeffding's bound at ε = 0.1 and Bernstein's at ε = 2, over the exact one."""
    loose = []
    for epsilon in (0.1, 2):
        made = RandomizedResponse(epsilon=epsilon)
        closed = min(sqrt(log(40) / 2000), flip_tails.bernstein(1000, 1 - made.p, 0.05)) / (2 * made.p - 1)
        loose.append(closed / made.error(confidence=0.95, n=1000))
    assert loose == pytest.approx([1.39, 1.43], abs=0.02)


def test_a_confidence_beyond_floats_has_the_closed_bound() -> None:
    made = RandomizedResponse(epsilon=0.1)
    far = 1 - Fraction(1, 10**12)
    error = made.error(confidence=far, n=1000)  # type: ignore[arg-type]  # any number is accepted
    assert error == pytest.approx(sqrt(log(2e12) / 2000) / (2 * made.p - 1))


@pytest.mark.parametrize(("error", "confidence", "n"), [(0.1, 0.95, 1000), (0.01, 0.5, 10_000), (0.9, 0.999, 50)])
def test_for_error_meets_the_error_and_a_little_less_does_not(error: float, confidence: float, n: int) -> None:
    made = RandomizedResponse.for_error(error, confidence=confidence, n=n)
    less = RandomizedResponse(epsilon=made.guarantee.epsilon * (1 - 1e-6))
    assert made.error(confidence=confidence, n=n) <= error
    assert less.error(confidence=confidence, n=n) > error


def test_a_tiny_error_needs_an_epsilon_that_keeps_every_bit() -> None:
    """Without a flip the estimate is off by the bias that it removes, q/(1-2q), because q is not 0."""
    made = RandomizedResponse.for_error(1e-9, n=1000)
    assert flip_chance(float(made.guarantee.epsilon)) == pytest.approx(1e-9, rel=1e-6)


def test_an_error_that_no_epsilon_reaches_is_refused() -> None:
    refused("error", lambda: RandomizedResponse.for_error(1e-306, n=1000))


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
    refused("epsilon" if bad is not None else "epsilon or p", lambda: RandomizedResponse(epsilon=bad))
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


# p in place of ε, and the user's own words


@pytest.mark.parametrize("p", [Fraction(3, 4), Fraction(2, 3), 0.501, 0.999])
def test_a_coin_from_p_lies_exactly_as_often_as_its_epsilon_states(p: float | Fraction) -> None:
    """The chance of a lie is a multiple of 2^-64, at least 1 - p; ε is the logarithm of the odds, rounded up."""
    m = RandomizedResponse(p=p)
    low, high = m._coin.lie(64)
    assert low == high >= 2**64 * (1 - Fraction(str(p)))
    assert low - 1 < 2**64 * (1 - Fraction(str(p)))
    mp = oracles.context(400)
    exact = mp.log(mp.mpf(2**64 - low) / low)
    stated = m.event.epsilon
    assert 0 <= mp.mpf(stated.numerator) / stated.denominator - exact < 1e-30
    assert m.guarantee == PureDP(epsilon=m.guarantee.epsilon)
    assert m.p == pytest.approx(float(p), rel=1e-12)


def test_randomized_response_and_warner_have_one_coin() -> None:
    for p in (0.75, Fraction(2, 3)):
        assert RandomizedResponse(p=p)._coin == Warner(p=p)._coin
        assert RandomizedResponse(p=p).event == Warner(p=p).event
    assert RandomizedResponse(epsilon=1).guarantee == Warner(epsilon=1).guarantee


def test_answers_keep_the_words_and_the_form_of_the_questions() -> None:
    m = RandomizedResponse(p=Fraction(3, 4), words=["ja", "nein"])
    assert m.words == ("ja", "nein")
    assert m.release("ja") in ("ja", "nein")
    answers = np.asarray(m.release(np.array([["ja", "nein"], ["nein", "nein"]])))
    assert answers.shape == (2, 2)
    assert set(answers.flat) <= {"ja", "nein"}
    assert m.estimate(["ja"] * 40 + ["nein"] * 60) == pytest.approx(0.3)
    assert RandomizedResponse(p=0.75).estimate([True] * 40 + [False] * 60) == pytest.approx(0.3)
    assert repr(m) == "RandomizedResponse(p=Fraction(3, 4), words=('ja', 'nein'))"
    assert pickle.loads(pickle.dumps(m)).words == m.words  # noqa: S301 - our own bytes


def test_words_are_kept_as_often_as_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yes_no, "bernoulli", lambda _real, size, _bits: np.arange(size) % 4 == 0)
    m = RandomizedResponse(p=0.75, words=("a", "b"))
    assert np.asarray(m.release(["a", "a", "b", "b", "b"])).tolist() == ["b", "a", "b", "b", "a"]


@pytest.mark.parametrize("p", [0, 0.5, 1, 0.3, -1, 2, float("nan"), float("inf"), "0.75", True, 1 - 1e-30])
@pytest.mark.parametrize("make", [RandomizedResponse, Warner])
def test_a_coin_that_hides_or_tells_everything_is_refused(make: Any, p: object) -> None:  # noqa: ANN401
    refused("p", lambda: make(p=p))


@pytest.mark.parametrize(
    "words", [("yes", "yes"), ("yes",), ("a", "b", "c"), "ab", ("", "no"), (" ", "no"), (1, 0), {}, 7]
)
@pytest.mark.parametrize("make", [RandomizedResponse, Warner])
def test_words_that_are_not_two_different_texts_are_refused(make: Any, words: object) -> None:  # noqa: ANN401
    refused("words", lambda: make(p=0.75, words=words))


@pytest.mark.parametrize("wrong", [SECRET, [SECRET, "yes"], True, [True], [1, 0], [None], [], np.array("yes"), b"yes"])
def test_another_word_is_refused_without_being_repeated(wrong: Any) -> None:  # noqa: ANN401
    m = RandomizedResponse(p=0.75, words=("yes", "no"))
    refused("bits", lambda: m.release(wrong))
    refused("answers", lambda: m.estimate(wrong))
