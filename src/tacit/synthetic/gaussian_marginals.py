"""Marginals with discrete Gaussian noise on their residuals; `marginal_release` has the split and its proof.

**Sums of cells.** r_A = P_A·y_A/N_A for the noisy residual y_A, so v_A = σ_A²/N_A² (the variance of discrete Gaussian
noise is σ² less a part of at most 3·10⁻⁹ of it, because σ² ≥ 1). A sum of cells is a sum of independent whole noises;
`noise_tails` bounds it by the normal law of the same variance and half a step of the largest weight.

**Change one, jointly.** `residual_noise` adds up the largest costs of all residuals. One changed unit moves all of them
together, so the sum over A of ‖K_A(x - x')‖²/(2σ_A²) has a smaller maximum. It is convex in the unit's two sets of
steps, so its maximum is at extreme points (`residuals`): a unit that comes or goes costs Σ t_A/2, with
t_A = S²∏_A nᵢ(nᵢ - 1)/σ_A²; a unit that moves from a to b, which differ in the columns D, costs

    Σ_A t_A·(1 - ∏ over i in both A and D of -1/(nᵢ - 1)).

With few columns the maximum over all D is computed, and all σ² are multiplied by its ratio to the cost that was
assumed. The maximum is a sum of at most a million terms of one sign as floats, so it is right to 2⁻³³; the ratio is
enlarged by 2⁻³⁰, and σ² is rounded up. With many columns the sum of the maxima stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, prod
from typing import Literal

import numpy as np

from tacit.errors import RefusedError
from tacit.guarantees.events import Neighbours
from tacit.noise import discrete_gaussian
from tacit.query.noise_tails import gaussian_reach
from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.joint_counts import joint_counts
from tacit.synthetic.marginal_parts import projected, variance_of
from tacit.synthetic.marginal_release import Columns, Floats, Integers, ResidualNoise, residual, residual_noise, subsets

MOST_VARIANCE = 2**112
_MOST_COLUMNS, _MOST_TERMS = 14, 2**24


@dataclass(frozen=True)
class GaussianMarginals:
    """Noisy residuals of marginals."""

    noise: ResidualNoise
    law: Literal["gaussian"] = "gaussian"

    @property
    def sizes(self) -> Columns:
        """The number of codes of each column."""
        return self.noise.sizes

    @property
    def amounts(self) -> Mapping[Columns, int]:
        """σ² of each residual, in squared steps."""
        return self.noise.variances

    @cached_property
    def variances(self) -> dict[Columns, float]:
        """v_A for each part, in squared rows."""
        scale = self.noise.scale
        return {
            columns: float(Fraction(variance, (self._cells(columns) * scale) ** 2))
            for columns, variance in self.noise.variances.items()
        }

    def _cells(self, columns: Columns) -> int:
        return prod(self.sizes[column] for column in columns)

    def measure(self, rows: CodedRows) -> dict[Columns, Integers]:
        """Return the noisy residuals; this is the only step that reads rows."""
        found = {}
        for columns, counts in joint_counts(rows, list(self.noise.variances)):
            exact = residual(np.asarray(counts))
            drawn = np.asarray(discrete_gaussian(Fraction(self.noise.variances[columns]), exact.size), dtype=object)
            found[columns] = np.asarray(exact + drawn.reshape(exact.shape), dtype=object)
        return found

    def parts(self, noisy: Mapping[Columns, Integers]) -> dict[Columns, Floats]:
        """Return the estimates of the parts, in rows."""
        scale = self.noise.scale
        return {
            columns: projected(values.astype(np.float64)) / (self._cells(columns) * scale)
            for columns, values in noisy.items()
        }

    def reach(self, columns: Columns, chosen: Sequence[int], beta: float) -> float:
        """Return a bound that the error of a sum of cells exceeds with probability at most β, in rows."""
        variance = variance_of(self.variances, self.sizes, columns, chosen)
        if variance <= 0:
            return 0.0
        shares = {column: k / self.sizes[column] for column, k in zip(columns, chosen, strict=True)}
        largest = 0.0
        for subset in subsets(columns, self.sizes):
            weight = prod(max(share, 1 - share) if c in subset else share for c, share in shares.items())
            largest = max(largest, weight / (self._cells(subset) * self.noise.scale))
        return gaussian_reach(variance, beta) + largest / 2


def gaussian_marginals(
    requested: Mapping[Columns, float], sizes: Sequence[int], steps: int, scale: int, rho: Fraction, by: Neighbours
) -> GaussianMarginals:
    """Return the noise of the least weighted sum of variances at a cost of at most ρ, or raise RefusedError.

    The arguments are those of `residual_noise`.
    """
    noise = residual_noise(requested, sizes, steps, scale, rho, by)
    if by == "change one":
        noise = _jointly(noise, steps, rho)
    if max(noise.variances.values()) > MOST_VARIANCE:
        raise RefusedError(
            "The noise of this release would be larger than tacit can draw.",
            hint="Spend more, lower the reach, or ask for fewer or smaller marginals.",
        )
    return GaussianMarginals(noise)


def joint_cost(variances: Mapping[Columns, int], sizes: Sequence[int], steps: int) -> float | None:
    """Return the zCDP of all residuals under "change one"; None if there are too many columns to compute it.

    >>> joint_cost({(): 8, (0,): 8}, [2], 1)
    0.5
    """
    used = sorted({column for columns in variances for column in columns})
    if len(used) > _MOST_COLUMNS or len(variances) << len(used) > _MOST_TERMS:
        return None
    masks = np.arange(1 << len(used))
    factors = {c: np.where(masks >> bit & 1, -1 / (sizes[c] - 1), 1.0) for bit, c in enumerate(used)}
    moved, added = np.zeros(len(masks)), 0.0
    for columns, variance in variances.items():
        each = float(Fraction(prod(sizes[c] * (sizes[c] - 1) for c in columns) * steps**2, variance))
        added += each / 2
        if columns:
            moved += each * (1 - prod(factors[c] for c in columns))
    return max(added, float(moved.max()))


def _jointly(noise: ResidualNoise, steps: int, rho: Fraction) -> ResidualNoise:
    """Return less noise if the joint cost of all residuals is below the sum of the single costs."""
    cost = joint_cost(noise.variances, noise.sizes, steps)
    ratio = 1.0 if cost is None else cost / float(rho) * (1 + 2.0**-30)
    if cost is None or ratio >= 1:
        return noise
    exact = Fraction(ratio)
    return replace(noise, variances={columns: ceil(value * exact) for columns, value in noise.variances.items()})
