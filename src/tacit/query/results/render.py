"""How an answer looks: each noisy value beside its interval, with just the digits that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.query.expressions import Kind, Value
from tacit.query.formatting import Interval, decimals, percent, rounded
from tacit.query.results.table import Table, say
from tacit.safe_text import aligned
from tacit.safe_text import as_html as escaped

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Answered:
    """One column of an answer: its values and, if they are noisy, the interval of each."""

    name: str
    kind: Kind
    values: tuple[Value, ...]
    ends: tuple[Interval | None, ...] | None


def as_table(columns: Sequence[Answered]) -> Table:
    """Return the answer with a low and a high column for each noisy one, under names that no other column has.

    >>> n = Answered("n", "integer", (5,), ((3.0, 7.0),))
    >>> as_table([n, Answered("n_low", "integer", (1,), None)]).names
    ('n', 'n_low_1', 'n_high', 'n_low')
    """
    taken = {column.name for column in columns}
    table: list[tuple[str, Kind, tuple[Value, ...]]] = []
    for column in columns:
        table.append((column.name, column.kind, column.values))
        for side, end in enumerate(("low", "high") if column.ends is not None else ()):
            free = _free(f"{column.name}_{end}", taken)
            taken.add(free)
            table.append((free, "real", tuple(None if ends is None else ends[side] for ends in column.ends or ())))
    names, kinds, values = zip(*table, strict=True)
    return Table(names, kinds, values)


def _free(name: str, taken: set[str]) -> str:
    number, free = 0, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def grid(columns: Sequence[Answered], confidence: float) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text; a noisy value is followed by its interval, whose heading names the confidence.

    >>> grid([Answered("n", "integer", (5,), ((3.0, 7.0),))], 0.95)
    (['n', '95% interval of n'], [['5', '3 … 7']])
    """
    headings: list[str] = []
    cells: list[list[str]] = []
    for column in columns:
        known = [ends for ends in column.ends or () if ends is not None]
        digits = 0 if column.kind == "integer" else decimals(known)
        headings.append(column.name)
        cells.append([_said(value, digits) for value in column.values])
        if column.ends is not None:
            headings.append(f"{percent(confidence)} interval of {column.name}")
            cells.append([_between(ends, digits) for ends in column.ends])
    return headings, [list(row) for row in zip(*cells, strict=True)]


def _said(value: Value, digits: int | None) -> str:
    return rounded(value, digits) if isinstance(value, float) else say(value)


def _between(ends: Interval | None, digits: int | None) -> str:
    return "" if ends is None else f"{rounded(ends[0], digits, -1)} … {rounded(ends[1], digits, 1)}"


def as_text(columns: Sequence[Answered], confidence: float, note: str | None = None) -> str:
    """Return the first rows, in columns, and under them a note on the intervals."""
    headings, rows = grid(_first(columns), confidence)
    return "\n".join([*aligned([headings, *rows]), *_more(columns), *([note] if note else [])])


def as_html(columns: Sequence[Answered], confidence: float, note: str | None = None) -> str:
    """Return the first rows and a note on the intervals, for notebooks."""
    headings, rows = grid(_first(columns), confidence)
    head = "".join(f"<th>{escaped(name)}</th>" for name in headings)
    body = "".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = "".join(f"<p>{escaped(line)}</p>" for line in [*_more(columns), *([note] if note else [])])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _first(columns: Sequence[Answered]) -> list[Answered]:
    return [
        Answered(one.name, one.kind, one.values[:_SHOWN], None if one.ends is None else one.ends[:_SHOWN])
        for one in columns
    ]


def _more(columns: Sequence[Answered]) -> list[str]:
    count = len(columns[0].values) if columns else 0
    return [f"… and {count - _SHOWN} more rows"] if count > _SHOWN else []
