"""One file an aggregate: what it measures of each unit, its estimate and its interval."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tacit.query.aggregates.avg import Average
from tacit.query.aggregates.count import Count, CountUnits
from tacit.query.aggregates.statistic import Statistic
from tacit.query.aggregates.sum import Sum
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy

STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {"avg": Average(), "count": Count(), "count_units": CountUnits(), "sum": Sum()}
)


def bundles_of(ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
    """Return what an aggregate measures."""
    return STATISTICS[ask.function].bundles(ask, table)
