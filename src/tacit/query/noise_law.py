"""The noise of one bundle, and the sensitivity that it must cover.

**Sensitivity.** By construction (see `plan`) one unit's integers are in at most g = min(max_groups, cells) cells. In
each cell the absolute values of a bundle's integers sum to at most its contribution K. In all cells together they sum
to at most T = g·K, or to the bundle's total if a reach makes that smaller. So a bundle moves by at most

| | add/remove | change one | change one, of one integer a cell |
|---|---|---|---|
| L1 | T | 2T | min(2T, c·D) |
| L2 squared | K·T | 2K·T if all integers are ≥ 0 (or all ≤ 0), else 4K·T | the same, and at most c·D² |

*Add/remove.* Let kᵢ be the sum of absolute values in cell i. The L1 norm is Σkᵢ ≤ T. The squared L2 norm is at most
Σkᵢ² ≤ K·Σkᵢ ≤ K·T. Let a row of weight 1 add at most B. With max_groups = G, max_rows = M and reach = R, K is
min(M, R)·B and T is min(R, g·M)·B. So L1 ≤ min(R, G·M)·B and L2² ≤ min(R², M·R, G·M²)·B². For rows beyond a
reach, up to C rows a unit, both K and T are (C - R)·B, because the weights of a unit's rows sum to at most C - R.

*Change one* is a removal and an addition. For non-negative integers the vectors x and y of two units satisfy ‖x-y‖² ≤
‖x‖² + ‖y‖², since ⟨x, y⟩ ≥ 0. For others ‖x-y‖ ≤ ‖x‖ + ‖y‖. The two units are in at most c = min(2g, cells) cells
together. If all integers are ≥ 0 (or all ≤ 0), two of one cell differ by at most D = K. So the count of a whole table
moves by 1, not by 2. Otherwise let a row of weight 1 add from -α to β, so that B = max(α, β). The weights of a unit's
rows in a cell sum to at most K/B. So its integer is from -α·K/B to β·K/B, and two of these differ by at most
D = (α + β)·K/B. This last bound is used if there is a reach.

**A public size** (`plan`; only under change one). The one integer of a combined bundle moves by at most its
contribution K: L1 is K and L2 squared is K². The cells of a table that adds up to n move by 2 in L1 and by 2 in L2
squared, with the rest as one of the cells: a row leaves one cell and enters another. That is 2T and 2K·T, since one row
has K = T = 1. If there are two cells, the noise is added to the first alone and subtracted from the second. The answer
is then a function of n and of the first count with noise, and that count moves by 1. So a table with noise on every
cell has at least three of them, and the bound by c does not apply.

A bundle that is added up over keys (`over`) may get all cells of a unit in one of its cells. It then has one cell of
contribution T in place of g cells of contribution K. Blocks of bins add up integers of one cell, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import erfc, exp, prod, sqrt
from typing import Literal

from tacit.arrays import WideInts
from tacit.errors import InternalError
from tacit.guarantees import gaussian_law, laplace_law
from tacit.guarantees.events import ApproxRelease, DiscreteGaussianNoise, DiscreteLaplaceNoise
from tacit.noise.bits import SYSTEM, BitSource
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.laplace import discrete_laplace
from tacit.query.plan import Bundle, Plan

Law = Literal["laplace", "gaussian"]
_HALVINGS = 60
_FITS = 2**62
Mixture = Callable[[float, float, float], float]
"""Bounds Pr[|v·noise₁ + w·noise₂| > t] for v, w ≥ 0, from the continuous law.

