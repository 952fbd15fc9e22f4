"""Run PyDP's distributions, which draw one number per call, and its mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from pydp.algorithms.numerical_mechanisms import (  # type: ignore[import-not-found]  # installed in the library's environment only
    GaussianMechanism,
    LaplaceMechanism,
)
from pydp.distributions import (  # type: ignore[import-not-found]  # installed in the library's environment only
    GaussianDistribution,
    LaplaceDistribution,
)
from serve import serve


def draws(law: str, scale: float, size: int) -> Callable[[], object]:
    """Return a function that calls `sample` `size` times, since PyDP has no function for arrays."""
    # The argument of GaussianDistribution has the name epsilon but is the standard deviation.
    distribution = (
        LaplaceDistribution(epsilon=1 / scale, sensitivity=1.0)
        if law == "laplace"
        else GaussianDistribution(float(scale))
    )
    sample = distribution.sample
    return lambda: [sample() for _ in range(size)]


def releases(law: str, kind: str, level: float) -> Callable[[float], float]:
    """Return add_noise with sensitivity 1. It returns an int for an int."""
    del kind  # add_noise chooses by the type of the number
    mechanism = (
        LaplaceMechanism(epsilon=level, sensitivity=1)
        if law == "laplace"
        else GaussianMechanism.create_from_standard_deviation(float(level))
    )
    release: Callable[[float], float] = mechanism.add_noise
    return release


if __name__ == "__main__":
    serve({"python-dp": version("python-dp")}, draws=draws, releases=releases)
