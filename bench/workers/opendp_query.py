"""Run OpenDP's Context on polars, bounded by identifier and group as in its documentation.

In this version, `truncate_num_groups(k)` pays for k groups but keeps k - 1. Its default selection raises an error, so
the bench keeps the first groups. Float sums pay for rounding, by the length of the longest group.

For many answers, one collection computes several: the same aggregates under several names, at the same multiple of ε.
Each aggregate has independent noise of the same scale as if it were queried alone, as `summarize` shows.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found]  # installed in the library's environment only
import polars as pl
from query_serve import HIGH, HIGHEST, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Query, serve
from serve import Missing

dp.enable_features("contrib")

MIDDLE, HALF = (LOW + HIGH) / 2, (HIGH - LOW) / 2
SPREAD = {"variance", "deviation"}
CANDIDATES = [LOW + (HIGH - LOW) * i / 1000 for i in range(1001)]
COPIES = 20


def make(query: Query) -> Callable[[], Columns]:
    """Return a function that runs the measurement.

    The library computes a mean from a separate sum and a separate count. The tuned query replaces mean, sum and count
    by one centred sum and one count. With a sum of squares it also gives the variance and the deviation, which the
    library does not support. To count units, it keeps one row per unit and counts rows.
    """
    aggregates = _aggregates(query)
    copies = COPIES if query.times > 1 else 1
    context = _context(query, copies)
    named = [expression.alias(f"{name}_{i}") for i in range(copies) for name, expression in aggregates.items()]
    measurement = _bounded(context.query(), query).group_by("key").agg(*named).with_keys(_keys()).resolve()
    ready: list[Columns] = []

    def ask() -> Columns:
        if not ready:
            frame = pl.DataFrame({"key": KEYS}).join(context(measurement).collect(), on="key", how="left")
            ready.extend(_columns({name: frame[f"{name}_{i}"] for name in aggregates}, query) for i in range(copies))
        return ready.pop()

    return ask


def _context(query: Query, copies: int) -> Any:  # noqa: ANN401 - the library has no types
    identifier = {"identifier": query.unit} if query.unit else {}
    names = [query.unit, "key", "x"] if query.unit else ["key", "x"]
    centred = pl.col("x").clip(LOW, HIGH) - MIDDLE
    rows = pl.scan_parquet(query.path).select(names)
    collections = -(-query.times // copies)
    return dp.Context.compositor(
        data=rows.with_columns(centred.alias("centred"), (centred**2).alias("squares")),
        privacy_unit=dp.unit_of(contributions=1, **identifier),
        privacy_loss=dp.loss_of(epsilon=query.epsilon * copies * collections),
        split_evenly_over=collections,
        margins=[dp.polars.Margin(by=["key"], max_length=query.longest, max_groups=len(KEYS))],
    )


def _bounded(builder: Any, query: Query) -> Any:  # noqa: ANN401
    if query.unit is None:
        return builder
    single = query.tuned and query.statistics == ("units",)
    rows = builder.truncate_per_group(1 if single else MAX_ROWS, by=["key"])
    return rows.truncate_num_groups(MAX_GROUPS, by=["key"], keep="first")


def _keys() -> pl.LazyFrame:
    return pl.LazyFrame({"key": KEYS})


def _aggregates(query: Query) -> dict[str, Any]:
    """Return the aggregates by name: those of the query, or those from which the tuned query derives them."""
    names = set(query.statistics)
    if query.tuned and names == {"units"}:
        return {"units": dp.len(signed=True)}
    if not query.tuned or not names & {"mean", *SPREAD}:
        return {name: _aggregate(name) for name in query.statistics}
    sums = {"count": dp.len(signed=True), "centred": _filled("centred").dp.sum((-HALF, HALF))}
    return sums | ({"squares": _filled("squares").dp.sum((0.0, HALF**2))} if names & SPREAD else {})


def _aggregate(name: str) -> Any:  # noqa: ANN401
    x, unit, bounds = _filled("x"), pl.col("unit"), (float(LOW), float(HIGH))
    offered: dict[str, Callable[[], Any]] = {
        "count": lambda: dp.len(signed=True),
        "sum": lambda: x.dp.sum(bounds),
        "mean": lambda: x.dp.mean(bounds),
        "units": lambda: unit.dp.n_unique(signed=True),  # type: ignore[attr-defined]
        "median": lambda: x.dp.median(CANDIDATES),
        "quantile": lambda: x.dp.quantile(HIGHEST, CANDIDATES),
        "different": lambda: x.dp.n_unique(signed=True),
    }
    if name not in offered:
        raise Missing("not supported")
    return offered[name]()


def _filled(column: str) -> Any:  # noqa: ANN401
    return pl.col(column).fill_null(0.0).fill_nan(0.0)


def _columns(series: dict[str, pl.Series], query: Query) -> Columns:
    frame = pl.DataFrame([column.alias(name).cast(pl.Float64) for name, column in series.items()])
    if "centred" in series:
        offset = pl.col("centred") / pl.col("count")
        total = pl.col("centred") + MIDDLE * pl.col("count")
        frame = frame.with_columns(
            offset.alias("off"), total.alias("sum"), (MIDDLE + offset).clip(LOW, HIGH).alias("mean")
        )
    if "squares" in series:
        variance = (pl.col("squares") / pl.col("count") - pl.col("off") ** 2).clip(0, HALF**2)
        frame = frame.with_columns(variance.alias("variance"), variance.sqrt().alias("deviation"))
    return {name: frame[name].to_list() for name in query.statistics}


if __name__ == "__main__":
    serve({"opendp": version("opendp"), "polars": version("polars")}, make)
