"""The law of a drawn quantile: what one unit can change, and what the draw costs.

**The draw.** A group's rows are counted in bins (see `plan`), and `rank_scores` has the candidates and their penalties
u ≥ 0. The exponential mechanism draws a candidate with probability proportional to π·e^(-u/s), where π > 0 is a public
weight. Permute-and-flip flips a coin of probability e^(-u/s) for each candidate, and draws one of those that show
uniformly. The least penalty is always 0.

**The rank** is τ = q·N, where N is the number of rows. For `min` it is τ = min(r, N/2) and for `max` N - min(r, N/2),
with a public r (see below).

**Sensitivity.** Let one unit add n ≤ K rows to a group, l(z) of them before the edge z, as integers of the measure, so
that 0 ≤ l(z) ≤ n. (The rows of a bin are spread evenly over its cells, which changes neither bound.) With d the change
of τ, all L(z) - τ and U(z) - τ change by l(z) - d. Penalties are maxima and minima of ± such terms and constants, so no
penalty changes by more than the largest |l(z) - d|. Let m = max(q, 1 - q), and m = 1 for `min` and `max`.

* d = q·n: l - q·n is in [-q·n, (1 - q)·n], so the change is at most m·n.
* `min`: 0 ≤ d ≤ n/2, so it is at most n. `max`: n/2 ≤ d ≤ n, likewise.

*Several groups, add/remove.* A unit adds n_g rows to the group g, Σ n_g ≤ T and Σ n_g² ≤ K·T (see `noise_law`). So with
Δ_g for the change in the group g: Σ Δ_g ≤ m·T and Σ Δ_g² ≤ m²·K·T.

*Change one* removes n_g rows and adds n'_g. For τ = q·N the change is in [-(q·n' + (1 - q)·n), (1 - q)·n' + q·n]. So
Δ_g is at most α·n + (1 - α)·n' with α = q or α = 1 - q. That is at most K, and at most m·(n + n'); its square is at
most α·n² + (1 - α)·n'² ≤ m·(n² + n'²). For `min`, L changes by l' - l and τ by a number between 0 and (n' - n)/2. If n'
≥ n, the difference is at most n' and at least -n - (n' - n)/2; if n' < n, it is at most n' + (n - n')/2 and at least
-n. So Δ_g ≤ max(n, n'), which meets the same bounds with m = 1; `max` is the mirror image. Over c groups that can
change: Σ Δ_g ≤ min(2m·T, c·K) and Σ Δ_g² ≤ min(2m·K·T, c·K²).

**Privacy.** For neighbouring tables, ln of the quotient of the weights of a candidate of the group g is in [-Δ_g/s,
Δ_g/s], and normalising adds a constant. So the privacy loss of the group's draw is in an interval of length 2Δ_g/s,
whatever π is (bounded range; Durfee and Rogers, NeurIPS 2019, for equal π). Groups are drawn independently.

* *Pure ε.* The lengths add up to at most 2·Σ Δ_g/s ≤ ε for s = 2·Σ Δ_g/ε. So the whole answer is `BoundedRange`.
  Permute-and-flip is 2Δ_g/s-DP in each group (`mechanisms.permute_and_flip`), so the whole is ε-DP, a `PureRelease`.
* *zCDP.* A range of 2Δ_g/s costs ρ = (2Δ_g/s)²/8 (`guarantees.prices`), so all groups cost Σ Δ_g²/2s² ≤ ρ for s² = Σ
  Δ_g²/2ρ. That is less than the joint range would cost if a unit can be in several groups. It is a `ZCDPRelease`.

**Which of the two.** Without an interval and in pure ε, permute-and-flip is used: it is never worse in expectation. On
fine cells the two are equal within 1 %; on columns of few whole numbers its error is up to 13 % smaller. In zCDP an
ε-DP release costs four times as much as a bounded range, and the theorem of `rank_scores` is about the exponential
mechanism. So these use that.

**The rank of `min` and `max`** is r = s·(ln(bins) + 3), rounded up to whole rows. A value below all rows has the
penalty r, so all bins below the rows together are less likely than the one at the rank, by a factor of e^3 or more.
With an interval λ is added for each width. The weights e^(λk) of K + 1 widths add up to less than 2.034·e^(λ(K+1)), so
the factor is e^2 or more.

**On real bits.** Counts and ranks are exact integers, s and t are public rationals, rounded up, and `noise` draws
exactly with rational exponents. The work is the same for all tables (`rank_scores`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, log

import numpy as np

from tacit.arrays import WideInts
from tacit.guarantees.events import BoundedRange, PureRelease, ZCDPRelease
from tacit.noise import below_integer, bernoulli_exp, choose_exp
from tacit.noise.bits import SYSTEM, BitSource
from tacit.query.noise_law import Law, NoiseLaw, contributions
from tacit.query.plan import Bundle, Plan
from tacit.query.rank_scores import GROWTH, exact_sum, margin, rank_scores, widths
from tacit.query.rank_target import RankTarget

_ROOT = 2**64
_CLEAR, _TWO = 3, 2

DrawnIntegers = tuple[int, ...]
"""The index of the drawn candidate, and of its half width if an interval is drawn."""


def rank_sensitivity(plan: Plan, bundle: Bundle, law: Law) -> Fraction:
    """Return Σ Δ_g for a draw in ε ("laplace"), or Σ Δ_g² for a draw in ρ ("gaussian")."""
    if bundle.rank is None:
        raise TypeError("this bundle is not drawn")
    weight, (cell, total, changed) = bundle.rank.weight, contributions(plan, bundle)
    size = total if law == "laplace" else cell * total
    if plan.table.neighbours == "add/remove":
        return weight ** (1 if law == "laplace" else 2) * size
    return min(2 * weight * size, Fraction(changed * (cell if law == "laplace" else cell**2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLaw(NoiseLaw):
    """The law of a draw in each group: `amount` is s, in the integers of the measure.

    As a `NoiseLaw` it is the Laplace law of scale s. That is the law of the number of rows between the drawn value and
    the quantile if no interval is drawn and the rows are dense. `unit` is the integer of one row, and `change` is Σ
    Δ_g, or Σ Δ_g² for a draw in ρ.
    """

    change: Fraction
    target: RankTarget
    bins: int
    unit: int
    epsilon: Fraction | None = None
    rho: Fraction | None = None

    @property
    def event(self) -> BoundedRange | PureRelease | ZCDPRelease:  # type: ignore[override]  # of another mechanism
        """The event that the draw in all groups is charged as."""
        if self.rho is not None:
            return ZCDPRelease(rho=self.rho)
        if self.epsilon is None:
            raise TypeError("a draw has an ε or a ρ")
        kind = PureRelease if self.target.flips else BoundedRange
        return kind(epsilon=self.epsilon)

    @property
    def cells(self) -> int:
        """The number of values that can be drawn."""
        return self.bins * self.target.parts

    @property
    def margin(self) -> Fraction | None:
        """t/s of `rank_scores`; None if no interval is drawn."""
        return None if self.target.miss is None else margin(self.target.miss)

    @property
    def end_rank(self) -> int:
        """The rank r of `min` and `max`, in whole rows."""
        sizes = len(widths(self.cells)) if self.target.miss is not None else 0
        return ceil(self.amount * Fraction(log(self.bins) + GROWTH * sizes + _CLEAR) / self.unit)

    @property
    def denominator(self) -> int:
        """A common denominator of the ranks of all tables."""
        return _TWO if self.target.end else self.target.share.denominator

    def rank(self, total: int) -> Fraction:
        """Return τ for a total of all rows, both in the integers of the measure."""
        if not self.target.end:
            return self.target.share * total
        near = min(Fraction(self.end_rank * self.unit), Fraction(total, 2))
        return near if self.target.share == 0 else total - near

    def draw_array(self, size: int, bits: BitSource = SYSTEM) -> WideInts:
        """Raise TypeError: a draw adds no noise."""
        del size, bits
        raise TypeError("a drawn quantile has no additive noise")

    def choose(self, counts: Sequence[int] | WideInts, bits: BitSource = SYSTEM) -> DrawnIntegers:
        """Draw a candidate for one group, from the exact counts of its bins."""
        rank = self.rank(exact_sum(counts))
        over = {"denominator": self.denominator, "unit": self.unit}
        scores = rank_scores(counts, self.target.parts, rank, self.amount, self.margin, **over)
        penalties = scores.penalties()
        if self.target.flips:
            shown = np.flatnonzero(bernoulli_exp(penalties, scores.exact, bits))
            return (int(shown[below_integer(shown.size, bits)]),)
        np.negative(penalties, out=penalties)
        k, z = divmod(choose_exp(penalties, lambda i: -scores.exact(i), bits), scores.cells)
        return (z,) if self.margin is None else (z, k)

    def choose_all(self, counts: Sequence[int] | WideInts, bits: BitSource = SYSTEM) -> list[int]:
        """Draw a candidate for each group, from the counts of all groups in turn."""
        groups = range(0, len(counts), self.bins)
        return [integer for first in groups for integer in self.choose(counts[first : first + self.bins], bits)]


def rank_law(plan: Plan, bundle: Bundle, *, epsilon: Fraction | None = None, rho: Fraction | None = None) -> RankLaw:
    """Return the law of a drawn bundle for its ε, or for its ρ."""
    if bundle.rank is None or (epsilon is None) == (rho is None):
        raise TypeError("a draw has one cost")
    law: Law = "laplace" if rho is None else "gaussian"
    size = rank_sensitivity(plan, bundle, law)
    scale = 2 * size / epsilon if epsilon is not None else _root(size / (2 * (rho or 1)))
    return RankLaw(
        law="laplace",
        amount=scale,
        sensitivity=ceil(size),
        change=size,
        moving=contributions(plan, bundle)[2],
        target=bundle.rank,
        bins=bundle.measures[0].bins,
        unit=1 << bundle.measures[0].fraction_bits,
        epsilon=epsilon,
        rho=rho,
    )


def _root(square: Fraction) -> Fraction:
    """Return a square root, rounded up.

    >>> _root(Fraction(9, 4)), _root(Fraction(2)) ** 2 >= 2
    (Fraction(3, 2), True)
    """
    scaled = square * _ROOT**2
    floor = isqrt(scaled.numerator // scaled.denominator)
    return Fraction(floor + (floor * floor < scaled), _ROOT)
