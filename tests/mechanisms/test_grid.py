from __future__ import annotations

import itertools
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidError
from tacit.guarantees.exact import positive
from tacit.mechanisms.grid import TOP, ValueGrid, add, ceil_root, make_grid, nearest
from tacit.mechanisms.validation import LIMIT, read_numbers

steps = st.fractions(min_value=Fraction(1, 1000), max_value=1000).filter(lambda s: s > 0)
reals = st.floats(-1e6, 1e6)


def grid_of(step: Fraction, outputs: int = 1) -> ValueGrid:
    return ValueGrid(step, integral=False, outputs=outputs)


@given(reals, steps)
def test_nearest_is_the_floor_of_the_quotient_plus_a_half(x: float, step: Fraction) -> None:
    assert nearest(Fraction(x), step) == floor(Fraction(x) / step + Fraction(1, 2))


@settings(max_examples=50)
@given(st.lists(reals, min_size=64, max_size=90), steps)
def test_many_values_round_exactly_as_one_does(values: list[float], step: Fraction) -> None:
    ties = [float((2 * k + 1) * step / 2) for k in range(-20, 20)]
    array = np.array(values + ties)
    expected = [nearest(Fraction(x), step) for x in array.tolist()]
    assert grid_of(step).round(array).tolist() == expected


@given(st.floats(-1e15, 1e15), st.fractions(min_value=Fraction(1, 2**12), max_value=1).filter(lambda s: s > 0))
def test_large_quotients_round_exactly_too(x: float, step: Fraction) -> None:
    assert grid_of(step).round(np.array([x, -x])).tolist() == [nearest(Fraction(x), step), nearest(Fraction(-x), step)]


@given(st.integers(-(2**60), 2**60), steps)
def test_integers_beyond_the_floats_round_exactly_too(x: int, step: Fraction) -> None:
    grid = grid_of(step * 1000)
    assert grid.round(np.array([x])).tolist() == [nearest(Fraction(x), step * 1000)]


def test_ties_go_up_not_to_even_and_not_away_from_zero() -> None:
    assert grid_of(Fraction(1)).round(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])).tolist() == [-2, -1, 0, 1, 2, 3]


def test_the_float_just_below_a_half_rounds_down() -> None:
    below = np.nextafter(0.5, 0)
    assert grid_of(Fraction(1)).round(np.full(100, below)).tolist() == [0] * 100


VALUES = [Fraction(k, 4) for k in range(-6, 7)]


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)])
@pytest.mark.parametrize("size", [Fraction(1), Fraction(3, 2), Fraction(2)])
def test_rounding_keeps_the_claimed_sensitivity_by_brute_force(step: Fraction, size: Fraction) -> None:
    """All pairs of vectors of one and two coordinates from a fine set of rationals."""
    for m in (1, 2):
        grid = grid_of(step, m)
        moves = [d for d in itertools.product([Fraction(k, 4) for k in range(-8, 9)], repeat=m) if any(d)]
        for x, d in itertools.product(itertools.product(VALUES[:5], repeat=m), moves):
            pairs = zip(x, d, strict=True)
            gaps = [abs(nearest(a + b, step) - nearest(a, step)) for a, b in pairs]
            if sum(abs(b) for b in d) <= size:
                assert sum(gaps) <= grid.l1_steps(size)
            if sum(b * b for b in d) <= size**2:
                assert sum(g * g for g in gaps) <= grid.l2_squared_steps(size)


def test_the_l1_cost_of_rounding_a_vector_is_reached() -> None:
    """Three coordinates that each straddle a tie: a total move of 1 becomes N + m - 1 = 3 steps."""
    grid = grid_of(Fraction(1), 3)
    low = [Fraction(1, 2) - Fraction(1, 10)] * 3
    high = [value + Fraction(1, 3) for value in low]
    moved = sum(nearest(b, grid.step) - nearest(a, grid.step) for a, b in zip(low, high, strict=True))
    assert moved == grid.l1_steps(Fraction(1)) == 3


