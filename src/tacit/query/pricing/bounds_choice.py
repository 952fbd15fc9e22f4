"""A private choice of a column's bounds for one query: the bounds that a noisy histogram shows.

The histogram is that of `aggregates.value_bounds`, which proves its sensitivity: one unit moves it by at most a weight
of 1, or of 2 if its rows become others. Its noise is discrete Laplace noise, or Gaussian noise under ρ, priced like
that of any plan. The bounds are post-processing of the noisy histogram. The answer then has a law that depends on them,
so the two parts compose as guarantees, as in `reach_choice`.

If no bin shows, the bounds of the policy are used, or 0 to 1 without them. Bounds are cut to `WIDEST`, at which the
query was found to be answerable before it was charged. An end that is near 0, compared with the other one, becomes 0:
that costs no more noise in a sum, and clips fewer values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from tacit.errors import bad_value
from tacit.guarantees.events import Event
from tacit.noise.bits import SYSTEM, BitSource
from tacit.query.aggregates.value_bounds import choose_bounds, needed_weight, unit_weight
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
    """The choice of one column's bounds, before the data is read; `default` is used if no bin shows."""

    column: str
    kind: Kind
    plan: Plan
    law: NoiseLaw
    default: NumberPair

    @property
    def event(self) -> Event:
        """The event that the choice is charged as."""
        return self.law.event

    @property
    def needed(self) -> int:
        """The number of units whose values a bin must hold to show with a probability of 95 %."""
        bundle = self.plan.bundles[0]
        return -(-needed_weight(self.law, bundle.width) // unit_weight(bundle))

    def choose(self, integers: Sequence[int], bits: BitSource = SYSTEM) -> NumberPair:
        """Return the bounds that the histogram shows with fresh noise."""
        noise = self.law.draw(len(integers), bits)
        found = choose_bounds([x + z for x, z in zip(integers, noise, strict=True)], self.law, self.kind)
        if found is None:
            return self.default
        least, most = WIDEST[self.kind]
        low, high = (min(max(end, least), most) for end in found)  # numbers of one kind
        low, high = (0 if 0 < low < high / _NEAR else low), (0 if low / _NEAR < high < 0 else high)  # type: ignore[operator]
        if low < high:  # type: ignore[operator]  # likewise
            return low, high  # type: ignore[return-value]  # likewise
        return (min(low, 0), max(high, 0)) if low else (0, 1)  # type: ignore[return-value]  # all values are equal


def bounds_choice(plan: Plan, table: TablePolicy, column: str, cost: Cost) -> BoundsChoice:
    """Return the choice of a column's bounds for a query at a given cost.

    Args:
        plan: the query, with any bounds of the column.
        table: the policy of its table, whose bounds are the default.
        column: the column.
        cost: ε or ρ of the choice.
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
    given = table.columns[column].bounds if column in table.columns else None
    default: NumberPair = (0, 1) if given is None else _numbers(given, policy.kind)
    return BoundsChoice(column=column, kind=policy.kind, plan=chosen, law=law, default=default)


def _numbers(bounds: tuple[Fraction, Fraction], kind: Kind) -> NumberPair:
    least, most = (Fraction(end) for end in WIDEST[kind])
    low, high = (min(max(end, least), most) for end in bounds)
    return (int(low), int(high)) if kind == "integer" else (float(low), float(high))
