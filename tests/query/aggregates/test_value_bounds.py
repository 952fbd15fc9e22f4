"""Private bounds from a noisy histogram: the threshold, the choice, and the interval of the values beyond."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import count_p_value
from tacit.guarantees import laplace_law
from tacit.query.aggregates.value_bins import value_bins
from tacit.query.aggregates.value_bounds import (
    beyond,
    needed_weight,
    noise_radius,
    outermost,
    threshold,
)
from tacit.query.expressions import Kind
from tacit.query.noise_law import Law, NoiseLaw

RARE = 1e-10
"""The false-alarm rate of each statistical test."""

RUNS = 2000
KINDS: tuple[Kind, ...] = ("integer", "real", "date", "timestamp")
LAWS: list[tuple[Law, int]] = [("laplace", 1), ("laplace", 10), ("laplace", 10 << 20), ("gaussian", 50)]


def noise(law: Law, amount: int) -> NoiseLaw:
    return NoiseLaw(law=law, amount=Fraction(amount), sensitivity=1, moving=1)


def laplace_tail(scale: int, t: int) -> float:
    """Pr[noise > t] for t ≥ 0: r^(t+1)/(1+r) with r = e^(-1/scale)."""
    r = np.exp(-1 / scale)
    return float(r ** (t + 1) / (1 + r))


@pytest.mark.parametrize("scale", [1, 10, 1000])
@pytest.mark.parametrize("bins", [496, 1036])
def test_the_threshold_is_the_least_that_no_empty_bin_exceeds(scale: int, bins: int) -> None:
    t = threshold(noise("laplace", scale), bins)
    assert bins * laplace_tail(scale, t) <= 0.01 * (1 + 1e-9)
    assert bins * laplace_tail(scale, t - 1) > 0.01 * (1 - 1e-9)
    assert t == laplace_law.two_sided_quantile(Fraction(scale), Fraction(1, 50) / bins)


@pytest.mark.parametrize(("law", "amount"), LAWS)
def test_an_empty_histogram_seldom_shows_a_bin(law: Law, amount: int) -> None:
    drawn = noise(law, amount).draw_array(200 * 496).reshape(200, 496)
    shown = sum(outermost(row.tolist(), noise(law, amount)) is not None for row in drawn)
    assert count_p_value(shown, 200, 0.01) > RARE or shown <= 2


@pytest.mark.parametrize(("law", "amount"), LAWS)
def test_a_bin_of_the_needed_weight_shows(law: Law, amount: int) -> None:
    one = noise(law, amount)
    noisy = one.draw_array(RUNS) + needed_weight(one, 496)
    missed = int((noisy <= threshold(one, 496)).sum())
    assert missed <= 100 or count_p_value(missed, RUNS, 0.05) > RARE


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=12), st.sampled_from([1, 30]))
def test_the_ends_are_the_first_and_the_last_bin_above_the_threshold(noisy: list[int], scale: int) -> None:
    law = noise("laplace", scale)
    shown = [place for place, x in enumerate(noisy) if x > threshold(law, len(noisy))]
    assert outermost(noisy, law) == ((min(shown), max(shown)) if shown else None)


def test_no_bin_above_the_noise_gives_no_bounds() -> None:
    law = noise("laplace", 10)
    assert outermost([0] * value_bins("real").count, law) is None


@pytest.mark.parametrize("count", [1, 3, 100, 500])
@pytest.mark.parametrize(("law", "amount"), [("laplace", 10), ("gaussian", 50)])
def test_the_noise_of_all_prefixes_is_within_its_radius(law: Law, amount: int, count: int) -> None:
    one = noise(law, amount)
    sums = np.abs(np.cumsum(one.draw_array(RUNS * 512).reshape(RUNS, 512).astype(float), axis=1))
    radii = np.array([noise_radius(m, 512, one, 0.95) for m in range(1, 513)])
    missed = int((sums > radii).any(axis=1).sum())
    assert missed <= 100 or count_p_value(missed, RUNS, 0.05) > RARE
    alone = int((sums[:, count - 1] > radii[count - 1] / 3).sum())  # a third of it would be too little
    assert alone > 100


def test_the_interval_of_values_beyond_holds_for_a_bound_that_the_noise_chose() -> None:
    law, bins, missed = noise("laplace", 10), 496, 0
    exact = np.zeros(bins, dtype=int)
    exact[200:300] = [round(150 * np.exp(-abs(place - 250) / 12)) for place in range(200, 300)]
    for _ in range(RUNS):
        noisy = (exact + law.draw_array(bins)).tolist()
        ends = outermost(noisy, law)
        assert ends is not None
        sides = [(noisy[: ends[0]], exact[: ends[0]].sum()), (noisy[ends[1] + 1 :], exact[ends[1] + 1 :].sum())]
        found = [(beyond(side, bins, law, 1, 0.95), truth) for side, truth in sides]
        missed += sum(not one.low <= truth <= one.high for one, truth in found[:1])
        assert all(0 <= one.low <= one.estimate <= one.high for one, _ in found)
    assert missed <= 100 or count_p_value(missed, RUNS, 0.05) > RARE


def test_nothing_is_beyond_the_last_bin() -> None:
    assert tuple(
        getattr(beyond([], 9, noise("laplace", 1), 1, 0.95), part) for part in ("estimate", "low", "high")
    ) == (
        0,
        0,
        0,
    )


def test_values_beyond_are_in_units() -> None:
    law = noise("laplace", 1 << 20)
    found = beyond([3 << 20, 2 << 20], 496, law, 1 << 20, 0.95)
    assert found.estimate == 5
    assert ceil(found.high - 5) == ceil(noise_radius(2, 496, law, 0.95) / 2**20)
