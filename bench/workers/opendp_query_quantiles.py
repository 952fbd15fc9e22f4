"""Run OpenDP on ten quantiles: each alone through its Context, or all together from its tree of counts.

The tree has the same 4,096 bins and the branching factor that OpenDP recommends for this size. It is made consistent
and read with linear interpolation. polars counts the bins, because the bench only compares errors.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found]  # installed in the library's environment only
import polars as pl
from query_serve import BINS, MOST, Columns, Query, serve

dp.enable_features("contrib")

EDGES = [MOST * i / BINS for i in range(BINS + 1)]


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that runs the measurement; the tuned query uses the tree."""
    return _tree(query) if query.tuned else _alone(query)


def _tree(query: Query) -> Callable[[], Columns]:
    counts = _counts(query.path)
    branching = dp.t.choose_branching_factor(size_guess=sum(counts))
    domain = dp.vector_domain(dp.atom_domain(T=int), size=BINS)
    tree = dp.t.make_b_ary_tree(domain, dp.l1_distance(T=int), leaf_count=BINS, branching_factor=branching)
    noisy = dp.binary_search_chain(lambda scale: tree >> dp.m.then_laplace(scale), d_in=1, d_out=query.epsilon)
    consistent = dp.t.make_consistent_b_ary_tree(branching)
    ranks = [float(rank) for rank in query.statistics]
    read = dp.t.make_quantiles_from_counts(EDGES, ranks, interpolation="linear")

    def ask() -> Columns:
        values: Any = read(consistent(noisy(counts)))
        return {rank: [float(value)] for rank, value in zip(query.statistics, values, strict=True)}

    return ask


def _counts(path: str) -> list[int]:
    bin_index = (pl.col("x") * BINS / MOST).floor().clip(0, BINS - 1).cast(pl.Int64).alias("bin")
    values = dict(pl.scan_parquet(path).group_by(bin_index).len().collect().iter_rows())
    return [int(values.get(i, 0)) for i in range(BINS)]


def _alone(query: Query) -> Callable[[], Columns]:
    context = dp.Context.compositor(
        data=pl.scan_parquet(query.path).select("x"),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=query.epsilon * query.times),
        split_evenly_over=query.times,
        margins=[dp.polars.Margin(max_length=query.longest)],
    )
    x: Any = pl.col("x").fill_null(0.0).fill_nan(0.0)
    aggregates = [x.dp.quantile(float(rank), EDGES).alias(rank) for rank in query.statistics]
    measurement = context.query().select(*aggregates).resolve()

    def ask() -> Columns:
        frame = context(measurement).collect()
        return {rank: [float(frame[rank][0])] for rank in query.statistics}

    return ask


if __name__ == "__main__":
    serve({"opendp": version("opendp"), "polars": version("polars")}, make)
