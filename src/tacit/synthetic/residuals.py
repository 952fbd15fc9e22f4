"""Residuals of marginals and their sensitivity (Xiao, He, Zhang, Kifer, NeurIPS 2023).

The residual of a set A of columns with sizes nᵢ is K_A·x_A, where x_A are the counts of A in integer steps and
K_A = ⊗(nᵢI - 11ᵀ) = ⊗nᵢPᵢ, with Pᵢ the projection orthogonal to 1. Let S bound the steps of one unit in L1.

**Sensitivity.** A unit's steps are in {x ≥ 0, Σx ≤ S}, whose extreme points are 0 and S·e_a. ‖K·‖² is convex, so its
maximum over one unit, and over differences of two, is at extreme points. Add/remove: ‖K e_a‖² = ∏nᵢ(nᵢ-1), as
‖nPe_a‖² = n²(1-1/n). Change one: ⟨K e_a, K e_b⟩ = ∏ nᵢ(nᵢ-1) over columns with aᵢ = bᵢ times ∏ -nᵢ over the others, so
‖K(e_a - e_b)‖² = 2∏nᵢ(nᵢ-1)·(1 - ∏_D -1/(nᵢ-1)) for the set D of columns that differ. The product is least if D is one
column with the least n: 2∏nᵢ(nᵢ-1)·n/(n-1). The total (A empty) moves by at most S under both relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from tacit.guarantees.events import Neighbours


def squared_sensitivity(sizes: Sequence[int], steps: int, neighbours: Neighbours) -> int:
    """Return the largest squared L2 change of a residual by one unit, whose columns have at least two codes each.

    >>> squared_sensitivity([2, 3], 1, "add/remove"), squared_sensitivity([2, 3], 1, "change one")
    (12, 48)
    """
    one = prod(n * (n - 1) for n in sizes) * steps**2
    if neighbours == "add/remove" or not sizes:
        return one
    least = min(sizes)
    return int(Fraction(2 * one * least, least - 1))
