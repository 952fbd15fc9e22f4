"""A table of released values, and its conversions to frames and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from tacit.errors import MissingPackageError
from tacit.query.expressions import Kind, Value
from tacit.query.formatting import plain
from tacit.safe_text import aligned, as_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of equal length."""

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
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __str__(self) -> str:
        """Return the first rows, in columns."""
        lines = aligned([self.names, *([format_value(value) for value in row] for row in self._first())])
        return "\n".join([*lines, *self._more(), *self.notes])

    def _repr_html_(self) -> str:
        """Return the first rows as HTML, for notebooks."""
        head = "".join(f"<th>{as_html(name)}</th>" for name in self.names)
        body = "".join(
            "<tr>" + "".join(f"<td>{as_html(format_value(value))}</td>" for value in row) + "</tr>"
            for row in self._first()
        )
        more = "".join(f"<p>{as_html(line)}</p>" for line in [*self._more(), *self.notes])
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

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


def _arrow_ready(column: Sequence[Value], kind: Kind) -> list[object]:
    """Return a column for Arrow; integers beyond 64 bits are clipped to its range."""
    if kind != "integer":
        return list(column)
    most = 2**63 - 1
    return [None if x is None else max(-most - 1, min(most, int(x))) for x in column]  # type: ignore[arg-type]  # all are integers


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as missing:
        error = MissingPackageError(name, "This conversion")
        error.hint = f"{error.hint}. The answer is not lost: .rows() needs no package."
        raise error from missing
