"""FROM, WITH and WHERE: the tables of the policy and their joins, through CTEs and subqueries.

A subquery that groups by the unit becomes a table (`unit_subquery`). All others work row by row. They are flattened by
substitution: each visible column is an expression over the tables' own columns, so
a bound is never inherited by name. Every such expression is stored twice: over the raw columns, for WHERE and GROUP BY,
and over columns clamped to their bounds, for values that are aggregated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.refusals import refused, refused_table_function, unknown_table
from tacit.query.sql.join_clauses import join_scopes
from tacit.query.sql.names import resolve
from tacit.query.sql.public_subqueries import public_condition
from tacit.query.sql.row_expressions import is_aggregate
from tacit.query.sql.scope import Scope, VisibleColumn
from tacit.query.sql.select_items import check_distinct, item_name
from tacit.query.sql.typed_expressions import condition
from tacit.query.sql.unit_subquery import read_unit_table

_OUTER_CLAUSES = {
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
}
_MOST_COLUMNS = 10_000


Scopes = Mapping[str, Scope]
"""The tables and CTEs that FROM can name."""


def read_from(select: exp.Select, tables: Scopes) -> Scope:
    """Return the scope of a SELECT, including its WHERE."""
    scope = _read_source(select, tables)
    where = select.args.get("where")
    if where is None:
        return scope
    return replace(scope, where=(*scope.where, condition(scope.raw(where.this), "WHERE")))


def _read_source(select: exp.Select, tables: Scopes) -> Scope:
    """Return the scope of a SELECT from WITH and FROM, without its WHERE."""
    known, names = dict(tables), list[str]()
    common = select.args.get("with_")
    for cte in [] if common is None else common.expressions:
        known = _add_cte(cte, known, names)
        names.append(cte.alias)
    origin = select.args.get("from_")
    if origin is None:
        raise refused("The query names no table", f"Write FROM {next(iter(tables), 'a table')}.")
    scope = _read_item(origin.this, known)
    for join in select.args.get("joins") or ():
        scope = join_scopes(scope, _read_item(join.this, known), join)
    subqueries = partial(public_condition, read_source=partial(_read_source, tables=known))
    return replace(scope, subqueries=subqueries)


def _add_cte(cte: exp.Expr, known: Scopes, earlier: Sequence[str]) -> dict[str, Scope]:
    """Return the known scopes and the CTE, which hides a table of the same name."""
    identifier = cte.args["alias"].this
    if any(identifier.name.casefold() == name.casefold() for name in earlier):
        raise refused(f"Two CTEs have the name {show_name(identifier.name)}")
    scope = _with_alias(_read_rows(cte.this, known), cte.args["alias"])
    hidden = resolve(identifier, known)
    return {**{name: other for name, other in known.items() if name != hidden}, identifier.name: scope}


def _read_item(node: exp.Expr, known: Scopes) -> Scope:
    """Return the scope of one item of FROM."""
    alias = node.args.get("alias")
    if isinstance(node, exp.Subquery):
        inner = _read_item(node.this, known) if isinstance(node.this, exp.Subquery) else _read_rows(node.this, known)
        return _with_alias(replace(inner, name=None), alias)
    identifier = node.this if isinstance(node, exp.Table) else None
    if not isinstance(identifier, exp.Identifier):
        raise refused_table_function()
    name = resolve(identifier, known)
    if name is None:
        raise _no_table(identifier.name, known)
    return _with_alias(replace(known[name], name=name), alias)


def _no_table(name: str, known: Scopes) -> Exception:
    if any(mark in name for mark in "./\\:*"):
        return refused("Files and URLs in FROM are not supported", f"Query one of: {', '.join(sorted(known))}.")
    return unknown_table(name, known)


def _with_alias(scope: Scope, alias: exp.Expr | None) -> Scope:
    """Return a scope under its alias; an alias such as t(a, b) renames the columns too."""
    if alias is None:
        return scope
    if not isinstance(alias.this, exp.Identifier):
        raise refused("A table's alias must be a name")
    new = [column.name for column in alias.args.get("columns") or ()]
    old = list(scope.columns)
    if len(new) > len(old):
        raise refused(f"{show_name(alias.name)} names {len(new)} columns of {len(old)}")
    names = new + old[len(new) :]
    check_distinct(names, old)
    return replace(
        scope,
        name=alias.name,
        columns=dict(zip(names, scope.columns.values(), strict=True)),
        hidden=frozenset() if new else scope.hidden,
        unusable=frozenset() if new else scope.unusable,
    )


def _read_rows(node: exp.Expr, known: Scopes) -> Scope:
    """Return the scope of a SELECT that works row by row, or that groups by the unit."""
    if not isinstance(node, exp.Select):
        raise refused("A subquery or a CTE must be a SELECT of rows")
    for argument, clause in _OUTER_CLAUSES.items():
        if node.args.get(argument) is not None:
            raise refused(f"{clause} inside a subquery or a CTE is not supported", "Put it into the outermost SELECT.")
    scope = read_from(node, known)
    if _is_grouped(node):
        return read_unit_table(node, scope)
    columns: list[tuple[str, VisibleColumn]] = []
    for item in node.expressions:
        columns.extend(_expand_star(item, scope) if _is_star(item) else [_read_column(item, scope)])
    if len(columns) > _MOST_COLUMNS:
        raise refused(f"A subquery has more than {_MOST_COLUMNS:,} columns")
    check_distinct([name for name, _ in columns], scope.columns)
    none: frozenset[str] = frozenset()
    return replace(scope, name=None, columns=dict(columns), hidden=none, unusable=none, sides=(), twice=none)


def _is_grouped(select: exp.Select) -> bool:
    """Return whether a SELECT makes groups of rows."""
    clauses = any(select.args.get(clause) is not None for clause in ("group", "having"))
    return clauses or any(is_aggregate(part) for item in select.expressions for part in item.walk())


def _is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def _expand_star(item: exp.Expr, scope: Scope) -> list[tuple[str, VisibleColumn]]:
    """Return all visible columns, without those of EXCLUDE and with the replacements of REPLACE."""
    if isinstance(item, exp.Column):
        scope, item = scope.owner(item), item.this
    if scope.twice:
        hint = "Name the columns, or join with USING; a.* stands for the columns of one side."
        raise refused(f"* over a join has the column {show_name(min(scope.twice))} twice", hint)
    columns = dict(scope.columns)
    for column in item.args.get("except_") or ():
        identifier = column if isinstance(column, exp.Identifier) else column.this
        del columns[_existing_name(identifier, columns, scope)]
    for alias in item.args.get("replace") or ():
        columns[_existing_name(alias.args["alias"], columns, scope)] = _read_column(alias, scope)[1]
    return list(columns.items())


def _existing_name(identifier: exp.Identifier, columns: Mapping[str, VisibleColumn], scope: Scope) -> str:
    name = resolve(identifier, columns)
    if name is None:
        raise scope.missing(identifier)
    return name


def _read_column(item: exp.Expr, scope: Scope) -> tuple[str, VisibleColumn]:
    """Return one column of a row-wise SELECT and its name."""
    value = item.this if isinstance(item, exp.Alias) else item
    return item_name(item, scope), VisibleColumn(scope.raw(value), scope.bounded(value))
