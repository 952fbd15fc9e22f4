"""Checks of arguments, and exact reading of the numbers that a caller passes.

Each check raises InvalidError with the name of the argument. The readers of numbers reject text, bools, masked, 0-d,
empty and ragged arrays, floats in place of integers, and a mixture of floats with integers that a float cannot hold
(NumPy would round those silently, and a step of 1 would become 256). Their messages never repeat a value.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import fraction_between, positive, whole

Array = npt.NDArray[np.generic]
Shape = tuple[int, ...] | None
"""The shape of the caller's array; None for a plain number."""

LIMIT = 2**62
_EXACT = 2**53
_ORDINARY = 2**400
_KINDS = {
    "b": "bools",
    "f": "floats",
    "c": "complex numbers",
    "U": "text",
    "S": "bytes",
    "M": "dates",
    "m": "durations",
}
_NO_REALS = "A float sensitivity takes reals. If counts have become floats, convert them with .astype(int)."


def one_of(**arguments: object) -> str:
    """Return the name of the only argument that is not None, or raise InvalidError.

    >>> one_of(epsilon=0.1, scale=None)
    'epsilon'
    """
    names = [name for name, value in arguments.items() if value is not None]
    if len(names) == 1:
        return names[0]
    problem = f"{' and '.join(names)} exclude each other." if names else f"{' or '.join(arguments)} is missing."
    hint = f"Pass exactly one of {', '.join(arguments)}."
    raise InvalidError(problem, argument=" or ".join(arguments), hint=hint)


def count_of(value: object, argument: str) -> int:
    """Return a whole number from 1 to 2^62."""
    number = whole(value)
    if number is None or not 1 <= number <= LIMIT:
        raise bad_value(argument, value, "a whole number from 1 to 2^62")
    return number


def flag(value: object, argument: str) -> bool:
    """Return a value if it is a bool."""
    if isinstance(value, bool):
        return value
    raise bad_value(argument, value, "True or False")


def failure(confidence: object) -> Fraction:
    """Return β = 1 - confidence for a confidence strictly between 0 and 1."""
    beta = 1 - fraction_between(confidence, "confidence", 0, 1)
    if beta < Fraction(1, 2**900):
        raise bad_value("confidence", confidence, "at most 1 - 1e-270")
    return beta


def ordinary(value: object, argument: str) -> Fraction:
    """Return a number > 0 whose square and quotients are ordinary floats."""
    number = positive(value, argument)
    if not Fraction(1, _ORDINARY) < number < _ORDINARY:
        raise bad_value(argument, value, "a number between 1e-120 and 1e120")
    return number


def probability(value: object, argument: str) -> Fraction:
    """Return a number strictly between 0 and 1 whose float is also strictly between them."""
    share = fraction_between(value, argument, 0, 1)
    if not Fraction(1, _ORDINARY) < share < 1 - Fraction(1, 2**40):
        raise bad_value(argument, value, "between 1e-120 and 1 - 1e-12")
    return share


def read_numbers(
    value: object, argument: str, *, integral: bool = False, exact: bool = True, requirement: str | None = None
) -> tuple[Array, Shape]:
    """Return numbers as a flat array of ints, floats or (if 64 bits are too few) Python's ints, and their shape.

    Args:
        value: the caller's number or array.
        argument: its name, for messages.
        integral: whether only integers are valid.
        exact: False if integers among floats may be rounded, since rows are clipped and rounded one by one anyway.
        requirement: the end of the sentence "value must be …"; by default a number or an array of numbers.
    """
    required = requirement or _requirement(integral=integral)
    array, plain = to_array(value, argument, required)
    if not isinstance(value, np.ndarray):
        array = _undo_promotion(value, array, argument, exact=exact)
    kind = array.dtype.kind
    if kind == "O" and all(whole(x) is not None or (isinstance(x, float) and not exact) for x in array.flat):
        kind = "i"
    if kind not in ("iu" if integral else "iuf") or array.dtype.itemsize > np.dtype(np.float64).itemsize:
        raise wrong_kind(
            argument, describe(value, array), required, hint=_NO_REALS if integral and kind == "f" else None
        )
    return array.reshape(-1), None if plain else array.shape


def _requirement(*, integral: bool) -> str:
    return "an integer, or a non-empty array of integers" if integral else "a number, or a non-empty array of numbers"


def wrong_kind(argument: str, kind: str, requirement: str, *, hint: str | None = None) -> InvalidError:
    """Return the error for data of the wrong kind. The message describes the data and never repeats it."""
    return InvalidError(f"{argument} must be {requirement}, not {kind}.", argument=argument, hint=hint)


def describe(value: object, array: Array) -> str:
    """Return a description of invalid values by their type, which is not data."""
    if array.ndim == 0 and not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}"
    if array.dtype.kind == "O":
        return f"a {type(next(iter(array.flat))).__name__} among other things"
    return _KINDS.get(array.dtype.kind, "something else")


def to_array(value: object, argument: str, requirement: str) -> tuple[Array, bool]:
    """Return a value as a non-empty array, and whether it was a plain one."""
    if isinstance(value, np.ma.MaskedArray):
        raise wrong_kind(argument, "a masked array", requirement)
    try:
        array = np.asarray(value)
    except Exception:  # noqa: BLE001 - NumPy runs the value's code, whose messages may hold data
        raise wrong_kind(argument, "a ragged or unreadable array", requirement) from None
    plain = array.ndim == 0 and not isinstance(value, np.ndarray)
    if array.size == 0 or (array.ndim == 0 and not plain):
        raise wrong_kind(argument, "an empty array" if array.size == 0 else "a 0-d array", requirement)
    return array, plain


def _undo_promotion(value: object, array: Array, argument: str, *, exact: bool) -> Array:
    """Undo NumPy's promotions: reject bools among numbers, and restore integers that it turned into floats."""
    if array.dtype.kind not in "iuf" or hasattr(value, "dtype"):
        return array
    objects = np.array(value, dtype=object)
    if any(isinstance(x, (bool, np.bool_)) for x in objects.flat):
        raise InvalidError(f"{argument} mixes bools with numbers.", argument=argument, hint="Pass numbers only.")
    integers = [whole(x) for x in objects.flat]
    if not exact or array.dtype.kind != "f" or all(abs(x or 0) <= _EXACT for x in integers):
        return array
    if None not in integers:
        return np.array(integers, dtype=object).reshape(array.shape)
    message = f"{argument} mixes floats with integers beyond 2^53."
    raise InvalidError(message, argument=argument, hint="Pass integers only, or floats only.")


def as_integers(array: Array, argument: str) -> Ints:
    """Return integers within ±2^62 as 64-bit integers."""
    if int(array.max()) > LIMIT or int(array.min()) < -LIMIT:
        raise InvalidError(f"{argument} must hold integers within ±2^62.", argument=argument)
    return array.astype(np.int64)


def as_fraction(x: object) -> Fraction:
    """Return a data value exactly. A float is its binary value here, not the decimal that it prints."""
    return Fraction(int(x)) if isinstance(x, (int, np.integer)) else Fraction(float(x))  # type: ignore[arg-type]  # data: a number
