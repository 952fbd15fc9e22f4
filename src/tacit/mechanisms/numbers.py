"""Reading the numbers that a caller hands in, exactly or not at all.

Refused: text, bools, masked, 0-d, empty and ragged arrays, floats where integers are wanted, and a mixture of floats
with integers that a float cannot hold (NumPy would round those silently, and a step of 1 would become 256).
Messages never repeat a value.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import InvalidError
from tacit.guarantees.exact import whole

Array = npt.NDArray[np.generic]
Shape = tuple[int, ...] | None
"""The shape of what came in; None for a plain number."""

LIMIT = 2**62
_EXACT = 2**53
_KINDS = {
    "b": "bools",
    "f": "floats",
    "c": "complex numbers",
    "U": "text",
    "S": "bytes",
    "M": "dates",
    "m": "durations",
}


def read_numbers(value: object, argument: str, *, integral: bool = False, exact: bool = True) -> tuple[Array, Shape]:
    """Return numbers as a flat array of ints, floats or (where 64 bits are too few) Python's ints, and their shape.

    With `exact` off, integers among floats may be rounded; for rows that are clamped and rounded one by one anyway.
    """
    want = "an integer, or a non-empty array of integers" if integral else "a number, or a non-empty array of numbers"
    array, plain = to_array(value, argument, want)
    if not isinstance(value, np.ndarray):
        array = _as_given(value, array, argument, exact=exact)
    kind = array.dtype.kind
    if kind == "O" and all(whole(x) is not None or (isinstance(x, float) and not exact) for x in array.flat):
        kind = "i"
    if kind not in ("iu" if integral else "iuf") or array.dtype.itemsize > np.dtype(np.float64).itemsize:
        hint = " (a float sensitivity takes reals; counts that became floats want .astype(int))" if kind == "f" else ""
        raise InvalidError(argument, describe(value, array), want + hint)
    return array.reshape(-1), None if plain else array.shape


def describe(value: object, array: Array) -> str:
    """Say of what kind unwanted values are; a type is no data."""
    if array.ndim == 0 and not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}"
    if array.dtype.kind == "O":
        return f"a {type(next(iter(array.flat))).__name__} among other things"
    return _KINDS.get(array.dtype.kind, "something else")


def to_array(value: object, argument: str, want: str) -> tuple[Array, bool]:
    """Return a value as a non-empty array, and whether it was a plain one."""
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidError(argument, "a masked array", want)
    try:
        array = np.asarray(value)
    except Exception:  # noqa: BLE001 - NumPy runs the value's own code; what that says may hold data
        raise InvalidError(argument, "a ragged or unreadable array", want) from None
    plain = array.ndim == 0 and not isinstance(value, np.ndarray)
    if array.size == 0 or (array.ndim == 0 and not plain):
        raise InvalidError(argument, "an empty array" if array.size == 0 else "a 0-d array", want)
    return array, plain


def _as_given(value: object, array: Array, argument: str, *, exact: bool) -> Array:
    """Undo NumPy's promotions: refuse bools among numbers, and keep integers that it turned into floats."""
    if array.dtype.kind not in "iuf" or hasattr(value, "dtype"):
        return array
    given = np.array(value, dtype=object)
    if any(isinstance(x, (bool, np.bool_)) for x in given.flat):
        raise InvalidError(argument, "bools among numbers", "numbers alone")
    integers = [whole(x) for x in given.flat]
    if not exact or array.dtype.kind != "f" or all(abs(x or 0) <= _EXACT for x in integers):
        return array
    if None not in integers:
        return np.array(integers, dtype=object).reshape(array.shape)
    raise InvalidError(argument, "floats mixed with integers beyond 2^53", "integers alone, or floats alone")


def as_integers(array: Array, argument: str) -> Ints:
    """Return integers within ±2^62 as 64-bit integers."""
    if int(array.max()) > LIMIT or int(array.min()) < -LIMIT:
        raise InvalidError(argument, "an integer beyond that", "within ±2^62")
    return array.astype(np.int64)


def as_fraction(x: object) -> Fraction:
    """Return a data value exactly: a float is its binary value here, not a decimal somebody chose."""
    return Fraction(int(x)) if isinstance(x, (int, np.integer)) else Fraction(float(x))  # type: ignore[arg-type]  # of data: a number
