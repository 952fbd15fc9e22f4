"""The rows of a joined plan, as parts that stand before its statement and end in one that is named like its source.

    left1_0 …   what came before, with the values to be equal, read and computed as everywhere (`rows`)
    right1_0 …  the joined table, with its own
    joined1     both, under the plan's names
    data        the last of them; the rest of the statement does not know that there was a join

Values are compared as the policy types them, NaN being NULL, text by code point. **Units** are compared as the very
values by which units are told apart: a double that stands for a decimal, or for a large integer, would make two units
one, and with that let a row of one unit into the rows of another. So their types must be alike, or such that both go
into a third one without loss; other pairs are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tacit.engines.sql.builder import SQL, chain, column, infix
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Rows
from tacit.engines.sql.statement import SOURCE
from tacit.query.expressions import Expression
from tacit.query.joins import Join, rename_columns
from tacit.query.plan import Plan

Types = Mapping[str, str]
Part = tuple[str, str]


def before(plan: Plan, views: Mapping[str, str], types: Mapping[str, Types], dialect: Dialect) -> tuple[str, Types]:
    """Return the SQL of the parts before a plan's statement, and the types of its source's columns.

    Args:
        plan: the question; its tables are known by their names.
        views: how each table is written after FROM.
        types: the types of each table's columns.
        dialect: the engine's.
    """
    table = plan.table.name if len(views) > 1 else next(iter(views))  # the only one may be called otherwise there
    below = {name for join in plan.joins for name, _ in join.columns}
    own = {name: kind for name, kind in types[table].items() if name in plan.table.columns and name not in below}
    if not plan.joins:
        there = [] if views[table] == SOURCE else [(SOURCE, f"SELECT * FROM {views[table]}")]  # noqa: S608 - ours
        return _written(there), types[table]
    parts: list[Part] = []
    source = views[table]
    for place, join in enumerate(plan.joins, 1):
        parts += _joined((plan, dialect), join, place, (source, own), (views[join.table], types[join.table]))
        source = parts[-1][0]
        own |= {name: types[join.table][raw] for name, raw in join.columns}
    return _written([*parts[:-1], (SOURCE, parts[-1][1])]), own


def _written(parts: Sequence[Part]) -> str:
    return ",\n".join(f"{name} AS ({select})" for name, select in parts)


def _joined(
    asked: tuple[Plan, Dialect], join: Join, place: int, old: tuple[str, Types], new: tuple[str, Types]
) -> list[Part]:
    """Return the parts of one join; `old` is what came before and `new` the table, each with its name and its types."""
    (plan, dialect), raw = asked, dict(join.columns)
    pairs = [(mine, rename_columns(others, raw)) for mine, others in join.pairs]
    where = None if join.where is None else rename_columns(join.where, raw)
    left = Rows(dialect, old[1], [mine for mine, _ in pairs])
    right = Rows(dialect, new[1], [others for _, others in pairs] + ([] if where is None else [where]))
    tests = [infix(exp.EQ, _of("l", left, mine), _of("r", right, others)) for mine, others in pairs]
    if join.unit is not None:
        mine, others = join.unit
        kind = plan.table.columns[mine].kind
        ends = dialect.alike(
            (_in("l", left.unit(mine, kind)), old[1][mine]),
            (_in("r", right.unit(raw[others], kind)), new[1][raw[others]]),
            kind,
        )
        tests.append(infix(exp.EQ, *ends))
    if where is not None:
        tests.append(_of("r", right, where))
    before_left = left.selects(old[0], name=f"left{place}_", keep=list(old[1]))
    before_right = right.selects(new[0], name=f"right{place}_", keep=[name for _, name in join.columns])
    named = [exp.alias_(column(name, "l"), name, quoted=True) for name in old[1]]
    named += [exp.alias_(column(own, "r"), name, quoted=True) for name, own in join.columns]
    listed, on = ", ".join(map(dialect.text, named)), dialect.text(chain(exp.And, tests) if tests else exp.true())
    tables = f"{before_left[-1][0]} AS l {join.kind.upper()} JOIN {before_right[-1][0]} AS r"
    select = f"SELECT {listed} FROM {tables} ON {on}"  # noqa: S608 - all of it is ours
    return [*before_left, *before_right, (f"joined{place}", select)]


def _of(table: str, rows: Rows, expression: Expression) -> SQL:
    return _in(table, rows.value(expression))


def _in(table: str, value: SQL) -> SQL:
    """Return a column of a layer as one of a table in the join; what is computed has a name by then."""
    return column(value.name, table) if isinstance(value, exp.Column) else value
