"""Intervals of log-odds from noisy counts: coverage by simulation, and ends by hand.

Each coverage test has 4,000 intervals of 0.95. If they hold with 0.95, the share that holds is below 0.95 - 6·0.0034
with a probability of 1e-9. A noise that is stated half as large is found.
"""

from math import exp, inf, isclose, log, sqrt

import numpy as np
import pytest

from tacit.learn.intervals import Ends, box, cell_intervals, ratio, right_share
from tacit.learn.private_sums import Layout
from tacit.learn.rates import Tables, tables_of

LAYOUT = Layout((0,), 1, (4,), (0, 1))
TRUTH = np.array([[900.0, 200.0, 30.0, 4.0], [100.0, 250.0, 40.0, 2.0]])
FLOOR = 0.95 - 6 * (0.95 * 0.05 / 4_000) ** 0.5


def noisy_tables(truth: np.ndarray, noise: float, seed: int, *, laplace: bool, stated: float = 1.0) -> list[Tables]:
    random, shape = np.random.default_rng(seed), (1_000, *truth.shape)
    drawn = random.laplace(0, noise / 2**0.5, shape) if laplace else random.normal(0, noise, shape)
    layout = Layout((0,), 1, (4,), tuple(range(len(truth))))
    return [tables_of(truth + x, np.full(4, noise * stated), layout) for x in drawn]


def coverage(truth: np.ndarray, cls: int, noise: float, *, laplace: bool, stated: float = 1.0) -> float:
    rest = truth.sum(axis=0) - truth[cls]
    if len(truth) == 2:
        true = np.log(truth[cls] / rest) - log(truth[cls].sum() / rest.sum())
    else:
        true = np.log(truth[cls] / truth.sum(axis=0)) - log(truth[cls].sum() / truth.sum())
    hits = 0
    for tables in noisy_tables(truth, noise, 7, laplace=laplace, stated=stated):
        ends = cell_intervals(tables, cls, 0.95, laplace=laplace)
        hits += sum(low <= value <= high for (low, high), value in zip(ends, true, strict=True))
    return hits / 4_000


@pytest.mark.parametrize("laplace", [False, True])
@pytest.mark.parametrize("noise", [0.5, 5.0, 60.0])
def test_intervals_of_two_classes_hold_as_often_as_stated(noise: float, *, laplace: bool) -> None:
    assert coverage(TRUTH, 1, noise, laplace=laplace) >= FLOOR


@pytest.mark.parametrize("cls", [0, 2])
@pytest.mark.parametrize("laplace", [False, True])
def test_intervals_of_three_classes_hold_as_often_as_stated(cls: int, *, laplace: bool) -> None:
    assert coverage(np.vstack([TRUTH, TRUTH[0] / 2]), cls, 5.0, laplace=laplace) >= FLOOR


def test_noise_that_is_stated_too_small_is_found() -> None:
    assert coverage(TRUTH, 1, 5.0, laplace=False, stated=0.5) < FLOOR


def test_the_ends_are_near_those_of_the_delta_method() -> None:
    """With noise 1, log(900/100) has the deviation √(1/900² + 1/100²), and log(1134/392) with noise 2 has 0.0054.

    The first gets z = 2.005 for a miss rate of 0.045, the second z = 2.807 for 0.005.
    """
    low, high = cell_intervals(tables_of(TRUTH, np.ones(4), LAYOUT), 0, 0.95, laplace=False)[0]
    deviations = [(1 / 900**2 + 1 / 100**2) ** 0.5, 2 * (1 / 1134**2 + 1 / 392**2) ** 0.5]
    assert isclose(high - low, 2 * (2.005 * deviations[0] + 2.807 * deviations[1]), rel_tol=0.01)


def in_set(r: float, one: Ends, two: Ends, z: float) -> bool:
    (a, s), (b, t) = one, two
    return abs(a - r * b) <= z * sqrt(s * s + (r * t) ** 2)


@pytest.mark.parametrize("a", [-30.0, -1.0, 0.0, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("b", [-30.0, -1.0, 0.0, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("noises", [(1.0, 1.0), (5.0, 1.0), (1.0, 5.0)])
def test_the_ends_are_those_of_a_search(a: float, b: float, noises: tuple[float, float]) -> None:
    one, two = (a, noises[0]), (b, noises[1])
    low, high = ratio(one, two, 0.05)
    inside = [r for r in np.geomspace(1e-6, 1e6, 5_001) if in_set(float(r), one, two, 1.959963984540054)]
    assert all(low <= r * (1 + 1e-9) and r <= high * (1 + 1e-9) for r in inside)
    if inside and low > 1e-5:
        assert min(inside) < low * 1.01
    if inside and high < 1e5:
        assert max(inside) > high * 0.99


def test_the_box_is_that_of_two_laplace_quantiles() -> None:
    reach = log(2 / 0.05) / 2**0.5  # each count misses with 0.025: ln(1/0.025)·scale, and the scale is 1/√2
    low, high = box((100.0, 1.0), (50.0, 1.0), 0.05)
    assert isclose(low, (100 - reach) / (50 + reach))
    assert isclose(high, (100 + reach) / (50 - reach))
    assert box((3.0, 1.0), (1.0, 1.0), 0.05)[1] == inf


def test_the_share_of_right_predictions_is_between_its_ends() -> None:
    share, (low, high) = right_share((80.0, 20.0, 1.0), 0.05, laplace=False)
    assert share == 0.8
    assert low < 0.8 < high
    assert high - low < 0.04
    assert right_share((-3.0, 0.1, 5.0), 0.05, laplace=True)[1][1] == 1.0


def test_empty_cells_have_no_ends() -> None:
    tables = tables_of(np.array([[500.0, 0.3, 9.0, 9.0], [500.0, -0.2, 9.0, 9.0]]), np.ones(4), LAYOUT)
    assert cell_intervals(tables, 1, 0.95, laplace=False)[1] == (-inf, inf)
    assert exp(cell_intervals(tables, 1, 0.95, laplace=False)[0][1]) > 1
