"""Where rows come from: tables of the policy and their joins, through CTEs and subqueries that work row by row.

They are flattened by substitution: each column that is in sight is an expression over the tables' own columns, so a
bound is never inherited by name. Every such expression is kept twice: over the raw columns, for WHERE and GROUP BY, and
over columns clamped to their bounds, for what is aggregated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from sys import float_info

from sqlglot import exp

from tacit.query.expressions import Column
from tacit.query.expressions.casts import HIGHEST, LOWEST
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.refusals import quoted, refused, unknown
from tacit.query.sql.join_clauses import joined
from tacit.query.sql.names import match, title
from tacit.query.sql.row_expressions import is_aggregate
from tacit.query.sql.scope import Entry, Scope
from tacit.query.sql.terms import Term, call, condition, constant, leaf

_INSIDE = {
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
}
_MANY_COLUMNS = 10_000


Sources = Mapping[str, Scope]


def source(select: exp.Select, tables: Sources) -> Scope:
    """Return what a SELECT reads, its own WHERE included."""
    known, names = dict(tables), list[str]()
    common = select.args.get("with_")
    for cte in [] if common is None else common.expressions:
        known = _with(cte, known, names)
        names.append(cte.alias)
    origin = select.args.get("from_")
    if origin is None:
        raise refused("The question names no table", f"Write FROM {next(iter(tables), 'a table')}.")
    scope = _read(origin.this, known)
    for join in select.args.get("joins") or ():
        scope = joined(scope, _read(join.this, known), join)
    where = select.args.get("where")
    if where is None:
        return scope
    return replace(scope, where=(*scope.where, condition(scope.raw(where.this), "WHERE")))


def _with(cte: exp.Expr, known: Sources, earlier: Sequence[str]) -> dict[str, Scope]:
    """Return the sources in sight with one CTE more, which hides a table of its name."""
    name = cte.args["alias"].this
    if any(name.name.casefold() == one.casefold() for one in earlier):
        raise refused(f"Two CTEs have the name {quoted(name.name)}")
    scope = _renamed(_rows(cte.this, known), cte.args["alias"])
    hidden = match(name, known)
    return {**{key: value for key, value in known.items() if key != hidden}, name.name: scope}


def _read(node: exp.Expr, known: Sources) -> Scope:
    """Return what one item of FROM gives."""
    alias = node.args.get("alias")
    if isinstance(node, exp.Subquery):
        inner = _read(node.this, known) if isinstance(node.this, exp.Subquery) else _rows(node.this, known)
        return _renamed(replace(inner, name=None), alias)
    name = node.this if isinstance(node, exp.Table) else None
    if not isinstance(name, exp.Identifier):
        raise refused("Functions that give tables are not answered", "Only tables of the policy can be asked.")
    found = match(name, known)
    if found is None:
        raise _no_table(name.name, known)
    return _renamed(replace(known[found], name=found), alias)


def _no_table(name: str, known: Sources) -> Exception:
    if any(mark in name for mark in "./\\:*"):
        return refused("Files and addresses are not read", f"Ask one of: {', '.join(sorted(known))}.")
    return unknown("table", name, known)


def _renamed(scope: Scope, alias: exp.Expr | None) -> Scope:
    """Return rows under another name, their columns too if they are named: AS t(a, b)."""
    if alias is None:
        return scope
    if not isinstance(alias.this, exp.Identifier):
        raise refused("A table's alias must be a name")
    new = [column.name for column in alias.args.get("columns") or ()]
    old = list(scope.columns)
    if len(new) > len(old):
        raise refused(f"{quoted(alias.name)} names {len(new)} columns of {len(old)}")
    names = new + old[len(new) :]
    _check_distinct(names, old)
    return replace(
        scope,
        name=alias.name,
        columns=dict(zip(names, scope.columns.values(), strict=True)),
        hidden=frozenset() if new else scope.hidden,
        unusable=frozenset() if new else scope.unusable,
    )


def _check_distinct(names: Sequence[str], old: Collection[str]) -> None:
    """Raise if two columns have one name, but for capitals; the table's own columns may differ in capitals alone."""
    seen: dict[str, str] = {}
    for name in names:
        before = seen.get(name.casefold())
        if before is not None and (before == name or before not in old or name not in old):
            how = "Give one of them another name; SELECT * REPLACE (… AS x) puts a new x in the old one's place."
            raise refused(f"A subquery names the column {quoted(name)} twice", how)
        seen[name.casefold()] = name


