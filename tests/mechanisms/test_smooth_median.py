"""The smooth median: its lemma by exact divergences, its releases end to end, its grid, its error and its time."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import log
from time import perf_counter_ns
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma, iqr, spearmanr

import laws
import oracles_order
from evidence import FALSE_ALARM, draws, fits
from oracles_bad_input import NOT_A_COLUMN, NOT_A_SHARE, NOT_POSITIVE, SECRET, refused, short
from oracles_divergence import MP, Shifted, hockey_stick, real
from oracles_order import padded
from tacit import ApproxDP, SmoothMedian
from tacit.guarantees.events import ApproxRelease
from tacit.mechanisms import smooth_median
from tacit.mechanisms.order import STEPS, quantile_ranks, smooth_sensitivity, sorted_rows

WIDTH = 2 * STEPS
"""With bounds (0, 2^25) a half step is 1, so that outputs are the indices themselves."""


def beta(epsilon: float, delta: float) -> Any:  # noqa: ANN401 - a number of mpmath
    """ln(1 + ε/(2·ln(2/δ)))."""
    return MP.log1p(real(epsilon) / (2 * MP.log(2 / real(delta))))


# The oracle.


def summed(p: Shifted, q: Shifted, epsilon: float) -> Any:  # noqa: ANN401 - a number of mpmath
    """Add (P - e^ε·Q)₊ up, point by point."""
    reach = int(80 * max(p.scale, q.scale)) + 8
    points = range(min(p.centre, q.centre) - reach, max(p.centre, q.centre) + reach)
    return sum(max(MP.mpf(0), MP.exp(p.log(z)) - MP.exp(epsilon + q.log(z))) for z in points)


@pytest.mark.parametrize("epsilon", [0, 0.2, 1.5])
@pytest.mark.parametrize(
    ("shift", "ratio"), [(0, 1), (0, 1.3), (0, 0.7), (3, 1), (-3, 0.9), (1, 1.2), (5, 1.1), (-4, 2)]
)
@pytest.mark.parametrize("scale", [0.3, 2.5])
def test_the_closed_form_is_the_sum(epsilon: float, shift: int, ratio: float, scale: float) -> None:
    p, q = Shifted(0, real(scale)), Shifted(shift, real(scale) * real(ratio))
    assert abs(hockey_stick(p, q, real(epsilon)) - summed(p, q, epsilon)) < 1e-30


# The lemma: S and S' within e^β of each other, centres no further apart than either.

EPSILONS = [0.01, 0.1, 1, 3, 10, 50]
DELTAS = [0.5, 0.1, 1e-3, 1e-6, 1e-12]
SIZES = [1, 2, 3, 7.5, 100, 1e5, 2.0**25]


def pairs(size: float, dilation: Any, rate: Any) -> Iterator[tuple[Shifted, Shifted]]:  # noqa: ANN401 - of mpmath
    """Yield laws with scale S/rate and S'/rate, S' = S·e^dilation, at all kinds of distances."""
    other = real(size) * MP.exp(dilation)
    far = int(MP.floor(min(real(size), other)))
    for shift in {0, far // 2, far}:
        yield Shifted(0, real(size) / rate), Shifted(shift, other / rate)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_dilation_and_sliding_cost_no_more_than_the_promise(epsilon: float, delta: float) -> None:
    bound, rate = beta(epsilon, delta), real(epsilon) / 2
    for size, part in product(SIZES, [-1, -0.5, 0, 0.5, 1]):
        for p, q in pairs(size, bound * part, rate):
            assert hockey_stick(p, q, real(epsilon)) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-3), (1, 1e-6), (5, 1e-6)])
def test_half_the_noise_would_break_the_promise(epsilon: float, delta: float) -> None:
    """The wider law against the narrower: its tails give it away."""
    found = pairs(1000, -beta(epsilon, delta), real(epsilon))
    assert max(hockey_stick(p, q, real(epsilon)) for p, q in found) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(5, 1e-3), (1, 1e-6), (5, 1e-6)])
def test_half_the_smoothness_would_break_the_promise(epsilon: float, delta: float) -> None:
    found = pairs(1000, -2 * beta(epsilon, delta), real(epsilon) / 2)
    assert max(hockey_stick(p, q, real(epsilon)) for p, q in found) > delta


# End to end: the centre and the scale that a release uses.


@dataclass(frozen=True)
class Drawn:
    """The parameters that a release passed to the sampler, and its value without noise."""

    centre: float
    scale: float
    digits: int


class Watched:
    """A SmoothMedian that records its scales and adds no noise."""

    def __init__(self, made: SmoothMedian) -> None:
        self.made = made
        self._seen: list[tuple[float, int]] = []

    def of(self, values: npt.ArrayLike) -> Drawn:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(smooth_median, "discrete_laplace_of_private_scale", self._note)
            centre = self.made.release(values)
        return Drawn(centre, *self._seen.pop())

    def _note(self, scale: float, digits: int) -> int:
        self._seen.append((scale, digits))
        return 0


def made(epsilon: float = 1, delta: float = 1e-6, quantile: float = 0.5) -> SmoothMedian:
    return SmoothMedian(bounds=(0, WIDTH), epsilon=epsilon, delta=delta, quantile=quantile)


def by_hand(values: Sequence[int], epsilon: float, decay: float, q: Fraction = Fraction(1, 2)) -> tuple[int, float]:
    """Return the centre in half steps and the scale 2·S/ε, by trying all pairs of ranks."""
    rows = padded([value // 2 for value in values], STEPS)
    both = quantile_ranks(len(values), q)
    smooth = sum(oracles_order.smooth(rows, rank, decay) for rank in both)
    return int(sum(rows[rank] for rank in both)), 2 * smooth / epsilon


COLUMNS: list[list[int]] = [
    [0],
    [WIDTH],
    [2, 4],
    [0, WIDTH],
    [10, 20, 1000],
    [0, 0, 0, WIDTH, WIDTH],
    list(range(0, 200, 2)),
    [2**k for k in range(1, 25)],
    [WIDTH // 2] * 300,
]


@pytest.mark.parametrize("column", COLUMNS, ids=len)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.01, 0.5), (30, 1e-12)])
@pytest.mark.parametrize("quantile", [0.5, 0.25, 0.9])
def test_the_noise_has_the_documented_centre_and_scale(
    column: list[int], epsilon: float, delta: float, quantile: float
) -> None:
    """Never less than 2S/ε for the exact β, and less than 1e-4 more."""
    drawn = Watched(made(epsilon, delta, quantile)).of(column)
    centre, scale = by_hand(column, epsilon, float(beta(epsilon, delta)), Fraction(repr(quantile)))
    assert drawn.centre == centre
    assert scale <= drawn.scale <= scale * (1 + 1e-4)


POINTS = [0, 2, 6, 100, 4096, WIDTH // 2, WIDTH]


@cache
def watched(epsilon: float, delta: float, column: tuple[int, ...]) -> Shifted:
    drawn = Watched(made(epsilon, delta)).of(column)
    return Shifted(int(drawn.centre), real(drawn.scale))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.05, 0.5), (20, 1e-3)])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_releases_of_neighbours_are_as_close_as_promised(epsilon: float, delta: float, n: int) -> None:
    """All data sets of n rows out of seven values; without clipping, which only makes the test harder."""
    compared = set()
    for column in combinations_with_replacement(POINTS, n):
        for other in oracles_order.neighbours(column, POINTS):
            compared.add((watched(epsilon, delta, column), watched(epsilon, delta, other)))
    assert all(hockey_stick(p, q, real(epsilon)) <= delta for p, q in compared)


@settings(deadline=None, max_examples=150)
@given(
    column=st.lists(st.integers(0, WIDTH) | st.integers(0, 50), min_size=1, max_size=12),
    place=st.integers(0, 11),
    value=st.integers(0, WIDTH) | st.integers(0, 50),
    epsilon=st.sampled_from([0.01, 1, 10]),
    delta=st.sampled_from([0.5, 1e-3, 1e-9]),
    quantile=st.sampled_from([0.5, 0.1]),
)
def test_any_neighbours_have_close_scales_and_centres(
    column: list[int], place: int, value: int, epsilon: float, delta: float, quantile: float
) -> None:
    """The premises of the lemma, in exact arithmetic on the scales that are used."""
    other = [*column]
    other[place % len(column)] = value
    here, there = (Watched(made(epsilon, delta, quantile)).of(rows) for rows in (column, other))
    smaller = Fraction(min(here.scale, there.scale)) * Fraction(repr(epsilon)) / 2
    assert abs(here.centre - there.centre) <= smaller
    assert abs(MP.log(real(here.scale) / real(there.scale))) <= beta(epsilon, delta)
    assert here.digits == there.digits


def size_p_value(noise: npt.NDArray[np.int64], scale: float) -> float:
    """Test Σ|K|/s, the best test of a Laplace scale; it is gamma of shape n up to a relative 1/s² ≤ 1e-11."""
    total = float(np.abs(noise).sum()) / scale
    return float(2 * min(gamma.cdf(total, noise.size), gamma.sf(total, noise.size)))


def size_miss(size: int, factor: float) -> float:
    """Return the chance that `size_p_value` accepts a scale as one that is `factor` times as large."""
    low, high = gamma.ppf(FALSE_ALARM / 2, size), gamma.isf(FALSE_ALARM / 2, size)
    return float(gamma.sf(factor * low, size) if factor > 1 else gamma.cdf(factor * high, size))


@draws(7_000, 26_000)
def test_releases_fit_the_law(size: int, off: Fraction) -> None:
    """A scale of an ε that is so far off would pass with a chance below 1e-12."""
    column, one = [2**24, 2**24 + 40, 2**24 + 90], made(20, 1e-3)
    centre, scale = by_hand(column, 20, one._decay)
    noise = np.array([int(one.release(column)) - centre for _ in range(size)])
    assert fits(noise, laws.Laplace(Fraction(scale)))
    assert size_p_value(noise, scale) > FALSE_ALARM
    for factor in (float(1 / (1 - off)), float(1 / (1 + off))):
        assert size_miss(noise.size, factor) < 1e-12
        assert size_p_value(noise, scale * factor) < FALSE_ALARM


# The error bound holds, and for_error is its inverse.


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("epsilon", [0.5, 20])
def test_the_error_is_kept_with_the_confidence(confidence: float, epsilon: float) -> None:
    """On rows between the grid's points, from the exact tail of the noise at the scale that is used."""
    one = SmoothMedian(bounds=(-3, 7), epsilon=epsilon, delta=1e-3)
    values = [0.1 * k for k in range(41)]
    smooth = 2 * smooth_sensitivity(sorted_rows(values, Fraction(-3), Fraction(7)), 21, one._decay) * one.granularity
    error, drawn = one.error(confidence=confidence, smooth=smooth), Watched(one).of(values)
    reach = int((error - abs(drawn.centre - 2.0)) / one.granularity)
    r = MP.exp(-1 / real(drawn.scale))
    beyond = 2 * r ** (reach + 1) / (1 + r)
    assert error == 10 or (1 - confidence) * 0.99 < beyond <= 1 - confidence


