"""The values that an aggregate can have, and intervals within them.

A noisy count may be negative, and its interval would hold values that no count has. So every interval is clipped to the
range of values that the statistic of the bounded data can have, whatever the data are. Values themselves stay as they
are: a clipped value would be biased.

**Coverage does not fall.** Let P = [p, q] be the possible values, t ∈ P the true one, and π(x) = min(max(x, p), q) the
nearest point of P. π never decreases, and π(t) = t. So l ≤ t ≤ h implies π(l) ≤ t ≤ π(h): whenever [l, h] holds t, the
clipped interval does. This is about each release, so it is also true of several intervals that hold together, and after
any choice of groups.  ∎

**It hardly rises.** If [l, h] meets P and misses t, then [π(l), π(h)] = [l, h] ∩ P misses t as well. Only an interval
that is wholly outside P can gain: it becomes the nearest point of P, and holds t if that is t. So coverage changes only
if t is an end of P, such as the count of an empty group; a miss on the impossible side then becomes a hit.

**What P is.** The statistic is that of the bounded data: values are clipped to their bounds, and rows have weights ≥ 0
(see `plan`). Integers are truncated toward zero, which changes no sign.

* A count is a sum of weights: at least 0.
* A group that was discovered has at least one unit (`pricing.partition_selection`), so its number of units is at least
  1. So is `count(*)` if there is no reach: the n ≥ 1 rows of such a unit count as n, or as max_rows if that is less.
  That is 1 or more, also as the three integers of `measure_sharing`. These are exact if n ≤ max_rows. Otherwise
  truncation takes less than 3 from (b - a)·max_rows·2^fraction_bits. There max_rows ≥ 2, since with max_rows = 1 the
  count is the number of units, and fraction_bits ≥ 2. So more than (b - a)·2^fraction_bits is left. With a reach the
  weights of a unit in one group may add up to less than 1, and the bound is 0. So it is for `count(x)`, because x may
  be NULL.
* A sum of values ≥ 0 is at least 0, and a sum of values ≤ 0 is at most 0.
* An average is between its bounds, on the grid. All other statistics limit their intervals themselves.
"""

from __future__ import annotations

from math import inf

from tacit.query.aggregates.statistic import Interval
from tacit.query.plan import Aggregate, Measure, Plan

_COUNTS = ("count", "count_units", "count_distinct", "table_count")
_ANY: Interval = (-inf, inf)


def possible_values(plan: Plan, aggregate: Aggregate) -> Interval:
    """Return the least and the largest value that an aggregate of a plan can have in a group; see the module."""
    if not aggregate.bundles:  # it has no noise
        return _ANY
    measure, function = plan.bundles[aggregate.bundles[0]].measures[0], aggregate.ask.function
    if function in _COUNTS:
        return float(_has_a_row(plan, aggregate)), inf
    if function in ("sum", "table_sum"):
        return sum_values(measure)
    return average_values(measure) if function == "avg" else _ANY


def cut_values(plan: Plan, aggregate: Aggregate) -> Interval:
    """Return the same for the part of a count or a sum that a reach cuts, and for the aggregate with it."""
    if aggregate.ask.function in _COUNTS:
        return 0.0, inf
    return sum_values(plan.bundles[aggregate.bundles[0]].measures[0])


def _has_a_row(plan: Plan, aggregate: Aggregate) -> bool:
    """Return whether an aggregate counts at least one row or unit in every group that is shown."""
    if not plan.open:
        return False
    ask, table = aggregate.ask, plan.table
    every_row = ask.function == "count" and not ask.values and (table.unit is None or table.reach is None)
    return every_row or ask.function == "count_units"


def sum_values(measure: Measure) -> Interval:
    """Return the least and the largest sum of values between the bounds of a measure."""
    return (0.0 if measure.low >= 0 else -inf), (0.0 if measure.high <= 0 else inf)


def average_values(measure: Measure) -> Interval:
    """Return the bounds of a measure, on its grid."""
    return float(measure.low * measure.step), float(measure.high * measure.step)


def clipped(ends: Interval, possible: Interval) -> Interval:
    """Return an interval clipped to possible values; one that is wholly outside becomes the nearest possible point.

    >>> clipped((-3.0, 4.0), (0.0, inf)), clipped((-9.0, -2.0), (0.0, inf))
    ((0.0, 4.0), (0.0, 0.0))
    """
    least, most = possible
    low, high = (min(max(end, least), most) for end in ends)
    return low, high
