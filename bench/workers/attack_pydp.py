"""Run PyDP's mechanisms and algorithms."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from attack_serve import serve
from serve import Missing
from pydp.algorithms.laplacian import BoundedSum  # type: ignore[import-not-found]  # in the library's environment only
from pydp.algorithms.numerical_mechanisms import (  # type: ignore[import-not-found]  # in the library's environment only
    GaussianMechanism,
    LaplaceMechanism,
)


def number(value: float, law: str) -> Callable[[], float]:
    """Return add_noise. It returns an int for an int."""
    noise = GaussianMechanism(1.0, 1e-6, 1.0) if law == "gaussian" else LaplaceMechanism(epsilon=1, sensitivity=1)
    return lambda: noise.add_noise(value)


def total(rows: list[float], upper: float, *, single: bool = False) -> Callable[[], float]:
    """Return a bounded sum."""
    if single:
        raise Missing("no 32-bit floats")
    kind = "int" if isinstance(upper, int) else "float"

    def release() -> float:
        algorithm = BoundedSum(
            epsilon=1, delta=0, lower_bound=0, upper_bound=upper, l0_sensitivity=1, linf_sensitivity=1, dtype=kind
        )
        return float(algorithm.quick_result(rows))

    return release


if __name__ == "__main__":
    serve({"python-dp": version("python-dp")}, number=number, sum=total)
