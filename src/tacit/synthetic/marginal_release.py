"""Noisy residuals and the marginals that they give: unbiased, and consistent with each other.

For every set A of columns that is in a requested marginal, y_A = K_A·x_A + noise is released (`residuals` has K_A and
the sensitivity Δ_A; Xiao, He, Zhang and Kifer, NeurIPS 2023). The noise is discrete Gaussian of variance σ_A²:
Δ_A²/(2σ_A²)-zCDP (Canonne, Kamath and Steinke, arXiv:2004.00010v5, theorem 14). All residuals together cost the sum
(Bun and Steinke, arXiv:1605.02065v1, lemma 2.3).

**Marginals.** With N_A the product of the sizes nᵢ of A, x_B is the sum over A ⊆ B of P_A·K_A·x_A/N_A, spread evenly
over the columns of B that are not in A, since I = P + 11ᵀ/n in each column. So the same sum over y_A is unbiased.
Two marginals use the same y_A, so they agree on every set of columns that both have.

**Variance.** With v_A = σ_A²/N_A², a cell of B has the variance
Σ over A ⊆ B of v_A·∏_A (1 - 1/nᵢ)·∏_(B without A) 1/nᵢ².

**Noise split.** Let p_A = Δ_A²/(2N_A²), so that A costs p_A/v_A, and let c_A be the sum over B ⊇ A of
w_B·∏_A (nᵢ - 1)·∏_(B without A) 1/nᵢ, so that Σ c_A·v_A is the sum of the variances of all cells, weighted by w_B. By
Cauchy and Schwarz the least sum at a cost of ρ has v_A = √(p_A/c_A)·Σ √(c·p)/ρ. The split is computed in floats, then
rounded up to integers σ_A² whose cost is added exactly and is at most ρ.

**On real bits.** Residuals and noise are Python's integers, so nothing overflows or wraps; floats appear after the
noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from math import ceil, prod, sqrt

import numpy as np
import numpy.typing as npt

from tacit.guarantees.events import Neighbours
from tacit.noise import discrete_gaussian
from tacit.synthetic.coded_rows import CodedRows, Counts
from tacit.synthetic.residuals import squared_sensitivity

Columns = tuple[int, ...]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class ResidualNoise:
    """The variance of the noise of each residual, in squared steps, and the cost of all of them in zCDP."""

    sizes: Columns
    scale: int
    variances: Mapping[Columns, int]
    rho: Fraction

    def cell_variance(self, columns: Columns) -> float:
        """Return the variance of a cell of a marginal, in squared rows."""
        total = 0.0
        for subset in subsets(columns, self.sizes):
            sizes = [self.sizes[column] for column in subset]
            rest = prod(self.sizes[column] for column in columns) / prod(sizes)
            part = self.variances[subset] / prod(sizes) ** 2
            total += part * prod(1 - 1 / size for size in sizes) / rest**2
        return total / self.scale**2


def subsets(columns: Columns, sizes: Sequence[int]) -> list[Columns]:
    """Return all sets of the columns that have at least two codes, the empty set first.

    >>> subsets((0, 1, 2), [2, 1, 3])
    [(), (0,), (2,), (0, 2)]
    """
    useful = [column for column in columns if sizes[column] > 1]
    return list(chain.from_iterable(combinations(useful, number) for number in range(len(useful) + 1)))


def residual_noise(
    requested: Mapping[Columns, float], sizes: Sequence[int], steps: int, scale: int, rho: Fraction, by: Neighbours
) -> ResidualNoise:
    """Return the noise of the least weighted sum of variances at a cost of at most ρ.

    Args:
        requested: the weight of each marginal; a marginal is a tuple of rising columns.
        sizes: the number of codes of each column.
        steps: the steps of one unit in L1 at most, reach times scale.
        scale: the steps of one row.
        rho: the cost of all residuals together.
        by: the neighbour relation.
    """
    costs: dict[Columns, float] = {}
    for columns, importance in requested.items():
        cells = prod(sizes[column] for column in columns)
        for subset in subsets(columns, sizes):
            inner = prod(sizes[column] for column in subset)
            part = importance * prod(sizes[column] - 1 for column in subset) * inner / cells
            costs[subset] = costs.get(subset, 0.0) + part
    squares = {subset: squared_sensitivity([sizes[c] for c in subset], steps, by) for subset in costs}
    volumes = {subset: prod(sizes[c] for c in subset) for subset in costs}
    prices = {subset: squares[subset] / (2 * volumes[subset] ** 2) for subset in costs}
    norm = sum(sqrt(costs[subset] * prices[subset]) for subset in costs) / float(rho)
    slack = 1 + 2.0**-30
    variances = {
        subset: ceil(sqrt(prices[subset] / costs[subset]) * norm * volumes[subset] ** 2 * slack) for subset in costs
    }
    total = sum((Fraction(squares[subset], 2 * variances[subset]) for subset in costs), Fraction(0))
    if total > rho:  # floats have rounded the split down
        variances = {subset: ceil(variance * total / rho) for subset, variance in variances.items()}
        total = sum((Fraction(squares[subset], 2 * variances[subset]) for subset in costs), Fraction(0))
    return ResidualNoise(tuple(sizes), scale, variances, total)


def residual(counts: Counts) -> Integers:
    """Return K·x, as integers without a limit.

    >>> residual(np.array([[1, 0, 0], [0, 0, 0]])).tolist()
    [[2, -1, -1], [-2, 1, 1]]
    """
    values = counts.astype(object)
    for axis, size in enumerate(counts.shape):
        values = size * values - values.sum(axis=axis, keepdims=True)
    return np.asarray(values, dtype=object)


def measure(rows: CodedRows, noise: ResidualNoise) -> dict[Columns, Integers]:
    """Return the noisy residuals; this is the only step that reads rows."""
    found = {}
    for columns, variance in noise.variances.items():
        exact = residual(np.asarray(rows.counts(columns)))
        drawn = np.asarray(discrete_gaussian(Fraction(variance), exact.size), dtype=object)
        found[columns] = np.asarray(exact + drawn.reshape(exact.shape), dtype=object)
    return found


def marginal(noisy: Mapping[Columns, Integers], noise: ResidualNoise, columns: Columns) -> Floats:
    """Return the unbiased estimate of a marginal, in rows."""
    shape = tuple(noise.sizes[column] for column in columns)
    total = np.zeros(shape)
    for subset in subsets(columns, noise.sizes):
        part = noisy[subset].astype(np.float64)
        for axis in range(part.ndim):
            part = part - part.mean(axis=axis, keepdims=True)
        inner = prod(part.shape)
        spread = tuple(noise.sizes[column] if column in subset else 1 for column in columns)
        total = total + part.reshape(spread) / inner / (prod(shape) / inner)
    return np.asarray(total / noise.scale)
