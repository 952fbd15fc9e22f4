"""Sums that are consistent with the margins of their table, for ROLLUP, CUBE and GROUPING SETS.

The fit is that of `margins`. It is linear and never uses that counts are whole, so it holds for sums too: the integers
of a margin are those of a sum on its grid, and one step of the grid takes the place of one row. A sum may be negative,
so it is not moved to the nearest table of whole numbers; a sum of whole numbers is rounded in each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.query.aggregates.margins import Fit, Fitted, as_table_count, margin_error, with_margins
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released
from tacit.query.aggregates.sum import Sum
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Aggregate, Ask, Bundle, Plan
from tacit.query.refusals import refused

_TABLES = {"count": "table_count", "sum": "table_sum"}


class TableSum(Sum):
    """A sum that is consistent with the margins of its table."""

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int:
        """Return the fitted sum of this cell."""
        last = released[-1]
        if not isinstance(last, Fitted):
            raise TypeError("the table was not fitted")
        value = last.center * float(last.bundle.measures[0].step)
        return round(value) if ask.values[0].kind == "integer" else value

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the fit plus or minus the quantile of its noise."""
        last = released[-1]
        if not isinstance(last, Fitted):
            raise TypeError("the table was not fitted")
        error = self.error(ask, [each.bundle for each in released], [each.noise for each in released], confidence, None)
        center = last.center * float(last.bundle.measures[0].step)
        return center - error, center + error

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the largest error of the fit in one cell."""
        del assume
        every = tuple(range(len(ask.sizes)))
        return margin_error(Fit.of(ask, bundles, noise), every, confidence) * float(bundles[0].measures[0].step)


def with_all_margins(plan: Plan, law: Law) -> Plan:
    """Return a plan of counts and sums by listed keys that measures the margins of each.

    Args:
        plan: a plan that measures each aggregate alone.
        law: the noise for which the shares of the margins are chosen.
    """
    bundles: list[Bundle] = []
    aggregates: list[Aggregate] = []
    for aggregate in plan.aggregates:
        alone = _alone(plan, aggregate)
        fitted = with_margins(alone, law)
        (only,) = fitted.aggregates
        aggregates.append(replace(only, bundles=tuple(len(bundles) + index for index in only.bundles)))
        bundles += fitted.bundles
    return replace(plan, bundles=tuple(bundles), aggregates=tuple(aggregates))


def _alone(plan: Plan, aggregate: Aggregate) -> Plan:
    """Return the plan of one count or sum as a table."""
    if aggregate.ask.function not in _TABLES or len(aggregate.bundles) != 1:
        raise refused(
            "ROLLUP, CUBE and GROUPING SETS are supported for count, sum and avg only",
            "Run one query for each grouping.",
        )
    only = replace(aggregate, bundles=(0,))
    alone = replace(plan, bundles=(plan.bundles[aggregate.bundles[0]],), aggregates=(only,))
    if aggregate.ask.function == "count":
        return as_table_count(alone)
    ask = replace(aggregate.ask, function="table_sum", sizes=tuple(factor.size for factor in plan.factors))
    return replace(alone, aggregates=(replace(only, ask=ask),))
