"""Which bundles a question's aggregates are computed from: those that can share one, do.

`count(*)`, `count(x)`, `sum(x)` and `avg(x)` of one x follow from the two sums of `aggregates.avg`, A = Σ(x - a) and
B = Σ(b - x), and for `count(*)` from C, which has b - a for every row without x. A row adds exactly b - a to A + B + C,
so the three together are as sensitive as A and B alone, and nothing has to be split:

| of ε for all of them | split k ways | shared |
|---|---|---|
| count(x), in scales of a count alone | k | √2 |
| count(*) | k | √3 |
| sum(x), in scales of a sum alone | k | √(a² + b²)/max(abs a, abs b), 1 to √2 |
| avg(x) | k | 1 |

`count(*)` joins the first x that has a sum or an average. An aggregate that nothing can share with is measured alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.query.aggregates import bundles_of
from tacit.query.aggregates.avg import balanced
from tacit.query.expressions import Expression
from tacit.query.plan import Ask, Bounds, Bundle, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.partition_selection import is_told

Places = tuple[int, ...]


def arrange(
    asks: Sequence[Ask], table: TablePolicy, *, found: bool = False, share: bool = True
) -> tuple[tuple[Bundle, ...], tuple[Places, ...]]:
    """Return the bundles to measure, and for each aggregate the places of those that it is computed from.

    Where the groups are `found` in the data, what is told by that stays apart; without `share` everything does.
    """
    shared = _shared([ask for ask in asks if share and not (found and is_told(ask, table))], table)
    bundles: dict[Bundle, int] = {}
    places = []
    for ask in asks:
        own = (shared[ask],) if ask in shared else bundles_of(ask, table)
        places.append(tuple(bundles.setdefault(bundle, len(bundles)) for bundle in own))
    return tuple(bundles), tuple(places)


def apart(plan: Plan) -> Plan:
    """Return a plan whose aggregates are measured each on its own, which is cheaper where one may err much more."""
    bundles, places = arrange([one.ask for one in plan.aggregates], plan.table, found=plan.open, share=False)
    aggregates = tuple(replace(one, bundles=own) for one, own in zip(plan.aggregates, places, strict=True))
    return replace(plan, bundles=bundles, aggregates=aggregates)


def _shared(asks: Sequence[Ask], table: TablePolicy) -> dict[Ask, Bundle]:
    """Return the bundle of each aggregate that shares one."""
    summed = [ask for ask in asks if ask.function in ("sum", "avg")]
    rows = [ask for ask in asks if ask.function == "count" and not ask.values]
    found: dict[Ask, Bundle] = {}
    for value, bounds in dict.fromkeys((ask.values[0], ask.bounds[0]) for ask in summed):
        party = [ask for ask in asks if _is_of(ask, value, bounds)]
        joined = rows if not any(ask in found for ask in rows) else []
        bundle = balanced(value, bounds, table, absent=bool(joined))
        if len(party) + len(joined) > 1 and bundle.measures[0].low < bundle.measures[0].high:
            found |= dict.fromkeys([*party, *joined], bundle)
    return found


def _is_of(ask: Ask, value: Expression, bounds: Bounds) -> bool:
    """Whether an aggregate follows from the sums of a value between its bounds."""
    if ask.function == "count":
        return ask.values == (value,)
    return ask.function in ("sum", "avg") and ask.values == (value,) and ask.bounds == (bounds,)
