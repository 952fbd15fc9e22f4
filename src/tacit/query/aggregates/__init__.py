"""The aggregates: what each measures of a unit, its estimate and its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from tacit.arrays import Floats, WideInts
from tacit.query.aggregates.arg_max import ArgMax
from tacit.query.aggregates.avg import Average
from tacit.query.aggregates.count import Count, CountDistinct, CountUnits
from tacit.query.aggregates.covariance import Correlation, Covariance
from tacit.query.aggregates.drawn_quantile import DrawnQuantile
from tacit.query.aggregates.existence import Existence
from tacit.query.aggregates.margins import GroupCount, TableCount
from tacit.query.aggregates.mode import Mode
from tacit.query.aggregates.quantile import Quantile
from tacit.query.aggregates.regression import Regression, RSquared
from tacit.query.aggregates.released_columns import IntervalEnds, ReleasedColumn
from tacit.query.aggregates.sized_moments import SizedCount, SizedMean, SizedSpread
from tacit.query.aggregates.skewness import Skewness
from tacit.query.aggregates.statistic import ConfidenceLevel, Noted, Released, Statistic
from tacit.query.aggregates.sum import Sum
from tacit.query.aggregates.table_sum import TableSum
from tacit.query.aggregates.value_bounds import ValueBounds
from tacit.query.aggregates.variance import Variance
from tacit.query.expressions import Value
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Plan
from tacit.query.policy import TablePolicy

STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "arg_max": ArgMax(),  # type: ignore[dict-item]  # draws a category, not a number
        "arg_min": ArgMax(least=True),  # type: ignore[dict-item]  # as above
        "avg": Average(),
        "bool_and": Existence(every=True),
        "bool_or": Existence(),
        "bounds": ValueBounds(),
        "corr": Correlation(),
        "count": Count(),
        "count_distinct": CountDistinct(),
        "count_units": CountUnits(),
        "covar_pop": Covariance(sample=False),
        "covar_samp": Covariance(sample=True),
        "drawn_max": DrawnQuantile("max"),
        "drawn_min": DrawnQuantile("min"),
        "drawn_quantile": DrawnQuantile("cont"),
        "drawn_quantile_disc": DrawnQuantile("disc"),
        "max": Quantile("max"),
        "min": Quantile("min"),
        "mode": Mode(),  # type: ignore[dict-item]  # draws a category, not a number
        "quantile": Quantile("cont"),
        "quantile_disc": Quantile("disc"),
        "regr_intercept": Regression(intercept=True),
        "regr_r2": RSquared(),
        "regr_slope": Regression(),
        "sized_avg": SizedMean(total=False),
        "sized_count": SizedCount(),
        "sized_covar_pop": SizedSpread(),
        "sized_covar_samp": SizedSpread(sample=True),
        "sized_group_count": GroupCount(),
        "sized_stddev_pop": SizedSpread(root=True),
        "sized_stddev_samp": SizedSpread(sample=True, root=True),
        "sized_sum": SizedMean(total=True),
        "sized_var_pop": SizedSpread(),
        "sized_var_samp": SizedSpread(sample=True),
        "skewness": Skewness(),
        "stddev_pop": Variance(sample=False, root=True),
        "stddev_samp": Variance(sample=True, root=True),
        "sum": Sum(),
        "table_count": TableCount(),
        "table_sum": TableSum(),
        "var_pop": Variance(sample=False, root=False),
        "var_samp": Variance(sample=True, root=False),
    }
)


class ColumnarStatistic(Protocol):
    """An aggregate that computes many cells at once."""

    def estimates(self, ask: Ask, released: Sequence[ReleasedColumn]) -> WideInts | Floats:
        """Return the estimates in all cells; each is that of `Statistic.estimate`."""

    def intervals(self, ask: Ask, released: Sequence[ReleasedColumn], confidence: ConfidenceLevel) -> IntervalEnds:
        """Return the ends of the intervals in all cells; each is that of `Statistic.interval`."""


COLUMNAR: Mapping[str, ColumnarStatistic] = MappingProxyType(
    {"count": Count(), "count_distinct": CountDistinct(), "count_units": CountUnits(), "sum": Sum()}
)


def bundles_of(ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
    """Return the bundles of an aggregate."""
    return STATISTICS[ask.function].bundles(ask, table)


def estimates(plan: Plan, released: Sequence[Released]) -> tuple[Value, ...]:
    """Return the estimates of a plan's aggregates in one cell, from its released bundles."""
    return tuple(
        STATISTICS[aggregate.ask.function].estimate(aggregate.ask, [released[i] for i in aggregate.bundles])
        for aggregate in plan.aggregates
    )


def notes(plan: Plan, noise: Sequence[NoiseLaw]) -> dict[str, str]:
    """Return the notes on aggregates whose result differs from plain SQL, by the aggregate's text."""
    texts: dict[str, str] = {}
    for aggregate in plan.aggregates:
        statistic = STATISTICS[aggregate.ask.function]
        if isinstance(statistic, Noted):
            bundles, laws = [plan.bundles[i] for i in aggregate.bundles], [noise[i] for i in aggregate.bundles]
            text = statistic.note(aggregate.ask, bundles, laws)
            if text is not None:
                texts[aggregate.sql] = text
    return texts
