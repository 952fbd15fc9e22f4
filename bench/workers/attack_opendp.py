"""Run OpenDP's measurements, with the feature `contrib` and without the feature for idealised numerics.

The size of a table is public here, so neighbours change one row: they are at a symmetric distance of 2.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found]  # installed in the library's environment only
import polars as pl
from attack_serve import serve
from serve import Missing

dp.enable_features("contrib")


def number(value: float, law: str) -> Callable[[], float]:
    """Return a release of one number. The Gaussian measurement is calibrated by its curve to ε = 1 and δ = 1e-6."""
    if law == "snapping":
        raise Missing("no snapping mechanism")
    exact = isinstance(value, int)
    domain = dp.atom_domain(T=dp.i64) if exact else dp.atom_domain(T=float, nan=False)
    if law == "gaussian":
        space = domain, dp.absolute_distance(T=float)
        gaussian = dp.binary_search_chain(
            lambda scale: dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale)), 1e-6),
            d_in=1.0,
            d_out=(1.0, 1e-6),
        )
        return lambda: gaussian(value)
    laplace = dp.m.make_laplace(domain, dp.absolute_distance(T=dp.i64 if exact else float), 1.0)
    return lambda: laplace(value)


def total(
    rows: list[float], upper: float, *, lower: float = 0, single: bool = False, ignore_nan: bool = False
) -> Callable[[], float]:
    """Return a release of a clamped sum with the public number of rows. NaN is replaced first."""
    if ignore_nan:
        raise Missing("no other sum")
    kind: Any = dp.f32 if single else dp.i64 if isinstance(upper, int) else dp.f64
    zero = type(upper)(lower)
    domain = dp.atom_domain(T=kind) if kind == dp.i64 else dp.atom_domain(T=kind, nan=True)
    chain = (dp.vector_domain(domain, size=len(rows)), dp.symmetric_distance())
    if kind != dp.i64:
        chain = chain >> dp.t.then_impute_constant(zero)
    chain = chain >> dp.t.then_clamp(bounds=(zero, upper)) >> dp.t.then_sum()
    if kind == dp.i64:  # the search for a scale does not try large ones
        release = chain >> dp.m.then_laplace(float(chain.map(2)))
    else:
        release = dp.binary_search_chain(lambda scale: chain >> dp.m.then_laplace(scale), d_in=2, d_out=1.0)
    if release.map(2) > 1:
        raise Missing("no scale for ε = 1")
    return lambda: release(rows)


def _query(frame: pl.LazyFrame) -> Any:  # noqa: ANN401 - the library has no types
    """Return a query on a Polars frame without public facts, for ε = 1 and δ = 1e-6."""
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(changes=1),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=1000)],
    )
    return context.query()


def failing(rows: list[int]) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return a sum with a strict cast of texts to integers. One row is not an integer; nothing counts the ε."""
    frame = pl.LazyFrame({"text": ["?" if row == 1 else str(row) for row in rows]})
    number: Any = pl.col("text").cast(pl.Int64, strict=True).fill_null(0)  # the library adds `dp` to it
    ask = _query(frame).select(number.dp.sum(bounds=(0, 10))).resolve()
    return lambda: float(ask(frame).collect().item()), lambda: float("nan")


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return the groups of a query, whose keys are not public."""
    frame = pl.LazyFrame({"key": rows})
    ask = _query(frame).group_by("key").agg(dp.len(signed=True)).resolve()
    return lambda: sorted(ask(frame).collect()["key"].to_list())


if __name__ == "__main__":
    serve({"opendp": version("opendp")}, number=number, sum=total, failing=failing, keys=keys)
