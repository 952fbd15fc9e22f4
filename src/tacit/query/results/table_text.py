r"""A table as CSV or JSON: a text, or a file.

CSV has one header line, `\n` after every line, an empty field for NULL and a pair of quotes for an empty text. Numbers
have all their digits. JSON is a list with one object for each row, as pandas and polars write it; a date is its ISO
text, and infinity and NaN are null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from tacit.errors import InvalidError, bad_value, show_name
from tacit.query.expressions import Value
from tacit.query.formatting import exact
from tacit.safe_text import as_json, spreadsheet_cell

_QUOTED = frozenset(',"\r\n')


def csv_text(names: Sequence[str], columns: Sequence[Sequence[Value]], *, spreadsheet: bool) -> str:
    """Return columns of equal length as CSV.

    >>> csv_text(["ward", "n"], [("=cmd()", ""), (12, None)], spreadsheet=True).splitlines()
    ['ward,n', "'=cmd(),12", '"",']

    Args:
        names: the names of the columns.
        columns: their values.
        spreadsheet: whether names and texts that a spreadsheet would run as formulas get an apostrophe.
    """
    if not isinstance(spreadsheet, bool):
        raise bad_value("spreadsheet", spreadsheet, "True or False")
    header, *fields = (_fields(column, spreadsheet=spreadsheet) for column in (names, *columns))
    return "".join(",".join(row) + "\n" for row in (header, *zip(*fields, strict=True)))


def _fields(values: Sequence[Value], *, spreadsheet: bool) -> list[str]:
    """Return the fields of some values; whole numbers need no check."""
    if set(map(type, values)) == {int}:
        return list(map(str, values))
    return [_field(value, spreadsheet=spreadsheet) for value in values]


def _field(value: Value, *, spreadsheet: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return exact(value) if isinstance(value, float) and abs(value) < float("inf") else str(value)
    text = spreadsheet_cell(value) if spreadsheet else value
    return '"' + text.replace('"', '""') + '"' if not text or _QUOTED.intersection(text) else text


def json_text(rows: Sequence[Mapping[str, Value]]) -> str:
    """Return rows as a list of JSON objects.

    >>> json_text([{"n": 3, "share": float("inf")}])
    '[{"n": 3, "share": null}]'
    """
    return as_json([{name: json_value(value) for name, value in row.items()} for row in rows], ascii_only=False)


def json_value(value: object) -> object:
    """Return a value that JSON has, and any other, such as a date, as text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def deliver(text: str, path: str | PathLike[str] | None) -> str | None:
    """Write a text to a path, or return it if there is no path.

    Lone surrogates, which UTF-8 does not have, are written as their escapes.
    """
    if path is None:
        return text
    given: object = path
    if not isinstance(given, (str, PathLike)) or not str(given):
        raise bad_value("path", given, "the path of a file")
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    except (OSError, ValueError):  # ValueError: a NUL in the path
        failed = f"Cannot write {show_name(str(path))}."
    else:
        return None
    raise InvalidError(failed, argument="path", hint="Name a file in a folder that exists. The answer is not lost.")
