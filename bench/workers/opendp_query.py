"""OpenDP's Context on polars, bounded by identifier and group as its documentation does it.

`truncate_num_groups(k)` pays for k groups but keeps k - 1 in this version, and its default way of choosing them
fails when it is run, so the first groups are kept. Float sums pay for rounding, by the length of the longest group.

Where many answers are wanted, one collection makes several: the same aggregates under several names, at as many times
ε. Each has noise of its own and of the same scale as if it were asked alone, as `summarize` shows.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found]  # lives in the peer's own environment
import polars as pl
from query_serve import HIGH, HIGHEST, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Columns, Question, serve
from serve import Missing

dp.enable_features("contrib")

MIDDLE, HALF = (LOW + HIGH) / 2, (HIGH - LOW) / 2
SPREAD = {"variance", "deviation"}
CANDIDATES = [LOW + (HIGH - LOW) * i / 1000 for i in range(1001)]
COPIES = 20


def make(question: Question) -> Callable[[], Columns]:
    """Return a measurement's answer.

    One who knows the library does not ask for a mean, which it makes of a sum of its own and a count of its own,
    nor for sums of positive values beside counts: one centred sum and one count give all three statistics, and with
    a sum of squares the spread, which it does not offer. They count units as rows, of which each unit keeps one.
    """
    asked = _asked(question)
    copies = COPIES if question.times > 1 else 1
    context = _context(question, copies)
    named = [expression.alias(f"{name}_{i}") for i in range(copies) for name, expression in asked.items()]
    measurement = _bounded(context.query(), question).group_by("key").agg(*named).with_keys(_keys()).resolve()
    ready: list[Columns] = []

    def ask() -> Columns:
        if not ready:
            frame = pl.DataFrame({"key": KEYS}).join(context(measurement).collect(), on="key", how="left")
            ready.extend(_columns({name: frame[f"{name}_{i}"] for name in asked}, question) for i in range(copies))
        return ready.pop()

    return ask


def _context(question: Question, copies: int) -> Any:  # noqa: ANN401 - the peer has no types
    identifier = {"identifier": question.unit} if question.unit else {}
    wanted = [question.unit, "key", "x"] if question.unit else ["key", "x"]
    centred = pl.col("x").clip(LOW, HIGH) - MIDDLE
    rows = pl.scan_parquet(question.path).select(wanted)
    collections = -(-question.times // copies)
    return dp.Context.compositor(
        data=rows.with_columns(centred.alias("centred"), (centred**2).alias("squares")),
        privacy_unit=dp.unit_of(contributions=1, **identifier),
        privacy_loss=dp.loss_of(epsilon=question.epsilon * copies * collections),
        split_evenly_over=collections,
        margins=[dp.polars.Margin(by=["key"], max_length=question.longest, max_groups=len(KEYS))],
    )


def _bounded(query: Any, question: Question) -> Any:  # noqa: ANN401
    if question.unit is None:
        return query
    single = question.knowing and question.statistics == ("units",)
    rows = query.truncate_per_group(1 if single else MAX_ROWS, by=["key"])
    return rows.truncate_num_groups(MAX_GROUPS, by=["key"], keep="first")


def _keys() -> pl.LazyFrame:
    return pl.LazyFrame({"key": KEYS})


def _asked(question: Question) -> dict[str, Any]:
    """Return the aggregates to ask for, by name: those of the question, or what one who knows derives them from."""
    wanted = set(question.statistics)
    if question.knowing and wanted == {"units"}:
        return {"units": dp.len(signed=True)}
    if not question.knowing or not wanted & {"mean", *SPREAD}:
        return {name: _aggregate(name) for name in question.statistics}
    sums = {"count": dp.len(signed=True), "centred": _filled("centred").dp.sum((-HALF, HALF))}
    return sums | ({"squares": _filled("squares").dp.sum((0.0, HALF**2))} if wanted & SPREAD else {})


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
        raise Missing("not offered")
    return offered[name]()


def _filled(column: str) -> Any:  # noqa: ANN401
    return pl.col(column).fill_null(0.0).fill_nan(0.0)


def _columns(found: dict[str, pl.Series], question: Question) -> Columns:
    frame = pl.DataFrame([one.alias(name).cast(pl.Float64) for name, one in found.items()])
    if "centred" in found:
        off = pl.col("centred") / pl.col("count")
        total = pl.col("centred") + MIDDLE * pl.col("count")
        frame = frame.with_columns(off.alias("off"), total.alias("sum"), (MIDDLE + off).clip(LOW, HIGH).alias("mean"))
    if "squares" in found:
        variance = (pl.col("squares") / pl.col("count") - pl.col("off") ** 2).clip(0, HALF**2)
        frame = frame.with_columns(variance.alias("variance"), variance.sqrt().alias("deviation"))
    return {name: frame[name].to_list() for name in question.statistics}


if __name__ == "__main__":
    serve({"opendp": version("opendp"), "polars": version("polars")}, make)
