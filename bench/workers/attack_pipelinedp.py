"""Run PipelineDP on its local backend. It takes its noise and its selection of partitions from PyDP.

Neighbours add or remove the rows of one privacy id. The caller passes the rows and the functions that read them, so
there is no query of an analyst.
"""

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


def _ask(
    rows: list[tuple[int, str, Any]],
    metric: Any,  # noqa: ANN401 - the library has no types
    bounds: tuple[float, float],
    public: list[str] | None,
) -> dict[str, Any]:
    parameters = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.LAPLACE,
        metrics=[metric],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=bounds[0],
        max_value=bounds[1],
    )
    budget = pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0 if public else 1e-6)
    answer = pdp.DPEngine(budget, pdp.LocalBackend()).aggregate(rows, parameters, _EXTRACTORS, public_partitions=public)
    budget.compute_budgets()
    return dict(answer)


def total(
    rows: list[float], upper: float, *, lower: float = 0, single: bool = False, ignore_nan: bool = False
) -> Callable[[], float]:
    """Return the sum of one public partition."""
    if single or ignore_nan:
        raise Missing("no 32-bit floats" if single else "no other sum")
    table = [(person, "all", value) for person, value in enumerate(rows)]
    return lambda: float(_ask(table, pdp.Metrics.SUM, (lower, upper), ["all"])["all"].sum)


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return the partitions that the library selects."""
    table = [(person, key, 0.0) for person, key in enumerate(rows)]
    return lambda: sorted(_ask(table, pdp.Metrics.COUNT, (0, 1), None))


if __name__ == "__main__":
    serve(
        {"pipeline-dp": version("pipeline-dp"), "python-dp": version("python-dp")},
        neighbours="add/remove",
        sum=total,
        keys=keys,
    )
