"""Intervals against exact enumeration: they miss the truth no more often than they say, down to one report.

Nothing here is drawn: every outcome's probability is computed, so there are no false alarms. The normal interval, which
was not good enough, is computed beside them and fails the same check.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import fftconvolve
from scipy.special import ndtri
from scipy.stats import binom

from local_protocols import Make
from tacit.local import BLH, GRR, OLH, OUE, Hadamard, SubsetSelection, Warner
from tacit.local.base import PureProtocol
from tacit.local.count_laws import Signs, Supports
from tacit.local.intervals import Ends

Floats = npt.NDArray[np.float64]
Intervals = Callable[[Supports, float], Ends]

LEVELS = [0.05, 0.01, 0.05 / 1024, 1e-7]
SIZES = [1, 2, 5, 20, 100, 1000, 5000]


def exact(supports: Supports, beta: float) -> Ends:
    return supports.ends(beta)


def normal(supports: Supports, beta: float) -> Ends:
    """Return Wilson's interval with a continuity correction, from the exact variance."""
    law, n, z = supports.law, supports.n, -float(ndtri(beta / 2))
    ends = []
    for sign in (-1, 1):
        c = supports.counts + sign * law.step / 2
        root = z * np.sqrt(np.maximum(n * law.base + law.slope * c, 0) + (z * law.slope / 2) ** 2)
        ends.append(c + z * z * law.slope / 2 + sign * root)
    return ends[0], ends[1]


