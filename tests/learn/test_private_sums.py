"""The sensitivity of the sums of a classifier, by brute force over small tables."""

from collections.abc import Callable
from itertools import product
from typing import get_args

import numpy as np
import pytest

from tacit.guarantees.events import Neighbours
from tacit.learn import private_sums
from tacit.learn.private_sums import GRID, Layout, Moved
from tacit.synthetic.coded_rows import ArrayRows, Counts

SIZES = (2, 3, 4)  # two features, and a target with two or three classes and another value
TWO = Layout((0, 1), 2, (2, 3), (1, 0, -1, -1))
THREE = Layout((0, 1), 2, (2, 3), (0, 1, 2, -1))
ROWS = list(product(*(range(size) for size in SIZES)))
WEIGHTS = np.array([4.0, -4.0, 30.0, 0.3, -30.0])
K = [5, 16]
CELLS = 100

Unit = tuple[tuple[int, ...], ...]
Sum = Callable[[ArrayRows], Counts]
Bound = Callable[[int, Neighbours], Moved]


def rows_of(units: list[Unit], reach: int, scale: int) -> ArrayRows:
    """Return the rows of units, weighted as the engine weighs them."""
    codes = [row for unit in units for row in unit]
    weights = [min(scale, scale * reach // len(unit)) for unit in units for _ in unit]
    array = np.array(codes, dtype=np.uint16).reshape(len(codes), len(SIZES))
    return ArrayRows(array, np.array(weights, dtype=np.int64), SIZES, scale=scale, reach=reach)


def residuals(clip: int) -> tuple[Sum, Bound]:
    return (
        lambda rows: private_sums.residual_sums(rows, TWO, K, WEIGHTS, 0.5, clip),
        lambda weight, by: private_sums.residuals_moved(K, clip, weight, by, CELLS),
    )


def predicted(rows: ArrayRows) -> Counts:
    return private_sums.prediction_counts(rows, TWO, WEIGHTS[None], np.array([0.5]))


RELEASES: dict[str, tuple[Sum, Bound]] = {
    "counts of two classes": (
        lambda rows: private_sums.class_counts(rows, TWO, K),
        lambda weight, by: private_sums.counts_moved(K, weight, by, CELLS),
    ),
    "counts of three classes": (
        lambda rows: private_sums.class_counts(rows, THREE, K),
        lambda weight, by: private_sums.counts_moved(K, weight, by, CELLS),
    ),
    "residuals": residuals(GRID),
    "clipped residuals": residuals(GRID * 3 // 5),
    "steeply clipped residuals": residuals(GRID * 2 // 5),
    "predictions": (
        predicted,
        lambda weight, by: private_sums.counts_moved([private_sums.OFFSET], weight, by, 2),
    ),
}


def largest(made: Sum, neighbours: Neighbours, reach: int, scale: int) -> tuple[int, int]:
    """Return the largest L1 and squared L2 distance of all neighbours, with one other unit in the table."""
    units: list[Unit] = [(row,) * reach for row in ROWS] + list(product(ROWS[::2], repeat=2))
    units += [(row,) * (reach + 3) for row in ROWS]
    other: list[Unit] = [(ROWS[4],)]
    base = made(rows_of(other, reach, scale))
    moves = [np.zeros_like(base), *(made(rows_of([*other, unit], reach, scale)) - base for unit in units)]
    stacked = np.array([move.ravel() for move in moves])
    pairs = [stacked] if neighbours == "add/remove" else [stacked - move for move in stacked]
    return (
        max(int(np.abs(pair).sum(axis=1).max()) for pair in pairs),
        max(int((pair**2).sum(axis=1).max()) for pair in pairs),
    )


@pytest.mark.parametrize("neighbours", get_args(Neighbours))
@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize(("reach", "scale"), [(1, 1), (1, 4), (3, 2)])
def test_no_neighbours_differ_by_more_than_the_sensitivity(
    name: str, neighbours: Neighbours, reach: int, scale: int
) -> None:
    made, bound = RELEASES[name]
    moved, (l1, squared) = bound(reach * scale, neighbours), largest(made, neighbours, reach, scale)
    assert l1 <= moved.l1
    assert squared <= moved.l2_squared
    assert squared > 0.85 * moved.l2_squared  # the bound is nearly reached, so a smaller one would be found out
    assert squared > 0.85 * bound(reach * scale - 1 or 0, neighbours).l2_squared


def test_a_planted_sensitivity_of_one_column_is_too_small() -> None:
    made, _ = RELEASES["clipped residuals"]
    planted = private_sums.residuals_moved(K[1:], GRID * 3 // 5, 1, "add/remove", CELLS)
    assert largest(made, "add/remove", 1, 1)[1] > planted.l2_squared


@pytest.mark.parametrize("weight", [1e308, -1e308, np.inf, np.nan])
def test_residuals_stay_on_the_grid_for_weights_without_limits(weight: float) -> None:
    codes = np.array(ROWS, dtype=np.uint16)
    steps = private_sums.weight_steps(np.full((1, 5), weight), np.zeros(1))
    scores = private_sums.row_scores(codes, TWO, steps)[0]
    for label in (0, 1):
        found = private_sums.residuals(scores, np.full(len(codes), label))
        assert np.abs(found).max() <= GRID
        assert ((found >= 0) == bool(label)).all() or not found.any()


def test_a_residual_depends_on_its_row_alone() -> None:
    """The residual of a row in a table equals that of the same row alone, bit by bit."""
    random = np.random.default_rng(1)
    weights = random.normal(size=5) * 3
    codes = np.array(ROWS, dtype=np.uint16)[random.integers(0, len(ROWS), 1_001)]
    steps = private_sums.weight_steps(weights[None], np.array([0.1]))
    together = private_sums.residuals(private_sums.row_scores(codes, TWO, steps)[0], codes[:, 2].astype(np.int64) % 2)
    for place in range(0, len(codes), 37):
        one = codes[place : place + 1]
        alone = private_sums.residuals(private_sums.row_scores(one, TWO, steps)[0], one[:, 2].astype(np.int64) % 2)
        assert alone[0] == together[place]


def test_rows_of_another_class_add_nothing() -> None:
    rows = rows_of([((0, 1, 3),), ((1, 2, 3),)], 1, 1)
    assert not private_sums.class_counts(rows, THREE, K).any()
    for name in ("residuals", "predictions"):
        assert not RELEASES[name][0](rows).any()


@pytest.mark.parametrize("weight", [1, 2**44 + 1, 2**61 + 1])
def test_sums_equal_those_of_whole_numbers_modulo_two_to_the_64(weight: int) -> None:
    """Small sums go through doubles, large ones do not, and the largest wrap."""
    codes = np.array(ROWS, dtype=np.uint16)
    rows = ArrayRows(codes, np.full(len(codes), weight, dtype=np.int64), SIZES)
    with np.errstate(over="ignore"):
        found = private_sums.residual_sums(rows, TWO, K, WEIGHTS, 0.5, GRID)
    expected = [0] * 6
    steps = private_sums.weight_steps(WEIGHTS[None], np.array([0.5]))
    for row in codes:
        label = TWO.classes[row[2]]
        if label < 0:
            continue
        score = private_sums.row_scores(row[None], TWO, steps)[0]
        r = int(private_sums.residuals(score, np.array([label]))[0])
        for place, start in enumerate((0, 2)):
            expected[start + int(row[place])] += K[place] * r * weight
        expected[-1] += private_sums.OFFSET * r * weight
    assert [int(x) % 2**64 for x in found] == [x % 2**64 for x in expected]