Two Laplace variables of scales b ≠ c: (b²e^(-t/b) - c²e^(-t/c))/(b² - c²). Equal scales: e^(-t/b)(1 + t/2b). One grid
step is subtracted from t for the difference between the integers' law and the continuous law.
"""


def sensitivity(plan: Plan, bundle: Bundle, law: Law) -> int:
    """Return the largest change of a bundle by one unit: in L1 for Laplace noise, in L2 squared for Gaussian noise."""
    if _is_one_integer(plan, bundle):
        return bundle.contribution if law == "laplace" else bundle.contribution**2
    total = _total(plan, bundle)
    cell = min(bundle.contribution, total) if bundle.over is None else total
    moved = total if law == "laplace" else cell * total
    if plan.table.neighbours == "add/remove":
        return moved
    changed = moved * (2 if bundle.nonnegative or law == "laplace" else 4)
    if bundle.over is not None or bundle.width > 1 or not (bundle.nonnegative or bundle.total):
        return changed
    difference = cell if bundle.nonnegative else _difference(bundle, cell)
    return min(changed, _changed_cells(plan, bundle) * difference ** (1 if law == "laplace" else 2))


def _is_one_integer(plan: Plan, bundle: Bundle) -> bool:
    """Return whether one integer gets all noise of a bundle, because the size is public."""
    one = bundle.combined is not None or (plan.halves and bundle.over is None)
    if one and plan.table.neighbours != "change one":
        raise InternalError("the size of a table is public only if neighbours change one unit.")
    return one


def _total(plan: Plan, bundle: Bundle) -> int:
    """Return T, the largest sum of absolute values of one unit's integers in all cells."""
    cells = plan.groups * bundle.contribution
    return cells if bundle.total is None else min(bundle.total, cells)