def misses(oracle: PureProtocol, n: int, beta: float, intervals: Intervals = exact) -> list[float]:
    """Return how often an interval misses the truth, for several truths, as a multiple of β."""
    law = oracle._law
    low, high = intervals(Supports(law, np.arange(n + 1), n), beta)
    found = []
    for have in sorted({0, 1, 2, 3, 5, 10, 50, n // 10, n // 2, n - 1, n}):
        if 0 <= have <= n:
            own = binom.pmf(np.arange(have + 1), have, float(law.p))
            chance = np.convolve(own, binom.pmf(np.arange(n - have + 1), n - have, float(law.q)))
            found.append(float(chance[(low > have) | (have > high)].sum()) / beta)
    return found


PURE = [
    GRR(domain=1024, epsilon=1),
    GRR(domain=20, epsilon=4),
    GRR(domain=5, epsilon=9),
    OUE(domain=1024, epsilon=0.1),
    OUE(domain=1024, epsilon=1),
    OUE(domain=1024, epsilon=6),
    OUE(domain=1024, epsilon=12),
    OLH(domain=1024, epsilon=4),
    BLH(domain=4, epsilon=3),
    SubsetSelection(domain=1024, epsilon=4),
    Warner(epsilon=1),
    Warner(epsilon=50),
    GRR(domain=2, epsilon=20),
    GRR(domain=1000, epsilon=14),
    OUE(domain=10, epsilon=16),
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("beta", LEVELS)
@pytest.mark.parametrize("oracle", PURE, ids=repr)
def test_intervals_miss_no_more_often_than_they_say(oracle: PureProtocol, beta: float) -> None:
    for n in SIZES:
        assert max(misses(oracle, n, beta)) <= 1


@pytest.mark.parametrize("epsilon", [8, 12, 16, 20, 30, 50])
def test_intervals_hold_where_hardly_any_report_is_wrong(epsilon: float) -> None:
    """A wrong report is far less likely than β there, and Lugannani and Rice's formula off by a factor of two."""
    for oracle in (GRR(domain=2, epsilon=epsilon), GRR(domain=100, epsilon=epsilon), OUE(domain=9, epsilon=epsilon)):
        for n in (3, 30, 100):
            for beta in (0.3, 0.001, 1e-5, 1e-7, 1e-9):
                assert max(misses(oracle, n, beta)) <= 1


def test_normal_intervals_would_miss_far_more_often() -> None:
    """Simultaneous intervals need β = 0.05/1024, with about one, three and twenty expected reports by chance."""
    for oracle in (GRR(domain=1024, epsilon=1), OUE(domain=1024, epsilon=6), OUE(domain=1024, epsilon=4)):
        assert max(misses(oracle, 1000, 0.05 / 1024, normal)) > 2


@pytest.mark.parametrize("make", [OUE, OLH, GRR], ids=lambda make: make.__name__)
@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_intervals_of_many_reports_are_not_longer_than_they_need(make: Make, epsilon: float) -> None:
    """With 5,000 reports a 95 % interval misses at least 3.5 % of the time, and is as long as the normal one."""
    oracle = make(domain=20, epsilon=epsilon)
    assert isinstance(oracle, PureProtocol)
    assert min(misses(oracle, 5000, 0.05)) > 0.7
    many = Supports(oracle._law, np.arange(2000, 3001, 50), 5000)
    inside = (many.counts > 0) & (many.counts < 5000)
    (low, high), (normal_low, normal_high) = many.ends(0.05), normal(many, 0.05)
    ratio = (high - low)[inside] / (normal_high - normal_low)[inside]
    assert (ratio < 1.05).all()


def test_an_interval_holds_its_estimate_and_a_possible_count() -> None:
    for oracle in PURE:
        for n in (1, 7, 300):
            for beta in (0.9, 0.05, 1e-9):
                all_ = Supports(oracle._law, np.arange(n + 1), n)
                low, high = all_.ends(beta)
                assert np.isfinite([low, high]).all()
                assert ((low <= all_.counts) & (all_.counts <= high)).all()
                assert (np.diff(low) >= -1e-9).all()
                assert (np.diff(high) >= -1e-9).all()


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12, 10**15])
def test_intervals_of_very_many_reports_are_the_normal_ones(n: int) -> None:
    """But for whole numbers and the skewness, about z²/6 of a step: rounding would lose whole standard errors."""
    for oracle in (OUE(domain=9, epsilon=1), GRR(domain=9, epsilon=4), GRR(domain=90, epsilon=1)):
        mean, spread = n * oracle.q, (n * oracle.q * (1 - oracle.q)) ** 0.5
        many = Supports(oracle._law, (mean + spread * np.array([0.0, 3.0, 30.0])).astype(np.int64), n)
        for beta in (0.05, 1e-6):
            ends, wanted = np.array(many.ends(beta)), np.array(normal(many, beta))
            inside = (wanted > 0) & (wanted < n)
            assert inside.any()
            off = np.maximum(np.abs(ends - wanted) - 1, 0) / many.std()
            assert off[inside].max() < 1e-4 + 0.25 * ndtri(beta / 2) ** 2 / spread


@pytest.mark.parametrize("beta", [0.999, 1e-30, 1e-270])
def test_intervals_of_any_confidence_are_finite(beta: float) -> None:
    for oracle in PURE:
        low, high = Supports(oracle._law, np.arange(51), 50).ends(beta)
        assert np.isfinite([low, high]).all()
    places = np.indices((20, 20)).reshape(2, -1)
    for keep, stray in ((0.57, 0.029), (1 - 1e-15, 1e-20), (0.5, 0.499)):
        low, high = Signs(keep, stray, places[0], places[1], 50).ends(beta)
        assert np.isfinite([low, high]).all()


def test_a_smaller_risk_never_shortens_an_interval() -> None:
    wide, narrow = (Supports(OUE(domain=9, epsilon=2)._law, np.arange(101), 100).ends(beta) for beta in (0.01, 0.1))
    assert (wide[0] <= narrow[0]).all()
    assert (wide[1] >= narrow[1]).all()


# Hadamard response with several blocks


def signs(people: int, up: float, down: float, most: int) -> Floats:
    """Return the law of how many of so many people add +1 and -1."""
    first = binom.pmf(np.arange(most + 1), people, up)[:, None]
    left = np.maximum(people - np.arange(most + 1), 0)[:, None]
    return np.asarray(first * binom.pmf(np.arange(most + 1)[None, :], left, down / (1 - up)))


def plugged_in(model: Signs, beta: float) -> Ends:
    """Return the interval that puts the reports of the block in the place of their expectation, as it once was."""
    z, base = -float(ndtri(beta / 2)), (model.plus + model.minus) * model.step**2
    low, high = (model.counts + sign * model.step / 2 for sign in (-1, 1))
    roots = [z * np.sqrt(np.maximum(base - c, 0) + z * z / 4) for c in (low, high)]
    return low - z * z / 2 - roots[0], high - z * z / 2 + roots[1]


def sign_misses(oracle: Hadamard, people: tuple[int, int, int], beta: float, *, plug_in: bool = False) -> float:
    """Return how often the interval misses, as a multiple of β: of n, so many have the value, so many are near."""
    n, have, near = people
    keep, half = float(oracle._hit), oracle.order // 2
    stray = (1 - keep) * half / (oracle._outputs - half)
    mean = (have + near) * (keep + stray) + (n - have - near) * 2 * stray
    most = int(mean + 9 * mean**0.5 + 40)
    both = (keep + stray) / 2
    chance = signs(have, keep, stray, most)
    for law in (signs(near, both, both, most), signs(n - have - near, stray, stray, most)):
        chance = fftconvolve(chance, law)[: most + 1, : most + 1]
    assert chance.sum() == pytest.approx(1, abs=1e-11)
    plus, minus = np.nonzero(chance > 1e-13)
    model = Signs(keep, stray, plus, minus, n)
    low, high = plugged_in(model, beta) if plug_in else model.ends(beta)
    return float(1 - chance[plus, minus][(low <= have) & (have <= high)].sum()) / beta


BLOCKS = [
    (128, 8, (1000, 5, 5)),
    (128, 8, (5000, 20, 0)),
    (128, 8, (5000, 0, 0)),
    (16, 8, (1000, 20, 60)),
    (16, 6, (200, 5, 10)),
    (16, 6, (200, 50, 0)),
    (1024, 6, (200, 5, 0)),
    (64, 6, (5000, 10, 100)),
    (64, 4, (50, 30, 3)),
    (1024, 3, (100, 50, 0)),
    (1024, 3, (1, 1, 0)),
    (64, 3, (10, 0, 10)),
    (64, 10, (300, 3, 3)),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("d", "epsilon", "people"), BLOCKS)
@pytest.mark.parametrize("beta", [0.05, 0.01, 0.05 / 1024])
def test_intervals_of_several_blocks_miss_no_more_often_than_they_say(
    d: int, epsilon: float, people: tuple[int, int, int], beta: float
) -> None:
    oracle = Hadamard(domain=d, epsilon=epsilon)
    assert oracle.blocks > 1
    assert sign_misses(oracle, people, beta) <= 1


def test_the_reports_of_a_block_in_the_place_of_their_expectation_would_miss_far_more_often() -> None:
    assert sign_misses(Hadamard(domain=1024, epsilon=6), (200, 5, 0), 0.05, plug_in=True) > 2
    assert sign_misses(Hadamard(domain=16, epsilon=6), (200, 5, 0), 0.05, plug_in=True) > 2


def test_a_standard_error_is_never_nothing_where_a_block_is_empty() -> None:
    oracle = Hadamard(domain=128, epsilon=8)
    cells = np.zeros(oracle._cells, dtype=np.int64)
    cells[0] = 50
    std = oracle._decode(cells, 50).std()
    assert (std > 0).all()
    least = (50 * 2 * (1 - float(oracle._hit)) / (2 * oracle.blocks - 1)) ** 0.5
    assert std[3] > 0.99 * least
