"""Queries about disjoint rows: which of a list they are, and what one row can change of them.

**Statement.** Let each row be a unit, and let no row satisfy the WHERE of two of the queries. Each query is answered
from the rows that satisfy its WHERE, with its own independent noise. If one row comes or goes, at most one of the
queries has other rows, so the answers together are as private as the least private of them (McSherry, SIGMOD 2009,
theorem 4). If one row becomes another ("change one"), there are two cases:

* both rows satisfy the WHERE of one query: a change of one row, in that query alone;
* otherwise at most two queries have other rows. Each has one row more or one row less.

So with the price cᵢ of query i under "change one", and its price aᵢ if a row comes or goes, the queries together cost

    add/remove   max aᵢ                  change one   max(max cᵢ, a₁ + a₂), with the two largest aᵢ,

in ε, in ρ, and in δ: the loss of a query is bounded except with probability δᵢ, and that of two queries except with
probability δᵢ + δⱼ. aᵢ comes from the same noise with the sensitivity under "add/remove".

**With units of several rows this is wrong**: a unit can be in every part. So tables with a unit column have no disjoint
queries, except over the rows of a subquery that groups by the unit alone. A unit has at most one of these rows
(`unit_tables`). Two queries are compared only if they have the same subquery, because the row of a unit differs between
subqueries. Rows must stay rows: joins are with public tables in which a row finds at most one match (`joins`), and two
queries are compared only if they have the same joins, because the names of joined columns mean the same only then.

**A size that is public under "change one"** changes if a row enters a part, so aᵢ would not cover it. So a query that
uses it is never a part, nor is one without a condition on a column, nor one whose sensitivity is larger under
"add/remove" than under "change one".

**One state of the data.** All queries of a declared list are read in one state (`Engine.one_state`). Otherwise a row
that changes in between could be in two parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.guarantees.composition import compose
from tacit.guarantees.events import Event
from tacit.guarantees.exact import Exact
from tacit.guarantees.values import ApproxDP
from tacit.query.choice_law import ChoiceLaw
from tacit.query.expressions import columns
from tacit.query.expressions.disjoint_conditions import Cases, are_disjoint, cases
from tacit.query.noise_law import NoiseLaw, changed_integers, sensitivity
from tacit.query.plan import Plan
from tacit.query.pricing.price import Price, noise_events, whole_event

Family = tuple[int, ...]
"""The indices of queries that are pairwise about disjoint rows, in order."""


def disjoint_families(plans: Mapping[int, Plan], costs: Sequence[Fraction]) -> list[Family]:
    """Return families of at least two queries that are pairwise disjoint; each query is in at most one of them.

    Each query, the dearest first, joins the first family with whose members it is disjoint. Joining costs less than
    staying alone, so the choice of families affects the cost alone, never the guarantee.

    Args:
        plans: the plans of the queries that may be in a family, by their indices.
        costs: the cost of each query, by which they are ordered.
    """
    parts = {index: cases(plan.where) for index, plan in plans.items()}
    families: list[list[int]] = []
    for index in sorted(parts, key=lambda i: (-costs[i], i)):
        home = next((family for family in families if _fits(index, family, plans, parts)), None)
        if home is None:
            families.append([index])
        else:
            home.append(index)
    return sorted(tuple(sorted(family)) for family in families if len(family) > 1)


def is_part(plan: Plan) -> bool:
    """Return whether a query can be about a part of the rows.

    Each row is a unit, WHERE reads a column, and no public number of rows is used.
    """
    whole = plan.where is None or not columns(plan.where) or plan.size is not None
    return plan.table.unit is None and not whole


def _fits(index: int, family: Sequence[int], plans: Mapping[int, Plan], parts: Mapping[int, Cases]) -> bool:
    plan = plans[index]
    return all(
        (plan.table.name, plan.units, plan.joins) == (plans[other].table.name, plans[other].units, plans[other].joins)
        and are_disjoint(parts[index], parts[other])
        for other in family
    )


@dataclass(frozen=True, slots=True)
class EnteringRow:
    """The price of a query if one row comes or goes: the events to charge, and those of its noise."""

    events: tuple[Event, ...]
    noise: tuple[Event, ...]


def entering_row(plan: Plan, price: Price) -> EnteringRow | None:
    """Return the price of a query under "add/remove", with the noise that it has; None if it may be above its price.

    Each event of the price has a sensitivity that is at least as large under "change one" (a change is a removal and an
    addition), so the price itself is an upper bound. It is used if groups are found or limits are chosen.
    """
    charged, noise = tuple(price.events), tuple(noise_events(price))
    if plan.table.neighbours == "add/remove" or price.choice is not None or price.chosen is not None:
        return EnteringRow(charged, noise)
    table = replace(plan.table, neighbours="add/remove")
    single = replace(plan, table=table)
    laws: list[NoiseLaw] = []
    for bundle, law in zip(plan.bundles, price.noise, strict=True):
        if isinstance(law, ChoiceLaw):
            laws.append(law.entering(plan, bundle))
            continue
        moved = sensitivity(single, bundle, law.law)
        if moved > law.sensitivity:
            return None
        laws.append(replace(law, sensitivity=moved, moving=min(law.moving, changed_integers(single, bundle))))
    events = tuple(law.event for law in laws)
    if events == noise:
        return EnteringRow(charged, noise)
    if isinstance(price.guarantee, ApproxDP) and price.guarantee.delta > 0:
        return EnteringRow((_at_delta(events, price.guarantee),), events)
    return EnteringRow(events, events)


def _at_delta(noise: Sequence[Event], promise: ApproxDP) -> Event:
    """Return the release of some noise at the δ of a promise, which it does not exceed."""
    epsilon = min(compose(noise).epsilon(delta=promise.delta).upper, float(promise.epsilon))
    return whole_event(ApproxDP(epsilon=Exact(Fraction(epsilon)), delta=promise.delta))