def test_without_an_assumption_only_the_width_is_promised() -> None:
    assert SmoothMedian(bounds=(-3, 7), epsilon=1, delta=1e-3).error() == 10
    assert SmoothMedian(bounds=(-3, 7), epsilon=1, delta=1e-3).error(smooth=1e9) == 10


@pytest.mark.parametrize(("error", "confidence", "smooth"), [(1000, 0.95, 10), (3, 0.5, 2.5), (0.7, 0.999, 0.001)])
def test_for_error_meets_the_error_and_a_little_less_does_not(error: float, confidence: float, smooth: float) -> None:
    bounds = (0, 200_000)
    one = SmoothMedian.for_error(error, confidence=confidence, bounds=bounds, delta=1e-6, smooth=smooth)
    less = SmoothMedian(bounds=bounds, epsilon=one.guarantee.epsilon * (1 - 1e-6), delta=1e-6)
    assert one.error(confidence=confidence, smooth=smooth) <= error
    assert less.error(confidence=confidence, smooth=smooth) > error


def test_an_error_that_any_noise_keeps_is_refused_by_its_own_name() -> None:
    refused("error", lambda: SmoothMedian.for_error(1, bounds=(0, 1), delta=1e-6, smooth=0.1))


# The set of outputs does not depend on the data.


