"""A private choice of the reach: by the exponential mechanism, on the number of units above each candidate.

Let N(R) be the number of units with more than R rows. With G groups the expected noise of all groups together grows by
G·b for each row of the reach, where b is the mean absolute noise of a group at a reach of one row. A unit above the
reach loses one row less for each row of the reach. So the total error is least where N(R) = T with T = G·b (Amin,
Kulesza, Muñoz and Vassilvitskii, ICML 2019): the best reach is the least R with N(R) ≤ T.

**The score** of the candidate Rⱼ is sⱼ = -max(0, N(Rⱼ) - Tⱼ, Tⱼ₋₁ - N(Rⱼ₋₁)). It is 0 if Rⱼ is the least candidate with
N ≤ T, and else minus the number of units that would have to change for that; R₀ has no last term. If an error is given
in place of ε, the noise is the same for every reach, and Tⱼ = G·b/Rⱼ: the reach that is best at the ε that it costs.

**The law.** Rⱼ is chosen with probability proportional to exp(ε·sⱼ/2 - cⱼ), where cⱼ ≥ 0 is a public constant, close to
2.5·ln Rⱼ. The constants keep a reach that is far too large unlikely, whose noise would be worse than any cut. For the
same reason 6/ε is added to each Tⱼ: a number of units below that looks like none, and without it an empty tail of
candidates would score almost as well as the best one. Both numbers were chosen on made-up tables (`bench/limits.py`).

**Privacy.** One unit that comes, goes or changes its rows moves every N(R) by at most 1, so every score moves by at
most 1: it is a maximum of functions that do. For two neighbouring tables ln(pⱼ/pⱼ') = ε(sⱼ - sⱼ')/2 - ln(Z/Z'), and the
first term is in [-ε/2, ε/2] for all j. So the privacy loss is in an interval of length ε, whatever the cⱼ are
(`BoundedRange`; Durfee and Rogers, NeurIPS 2019, for cⱼ = 0). That covers "add/remove" and "change one". With shares of
units (`unit_sizes`) N(R) is a sum of numbers from 0 to 1, one for each unit, and moves by at most 1 as well.

**On real bits.** N is a sum of integers of the engine, T and the cⱼ are public rationals, and `choose_exp` draws
exactly with rational exponents.

**Then the answer.** Its law depends on the reach that was drawn, so the two parts compose as guarantees: the ε or ρ of
the choice and of the answer add up, and δ is the answer's. Their privacy-loss laws are not composed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, log, pi, sqrt
from typing import Final

import numpy as np

from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.events import BoundedRange, to_json
from tacit.noise.bits import SYSTEM, BitSource
from tacit.noise.choice import choose_exp
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Measure, Plan
from tacit.query.policy.column_values import LARGEST_BOUND
from tacit.query.unit_sizes import EDGES, LARGEST_SHARED, size_plan

CANDIDATES: Final = tuple(edge for edge in EDGES if edge <= LARGEST_BOUND)
"""The reaches that can be chosen."""

GUESSED_GROUPS: Final = 50
"""The number of groups that the rule assumes if groups are found in the data."""

_SHARP = 1024
_STEEP = 2.5
_PENALTIES: Final = tuple(Fraction(round(_STEEP * log(reach) * _SHARP), _SHARP) for reach in CANDIDATES)
_MARGIN = 6
_MOST_UNITS = 10**7
_ON_SQUARES = ("var_pop", "var_samp", "stddev_pop", "stddev_samp", "covar_pop", "covar_samp", "corr")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachChoice:
    """The choice of the reach for one query, before the data is read.

    `plan` is the histogram that it reads, `epsilon` the length of the interval of its privacy loss, `targets` has T for
    each of the `candidates`.
    """

    plan: Plan
    epsilon: Fraction
    candidates: tuple[int, ...]
    targets: tuple[Fraction, ...]

    @property
    def event(self) -> BoundedRange:
        """The event that the choice is charged as."""
        return BoundedRange(epsilon=self.epsilon)

    @property
    def resolution(self) -> int:
        """The number of units above 1 row, more than T, at which a reach of 2 becomes as likely as a reach of 1."""
        return ceil((_MARGIN + 2 * _PENALTIES[1]) / self.epsilon)

    def record(self, reach: int) -> dict[str, object]:
        """Return the choice and its result, for a receipt."""
        return {
            "reach": reach,
            "law": "exponential mechanism on the number of units with more rows",
            "units_that_it_can_tell": self.resolution,
            "event": to_json(self.event),
        }

    def exponents(self, sizes: Sequence[int]) -> list[Fraction]:
        """Return ε·sⱼ/2 - cⱼ of every candidate, from the integers of the histogram."""
        steps = 1 << self.plan.bundles[0].measures[0].fraction_bits
        places = [EDGES.index(reach) for reach in self.candidates]
        above = [Fraction(sum(sizes[place + 1 :]), steps) for place in places]
        scores = []
        for j, target in enumerate(self.targets):
            early = self.targets[j - 1] - above[j - 1] if j else Fraction(0)
            scores.append(-max(Fraction(0), above[j] - target, early))
        costs = [_PENALTIES[CANDIDATES.index(reach)] for reach in self.candidates]
        return [self.epsilon * score / 2 - cost for score, cost in zip(scores, costs, strict=True)]

    def choose(self, sizes: Sequence[int], bits: BitSource = SYSTEM) -> int:
        """Return a reach, drawn by the law of this module."""
        exponents = self.exponents(sizes)
        top = max(exponents)
        shifted = [exponent - top for exponent in exponents]
        return self.candidates[choose_exp(np.array([float(x) for x in shifted]), shifted.__getitem__, bits)]


def reach_choice(
    plan: Plan, noise: Sequence[NoiseLaw], epsilon: Fraction, candidates: tuple[int, ...], *, fixed: bool
) -> ReachChoice:
    """Return the choice of the reach for a plan.

    Args:
        plan: the plan at any reach.
        noise: the noise of its bundles at that reach and at the cost of the answer.
        epsilon: the length of the interval of the choice's privacy loss.
        candidates: the reaches at which the query can be answered.
        fixed: whether the noise is the same for every reach, because an error is given.
    """
    _, measure = _leading(plan)
    groups = GUESSED_GROUPS if plan.cells is None else plan.cells
    target = Fraction(groups * noise_a_row(plan, noise))
    own = plan.table.reach or 1  # `target` is G·b/own if the noise b is fixed
    margin = _MARGIN / epsilon
    targets = tuple((target * own / reach if fixed else target) + margin for reach in candidates)
    choice = ReachChoice(plan=size_plan(plan, measure), epsilon=epsilon, candidates=candidates, targets=targets)
    if choice.resolution > _MOST_UNITS:
        raise InvalidError(
            "The part of the cost that chooses the reach is too small: the choice would be pure chance, accurate to "
            f"about {choice.resolution:,} units.",
            argument="reach",
            hint="Use a larger cost or a larger share, or give reach as a number.",
        )
    return choice


def noise_a_row(plan: Plan, noise: Sequence[NoiseLaw]) -> float:
    """Return the mean absolute noise of a group of the aggregate that decides, for each row of the reach."""
    index, _ = _leading(plan)
    bundle = plan.bundles[index]
    return _mean_absolute(noise[index]) / (bundle.total or bundle.contribution)


def answerable(attempt: Callable[[int], object], plan: Plan) -> tuple[int, ...]:
    """Return the candidates at which an attempt, such as pricing the query, is not refused.

    The smallest is attempted first, and its error is raised. A larger reach needs larger integers and more noise, so a
    bisection finds the largest one. Squares and products are on a grid that depends on the reach, and there each
    candidate is attempted.
    """
    attempt(CANDIDATES[0])
    low, high = 0, len(CANDIDATES)  # `low` is answered, `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _passes(attempt, CANDIDATES[middle]) else (low, middle)
    if not any(aggregate.ask.function in _ON_SQUARES for aggregate in plan.aggregates):
        return CANDIDATES[: low + 1]
    return tuple(reach for reach in CANDIDATES if _passes(attempt, reach))


def _passes(attempt: Callable[[int], object], reach: int) -> bool:
    try:
        attempt(reach)
    except (InvalidError, RefusedError):
        return False
    return True


def _leading(plan: Plan) -> tuple[int, Measure | None]:
    """Return the bundle that decides, and its measure if a unit adds a share: a count, or else the first sum."""
    counted = [aggregate for aggregate in plan.aggregates if aggregate.ask.function in ("count", "table_count")]
    if counted or not plan.aggregates:
        return (counted[0].bundles[0] if counted else 0), None
    index = plan.aggregates[0].bundles[0]
    measure = plan.bundles[index].measures[0]
    low, high = measure.extremes
    one_sign = measure.per == "row" and measure.bins == 1 and (low >= 0 or high <= 0) and low != high
    shared = one_sign and max(abs(low), abs(high)) <= LARGEST_SHARED
    return index, (measure if shared and plan.aggregates[0].ask.function == "sum" else None)


def _mean_absolute(law: NoiseLaw) -> float:
    """Return the mean absolute noise, from the continuous law."""
    return law.scale if law.law == "laplace" else law.scale * sqrt(2 / pi)


def epsilon_of_rho(rho: Fraction) -> Fraction:
    """Return the largest ε, rounded down, whose bounded-range event costs at most ρ: ε²/8 ≤ ρ.

    >>> float(epsilon_of_rho(Fraction(1, 200)))
    0.2
    """
    scaled = 8 * rho * (1 << 128)
    return Fraction(isqrt(scaled.numerator // scaled.denominator), 1 << 64)
