"""One file an aggregate: what it measures of each unit, its estimate and its interval."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tacit.query.aggregates.avg import Average
from tacit.query.aggregates.count import Count, CountUnits
from tacit.query.aggregates.count_distinct import CountDistinct
from tacit.query.aggregates.covariance import Correlation, Covariance
from tacit.query.aggregates.quantile import Quantile
from tacit.query.aggregates.statistic import Statistic
from tacit.query.aggregates.sum import Sum
from tacit.query.aggregates.table_count import TableCount
from tacit.query.aggregates.variance import Variance
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy

STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "avg": Average(),
        "corr": Correlation(),
        "count": Count(),
        "count_distinct": CountDistinct(),
        "count_units": CountUnits(),
        "covar_pop": Covariance(sample=False),
        "covar_samp": Covariance(sample=True),
        "max": Quantile("max"),
        "min": Quantile("min"),
        "quantile": Quantile("cont"),
        "quantile_disc": Quantile("disc"),
        "stddev_pop": Variance(sample=False, root=True),
        "stddev_samp": Variance(sample=True, root=True),
        "sum": Sum(),
        "table_count": TableCount(),
        "var_pop": Variance(sample=False, root=False),
        "var_samp": Variance(sample=True, root=False),
    }
)


def bundles_of(ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
    """Return what an aggregate measures."""
    return STATISTICS[ask.function].bundles(ask, table)
