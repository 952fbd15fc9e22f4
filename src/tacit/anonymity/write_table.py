"""Published tables as frames of the input's type, as CSV and as Parquet, without losing any value.

A frame or a file that stores two values as one (2^53 and 2^53 + 1 as floats, one instant in two time zones) would be
less diverse than the table that was checked. So every column of a frame is read back. If values are lost, the column is
written as text.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from tacit.anonymity.table_files import SUFFIXES, to_path
from tacit.anonymity.tables import CodedColumn, from_series, pick
from tacit.errors import ColumnValueError, InvalidError
from tacit.safe_text import spreadsheet_cell

if TYPE_CHECKING:
    import duckdb

_MOST_DIGITS = 38


def _uniform_values(column: CodedColumn) -> tuple[object, ...]:
    """Return the different values of a column as values of one type: floats if they are numbers, else text."""
    kinds = {type(value) for value in column.values if value is not None}
    if len(kinds) <= 1:
        return column.values
    if kinds <= {int, float}:
        floats = tuple(map(_as_float, column.values))
        if floats == column.values:  # Python compares ints and floats exactly
            return floats
    return column.texts


def _as_float(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float)) else None
    except OverflowError:  # an int larger than all floats
        return float("inf")


def to_frame(columns: Mapping[str, CodedColumn], backend: str) -> Any:  # noqa: ANN401 - the caller's own kind of frame
    """Return columns as a frame of a package, or as a dictionary.

    Raises:
        ColumnValueError: the frame cannot hold a value, not even as text.
    """
    if backend == "dict":
        return {name: pick(_uniform_values(column), column.codes) for name, column in columns.items()}
    series = {
        name: nw.maybe_reset_index(_series(name, column, backend)[column.codes.tolist()])
        for name, column in columns.items()
    }
    return nw.from_dict(series, backend=None if series else backend).to_native()  # type: ignore[arg-type]  # the name of a frame's package


def _series(name: str, column: CodedColumn, backend: str) -> Any:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return the different values of a column as a series that holds each of them: unchanged, or as text."""
    for values in (_uniform_values(column), column.texts):
        try:
            series = nw.from_dict({name: list(values)}, backend=backend)[name]  # type: ignore[arg-type]  # as above
            if _is_lossless(column, from_series(name, series)):
                return series
        except Exception:  # noqa: BLE001, S112 - any error of a package for values that it has no type for
            continue
    raise ColumnValueError(
        name, f"has values that a {backend} frame cannot hold.", hint="Use text, numbers, dates or truth values."
    )


def _is_lossless(column: CodedColumn, back: CodedColumn) -> bool:
    """Return whether the column that is read back has the same values: the same texts, or the same instants."""
    if len({*back.codes.tolist()}) < len(column.texts):
        return False
    pairs = zip(column.texts, column.values, back.codes.tolist(), strict=True)
    return all(
        text == back.texts[code] or (isinstance(value, datetime) and value == back.values[code])
        for text, value, code in pairs
    )


def for_spreadsheet(columns: Mapping[str, CodedColumn]) -> dict[str, CodedColumn]:
    """Return columns whose names and texts a spreadsheet does not read as formulas."""
    return {
        spreadsheet_cell(name): replace(
            column, texts=tuple(None if text is None else spreadsheet_cell(text) for text in column.texts)
        )
        for name, column in columns.items()
    }


def write(columns: Mapping[str, CodedColumn], path: str | Path, *, spreadsheet: bool = False) -> None:
    """Write columns to a CSV or Parquet file: to CSV as text, to Parquet with types that hold every value.

    Args:
        columns: by name.
        path: of the file.
        spreadsheet: for CSV: whether texts that a spreadsheet would read as formulas get an apostrophe.

    Raises:
        InvalidError: the suffix is not supported, the file cannot be written, or spreadsheet is given with Parquet.
    """
    import duckdb  # noqa: PLC0415 - heavy

    target = to_path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InvalidError(
            f"{str(path)!r} is not the name of a CSV or Parquet file.",
            argument="the path",
            hint="Give a name that ends in .csv, .tsv, .txt or .parquet.",
        )
    is_parquet = target.suffix.lower() == ".parquet"
    if spreadsheet:
        if is_parquet:
            raise InvalidError(
                "spreadsheet has no effect on a Parquet file.", argument="spreadsheet", hint="Write a CSV file."
            )
        columns = for_spreadsheet(columns)
    with duckdb.connect() as connection:
        try:
            rows = _relation(connection, columns, is_parquet=is_parquet)
            if is_parquet:
                rows.write_parquet(str(target))
            else:
                quoting = csv.QUOTE_ALL if spreadsheet else None  # some programs also split cells at ;
                separator = "\t" if target.suffix.lower() == ".tsv" else ","
                rows.write_csv(str(target), sep=separator, header=True, quoting=quoting)
        except (duckdb.Error, ValueError):  # a ValueError: text that is not valid Unicode
            raise InvalidError(
                f"Cannot write {str(path)!r}.",
                argument="the path",
                hint="Check that the folder exists and is writable, and that all text is valid Unicode.",
            ) from None


def _relation(
    connection: duckdb.DuckDBPyConnection, columns: Mapping[str, CodedColumn], *, is_parquet: bool
) -> duckdb.DuckDBPyRelation:
    """Return columns as a DuckDB relation: text, or the type that holds every value."""
    typed = {name: _typed(column) for name, column in columns.items()}
    texts = {
        f"c{at}": np.array(pick(typed[name][1] if is_parquet else column.texts, column.codes), dtype=object)
        for at, (name, column) in enumerate(columns.items())
    }
    casts = ", ".join(
        f"CAST(c{at} AS {typed[name][0] if is_parquet else 'VARCHAR'}) AS {_quoted(name)}"
        for at, name in enumerate(columns)
    )
    connection.execute("SET GLOBAL pandas_analyze_sample = 0")  # all cells are text
    connection.register("published", texts)
    return connection.table("published").project(casts)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _typed(column: CodedColumn) -> tuple[str, Sequence[str | None]]:
    """Return the Parquet type that holds every value of a column, and the values as text to cast to it."""
    values = [value for value in _uniform_values(column) if value is not None]
    types = {type(value) for value in values}
    plain = {bool: "BOOLEAN", float: "DOUBLE", date: "DATE"}
    kind = next(iter(types)) if len(types) == 1 else str
    type_name = plain.get(kind, "VARCHAR")
    if kind is int and all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values):
        type_name = "BIGINT"
    elif kind is datetime and all(isinstance(value, datetime) and value.tzinfo is None for value in values):
        type_name = "TIMESTAMP"
    elif kind is Decimal:
        type_name = _decimal([value for value in values if isinstance(value, Decimal)])
    if type_name == "VARCHAR":
        return type_name, column.texts
    return type_name, [
        None if value is None else repr(value) if kind is float else str(value) for value in _uniform_values(column)
    ]


def _decimal(values: Sequence[Decimal]) -> str:
    """Return the type that holds all these decimals."""
    if not all(value.is_finite() for value in values):
        return "VARCHAR"
    scale = max(max(0, -int(value.as_tuple().exponent)) for value in values)
    whole = max(max(1, value.adjusted() + 1) for value in values)
    return f"DECIMAL({whole + scale},{scale})" if whole + scale <= _MOST_DIGITS else "VARCHAR"
