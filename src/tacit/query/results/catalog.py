"""What may be asked about: tables and columns with what is public about them, for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tacit.query.formatting import plain
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.results.table import say
from tacit.safe_text import as_html as escaped

_MOST_KEYS = 6
_HEAD = "".join(f"<th>{name}</th>" for name in ("table", "column", "kind", "public"))


def as_html(tables: Mapping[str, TablePolicy]) -> str:
    """Return a table of all columns that a question may name."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in (name, column, one.kind, public)) + "</tr>"
        for name, table in tables.items()
        for column, one, public in _columns(table)
    )
    return f"<table><thead><tr>{_HEAD}</tr></thead><tbody>{rows}</tbody></table>"


def _columns(table: TablePolicy) -> Iterator[tuple[str, ColumnPolicy, str]]:
    for column, one in table.columns.items():
        if not one.hidden:
            unit = "the unit: all rows of one value are protected together; " if column == table.unit else ""
            yield column, one, (unit + known(one)).removesuffix("; ")


def known(column: ColumnPolicy) -> str:
    """Say what is public about a column.

    >>> known(ColumnPolicy(kind="text", keys=("A", "B", None)))
    'keys A, B, NULL'
    """
    found = []
    if column.bounds is not None:
        found.append(f"bounds {plain(float(column.bounds[0]))} to {plain(float(column.bounds[1]))}")
    if column.days is not None:
        found.append(f"days {column.days[0]} to {column.days[1]}")
    if column.keys is not None:
        more = f" and {len(column.keys) - _MOST_KEYS} more" if len(column.keys) > _MOST_KEYS else ""
        found.append(f"keys {', '.join(map(say, column.keys[:_MOST_KEYS]))}{more}")
    return "; ".join(found)
