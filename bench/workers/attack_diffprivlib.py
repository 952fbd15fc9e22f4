"""Run the mechanisms and the tools of diffprivlib.

`tools.sum` adds noise for the sensitivity `upper - lower` and publishes the number of rows: neighbours change one row.
The caller passes the rows, so there is no query of an analyst; and there are no groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from attack_serve import serve
from diffprivlib import (  # type: ignore[import-not-found]  # installed in the library's environment only
    __version__,
    mechanisms,
    tools,
)

warnings.simplefilter("ignore", RuntimeWarning)


def number(value: float, law: str) -> Callable[[], float]:
    """Return a release of one number. Integers have the mechanism for integers."""
    if law == "gaussian":
        gaussian = mechanisms.GaussianAnalytic(epsilon=1, delta=1e-6, sensitivity=1)
        return lambda: gaussian.randomise(value)
    if law == "snapping":
        snapping = mechanisms.Snapping(epsilon=1, sensitivity=1, lower=-1000, upper=1000)
        return lambda: snapping.randomise(value)
    mechanism = mechanisms.Geometric if isinstance(value, int) else mechanisms.Laplace
    laplace = mechanism(epsilon=1, sensitivity=1)
    return lambda: laplace.randomise(value)


def total(
    rows: list[float], upper: float, *, lower: float = 0, single: bool = False, ignore_nan: bool = False
) -> Callable[[], float]:
    """Return a release of a sum. A sum of integers has `dtype=int`, which makes the noise an integer too."""
    if isinstance(upper, int):
        return lambda: int(tools.sum(np.array(rows), epsilon=1, bounds=(int(lower), upper), dtype=int))
    values = np.array(rows, dtype=np.float32 if single else float)
    function = tools.nansum if ignore_nan else tools.sum
    return lambda: float(function(values, epsilon=1, bounds=(lower, upper)))


if __name__ == "__main__":
    serve({"diffprivlib": __version__}, number=number, sum=total)
