"""HAVING and LIMIT on noisy values, and the confidence that intervals then need.

HAVING chooses groups by noisy values if it names an aggregate. LIMIT and OFFSET do if they cut an order that names one.
A LIMIT of at least all groups drops none, but it asks for the first ones: which group is the first is chosen by noisy
values too. A condition or an order of keys alone chooses the same groups for any noise, and changes no interval.

**Why intervals change.** Of 400 empty groups, `HAVING n > 4` returns those whose noise is above 4. A 95 % interval
covers the noise of a random group, not the noise of a group that is returned because its noise is large.

**Listed groups.** Let m groups be listed, and let I_g be the interval of one output in group g at confidence 1 - β/m.
I_g misses the true value of its group with probability at most β/m, whether or not g is returned. By the union bound
(Boole) all m intervals hold together with probability at least 1 - β. That event does not depend on the choice. So it
holds for any returned subset, by any rule, and for any dependence between the noise of the groups: bundles that
aggregates share and consistent tables are included. With one group m = 1: the probability that an answer is returned
*and* wrong is at most β.

**Discovered groups.** Let S be the set of groups that partition selection releases, with their coins, and m = |S|.
Given S, the noise of different groups is independent. The number of units of each group has the law that
`TruncatedLaplace.around` inverts, and values have separate noise that does not depend on S. So given S each interval at
1 - β/m misses with probability at most β/m, and all hold together with probability at least 1 - β. HAVING and LIMIT
choose from S and may depend on everything in it. m is computed from the output of partition selection, so publishing it
costs nothing.

**Each output separately.** The statement is about one output column over all groups, just as an interval without a
choice is about one output in one group.

**Numbers.** β/m is an exact fraction (`confidence_each`). If β/m is below 2^-53 no float holds 1 - β/m, and above it
floats round β/m by up to 2^-54. So confidences of one group are fractions, and the statistics compute β from them, not
from a rounded 1 - β. Only β itself becomes a float, with a relative error of 2^-53.
"""

from __future__ import annotations

from tacit.query.aggregates.statistic import ConfidenceLevel, miss_rate
from tacit.query.formatting import listed, percent
from tacit.query.plan import Computed, Noisy, Output, Plan


def is_noisy(output: Output) -> bool:
    """Return whether an output is computed from aggregates.

    >>> is_noisy(Computed("negate", (Noisy(0, "integer"),), "integer"))
    True
    """
    if isinstance(output, Computed):
        return any(map(is_noisy, output.arguments))
    return isinstance(output, Noisy)


def choosing_clauses(plan: Plan) -> tuple[str, ...]:
    """Return the clauses that choose groups by noisy values."""
    clauses = ["HAVING"] if plan.having is not None and is_noisy(plan.having) else []
    if is_ordered_by_noise(plan):
        clauses += ["LIMIT"] if plan.limit is not None else []
        clauses += ["OFFSET"] if plan.offset else []
    return tuple(clauses)


def is_ordered_by_noise(plan: Plan) -> bool:
    """Return whether noisy values order the groups."""
    return plan.cells != 1 and any(is_noisy(order.by) for order in plan.order)


def candidates(plan: Plan, found_groups: int | None) -> int | None:
    """Return how many groups could have been returned; None if that is not known.

    Args:
        plan: the plan.
        found_groups: the number of discovered groups, if groups are found in the data.
    """
    return found_groups if plan.cells is None else plan.cells


def confidence_each(confidence: ConfidenceLevel, count: int) -> ConfidenceLevel:
    """Return the confidence that each of several intervals needs for all to hold together with this confidence.

    >>> confidence_each(0.95, 1), confidence_each(0.95, 400)
    (0.95, Fraction(7999, 8000))
    """
    return confidence if count <= 1 else 1 - miss_rate(confidence) / count


def confidence_in_group(plan: Plan, confidence: float, found_groups: int | None = None) -> ConfidenceLevel:
    """Return the confidence that an interval or an error in one group needs, given the clauses of the query.

    If the number of groups is not known, it is the confidence of a group before the choice.
    """
    count = candidates(plan, found_groups)
    return confidence_each(confidence, count) if count is not None and choosing_clauses(plan) else confidence


def meaning(plan: Plan) -> dict[str, object]:
    """Return the meaning of intervals as JSON: each holds separately, or all of a column hold together.

    `groups` is the number of groups for which they hold together; None if groups are found in the data.
    """
    clauses = choosing_clauses(plan)
    return {"hold": "together", "groups": plan.cells, "chosen_by": list(clauses)} if clauses else {"hold": "each"}


def answer_meaning(plan: Plan, found_groups: int | None) -> dict[str, object]:
    """Return the meaning of an answer's intervals, with the number of discovered groups; if unknown, none holds."""
    planned, count = meaning(plan), candidates(plan, found_groups)
    if planned["hold"] == "each":
        return planned
    return planned | {"hold": None if count is None else "together", "groups": count}


def interval_note(plan: Plan, found_groups: int | None, confidence: float) -> str | None:
    """Return a note on the intervals of an answer, if noisy values choose or order its groups."""
    clauses, share = choosing_clauses(plan), percent(confidence)
    if not clauses:
        return _order_note(share) if is_ordered_by_noise(plan) else None
    count = candidates(plan, found_groups)
    if count == 1 and plan.cells == 1:
        return _single_note(clauses, share, percent(float(miss_rate(confidence))))
    chose = f"{listed(clauses)} chose these groups by their noisy values."
    if count is None:
        return f"{chose} The record does not contain how many groups were found, so there are no intervals."
    could = "were found" if plan.cells is None else "could have been shown"
    return f"{chose} With {share} confidence the intervals of a column are right for all {count:,} groups that {could}."


def _single_note(clauses: tuple[str, ...], share: str, miss: str) -> str:
    return (
        f"{listed(clauses)} decided by noisy values whether the answer is shown. "
        f"The probability that it is shown and its {share} interval is wrong is at most {miss}."
    )


def _order_note(share: str) -> str:
    return (
        f"Noisy values order these rows: each {share} interval holds for its own group, not for a position such as the "
        "first. To get intervals for the first rows, add LIMIT."
    )
