"""Values of expressions on the rows of a table, as an engine computes them and as Python does."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from contract.tables import Opener, Row
from engines.expressions import KINDS, VALUES
from row_evaluator import evaluate
from tacit.engines.sql.engine import StatementEngine
from tacit.engines.sql.layers import Layers
from tacit.query.expressions import Column, Constant, Expression, Kind, Value, walk

PLACE = Column("place", "integer")
"""The number of a row, by which results are sorted."""

Difference = tuple[Expression, Sequence[Value], Value, Value]
"""An expression, a row, the engine's value and Python's value."""


def random_rows(*, nul: bool) -> list[dict[str, Value]]:
    """Return 400 rows of `engines.expressions.KINDS`; without `nul`, no text contains the character NUL."""
    chance = random.Random(20261115)  # noqa: S311 - test data
    values = {
        kind: [value for value in some if nul or not (isinstance(value, str) and "\0" in value)]
        for kind, some in VALUES.items()
    }
    return [{name: chance.choice(values[kind]) for name, kind in KINDS.items()} for _ in range(400)]


def with_places(rows: Sequence[Row]) -> list[dict[str, Value]]:
    """Return rows with their numbers as the column `place`."""
    return [{**row, "place": place} for place, row in enumerate(rows)]


def computed(source: StatementEngine, expressions: Sequence[Expression]) -> list[tuple[Value, ...]]:
    """Return the values of some expressions on every row of an engine's table, which has the column `place`."""
    dialect = source.dialect
    layers = Layers(dialect, source._types, [*expressions, PLACE])
    order, *values = (dialect.text(layers.value(expression)) for expression in (PLACE, *expressions))
    selects = layers.selects(source._views[source.name])
    tables = ", ".join(f"{name} AS ({select})" for name, select in selects)
    items = ", ".join(f"{value} AS r{index}" for index, value in enumerate(values))
    with source._reading() as run:
        results = run(f"WITH {tables} SELECT {order}, {items} FROM {selects[-1][0]}", {})  # noqa: S608 - built here
    return [tuple(row[1:]) for row in sorted(results, key=lambda row: row[0])]


def row_values(
    engine: Opener, kinds: Mapping[str, Kind], data: Sequence[Row], expressions: Sequence[Expression]
) -> list[tuple[Value, ...]]:
    """Open an engine on some rows, and return the values of some expressions on every row."""
    with engine({**kinds, "place": "integer"}, with_places(data)) as source:
        return computed(source, expressions)


def alike(left: Value, right: Value, slack: float = 0.0) -> bool:
    """Return whether two values have one type and are equal; floats may differ by a relative slack."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isfinite(left) and math.isclose(left, right, rel_tol=slack, abs_tol=0.0))
    return left == right and type(left) is type(right)


def has_nul(expression: Expression) -> bool:
    """Return whether a constant contains NUL, which PostgreSQL cannot hold; such a query is refused there."""
    return any(isinstance(part, Constant) and "\0" in str(part.value) for part in walk(expression))


def differences(
    source: StatementEngine, data: Sequence[Row], expressions: Sequence[Expression], slack: float = 0.0
) -> list[Difference]:
    """Return the first row of each expression on which the engine's value differs from Python's."""
    results = computed(source, expressions)
    wrong: list[Difference] = []
    for index, expression in enumerate(expressions):
        wrong += [
            (expression, list(row.values()), values[index], expected)
            for row, values in zip(data, results, strict=True)
            if not alike(values[index], expected := evaluate(expression, row), slack)
        ][:1]
    return wrong
