"""Order statistics: every small data set by enumeration, random ones by trying all pairs of ranks."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import log
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oracles_order as oracle
from oracles_bad_input import NOT_A_COLUMN, NOT_A_NUMBER, SECRET, refused
from oracles_order import Rows, World, padded
from tacit.mechanisms import order
from tacit.mechanisms.order import (
    STEPS,
    distance_to_sensitive,
    quantile_ranks,
    read_bounds,
    smooth_sensitivity,
    sorted_rows,
)

SLACK = 2.0**-42
"""The documented relative error of a smooth sensitivity."""

WORLDS = [World(1, 6), World(2, 5), World(3, 4), World(4, 3), World(5, 2)]
DECAYS = [1e-9, 0.05, 0.5, 1.0, 3.0, 50.0]

every_world = pytest.mark.parametrize("world", WORLDS, ids=repr)


def ranks(world: World) -> range:
    return range(1, world.n + 1)


# The lemma: the largest move of a rank after k changes.


@every_world
def test_the_widest_gaps_are_the_local_sensitivities_at_distance_k(world: World) -> None:
    for data, rank in product(world.sets, ranks(world)):
        gaps = {k: gap for gap, k in oracle.widest(padded(data, world.top), rank)}
        truth = world.at_distance(data, rank)
        reached = [max(gap for j, gap in gaps.items() if j <= k) for k in range(world.n + 1)]
        assert reached == truth


@every_world
@pytest.mark.parametrize("decay", DECAYS)
def test_smooth_sensitivity_is_the_smoothed_truth(world: World, decay: float) -> None:
    weight = np.exp(-decay * np.arange(world.n + 1))
    for data, rank in product(world.sets, ranks(world)):
        truth = max(1.0, float((weight * world.at_distance(data, rank)).max()))
        assert smooth_sensitivity(padded(data, world.top), rank, decay) == pytest.approx(truth, rel=2 * SLACK)


@every_world
def test_smooth_sensitivity_is_at_least_the_local_one(world: World) -> None:
    for data, rank, decay in product(world.sets, ranks(world), DECAYS):
        smooth = smooth_sensitivity(padded(data, world.top), rank, decay)
        assert smooth * (1 + SLACK) >= world.local(data, rank)


@every_world
@pytest.mark.parametrize("decay", DECAYS)
def test_between_neighbours_its_logarithm_moves_by_no_more_than_the_decay(world: World, decay: float) -> None:
    for rank in ranks(world):
        smooth = {data: smooth_sensitivity(padded(data, world.top), rank, decay) for data in world.sets}
        assert all(abs(log(smooth[x] / smooth[y])) <= decay + 2 * SLACK for x, y in world.pairs)


@every_world
def test_the_distance_is_the_number_of_changes_to_a_more_sensitive_set(world: World) -> None:
    for data, rank, bound in product(world.sets, ranks(world), range(world.top + 1)):
        found = distance_to_sensitive(padded(data, world.top), rank, bound)
        assert found == world.distance(data, rank, bound)


@every_world
def test_between_neighbours_the_distance_moves_by_at_most_one(world: World) -> None:
    for rank, bound in product(ranks(world), range(world.top + 1)):
        distance = {data: distance_to_sensitive(padded(data, world.top), rank, bound) for data in world.sets}
        assert all(abs(distance[x] - distance[y]) <= 1 for x, y in world.pairs)


# Larger data: every pair of ranks, tried one by one.

Spread = Callable[[np.random.Generator, int], npt.NDArray[np.int64]]

SPREADS: dict[str, Spread] = {
    "uniform": lambda rng, n: rng.integers(0, STEPS + 1, n),
    "few values": lambda rng, n: rng.choice([0, 1, 5, 2**23, STEPS], n),
    "one value": lambda _, n: np.full(n, 12345),
    "two ends": lambda rng, n: rng.choice([0, STEPS], n),
    "powers": lambda rng, n: np.exp2(rng.uniform(0, 24, n)).astype(np.int64),
    "dense": lambda rng, n: 2**23 + rng.integers(-n, n, n),
}


@pytest.fixture(params=["all", "halving"])
def search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute all pairs of ranks, or search by halving as for large data."""
    if request.param == "halving":
        monkeypatch.setattr(order, "_ALL", 0)


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("n", [1, 2, 7, 32, 101])
def test_both_searches_find_what_trying_all_pairs_finds(spread: str, n: int) -> None:
    rng = np.random.default_rng(n)
    rows = padded(SPREADS[spread](rng, n).tolist(), STEPS)
    for rank, decay in product({1, (n + 1) // 2, n}, [1e-8, 0.001, 0.02, 0.3, 2, 600]):
        assert smooth_sensitivity(rows, rank, decay) == pytest.approx(oracle.smooth(rows, rank, decay), rel=SLACK)


@pytest.mark.usefixtures("search")
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.integers(0, STEPS) | st.integers(0, 20), min_size=1, max_size=25),
    part=st.floats(0, 1),
    decay=st.floats(-9, 2.5).map(lambda power: 10**power),
)
def test_any_rows_any_rank_any_decay(data: list[int], part: float, decay: float) -> None:
    rows, rank = padded(data, STEPS), 1 + round(part * (len(data) - 1))
    assert smooth_sensitivity(rows, rank, decay) == pytest.approx(oracle.smooth(rows, rank, decay), rel=SLACK)