@settings(deadline=None, max_examples=200)
@given(
    values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=8),
    bounds=st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda ends: (ends[0], ends[0] + ends[1])),
    epsilon=st.sampled_from([0.01, 1, 1e6]),
)
def test_an_output_is_a_point_of_the_grid(values: list[float], bounds: tuple[float, float], epsilon: float) -> None:
    one = SmoothMedian(bounds=bounds, epsilon=epsilon, delta=1e-6)
    out = one.release(values)
    near = round((out - bounds[0]) / one.granularity)
    indices = [index for index in range(near - 2, near + 3) if 0 <= index <= WIDTH]
    assert out in {min(bounds[0] + index * one.granularity, bounds[1]) for index in indices}


def test_for_error_makes_other_quantiles_too() -> None:
    one = SmoothMedian.for_error(1, bounds=(0, 9), delta=1e-6, smooth=0.1, quantile=0.9)
    assert repr(one).endswith("quantile=0.9)")


def test_the_grid_follows_from_the_bounds_alone() -> None:
    assert made(0.1).granularity == made(9, 1e-9, 0.1).granularity == 1.0


def test_no_output_is_outside_the_bounds() -> None:
    one = SmoothMedian(bounds=(0.1, 0.3), epsilon=10**9, delta=1e-6)
    assert max(one.release([np.inf] * 99) for _ in range(50)) <= 0.3


