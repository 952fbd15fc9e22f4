"""The rows of a unit table in plain Python, from the definitions in `query.unit_tables`: exact fractions, no SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, inf, isnan, ldexp
from typing import Any

from contract.tables import Row
from tacit.engines.sql.builder import column
from tacit.engines.sql.engine import StatementEngine
from tacit.engines.sql.joined_rows import joined_source
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Value
from tacit.query.plan import Plan
from tacit.query.unit_tables import UNIT, UnitAggregate, UnitGrid, UnitTable


def unit_rows(units: UnitTable, rows: Sequence[Row]) -> list[dict[str, Value]]:
    """Return the rows of a unit table without joins over the rows of its private table."""
    below: Sequence[Row] = rows if units.below is None else unit_rows(units.below, rows)
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for row in below:
        unit = row[units.unit]
        nobody = unit is None or (isinstance(unit, float) and isnan(unit))
        if not nobody and (units.where is None or evaluate(units.where, row) is True):
            keys = [_tidy(evaluate(expression, row)) for _, expression in units.keys]
            groups.setdefault((unit, *keys), []).append(row)
    found = []
    for (unit, *keys), members in groups.items():
        group: dict[str, Value] = {UNIT: unit, **dict(zip((name for name, _ in units.keys), keys, strict=True))}
        group |= {aggregate.name: aggregated(aggregate, members) for aggregate in units.aggregates}
        if units.having is None or evaluate(units.having, group) is True:
            columns = {name: _tidy(evaluate(expression, group)) for name, expression in units.columns}
            found.append({units.unit_name: unit, **columns})
    return found


def _tidy(value: Value) -> Value:
    return None if isinstance(value, float) and isnan(value) else value + 0.0 if isinstance(value, float) else value


def aggregated(aggregate: UnitAggregate, rows: Sequence[Row]) -> Value:
    """Return an aggregate of the rows of one group."""
    if aggregate.value is None:
        return len(rows)
    values: list[Any] = [value for row in rows if (value := _tidy(evaluate(aggregate.value, row))) is not None]
    match aggregate.function:
        case "count":
            return len(values)
        case "count_distinct":
            return len(set(values))
        case "sum" | "avg":
            return None if not values else _sum(aggregate, values)
        case "min" | "bool_and":
            return min(values, default=None)
        case _:
            return max(values, default=None)


def _sum(aggregate: UnitAggregate, values: Sequence[float]) -> Value:
    grid, n = aggregate.grid, len(values)
    total = sum(int(value) for value in values) if grid is None else sum(_steps(value, grid) for value in values)
    scale = 0 if grid is None else grid.step.numerator.bit_length() - grid.step.denominator.bit_length()
    if aggregate.function == "avg":
        quotient = abs(total) // n * (1 if total >= 0 else -1)
        return ldexp(float(quotient) + float(total - quotient * n) / float(n), scale)
    if grid is None:
        return min(max(total, -(2**63)), 2**63 - 1)
    return ldexp(float(min(max(total, -grid.most), grid.most)), scale)


def _steps(value: float, grid: UnitGrid) -> int:
    if value in (inf, -inf):
        return grid.high if value > 0 else grid.low
    return min(max(floor(Fraction(value) / grid.step + Fraction(1, 2)), grid.low), grid.high)


def read_unit_rows(engine: StatementEngine, plan: Plan) -> list[Mapping[str, Value]]:
    """Return the rows of a plan's unit table as an engine computes them."""
    tables, types = joined_source(plan, engine._views, engine._tables, engine.dialect)
    names = [name for name in types if name in plan.table.columns]
    items = ", ".join(engine.dialect.text(column(name)) for name in names)
    with engine._reading() as run:
        rows = run(f"WITH {tables} SELECT {items} FROM data", {})  # noqa: S608 - a test
    return [dict(zip(names, row, strict=True)) for row in rows]
