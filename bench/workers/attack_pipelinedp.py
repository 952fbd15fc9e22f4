"""Run PipelineDP on its local backend."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pipeline_dp as pdp  # type: ignore[import-not-found]  # installed in the library's environment only
from attack_serve import serve
from serve import Missing

logging.disable(logging.WARNING)
warnings.simplefilter("ignore")
_EXTRACTORS = pdp.DataExtractors(
    privacy_id_extractor=lambda row: row[0],
    partition_extractor=lambda row: row[1],
    value_extractor=lambda row: row[2],
)


def _ask(rows: list[tuple[int, str, Any]], metric: Any, upper: float, public: list[str] | None) -> dict[str, Any]:  # noqa: ANN401 - the library has no types
    parameters = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.LAPLACE,
        metrics=[metric],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=upper,
    )
    budget = pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0 if public else 1e-6)
    answer = pdp.DPEngine(budget, pdp.LocalBackend()).aggregate(rows, parameters, _EXTRACTORS, public_partitions=public)
    budget.compute_budgets()
    return dict(answer)


def total(rows: list[float], upper: float, *, single: bool = False) -> Callable[[], float]:
    """Return the sum of one public partition."""
    if single:
        raise Missing("no 32-bit floats")
    table = [(person, "all", value) for person, value in enumerate(rows)]
    return lambda: float(_ask(table, pdp.Metrics.SUM, upper, ["all"])["all"].sum)


def failing(rows: list[int]) -> tuple[Callable[[], float], Callable[[], None]]:
    """Return a sum in which the row to find is a text. Each question has its own budget, so none is counted."""
    table = [(person, "all", "?" if value == 1 else float(value)) for person, value in enumerate(rows)]
    return lambda: float(_ask(table, pdp.Metrics.SUM, 10.0, ["all"])["all"].sum), lambda: None


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return the partitions that the library selects."""
    table = [(person, key, 0.0) for person, key in enumerate(rows)]
    return lambda: sorted(_ask(table, pdp.Metrics.COUNT, 1.0, None))


if __name__ == "__main__":
    serve({"pipeline-dp": version("pipeline-dp")}, sum=total, failing=failing, keys=keys)
