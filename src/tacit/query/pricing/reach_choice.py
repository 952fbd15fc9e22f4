"""A private choice of the reach: by the exponential mechanism, on the number of units above each candidate.

Let N(R) be the number of units with more than R rows. If the query counts units and nothing else, it is the number of
units in more than R groups (`unit_sizes.limited_by`), and the following holds with groups in place of rows. With G
groups the expected noise of all groups together grows by G·b for each row of the reach, where b is the mean absolute
noise of a group at a reach of one row. A unit above the reach loses one row less for each row of the reach. So the
total error is least where N(R) = T with T = G·b (Amin, Kulesza, Muñoz and Vassilvitskii, ICML 2019): the best reach is
the least R with N(R) ≤ T.

**The law.** Let R₀ < R₁ < … be the candidates. Rⱼ is chosen with probability proportional to exp(-ε·uⱼ - cⱼ), where

    uⱼ = max(0, α·(N(Rⱼ) - Tⱼ), β·(Tⱼ₋₁ - N(Rⱼ₋₁))),   α + β = 1,   α, β ≥ 0.

The second term counts the units for which Rⱼ is too small, and the third those for which a smaller reach would do; R₀
has no third term. If an error is given in place of ε, the noise is the same for every reach, and Tⱼ = G·b/Rⱼ: the reach
that is best at the ε that it costs. The cⱼ ≥ 0 are public constants, close to 2.5·ln Rⱼ. They keep a reach that is far
too large unlikely, whose noise would be worse than any cut.

**Caution.** A number of units that is small compared with 1/ε looks like none. So the law can be cautious: add 7/ε to
each Tⱼ and let β = ½, so that a reach that perhaps no unit exceeds is rarely chosen. With one group, T is about one
unit, and 7/ε units in its place cut far more rows than their noise is worth: there β = 0, nothing is added, and
c₀ = 0 is 3 less than the other constants, for tables in which a unit has one row. In between, β = g/2, the number added
is 7·g/ε and the difference 3·(1 - g), where g grows from 0 for one group to 1 for 12 groups or more. All these numbers
were chosen by computing the expected errors on ten made-up tables, among them those of `bench/limits.py`.

**Privacy.** Let N and N' be of two neighbouring tables. All differences N'(R) - N(R) are in one interval [-x, y] with
x, y ≥ 0 and x + y ≤ 1. Each unit adds its share w (1, or less with `unit_sizes`) to every N(R) with R < n, where n is
its number of rows. If a unit comes or goes, the differences are 0 and w, or 0 and -w. If (n, w) becomes (n', w'), they
are 0, w' - w, and w' if n < n' or -w if n > n'. The interval from the least to the largest of these is at most as long
as the larger of w and w'. Now α·(N - T) moves within [-αx, αy] and β·(T - N) within [-βy, βx]. A maximum moves by no
more than the largest and no less than the smallest movement of its terms, so uⱼ' - uⱼ is within [-max(αx, βy),
max(αy, βx)] for all j. That interval has one of the lengths αx + αy ≤ α, αx + βx = x, βy + αy = y and βy + βx ≤ β: at
most 1. The privacy loss ln(pⱼ/pⱼ') = ε·(uⱼ' - uⱼ) - ln(Z/Z') is therefore in an interval of length ε, whatever the cⱼ
and Tⱼ are (`BoundedRange`; Durfee and Rogers, NeurIPS 2019, for α = β and cⱼ = 0). That covers "add/remove" and
"change one".

**On real bits.** N is a sum of integers of the engine, T, α, β and the cⱼ are public rationals, and `choose_exp` draws
exactly with rational exponents.

**Averages and quantiles** have no best reach in this sense. At a reach of R an average has Σ min(n(u), R) rows over all
units u, and noise in proportion to R. Its error by noise is in proportion to R/Σ min(n(u), R), which never falls as R
grows, because min(n, R)/R never rises. So reach = 1 has the least noise, whatever the data are. A cut takes no rows
from an average: units with many rows weigh less, and the average changes only as far as they differ from the others.
The same holds for the ranks of quantiles. A query of such aggregates alone is refused, with the advice to give a small
reach; with a count or a sum beside them, that decides.

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
from tacit.query.plan import Aggregate, Measure, Plan
from tacit.query.policy.column_values import LARGEST_BOUND
from tacit.query.unit_sizes import EDGES, LARGEST_SHARED, limited_by, size_plan

CANDIDATES: Final = tuple(edge for edge in EDGES if edge <= LARGEST_BOUND)
"""The reaches that can be chosen."""

GUESSED_GROUPS: Final = 50
"""The number of groups that the rule assumes if groups are found in the data."""

_SHARP = 1024
_STEEP = 2.5
_PENALTIES: Final = tuple(Fraction(round(_STEEP * log(reach) * _SHARP), _SHARP) for reach in CANDIDATES)
_MARGIN = 7
_HEAD_START = 3
_MANY_GROUPS = 12
_TOTALS = frozenset({"count", "count_distinct", "count_units", "mode", "sum", "table_count"})
"""Aggregates that lose what a reach cuts; all others only weigh units differently."""
_MOST_UNITS = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachChoice:
    """The choice of the reach for one query, before the data is read.

    `plan` is the histogram that it reads, `epsilon` the length of the interval of its privacy loss, `targets` has T for
    each of the `candidates`, and `caution` is g.
    """

    plan: Plan
    epsilon: Fraction
    candidates: tuple[int, ...]
    targets: tuple[Fraction, ...]
    caution: Fraction

    @property
    def event(self) -> BoundedRange:
        """The event that the choice is charged as."""
        return BoundedRange(epsilon=self.epsilon)

    @property
    def resolution(self) -> int:
        """The number of units above 1 row, more than T, at which a reach of 2 becomes as likely as a reach of 1."""
        return ceil((_MARGIN * self.caution + self._cost(2) / self._late) / self.epsilon)

    @property
    def _early(self) -> Fraction:
        """β: the weight of a unit for which a smaller reach would do."""
        return self.caution / 2

    @property
    def _late(self) -> Fraction:
        """α: the weight of a unit for which the reach is too small."""
        return 1 - self._early

    @property
    def by_rows(self) -> bool:
        """True if the reach limits the rows of a unit; else it limits the groups."""
        return self.plan.bundles[0].measures[0].per == "size"

    def _cost(self, reach: int) -> Fraction:
        """Return the constant c of a reach."""
        start = 0 if reach == 1 else _HEAD_START * (1 - self.caution)
        return _PENALTIES[CANDIDATES.index(reach)] + start

    def record(self, reach: int) -> dict[str, object]:
        """Return the choice and its result, for a receipt."""
        more = "with more rows" if self.by_rows else "in more groups"
        return {
            "reach": reach,
            "law": f"exponential mechanism on the number of units {more}",
            "units_that_it_can_tell": self.resolution,
            "event": to_json(self.event),
        }

    def exponents(self, sizes: Sequence[int]) -> list[Fraction]:
        """Return -ε·uⱼ - cⱼ of every candidate, from the integers of the histogram."""
        steps = 1 << self.plan.bundles[0].measures[0].fraction_bits
        above = [Fraction(sum(sizes[EDGES.index(reach) + 1 :]), steps) for reach in self.candidates]
        exponents = []
        for j, reach in enumerate(self.candidates):
            too_small = self._late * (above[j] - self.targets[j])
            too_large = self._early * (self.targets[j - 1] - above[j - 1]) if j else Fraction(0)
            exponents.append(-self.epsilon * max(Fraction(0), too_small, too_large) - self._cost(reach))
        return exponents

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
    if limited_by(plan) == "groups":  # a larger reach than all groups changes nothing
        candidates = tuple(reach for reach, last in zip(candidates, (0, *candidates), strict=False) if last < groups)
    target = Fraction(groups * noise_a_row(plan, noise))
    own = plan.table.reach or 1  # `target` is G·b/own if the noise b is fixed
    caution = Fraction(min(groups, _MANY_GROUPS) - 1, _MANY_GROUPS - 1)
    margin = _MARGIN * caution / epsilon
    targets = tuple((target * own / reach if fixed else target) + margin for reach in candidates)
    choice = ReachChoice(
        plan=size_plan(plan, measure), epsilon=epsilon, candidates=candidates, targets=targets, caution=caution
    )
    if choice.resolution > _MOST_UNITS:
        raise InvalidError(
            "The part of the cost that chooses the reach is too small: the choice would be pure chance. It could not "
            f"tell {choice.resolution:,} units from none.",
            argument="reach",
            hint="Use a larger cost or a larger share, or give reach as a number.",
        )
    return choice


def noise_a_row(plan: Plan, noise: Sequence[NoiseLaw]) -> float:
    """Return the mean absolute noise of a group of the aggregate that decides, for each row of the reach."""
    index, _ = _leading(plan)
    bundle = plan.bundles[index]
    return _mean_absolute(noise[index]) / (bundle.total or bundle.contribution)


def leading_aggregate(plan: Plan) -> Aggregate | None:
    """Return the aggregate that decides: the first count, or else the first total; None without aggregates."""
    counted = [aggregate for aggregate in plan.aggregates if aggregate.ask.function in ("count", "table_count")]
    totals = [aggregate for aggregate in plan.aggregates if aggregate.ask.function in _TOTALS]
    return next(iter([*counted, *totals, *plan.aggregates]), None)


def check_has_totals(plan: Plan) -> None:
    """Raise InvalidError if a query has averages and quantiles alone, whose noise is least at a reach of 1."""
    if plan.aggregates and not any(aggregate.ask.function in _TOTALS for aggregate in plan.aggregates):
        raise InvalidError(
            f"{plan.aggregates[0].sql} needs no private choice of the reach: its noise is least at reach = 1, and a "
            "larger reach only lets units with more rows weigh more.",
            argument="reach",
            hint="Give a number from 1 to 10. With reach=1 all units weigh the same, and the noise is least.",
        )


def answerable(attempt: Callable[[int], object]) -> tuple[int, ...]:
    """Return the candidates up to the largest at which an attempt, such as pricing the query, is not refused.

    The smallest is attempted first, and its error is raised. A larger reach needs larger integers and more noise, so a
    bisection finds the largest one. Grids become coarser by steps as the reach grows, so that a reach just below such a
    step can be refused although a larger one is not. If such a reach is drawn, `choosing.settle` takes a smaller one.
    """
    attempt(CANDIDATES[0])
    low, high = 0, len(CANDIDATES)  # `low` is answered, `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _passes(attempt, CANDIDATES[middle]) else (low, middle)
    return CANDIDATES[: low + 1]


def _passes(attempt: Callable[[int], object], reach: int) -> bool:
    try:
        attempt(reach)
    except (InvalidError, RefusedError):
        return False
    return True


def _leading(plan: Plan) -> tuple[int, Measure | None]:
    """Return the bundle of the aggregate that decides, and its measure if it is a sum to which a unit adds a share."""
    leader = leading_aggregate(plan)
    if leader is None:
        return 0, None
    index = leader.bundles[0]
    measure = plan.bundles[index].measures[0]
    low, high = measure.extremes
    one_sign = measure.per == "row" and measure.bins == 1 and (low >= 0 or high <= 0) and low != high
    shared = one_sign and max(abs(low), abs(high)) <= LARGEST_SHARED
    return index, (measure if shared and leader.ask.function == "sum" else None)


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