@settings(deadline=None, max_examples=300)
@given(
    data=st.lists(st.integers(0, STEPS) | st.integers(0, 20), min_size=1, max_size=25),
    part=st.floats(0, 1),
    bound=st.integers(1, STEPS) | st.integers(1, 20),
)
def test_the_distance_is_the_first_gap_above_the_bound(data: list[int], part: float, bound: int) -> None:
    rows, rank = padded(data, STEPS), 1 + round(part * (len(data) - 1))
    beyond = [k for gap, k in oracle.widest(rows, rank) if gap > bound]
    assert distance_to_sensitive(rows, rank, bound) == (min(beyond) if beyond else len(data) + 1)


@settings(deadline=None, max_examples=100)
@given(
    data=st.lists(st.integers(0, STEPS) | st.integers(0, 20), min_size=1, max_size=40),
    place=st.integers(0, 39),
    value=st.integers(0, STEPS),
    decay=st.floats(-8, 1).map(lambda power: 10**power),
)
def test_one_changed_row_in_a_larger_set(data: list[int], place: int, value: int, decay: float) -> None:
    other = [*data]
    other[place % len(data)] = value
    for rank in range(1, len(data) + 1):
        both = [smooth_sensitivity(padded(rows, STEPS), rank, decay) for rows in (data, other)]
        near = [distance_to_sensitive(padded(rows, STEPS), rank, 1000) for rows in (data, other)]
        assert abs(log(both[0] / both[1])) <= decay + 2 * SLACK
        assert abs(sorted(data)[rank - 1] - sorted(other)[rank - 1]) <= min(both) * (1 + SLACK)
        assert abs(near[0] - near[1]) <= 1


def test_the_work_depends_on_the_size_and_the_decay_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every level of the search computes the same number of pairs for all rows."""
    looked: list[int] = []
    cumsum = np.cumsum

    def watch(length: Rows) -> Rows:
        looked.append(int(length.sum()))
        return cumsum(length)

    monkeypatch.setattr(order, "_ALL", 0)
    monkeypatch.setattr(np, "cumsum", watch)
    seen = set()
    for spread in SPREADS.values():
        looked.clear()
        smooth_sensitivity(padded(spread(np.random.default_rng(3), 77).tolist(), STEPS), 39, 0.5)
        seen.add(tuple(looked))
    assert len(seen) == 1
    assert all(seen)


# Ranks and rows.


@given(data=st.lists(st.integers(-100, 100), min_size=1, max_size=30))
def test_the_ranks_of_one_half_give_the_median(data: list[int]) -> None:
    low, high = quantile_ranks(len(data), Fraction(1, 2))
    assert (sorted(data)[low - 1] + sorted(data)[high - 1]) / 2 == median(data)


@given(
    data=st.lists(st.integers(-100, 100), min_size=1, max_size=30), q=st.fractions(Fraction(1, 99), Fraction(98, 99))
)
def test_the_ranks_of_a_quantile_are_those_of_the_averaged_inverse(data: list[int], q: Fraction) -> None:
    """Hyndman and Fan's type 2, which NumPy also has, by its definition: F(x) ≥ q, averaged where F(x) = q."""
    n = len(data)
    low, high = quantile_ranks(n, q)
    assert low == min(rank for rank in range(1, n + 1) if Fraction(rank, n) >= q)
    assert high == (low + 1 if Fraction(low, n) == q else low)
    assert 1 <= low <= high <= n


