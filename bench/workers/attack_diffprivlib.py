"""Run the mechanisms and the tools of diffprivlib."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from attack_serve import serve
from serve import Missing
from diffprivlib import (  # type: ignore[import-not-found]  # installed in the library's environment only
    BudgetAccountant,
    __version__,
    mechanisms,
    tools,
)

warnings.simplefilter("ignore", RuntimeWarning)


def number(value: float, law: str) -> Callable[[], float]:
    """Return a release of one number."""
    if law == "gaussian":
        gaussian = mechanisms.GaussianAnalytic(epsilon=1, delta=1e-6, sensitivity=1)
        return lambda: gaussian.randomise(value)
    laplace = mechanisms.Laplace(epsilon=1, sensitivity=1)
    return lambda: laplace.randomise(value)


def total(rows: list[float], upper: float, *, single: bool = False) -> Callable[[], float]:
    """Return a release of a sum. Integers are added up as integers."""
    if isinstance(upper, int):
        return lambda: int(tools.sum(np.array(rows), epsilon=1, bounds=(0, upper), dtype=int))
    values = np.array(rows, dtype=np.float32 if single else float)
    return lambda: float(tools.sum(values, epsilon=1, bounds=(0, upper)))


def failing(rows: list[int]) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return a sum of an array of objects, in which the row to find is a text, and the ε that is counted."""
    accountant = BudgetAccountant()
    values = np.array(["?" if row == 1 else float(row) for row in rows], dtype=object)
    return lambda: float(tools.sum(values, epsilon=1, bounds=(0, 10), accountant=accountant)), lambda: float(
        accountant.total().epsilon
    )


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Refuse: the library has no groups."""
    raise Missing("no groups")


if __name__ == "__main__":
    serve({"diffprivlib": __version__}, number=number, sum=total, failing=failing, keys=keys)
