"""Run OpenDP's measurements."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found]  # installed in the library's environment only
from attack_serve import serve
from serve import Missing

dp.enable_features("contrib")


def number(value: float, law: str) -> Callable[[], float]:
    """Return a release of one number. The Gaussian measurement is calibrated by its curve to ε = 1 and δ = 1e-6."""
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


def total(rows: list[float], upper: float, *, single: bool = False) -> Callable[[], float]:
    """Return a release of a clamped sum with the public number of rows. NaN is replaced first."""
    kind: Any = dp.f32 if single else dp.i64 if isinstance(upper, int) else dp.f64
    zero = 0 if kind == dp.i64 else 0.0
    domain = dp.atom_domain(T=kind) if kind == dp.i64 else dp.atom_domain(T=kind, nan=True)
    chain = (dp.vector_domain(domain, size=len(rows)), dp.symmetric_distance())
    if kind != dp.i64:
        chain = chain >> dp.t.then_impute_constant(zero)
    chain = chain >> dp.t.then_clamp(bounds=(zero, upper)) >> dp.t.then_sum()
    release = dp.binary_search_chain(lambda scale: chain >> dp.m.then_laplace(scale), d_in=2, d_out=1.0)
    return lambda: release(rows)


def failing(rows: list[int]) -> tuple[Callable[[], float], Callable[[], float]]:
    """Refuse: measurements are typed, and a list of another type is refused before it reaches one."""
    raise Missing("inputs have one type")


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Refuse: groups are in the library's polars interface, which is not attacked here."""
    raise Missing("not attacked")


if __name__ == "__main__":
    serve({"opendp": version("opendp")}, number=number, sum=total, failing=failing, keys=keys)
