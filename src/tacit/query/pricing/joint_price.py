"""The price of several queries that are fixed in advance and charged as one.

Queries that are asked in turn may depend on earlier answers, so only a filter is sound: their ε add up. A list that is
fixed before any answer is one mechanism, the independent composition of all its noise. Three prices of it are proved,
and the least is used:

* the sum of all prices;
* the sum over families of queries about disjoint rows, each family at the price of `disjoint_parts`;
* at a δ, the least ε of the composed privacy-loss law. A row selects one option of each family: the query in which it
  counts, or under "change one" also the two queries that it leaves and enters. All other queries of the family have the
  same rows in both neighbours. So for every pair of neighbours the answers are the composition of one option of each
  family with all queries outside of families, and the largest ε over all selections of options holds for the list.

Options that another option dominates are left out. Discrete Laplace noise of a larger scale is noise of a smaller scale
with independent noise added. With p = e^(-1/s) the characteristic function is (1 - p)²/(1 - 2p·cos t + p²). For p < q
its quotient of q over p is a constant times (1 - 2p·cos t + p²)/(1 - 2q·cos t + q²). That is p/q plus a multiple of the
law of q, and the multiple, 1 + p² - (p/q)(1 + q²) = (q - p)(1 - pq)/q, is not negative. So the quotient is that of a
mixture of 0 and the law of q. Hence the noise with the smaller scale, and shifts at least as large, is the one to
compose. An ε-DP release is dominated by randomized response at any ε' ≥ ε (Kairouz, Oh and Viswanath,
arXiv:1311.0776v4, the proof of theorem 3.3).

If too many selections remain, a family is composed as a release of its price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import prod

from tacit.guarantees.composition import compose
from tacit.guarantees.events import ApproxRelease, DiscreteLaplaceNoise, Event, Neighbours, PureRelease, ZCDPRelease
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget, Spent, limit
from tacit.guarantees.filters import price as event_price
from tacit.guarantees.prices import pure
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP
from tacit.query.plan import Plan
from tacit.query.pricing.disjoint_parts import EnteringRow, Family, disjoint_families, entering_row, is_part
from tacit.query.pricing.price import Price, noise_events

_MOST_SELECTIONS = 16

JointGuarantee = ApproxDP | ZCDP | ApproxZCDP

Amounts = tuple[Fraction, Fraction]
"""A loss, in ε or ρ, and a δ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPrice:
    """The price of several queries that are fixed in advance and charged as one.

    The ledger is charged `events`, which cost `together`; `apart` is the sum of the queries' costs. `families` are the
    queries about disjoint rows that make the list cheaper; `overlapping` is the price if their rows could overlap.
    """

    events: tuple[Event, ...]
    together: Spent
    apart: Spent
    families: tuple[Family, ...] = ()
    overlapping: Spent | None = None

    @property
    def guarantee(self) -> JointGuarantee:
        """The guarantee of all answers together."""
        return guarantee_of(self.together)


def guarantee_of(spent: Spent) -> JointGuarantee:
    """Return an amount in ε or ρ as a guarantee."""
    loss, delta = Exact(spent.loss), Exact(spent.delta)
    if spent.currency == "basic":
        return ApproxDP(epsilon=loss, delta=delta)
    return ApproxZCDP(rho=loss, delta=delta) if spent.delta else ZCDP(rho=loss)


def joint_price(
    queries: Sequence[tuple[Plan, Price]],
    budget: Budget,
    delta: Fraction,
    worth: Fraction,
    *,
    one_state: Sequence[bool] | None = None,
) -> JointPrice:
    """Return the price of several queries as one.

    Args:
        queries: the plan and the price of each query.
        budget: the budget, whose currency is used.
        delta: δ of the composition; with 0, ε adds up.
        worth: the largest part of the sum of all ε that the composition may cost; above it, ε adds up.
        one_state: whether the engine of each query reads all of them in one state of the data; by default all do. A
            query whose engine does not is never one of several about disjoint rows.
    """
    parts = [_part(plan, price, budget) for plan, price in queries]
    steady = [True] * len(parts) if one_state is None else one_state
    apart = _JointCost(parts, (), budget)
    usable = [index for index, part in enumerate(parts) if steady[index] and part.entering is not None]
    plans = {index: queries[index][0] for index in usable}
    found = disjoint_families(plans, [part.cost[0] for part in parts])
    families = tuple(family for family in found if _saves([parts[index] for index in family]))
    events, together = apart.cheapest(delta, worth)
    if not families:
        return JointPrice(events=events, together=together, apart=apart.total)
    overlapping = together
    events, together = _JointCost(parts, families, budget).cheapest(delta, worth)
    return JointPrice(events=events, together=together, apart=apart.total, families=families, overlapping=overlapping)


@dataclass(frozen=True, slots=True)
class _Part:
    """One query of a list: its price, and its price if one row comes or goes."""

    neighbours: Neighbours
    events: tuple[Event, ...]
    cost: Amounts
    noise: tuple[Event, ...]
    entering: EnteringRow | None
    entering_cost: Amounts


def _part(plan: Plan, price: Price, budget: Budget) -> _Part:
    entering = entering_row(plan, price) if is_part(plan) else None
    return _Part(
        neighbours=plan.table.neighbours,
        events=tuple(price.events),
        cost=_total(price.events, budget),
        noise=tuple(noise_events(price)),
        entering=entering,
        entering_cost=_total(() if entering is None else entering.events, budget),
    )


