"""The rows of a unit table (`query.unit_tables`) as common tables of a statement.

    NAME_layer0 …  the rows below, with all values that the subquery reads of them                       (`layers`)
    NAME_read      the rows that count (a unit, WHERE true): u, the keys, and the values to aggregate
    NAME_sums      by u and the keys: exact counts, sums, least and largest values
    NAME_groups    u, the keys, and each aggregate as a value of its kind
    NAME_made0 …   the columns of the subquery, computed from these                                       (`layers`)
    NAME           the rows whose HAVING is true: the unit under its name, and the columns

Units are grouped by the exact values that identify them, as everywhere (`Dialect.read_unit`). Sums are exact 128-bit
integers. They are cut to 64 bits before they are cast, so no cast fails: LEAST and GREATEST skip NULL, so a sum without
a value is tested first. An average divides by NULLIF(n, 0), so no division fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sqlglot import exp

from tacit.engines.sql import measures
from tacit.engines.sql.builder import SQL, call, cast, column, infix, not_null, powers, product, real, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Layers
from tacit.engines.sql.measures import MeasureGrid
from tacit.errors import InternalError, InvalidError
from tacit.query.expressions import Kind
from tacit.query.expressions.casts import HIGHEST, LOWEST
from tacit.query.unit_tables import UNIT, UnitAggregate, UnitGrid, UnitTable

TypeNames: TypeAlias = Mapping[str, str]
NamedSelect: TypeAlias = tuple[str, str]

_BIGINT, _HUGEINT = "BIGINT", "HUGEINT"


def unit_table_selects(
    units: UnitTable, source: str, types: TypeNames, dialect: Dialect, name: str
) -> tuple[list[NamedSelect], TypeNames]:
    """Return the common tables of a unit table, and the types of its columns. The last common table has its rows.

    Args:
        units: the unit table.
        source: the rows below, as FROM writes them.
        types: the types of their columns.
        dialect: of the engine.
        name: the name of the last common table, and the start of the names of the others.
    """
    selects = [*_read(units, source, types, dialect, name), (f"{name}_sums", _sums(units, dialect, name))]
    selects.append((f"{name}_groups", _groups(units, dialect, name)))
    unit_type = dialect.unit_type(types[units.unit], _unit_kind(units))
    kinds: dict[str, Kind] = {key: expression.kind for key, expression in units.keys}
    kinds |= {aggregate.name: aggregate.kind for aggregate in units.aggregates}
    group_types = {UNIT: unit_type, **{column_name: dialect.kind_types[kind] for column_name, kind in kinds.items()}}
    selects += _made(units, group_types, dialect, name)
    made = {column_name: dialect.kind_types[expression.kind] for column_name, expression in units.columns}
    return selects, {units.unit_name: unit_type, **made}


def check_depth(selects: int, dialect: Dialect) -> None:
    """Raise InvalidError if subqueries have more common tables than half of the layers that an engine supports.

    The outermost SELECT may have as many layers as the engine supports, so the two together stay below the depth at
    which its analyser fails.
    """
    if dialect.deepest is not None and selects > dialect.deepest // 2:
        raise InvalidError(
            f"The subquery nests expressions too deep for {dialect.engine}.",
            argument="sql",
            hint="Compute less in the subquery, and more in the outermost SELECT.",
        )


def _unit_kind(units: UnitTable) -> Kind:
    return units.rows.columns[units.unit].kind


def _read(units: UnitTable, source: str, types: TypeNames, dialect: Dialect, name: str) -> list[NamedSelect]:
    """Return the layers over the rows below, and the rows that count."""
    values = [aggregate.value for aggregate in units.aggregates if aggregate.value is not None]
    keys = [key for _, key in units.keys]
    layers = Layers(dialect, types, [*keys, *values, *([] if units.where is None else [units.where])])
    columns = {UNIT: layers.unit(units.unit, _unit_kind(units))}
    tests = [not_null(columns[UNIT]), *([] if units.where is None else [layers.value(units.where)])]
    columns |= {key: _positive_zero(layers.value(expression), expression.kind) for key, expression in units.keys}
    for aggregate in units.aggregates:
        if aggregate.value is not None:
            columns[aggregate.name] = _value(aggregate, layers, dialect)
    selects = layers.selects(source, name=f"{name}_layer")
    return [*selects, (f"{name}_read", _select(columns, selects[-1][0], dialect, tests))]


def _value(aggregate: UnitAggregate, layers: Layers, dialect: Dialect) -> SQL:
    """Return the value of a row that an aggregate reads: on its grid, if it has one, as steps above the lowest."""
    if aggregate.value is None:
        raise InternalError("the aggregate has no value.")
    if aggregate.grid is None:
        return _positive_zero(layers.value(aggregate.value), aggregate.value.kind)
    grid = aggregate.grid
    steps = MeasureGrid(aggregate.value, grid.step, grid.low, grid.high)
    return measures.on_grid(layers.raw_value(aggregate.value), steps, dialect)


def _sums(units: UnitTable, dialect: Dialect, name: str) -> str:
    """Return the groups with exact counts, sums, least and largest values."""
    by = [UNIT, *(key for key, _ in units.keys)]
    columns = {key: column(key) for key in by}
    for aggregate in units.aggregates:
        columns |= _parts(aggregate, dialect)
    return f"{_select(columns, f'{name}_read', dialect)} GROUP BY {', '.join(dialect.text(column(key)) for key in by)}"


_PLAIN = {"min": "MIN", "max": "MAX", "bool_or": "BOOL_OR", "bool_and": "BOOL_AND"}


def _parts(aggregate: UnitAggregate, dialect: Dialect) -> dict[str, SQL]:
    """Return the sums from which an aggregate is computed, by their names."""
    name, value = aggregate.name, column(aggregate.name)
    match aggregate.function:
        case "count":
            return {name: call("COUNT", exp.Star() if aggregate.value is None else value)}
        case "count_distinct":
            return {name: exp.Count(this=exp.Distinct(expressions=[value]))}
        case "sum" | "avg":
            return {f"{name}_n": call("COUNT", value), f"{name}_s": dialect.total(value)}
        case function:
            return {name: call(_PLAIN[function], value)}


def _groups(units: UnitTable, dialect: Dialect, name: str) -> str:
    """Return the groups with each aggregate as a value of its kind."""
    columns = {key: column(key) for key in (UNIT, *(key for key, _ in units.keys))}
    columns |= {aggregate.name: _result(aggregate, dialect) for aggregate in units.aggregates}
    return _select(columns, f"{name}_sums", dialect)


def _result(aggregate: UnitAggregate, dialect: Dialect) -> SQL:
    """Return an aggregate from its parts; see `query.unit_tables` for the values."""
    if aggregate.function not in ("sum", "avg"):
        return column(aggregate.name)
    n, total = column(f"{aggregate.name}_n"), _total(aggregate)
    if aggregate.function == "avg":
        return _scaled(_average(total, n, dialect), aggregate.grid)
    low, high = (LOWEST, HIGHEST) if aggregate.grid is None else (-aggregate.grid.most, aggregate.grid.most)
    cut = call("LEAST", call("GREATEST", total, whole(low, _HUGEINT)), whole(high, _HUGEINT))
    found = when((not_null(column(f"{aggregate.name}_s")), cast(cut, _BIGINT)))
    return found if aggregate.grid is None else _scaled(cast(found, "DOUBLE"), aggregate.grid)


def _total(aggregate: UnitAggregate) -> SQL:
    """Return the exact sum S in 128 bits; values on a grid were summed above its low end."""
    total = cast(column(f"{aggregate.name}_s"), _HUGEINT)
    if aggregate.grid is None or not aggregate.grid.low:
        return total
    n = cast(column(f"{aggregate.name}_n"), _HUGEINT)
    return infix(exp.Add, total, infix(exp.Mul, n, whole(aggregate.grid.low, _HUGEINT)))


def _average(total: SQL, n: SQL, dialect: Dialect) -> SQL:
    """Return q + r/n in doubles; NULL if n is 0."""
    divisor = cast(call("NULLIF", n, whole(0)), _HUGEINT)
    quotient = cast(dialect.quotient(total, divisor, _HUGEINT), _BIGINT)
    rest = cast(dialect.remainder(total, divisor), _BIGINT)
    share = infix(exp.Div, cast(rest, "DOUBLE"), cast(call("NULLIF", n, whole(0)), "DOUBLE"))
    return infix(exp.Add, cast(quotient, "DOUBLE"), share)


def _scaled(steps: SQL, grid: UnitGrid | None) -> SQL:
    return steps if grid is None else product([steps, *powers(grid.step)])


def _made(units: UnitTable, types: TypeNames, dialect: Dialect, name: str) -> list[NamedSelect]:
    """Return the columns of the unit table, from the groups whose HAVING is true."""
    expressions = [expression for _, expression in units.columns]
    layers = Layers(dialect, types, [*expressions, *([] if units.having is None else [units.having])])
    columns = {units.unit_name: column(UNIT)}
    columns |= {made: layers.value(expression) for made, expression in units.columns}
    tests = [] if units.having is None else [layers.value(units.having)]
    selects = layers.selects(f"{name}_groups", name=f"{name}_made", keep=[UNIT])
    return [*selects, (name, _select(columns, selects[-1][0], dialect, tests))]


def _select(columns: Mapping[str, SQL], source: str, dialect: Dialect, tests: Sequence[SQL] = ()) -> str:
    items = ", ".join(dialect.text(exp.alias_(sql, alias, quoted=True)) for alias, sql in columns.items())
    where = f" WHERE {' AND '.join(map(dialect.text, tests))}" if tests else ""
    return f"SELECT {items} FROM {source}{where}"  # noqa: S608 - built here


def _positive_zero(value: SQL, kind: Kind) -> SQL:
    return when((infix(exp.EQ, value, real(0.0)), real(0.0)), otherwise=value) if kind == "real" else value
