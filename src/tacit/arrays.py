"""Types of NumPy arrays, by the values in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Codes: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Objects: TypeAlias = npt.NDArray[np.object_]
Words: TypeAlias = npt.NDArray[np.uint64]
Words32: TypeAlias = npt.NDArray[np.uint32]

WideInts: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""64-bit integers, or Python's integers if a value does not fit."""

Array = TypeVar("Array", bound=npt.NDArray[Any])


def concatenated(parts: Sequence[Array], axis: int = 0) -> Array:
    """Return one or more arrays of a type as one."""
    return cast("Array", np.concatenate(parts, axis=axis))


def as_objects(values: Sequence[object]) -> Objects:
    """Return values as an array of objects, one element for each value whatever it is.

    >>> as_objects([(1, 2), None]).shape
    (2,)
    """
    return np.fromiter(values, dtype=object, count=len(values))
