"""Run tacit's samplers and scalar releases."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.metadata import version

from serve import Missing, serve

from tacit.mechanisms.laplace import Laplace
from tacit.noise import discrete_gaussian, discrete_laplace


def draws(law: str, scale: float, size: int) -> Callable[[], object]:
    """Return a function that draws `size` integers with this scale or σ."""
    if law == "laplace":
        return partial(discrete_laplace, Fraction(scale), size)
    return partial(discrete_gaussian, Fraction(scale) ** 2, size)


def releases(law: str, kind: str, level: float) -> Callable[[float], float]:
    """Return the release of one number with sensitivity 1. Integers stay integers."""
    sensitivity = 1 if kind == "int" else 1.0
    if law == "laplace":
        return Laplace(sensitivity=sensitivity, epsilon=level).release  # type: ignore[return-value]  # number in, number out
    try:
        gaussian = import_module("tacit.mechanisms.gaussian")
    except ImportError as error:
        raise Missing("cannot import the Gaussian") from error
    release: Callable[[float], float] = gaussian.Gaussian(sensitivity=sensitivity, sigma=level).release
    return release


if __name__ == "__main__":
    serve({"tacit": version("tacit"), "cryptography": version("cryptography")}, draws=draws, releases=releases)
