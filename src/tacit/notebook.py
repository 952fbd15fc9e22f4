"""HTML of values that are not tables, for notebooks: lines of text, or the names and values of fields.

All text passes through `safe_text`, so no name and no value of the data can run as script.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from tacit.safe_text import html_lines, html_table

_LONGEST = 200
_MOST_ROWS = 50


class ShownAsLines:
    """A value that a notebook shows as the lines of its text."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the text as HTML, for notebooks."""
        return html_lines(str(self).splitlines())


class ShownAsFields:
    """A dataclass that a notebook shows as a table of its fields."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the names and the values of all fields as HTML, for notebooks."""
        return fields_html(self, [field.name for field in fields(self) if field.repr])  # type: ignore[arg-type]  # every child is a dataclass


def fields_html(value: object, names: Iterable[str]) -> str:
    """Return a table of some attributes of a value, under the name of its type.

    >>> fields_html(3 + 4j, ["real", "imag"]).count("<tr>")
    3
    """
    rows = [(name, shortened(getattr(value, name))) for name in names if getattr(value, name, None) is not None]
    return html_table((type(value).__name__, ""), rows)


def rows_html(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return the first rows of a table of any values as HTML."""
    cells = [[shortened(cell) for cell in row] for row in rows]
    more = [f"… and {len(cells) - _MOST_ROWS:,} more rows"] if len(cells) > _MOST_ROWS else []
    return html_table(tuple(headings), cells[:_MOST_ROWS]) + html_lines(more)


def shortened(value: object) -> str:
    """Return a value as a text that fits a cell.

    >>> shortened(0.5), len(shortened("x" * 1000))
    ('0.5', 201)
    """
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
