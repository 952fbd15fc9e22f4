"""Values of expressions on the rows of a table, as an engine computes them."""

from __future__ import annotations

from collections.abc import Sequence

from contract.tables import Opener, Row
from tacit.engines.sql.layers import Rows
from tacit.query.expressions import Column, Expression, Kind, Value

PLACE = Column("place", "integer")


def row_values(
    engine: Opener, kinds: dict[str, Kind], data: Sequence[Row], asked: Sequence[Expression]
) -> list[tuple[Value, ...]]:
    """Return the values of some expressions on every row."""
    numbered = [{**row, "place": place} for place, row in enumerate(data)]
    with engine({**kinds, "place": "integer"}, numbered) as source:
        dialect = source.dialect
        rows = Rows(dialect, source._types, [*asked, PLACE])
        order, *values = (dialect.text(rows.value(one)) for one in (PLACE, *asked))
        layers = rows.selects(source._views[source.name])
        parts = ", ".join(f"{name} AS ({select})" for name, select in layers)
        named = ", ".join(f"{value} AS r{place}" for place, value in enumerate(values))
        with source._reading() as run:
            found = run(f"WITH {parts} SELECT {order}, {named} FROM {layers[-1][0]}", {})  # noqa: S608 - ours
    return [tuple(row[1:]) for row in sorted(found, key=lambda row: row[0])]
