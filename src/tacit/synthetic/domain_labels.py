"""The public values of columns as tables show them: bins as in a histogram, `(other)` for values not listed."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import ColumnNotFoundError, InvalidError, bad_value, show, show_name
from tacit.query.expressions import Kind, Value
from tacit.query.results.table import format_value
from tacit.synthetic.domain import OTHER, Domain, DomainColumn

_TEXT_OF_OTHER = repr(OTHER)


def values_of(domain: Domain, place: int) -> tuple[Kind, tuple[Value, ...]]:
    """Return the kind and the values by which tables show the codes of a column.

    Bins are texts. If values that are not listed have a code, a column that is not of text becomes text, because
    it has no value `(other)`.
    """
    column = domain.columns[place]
    kind: Kind = domain.table.columns[column.name].kind
    if column.edges is not None:
        return "text", tuple(
            None if label is None else bin_text(column, code) for code, label in enumerate(column.labels)
        )
    if OTHER not in column.labels:
        return kind, column.labels  # type: ignore[return-value]  # values of the column
    return "text", tuple(_text(label, kind) for label in column.labels)


def _text(label: object, kind: Kind) -> str | None:
    if label is None:
        return None
    if label is OTHER:
        return _TEXT_OF_OTHER
    return str(label) if kind == "text" else format_value(label)  # type: ignore[arg-type]  # a listed value


def bin_text(column: DomainColumn, code: int) -> str:
    """Return the name of a bin; the last contains its upper edge."""
    low, high = (_edge(edge) for edge in column.labels[code])  # type: ignore[attr-defined]  # a pair of edges
    last = column.edges is not None and code == len(column.edges) - 2
    return f"[{low}, {high}{']' if last else ')'}"


def _edge(edge: float) -> str:
    return f"{edge:g}" if float(f"{edge:g}") == edge else repr(edge)


def codes_of(domain: Domain, place: int, wanted: object) -> list[int]:
    """Return the codes of the values that a caller wants: one value or several; a bin by its text or its edges."""
    column = domain.columns[place]
    _, values = values_of(domain, place)
    several = isinstance(wanted, (list, set, frozenset)) or (isinstance(wanted, tuple) and wanted not in column.labels)
    found = [_code(column, values, each) for each in (wanted if several else [wanted])]  # type: ignore[attr-defined]
    if not found:
        raise bad_value(column.name, wanted, "at least one value")
    if len(set(found)) < len(found):
        raise InvalidError(f"A value of {show_name(column.name)} is named twice.", argument=column.name)
    return found


def _code(column: DomainColumn, values: Sequence[Value], wanted: object) -> int:
    for options in (column.labels, values):
        for code, value in enumerate(options):
            if value is wanted or (type(value) is type(wanted) and value == wanted):
                return code
    number = isinstance(wanted, (int, float)) and not isinstance(wanted, bool)
    for code, value in enumerate(column.labels):
        same = isinstance(value, (int, float)) and not isinstance(value, bool) and number and value == wanted
        pair = isinstance(value, tuple) and isinstance(wanted, (tuple, list)) and tuple(wanted) == value
        if same or pair:
            return code
    raise InvalidError(
        f"{show(wanted)} is not a public value of the column {show_name(column.name)}.",
        argument=column.name,
        hint=f"Its values are {', '.join(map(format_value, values[:8]))}{' …' if len(values) > 8 else ''}.",  # noqa: PLR2004
    )


def place_of(names: Sequence[str], name: object) -> int:
    """Return the place of a column, or raise ColumnNotFoundError."""
    if name not in names:
        raise ColumnNotFoundError(str(name), names, argument="columns")
    return names.index(str(name))
