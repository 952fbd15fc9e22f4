"""Tables as integer codes, read from pandas, polars, Arrow, CSV, Parquet or a dictionary of columns.

`cell_values` defines which values are missing and which are equal. `write_table` writes tables.
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

from tacit.anonymity.cell_values import datetime_cells, decode_arrow, is_temporal, temporal_cells, to_text
from tacit.anonymity.table_files import exists, is_secret, read_columns, show_path
from tacit.arrays import Codes, Ints
from tacit.errors import ColumnNotFoundError, ColumnValueError, InvalidError, bad_value, show

Texts: TypeAlias = "tuple[str | None, ...]"

_IN_MEMORY = (
    "Read the columns that are needed from the database first, and pass those. Only `check` can leave its table in a "
    "database; a population and a reference must be in memory or in a file."
)
_TYPES = "Use numbers, text, dates or truth values."


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column as codes: row i holds `values[codes[i]]`, whose text is `texts[codes[i]]`; None is missing."""

    name: str
    texts: Texts
    values: tuple[object, ...]
    codes: Codes


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """A table whose columns are coded on first use."""

    names: tuple[str, ...]
    rows: int
    backend: str
    _column: Callable[[str], CodedColumn]
    weights: Ints | None = None
    """How many rows each row stands for; None means one."""

    @property
    def total(self) -> int:
        """The number of rows, counted with their weights."""
        return self.rows if self.weights is None else int(self.weights.sum())

    def column(self, name: str) -> CodedColumn:
        """Return one column as codes.

        Raises:
            ColumnNotFoundError: the table has no such column.
        """
        self.require(name)
        return self._column(name)

    def require(self, name: str) -> None:
        """Check that the table has a column.

        Raises:
            ColumnNotFoundError: it does not.
        """
        if name not in self.names:
            raise ColumnNotFoundError(str(name), self.names, argument="a column")


def encode(name: str, values: Sequence[object]) -> CodedColumn:
    """Return values as a column of codes, numbered by first appearance.

    >>> encode("age", [39, None, 39.0, float("nan")]).codes.tolist()
    [0, 1, 0, 1]
    """
    try:
        distinct = list(dict.fromkeys(values))
    except (TypeError, ValueError):  # cells that cannot be hashed or compared
        raise ColumnValueError(name, "has cells that are lists or similar.", hint=_TYPES) from None
    keys: Sequence[object] = values
    value_of = dict(zip(distinct, distinct, strict=True))
    if _may_differ_as_text(values, distinct):
        keys, value_of = list(map(to_text, values)), {}
        for key, value in zip(keys, values, strict=True):
            value_of.setdefault(key, value)
    codes_by_text: dict[str | None, int] = {}
    first_values: list[object] = []
    code_of: dict[object, int] = {}
    for key, value in value_of.items():
        text = to_text(value)
        if text not in codes_by_text:
            codes_by_text[text] = len(codes_by_text)
            first_values.append(None if text is None else value)
        code_of[key] = codes_by_text[text]
    codes = np.fromiter(map(code_of.__getitem__, keys), dtype=np.int32, count=len(values))
    return CodedColumn(name, tuple(codes_by_text), tuple(first_values), codes)


def _may_differ_as_text(values: Sequence[object], distinct: Sequence[object]) -> bool:
    """Return whether equal values may have different texts: True and 1, or one instant in two time zones."""
    kinds = {*map(type, values)} - {type(None)}
    truths = len(kinds) > 1 and not kinds.isdisjoint({bool, np.bool_})
    return truths or any(isinstance(value, datetime) and value.tzinfo is not None for value in distinct)