def _difference(bundle: Bundle, cell: int) -> int:
    """Return D, the largest difference of two units' integers in one cell, for a measure of both signs."""
    low, high = bundle.measures[0].extremes
    return -(-cell * (max(high, 0) - min(low, 0)) // max(abs(low), abs(high)))


def changed_integers(plan: Plan, bundle: Bundle) -> int:
    """Return how many of a bundle's integers can differ between neighbouring tables.

    A unit's integers in a cell are whole and sum to at most the contribution, so at most that many of them are not 0.
    The same holds for its integers in all cells and the total.
    """
    if _is_one_integer(plan, bundle):
        return 1
    units = 2 if plan.table.neighbours == "change one" else 1
    nonzero = units * min(plan.groups * min(bundle.width, bundle.contribution), _total(plan, bundle))
    return min(_changed_cells(plan, bundle) * bundle.width, nonzero)


def _changed_cells(plan: Plan, bundle: Bundle) -> int:
    """Return in how many cells neighbouring tables can differ."""
    most = plan.groups * (2 if plan.table.neighbours == "change one" else 1)
    cells = plan.cells if bundle.over is None else prod(plan.factors[index].size for index in bundle.over)
    return most if cells is None else min(cells, most)


def contributions(plan: Plan, bundle: Bundle) -> tuple[int, int, int]:
    """Return K, T and c: the contribution of a unit to a cell and to all cells, and how many cells can differ."""
    total = _total(plan, bundle)
    return min(bundle.contribution, total), total, _changed_cells(plan, bundle)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLaw:
    """Independent integer noise on every integer of a bundle.

    `amount` is the scale of discrete Laplace noise or the variance of discrete Gaussian noise; `sensitivity`
    is L1, or L2 squared; `moving` is how many integers one unit can change.
    """

    law: Law
    amount: Fraction
    sensitivity: int
    moving: int

    @property
    def event(self) -> DiscreteLaplaceNoise | DiscreteGaussianNoise | ApproxRelease:
        """The event that drawing this noise is charged as."""
        if self.law == "laplace":
            return DiscreteLaplaceNoise(scale=self.amount, l1=Fraction(self.sensitivity), coordinates=self.moving)
        return DiscreteGaussianNoise(variance=self.amount, l2_squared=self.sensitivity, coordinates=self.moving)

    @property
    def scale(self) -> float:
        """The scale of Laplace noise, or σ."""
        return float(self.amount) if self.law == "laplace" else sqrt(self.amount)

    def draw(self, size: int, bits: BitSource = SYSTEM) -> list[int]:
        """Draw fresh noise."""
        return [int(x) for x in self.draw_array(size, bits)]

    def draw_array(self, size: int, bits: BitSource = SYSTEM) -> WideInts:
        """Draw fresh noise, as an array."""
        sampler = discrete_laplace if self.law == "laplace" else discrete_gaussian
        return sampler(self.amount, size, bits)

    def quantile(self, beta: Fraction) -> int:
        """Return the least t with Pr[|noise| > t] ≤ β."""
        return _quantile(self.law, self.amount, beta)

    def around(self, noisy: int, beta: Fraction) -> tuple[int, int]:
        """Return ends that hold an integer with probability ≥ 1-β, given that integer with noise."""
        error = self.quantile(beta)
        return noisy - error, noisy + error

    def around_all(self, noisy: WideInts, beta: Fraction) -> tuple[WideInts, WideInts]:
        """Return the ends of `around` for many integers; those of 64 bits must be at most 2^62."""
        error = self.quantile(beta)
        whole = noisy if error < _FITS else noisy.astype(object)
        return whole - error, whole + error

    def spread(self, weights: Sequence[float], beta: float) -> float:
        """Return t such that Pr[|Σ wᵢ·noiseᵢ| > t] ≤ β, from the continuous law, on the safe side.

        Args:
            weights: one weight, two that may differ, or three equal ones; all ≥ 0.
            beta: the probability that the sum is larger.
        """
        return _spread(self, tuple(weights), beta)

    def tail(self, weights: Sequence[float]) -> Callable[[float], float]:
        """Return an upper bound of Pr[|Σ wᵢ·noiseᵢ| > t] as a function of t."""
        if len(weights) <= 2:  # noqa: PLR2004 - a mixture is of two
            mixture = self.mixture()
            return lambda t: mixture(weights[0], weights[1] if len(weights) > 1 else 0.0, t)
        scale, weight = self.scale * weights[0], weights[0]
        if len(set(weights)) > 1 or len(weights) > 3:  # noqa: PLR2004 - sums of more have no law here
            raise ValueError("three weights must be equal")
        beyond = _three_laplace if self.law == "laplace" else _three_gaussian
        return lambda t: beyond(max(t - 1.5 * weight, 0.0) / scale)

    def mixture(self) -> Mixture:
        """Return the tail of v·noise₁ + w·noise₂ for two independent draws, as a function of v, w and t."""
        scale, beyond = self.scale, _beyond_laplace if self.law == "laplace" else _beyond_gaussian
        return lambda v, w, t: beyond(scale * max(v, w), scale * min(v, w), t - max(v, w))


@lru_cache(maxsize=1024)
def _quantile(law: Law, amount: Fraction, beta: Fraction) -> int:
    """Return `NoiseLaw.quantile`; cached, because all cells of an answer share one law."""
    if law == "laplace":
        return laplace_law.two_sided_quantile(amount, beta)
    return gaussian_law.two_sided_quantile(amount, float(beta))


@lru_cache(maxsize=1024)
def _spread(noise: NoiseLaw, weights: tuple[float, ...], beta: float) -> float:
    """Return `NoiseLaw.spread`; cached, because all cells of an answer share one law."""
    low, high = 0.0, noise.scale * max(weights)
    tail = noise.tail(weights)
    while tail(high) > beta:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > beta else (low, middle)
    return high


def _three_laplace(x: float) -> float:
    """Return Pr[|X + Y + Z| > x] for Laplace variables of scale 1: their sum has the density (3+3x+x²)e^(-x)/16."""
    return exp(-x) * (8 + 5 * x + x * x) / 8


def _three_gaussian(x: float) -> float:
    return erfc(x / sqrt(6))


def _beyond_laplace(b: float, c: float, t: float) -> float:
    """Return Pr[|X + Y| > t] for Laplace variables of scales b ≥ c ≥ 0."""
    if t <= 0 or b <= 0:
        return 1.0 if t <= 0 else 0.0
    if c <= 0:
        return exp(-t / b)
    if b - c < 1e-6 * b:
        return exp(-t / b) * (1 + t / (2 * b))
    return (b * b * exp(-t / b) - c * c * exp(-t / c)) / (b * b - c * c)


def _beyond_gaussian(b: float, c: float, t: float) -> float:
    """Return Pr[|X + Y| > t] for Gaussian variables of standard deviations b ≥ c ≥ 0."""
    if t <= 0 or b <= 0:
        return 1.0 if t <= 0 else 0.0
    return erfc(t / sqrt(2 * (b * b + c * c)))
