"""OpenDP's Context on polars: groups that nobody listed, shown if their noisy length is beyond a threshold.

Its lengths are of rows, so for the keys alone, and for counts of units, a unit keeps one row of each group: that is
what one who knows the library would ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import opendp.prelude as dp  # type: ignore[import-not-found]  # lives in the peer's own environment
import polars as pl
from query_serve import MAX_GROUPS, MAX_ROWS, Columns, Question, serve

dp.enable_features("contrib")


def make(question: Question) -> Callable[[], Columns]:
    """Return a measurement's answer: how many groups it shows."""
    (name,) = question.statistics
    context = dp.Context.compositor(
        data=pl.scan_parquet(question.path).select("unit", "key"),
        privacy_unit=dp.unit_of(contributions=1, identifier="unit"),
        privacy_loss=dp.loss_of(epsilon=question.epsilon * question.times, delta=question.delta * question.times),
        split_evenly_over=question.times,
    )
    rows = context.query().truncate_per_group(MAX_ROWS if name == "count" else 1, by=["key"])
    groups = rows.truncate_num_groups(MAX_GROUPS, by=["key"], keep="first").group_by("key")
    measurement = groups.agg(dp.len(signed=True)).resolve()

    def ask() -> Columns:
        return {name: [float(context(measurement).collect().height)]}

    return ask


if __name__ == "__main__":
    serve({"opendp": version("opendp"), "polars": version("polars")}, make)
