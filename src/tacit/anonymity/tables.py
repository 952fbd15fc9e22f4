"""Tables in: pandas, polars, Arrow, CSV, Parquet or a dictionary of columns, as integer codes.

What is missing, and which values are one, is said in `cells`. How they come out is in `handed`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from tacit.anonymity import datetimes
from tacit.anonymity.cell_values import text
from tacit.anonymity.datetimes import unpacked
from tacit.anonymity.files import called, is_hidden, is_there, read_columns
from tacit.arrays import Codes
from tacit.engines.sources import home_of
from tacit.errors import ColumnNotFoundError, InvalidError, show

Longs: TypeAlias = npt.NDArray[np.int64]
Texts: TypeAlias = "tuple[str | None, ...]"

_IN_MEMORY = (
    "a table in memory, or a CSV or Parquet file: read the columns that are needed from the database first, and give "
    "those (a table to be checked may stay in a database; one to be anonymized or attacked, a population and a "
    "reference may not)"
)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column as codes: row i holds `values[codes[i]]`, which is written `texts[codes[i]]`; None is missing."""

    name: str
    texts: Texts
    values: tuple[object, ...]
    codes: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table whose columns are coded when they are asked for."""

    names: tuple[str, ...]
    rows: int
    backend: str
    _column: Callable[[str], Column]
    weights: Longs | None = None
    """As many rows as each stands for; None: one."""

    @property
    def stands_for(self) -> int:
        """How many rows there are, those that others stand for among them."""
        return self.rows if self.weights is None else int(self.weights.sum())

    def column(self, name: str) -> Column:
        """Return one column as codes.

        Raises:
            InvalidError: there is no such column.
        """
        if name not in self.names:
            raise ColumnNotFoundError(name, self.names)
        return self._column(name)


def coded(name: str, values: Sequence[object]) -> Column:
    """Return values as a column of codes, in the order in which they first appear.

    >>> coded("age", [39, None, 39.0, float("nan")]).codes.tolist()
    [0, 1, 0, 1]
    """
    try:
        first = list(dict.fromkeys(values))
    except (TypeError, ValueError):  # no hash, or none that can be compared
        raise InvalidError(
            f"the column {name}", "cells that are lists or the like", "of numbers, texts, days or truth values"
        ) from None
    keys: Sequence[object] = values
    held = dict(zip(first, first, strict=True))
    if _written_apart(values, first):
        keys, held = list(map(text, values)), {}
        for key, value in zip(keys, values, strict=True):
            held.setdefault(key, value)
    places: dict[str | None, int] = {}
    shown: list[object] = []
    place_of: dict[object, int] = {}
    for key, value in held.items():
        written = text(value)
        if written not in places:
            places[written] = len(places)
            shown.append(None if written is None else value)
        place_of[key] = places[written]
    codes = np.fromiter(map(place_of.__getitem__, keys), dtype=np.int32, count=len(values))
    return Column(name, tuple(places), tuple(shown), codes)


def _written_apart(values: Sequence[object], first: Sequence[object]) -> bool:
    """Return whether values that Python calls equal may be written differently: True and 1, one moment in two zones."""
    kinds = {*map(type, values)} - {type(None)}
    truths = len(kinds) > 1 and not kinds.isdisjoint({bool, np.bool_})
    return truths or any(isinstance(value, datetime) and value.tzinfo is not None for value in first)


def _coded_numbers(name: str, numbers: npt.NDArray[Any]) -> Column:
    """Return an array of numbers as a column; NaN is missing."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    short = coded(name, distinct.tolist())
    return Column(name, short.texts, short.values, short.codes[codes.reshape(-1)])