def _rows(node: exp.Expr, known: Sources) -> Scope:
    """Return the scope of a SELECT that works row by row."""
    if not isinstance(node, exp.Select):
        raise refused("Only a SELECT of rows may stand in a subquery or a CTE")
    for argument, clause in _INSIDE.items():
        if node.args.get(argument) is not None:
            raise refused(f"{clause} inside a subquery or a CTE is not answered", "Put it into the outermost SELECT.")
    scope = source(node, known)
    columns: list[tuple[str, Entry]] = []
    for item in node.expressions:
        columns.extend(_star(item, scope) if _is_star(item) else [_column(item, scope)])
    if len(columns) > _MANY_COLUMNS:
        raise refused(f"A subquery has more than {_MANY_COLUMNS:,} columns")
    _check_distinct([name for name, _ in columns], scope.columns)
    none: frozenset[str] = frozenset()
    return replace(scope, name=None, columns=dict(columns), hidden=none, unusable=none, sides=(), twice=none)


def _is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def _star(item: exp.Expr, scope: Scope) -> list[tuple[str, Entry]]:
    """Return all columns in sight, without those that EXCLUDE names and with what REPLACE puts in their place."""
    if isinstance(item, exp.Column):
        scope, item = scope.owner(item), item.this
    if scope.twice:
        how = "Name the columns, or join with USING; a.* stands for those of one side."
        raise refused(f"* over a join has the column {quoted(min(scope.twice))} twice", how)
    columns = dict(scope.columns)
    for column in item.args.get("except_") or ():
        name = column if isinstance(column, exp.Identifier) else column.this
        del columns[_existing(name, columns, scope)]
    for alias in item.args.get("replace") or ():
        columns[_existing(alias.args["alias"], columns, scope)] = _column(alias, scope)[1]
    return list(columns.items())


def _existing(name: exp.Identifier, columns: Mapping[str, Entry], scope: Scope) -> str:
    found = match(name, columns)
    if found is None:
        raise scope.missing(name)
    return found


def _column(item: exp.Expr, scope: Scope) -> tuple[str, Entry]:
    """Return one column of a row-wise SELECT."""
    value = item.this if isinstance(item, exp.Alias) else item
    if any(is_aggregate(part) for part in value.walk()):
        how = "Aggregate in the outermost SELECT; what comes out of it can be computed with there."
        raise refused("Aggregates inside a subquery or a CTE are not answered", how)
    return item_name(item, scope), Entry(scope.raw(value), scope.bounded(value))


def item_name(item: exp.Expr, scope: Scope) -> str:
    """Return what an item of a SELECT list is called: its alias, its column's own name, or its text."""
    if isinstance(item, exp.Alias):
        return str(item.alias)
    own = match(item.this, scope.columns) if isinstance(item, exp.Column) else None
    return title(item) if own is None else own


def base(table: TablePolicy) -> Scope:
    """Return the scope of a table: its columns that are not hidden."""
    return Scope(
        table=table,
        name=table.name,
        columns={name: _entry(name, column) for name, column in table.columns.items() if not column.hidden},
        hidden=frozenset(name for name, column in table.columns.items() if column.hidden),
        unusable=table.unusable,
    )


def _entry(name: str, policy: ColumnPolicy) -> Entry:
    raw = leaf(Column(name, policy.kind))
    return Entry(raw, raw if policy.bounds is None else _clamped(raw, *policy.bounds))


def _clamped(column: Term, low: Fraction, high: Fraction) -> Term:
    """Return a column clamped to its bounds; an integer to the whole numbers between them."""
    first, last = max(ceil(low), LOWEST), min(floor(high), HIGHEST)
    if column.kind == "integer" and first <= last:
        return call("clamp", column, constant(first, "integer"), constant(last, "integer"))
    ends = [float(min(max(end, -Fraction(float_info.max)), Fraction(float_info.max))) for end in (low, high)]
    return call("clamp", column, constant(ends[0], "real"), constant(ends[1], "real"))
