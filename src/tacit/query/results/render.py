"""Answers and tables as text and HTML: each noisy value with its interval, and the labels of groups in charts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.query.aggregates.statistic import Interval
from tacit.query.expressions import Kind, Value
from tacit.query.formatting import decimals, percent, plain, rounded
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.results.interval_columns import IntervalColumn
from tacit.query.results.moment_ends import MOMENTS, as_moments
from tacit.query.results.table import Table, format_value
from tacit.safe_text import aligned, html_lines, html_table
from tacit.safe_text import as_html as escaped

MOST_ROWS = 50
"""The number of rows that text and notebooks show."""
_MOST_KEYS = 6

NO_KEYS = "all"
_AMBIGUOUS = frozenset(',"\\')  # a backslash could be read as an escape of `safe_text.visible`


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One column of an answer: its values and, if they are noisy, the interval of each.

    Attributes:
        name: the name of the column.
        kind: its type.
        values: its values.
        ends: the low and the high end of each value's interval; None if the column is not noisy.
    """

    name: str
    kind: Kind
    values: tuple[Value, ...]
    ends: Sequence[Interval | None] | None


def as_table(columns: Sequence[AnswerColumn]) -> Table:
    """Return the answer with a low and a high column for each noisy column, under names that no other column has.

    >>> n = AnswerColumn("n", "integer", (5,), ((3.0, 7.0),))
    >>> as_table([n, AnswerColumn("n_low", "integer", (1,), None)]).names
    ('n', 'n_low_1', 'n_high', 'n_low')
    """
    taken = {column.name for column in columns}
    table: list[tuple[str, Kind, tuple[Value, ...]]] = []
    for column in columns:
        table.append((column.name, column.kind, column.values))
        for side, end in enumerate(("low", "high") if column.ends is not None else ()):
            free = _free(f"{column.name}_{end}", taken)
            taken.add(free)
            table.append((free, _end_kind(column), _ends(column, side)))
    names, kinds, values = zip(*table, strict=True)
    return Table(names, kinds, values)


def _end_kind(column: AnswerColumn) -> Kind:
    return column.kind if column.kind in MOMENTS else "real"


def _ends(column: AnswerColumn, side: int) -> tuple[Value, ...]:
    """Return one end of every interval."""
    if isinstance(column.ends, IntervalColumn) and column.kind not in MOMENTS:
        return tuple(column.ends.ends[side].tolist())
    return tuple(_end(column, ends, side) for ends in column.ends or ())


def _end(column: AnswerColumn, ends: Interval | None, side: int) -> Value:
    """Return one end of an interval: of a date as a date."""
    if ends is None:
        return None
    return as_moments(ends, column.kind)[side] if column.kind in MOMENTS else ends[side]