def read(source: object, *, sep: str | None = None, argument: str = "the table") -> Table:
    """Return any table as one of ours.

    Args:
        source: a pandas or polars frame, an Arrow table, a dictionary of columns, or the path of a CSV or Parquet file.
        sep: what separates the cells of a CSV file; found out where it is not given.
        argument: what a message calls it.

    Raises:
        InvalidError: it is none of these, or has two columns of one name.
    """
    if isinstance(source, Table):
        return source
    if home_of(source) != "duckdb" or _is_location(source):
        got = called(source) if isinstance(source, (str, PathLike)) else show(source)
        raise InvalidError(argument, got, _IN_MEMORY)
    if isinstance(source, (str, Path)):
        return _from_columns(read_columns(Path(source), sep), _backend())
    if isinstance(source, Mapping):
        return _from_columns({str(name): _cells(str(name), values) for name, values in source.items()}, _backend())
    try:
        frame = nw.from_native(source, eager_only=True)  # type: ignore[call-overload]  # what is no frame is refused below
    except TypeError:
        wanted = "a frame of pandas or polars, an Arrow table, columns by name, or the path of a CSV or Parquet file"
        raise InvalidError(argument, show(source), wanted) from None
    except nw.exceptions.DuplicateError:
        raise InvalidError(
            "the table", "two columns of one name", "a table whose columns have different names"
        ) from None
    names = tuple(frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise InvalidError("the table", "a column whose name is no text", "a table whose columns are named by texts")
    return Table(names, len(frame), str(frame.implementation), cache(lambda name: from_series(name, frame[name])))


def _is_location(source: object) -> bool:
    """Return whether a text says where a database is, and is no file."""
    return isinstance(source, (str, Path)) and is_hidden(source) and not is_there(Path(source))


def _cells(name: str, values: object) -> Sequence[object] | npt.NDArray[Any]:
    """Return what is given for a column as a list, or as the array that it is."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidError(f"the column {name}", show(values), "a list of cells")
    return list(values)


def from_series(name: str, series: Any) -> Column:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return a column of a frame as codes.

    Raises:
        InvalidError: it has cells that cannot be compared, or that Python cannot read.
    """
    series = datetimes.decoded(series)
    wide = isinstance(series.dtype, (nw.Decimal, nw.Int128, nw.UInt128))  # no kind of array for them
    if series.dtype.is_numeric() and not wide and not series.is_null().any():
        return _coded_numbers(name, series.to_numpy())
    try:
        cells = datetimes.listed(series) if datetimes.is_moment(series) else series.to_list()
    except Exception:  # noqa: BLE001 - whatever a package says of values that Python has no kind for
        raise InvalidError(
            f"the column {name}", "cells that Python cannot read", "of numbers, texts, days or truth values"
        ) from None
    return coded(name, cells)


def _from_columns(columns: Mapping[str, Sequence[object] | npt.NDArray[Any]], backend: str) -> Table:
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise InvalidError("the table", f"columns of {len(lengths)} different lengths", "columns of one length")

    def column(name: str) -> Column:
        values = columns[name]
        if isinstance(values, np.ndarray):
            numbers = values.dtype.kind in "iuf" and not np.ma.isMaskedArray(values)
            return (
                _coded_numbers(name, values)
                if numbers
                else coded(name, unpacked(values) if values.dtype.kind in "Mm" else values.tolist())
            )
        return coded(name, values)

    return Table(tuple(columns), max(lengths, default=0), backend, cache(column))


def _backend() -> str:
    """Return the first package that can hold a frame, or "dict"."""
    return next((name for name in ("polars", "pandas", "pyarrow") if find_spec(name)), "dict")


def shuffled(rows: int) -> Longs:
    """Return a random order of rows, drawn afresh: the order of a published table must not tell whose row it is."""
    return np.random.default_rng(secrets.randbits(256)).permutation(rows)


def picked(values: Sequence[object], codes: npt.NDArray[Any]) -> list[object]:
    """Return values[code] for every code, quickly."""
    lookup = np.empty(len(values), dtype=object)
    lookup[:] = values
    found: list[object] = lookup[codes].tolist()
    return found


def of_columns(columns: Mapping[str, Column], backend: str) -> Table:
    """Return coded columns as a table."""
    rows = max((len(column.codes) for column in columns.values()), default=0)
    return Table(tuple(columns), rows, backend, columns.__getitem__)
