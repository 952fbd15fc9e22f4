"""Releases as a first attempt writes them, with NumPy and floats. Every attack must succeed here."""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

import numpy as np
from attack_serve import serve
from serve import Missing

_RANDOM = np.random.default_rng()
_SIGMA = sqrt(2 * log(1.25 / 1e-6))


def number(value: float, law: str) -> Callable[[], float]:
    """Return a release of one number: float noise is added to a float."""
    if law == "snapping":
        raise Missing("no snapping mechanism")
    if law == "gaussian":
        return lambda: float(value) + float(_RANDOM.normal(0.0, _SIGMA))
    return lambda: _timed_laplace(float(value), 1.0)


def _timed_laplace(value: float, scale: float) -> float:
    """Add Laplace noise by the inverse of its distribution function; a loop takes longer for larger noise."""
    uniform = _RANDOM.random() - 0.5
    noise = -scale * float(np.sign(uniform)) * float(np.log(1 - 2 * abs(uniform)))
    steps = 0
    while steps < 40 * abs(noise) / scale:
        steps += 1
    return value + noise


def total(
    rows: list[float], upper: float, *, lower: float = 0, single: bool = False, ignore_nan: bool = False
) -> Callable[[], float]:
    """Return a release of a sum that is added up row by row, in the type of the rows; neighbours change one row."""
    if ignore_nan:
        raise Missing("no other sum")
    values = np.clip(np.array(rows, dtype=np.float32 if single else None), lower, upper)

    def release() -> float:
        with np.errstate(all="ignore"):
            return float(np.add.accumulate(values)[-1]) + float(_RANDOM.laplace(0.0, upper - lower))

    return release


def failing(rows: list[int]) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return a query that divides by zero on one row, and the ε that is counted after each answer."""
    spent = [0.0]

    def ask() -> float:
        answer = sum(1 // (row - 1) for row in rows) + float(_RANDOM.laplace())
        spent[0] += 1.0
        return answer

    return ask, lambda: spent[0]


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return a release of all values with noisy counts: the values themselves are exact."""
    return lambda: sorted(set(rows))


if __name__ == "__main__":
    serve({"numpy": np.__version__}, number=number, sum=total, failing=failing, keys=keys)