def rows_of(values: npt.ArrayLike, low: float = 0, high: float = STEPS) -> list[int]:
    return [int(row) for row in sorted_rows(values, Fraction(low), Fraction(high))]


@given(st.lists(st.integers(0, STEPS), min_size=1, max_size=200))
def test_rows_on_the_grid_are_sorted_and_framed(data: list[int]) -> None:
    assert rows_of(data) == [0, *sorted(data), STEPS]


def test_values_outside_the_bounds_are_clamped() -> None:
    values = [-np.inf, -1e308, -1, 3, 2.0**24 + 1, 1e308, np.inf]
    assert rows_of(values) == [0, 0, 0, 0, 3, STEPS, STEPS, STEPS, STEPS]
    assert rows_of([-(2**62), 2**62]) == [0, 0, STEPS, STEPS]


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=50), st.randoms(use_true_random=False))
def test_each_row_is_mapped_by_itself(data: list[float], random: Any) -> None:  # noqa: ANN401
    """One changed row changes one index; the proof needs no more."""
    alone = sorted(rows_of([value], -5, 1e6)[1] for value in data)
    random.shuffle(data)
    assert rows_of(data, -5, 1e6)[1:-1] == alone


@pytest.mark.parametrize("mixed", [[1, 2.5], [2**63, -1], [2**70, 3], [10**400, -(10**400), 7]], ids=len)
def test_a_row_is_mapped_alike_in_any_company(mixed: list[Any]) -> None:
    alone = sorted(rows_of([value])[1] for value in mixed)
    assert rows_of(mixed)[1:-1] == alone


def test_a_large_whole_number_among_reals_is_clamped_too() -> None:
    assert rows_of([2**60, 3.5]) == [0, 4, STEPS, STEPS]


def test_any_mixture_of_numbers_is_clamped_and_tiny_ones_raise_nothing() -> None:
    assert rows_of([2**64, 3.5]) == [0, 4, STEPS, STEPS]
    with np.errstate(all="raise"):
        assert rows_of([1e-304, 3.5]) == [0, 0, 4, STEPS]


def test_whole_numbers_beyond_the_floats_are_clamped_too() -> None:
    assert rows_of([10**400, 3, -(10**400)]) == [0, 0, 3, STEPS, STEPS]


@pytest.mark.parametrize("bad", [*NOT_A_COLUMN, [np.nan, SECRET], [np.nan], [True, SECRET]], ids=repr)
def test_values_other_than_columns_of_numbers_are_refused(bad: Any) -> None:  # noqa: ANN401
    refused("values", lambda: sorted_rows(bad, Fraction(0), Fraction(1)))


NO_BOUNDS: list[Any] = [
    *[(0, bad) for bad in NOT_A_NUMBER],
    *[(bad, 1) for bad in NOT_A_NUMBER],
    (1, 0),
    (0, 0),
    (0,),
    (0, 1, 2),
    5,
    None,
    "01",
    {0, 1},
    (0, 10**300),
    (0, Fraction(1, 10**300)),
]


@pytest.mark.parametrize("bad", NO_BOUNDS, ids=repr)
def test_bounds_are_two_finite_numbers_in_order(bad: Any) -> None:  # noqa: ANN401
    refused("bounds", lambda: read_bounds(bad))


def test_bounds_may_be_a_point_where_that_is_enough() -> None:
    assert read_bounds((2, 2), point=True) == (Fraction(2), Fraction(2))
    refused("bounds", lambda: read_bounds((3, 2), point=True))


def test_bounds_mean_the_decimals_that_python_prints() -> None:
    assert read_bounds([0.1, np.float64(0.3)]) == (Fraction(1, 10), Fraction(3, 10))
