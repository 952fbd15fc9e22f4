"""The rows of a joined plan, as parts that stand before its statement and end in one that is named like its source.

    left1_0 …   what came before, with the values to be equal, read and computed as everywhere (`duckdb_rows`)
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

from tacit.engines.duckdb_casts import kind_of
from tacit.engines.duckdb_plan import SOURCE
from tacit.engines.duckdb_rows import Rows
from tacit.engines.duckdb_sql import SQL, TYPES, cast, chain, column, infix, try_cast
from tacit.errors import InvalidError
from tacit.query.expressions import Expression, Kind
from tacit.query.joins import Join, renamed
from tacit.query.plan import Plan

Types = Mapping[str, str]
Part = tuple[str, exp.Select]


def before(plan: Plan, views: Mapping[str, str], types: Mapping[str, Types]) -> tuple[str, Types]:
    """Return the SQL of the parts before a plan's statement, and the types of its source's columns.

    Args:
        plan: the question; its tables are known by their names.
        views: the view of each table.
        types: the DuckDB types of each table's columns.
    """
    table = plan.table.name
    below = {name for join in plan.joins for name, _ in join.columns}
    own = {name: kind for name, kind in types[table].items() if name in plan.table.columns and name not in below}
    if not plan.joins:
        return _written([(SOURCE, exp.select("*").from_(views[table]))]), types[table]
    parts: list[Part] = []
    source = views[table]
    for place, join in enumerate(plan.joins, 1):
        parts += _joined(plan, join, place, (source, own), (views[join.table], types[join.table]))
        source = parts[-1][0]
        own |= {name: types[join.table][raw] for name, raw in join.columns}
    return _written([*parts[:-1], (SOURCE, parts[-1][1])]), own


def _written(parts: Sequence[Part]) -> str:
    return ",\n".join(f"{name} AS ({select.sql('duckdb', comments=False)})" for name, select in parts)


def _joined(plan: Plan, join: Join, place: int, old: tuple[str, Types], new: tuple[str, Types]) -> list[Part]:
    """Return the parts of one join; `old` is what came before and `new` the table, each with its name and its types."""
    raw = dict(join.columns)
    pairs = [(mine, renamed(others, raw)) for mine, others in join.pairs]
    where = None if join.where is None else renamed(join.where, raw)
    left = Rows(old[1], [mine for mine, _ in pairs])
    right = Rows(new[1], [others for _, others in pairs] + ([] if where is None else [where]))
    tests = [infix(exp.EQ, _of("l", left, mine), _of("r", right, others)) for mine, others in pairs]
    if join.unit is not None:
        mine, others = join.unit
        kind = plan.table.columns[mine].kind
        ends = _alike(
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
    select = exp.select(*named).from_(exp.alias_(exp.to_table(before_left[-1][0]), "l", table=True))
    select = select.join(
        exp.alias_(exp.to_table(before_right[-1][0]), "r", table=True),
        on=chain(exp.And, tests) if tests else exp.true(),
        join_type=join.kind,
    )
    return [*before_left, *before_right, (f"joined{place}", select)]


def _of(table: str, rows: Rows, expression: Expression) -> SQL:
    return _in(table, rows.value(expression))


def _in(table: str, value: SQL) -> SQL:
    """Return a column of a layer as one of a table in the join; what is computed has a name by then."""
    return column(value.name, table) if isinstance(value, exp.Column) else value


_INTEGERS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
)
_FLOATS = frozenset(("FLOAT", "DOUBLE"))


def _alike(one: tuple[SQL, str], two: tuple[SQL, str], kind: Kind) -> tuple[SQL, SQL]:
    """Return two units' columns so that they are equal just where the units are, or raise InvalidError.

    Types that are the same need nothing. All integers go into 128 bits, or are NULL and match nothing; FLOAT goes into
    DOUBLE, and what is text, or has one text for each value (ENUM, UUID), into text: all one to one.
    """
    types = [_unit_type(type_name, kind) for _, type_name in (one, two)]
    if types[0] == types[1]:
        return one[0], two[0]
    if set(types) <= _INTEGERS:
        return try_cast(one[0], "HUGEINT"), try_cast(two[0], "HUGEINT")
    if set(types) <= _FLOATS:
        return cast(one[0], "DOUBLE"), cast(two[0], "DOUBLE")
    if kind == "text":
        return cast(one[0], "TEXT"), cast(two[0], "TEXT")
    raise InvalidError(
        "sql",
        f"units of the types {types[0]} and {types[1]}, which cannot be compared exactly",
        "a question that joins private tables whose unit columns have one type; have the steward store them so",
    )


def _unit_type(type_name: str, kind: Kind) -> str:
    """Return the type in which a unit's column is read: its own if the policy leaves its kind."""
    own = kind_of(type_name)
    if own == kind or (own == "integer" and kind == "real"):
        return type_name
    return "VARCHAR" if kind == "text" else TYPES[kind]
