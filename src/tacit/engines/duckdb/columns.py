"""A mapping of columns as arrays that DuckDB reads.

A column is a list, a NumPy array, or a column of pandas, polars or Arrow. Its type follows from the type of the array,
or from the types of a list's values, which are public like any schema; never from the values. If a list has several
types, integers and other numbers become reals, and other mixtures are refused.

**Every value has a meaning.** A number that its type cannot hold becomes the nearest one that it can, so an integer
beyond 64 bits is clipped. None and NaN are missing. A value that fails to convert, such as a signalling NaN, is missing
too. So opening a column reveals nothing but its types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import copysign, nan
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, show_name

Column: TypeAlias = npt.NDArray[np.generic]

_LARGEST_INTEGER = 2**63 - 1
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_BOOLS = (bool, np.bool_)
_INTEGERS = (int, np.integer)
_REALS = (int, float, np.integer, np.floating, Decimal, Fraction)
_KINDS = "A column is a list or an array of numbers, texts, booleans, dates or times without a zone."


def arrays_of(columns: Mapping[object, object]) -> tuple[dict[str, Column], list[str]]:
    """Return an array for each column, and the names of those that hold dates, or raise InvalidError.

    >>> arrays_of({"n": [1, None, 10**30], "t": ["a", "b", None]})[0]["n"].tolist()
    [1, None, 9223372036854775807]
    """
    if not columns or not all(isinstance(name, str) and name for name in columns):
        raise InvalidError(
            "A mapping of columns needs at least one column, and the name of each is a text.", argument="source"
        )
    arrays: dict[str, Column] = {}
    dates: list[str] = []
    for name, values in columns.items():
        arrays[str(name)], is_date = _array(str(name), values)
        dates += [str(name)] * is_date
    if len({len(array) for array in arrays.values()}) > 1:  # the lengths are private
        raise InvalidError("The columns have different lengths.", argument="source", hint="Give columns of one length.")
    return arrays, dates


def _array(name: str, values: object) -> tuple[Column, bool]:
    """Return a column as an array, and whether it holds dates."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind != "O":
        return _of_array(name, values)
    return _of_list(name, _as_list(name, values))


def _of_array(name: str, values: npt.NDArray[np.generic]) -> tuple[Column, bool]:
    match values.dtype.kind:
        case "b":
            return values, False
        case "i" | "u":
            if values.dtype == np.uint64:  # DuckDB has another type for it
                values = np.minimum(values, np.uint64(_LARGEST_INTEGER))
            return values.astype(np.int64), False
        case "f":
            return values.astype(np.float64), False
        case "U":
            return values.astype(object), False
        case "M":
            return values.astype("datetime64[us]"), values.dtype.str.endswith("[D]")
    raise _wrong(name, {values.dtype.name})


def _as_list(name: str, values: object) -> list[object]:
    """Return the values of a column of any library as Python's own."""
    for method in ("to_pylist", "to_list", "tolist"):  # of Arrow, of polars and pandas, of NumPy
        convert = getattr(values, method, None)
        if callable(convert) and getattr(values, "ndim", 1) == 1:
            return list(convert())
    if (
        isinstance(values, Collection)
        and isinstance(values, Sequence | set | frozenset)
        and not isinstance(values, str)
    ):
        return list(values)
    raise InvalidError(
        f"The column {show_name(name)} is not a list or an array, but of type {type(values).__name__}.",
        argument="source",
        hint=_KINDS,
    )


def _of_list(name: str, values: list[object]) -> tuple[Column, bool]:
    values = [None if _is_missing(value) else value for value in values]
    kinds = set(map(type, values)) - {type(None)}
    if all(issubclass(kind, _BOOLS) for kind in kinds) and kinds:
        return _masked(values, bool, np.bool_), False
    if any(issubclass(kind, _BOOLS) for kind in kinds):
        raise _wrong(name, {kind.__name__ for kind in kinds})
    if all(issubclass(kind, _INTEGERS) for kind in kinds) and kinds:
        return _masked(values, _integer, np.int64), False
    if all(issubclass(kind, _REALS) for kind in kinds) and kinds:
        return np.array([nan if value is None else _real(value) for value in values], dtype=np.float64), False
    if all(issubclass(kind, str) for kind in kinds):
        return _objects(values), False
    if all(issubclass(kind, datetime) for kind in kinds):
        if any(value.tzinfo is not None for value in values if isinstance(value, datetime)):
            raise _wrong(name, {"datetime with a time zone"})
        return np.array(values, dtype="datetime64[us]"), False
    if all(issubclass(kind, date) and not issubclass(kind, datetime) for kind in kinds):
        return np.array(values, dtype="datetime64[us]"), True
    raise _wrong(name, {kind.__name__ for kind in kinds})


def _is_missing(value: object) -> bool:
    """Return whether a value is pandas' NA or NaT, or NumPy's NaT; None and NaN are handled by their types."""
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, np.datetime64) and bool(np.isnat(value)))


def _masked(values: Sequence[object], convert: Callable[[object], object], kind: type[np.generic]) -> Column:
    numbers = np.array([0 if value is None else convert(value) for value in values], dtype=kind)
    array: Column = np.ma.MaskedArray(numbers, mask=[value is None for value in values])
    return array


def _integer(value: object) -> int:
    return max(-_LARGEST_INTEGER, min(_LARGEST_INTEGER, int(value)))  # type: ignore[call-overload, no-any-return]  # an integer


def _real(value: object) -> float:
    """Return a number as a float: beyond the largest float, that float; NaN if it has no value."""
    try:
        return float(value)  # type: ignore[arg-type]  # a number
    except OverflowError:
        return copysign(_LARGEST_FLOAT, 1 if value > 0 else -1)  # type: ignore[operator]  # as above
    except ValueError:  # a signalling NaN
        return nan


def _objects(values: Sequence[object]) -> Column:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _wrong(name: str, kinds: Collection[str]) -> InvalidError:
    """Return the error for a column of other types; it names types, never values."""
    found = f"type{'' if len(kinds) == 1 else 's'} {', '.join(sorted(kinds)[:8])}"
    return InvalidError(
        f"The column {show_name(name)} has values of the {found}, which no column can have.",
        argument="source",
        hint=_KINDS,
    )
