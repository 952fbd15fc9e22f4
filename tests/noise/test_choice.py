from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from evidence import FALSE_ALARM, miss, p_value
from scripted import THIRD, Scripted, endless, seeded
from tacit.arrays import Floats, Words
from tacit.noise import SYSTEM, BitSource, Real, choice, choose_exp, rational

Scores = list[Fraction]

SCORES: dict[str, Scores] = {
    "one": [Fraction(0)],
    "equal": [Fraction(0)] * 5,
    "mixed": [Fraction(-7, 3), Fraction(0), Fraction(-1, 10**9), Fraction(-44), Fraction(-1000), Fraction(-1, 3)],
    "steep": [Fraction(-k * k, 7) for k in range(40)],
    "many": [Fraction(0), *[Fraction(-7)] * 1100],
}


def floats(scores: Scores) -> npt.NDArray[np.float64]:
    return np.array([float(score) for score in scores])


def choose(scores: Scores, bits: BitSource | None = None) -> int:
    return choose_exp(floats(scores), scores.__getitem__, bits or SYSTEM)


def softmax(scores: Scores, times: float = 1) -> list[float]:
    weights = [exp(score * times) for score in scores]
    return [weight / sum(weights) for weight in weights]


class Watched:
    """Replace the parts of `choose_exp`: fix the uniform integer, and let every coin accept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.total, self.place, self.chance = 0, 0, 0.0
        self.real: Real = rational(Fraction(1))
        monkeypatch.setattr(choice, "below_integer", self._below_integer)
        monkeypatch.setattr(choice, "settle_float", self._settle_float)

    def _below_integer(self, n: int, _: BitSource) -> int:
        self.total = n
        return self.place

    def _settle_float(self, scaled: Floats, _: Words, real: Callable[[int], Real], __: BitSource) -> list[bool]:
        self.chance, self.real = float(scaled[0]), real(0)
        return [True]

    def choose(self, scores: Scores, place: int) -> int:
        self.place = place
        return choose(scores)

    def weight(self, scores: Scores, start: int, index: int) -> int:
        """Count the integers from a start on that propose a candidate."""
        low, high = start, self.total
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.choose(scores, middle) <= index else (low, middle)
        return high - start


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_proposals_by_weight_and_coins_multiply_to_the_exponentials(
    monkeypatch: pytest.MonkeyPatch, scores: Scores
) -> None:
    """Enumerate the proposals: W_i integers in a row propose candidate i, whose coin has chance 2^k·e^(a_i)/W_i ≤ 1."""
    watched, place, shift = Watched(monkeypatch), 0, 61 - len(scores).bit_length()
    for index, score in enumerate(scores[:40]):
        assert watched.choose(scores, place) == index
        weight = watched.weight(scores, place, index)
        assert watched.choose(scores, place + weight - 1) == index
        truth = oracles.exp_neg(-score, 256 + shift) // weight
        lo, hi = watched.real(128)
        assert lo << 128 <= truth + oracles.SLACK
        assert truth - oracles.SLACK <= hi << 128
        assert truth <= 1 << 256
        assert watched.chance == pytest.approx(truth / 2**192, rel=2.0**-42, abs=2)
        place += weight
    assert place == watched.total or len(scores) > 40
    assert watched.total < 2**63


@settings(deadline=None)
@given(
    score=st.builds(lambda a, b: -Fraction(a, b), st.integers(0, 10**6), st.integers(1, 10**5)),
    shift=st.integers(1, 60),
    n=st.sampled_from([64, 128, 192, 640]),
)
def test_the_coin_is_the_exponential_over_the_weight(score: Fraction, shift: int, n: int) -> None:
    weight = 1 + int(exp(score) * 2**shift * (1 + 2.0**-40))
    lo, hi = choice._accept(lambda _: score, 0, weight, shift, 0)(n)
    truth = oracles.exp_neg(-score, n + 128 + shift) // weight
    assert lo << 128 <= truth + oracles.SLACK
    assert truth - oracles.SLACK <= hi << 128
    assert hi - lo <= 2
    assert hi <= 1 << n


def test_a_refused_candidate_is_followed_by_a_fresh_one() -> None:
    refused = b"\x01" * 16 + b"\xff" * 8  # a proposal, and a coin above 1 - 2^-39
    for seed in range(20):
        fresh = choose(SCORES["equal"], Scripted(rest=seeded(seed)))
        source = Scripted(refused, seeded(seed))
        assert choose(SCORES["equal"], source) == fresh
        assert source.taken == 48


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_every_choice_takes_as_many_bytes(scores: Scores) -> None:
    """Two sources that lead to different candidates; a second round has probability below 2^-15."""
    taken = set()
    for byte in (0x01, THIRD, 0x7F, 0xC3):
        source = Scripted(rest=endless(byte))
        choose(scores, source)
        taken.add(source.taken)
    assert len(taken) == 1


@pytest.mark.parametrize("scores", [SCORES["equal"], SCORES["mixed"], SCORES["steep"]], ids=["equal", "mixed", "steep"])
def test_choices_have_the_stated_law(scores: Scores) -> None:
    counts = np.bincount([choose(scores) for _ in range(1 << 14)], minlength=len(scores))
    assert p_value(counts, softmax(scores)) > FALSE_ALARM


def test_scores_off_by_two_in_a_hundred_are_seen() -> None:
    """One candidate at 0 against 1100 at -7, in four groups: the variance of a score decides."""
    scores, size = SCORES["many"], 1 << 16

    def heaps(chances: npt.ArrayLike) -> list[float]:
        each = np.asarray(chances, dtype=np.float64)
        return [float(part.sum()) for part in np.split(each, [1, 400, 800])]

    known = floats(scores)
    chosen = [choose_exp(known, scores.__getitem__) for _ in range(size)]
    counts = heaps(np.bincount(chosen, minlength=len(scores)))
    law, mutant = heaps(softmax(scores)), heaps(softmax(scores, 1 / 0.98))
    assert p_value(counts, law) > FALSE_ALARM
    assert miss(mutant, law, size) < FALSE_ALARM
    assert p_value(counts, mutant) < FALSE_ALARM


def test_candidates_of_all_blocks_are_drawn() -> None:
    """Four equal candidates among 30,000 that have a chance of e^-40 each, in several blocks of weights."""
    places = [0, choice._BLOCK - 1, choice._BLOCK, 29_999]
    scores = np.full(30_000, -40.0)
    scores[places] = 0.0
    drawn = [choose_exp(scores, lambda index: Fraction(0 if index in places else -40)) for _ in range(400)]
    assert set(drawn) == set(places)  # one is missing with probability 4·0.75^400 < 1e-49
    assert p_value([drawn.count(place) for place in places], [0.25] * 4) > FALSE_ALARM


def test_the_callers_error_state_changes_nothing() -> None:
    with np.errstate(all="raise"):
        assert choose([Fraction(0), Fraction(-2000)]) == 0
