"""Run PipelineDP with its private contribution bounds, with public partitions and Laplace noise.

PipelineDP chooses max_partitions_contributed privately, for counts; the same choice serves the sum here. It cannot
choose max_contributions_per_partition. Its choice assumes 1, and so does this worker.

The private choice and the noise are PipelineDP's own. Its local backend takes minutes for one pass over the rows of
these tables. So this worker draws the rows that count with numpy, as its contribution bounder does: one row of each
unit in each group, then at most max_partitions_contributed groups of each unit, all at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import get_args

import numpy as np
import pandas as pd
import pipeline_dp as pdp  # type: ignore[import-not-found]  # installed in the library's environment only
from limits_serve import HIGH, SHARE, Answer, Request, Statistic, serve
from pipeline_dp.dataset_histograms import histograms as h  # type: ignore[import-not-found]
from pipeline_dp.private_contribution_bounds import PrivateL0Calculator  # type: ignore[import-not-found]


def answers(request: Request) -> Iterator[Answer]:
    """Yield the releases of every question."""
    frame = pd.read_parquet(request.path, columns=["unit", "key", "x"])
    frame["key"] = pd.Categorical(frame["key"], request.keys).codes
    for grouped in (True, False):
        groups = len(request.keys) if grouped else 1
        rows = frame if grouped else frame.assign(key=0)
        choose = _choice(rows, groups)
        for epsilon in request.epsilons:
            limits = [choose(epsilon) for _ in range(request.times)]
            bounded = [_bounded(rows, limit) for limit in limits]
            for statistic in get_args(Statistic):
                values = [
                    _noisy(_totals(part, statistic, groups), statistic, limit, epsilon)
                    for part, limit in zip(bounded, limits, strict=True)
                ]
                yield Answer(statistic=statistic, grouped=grouped, epsilon=epsilon, limits=[*limits], values=values)


def _choice(rows: pd.DataFrame, groups: int) -> Callable[[float], int]:
    """Return PipelineDP's private choice of max_partitions_contributed, from the exact histogram that it computes."""
    present = rows.groupby("unit")["key"].nunique().value_counts().sort_index()
    bins = [
        h.FrequencyBin(int(n), int(n) + 1, int(count), int(n * count), int(n), int(n)) for n, count in present.items()
    ]
    one = h.Histogram(h.HistogramType.L0_CONTRIBUTIONS, bins)
    histograms = [h.DatasetHistograms(one, *[None] * 8)]

    def choose(epsilon: float) -> int:
        parameters = pdp.CalculatePrivateContributionBoundsParams(
            aggregation_noise_kind=pdp.NoiseKind.LAPLACE,
            aggregation_eps=(1 - SHARE) * epsilon,
            aggregation_delta=0,
            calculation_eps=SHARE * epsilon,
            max_partitions_contributed_upper_bound=groups,
        )
        keys = list(range(groups))
        (limit,) = PrivateL0Calculator(parameters, keys, histograms, pdp.LocalBackend()).calculate()
        return int(limit)

    return choose


def _bounded(rows: pd.DataFrame, limit: int) -> pd.DataFrame:
    """Return one random row of each unit in each group, in at most `limit` random groups of each unit."""
    shuffled = rows.iloc[np.random.default_rng().permutation(len(rows))]
    one_row = shuffled.drop_duplicates(["unit", "key"])
    again = one_row.iloc[np.random.default_rng().permutation(len(one_row))]
    return again[again.groupby("unit").cumcount() < limit]


def _totals(rows: pd.DataFrame, statistic: Statistic, groups: int) -> list[float]:
    weights = None if statistic == "count" else rows["x"].to_numpy()
    return [float(total) for total in np.bincount(rows["key"].to_numpy(), weights, groups)]


def _noisy(totals: list[float], statistic: Statistic, limit: int, epsilon: float) -> list[float]:
    """Return totals with PipelineDP's noise, at the ε that the choice leaves."""
    budget = pdp.NaiveBudgetAccountant(total_epsilon=(1 - SHARE) * epsilon, total_delta=0)
    parameters = pdp.aggregate_params.AddDPNoiseParams(
        noise_kind=pdp.NoiseKind.LAPLACE,
        l0_sensitivity=limit,
        linf_sensitivity=1.0 if statistic == "count" else float(HIGH),
    )
    noisy = pdp.DPEngine(budget, pdp.LocalBackend()).add_dp_noise(list(enumerate(totals)), parameters)
    budget.compute_budgets()
    results = dict(noisy)
    return [float(results[key]) for key in range(len(totals))]


if __name__ == "__main__":
    serve({"pipeline-dp": version("pipeline-dp")}, answers)
