"""The rows of a joined plan: common tables before its statement, the last of them named like the statement's source.

    left1_0 …   the rows so far, with the values to compare, read and computed as everywhere (`layers`)
    right1_0 …  the joined table, with its values to compare
    joined1     both, under the plan's names
    data        the last join; the rest of the statement does not depend on whether there was a join

Values are compared as the kinds that the policy declares, NaN being NULL, text by code point. **Units** are compared by
the exact values that identify them. A double in place of a decimal or a large integer could make two units equal, and
let a row of one unit into the rows of another. So their types must be the same, or both must convert to a third type
without loss; other pairs are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from tacit.engines.sql.builder import SQL, chain, column, infix
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Layers
from tacit.engines.sql.statement import SOURCE
from tacit.engines.sql.unit_table_rows import check_depth, unit_table_selects
from tacit.query.expressions import Expression
from tacit.query.joins import Join, rename_columns
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.unit_tables import UnitTable

TypeNames: TypeAlias = Mapping[str, str]
"""The types of columns, by the columns' names."""

NamedSelect: TypeAlias = tuple[str, str]


def joined_source(
    plan: Plan, views: Mapping[str, str], types: Mapping[str, TypeNames], dialect: Dialect
) -> tuple[str, TypeNames]:
    """Return the common tables before a plan's statement as SQL, and the types of its source's columns.

    Args:
        plan: the query; it refers to tables by their names.
        views: how each table is written after FROM.
        types: the types of each table's columns.
        dialect: of the engine.
    """
    tables = _Tables(views, types, dialect)
    selects, source, known = _rows(tables, plan.table, plan.joins, plan.units, "")
    if selects:
        return _with_clause([*selects[:-1], (SOURCE, selects[-1][1])]), known
    renamed_view = [] if source == SOURCE else [(SOURCE, f"SELECT * FROM {source}")]  # noqa: S608 - built here
    return _with_clause(renamed_view), known


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of an engine: how each is written after FROM, and the types of its columns."""

    views: Mapping[str, str]
    types: Mapping[str, TypeNames]
    dialect: Dialect


def _rows(
    tables: _Tables, policy: TablePolicy, joins: Sequence[Join], units: UnitTable | None, prefix: str
) -> tuple[list[NamedSelect], str, TypeNames]:
    """Return the common tables of some rows, the source that has the rows, and the types of its columns.

    Args:
        tables: the engine's tables.
        policy: of the rows, with the columns of all joined tables.
        joins: the tables that are joined.
        units: the subquery whose rows are joined with them; None for a table.
        prefix: the start of the names of common tables, which differs for each level of subqueries.
    """
    selects: list[NamedSelect] = []
    if units is None:
        table = policy.name if len(tables.views) > 1 else next(iter(tables.views))  # engines may name it otherwise
        source, every = tables.views[table], tables.types[table]
    else:
        below, rows, types = _rows(tables, units.rows, units.joins, units.below, f"{prefix}units_")
        made, every = unit_table_selects(units, rows, types, tables.dialect, f"{prefix}units")
        selects, source = [*below, *made], made[-1][0]
        check_depth(len(selects), tables.dialect)
    if not joins:
        return selects, source, every
    joined_names = {name for join in joins for name, _ in join.columns}
    known = {name: kind for name, kind in every.items() if name in policy.columns and name not in joined_names}
    for number, join in enumerate(joins, 1):
        selects += _joined(tables, policy, join, f"{prefix}{{}}{number}", (source, known))
        source = selects[-1][0]
        known |= {name: tables.types[join.table][raw] for name, raw in join.columns}
    return selects, source, known


def _with_clause(selects: Sequence[NamedSelect]) -> str:
    return ",\n".join(f"{name} AS ({select})" for name, select in selects)


def _joined(
    tables: _Tables, policy: TablePolicy, join: Join, name: str, old: tuple[str, TypeNames]
) -> list[NamedSelect]:
    """Return the SELECTs of one join, whose names are formatted. `old` is the source so far, with its types."""
    dialect, raw = tables.dialect, dict(join.columns)
    new = tables.views[join.table], tables.types[join.table]
    pairs = [(mine, rename_columns(others, raw)) for mine, others in join.pairs]
    where = None if join.where is None else rename_columns(join.where, raw)
    left = Layers(dialect, old[1], [mine for mine, _ in pairs])
    right = Layers(dialect, new[1], [others for _, others in pairs] + ([] if where is None else [where]))
    tests = [infix(exp.EQ, _value("l", left, mine), _value("r", right, others)) for mine, others in pairs]
    if join.unit is not None:
        mine, others = join.unit
        kind = policy.columns[mine].kind
        units = dialect.comparable_units(
            (_qualified("l", left.unit(mine, kind)), old[1][mine]),
            (_qualified("r", right.unit(raw[others], kind)), new[1][raw[others]]),
            kind,
        )
        tests.append(infix(exp.EQ, *units))
    if where is not None:
        tests.append(_value("r", right, where))
    left_selects = left.selects(old[0], name=f"{name.format('left')}_", keep=list(old[1]))
    right_selects = right.selects(new[0], name=f"{name.format('right')}_", keep=[name for _, name in join.columns])
    columns = [exp.alias_(column(name, "l"), name, quoted=True) for name in old[1]]
    columns += [exp.alias_(column(raw_name, "r"), name, quoted=True) for name, raw_name in join.columns]
    items, on = ", ".join(map(dialect.text, columns)), dialect.text(chain(exp.And, tests) if tests else exp.true())
    both = f"{left_selects[-1][0]} AS l {join.kind.upper()} JOIN {right_selects[-1][0]} AS r"
    select = f"SELECT {items} FROM {both} ON {on}"  # noqa: S608 - built here
    return [*left_selects, *right_selects, (name.format("joined"), select)]


def _value(table: str, layers: Layers, expression: Expression) -> SQL:
    return _qualified(table, layers.value(expression))


def _qualified(table: str, value: SQL) -> SQL:
    """Return a column of a layer with the table's name; a constant stays as it is."""
    return column(value.name, table) if isinstance(value, exp.Column) else value
