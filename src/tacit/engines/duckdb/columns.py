"""A mapping of columns as arrays that DuckDB reads.

A column is a list, a NumPy array, or a column of pandas, polars or Arrow. An array has a type, which is public like any
schema. A list has no type: `column_of_kind` reads it as a given kind, and no value can change that kind or fail. Only
`tc.open` of a mapping derives the kind of a list from the types of its values. The steward who opens it states that
these types are public. If a list has several types, integers and other numbers become reals there, and other mixtures
are refused.

**Every value has a meaning.** A number or a time that its type cannot hold becomes the nearest one that it can, so an
integer beyond 64 bits is clipped. None and NaN are missing. So is a value that fails to convert, such as a signalling
NaN. A text that is not Unicode has U+FFFD in place of each lone surrogate, because DuckDB would fail on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import copysign, nan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, show_name
from tacit.query.expressions import Kind

Column: TypeAlias = npt.NDArray[np.generic]

_LARGEST_INTEGER = 2**63 - 1
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_BOOLS = (bool, np.bool_)
_INTEGERS = (int, np.integer)
_REALS = (int, float, np.integer, np.floating, Decimal, Fraction)
_TIMES = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
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
            return _objects([_text(value) for value in values.tolist()]), False
        case "M":
            coarse = values.dtype.str[3:].strip("[]0123456789<>=|") not in ("us", "ns", "ps", "fs", "as")
            near = np.clip(values, *(end.astype(values.dtype) for end in _TIMES)) if coarse else values
            return near.astype("datetime64[us]"), values.dtype.str.endswith("[D]")
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
    dimensions = getattr(values, "ndim", 1)
    found = f"has {dimensions} dimensions" if dimensions != 1 else f"is of type {type(values).__name__}"
    raise InvalidError(
        f"The column {show_name(name)} {found}, so it is not a list or an array of one dimension.",
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
        return _objects([None if value is None else _text(str(value)) for value in values]), False
    if all(issubclass(kind, datetime) for kind in kinds):
        if any(value.tzinfo is not None for value in values if isinstance(value, datetime)):
            raise _wrong(name, {"datetime with a time zone"})
        return np.array(values, dtype="datetime64[us]"), False
    if all(issubclass(kind, date) and not issubclass(kind, datetime) for kind in kinds):
        return np.array(values, dtype="datetime64[us]"), True
    raise _wrong(name, {kind.__name__ for kind in kinds})


def column_of_kind(name: str, values: object, kind: Kind) -> Column:
    """Return a list as an array of one kind; a value of another kind is missing, so no value decides anything.

    >>> column_of_kind("x", [1, 2.5, None, "a"], "real").tolist()
    [1.0, 2.5, nan, nan]
    """
    listed = [None if _is_missing(value) else value for value in _as_list(name, values)]
    found = [None if value is None else _CONVERTED[kind](value) for value in listed]
    match kind:
        case "real":
            return np.array([nan if value is None else value for value in found], dtype=np.float64)
        case "text":
            return _objects(found)
        case "date":
            return np.array(found, dtype="datetime64[D]")
        case "timestamp":
            return np.array(found, dtype="datetime64[us]")
    return _masked(found, lambda value: value, np.bool_ if kind == "boolean" else np.int64)


def kind_of_keys(keys: Sequence[object]) -> Kind:
    """Return the kind of a column with these public values, or raise InvalidError.

    >>> kind_of_keys(["a", None, "b"]), kind_of_keys([1, 2.5])
    ('text', 'real')
    """
    present = [key for key in keys if key is not None]
    for kind in _KEY_KINDS:
        if present and all(_CONVERTED[kind](key) is not None for key in present):
            return kind
    raise InvalidError("The keys are not of one kind.", argument="keys", hint="List numbers, texts, booleans or dates.")


def _whole(value: object) -> int | None:
    if isinstance(value, _BOOLS) or not isinstance(value, _REALS):
        return None
    with suppress(OverflowError, ValueError):
        return _integer(value) if value == int(value) else None
    return None


def _number(value: object) -> float | None:
    return None if isinstance(value, _BOOLS) or not isinstance(value, _REALS) else _real(value)


def _moment(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value if value.tzinfo is None else None
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else None  # noqa: DTZ001 - no zone


def _text(value: str) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot hold."""
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_CONVERTED: Mapping[Kind, Callable[[object], Any]] = {
    "boolean": lambda value: bool(value) if isinstance(value, _BOOLS) else None,
    "integer": _whole,
    "real": _number,
    "text": lambda value: _text(str(value)) if isinstance(value, str) else None,
    "date": lambda value: value if isinstance(value, date) and not isinstance(value, datetime) else None,
    "timestamp": _moment,
}
_KEY_KINDS: tuple[Kind, ...] = ("boolean", "integer", "real", "text", "date", "timestamp")


def _is_missing(value: object) -> bool:
    """Return whether a value is NaN, pandas' NA or NaT, or NumPy's NaT."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
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