def _total(events: Sequence[Event], budget: Budget) -> Amounts:
    costs = [event_price(budget, event) for event in events]
    return sum((cost.loss for cost in costs), Fraction(0)), sum((cost.delta for cost in costs), Fraction(0))


def _family_cost(members: Sequence[_Part]) -> Amounts:
    """Return the price of queries about disjoint rows: the largest; under "change one" also the two largest of a row.

    The loss and δ are each the largest over all pairs of neighbours, so together they hold for every pair.
    """
    loss, delta = (max(member.cost[part] for member in members) for part in (0, 1))
    if members[0].neighbours == "add/remove":
        return loss, delta
    both = [sum(sorted((member.entering_cost[part] for member in members), reverse=True)[:2]) for part in (0, 1)]
    return max(loss, Fraction(both[0])), max(delta, Fraction(both[1]))


def _saves(members: Sequence[_Part]) -> bool:
    """Return whether disjoint queries cost less than their sum."""
    sums = tuple(sum((member.cost[part] for member in members), Fraction(0)) for part in (0, 1))
    return _family_cost(members) < sums


@dataclass(frozen=True, slots=True)
class _JointCost:
    """The cost of a list of queries, given which of them are about disjoint rows."""

    parts: Sequence[_Part]
    families: Sequence[Family]
    budget: Budget

    @property
    def total(self) -> Spent:
        """The sum over families and over the queries that are in no family."""
        loss, delta = _total(self.events, self.budget)
        return Spent(currency=limit(self.budget).currency, loss=loss, delta=delta)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events to charge for that sum."""
        return (*(event for part in self._others for event in part.events), *self._family_events)

    @property
    def _members(self) -> list[list[_Part]]:
        return [[self.parts[index] for index in family] for family in self.families]

    @property
    def _others(self) -> list[_Part]:
        inside = {index for family in self.families for index in family}
        return [part for index, part in enumerate(self.parts) if index not in inside]

    @property
    def _family_events(self) -> list[Event]:
        return [event for members in self._members for event in self._release(members)]

    def _release(self, members: Sequence[_Part]) -> list[Event]:
        """Return the events of the answers to disjoint queries, which are known by their price alone."""
        (loss, delta), neighbours = _family_cost(members), members[0].neighbours
        if limit(self.budget).currency == "zcdp":
            outside: list[Event] = [ApproxRelease(epsilon=Fraction(0), delta=delta)] if delta else []
            return [ZCDPRelease(rho=loss, neighbours=neighbours), *outside]
        if delta:
            return [ApproxRelease(epsilon=loss, delta=delta, neighbours=neighbours)]
        return [PureRelease(epsilon=loss, neighbours=neighbours)]

    def cheapest(self, delta: Fraction, worth: Fraction) -> tuple[tuple[Event, ...], Spent]:
        """Return the events and the cost of the sum, or those of the composition at δ if that is cheaper."""
        total = self.total
        if total.currency != "basic" or delta <= 0 or not total.loss:
            return self.events, total
        epsilon = max(
            Fraction(compose(selection).epsilon(delta=Exact(delta)).upper) for selection in self._selections()
        )
        if epsilon >= total.loss * worth:
            return self.events, total
        return (ApproxRelease(epsilon=epsilon, delta=delta),), Spent(currency="basic", loss=epsilon, delta=delta)

    def _selections(self) -> list[list[Event]]:
        """Return the noise whose laws differ between two neighbours, for all choices of one option of each family."""
        fixed = [event for part in self._others for event in part.noise]
        options = [_options(members) for members in self._members]
        if prod(map(len, options)) > _MOST_SELECTIONS:
            return [[*fixed, *self._family_events]]
        return [[*fixed, *(event for option in selection for event in option)] for selection in product(*options)]


def _options(members: Sequence[_Part]) -> list[tuple[Event, ...]]:
    """Return the noise of disjoint queries that one row can affect: one query, or under "change one" two."""
    pairs = members[0].neighbours == "change one"
    kept: list[_Part] = []
    for member in sorted(members, key=lambda member: member.cost, reverse=True):
        above = [other for other in kept if _dominates(other.noise, member.noise) and _enters_above(other, member)]
        if len(above) < (2 if pairs else 1):  # a pair may need two of equal noise
            kept.append(member)
    found = [member.noise for member in kept]
    if pairs:
        found += [_entering(one) + _entering(other) for one, other in combinations(kept, 2)]
    return [
        option
        for index, option in enumerate(found)
        if not any(
            _dominates(other, option) and (place < index or not _dominates(option, other))
            for place, other in enumerate(found)
            if place != index
        )
    ]


def _entering(part: _Part) -> tuple[Event, ...]:
    return () if part.entering is None else part.entering.noise


def _enters_above(first: _Part, second: _Part) -> bool:
    return _dominates(_entering(first), _entering(second))


def _dominates(first: Sequence[Event], second: Sequence[Event]) -> bool:
    """Return whether each event of the second list is dominated by a different event of the first list."""
    unused = list(Counter(first).elements())
    for event in second:
        above = next((place for place, other in enumerate(unused) if _is_above(other, event)), None)
        if above is None:
            return False
        unused.pop(above)
    return True


def _is_above(first: Event, second: Event) -> bool:
    """Return whether an event dominates another; see the module."""
    match first, second:
        case DiscreteLaplaceNoise(), DiscreteLaplaceNoise():
            smaller = first.scale <= second.scale
            return smaller and first.l1 >= second.l1 and first.coordinates >= second.coordinates
        case PureRelease(epsilon=epsilon), _ if (other := pure(second)) is not None:
            return other <= epsilon
        case _:
            return first == second