def _free(name: str, taken: set[str]) -> str:
    number, free = 0, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def text_rows(columns: Sequence[AnswerColumn], confidence: float) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text; after a noisy column comes its interval, whose heading has the confidence.

    >>> text_rows([AnswerColumn("n", "integer", (5,), ((3.0, 7.0),))], 0.95)
    (['n', '95% interval of n'], [['5', '3 … 7']])
    """
    headings: list[str] = []
    cells: list[list[str]] = []
    for column in columns:
        known = [ends for ends in column.ends or () if ends is not None]
        digits = 0 if column.kind == "integer" else decimals(known)
        headings.append(column.name)
        cells.append([_value(value, digits) for value in column.values])
        if column.ends is not None:
            headings.append(f"{percent(confidence)} interval of {column.name}")
            cells.append([_between(ends, digits, column.kind) for ends in column.ends])
    return headings, [list(row) for row in zip(*cells, strict=True)]


def _value(value: Value, digits: int | None) -> str:
    return rounded(value, digits) if isinstance(value, float) else format_value(value)


def _between(ends: Interval | None, digits: int | None, kind: Kind) -> str:
    if ends is not None and kind in MOMENTS:
        return " … ".join(map(format_value, as_moments(ends, kind)))
    return "" if ends is None else f"{rounded(ends[0], digits, -1)} … {rounded(ends[1], digits, 1)}"


WARNING = "WARNING: "
"""The first word of a warning in text."""


def as_text(
    columns: Sequence[AnswerColumn],
    confidence: float,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    *,
    more: int | None = None,
) -> str:
    """Return the first rows, in columns, with warnings above and notes below.

    `more` is how many rows are left out, if the columns do not have them.
    """
    headings, rows = text_rows(_first(columns), confidence)
    above = [f"{WARNING}{warning}" for warning in warnings]
    return "\n".join([*above, *aligned([headings, *rows]), *_more(columns, more), *notes])


def as_html(
    columns: Sequence[AnswerColumn],
    confidence: float,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    *,
    more: int | None = None,
) -> str:
    """Return the first rows as HTML, for notebooks; the arguments are those of `as_text`."""
    headings, rows = text_rows(_first(columns), confidence)
    above = "".join(f"<p><strong>{WARNING}{escaped(warning)}</strong></p>" for warning in warnings)
    return above + html_table(headings, rows) + html_lines([*_more(columns, more), *notes])


def _first(columns: Sequence[AnswerColumn]) -> list[AnswerColumn]:
    return [
        AnswerColumn(
            column.name,
            column.kind,
            column.values[:MOST_ROWS],
            None if column.ends is None else column.ends[:MOST_ROWS],
        )
        for column in columns
    ]


def _more(columns: Sequence[AnswerColumn], more: int | None) -> list[str]:
    if more is None:
        more = (len(columns[0].values) if columns else 0) - MOST_ROWS
    return [f"… and {more} more rows"] if more > 0 else []


def group_label(keys: Sequence[Value]) -> str:
    """Return the label of a group in a chart: its keys, separated by commas, or `all` for a query without keys.

    Two different groups never have the same label: a text is quoted if it could be read as NULL, as `all`, or as
    several keys.

    >>> group_label(["a", None]), group_label(["a", "NULL"]), group_label(["a, b", 1]), group_label([])
    ('a, NULL', 'a, "NULL"', '"a, b", 1', 'all')
    """
    return ", ".join(map(_key_label, keys)) or NO_KEYS


def _key_label(value: Value) -> str:
    if isinstance(value, str) and (value in ("", "NULL", NO_KEYS) or _AMBIGUOUS.intersection(value)):
        return json.dumps(value, ensure_ascii=False)
    return format_value(value)


def catalog_html(tables: Mapping[str, TablePolicy]) -> str:
    """Return all columns that a query may name, with what is public about each, as HTML."""
    rows = [
        (name, column, policy.kind, public)
        for name, table in tables.items()
        for column, policy, public in _columns(table)
    ]
    return html_table(("table", "column", "kind", "public"), rows)


def _columns(table: TablePolicy) -> Iterator[tuple[str, ColumnPolicy, str]]:
    for name, column in table.columns.items():
        if not column.hidden:
            unit = "the unit: all rows of one value are protected together; " if name == table.unit else ""
            yield name, column, (unit + public_facts(column)).removesuffix("; ")


def public_facts(column: ColumnPolicy) -> str:
    """Return what is public about a column, as text.

    >>> public_facts(ColumnPolicy(kind="text", keys=("A", "B", None)))
    'keys A, B, NULL'
    """
    facts = []
    if column.timezone is not None:
        facts.append(f"in the time zone {column.timezone}" if column.timezone else "needs a timezone in the policy")
    if column.bounds is not None:
        facts.append(f"bounds {plain(float(column.bounds[0]))} to {plain(float(column.bounds[1]))}")
    if column.moments is not None:
        facts.append(f"moments {column.moments[0]} to {column.moments[1]}")
    elif column.days is not None:
        facts.append(f"days {column.days[0]} to {column.days[1]}")
    if column.keys is not None:
        more = f" and {len(column.keys) - _MOST_KEYS} more" if len(column.keys) > _MOST_KEYS else ""
        facts.append(f"keys {', '.join(map(format_value, column.keys[:_MOST_KEYS]))}{more}")
    if column.required:
        facts.append(f"required: a missing value is read as {format_value(column.stand_in)}")
    return "; ".join(facts)
