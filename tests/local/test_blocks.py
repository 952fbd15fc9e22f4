"""Intervals of Hadamard response with several blocks, by exact enumeration over everybody who may be in the block.

Nothing is drawn: every outcome's probability is computed, so there are no false alarms. How many others share the
value's block is not known to the interval, so every split of the people is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import convolve2d
from scipy.special import ndtri

from tacit.local import Hadamard, intervals
from tacit.local.count_laws import Signs

Floats = npt.NDArray[np.float64]

LEVELS = [0.5, 0.05, 0.01, 0.001, 5e-6, 1e-7]
ORACLES = [(10_000, 6), (10_000, 8), (1000, 3), (1000, 5), (64, 4), (16, 10), (64, 50)]


@cache
def oracle(d: int, epsilon: float) -> Hadamard:
    made = Hadamard(domain=d, epsilon=epsilon)
    assert made.blocks > 1
    return made


def chances(made: Hadamard) -> tuple[float, float]:
    """Return the chances of +1 and of -1 for a person with value 0: its row is + at even outputs of the first block."""
    each = [made._chance(place.to_bytes(made.report_bytes, "little"), 0) for place in range(made.order)]
    return float(sum(each[::2])), float(sum(each[1::2]))


def powers(up: float, down: float, n: int) -> list[Floats]:
    """Return the laws of (how many +1, how many -1) of 0, 1, …, n people."""
    one = np.array([[1 - up - down, down], [up, 0.0]])
    laws = [np.ones((1, 1))]
    for _ in range(n):
        laws.append(convolve2d(laws[-1], one))
    return laws


@cache
def all_splits(d: int, epsilon: float, n: int) -> list[tuple[int, int, Floats]]:
    return list(splits(oracle(d, epsilon), n))


def splits(made: Hadamard, n: int) -> Iterator[tuple[int, int, Floats]]:
    """Give how many have the value, how many others are in its block, and the law of the signs, for every split."""
    keep, stray = chances(made)
    both = (keep + stray) / 2
    own, near, far = (powers(up, down, n) for up, down in ((keep, stray), (both, both), (stray, stray)))
    for have in range(n + 1):
        for others in range(n - have + 1 if made.order > 2 else 1):
            yield have, others, convolve2d(convolve2d(own[have], near[others]), far[n - have - others])


def misses(d: int, epsilon: float, n: int, beta: float) -> tuple[float, float]:
    """Return the largest chances of a low end above the truth and of a high end below it, as multiples of β/2."""
    made = oracle(d, epsilon)
    keep, stray = chances(made)
    plus, minus = (places.reshape(-1) for places in np.indices((n + 1, n + 1)))
    possible = plus + minus <= n
    low, high = np.full(plus.shape, np.nan), np.full(plus.shape, np.nan)
    low[possible], high[possible] = Signs(keep, stray, plus[possible], minus[possible], n, shared=made.order > 2).ends(
        beta
    )
    worst = np.zeros(2)
    for have, _, law in all_splits(d, epsilon, n):
        wrong = [(low > have).reshape(law.shape), (high < have).reshape(law.shape)]
        worst = np.maximum(worst, [law[side].sum() * 2 / beta for side in wrong])
    return float(worst[0]), float(worst[1])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("beta", LEVELS)
@pytest.mark.parametrize(("d", "epsilon"), ORACLES)
def test_no_split_of_the_people_makes_an_interval_miss_more_often_than_it_says(
    d: int, epsilon: float, beta: float
) -> None:
    for n in (1, 2, 3, 5, 6, 12):
        assert max(misses(d, epsilon, n, beta)) <= 1


@pytest.mark.parametrize("beta", LEVELS)
def test_nor_of_more_people(beta: float) -> None:
    for d, epsilon in ((10_000, 6), (1000, 4)):
        assert max(misses(d, epsilon, 20, beta)) <= 1


def test_a_person_s_report_is_what_the_enumeration_takes_it_for() -> None:
    for d, epsilon in ORACLES:
        made = oracle(d, epsilon)
        model = made._decode(np.ones(made._cells, dtype=np.int64), made._cells)
        assert isinstance(model, Signs)
        assert (float(model.keep), float(model.stray)) == pytest.approx(chances(made), rel=1e-12)
        assert model.shared == (made.order > 2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("d", "epsilon"), ORACLES)
def test_the_largest_tail_of_all_who_may_be_in_the_block_is_the_one_that_is_taken(d: int, epsilon: float) -> None:
    """Up to 1/2, by brute force over every c that may be, on both sides."""
    made, n = oracle(d, epsilon), 9
    keep, stray = chances(made)
    sums = np.arange(-n, n + 1)
    law_of: dict[tuple[int, int], Floats] = {}
    for have, others, law in splits(made, n):
        flat = np.zeros(sums.size)
        np.add.at(flat, np.subtract(*np.indices(law.shape)) + n, law)
        law_of[have, have + others] = flat
    for most in range(n + 1 if made.order > 2 else 0):
        model = Signs(keep, stray, np.maximum(sums, 0), np.maximum(-sums, 0), n, most=np.full(sums.size, float(most)))
        for have in range(most + 1):
            every = np.array([law_of[have, c] for c in range(have, most + 1)])
            upper, lower = np.cumsum(every[:, ::-1], axis=1)[:, ::-1].max(axis=0), np.cumsum(every, axis=1).max(axis=0)
            for side, wanted in ((1, upper), (-1, lower)):
                found = np.exp(intervals.exact(model, np.full(sums.size, float(have)), side))
                small = (wanted < 0.5) & (wanted > 1e-12)
                np.testing.assert_allclose(found[small], wanted[small], rtol=1e-6)
                assert (found[wanted >= 0.5] > 0.3).all()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("have", "near"), [(80, 20), (50, 50), (3, 2), (0, 100), (5, 0)])
@pytest.mark.parametrize("beta", [0.05, 0.01, 5e-6])
def test_intervals_of_a_hundred_people_miss_no_more_often_than_they_say(have: int, near: int, beta: float) -> None:
    made, n = oracle(10_000, 6), 100
    keep, stray = chances(made)
    both = (keep + stray) / 2
    law = np.ones((1, 1))
    for people, up, down in ((have, keep, stray), (near, both, both), (n - have - near, stray, stray)):
        law = convolve2d(law, powers(up, down, people)[-1])
    plus, minus = np.nonzero(law > 1e-13)
    low, high = Signs(keep, stray, plus, minus, n).ends(beta)
    chance = law[plus, minus]
    left_out = 1 - float(chance.sum())
    assert chance[low > have].sum() + left_out <= beta / 2
    assert chance[high < have].sum() + left_out <= beta / 2


def normal_length(model: Signs, beta: float) -> Floats:
    return np.asarray(-2 * float(ndtri(beta / 2)) * model.std())


@pytest.mark.parametrize("beta", [0.05, 0.05 / 1024])
def test_intervals_of_many_reports_are_nearly_as_long_as_normal_ones(beta: float) -> None:
    """The unknown number of others costs less with more reports."""
    ratios = []
    for size in (200, 2000, 20_000, 2_000_000):
        plus = np.array([size // 2, size * 6 // 10])
        model = Signs(0.57, 0.029, plus, size - plus, 8 * size)
        low, high = model.ends(beta)
        ratios.append(float(((high - low) / normal_length(model, beta)).max()))
    assert all(more > less for more, less in pairwise(ratios))
    assert all(1 < ratio < most for ratio, most in zip(ratios, (1.35, 1.12, 1.05, 1.03), strict=True))


def test_reports_that_cannot_be_still_have_intervals() -> None:
    """Fewer reports in the block than strays alone would make: nobody is there, and still nothing is certain."""
    model = Signs(0.57, 0.029, np.array([1000, 1200]), np.array([1000, 800]), 80_000)
    low, high = model.ends(0.05)
    assert (high - low > normal_length(model, 0.05)).all()