def test_values_outside_the_bounds_are_clamped_and_never_an_error() -> None:
    one = SmoothMedian(bounds=(0, 1), epsilon=10**9, delta=1e-6)
    assert one.release([-np.inf] * 99) == 0
    assert one.release([1e308] * 99) == 1
    assert one.release([-1e300] * 50 + [0.5] * 99 + [np.inf] * 50) == pytest.approx(0.5, abs=1e-6)


# Neither caches nor time reveal the smooth sensitivity.


def cached() -> dict[str, Any]:
    """Return the state of every cache below the mechanisms."""
    below = {name: module for name, module in sys.modules.items() if name.startswith("tacit.noise.")}
    found = {f"{name}.{key}": thing for name, module in below.items() for key, thing in vars(module).items()}
    return {name: thing.cache_info() for name, thing in found.items() if hasattr(thing, "cache_info")}


def test_a_release_leaves_no_trace() -> None:
    one = made()
    before, caches = dict(vars(one)), cached()
    one.release([SECRET] * 5 + [3])
    assert vars(one) == before
    assert len(caches) > 1
    assert cached() == caches
    assert [name for name in dir(one) if not name.startswith("_")] == [
        "confidence",
        "error",
        "event",
        "for_error",
        "granularity",
        "guarantee",
        "loss",
        "release",
    ]
    assert repr(one) == "SmoothMedian(bounds=(0, 33554432), epsilon=1, delta=1e-06)"


