"""The points and probabilities at which a law is evaluated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError

_FINITE = 10**309


def read_points(values: npt.ArrayLike, argument: str) -> Floats:
    """Return numbers as floats; NaN, infinities and integers of any size are valid points.

    >>> read_points([1, 2.5, 10**400], "x").tolist()
    [1.0, 2.5, inf]
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = np.array([_cut(value) for value in array.flat]).reshape(array.shape)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=np.str_)
    if array.dtype.kind not in "iuf":
        message = f"{argument} must be a number, or an array of numbers, and this {type(values).__name__} is not."
        raise InvalidError(message, argument=argument)
    return array.astype(np.float64)


def _cut(value: object) -> float:
    """Return an integer beyond the floats as an infinity, and any other number as a float."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _FINITE:
        return float("inf") if value > 0 else float("-inf")
    if isinstance(value, (str, bytes, bool)):
        raise TypeError
    return float(value)  # type: ignore[arg-type]  # raises TypeError if it is not a number


def read_probabilities(values: npt.ArrayLike) -> Floats:
    """Return numbers from 0 to 1, or raise InvalidError."""
    floats = read_points(values, "p")
    if not ((floats >= 0) & (floats <= 1)).all():
        raise InvalidError("p must hold numbers from 0 to 1.", argument="p")
    return floats


def plain(result: Floats) -> float | Floats:
    """Return an array of no dimension as a number."""
    return float(result) if result.ndim == 0 else result


def at_points(values: npt.ArrayLike, function: Callable[[Floats], Floats]) -> float | Floats:
    """Evaluate a function at the points x; the result is NaN at a NaN."""
    x = read_points(values, "x")
    with np.errstate(all="ignore"):
        result = np.asarray(function(np.where(np.isnan(x), 0.0, x)), dtype=np.float64)
    return plain(np.where(np.isnan(x), np.nan, result))
