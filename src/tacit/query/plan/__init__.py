"""A plan: a checked query in parts that engines, accountants and people can read. Immutable.

    SQL ──parse──► Plan ──price──► noise, events ──ledger──► charge ──engine──► exact integers ──noise──► Release

If groups are discovered in the data, the engine calls back into `results.release` to choose them: it passes the exact
numbers of units of the groups, and gets back the groups that partition selection keeps.

`plan` is the whole, `measures` has the integers that an engine computes and proves what bounds them, `keys` and
`aggregates` have what is grouped and asked, and `outputs` has what is computed from released values.
"""

from tacit.query.plan.aggregates import Aggregate, Ask, Bounds
from tacit.query.plan.keys import Key
from tacit.query.plan.measures import Bundle, Combination, Measure
from tacit.query.plan.outputs import Computed, Constantly, Grouped, Noisy, Order, Output
from tacit.query.plan.plan import Plan

__all__ = [
    "Aggregate",
    "Ask",
    "Bounds",
    "Bundle",
    "Combination",
    "Computed",
    "Constantly",
    "Grouped",
    "Key",
    "Measure",
    "Noisy",
    "Order",
    "Output",
    "Plan",
]
