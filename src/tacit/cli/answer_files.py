"""An answer as a file: CSV, Parquet, JSON or Markdown, with the intervals of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from tacit.cli import output_files
from tacit.errors import MissingPackageError, bad_value
from tacit.query.results.release import Release
from tacit.query.results.table import Table, format_value
from tacit.safe_text import as_json, visible

_SUFFIXES = (".csv", ".parquet", ".json", ".md")


def check(out: str | None, policy: str, *, force: bool) -> None:
    """Check the name and the folder of an answer's file before anything is spent."""
    if out is None:
        return
    suffix = Path(out).suffix.lower()
    if suffix not in _SUFFIXES:
        raise bad_value("--out", out, f"a file whose name ends in one of {', '.join(_SUFFIXES)}")
    if suffix == ".parquet" and find_spec("pyarrow") is None:
        raise MissingPackageError("pyarrow", "Writing a Parquet file")
    output_files.check({"out": out}, [policy], force=force)


def write(answer: Release, out: str, json: Callable[[], Mapping[str, object]]) -> str:
    """Write an answer to a file whose name was checked; return a sentence that says so.

    Args:
        answer: the answer.
        out: the file; its suffix says in which form.
        json: the object that --json prints.
    """
    return write_table(answer.intervals(), answer.notes, out, json)


def write_table(table: Table, notes: list[str], out: str, json: Callable[[], Mapping[str, object]]) -> str:
    """Write a table to a file whose name was checked; return a sentence that says so.

    Args:
        table: the table.
        notes: sentences for below it, in Markdown.
        out: the file; its suffix says in which form.
        json: the object that --json prints.
    """
    match Path(out).suffix.lower():
        case ".parquet":
            from pyarrow import parquet  # noqa: PLC0415 - not a dependency

            with output_files.atomic(out) as temporary:
                parquet.write_table(table.to_arrow(), temporary)
        case ".json":
            output_files.write_text(out, as_json(dict(json()), ascii_only=False) + "\n")
        case ".md":
            output_files.write_text(out, _markdown(table, notes))
        case _:
            output_files.write_text(out, table.to_csv())
    return f"Wrote the answer to {visible(out)}."


def _markdown(table: Table, notes: list[str]) -> str:
    """Return a table in Markdown, with the notes of the answer below it."""
    numbers = [kind in ("integer", "real") for kind in table.kinds]
    lines = [_line(table.names), f"| {' | '.join('---:' if number else '---' for number in numbers)} |"]
    lines += [_line(map(format_value, row)) for row in table.rows()]
    lines += [line for note in notes for line in ("", _cell(note))]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Return text that is one cell and no markup."""
    marked = "".join(f"\\{character}" if character in "\\`*_[]<>|#" else character for character in visible(text))
    return marked.replace("\n", " ")
