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
from typing import TypeAlias

from sqlglot import exp

from tacit.engines.sql.builder import SQL, chain, column, infix
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Layers
from tacit.engines.sql.statement import SOURCE
from tacit.query.expressions import Expression
from tacit.query.joins import Join, rename_columns
from tacit.query.plan import Plan

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
    table = plan.table.name if len(views) > 1 else next(iter(views))  # the engine may name its only table otherwise
    joined_names = {name for join in plan.joins for name, _ in join.columns}
    known = {
        name: type_name
        for name, type_name in types[table].items()
        if name in plan.table.columns and name not in joined_names
    }
    if not plan.joins:
        renamed_view = [] if views[table] == SOURCE else [(SOURCE, f"SELECT * FROM {views[table]}")]  # noqa: S608 - built here
        return _with_clause(renamed_view), types[table]
    selects: list[NamedSelect] = []
    source = views[table]
    for number, join in enumerate(plan.joins, 1):
        selects += _joined((plan, dialect), join, number, (source, known), (views[join.table], types[join.table]))
        source = selects[-1][0]
        known |= {name: types[join.table][raw] for name, raw in join.columns}
    return _with_clause([*selects[:-1], (SOURCE, selects[-1][1])]), known


def _with_clause(selects: Sequence[NamedSelect]) -> str:
    return ",\n".join(f"{name} AS ({select})" for name, select in selects)


def _joined(
    context: tuple[Plan, Dialect], join: Join, number: int, old: tuple[str, TypeNames], new: tuple[str, TypeNames]
) -> list[NamedSelect]:
    """Return the SELECTs of one join. `old` is the source so far, `new` the table, each with its name and its types."""
    (plan, dialect), raw = context, dict(join.columns)
    pairs = [(mine, rename_columns(others, raw)) for mine, others in join.pairs]
    where = None if join.where is None else rename_columns(join.where, raw)
    left = Layers(dialect, old[1], [mine for mine, _ in pairs])
    right = Layers(dialect, new[1], [others for _, others in pairs] + ([] if where is None else [where]))
    tests = [infix(exp.EQ, _value("l", left, mine), _value("r", right, others)) for mine, others in pairs]
    if join.unit is not None:
        mine, others = join.unit
        kind = plan.table.columns[mine].kind
        units = dialect.comparable_units(
            (_qualified("l", left.unit(mine, kind)), old[1][mine]),
            (_qualified("r", right.unit(raw[others], kind)), new[1][raw[others]]),
            kind,
        )
        tests.append(infix(exp.EQ, *units))
    if where is not None:
        tests.append(_value("r", right, where))
    left_selects = left.selects(old[0], name=f"left{number}_", keep=list(old[1]))
    right_selects = right.selects(new[0], name=f"right{number}_", keep=[name for _, name in join.columns])
    columns = [exp.alias_(column(name, "l"), name, quoted=True) for name in old[1]]
    columns += [exp.alias_(column(raw_name, "r"), name, quoted=True) for name, raw_name in join.columns]
    items, on = ", ".join(map(dialect.text, columns)), dialect.text(chain(exp.And, tests) if tests else exp.true())
    tables = f"{left_selects[-1][0]} AS l {join.kind.upper()} JOIN {right_selects[-1][0]} AS r"
    select = f"SELECT {items} FROM {tables} ON {on}"  # noqa: S608 - built here
    return [*left_selects, *right_selects, (f"joined{number}", select)]


def _value(table: str, layers: Layers, expression: Expression) -> SQL:
    return _qualified(table, layers.value(expression))


def _qualified(table: str, value: SQL) -> SQL:
    """Return a column of a layer with the table's name; a constant stays as it is."""
    return column(value.name, table) if isinstance(value, exp.Column) else value
