from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.query.aggregates.quantile_trees import Shape, Tree, mean_variance, shape
from tacit.query.aggregates.ranks import Ranks, TreeNoise
from tacit.query.noise_tails import gaussian_reach, laplace_reach

Floats = npt.NDArray[np.float64]

SHAPES = [Shape(1, 1, 1), Shape(5, 1, 1), Shape(3, 2, 2), Shape(1, 4, 2), Shape(2, 3, 3), Shape(3, 2, 4)]
variances = st.floats(0.01, 100.0)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    form = draw(st.sampled_from(SHAPES))
    return Tree(form, tuple(draw(variances) for _ in range(form.levels)))


def design(tree: Tree) -> tuple[Floats, Floats]:
    """Every node as a row of ones over its bins, and the variance of its noise."""
    bins = tree.shape.bins
    rows, noise = [], []
    for block, variance in zip(tree.shape.blocks, tree.variances, strict=True):
        for start in range(0, bins, block):
            rows.append([float(start <= one < start + block) for one in range(bins)])
            noise.append(variance)
    return np.array(rows), np.array(noise)


def by_level(tree: Tree, nodes: Floats) -> list[Floats]:
    sizes = [tree.shape.bins // block for block in tree.shape.blocks]
    return np.split(nodes, np.cumsum(sizes)[:-1])


@settings(deadline=None)
@given(trees(), st.integers(0, 2**32))
def test_the_fit_is_the_weighted_least_squares_solution(tree: Tree, seed: int) -> None:
    rows, noise = design(tree)
    nodes = np.random.default_rng(seed).normal(size=len(rows)) * 10
    weights = 1 / np.sqrt(noise)
    expected, *_ = np.linalg.lstsq(rows * weights[:, None], nodes * weights, rcond=None)
    assert np.allclose(tree.fit(by_level(tree, nodes)), expected, atol=1e-8)


@settings(deadline=None)
@given(trees(), st.floats(0, 1), st.floats(0, 1), st.data())
def test_the_noise_of_a_prefix_sum_is_that_of_least_squares(
    tree: Tree, share: float, q: float, data: st.DataObject
) -> None:
    rows, noise = design(tree)
    one = data.draw(st.integers(0, tree.shape.bins - 1))
    functional = np.where(np.arange(tree.shape.bins) < one, 1.0, 0.0) - q
    functional[one] += share
    inverse = np.linalg.inv(rows.T @ (rows / noise[:, None]))
    weights = rows / noise[:, None] @ inverse @ functional
    variance = float(functional @ inverse @ functional)
    assert tree.variance(np.array([one]), np.array([share]), q)[0] == pytest.approx(variance, abs=1e-9)
    parts = tree.terms(one, share, q)
    listed = np.repeat(parts.weights, parts.counts.astype(int))
    assert np.allclose(np.sort(listed), np.sort(weights), atol=1e-8)
    own = np.array(tree.variances)[parts.levels]
    assert float(parts.weights**2 * own @ parts.counts) == pytest.approx(variance, abs=1e-9)


def test_the_shape_has_the_least_noise_of_all_that_are_tried() -> None:
    def product_of(form: Shape) -> float:
        return mean_variance(form, 2) * mean_variance(form, 1)

    for levels, branching in ((2, 64), (3, 16), (3, 32), (4, 8), (6, 4)):
        other = Shape(-(-4096 // branching ** (levels - 1)), branching, levels)
        assert product_of(shape(4096)) <= product_of(other)


@pytest.mark.parametrize("bins", [1, 2, 3, 17, 100, 121, 2049, 3126, 4096])
def test_a_shape_has_all_bins_and_few_more(bins: int) -> None:
    assert bins <= shape(bins).bins <= 1.2 * bins + 2


@pytest.mark.parametrize("beta", [0.5, 0.1, 0.05, 0.01, 1e-4, 1e-5])
def test_one_laplace_variable_and_many_have_their_known_tails(beta: float) -> None:
    one = np.ones(1)
    assert laplace_reach(3 * one, one, beta) == pytest.approx(-3 * np.log(beta), rel=2e-5)
    many = laplace_reach(one, 10**6 * one, beta)
    assert many == pytest.approx(gaussian_reach(2e6, beta), rel=1e-4)


def test_two_laplace_variables_have_the_tail_of_the_closed_form() -> None:
    b, c = 2.0, 0.7
    t = laplace_reach(np.array([b, c]), np.ones(2), 0.05)
    assert (b * b * np.exp(-t / b) - c * c * np.exp(-t / c)) / (b * b - c * c) == pytest.approx(0.05, abs=1e-6)


@given(st.lists(st.floats(0.01, 10.0), min_size=1, max_size=6), st.floats(1e-12, 1e-3))
def test_far_tails_are_bounded(scales: list[float], beta: float) -> None:
    found = laplace_reach(np.array(scales), np.ones(len(scales)), beta)
    deviation = np.sqrt(2 * np.sum(np.square(scales)))
    assert gaussian_reach(float(deviation**2), beta) * 0.999 <= found
    assert found <= deviation * (np.log(2 / beta) + 10)


def test_nothing_reaches_nowhere() -> None:
    assert laplace_reach(np.zeros(1), np.ones(1), 0.05) == 0


# --- ranks ----------------------------------------------------------------------------------------------------------


def ranks_of(counts: list[float], scale: float = 1e-9) -> Ranks:
    form = Shape(len(counts), 1, 1)
    noise = TreeNoise(Tree(form, (2 * scale**2,)), "laplace", (scale,))
    return Ranks(np.concatenate(([0.0], np.cumsum(counts))), noise)


def test_a_rank_is_found_within_its_bin() -> None:
    for one, share in ranks_of([10.0, 20.0, 10.0]).find(0.5, 0.0):
        assert one == 1
        assert share == pytest.approx(0.5)


def test_a_rank_along_empty_bins_has_two_ends() -> None:
    assert ranks_of([5.0, 0.0, 0.0, 5.0]).find(0.5, 0.0) == ((0, 1.0), (3, 0.0))


def test_ranks_beyond_all_rows_are_at_the_ends() -> None:
    ranks = ranks_of([5.0, 5.0])
    assert ranks.find(0.0, 11.0)[0] == (1, 1.0)
    assert ranks.find(1.0, -11.0)[1] == (0, 0.0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.floats(0.01, 0.99), st.floats(0.5, 50.0))
def test_the_ends_lie_around_what_is_found(seed: int, q: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    ranks = ranks_of((rng.integers(0, 30, 40) + rng.laplace(0, scale, 40)).tolist(), scale)
    if ranks.rows > 0:
        (first, last), (low, high) = ranks.find(q, 0.0), ranks.ends(q, 0.0, 0.05)
        assert low <= first <= last <= high or (first[0] + first[1] <= last[0] + last[1] <= high[0] + high[1] + 1e-9)
        assert low[0] + low[1] <= first[0] + first[1] + 1e-9
