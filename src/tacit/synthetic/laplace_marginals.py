"""Marginals with discrete Laplace noise on counts, for a cost in pure ε.

Residuals are not measured: K_A e_a has the L1 norm ∏ 2(nᵢ - 1), so noise on them would have about 4ᵏ times the variance
of noise on counts. Instead the counts of some sets B of columns get noise, and least squares combine them.

**Privacy.** One unit moves the counts of every set by at most S steps in L1 if it is added or removed, and by 2S if it
is changed (`coded_rows`). Discrete Laplace noise of scale b on integers costs S/b (2S/b) in ε (Ghosh, Roughgarden and
Sundararajan, SIAM J. Comput. 41(6), 2012), and all sets together cost the sum. The scales are b_B = kS/(ε·s_B), k = 1
or 2, with rational shares s_B that add up to 1: the cost is ε exactly.

**Least squares.** The noise of B has the variance τ_B in each cell. Summed over the columns that A lacks, the counts of
B ⊇ A estimate P_A x_A with covariance τ_B·N_B/N_A·P_A (N has the cells of a set). These estimates are independent, so
weights proportional to N_A/(N_B τ_B) have the least variance; v_A is one over the sum of these precisions. The parts of
one measured set are orthogonal, but their noise is not independent, as Laplace noise is not normal. The variance of a
sum of cells needs only that they are uncorrelated.

**Errors.** The estimate of a sum of cells (`marginal_parts`) adds up the noisy integers of each B with the weight

    Σ over A ⊆ B and the sum's columns T of ω_BA·∏_A (gᵢ - kᵢ/nᵢ)·∏_(T without A) kᵢ/nᵢ,

where gᵢ is 1 for a code that the sum takes, else 0. It depends only on which columns of B and T have such a code. So
there are few different weights, and `laplace_reach` has the quantile of their sum of Laplace variables, with half a
step of the largest weight for the grid (`noise_tails`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Literal

import numpy as np

from tacit.errors import RefusedError
from tacit.guarantees.events import Neighbours
from tacit.laws.lattice import DiscreteLaplace
from tacit.noise import MAX_SCALE, discrete_laplace
from tacit.query.noise_tails import laplace_reach
from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.joint_counts import joint_counts
from tacit.synthetic.laplace_shares import best_shares
from tacit.synthetic.marginal_parts import projected
from tacit.synthetic.marginal_release import Columns, Floats, Integers, subsets

_LEAST_VARIANCE = 1e-30


@dataclass(frozen=True)
class LaplaceMarginals:
    """Noisy counts of sets of columns, and the parts of marginals that they give together."""

    sizes: Columns
    scale: int
    scales: Mapping[Columns, Fraction]
    """The scale of the noise of each measured set, in steps."""
    law: Literal["laplace"] = "laplace"

    @property
    def amounts(self) -> Mapping[Columns, Fraction]:
        """The scale of the noise of each measured set, in steps."""
        return self.scales

    def _cells(self, columns: Columns) -> int:
        return prod(self.sizes[column] for column in columns)

    @cached_property
    def _precise(self) -> dict[Columns, float]:
        """1/(N_B τ_B) of each measured set, in rows; noise of almost no variance counts as a little more."""
        return {
            columns: self.scale**2 / (self._cells(columns) * max(DiscreteLaplace(scale).variance, _LEAST_VARIANCE))
            for columns, scale in self.scales.items()
        }

    @cached_property
    def _sums(self) -> dict[Columns, float]:
        """The sum over B ⊇ A of 1/(N_B τ_B), for each part A."""
        sums: dict[Columns, float] = {}
        for columns, precision in self._precise.items():
            for subset in subsets(columns, self.sizes):
                sums[subset] = sums.get(subset, 0.0) + precision
        return sums

    @cached_property
    def variances(self) -> dict[Columns, float]:
        """v_A for each part, in squared rows."""
        return {columns: 1 / (self._cells(columns) * total) for columns, total in self._sums.items()}

    def measure(self, rows: CodedRows) -> dict[Columns, Integers]:
        """Return the noisy counts; this is the only step that reads rows."""
        found = {}
        for columns, counts in joint_counts(rows, list(self.scales)):
            drawn = np.asarray(discrete_laplace(self.scales[columns], counts.size), dtype=object)
            found[columns] = np.asarray(counts.astype(object) + drawn.reshape(counts.shape), dtype=object)
        return found

    def parts(self, noisy: Mapping[Columns, Integers]) -> dict[Columns, Floats]:
        """Return the least-squares estimates of the parts, in rows."""
        found: dict[Columns, Floats] = {}
        for columns, values in noisy.items():
            rows = values.astype(np.float64) / self.scale
            for subset in subsets(columns, self.sizes):
                others = tuple(place for place, column in enumerate(columns) if column not in subset)
                weight = self._precise[columns] / self._sums[subset]
                part = weight * projected(rows.sum(axis=others))
                found[subset] = found[subset] + part if subset in found else np.asarray(part)
        return found

    def reach(self, columns: Columns, chosen: Sequence[int], beta: float) -> float:
        """Return a bound that the error of a sum of cells exceeds with probability at most β, in rows."""
        taken = {c: k for c, k in zip(columns, chosen, strict=True) if self.sizes[c] > 1}
        if any(k == 0 for k in chosen):
            return 0.0
        weights, scales, counts = [], [], []
        for measured, scale in self.scales.items():
            for weight, count in self._weights(measured, taken):
                weights.append(abs(weight))
                scales.append(abs(weight) * float(scale))
                counts.append(float(count))
        bound = laplace_reach(np.array(scales), np.array(counts), beta)
        return (bound + max(weights) / 2) / self.scale

    def _weights(self, measured: Columns, taken: Mapping[int, int]) -> Iterator[tuple[float, int]]:
        """Yield the weights of the integers of a measured set in a sum of cells, and how many have each weight."""
        both = [column for column in measured if column in taken]
        shares = {column: k / self.sizes[column] for column, k in taken.items()}
        rest = prod(self.sizes[column] for column in measured if column not in taken)
        alone = prod(shares[column] for column in taken if column not in both)
        parts = [
            (subset, self._precise[measured] / self._sums[subset])
            for size in range(len(both) + 1)
            for subset in combinations(both, size)
        ]
        for inside in product((True, False), repeat=len(both)):
            has = dict(zip(both, inside, strict=True))
            count = rest * prod(taken[c] if has[c] else self.sizes[c] - taken[c] for c in both)
            if count:
                total = sum(
                    weight * prod(has[c] - shares[c] if c in subset else shares[c] for c in both)
                    for subset, weight in parts
                )
                yield total * alone, count


def laplace_marginals(
    requested: Mapping[Columns, float], sizes: Sequence[int], steps: int, scale: int, epsilon: Fraction, by: Neighbours
) -> LaplaceMarginals:
    """Return noise on counts that costs ε, with a small weighted sum of variances, or raise RefusedError.

    Args:
        requested: the weight of each marginal; a marginal is a tuple of rising columns.
        sizes: the number of codes of each column.
        steps: the steps of one unit in L1 at most, reach times scale.
        scale: the steps of one row.
        epsilon: the cost of all counts together.
        by: the neighbour relation.
    """
    moved = steps if by == "add/remove" else 2 * steps
    shares = best_shares(requested, sizes)
    scales = {columns: moved / (epsilon * share) for columns, share in shares.items()}
    if max(scales.values()) > MAX_SCALE:
        raise RefusedError(
            "The noise of this release would be larger than tacit can draw.",
            hint="Spend more, lower the reach, or ask for fewer marginals.",
        )
    return LaplaceMarginals(tuple(sizes), scale, scales)
