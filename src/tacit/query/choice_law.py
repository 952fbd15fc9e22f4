"""The law of a choice: the one of several public values with the largest or the least total, drawn in each group.

The rows of a group are counted by value (a measure with bins, see `plan`), or a column is summed by value (a measure
for each value, see `aggregates.arg_max`). These totals are the scores. They get no noise: one value is drawn. For the
least total the scores are the totals times -1.

* In ε by permute-and-flip (`mechanisms.permute_and_flip`): each value whose score is g below the largest shows with
  probability e^(-g/s), and one of those that show is drawn uniformly.
* In ρ by the exponential mechanism: a value is drawn with probability proportional to e^(-g/s). An ε-DP choice costs
  ρ = ε²/2, but one of bounded range costs ε²/8, so this has half the scale of permute-and-flip for the same ρ.

**Sensitivity.** Let a unit come or go. Its integers move the scores of the group g by some amounts. Let k_g be the
largest of these minus the least. If they are of two values, k_g is at most the sum of their sizes; of one value, it is
0. The sizes of a unit's integers sum to at most K in a group and to at most T in all groups (`noise_law`), so k_g ≤ K
and Σk_g ≤ T, hence Σk_g² ≤ K·T. Both mechanisms see only differences of scores. So adding one constant to all scores of
a group changes nothing, and with the least amount as that constant all scores move in one direction, by 0 to k_g: they
are *monotone*. This holds for totals of any sign.

**Statement.** With s = T/ε under "add/remove" and s = 2T/ε under "change one" the choices in all groups are ε-DP. With
s² = K·T/8ρ, or K·T/2ρ under "change one", the choices by the exponential mechanism are ρ-zCDP.
**Proof.** *Add/remove.* Permute-and-flip with monotone scores loses at most k_g/s in the group g, and choices in
different groups are independent, so the losses add up to at most T/s. The privacy loss of the exponential mechanism is
in an interval of length k_g/s (`mechanisms.exponential`: each weight changes by a factor from 1 to e^(k_g/s), and
normalising moves the loss by a constant), which costs (k_g/s)²/8; together at most K·T/8s². *Change one* is a removal
and an addition, with k_g and k'_g. The losses of permute-and-flip add up along the two steps: Σ(k_g + k'_g)/s ≤ 2T/s.
A weight of the exponential mechanism changes by a factor from e^(-k_g/s) to e^(k'_g/s), so the interval has length
(k_g + k'_g)/s, and (k_g + k'_g)² ≤ 2k_g² + 2k'_g² sums to at most 4K·T. So the choices cost at most 4K·T/8s².  ∎

Monotone scores need "add/remove": under "change one" one count falls while another rises.

**Accuracy.** With probability ≥ 1-β the score of the drawn value is at most s·ln((m-1)/β) below the largest of m
values by permute-and-flip, and s·ln(m/β) by the exponential mechanism (union bounds; see the mechanisms).

**On real bits.** Totals are exact integers of any size, s is a rational (rounded up in ρ), and coins and choices are
exact. The work is the same for all totals. Ties are drawn evenly; so is the value of a group without rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isqrt, log

import numpy as np

from tacit.arrays import WideInts
from tacit.errors import InternalError
from tacit.guarantees.events import PureRelease, ZCDPRelease
from tacit.guarantees.exact import round_up
from tacit.mechanisms.selection import Ballot
from tacit.noise import below_integer, bernoulli_exp, choose_exp
from tacit.noise.bits import SYSTEM, BitSource
from tacit.query.noise_law import NoiseLaw, changed_integers, sensitivity
from tacit.query.plan import Bundle, Plan

_ROOT = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceLaw(NoiseLaw):
    """The law of a choice in each group: `amount` is s, in the integers of the measure.

    `sensitivity` is T, or 2T under "change one"; in ρ it is K·T, or 4K·T. `cost` is the ε or ρ of the choices. As a
    `NoiseLaw` it is the Laplace law of scale s, whose mean is that of the rows by which a choice can be short.
    """

    cost: Fraction
    in_rho: bool
    values: int
    bins: int
    unit: Fraction
    """The integer of a total of 1: of one row of weight 1, or of a sum of 1."""
    least: bool = False
    """True if the value with the least total is drawn."""

    @property
    def event(self) -> PureRelease | ZCDPRelease:  # type: ignore[override]  # of another mechanism
        """The event that the choices in all groups are charged as."""
        return ZCDPRelease(rho=self.cost) if self.in_rho else PureRelease(epsilon=self.cost)

    def draw_array(self, size: int, bits: BitSource = SYSTEM) -> WideInts:
        """Raise InternalError: a choice adds no noise."""
        del size, bits
        raise InternalError("a choice has no additive noise.")

    def shortfall(self, beta: Fraction) -> float:
        """Return by how much the total of the choice may miss the best one, except with probability β.

        Totals of rows that all have weight 1 are whole, so the bound is rounded down.
        """
        rivals = self.values - (not self.in_rho)
        short = self.amount / self.unit * Fraction(log(rivals / float(beta))) if rivals else Fraction(0)
        bound = round_up(max(short, Fraction(0)))
        return float(floor(bound)) if self.unit == 1 else bound

    def choose(self, counts: Sequence[int] | WideInts, bits: BitSource = SYSTEM) -> int:
        """Draw the index of a value for one group, from the exact totals by value."""
        totals = [int(count) for count in counts[: self.values]]
        ballot, rate = _ballot([-total for total in totals] if self.least else totals), 1 / self.amount
        if self.in_rho:
            return choose_exp(ballot.exponents(rate), lambda i: ballot.exponent(rate, i), bits)
        coins = bernoulli_exp(-ballot.exponents(rate), lambda i: -ballot.exponent(rate, i), bits)
        standing = np.flatnonzero(coins)
        return int(standing[below_integer(standing.size, bits)])

    def choose_all(self, counts: Sequence[int] | WideInts, bits: BitSource = SYSTEM) -> list[int]:
        """Draw the index of a value for each group, from the totals of all groups in turn."""
        return [self.choose(counts[first : first + self.bins], bits) for first in range(0, len(counts), self.bins)]

    def entering(self, plan: Plan, bundle: Bundle) -> ChoiceLaw:
        """Return the law with the cost that it has if a unit comes or goes."""
        moved = _change(replace(plan, table=replace(plan.table, neighbours="add/remove")), bundle, in_rho=self.in_rho)
        return replace(self, sensitivity=moved, cost=self.cost * moved / self.sensitivity)


def _ballot(integers: Sequence[int]) -> Ballot:
    """Return integers as scores: 64 bits if they fit, else Python's integers."""
    fits = max(integers) < 2**63 and min(integers) >= -(2**63)
    return Ballot(None, np.array(integers, dtype=np.int64 if fits else object))


