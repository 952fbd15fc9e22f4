"""A private choice of a column's bounds for one query: the bounds that a noisy histogram shows.

The histogram is that of `aggregates.value_bounds`, which proves its sensitivity: one unit moves it by at most a weight
of 1, or of 2 if its rows become others. Its noise is discrete Laplace noise, or Gaussian noise under ρ, priced like
that of any plan. The bounds are post-processing of the noisy histogram. The answer then has a law that depends on them,
so the two parts compose as guarantees, as in `reach_choice`.

If no bin shows, the bounds of the policy are used, or 0 to 1 without them. Bounds are cut to `WIDEST`, at which the
query was found to be answerable before it was charged. An end that is near 0, compared with the other one, becomes 0:
that costs no more noise in a sum, and clips fewer values.

**Narrow bounds can need more grid steps than wide ones.** The step follows from the distance of the bounds, and the
noise of a sum from the larger end. So bounds that are far from 0, compared with their distance, have many steps. Those
of 8 … 10 are 1.25 times those of `WIDEST`, those of the whole numbers 7·2^30 … 2^33 - 1 are 16 times those, and those
of sum(x + 1000) with x in 0 … 2^-64 are 2^69 times those. If the noise then needs more than 64 bits, the query cannot
be answered with these bounds. `wider` has the bounds that are tried next (`choosing.settle`). They hold the chosen
ones, so they clip no other values. The last of them are `WIDEST`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from tacit.errors import InternalError, bad_value
from tacit.guarantees.events import Event
from tacit.noise.bits import SYSTEM, BitSource
from tacit.query.aggregates.value_bins import EdgeValue, value_bins
from tacit.query.aggregates.value_bounds import needed_weight, outermost, unit_weight
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.sql.bounds_plan import bounds_plan

NumberPair = tuple[int, int] | tuple[float, float]

WIDEST: Final[Mapping[Kind, NumberPair]] = MappingProxyType(
    {"integer": (-(2**62), 2**62), "real": (-(2.0**500), 2.0**500)}
)
"""The widest bounds that are chosen, by the kind of the column."""

_NEAR = 4
"""An end is near 0 if the other end is more than so many times as far from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsChoice:
    """The choice of one column's bounds, before the data is read.

    `default` is used if no bin shows; it is `declared` if it comes from the policy. `widest` are the bounds at which
    the query was priced before the charge.
    """

    column: str
    kind: Kind
    plan: Plan
    law: NoiseLaw
    default: NumberPair
    declared: bool
    widest: NumberPair

    @property
    def event(self) -> Event:
        """The event that the choice is charged as."""
        return self.law.event

    @property
    def needed(self) -> int:
        """The number of units whose values a bin must hold to show with a probability of 95 %."""
        bundle = self.plan.bundles[0]
        return -(-needed_weight(self.law, bundle.width) // unit_weight(bundle))

    def choose(self, integers: Sequence[int], bits: BitSource = SYSTEM) -> NumberPair | None:
        """Return the bounds that the histogram shows with fresh noise; None if no bin shows."""
        noise = self.law.draw(len(integers), bits)
        ends = outermost([x + z for x, z in zip(integers, noise, strict=True)], self.law)
        return None if ends is None else self.pair(*ends)

    def pair(self, first: int, last: int) -> NumberPair:
        """Return the bounds for the first and the last bin that show: two different numbers within `widest`."""
        bins, (least, most) = value_bins(self.kind), self.widest
        low, high = (min(max(_as_number(end), least), most) for end in (bins.low(first), bins.high(last)))
        low, high = (0 if 0 < low < high / _NEAR else low), (0 if low / _NEAR < high < 0 else high)
        if low < high:
            return low, high
        return (min(low, 0), max(high, 0)) if low else (0, 1)  # all values are equal

    def wider(self, pair: NumberPair) -> Iterator[NumberPair]:
        """Yield bounds that hold a pair, ever wider; the last of them are `widest`.

        They are from 0 to powers of two, on the sides that the pair has. The powers grow by 2, 4, 8, … from one pair
        to the next, so that there are few of them.
        """
        low, high = pair
        size, growth = Fraction(2) ** _exponent(max(abs(Fraction(low)), abs(Fraction(high)))), 2
        number = int if self.kind == "integer" else float
        while size < self.widest[1]:
            yield (0 if low >= 0 else number(-size), 0 if high <= 0 else number(size))
            size, growth = size * growth, growth * 2
        yield self.widest


def _exponent(size: Fraction) -> int:
    """Return the least exponent of a power of two that is at least a size."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length() - 1
    return next(e for e in range(exponent, exponent + 3) if size <= Fraction(2) ** e)


def _as_number(end: EdgeValue) -> float:
    if not isinstance(end, (int, float)):
        raise InternalError("a date was chosen as a bound of numbers.")
    return end


def bounds_choice(plan: Plan, table: TablePolicy, column: str, cost: Cost, widest: NumberPair) -> BoundsChoice:
    """Return the choice of a column's bounds for a query at a given cost.

    Args:
        plan: the query, at the widest bounds of the column.
        table: the policy of its table, whose bounds are the default.
        column: the column.
        cost: ε or ρ of the choice.
        widest: the bounds of the column in `plan`.
    """
    policy = plan.table.columns[column]
    if policy.kind not in WIDEST:
        raise bad_value(
            f"bounds[{column!r}]",
            "auto",
            f"two values, because the column is of kind {policy.kind}",
            hint="Find them with db.bounds or `tacit bounds`.",
        )
    chosen = bounds_plan(plan, column)
    (law,) = price(chosen, cost).noise
    given = table.columns[column].bounds if column in table.columns and plan.units is None else None
    default: NumberPair = (0, 1) if given is None else _within(given, widest, policy.kind)
    return BoundsChoice(
        column=column,
        kind=policy.kind,
        plan=chosen,
        law=law,
        default=default,
        declared=given is not None,
        widest=widest,
    )


def _within(bounds: tuple[Fraction, Fraction], widest: NumberPair, kind: Kind) -> NumberPair:
    """Return bounds of the policy as numbers, cut to the widest ones."""
    low, high = (min(max(end, Fraction(widest[0])), Fraction(widest[1])) for end in bounds)
    return (int(low), int(high)) if kind == "integer" else (float(low), float(high))
