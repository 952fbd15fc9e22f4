"""A table of released values, and its conversions to frames and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, overload

from tacit.errors import ColumnNotFoundError, MissingPackageError, RowNotFoundError, bad_value, show_name, suggestion
from tacit.guarantees.exact import whole
from tacit.query.expressions import Kind, Value
from tacit.query.formatting import plain
from tacit.query.results.table_text import csv_text, deliver, json_text
from tacit.safe_text import aligned, html_lines, html_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_MOST_ROWS = 50
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of equal length.

    Attributes:
        names: the names of the columns.
        kinds: the types of the columns.
        columns: the values, column by column.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    columns: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences below the rows."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def rows(self) -> list[tuple[Value, ...]]:
        """Return the rows as tuples, in the order of the columns.

        >>> Table(("n",), ("integer",), ((3, 4),)).rows()
        [(3,), (4,)]
        """
        return list(zip(*self.columns, strict=True))

    def dicts(self) -> list[dict[str, Value]]:
        """Return the rows as dictionaries.

        >>> Table(("n",), ("integer",), ((3, 4),)).dicts()
        [{'n': 3}, {'n': 4}]
        """
        return [dict(zip(self.names, row, strict=True)) for row in self.rows()]

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        """Return an iterator over the rows."""
        return iter(self.rows())

    @overload
    def __getitem__(self, item: str) -> list[Value]: ...
    @overload
    def __getitem__(self, item: int) -> tuple[Value, ...]: ...
    @overload
    def __getitem__(self, item: slice) -> list[tuple[Value, ...]]: ...
    def __getitem__(self, item: str | int | slice) -> list[Value] | tuple[Value, ...] | list[tuple[Value, ...]]:
        """Return a column by its name, a row by its number, which may be negative, or a slice of rows.

        >>> table = Table(("n",), ("integer",), ((3, 4),))
        >>> table["n"], table[-1], table[:1]
        ([3, 4], (4,), [(3,)])
        """
        if isinstance(item, str):
            return list(self.columns[self._place(item)])
        if isinstance(item, slice):
            return self.rows()[item]
        number = None if isinstance(item, bool) else whole(item)
        if number is None:
            raise bad_value("the index", item, "a column's name, the number of a row, or a slice of rows")
        if not -len(self) <= number < len(self):
            count = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
            raise RowNotFoundError(f"There is no row {number}: the answer has {count}.", argument="the index")
        return tuple(column[number] for column in self.columns)

    def _place(self, name: str) -> int:
        if name not in self.names:
            hint = (
                suggestion(name, self.names)
                or f"The columns are {', '.join(map(show_name, self.names[:_MOST_NAMES]))}."
            )
            raise ColumnNotFoundError(name, self.names, argument="the index", hint=hint)
        return self.names.index(name)

    def to_dict(self) -> dict[str, list[Value]]:
        """Return the columns as lists, by their names.

        >>> Table(("n",), ("integer",), ((3, 4),)).to_dict()
        {'n': [3, 4]}
        """
        return {name: list(column) for name, column in zip(self.names, self.columns, strict=True)}

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | PathLike[str]) -> None: ...
    @overload
    def to_json(self, path: str | PathLike[str] | None) -> str | None: ...
    def to_json(self, path: str | PathLike[str] | None = None) -> str | None:
        """Return the rows as a list of JSON objects, or write it to a path; a date is a text."""
        return deliver(json_text(self.dicts()), path)

    @overload
    def to_csv(self, path: None = None, *, spreadsheet: bool = True) -> str: ...
    @overload
    def to_csv(self, path: str | PathLike[str], *, spreadsheet: bool = True) -> None: ...
    @overload
    def to_csv(self, path: str | PathLike[str] | None, *, spreadsheet: bool = True) -> str | None: ...
    def to_csv(self, path: str | PathLike[str] | None = None, *, spreadsheet: bool = True) -> str | None:
        """Return the rows as CSV, or write them to a path.

        A text that a spreadsheet would run as a formula gets an apostrophe; with spreadsheet=False it is exact.
        """
        return deliver(csv_text(self.names, self.columns, spreadsheet=spreadsheet), path)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table."""
        pa = _module("pyarrow")
        kinds = {
            "integer": pa.int64(),
            "real": pa.float64(),
            "text": pa.string(),
            "boolean": pa.bool_(),
            "date": pa.date32(),
            "timestamp": pa.timestamp("us"),
        }
        arrays = [
            pa.array(_arrow_ready(column, kind), type=kinds[kind])
            for column, kind in zip(self.columns, self.kinds, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=list(self.names))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow streams."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> pl.DataFrame:
        """Return a polars frame."""
        frame: pl.DataFrame = _module("polars").from_arrow(self.to_arrow())
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame."""
        _module("pandas")  # without it, Arrow's error names no command
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __str__(self) -> str:
        """Return the first rows, in columns."""
        lines = aligned([self.names, *([format_value(value) for value in row] for row in self._first())])
        return "\n".join([*lines, *self._more(), *self.notes])

    def _repr_html_(self) -> str:
        """Return the first rows as HTML, for notebooks."""
        rows = [[format_value(value) for value in row] for row in self._first()]
        return html_table(self.names, rows) + html_lines([*self._more(), *self.notes])

    def _first(self) -> list[tuple[Value, ...]]:
        return list(zip(*(column[:_MOST_ROWS] for column in self.columns), strict=True))

    def _more(self) -> list[str]:
        return [f"… and {len(self) - _MOST_ROWS} more rows"] if len(self) > _MOST_ROWS else []


def format_value(value: Value) -> str:
    """Return a value as text.

    >>> format_value(None), format_value(1234.5), format_value(True)
    ('NULL', '1234.5', 'true')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain(value) if isinstance(value, float) else str(value)


def _arrow_ready(column: Sequence[Value], kind: Kind) -> Sequence[object]:
    """Return a column for Arrow; integers beyond 64 bits are clipped to its range."""
    most = 2**63 - 1
    if kind != "integer" or _all_between(column, -most - 1, most):
        return column
    return [None if x is None else max(-most - 1, min(most, int(x))) for x in column]  # type: ignore[arg-type]  # all are integers


def _all_between(column: Sequence[Value], least: int, most: int) -> bool:
    """Return whether all values are integers between two ends."""
    return set(map(type, column)) == {int} and least <= min(column) and max(column) <= most  # type: ignore[type-var, operator]  # all are integers


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as missing:
        error = MissingPackageError(name, "This conversion")
        error.hint = f"{error.hint}. The answer is not lost: .rows() needs no package."
        raise error from missing
