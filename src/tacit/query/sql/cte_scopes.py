"""The tables and CTEs that the names in FROM refer to.

A CTE is visible in the query that defines it, after its definition, and in everything inside that query, unless a CTE
further inside has the same name. The names in the body of a CTE refer to what is visible where the CTE is defined, not
to what is visible where it is used:

    WITH a AS (…), b AS (SELECT * FROM a) SELECT … FROM (WITH a AS (…) SELECT … FROM b)     b reads the first a
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.refusals import refused

_RENAME = "Give one of them another name."


@dataclass(frozen=True, slots=True)
class RowsCTE:
    """A CTE of private rows, and the CTEs of rows that are visible where it is defined."""

    node: exp.CTE
    visible: Mapping[str, RowsCTE] = field(repr=False)


def references(
    node: exp.Expr, visible: Mapping[str, exp.CTE] | None = None
) -> Iterator[tuple[exp.Table, exp.CTE | None]]:
    """Yield each table name inside a node with the CTE inside the node that it refers to; None if it refers to none.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT * FROM (WITH t AS (SELECT * FROM t) SELECT * FROM t), t", dialect="duckdb")
    >>> [(table.name, cte is not None) for table, cte in references(tree)]
    [('t', False), ('t', True), ('t', False)]
    """
    visible = visible or {}
    clause = node.args.get("with_")
    if isinstance(clause, exp.With):
        for cte in clause.expressions:
            after = {**visible, cte.alias.casefold(): cte}
            yield from references(cte.this, after if clause.args.get("recursive") else visible)
            visible = after
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        yield node, visible.get(node.name.casefold())
    for part in node.iter_expressions():
        if part is not clause:
            yield from references(part, visible)


def with_definitions(select: exp.Expr, visible: Mapping[str, RowsCTE]) -> exp.Expr:
    """Return a SELECT with the CTEs of rows that it reads from the queries around it, before its own CTEs.

    **Every name keeps its meaning.** The list has a CTE after those that its body reads. A name in the list or in the
    SELECT changes its meaning only if the list has another CTE of this name before it; then the query is refused.
    """
    select = select.copy()
    found: dict[str, RowsCTE] = {}
    _collect(select, visible, found)
    if not found:
        return select
    own = select.args.get("with_")
    listed = [] if own is None else list(own.expressions)
    for cte in listed:
        if cte.alias.casefold() in found:
            raise _two_meanings(cte.alias)
    definitions = [each.node.copy() for each in found.values()]
    select.set("with_", exp.With(expressions=[*definitions, *listed]))
    return select


def _collect(node: exp.Expr, visible: Mapping[str, RowsCTE], found: dict[str, RowsCTE]) -> None:
    """Add the CTEs that a node reads, each after those that it reads itself."""
    names = [table.name for table, own in references(node) if own is None]
    for name in names:
        cte = visible.get(name.casefold())
        if cte is not None and name.casefold() not in found:
            _collect(cte.node.this, cte.visible, found)
            found.setdefault(name.casefold(), cte)
    for name in names:
        cte, listed = visible.get(name.casefold()), found.get(name.casefold())
        if listed is not None and (cte is None or cte.node is not listed.node):
            raise _two_meanings(name)


def _two_meanings(name: str) -> Exception:
    return refused(f"The name {show_name(name)} refers to different tables or CTEs in one query", _RENAME)
