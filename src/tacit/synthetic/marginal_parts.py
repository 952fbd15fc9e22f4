"""Marginals as sums of independent parts, with the variance and the largest error of every sum of cells.

Let P_A be the projection of the counts of a set A of columns onto what no smaller set has: the product over its columns
of I - 11ᵀ/n. The counts of a set B are the sum over A ⊆ B of the part P_A·x_A, spread evenly over the other columns of
B, because I = P + 11ᵀ/n in each column. Both laws of noise give unbiased estimates r_A of the parts; their errors are
independent between sets A, and that of r_A has the covariance v_A·P_A. With them, marginals agree on every set of
columns that both have.

**A sum of cells.** Let the sum take kᵢ of the nᵢ codes of each column i of B, in all combinations, and write g for its
indicator. P_A g, with the other columns of B summed out evenly, is the product over A of (g - kᵢ/nᵢ) times the product
over B without A of kᵢ/nᵢ. So the sum over B of the estimates has the variance

    Σ over A ⊆ B of v_A·∏_A kᵢ(1 - kᵢ/nᵢ)·∏_(B without A) (kᵢ/nᵢ)²,

and one cell is the case of kᵢ = 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.marginal_release import Columns, Floats, Integers, subsets

Parts = Mapping[Columns, Floats]


class MarginalNoise(Protocol):
    """The noise of a release of marginals: what is measured, and how far the estimates are from the truth."""

    @property
    def law(self) -> Literal["gaussian", "laplace"]:
        """The law of the noise."""

    @property
    def sizes(self) -> Columns:
        """The number of codes of each column."""

    @property
    def amounts(self) -> Mapping[Columns, object]:
        """The amount of noise of each measured set: σ² of Gaussian noise or the scale of Laplace noise, in steps."""

    @property
    def variances(self) -> Mapping[Columns, float]:
        """v_A for each part, in squared rows."""

    def measure(self, rows: CodedRows) -> dict[Columns, Integers]:
        """Return the noisy integers of each measured set; this is the only step that reads rows."""

    def parts(self, noisy: Mapping[Columns, Integers]) -> dict[Columns, Floats]:
        """Return the estimates of the parts, in rows."""

    def reach(self, columns: Columns, chosen: Sequence[int], beta: float) -> float:
        """Return a bound that the error of a sum of cells exceeds with probability at most β, in rows.

        Args:
            columns: the columns of the marginal.
            chosen: how many codes of each of them the sum takes.
            beta: the probability of a larger error.
        """


def projected(values: Floats) -> Floats:
    """Return P·x.

    >>> projected(np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def spread(part: Floats, subset: Columns, columns: Columns, sizes: Sequence[int]) -> Floats:
    """Return a part of some columns, spread evenly over the other columns of a marginal; it broadcasts."""
    shape = [sizes[column] if column in subset else 1 for column in columns]
    return np.asarray(part.reshape(shape) / prod(sizes[column] for column in columns if column not in subset))


def marginal_of(parts: Parts, sizes: Sequence[int], columns: Columns) -> Floats:
    """Return a marginal as the sum of its parts."""
    total = np.zeros([sizes[column] for column in columns])
    for subset in subsets(columns, sizes):
        total = total + spread(parts[subset], subset, columns, sizes)
    return total


def variance_of(
    variances: Mapping[Columns, float], sizes: Sequence[int], columns: Columns, chosen: npt.ArrayLike
) -> float:
    """Return the variance of a sum of cells that takes some number of codes of each column."""
    shares = dict(zip(columns, np.asarray(chosen) / [sizes[column] for column in columns], strict=True))
    total = 0.0
    for subset in subsets(columns, sizes):
        inner = prod(sizes[column] * shares[column] * (1 - shares[column]) for column in subset)
        total += variances[subset] * inner * prod(shares[column] ** 2 for column in columns if column not in subset)
    return float(total)
