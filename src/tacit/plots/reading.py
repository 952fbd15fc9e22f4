"""The numbers of a chart: read and checked, thinned, as rows, as words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError, show

Numbers: TypeAlias = Sequence[float] | npt.NDArray[np.floating | np.integer]
Row: TypeAlias = dict[str, float | str]
Columns: TypeAlias = Mapping[str, npt.NDArray[np.float64 | np.str_]]

MOST_ROWS = 5_000
LEAST, LARGEST = 1e-300, 1e300  # beyond these the decades of a log scale leave the floats


def read(given: Mapping[str, object]) -> list[Floats]:
    """Read sequences of numbers, all of one length, none of them empty or with a NaN."""
    found = [_floats(name, values) for name, values in given.items()]
    first = next(iter(given))
    for name, values in zip(given, found, strict=True):
        require(
            values.size == found[0].size, name, f"a length of {values.size}", f"as long as {first} ({found[0].size})"
        )
    return found


def _floats(name: str, values: object) -> Floats:
    try:
        given = np.asarray(values)
        require(given.dtype.kind in "biufO", name, show(values), "a sequence of numbers")
        found = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidError(name, show(values), "a sequence of numbers") from None
    require(found.ndim == 1 and found.size > 0, name, show(values), "a sequence of at least one number")
    require(not np.isnan(found).any(), name, "a NaN among them", "numbers")
    return found


def require(condition: bool | np.bool_, argument: str, got: str, want: str) -> None:  # noqa: FBT001 - as in assert
    """Refuse an argument unless the condition holds."""
    if not condition:
        raise InvalidError(argument, got, want)


def between(low: float, value: object, high: float) -> bool:
    """Say whether a value is a number from low to high."""
    return isinstance(value, Real) and low <= float(value) <= high


def thin(columns: Mapping[str, Floats], most: int) -> dict[str, Floats]:
    """Return the columns in the order of the first, and of more rows than may be, even picks with both ends."""
    first = next(iter(columns.values()))
    order = np.argsort(first, kind="stable")
    if order.size > most:
        order = order[np.linspace(0, order.size - 1, most).round().astype(np.int64)]
    return {name: values[order] for name, values in columns.items()}


def as_rows(columns: Columns, **fixed: str) -> list[Row]:
    """Return columns as rows, each with what is fixed for all of them."""
    lists = [values.tolist() for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) | fixed for row in zip(*lists, strict=True)]


def say(value: float) -> str:
    """Return a number as people write it.

    >>> say(1e-6), say(0.25), say(1e10)
    ('1e-6', '0.25', '1e10')
    """
    return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
