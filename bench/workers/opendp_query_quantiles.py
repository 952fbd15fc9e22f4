"""OpenDP: ten quantiles, each alone through its Context, or all together from its tree of counts.

The tree is over the same 4,096 bins, with the branching that its own advice gives for this size, made consistent, and
read with linear interpolation. Its bins are counted by polars, since only its errors are wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found]  # lives in the peer's own environment
import polars as pl
from query_serve import BINS, MOST, Columns, Question, serve

dp.enable_features("contrib")

EDGES = [MOST * i / BINS for i in range(BINS + 1)]


def make(question: Question) -> Callable[[], Columns]:
    """Return a measurement's answer; one who knows the library asks for the tree."""
    return _tree(question) if question.knowing else _alone(question)


def _tree(question: Question) -> Callable[[], Columns]:
    counts = _counts(question.path)
    branching = dp.t.choose_branching_factor(size_guess=sum(counts))
    domain = dp.vector_domain(dp.atom_domain(T=int), size=BINS)
    tree = dp.t.make_b_ary_tree(domain, dp.l1_distance(T=int), leaf_count=BINS, branching_factor=branching)
    noisy = dp.binary_search_chain(lambda scale: tree >> dp.m.then_laplace(scale), d_in=1, d_out=question.epsilon)
    consistent = dp.t.make_consistent_b_ary_tree(branching)
    ranks = [float(rank) for rank in question.statistics]
    read = dp.t.make_quantiles_from_counts(EDGES, ranks, interpolation="linear")

    def ask() -> Columns:
        found: Any = read(consistent(noisy(counts)))
        return {rank: [float(value)] for rank, value in zip(question.statistics, found, strict=True)}

    return ask


def _counts(path: str) -> list[int]:
    place = (pl.col("x") * BINS / MOST).floor().clip(0, BINS - 1).cast(pl.Int64).alias("bin")
    found = dict(pl.scan_parquet(path).group_by(place).len().collect().iter_rows())
    return [int(found.get(i, 0)) for i in range(BINS)]


def _alone(question: Question) -> Callable[[], Columns]:
    context = dp.Context.compositor(
        data=pl.scan_parquet(question.path).select("x"),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=question.epsilon * question.times),
        split_evenly_over=question.times,
        margins=[dp.polars.Margin(max_length=question.longest)],
    )
    x: Any = pl.col("x").fill_null(0.0).fill_nan(0.0)
    asked = [x.dp.quantile(float(rank), EDGES).alias(rank) for rank in question.statistics]
    measurement = context.query().select(*asked).resolve()

    def ask() -> Columns:
        frame = context(measurement).collect()
        return {rank: [float(frame[rank][0])] for rank in question.statistics}

    return ask


if __name__ == "__main__":
    serve({"opendp": version("opendp"), "polars": version("polars")}, make)
