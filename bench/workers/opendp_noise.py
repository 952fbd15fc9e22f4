"""Run OpenDP's Laplace and Gaussian measurements on vectors of integers and on single numbers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import opendp.prelude as dp  # type: ignore[import-not-found]  # installed in the library's environment only
from serve import serve

dp.enable_features("contrib")


def draws(law: str, scale: float, size: int) -> Callable[[], object]:
    """Return a function that adds noise to a list of `size` zeros."""
    domain, zeros = dp.vector_domain(dp.atom_domain(T=int)), [0] * size
    if law == "laplace":
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T=int), float(scale))
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), float(scale))
    return lambda: measurement(zeros)


def releases(law: str, kind: str, level: float) -> Callable[[float], float]:
    """Return the measurement of one number with sensitivity 1."""
    number_type = int if kind == "int" else float
    domain = dp.atom_domain(T=int) if kind == "int" else dp.atom_domain(T=float, nan=False)
    if law == "laplace":
        release: Callable[[float], float] = dp.m.make_laplace(domain, dp.absolute_distance(T=number_type), 1 / level)
    else:
        release = dp.m.make_gaussian(domain, dp.absolute_distance(T=float), float(level))
    return release


if __name__ == "__main__":
    serve({"opendp": version("opendp")}, draws=draws, releases=releases)