def test_a_planted_error_in_the_vector_bound_is_found() -> None:
    """If vectors moved by at most N steps, as one value does, the example above would break the claim."""
    assert grid_of(Fraction(1), 3).l1_steps(Fraction(1)) > grid_of(Fraction(1), 1).l1_steps(Fraction(1))


@given(st.integers(0, 10**30))
def test_ceil_root_is_the_least_root_from_above(n: int) -> None:
    root = ceil_root(n)
    assert root * root >= n
    assert root == 0 or (root - 1) ** 2 < n


@pytest.mark.parametrize("sensitivity", [2.5, 0.1, 1e-9, 1e12, 3.0, 1 / 3])
@pytest.mark.parametrize("noise", [Fraction(1, 10**6), Fraction(1), Fraction(10**6), Fraction(10**15)])
def test_the_default_step_divides_the_sensitivity(sensitivity: float, noise: Fraction) -> None:
    size = positive(sensitivity, "sensitivity")
    grid = make_grid(sensitivity, size, 1, None, noise)
    assert (size / grid.step).denominator == 1
    assert grid.l1_steps(size) == size / grid.step


def test_rounding_a_vector_costs_less_than_a_millionth() -> None:
    for outputs in (2, 100, 10_000):
        size = Fraction(1)
        grid = make_grid(1.0, size, outputs, None, Fraction(10))
        assert grid.l1_steps(size) * grid.step / size - 1 < 1e-6


def test_a_step_that_does_not_divide_pays_for_it() -> None:
    size = Fraction(1)
    grid = make_grid(1.0, size, 1, 0.3, Fraction(1))
    assert grid.l1_steps(size) == 4


def test_noise_that_leaves_64_bits_saturates() -> None:
    values = np.array([LIMIT, -LIMIT, 0, -LIMIT])
    noise = np.array([2**70, -(2**70), 5, 2**63 + 5], dtype=object)
    assert add(values, noise).tolist() == [TOP, -TOP, 5, 2**63 + 5 - LIMIT]


def test_ordinary_noise_on_the_largest_values_does_not_wrap() -> None:
    assert add(np.array([LIMIT, -LIMIT]), np.array([LIMIT - 1, 1 - LIMIT])).tolist() == [TOP, -TOP]


@pytest.mark.parametrize(
    "value",
    [[], np.array(5), [[1, 2], [3]], "12", ["1"], [True], True, None, 1j, [1j], [None], np.array([], dtype=float), {}],
)
def test_values_other_than_arrays_of_numbers_are_refused(value: object) -> None:
    for integral in (True, False):
        with pytest.raises(InvalidError) as caught:
            read_numbers(value, "value", integral=integral)
        assert caught.value.argument == "value"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_refused(value: float) -> None:
    grid = make_grid(1.0, Fraction(1), 1, None, Fraction(1))
    with pytest.raises(InvalidError, match="NaN or infinity"):
        grid.read(value)


@pytest.mark.parametrize("value", [1e300, -1e308, 2.0**62])
def test_reals_beyond_the_grid_are_refused_without_being_shown(value: float) -> None:
    grid = make_grid(1.0, Fraction(1), 1, None, Fraction(1))
    with pytest.raises(InvalidError, match="2\\^62 grid steps") as caught:
        grid.read(value)
    assert repr(value) not in str(caught.value)


@pytest.mark.parametrize("value", [2**62 + 1, -(2**62) - 1, 2**70, np.uint64(2**63), [0, 2**62 + 1]])
def test_integers_beyond_the_limit_are_refused(value: object) -> None:
    with pytest.raises(InvalidError, match="within ±2\\^62"):
        ValueGrid(Fraction(1), integral=True, outputs=1).read(value)


def test_integers_at_the_limit_are_taken() -> None:
    for value in (2**62, -(2**62), np.uint64(2**62), [2**62, -(2**62)]):
        ValueGrid(Fraction(1), integral=True, outputs=1).read(value)
