"""Tables out: as a frame of the kind that came in, as CSV, as Parquet. Every value survives, as text if need be.

A frame or a file that holds two values as one (2^53 and 2^53 + 1 as floats, one moment in two zones) would be less
diverse than what was checked. So every column is read back: where values are lost, it is handed out as text.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from tacit.anonymity.files import SUFFIXES, a_path
from tacit.anonymity.tables import Column, from_series, picked
from tacit.errors import InvalidError
from tacit.safe_text import spreadsheet_cell

_MOST_DIGITS = 38


def listed(column: Column) -> tuple[object, ...]:
    """Return the different values of a column as values of one kind: floats, if they are numbers, or text."""
    kinds = {type(value) for value in column.values if value is not None}
    if len(kinds) <= 1:
        return column.values
    if kinds <= {int, float}:
        floats = tuple(map(_as_float, column.values))
        if floats == column.values:  # Python compares them exactly
            return floats
    return column.texts


def _as_float(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float)) else None
    except OverflowError:  # an int beyond all floats
        return float("inf")


def build(columns: Mapping[str, Column], backend: str) -> Any:  # noqa: ANN401 - the caller's own kind of frame
    """Return columns as a frame of the kind that came in.

    Raises:
        InvalidError: it can hold some value in no way.
    """
    if backend == "dict":
        return {name: picked(listed(column), column.codes) for name, column in columns.items()}
    held = {name: _series(name, column, backend)[column.codes.tolist()] for name, column in columns.items()}
    series = {name: nw.maybe_reset_index(one) for name, one in held.items()}
    return nw.from_dict(series, backend=None if series else backend).to_native()  # type: ignore[arg-type]  # the name of a frame's package


def _series(name: str, column: Column, backend: str) -> Any:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return the different values of a column as a series that holds each: as they are, or as text."""
    for values in (listed(column), column.texts):
        try:
            series = nw.from_dict({name: list(values)}, backend=backend)[name]  # type: ignore[arg-type]  # as above
            if _survives(column, from_series(name, series)):
                return series
        except Exception:  # noqa: BLE001, S112 - whatever a package raises for values that it has no kind for
            continue
    raise InvalidError(
        f"the column {name}", f"values that a frame of {backend} cannot hold", "of text, numbers, days or truth values"
    )


def _survives(column: Column, back: Column) -> bool:
    """Return whether what is read back is as many values, each written as it was, or the same moment."""
    if len({*back.codes.tolist()}) < len(column.texts):
        return False
    pairs = zip(column.texts, column.values, back.codes.tolist(), strict=True)
    return all(
        written == back.texts[code] or (isinstance(value, datetime) and value == back.values[code])
        for written, value, code in pairs
    )


def for_spreadsheet(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return columns whose names and texts no spreadsheet takes for formulas."""
    texts = {name: (None if one is None else spreadsheet_cell(one) for one in columns[name].texts) for name in columns}
    return {spreadsheet_cell(name): replace(columns[name], texts=tuple(texts[name])) for name in columns}


def write(columns: Mapping[str, Column], path: str | Path, *, spreadsheet: bool = False) -> None:
    """Write columns to a CSV or Parquet file: to CSV as text, to Parquet with types that hold every value.

    Args:
        columns: by name.
        path: of the file.
        spreadsheet: of CSV: whether texts that a spreadsheet would take for formulas get an apostrophe.

    Raises:
        InvalidError: the name ends in neither, or the file cannot be written; or Parquet is asked for a spreadsheet.
    """
    import duckdb  # noqa: PLC0415 - heavy

    target = a_path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InvalidError("the path", repr(str(path)), "one that ends in .csv, .tsv, .txt or .parquet")
    is_parquet = target.suffix.lower() == ".parquet"
    if spreadsheet:
        if is_parquet:
            raise InvalidError("spreadsheet", "a Parquet file", "left out, or given with a CSV file")
        columns = for_spreadsheet(columns)
    typed = {name: _typed(column) for name, column in columns.items()}
    texts = {
        f"c{place}": np.array(picked(typed[name][1] if is_parquet else column.texts, column.codes), dtype=object)
        for place, (name, column) in enumerate(columns.items())
    }
    casts = ", ".join(
        f"CAST(c{place} AS {typed[name][0] if is_parquet else 'VARCHAR'}) AS {_quoted(name)}"
        for place, name in enumerate(columns)
    )
    with duckdb.connect() as connection:
        try:
            connection.execute("SET GLOBAL pandas_analyze_sample = 0")  # all of it is text, whatever it looks like
            connection.register("published", texts)
            rows = connection.table("published").project(casts)
            if is_parquet:
                rows.write_parquet(str(target))
            else:
                quoting = csv.QUOTE_ALL if spreadsheet else None  # some programs also split cells at ;
                separator = "\t" if target.suffix.lower() == ".tsv" else ","
                rows.write_csv(str(target), sep=separator, header=True, quoting=quoting)
        except (duckdb.Error, ValueError):  # a ValueError: text that is no Unicode
            raise InvalidError("the path", repr(str(path)), "a file that can be written and holds all values") from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _typed(column: Column) -> tuple[str, Sequence[str | None]]:
    """Return the type of Parquet that holds every value of a column, and the values as text that is cast to it."""
    values = [value for value in listed(column) if value is not None]
    kinds = {type(value) for value in values}
    plain = {bool: "BOOLEAN", float: "DOUBLE", date: "DATE"}
    kind = next(iter(kinds)) if len(kinds) == 1 else str
    called = plain.get(kind, "VARCHAR")
    if kind is int and all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values):
        called = "BIGINT"
    elif kind is datetime and all(isinstance(value, datetime) and value.tzinfo is None for value in values):
        called = "TIMESTAMP"
    elif kind is Decimal:
        called = _decimal([value for value in values if isinstance(value, Decimal)])
    if called == "VARCHAR":
        return called, column.texts
    return called, [None if value is None else repr(value) if kind is float else str(value) for value in listed(column)]


def _decimal(values: Sequence[Decimal]) -> str:
    """Return the type that holds all of these decimals."""
    if not all(value.is_finite() for value in values):
        return "VARCHAR"
    scale = max(max(0, -int(value.as_tuple().exponent)) for value in values)
    whole = max(max(1, value.adjusted() + 1) for value in values)
    return f"DECIMAL({whole + scale},{scale})" if whole + scale <= _MOST_DIGITS else "VARCHAR"
