"""The relations of one FROM clause of an outer query: their columns, and which columns a join makes equal."""

from __future__ import annotations

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

    If it is `irregular`, the columns of a star are not those of its relations one after the other.
    """

    relations: dict[str, Relation]
    merged: dict[str, Derivation]
    outer: OuterScope | None
    aliases: dict[str, Derivation] = field(default_factory=dict)
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
        if not table and name in self.aliases:
            return self.aliases[name]
        around = None if self.outer is None else self.outer.column(node)
        unknown = [
            relation.others
            for alias, relation in self.relations.items()
            if relation.others is not None and (not table or alias == table)
        ]
        if unknown:
            return joint(unknown) if around is None else other(*unknown, around)
        return around

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
    """Return a relation whose alias renames its columns, such as t(a, b)."""
    names = [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return relation
    rest = relation.columns[len(names) :]
    columns = [(name, each) for name, (_, each) in zip(names, relation.columns, strict=False)]
    return Relation([*columns, *rest], relation.choice, relation.others, relation.order)


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
