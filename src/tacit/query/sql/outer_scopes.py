"""The relations of one FROM clause of an outer query: their columns, and which columns a join makes equal.

**A name of the query around.** DuckDB looks for a name in the FROM of a subquery, among the aliases of its select list,
and for a row or a field of a row there, before it looks in the query around. So the analysis takes a name from the
query around only if DuckDB can find nothing of that name inside. A column whose name DuckDB makes up has no name here,
and where such a column exists, no unqualified name is taken from around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.query.sql.derivations import CopiedColumn, Derivation, Input, joint, other

Columns = list[tuple[str, Derivation]]
QUERIES = (exp.Subquery, exp.Select, exp.SetOperation, exp.Pivot)
"""The node classes of queries."""


@dataclass(slots=True)
class Relation:
    """A table or a query in FROM.

    `others` is the derivation of columns that are not named, `choice` are the noisy values that chose its rows, and
    `order` those that put its rows in order.
    """

    columns: Columns
    choice: frozenset[Input] = frozenset()
    others: Derivation | None = None
    order: frozenset[Input] = frozenset()


@dataclass(slots=True)
class OuterScope:
    """The relations of one FROM clause by their names, and the scope around a subquery.

    `items` are the aliases of the select list, and `aliases` those whose items are derived already. `sorting` are the
    noisy values by which windows sort the rows. If the scope is `irregular`, the columns of a star are not those of its
    relations one after the other.
    """

    relations: dict[str, Relation]
    merged: dict[str, Derivation]
    outer: OuterScope | None
    items: frozenset[str] = frozenset()
    aliases: dict[str, Derivation] = field(default_factory=dict)
    sorting: frozenset[Input] = frozenset()
    irregular: bool = False

    def column(self, node: exp.Column) -> Derivation | None:
        """Return the derivation of a column; None if it is not known."""
        name, table = node.name.casefold(), node.table.casefold()
        if not table and name in self.merged:
            return self.merged[name]
        found = [
            derivation
            for alias, relation in self.relations.items()
            if not table or alias == table
            for column, derivation in relation.columns
            if column.casefold() == name
        ]
        if len(found) == 1:
            return found[0]
        if found:
            return other(*found)
        if not table and name in self.aliases and name not in self.relations:  # t is a row of t before it is an alias
            return self.aliases[name]
        around = None if self.outer is None or self._hides(node) else self.outer.column(node)
        unknown = [
            relation.others
            for alias, relation in self.relations.items()
            if relation.others is not None and (not table or alias == table)
        ]
        if unknown:
            return joint(unknown) if around is None else other(*unknown, around)
        return around

    def _hides(self, node: exp.Column) -> bool:
        """Return whether DuckDB may find here a name that is not the name of a known column."""
        name, table = node.name.casefold(), node.table.casefold()
        columns = [column.casefold() for relation in self.relations.values() for column, _ in relation.columns]
        if table:
            return table in self.relations or table in columns
        return name in self.relations or name in self.items or "" in columns

    @property
    def order(self) -> frozenset[Input]:
        """The noisy values that put the rows of some relation in order."""
        return frozenset[Input]().union(*(relation.order for relation in self.relations.values()))

    @property
    def everything(self) -> list[Derivation]:
        """All columns of all relations."""
        return [each for relation in self.relations.values() for _, each in relation.columns] + [
            relation.others for relation in self.relations.values() if relation.others is not None
        ]


def unknown_relation(parts: Iterable[Derivation]) -> Relation:
    """Return a relation that the analysis cannot follow."""
    value = other(*parts)
    return Relation([], value.inputs, value, value.inputs)


def renamed(relation: Relation, alias: exp.Expr | None) -> Relation:
    """Return a relation in FROM or WITH, whose alias may rename its columns, such as t(a, b).

    DuckDB renames columns of one name to n, n_1 and so on. Columns that have or could have such a name lose it.
    """
    names = [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    new = [*names, *(name for name, _ in relation.columns[len(names) :])]
    counts = Counter(name.casefold() for name in new)
    twice = [name for name, count in counts.items() if name and count > 1]
    made = tuple(f"{name}_" for name in twice)
    known = ["" if name.casefold() in twice or name.casefold().startswith(made) else name for name in new]
    columns = [(name, each) for name, (_, each) in zip(known, relation.columns, strict=False)]
    return Relation(columns, relation.choice, relation.others, relation.order)


def items_first(relation: Relation, scope: OuterScope | None) -> OuterScope:
    """Return a scope in which the items of a select list come before the columns of FROM."""
    named = [(name, each) for name, each in relation.columns if name]
    return OuterScope({"": replace(relation, columns=named)}, {}, scope)


def make_equal(condition: exp.Expr, scope: OuterScope, side: str) -> None:
    """Let a column that a join makes equal to another stand for both, where both have rows."""
    if side == "FULL":
        return
    for part in condition.flatten() if isinstance(condition, exp.And) else [condition.unnest()]:
        if not (
            isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column)
        ):
            continue
        for one, another in ((part.this, part.expression), (part.expression, part.this)):
            found = scope.column(another)
            if found is None or not found.exact:
                continue
            _add_copies(one, found.copies, scope, side)


def _add_copies(column: exp.Column, copies: frozenset[CopiedColumn], scope: OuterScope, side: str) -> None:
    """Add copies to a column, unless its side of the join may have no row where the other has one."""
    names = list(scope.relations)
    for alias, relation in scope.relations.items():
        last = alias == names[-1]
        if (side == "LEFT" and last) or (side == "RIGHT" and not last):
            continue
        if column.table and alias != column.table.casefold():
            continue
        relation.columns = [
            (
                name,
                replace(each, copies=each.copies | copies)
                if name.casefold() == column.name.casefold() and each.exact
                else each,
            )
            for name, each in relation.columns
        ]
