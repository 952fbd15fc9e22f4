"""An answer as the table of a page: each value with ± and its interval, in as few digits as the error allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any, Final

from tacit.web.pages.shown import cell_text, number_text

MOST_ROWS: Final = 200
"""The rows that a page shows; files have all."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as text; a noisy one with its error and its interval."""

    text: str
    error: str | None = None
    interval: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The columns and rows that a page shows, and the number of rows that there are."""

    names: list[tuple[str, bool]]
    """The names of the columns, and whether each has numbers."""
    rows: list[list[Cell]]
    count: int


def table_of(content: Mapping[str, Any]) -> AnswerView:
    """Return the table of an answer."""
    columns = content["columns"]
    count = max((len(column["values"]) for column in columns), default=0)
    shown = [[_cell(column, row) for column in columns] for row in range(min(count, MOST_ROWS))]
    return AnswerView([(column["name"], column["kind"] in ("integer", "real")) for column in columns], shown, count)


def _cell(column: Mapping[str, Any], row: int) -> Cell:
    value = column["values"][row]
    if column["low"] is None or not isinstance(value, int | float) or isinstance(value, bool):
        ends = "" if column["low"] is None else f"{column['low'][row]} … {column['high'][row]}"
        return Cell(cell_text(value), interval=ends or None)
    low, high = column["low"][row], column["high"][row]
    if low is None and high is None:
        return Cell(number_text(value))
    width = max(high - value if high is not None else 0.0, value - low if low is not None else 0.0)
    digits = digits_of(width)
    return Cell(_rounded(value, digits), f"± {_rounded(width, digits)}", f"{_end(low, digits)} … {_end(high, digits)}")


def _end(value: float | None, digits: int) -> str:
    return "no bound" if value is None else _rounded(value, digits)


def digits_of(width: float) -> int:
    """Return the decimals that show two digits of an error.

    >>> digits_of(667.9), digits_of(1.26), digits_of(0.0123), digits_of(0.0)
    (0, 1, 3, 0)
    """
    return max(0, 1 - floor(log10(width))) if width > 0 and isfinite(width) else 0


def _rounded(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"
