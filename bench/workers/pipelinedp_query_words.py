"""Run PipelineDP on its local backend with discovered groups, by its default strategy, alone or with their counts."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pandas as pd
import pipeline_dp as pdp  # type: ignore[import-not-found]  # installed in the library's environment only
from query_serve import MAX_GROUPS, MAX_ROWS, Columns, Query, serve

METRICS = {"count": pdp.Metrics.COUNT, "units": pdp.Metrics.PRIVACY_ID_COUNT}


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that counts the groups in an answer, with a new budget each time."""
    (name,) = query.statistics
    frame = pd.read_parquet(query.path, columns=["unit", "key"])
    rows = list(frame.itertuples(index=False, name=None))
    columns = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda _: 0,
    )

    def ask() -> Columns:
        budget = pdp.NaiveBudgetAccountant(total_epsilon=query.epsilon, total_delta=query.delta)
        engine = pdp.DPEngine(budget, pdp.LocalBackend())
        answer = _groups(engine, name, rows, columns)
        budget.compute_budgets()
        return {name: [float(len(list(answer)))]}

    return ask


def _groups(engine: Any, name: str, rows: list[Any], columns: Any) -> Any:  # noqa: ANN401 - the library has no types
    if name == "keys":
        return engine.select_partitions(
            rows, pdp.SelectPartitionsParams(max_partitions_contributed=MAX_GROUPS), columns
        )
    parameters = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.LAPLACE,
        metrics=[METRICS[name]],
        max_partitions_contributed=MAX_GROUPS,
        max_contributions_per_partition=MAX_ROWS,
    )
    return engine.aggregate(rows, parameters, columns)


if __name__ == "__main__":
    serve({"pipeline-dp": version("pipeline-dp")}, make)
