"""The sensitivity of the sums of a classifier, by brute force over small tables."""

from itertools import product
from typing import get_args

import numpy as np
import pytest

from tacit.guarantees.conversions import delta_of_zcdp
from tacit.guarantees.events import Neighbours
from tacit.learn import private_sums
from tacit.learn.private_sums import GRID, Layout
from tacit.synthetic.coded_rows import ArrayRows, Counts

SIZES = (2, 3, 3)  # two features, and a target with two classes and another value
LAYOUT = Layout((0, 1), 2, (2, 3))
ROWS = list(product(*(range(size) for size in SIZES)))
WEIGHTS = np.array([4.0, -4.0, 30.0, 0.3, -30.0])


def rows_of(units: list[tuple[tuple[int, ...], ...]], reach: int, scale: int) -> ArrayRows:
    """Return the rows of units, weighted as the engine weighs them."""
    codes = [row for unit in units for row in unit]
    weights = [min(scale, scale * reach // len(unit)) for unit in units for _ in unit]
    array = np.array(codes, dtype=np.uint16).reshape(len(codes), len(SIZES))
    return ArrayRows(array, np.array(weights, dtype=np.int64), SIZES, scale=scale, reach=reach)


def sums(rows: ArrayRows, *, gradient: bool) -> Counts:
    if gradient:
        return private_sums.gradient(rows, LAYOUT, WEIGHTS, 0.5)
    return private_sums.class_counts(rows, LAYOUT)


def largest(neighbours: Neighbours, reach: int, scale: int, *, gradient: bool) -> int:
    """Return the largest squared distance over all pairs of neighbours, with one other unit in the table."""
    units: list[tuple[tuple[int, ...], ...]] = [(row,) for row in ROWS] + (
        list(product(ROWS[::2], repeat=2)) if reach == 1 else []
    )
    if reach > 1:
        units += [(row,) * reach for row in ROWS] + [(row,) * (reach + 3) for row in ROWS]
    other: list[tuple[tuple[int, ...], ...]] = [(ROWS[4],)]
    base = sums(rows_of(other, reach, scale), gradient=gradient)
    moves = [sums(rows_of([*other, unit], reach, scale), gradient=gradient) - base for unit in units]
    if neighbours == "add/remove":
        return max(int((move**2).sum()) for move in moves)
    stacked = np.array([move.ravel() for move in moves])
    return max(int(((stacked - move) ** 2).sum(axis=1).max()) for move in stacked)


@pytest.mark.parametrize("neighbours", get_args(Neighbours))
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize(("reach", "scale"), [(1, 1), (1, 4), (3, 2)])
def test_no_neighbours_differ_by_more_than_the_sensitivity(
    neighbours: Neighbours, reach: int, scale: int, *, gradient: bool
) -> None:
    rows = rows_of([(ROWS[0],)], reach, scale)
    bound = private_sums.l2_squared(rows, 2, neighbours, gradient=gradient)
    found = largest(neighbours, reach, scale, gradient=gradient)
    assert found <= bound
    assert found > bound * 0.95  # the bound is reached, so a smaller one would be found out
    assert found > private_sums.l2_squared(rows, 1, neighbours, gradient=gradient)  # a planted error: one column less


def test_residuals_stay_on_the_grid_for_weights_without_limits() -> None:
    codes = np.array(ROWS, dtype=np.uint16)
    codes = codes[codes[:, 2] <= 1]
    for weight in (1e308, -1e308, np.inf, np.nan):
        with np.errstate(all="ignore"):
            found = private_sums.residuals(codes, LAYOUT, np.full(5, weight), 0.0)
        assert np.abs(found).max() <= GRID


def test_rows_of_another_class_add_nothing() -> None:
    rows = rows_of([((0, 1, 2),), ((1, 2, 2),)], 1, 1)
    assert not sums(rows, gradient=False).any()
    assert not sums(rows, gradient=True).any()


def test_sums_that_wrap_keep_the_noise_modulo_two_to_the_64() -> None:
    exact = np.array([2**63 - 1, -(2**63)], dtype=np.int64)
    values, noise = private_sums.noisy(exact, 1, private_sums.rho_of(1.0, 1e-6))
    assert noise > 0
    assert np.abs(values).max() <= 2.0**63


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 50.0])
def test_rho_meets_epsilon_and_a_little_more_does_not(epsilon: float) -> None:
    rho = private_sums.rho_of(epsilon, 1e-6)
    assert delta_of_zcdp(float(rho), epsilon) <= 1e-6
    assert delta_of_zcdp(float(rho) * 1.001, epsilon) > 1e-6
