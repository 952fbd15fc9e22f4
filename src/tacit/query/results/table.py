"""A small table of released values, in the forms that people and programs like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from tacit.errors import TacitError
from tacit.query.expressions import Kind, Value
from tacit.query.formatting import plain
from tacit.safe_text import aligned, as_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of equal length."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    columns: tuple[tuple[Value, ...], ...]

    def __len__(self) -> int:
        """How many rows there are."""
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
        """The first rows, in columns."""
        lines = aligned([self.names, *([say(value) for value in row] for row in self._first())])
        return "\n".join([*lines, *self._more()])

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        head = "".join(f"<th>{as_html(name)}</th>" for name in self.names)
        body = "".join(
            "<tr>" + "".join(f"<td>{as_html(say(value))}</td>" for value in row) + "</tr>" for row in self._first()
        )
        more = "".join(f"<p>{as_html(line)}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _first(self) -> list[tuple[Value, ...]]:
        return list(zip(*(column[:_SHOWN] for column in self.columns), strict=True))

    def _more(self) -> list[str]:
        return [f"… and {len(self) - _SHOWN} more rows"] if len(self) > _SHOWN else []


def say(value: Value) -> str:
    """Return a value as a person would write it.

    >>> say(None), say(1234.5), say(True)
    ('NULL', '1234.5', 'true')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain(value) if isinstance(value, float) else str(value)


def _arrow_ready(column: Sequence[Value], kind: Kind) -> list[object]:
    """Integers beyond 64 bits do not fit an Arrow integer: they are kept at its ends."""
    if kind != "integer":
        return list(column)
    most = 2**63 - 1
    return [None if x is None else max(-most - 1, min(most, int(x))) for x in column]  # type: ignore[arg-type]  # all are integers


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as missing:
        raise TacitError(
            f"This form needs the package {name}, which is not installed; the answer is not lost. "
            f"Install it with: pip install {name}, or use .rows()"
        ) from missing