def _change(plan: Plan, bundle: Bundle, *, in_rho: bool) -> int:
    """Return T or 2T for a choice in ε, and K·T or 4K·T for one in ρ."""
    single = replace(plan, table=replace(plan.table, neighbours="add/remove"))
    moved = sensitivity(single, bundle, "gaussian" if in_rho else "laplace")
    return moved if plan.table.neighbours == "add/remove" else moved * (4 if in_rho else 2)


def choice_law(
    plan: Plan, bundle: Bundle, *, epsilon: Fraction | None = None, rho: Fraction | None = None
) -> ChoiceLaw:
    """Return the law of the choices of a bundle, for its ε or its ρ."""
    cost = rho if epsilon is None else epsilon
    if cost is None or bundle.values is None:
        raise InternalError("a choice has values and a cost.")
    change = _change(plan, bundle, in_rho=epsilon is None)
    measure = bundle.measures[0]
    return ChoiceLaw(
        law="laplace",
        amount=change / cost if epsilon is not None else _root(Fraction(change) / (8 * cost)),
        sensitivity=change,
        moving=changed_integers(plan, bundle),
        cost=cost,
        in_rho=epsilon is None,
        values=bundle.values,
        bins=bundle.width,
        unit=(1 << measure.fraction_bits) / measure.step,
        least=bundle.least,
    )


def _root(square: Fraction) -> Fraction:
    """Return a square root, rounded up.

    >>> _root(Fraction(9, 4)), _root(Fraction(2)) ** 2 >= 2
    (Fraction(3, 2), True)
    """
    scaled = square * _ROOT**2
    below = isqrt(scaled.numerator // scaled.denominator)
    return Fraction(below + (below * below < scaled), _ROOT)