def columns(n: int) -> list[npt.NDArray[np.float64]]:
    """Return data sets of one size with smooth sensitivities from a few steps to the whole range."""
    rng = np.random.default_rng(7)
    return [
        np.full(n, 2.0**24),
        2.0**24 + 2 * np.arange(n),
        np.clip(rng.lognormal(12, 3, n), 0, WIDTH),
        rng.uniform(0, WIDTH, n),
        np.repeat([0.0, WIDTH], [n // 2, n - n // 2]),
    ]


def timed(one: SmoothMedian, rounds: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Time releases of all columns in random order; return each one's smooth sensitivity and duration."""
    sets = columns(101)
    smooth = [float(Watched(one).of(column).scale) for column in sets]
    order = [i for _ in range(rounds) for i in random.sample(range(len(sets)), len(sets))]
    times = []
    for i in order:
        start = perf_counter_ns()
        one.release(sets[i])
        times.append(perf_counter_ns() - start)
    return np.array([smooth[i] for i in order]), np.array(times, dtype=np.float64)


def correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    return float(spearmanr(a, b).statistic)


@pytest.mark.parametrize("epsilon", [1, 10])
def test_the_time_of_a_release_does_not_tell_the_smooth_sensitivity(epsilon: float) -> None:
    """Rank correlation within ±0.1; the null's deviation at 8,000 releases is 0.0112, a false alarm below 1e-17.

    A delay of half the durations' interquartile range for the more sensitive data would be detected.
    """
    smooth, times = timed(made(epsilon), 1600)
    assert abs(correlation(smooth, times)) < 0.1
    slower = times + 0.5 * float(iqr(times)) * (smooth > np.median(smooth))
    assert abs(correlation(smooth, slower)) > 0.1


# Guarantees and invalid input.


def test_the_promise_is_recorded() -> None:
    one = made(0.1, 1e-6)
    assert one.guarantee == ApproxDP(epsilon=0.1, delta=1e-6)
    assert one.event == ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), neighbours="change one")


def test_a_huge_epsilon_gives_the_median_on_the_grid() -> None:
    assert made(8e307).release([8, 16, 4]) == 8


@pytest.mark.parametrize("bad", [*NOT_A_COLUMN, [np.nan, SECRET]], ids=repr)
def test_values_other_than_columns_of_numbers_are_refused(bad: Any) -> None:  # noqa: ANN401
    one = made()
    refused("values", lambda: one.release(bad))


@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_epsilon_and_assumptions_are_positive_numbers(bad: Any) -> None:  # noqa: ANN401
    refused("epsilon", lambda: made(bad))
    refused("error", lambda: SmoothMedian.for_error(bad, bounds=(0, 1), delta=1e-6, smooth=0.1))
    refused("smooth", lambda: SmoothMedian.for_error(1, bounds=(0, 1), delta=1e-6, smooth=bad))
    if bad is not None:
        refused("smooth", lambda: made().error(smooth=bad))


@pytest.mark.parametrize("bad", [*NOT_A_SHARE, 0.6], ids=short)
def test_delta_is_at_most_a_half(bad: Any) -> None:  # noqa: ANN401
    refused("delta", lambda: made(1, bad))
    assert made(1, 0.5).guarantee.delta == 0.5


def test_a_delta_too_small_for_floats_is_refused() -> None:
    refused("delta", lambda: made(1, 1e-310))
    assert 0 <= made(1, 1e-100).release([3, 4]) <= WIDTH


@pytest.mark.parametrize("bad", NOT_A_SHARE, ids=short)
def test_quantile_and_confidence_are_strictly_between_0_and_1(bad: Any) -> None:  # noqa: ANN401
    refused("quantile", lambda: made(1, 1e-6, bad))
    refused("confidence", lambda: made().error(confidence=bad, smooth=1))
    refused("confidence", lambda: SmoothMedian.for_error(1, confidence=bad, bounds=(0, 9), delta=1e-6, smooth=1))


@pytest.mark.parametrize("bad", [(1, 0), (0, 0), (0, float("nan")), ("0", 1), (0, True), None, (0, 1, 2)], ids=repr)
def test_bounds_are_two_numbers_in_order(bad: Any) -> None:  # noqa: ANN401
    refused("bounds", lambda: SmoothMedian(bounds=bad, epsilon=1, delta=1e-6))


def test_an_epsilon_too_small_to_be_of_use_is_refused() -> None:
    refused("epsilon", lambda: made(1e-10))
    assert abs(log(made(1e-7)._decay / float(beta(1e-7, 1e-6)))) < 0.01
