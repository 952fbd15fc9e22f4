"""Run PipelineDP on its local backend with public partitions; a mean includes a count and a sum at no further cost."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import pandas as pd
import pipeline_dp as pdp  # type: ignore[import-not-found]  # installed in the library's environment only
from query_serve import HIGH, HIGHEST, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Query, serve
from serve import Missing

METRICS = {
    "count": pdp.Metrics.COUNT,
    "sum": pdp.Metrics.SUM,
    "mean": pdp.Metrics.MEAN,
    "units": pdp.Metrics.PRIVACY_ID_COUNT,
    "variance": pdp.Metrics.VARIANCE,
    "median": pdp.Metrics.PERCENTILE(50),
    "quantile": pdp.Metrics.PERCENTILE(round(100 * HIGHEST)),
}
NAMES = {"units": "privacy_id_count", "median": "percentile_50", "quantile": f"percentile_{round(100 * HIGHEST)}"}


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that runs the engine with a new budget each time."""
    if not set(query.statistics) <= METRICS.keys():
        raise Missing("not supported")
    frame = pd.read_parquet(query.path, columns=[query.unit or "unit", "key", "x"])
    rows = list(frame.itertuples(index=False, name=None))
    parameters = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.LAPLACE,
        metrics=[METRICS[name] for name in query.statistics],
        max_partitions_contributed=MAX_GROUPS,
        max_contributions_per_partition=MAX_ROWS,
        min_value=LOW,
        max_value=HIGH,
    )
    columns = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )

    def ask() -> Columns:
        budget = pdp.NaiveBudgetAccountant(total_epsilon=query.epsilon, total_delta=0)
        answer = pdp.DPEngine(budget, pdp.LocalBackend()).aggregate(rows, parameters, columns, public_partitions=KEYS)
        budget.compute_budgets()
        results = dict(answer)
        return {
            name: [float(getattr(results[key], NAMES.get(name, name))) for key in KEYS] for name in query.statistics
        }

    return ask


if __name__ == "__main__":
    serve({"pipeline-dp": version("pipeline-dp")}, make)
