"""The bundles from which a query's aggregates are computed; aggregates share a bundle where they can.

`count(*)`, `count(x)`, `sum(x)` and `avg(x)` of one x follow from the two sums of `aggregates.avg`, A = Σ(x - a) and B
= Σ(b - x). For `count(*)` there is a third sum C, which has b - a for every row without x. A row adds exactly b - a to
A + B + C. So the three together are as sensitive as A and B alone, and ε is not split:

| with ε for all of them | split k ways | shared |
|---|---|---|
| count(x), in scales of a count alone | k | √2 |
| count(*) | k | √3 |
| sum(x), in scales of a sum alone | k | √(a² + b²)/max(abs a, abs b), 1 to √2 |
| avg(x) | k | 1 |

`count(*)` joins the first x that has a sum or an average. An aggregate that cannot share a bundle is measured alone.

`regr_slope` and `regr_intercept` of a pair use the six sums of `corr` or `regr_r2` of the same pair, if the query has
one: a row adds 3/2 to them, where two bundles would split ε.

`bool_or` and `bool_and` count units. If groups are discovered, no reach applies to such counts (`plan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.query.aggregates import bundles_of
from tacit.query.aggregates.avg import balanced
from tacit.query.aggregates.count import is_unit_count
from tacit.query.aggregates.cut import cut_share, with_cut
from tacit.query.expressions import Expression
from tacit.query.plan import Ask, Bounds, Bundle, Plan
from tacit.query.policy import TablePolicy

BundleIndices = tuple[int, ...]

_UNIT_COUNTS = ("count_units", "bool_or", "bool_and")
_LINES = ("regr_slope", "regr_intercept")


def arrange(
    asks: Sequence[Ask], table: TablePolicy, *, found: bool = False, share: bool = True
) -> tuple[tuple[Bundle, ...], tuple[BundleIndices, ...]]:
    """Return the bundles to measure, and for each aggregate the indices of its bundles.

    If the groups are `found` in the data, partition selection already releases the number of units. So counts of units
    do not share a bundle, and no reach applies to them. Without `share` no aggregate does.
    """
    shared = _shared([ask for ask in asks if share and not (found and is_unit_count(ask, table))], table)
    bundles: dict[Bundle, int] = {}
    indices = []
    for ask in asks:
        limited = replace(table, reach=None) if found and ask.function in _UNIT_COUNTS else table
        needed = (shared[ask],) if ask in shared else bundles_of(ask, limited)
        indices.append(tuple(bundles.setdefault(bundle, len(bundles)) for bundle in needed))
    return tuple(bundles), tuple(indices)


def without_sharing(plan: Plan) -> Plan:
    """Return a plan that measures each aggregate alone, which is cheaper if one may have a much larger error."""
    bundles, indices = arrange(
        [aggregate.ask for aggregate in plan.aggregates], plan.table, found=plan.open, share=False
    )
    aggregates = tuple(
        replace(aggregate, bundles=needed, cut=None) for aggregate, needed in zip(plan.aggregates, indices, strict=True)
    )
    apart = replace(plan, bundles=bundles, aggregates=aggregates)
    return apart if plan.cap is None else with_cut(apart, plan.cap, cut_share(plan))


def at_once(plan: Plan) -> Plan:
    """Return the plan that asks with a reach of the cap, in place of measuring the cut."""
    table = replace(plan.table, reach=plan.cap)
    bundles, indices = arrange([aggregate.ask for aggregate in plan.aggregates], table)
    aggregates = tuple(
        replace(aggregate, bundles=needed, cut=None) for aggregate, needed in zip(plan.aggregates, indices, strict=True)
    )
    return replace(plan, table=table, bundles=bundles, aggregates=aggregates)


def _shared(asks: Sequence[Ask], table: TablePolicy) -> dict[Ask, Bundle]:
    """Return the bundle of each aggregate that shares one."""
    sums = [ask for ask in asks if ask.function in ("sum", "avg")]
    rows = [ask for ask in asks if ask.function == "count" and not ask.values]
    shared: dict[Ask, Bundle] = {}
    for value, bounds in dict.fromkeys((ask.values[0], ask.bounds[0]) for ask in sums):
        members = [ask for ask in asks if _follows(ask, value, bounds)]
        row_counts = rows if not any(ask in shared for ask in rows) else []
        bundle = balanced(value, bounds, table, absent=bool(row_counts))
        if len(members) + len(row_counts) > 1 and bundle.measures[0].low < bundle.measures[0].high:
            shared |= dict.fromkeys([*members, *row_counts], bundle)
    pairs = {(ask.values, ask.bounds): ask for ask in asks if ask.function in ("corr", "regr_r2")}
    lines = [ask for ask in asks if ask.function in _LINES and (ask.values, ask.bounds) in pairs]
    return shared | {ask: bundles_of(pairs[ask.values, ask.bounds], table)[0] for ask in lines}


def _follows(ask: Ask, value: Expression, bounds: Bounds) -> bool:
    """Return whether an aggregate follows from the two sums of a value between its bounds."""
    if ask.function == "count":
        return ask.values == (value,)
    return ask.function in ("sum", "avg") and ask.values == (value,) and ask.bounds == (bounds,)
