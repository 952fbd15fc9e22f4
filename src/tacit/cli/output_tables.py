"""Tables of text on stdout: with lines on a terminal, aligned by spaces in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tacit.cli.output import stdout_console
from tacit.safe_text import visible, width

if TYPE_CHECKING:
    from rich.table import Table

_GAP = "  "


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of visible text. A column is aligned to the left if its heading is in `left`; `dim` ones are dimmed."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: tuple[str, ...]
    left: tuple[str, ...]
    dim: tuple[str, ...]


def make_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    total: Sequence[str] = (),
    left: Sequence[str] | None = None,
    dim: Sequence[str] = (),
) -> TextTable:
    """Return a table of visible text.

    Args:
        headings: the names of the columns.
        rows: the cells.
        total: the cells of a last row, below a line on a terminal.
        left: columns to align to the left, by default the first; others are aligned to the right.
        dim: columns to print dimmed.
    """
    first, *others = (tuple(map(visible, cells)) for cells in (headings, headings[:1] if left is None else left, dim))
    return TextTable(first, tuple(tuple(map(visible, row)) for row in rows), tuple(map(visible, total)), *others)


def put_table(table: TextTable) -> None:
    """Write a table to stdout; in a pipe, no line ends with spaces."""
    if sys.stdout.isatty():
        stdout_console().print(_with_lines(table))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _aligned(table)))
    sys.stdout.flush()


def _aligned(table: TextTable) -> Iterator[str]:
    """Yield the lines of a table without rich, which is slow to import."""
    lines = [table.headings, *table.rows, *([table.total] if table.total else [])]
    columns = [[width(cell) for cell in column] for column in zip(*lines, strict=True)]
    for cells, lengths in zip(lines, zip(*columns, strict=True), strict=True):
        padded = []
        for heading, cell, length, column in zip(table.headings, cells, lengths, columns, strict=True):
            space = " " * (max(column) - length)
            padded.append(cell + space if heading in table.left else space + cell)
        yield _GAP.join(padded).rstrip()


def _with_lines(table: TextTable) -> Table:
    """Return a table for a terminal. rich writes its lines in ASCII if the terminal has nothing else."""
    from rich.box import HEAVY_HEAD  # noqa: PLC0415 - heavy
    from rich.table import Table  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415 - heavy

    shown = Table(box=HEAVY_HEAD, padding=(0, 1))
    for heading in table.headings:
        justify: Literal["left", "right"] = "left" if heading in table.left else "right"
        shown.add_column(Text(heading), justify=justify, style="dim" if heading in table.dim else None)
    for row in table.rows:
        shown.add_row(*map(Text, row))
    if table.total:
        shown.add_section()
        shown.add_row(*map(Text, table.total))
    return shown
