"""Marginals from noisy residuals against linear algebra, and against the exact tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import ArrayRows
from tacit.synthetic.marginal_release import (
    Columns,
    Integers,
    ResidualNoise,
    marginal,
    measure,
    residual,
    residual_noise,
    subsets,
)
from tacit.synthetic.residuals import squared_sensitivity

SIZES = (2, 3, 1, 4)
REQUESTED: dict[Columns, float] = {(0, 1): 1.0, (1, 3): 2.0, (0, 2): 1.0, (3,): 1.0}
RELATIONS: tuple[Neighbours, ...] = ("add/remove", "change one")


def rows() -> ArrayRows:
    generator = np.random.default_rng(1)
    codes = np.stack([generator.integers(0, size, 50) for size in SIZES], axis=1).astype(np.uint16)
    return ArrayRows(codes, np.full(50, 4, dtype=np.int64), SIZES, scale=4, reach=2)


def noise_for(rho: Fraction, by: Neighbours = "add/remove") -> ResidualNoise:
    return residual_noise(REQUESTED, SIZES, 8, 4, rho, by)


def exact_residuals(noise: ResidualNoise) -> dict[Columns, Integers]:
    return {columns: residual(np.asarray(rows().counts(columns))) for columns in noise.variances}


def test_marginals_of_exact_residuals_are_the_exact_tables() -> None:
    noise = noise_for(Fraction(1))
    for columns in REQUESTED:
        found = marginal(exact_residuals(noise), noise, columns)
        np.testing.assert_allclose(found, rows().counts(columns) / 4, atol=1e-9)


@pytest.mark.parametrize("by", RELATIONS)
@pytest.mark.parametrize("rho", [Fraction(1, 10**9), Fraction(1, 3), Fraction(50)])
def test_all_residuals_cost_at_most_rho_and_hardly_less(rho: Fraction, by: Neighbours) -> None:
    noise = noise_for(rho, by)
    cost = Fraction(0)
    for columns, variance in noise.variances.items():
        square = squared_sensitivity([SIZES[column] for column in columns], 8, by)
        cost += Fraction(square, 2 * variance)
    assert cost == noise.rho <= rho
    assert noise.rho > rho * Fraction(9, 10)  # at ρ = 50 the variances are small integers


def responses(
    noise: ResidualNoise, columns: Columns
) -> dict[Columns, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return the matrix that takes each residual to a marginal, column by column."""
    found = {}
    for subset in subsets(columns, SIZES):
        zeros = {each: np.zeros([SIZES[c] for c in each], dtype=object) for each in noise.variances}
        parts = []
        for place in product(*(range(SIZES[column]) for column in subset)):
            one = {**zeros, subset: zeros[subset].copy()}
            one[subset][place] = 1
            parts.append(marginal(one, noise, columns).reshape(-1))
        found[subset] = np.stack(parts, axis=1)
    return found


@pytest.mark.parametrize("columns", list(REQUESTED))
def test_variances_are_those_of_the_linear_map(columns: Columns) -> None:
    noise = noise_for(Fraction(1, 7))
    exact = sum(noise.variances[each] * (matrix**2).sum(axis=1) for each, matrix in responses(noise, columns).items())
    np.testing.assert_allclose(exact, noise.cell_variance(columns), rtol=1e-9)


def test_no_other_split_of_the_same_cost_has_a_smaller_sum_of_variances() -> None:
    noise = noise_for(Fraction(1, 1000))

    def total(variances: dict[Columns, int]) -> float:
        other = ResidualNoise(SIZES, 4, variances, noise.rho)
        return sum(
            weight * prod(SIZES[c] for c in columns) * other.cell_variance(columns)
            for columns, weight in REQUESTED.items()
        )

    squares = {each: squared_sensitivity([SIZES[c] for c in each], 8, "add/remove") for each in noise.variances}
    best = total(dict(noise.variances))
    generator = np.random.default_rng(2)
    for _ in range(200):
        moved = {each: v * float(np.exp(generator.normal(0, 0.3))) for each, v in noise.variances.items()}
        cost = sum(squares[each] / (2 * moved[each]) for each in moved)
        same = {each: int(v * cost / float(noise.rho)) for each, v in moved.items()}
        assert total(same) > best * (1 - 1e-6)


def test_released_marginals_agree_and_have_the_stated_variance() -> None:
    """4,000 releases: a variance of 0.85 or 1.15 times the stated one is rejected.

    The mean of 4,000 squared errors has a relative standard deviation of √(2/4000) = 0.022. The bound of 0.15 is 6.7 of
    them: a false alarm in 1e-10 of the runs for each of the two tests of a normal mean.
    """
    noise = noise_for(Fraction(1, 100))
    exact = rows().counts((0, 1))[0, 0] / 4
    errors = []
    for _ in range(4000):
        noisy = measure(rows(), noise)
        left, right = marginal(noisy, noise, (0, 1)), marginal(noisy, noise, (1, 3))
        np.testing.assert_allclose(left.sum(axis=0), right.sum(axis=1), atol=1e-6)
        errors.append(left[0, 0] - exact)
    ratio = float(np.mean(np.square(errors))) / noise.cell_variance((0, 1))
    assert 0.85 < ratio < 1.15
