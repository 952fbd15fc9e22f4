"""Run OpenDP's Context on polars with discovered groups, which it shows if their noisy length exceeds a threshold.

The library counts rows. For the keys alone and for counts of units, the bench keeps one row per unit and group, as an
expert would.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import opendp.prelude as dp  # type: ignore[import-not-found]  # installed in the library's environment only
import polars as pl
from query_serve import MAX_GROUPS, MAX_ROWS, Columns, Query, serve

dp.enable_features("contrib")


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that counts the groups in an answer."""
    (name,) = query.statistics
    context = dp.Context.compositor(
        data=pl.scan_parquet(query.path).select("unit", "key"),
        privacy_unit=dp.unit_of(contributions=1, identifier="unit"),
        privacy_loss=dp.loss_of(epsilon=query.epsilon * query.times, delta=query.delta * query.times),
        split_evenly_over=query.times,
    )
    rows = context.query().truncate_per_group(MAX_ROWS if name == "count" else 1, by=["key"])
    groups = rows.truncate_num_groups(MAX_GROUPS, by=["key"], keep="first").group_by("key")
    measurement = groups.agg(dp.len(signed=True)).resolve()

    def ask() -> Columns:
        return {name: [float(context(measurement).collect().height)]}

    return ask


if __name__ == "__main__":
    serve({"opendp": version("opendp"), "polars": version("polars")}, make)