def _encode_numbers(name: str, numbers: npt.NDArray[Any]) -> CodedColumn:
    """Return an array of numbers as a column; NaN is missing."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    short = encode(name, distinct.tolist())
    return CodedColumn(name, short.texts, short.values, short.codes[codes.reshape(-1)])


def read(source: object, *, sep: str | None = None, argument: str = "the table") -> CodedTable:
    """Return any table as a table of codes.

    Args:
        source: a pandas or polars frame, an Arrow table, a dictionary of columns, or the path of a CSV or Parquet file.
        sep: the separator of the cells of a CSV file; detected if it is not given.
        argument: the argument that messages name.

    Raises:
        InvalidError: it is not a table, or it has two columns of one name.
    """
    if isinstance(source, CodedTable):
        return source
    if _is_in_database(source):
        description = show_path(source) if isinstance(source, (str, PathLike)) else show(source)
        raise InvalidError(
            f"{argument} must be in memory, or a CSV or Parquet file, not {description}.",
            argument=argument,
            hint=_IN_MEMORY,
        )
    if isinstance(source, (str, Path)):
        return _from_columns(read_columns(Path(source), sep), _backend())
    if isinstance(source, Mapping):
        return _from_columns({str(name): _cells(str(name), values) for name, values in source.items()}, _backend())
    return _from_frame(source, argument)


def _from_frame(source: object, argument: str) -> CodedTable:
    try:
        frame = nw.from_native(source, eager_only=True)  # type: ignore[call-overload]  # other objects raise TypeError
    except TypeError:
        requirement = "a pandas or polars frame, an Arrow table, columns by name, or the path of a CSV or Parquet file"
        raise bad_value(argument, source, requirement) from None
    except nw.exceptions.DuplicateError:
        raise InvalidError("The table has two columns of one name.", argument="the table") from None
    names = tuple(frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise InvalidError(
            "The name of a column is not text.", argument="the table", hint="Rename the columns of the frame."
        )
    return CodedTable(names, len(frame), str(frame.implementation), cache(lambda name: from_series(name, frame[name])))


def _is_in_database(source: object) -> bool:
    """Return whether a source is a database, or a text that says where one is and does not name a file."""
    if isinstance(source, Mapping):
        return False
    if isinstance(source, (str, Path)) and is_secret(source) and not exists(Path(source)):
        return True
    from tacit.engines.sources import home_of  # noqa: PLC0415 - loads the engines

    return home_of(source) != "duckdb"


def _cells(name: str, values: object) -> Sequence[object] | npt.NDArray[Any]:
    """Return the cells of a column as a list, or as the array that they are."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ColumnValueError(name, f"must be a list of cells, not {show(values)}.")
    return list(values)


def from_series(name: str, series: Any) -> CodedColumn:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return a column of a frame as codes.

    Raises:
        ColumnValueError: it has cells that cannot be compared, or that Python cannot read.
    """
    series = decode_arrow(series)
    wide = isinstance(series.dtype, (nw.Decimal, nw.Int128, nw.UInt128))  # no array holds them
    if series.dtype.is_numeric() and not wide and not series.is_null().any():
        return _encode_numbers(name, series.to_numpy())
    try:
        cells = temporal_cells(series) if is_temporal(series) else series.to_list()
    except Exception:  # noqa: BLE001 - any error of a package for values that Python has no type for
        raise ColumnValueError(name, "has cells that Python cannot read.", hint=_TYPES) from None
    return encode(name, cells)


def _from_columns(columns: Mapping[str, Sequence[object] | npt.NDArray[Any]], backend: str) -> CodedTable:
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise InvalidError(f"The columns have {len(lengths)} different lengths.", argument="the table")

    def column(name: str) -> CodedColumn:
        values = columns[name]
        if isinstance(values, np.ndarray):
            numbers = values.dtype.kind in "iuf" and not np.ma.isMaskedArray(values)
            return (
                _encode_numbers(name, values)
                if numbers
                else encode(name, datetime_cells(values) if values.dtype.kind in "Mm" else values.tolist())
            )
        return encode(name, values)

    return CodedTable(tuple(columns), max(lengths, default=0), backend, cache(column))


def _backend() -> str:
    """Return the first package that can hold a frame, or "dict"."""
    return next((name for name in ("polars", "pandas", "pyarrow") if find_spec(name)), "dict")


def random_order(rows: int) -> Ints:
    """Return a new random order of rows: the order of a published table must not reveal whose row it is."""
    return np.random.default_rng(secrets.randbits(256)).permutation(rows)


def pick(values: Sequence[object], codes: npt.NDArray[Any]) -> list[object]:
    """Return values[code] for every code, by one lookup in an array."""
    lookup = np.empty(len(values), dtype=object)
    lookup[:] = values
    cells: list[object] = lookup[codes].tolist()
    return cells


def from_coded_columns(columns: Mapping[str, CodedColumn], backend: str) -> CodedTable:
    """Return coded columns as a table."""
    rows = max((len(column.codes) for column in columns.values()), default=0)
    return CodedTable(tuple(columns), rows, backend, columns.__getitem__)
