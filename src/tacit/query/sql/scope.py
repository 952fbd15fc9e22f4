"""What a SELECT sees: columns by their names, each an expression over the tables' own columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.query.joins import Join
from tacit.query.policy import TablePolicy
from tacit.query.refusals import quoted, refused, unknown
from tacit.query.sql.clipping import unclamped
from tacit.query.sql.names import match
from tacit.query.sql.row_expressions import translate
from tacit.query.sql.terms import Term

_TYPES = "Numbers, text, booleans, dates and timestamps can be; have the data's steward store it as one of them."


@dataclass(frozen=True, slots=True)
class Entry:
    """A column in sight: as it is, and with the table's columns clamped to their bounds."""

    raw: Term
    bounded: Term


@dataclass(frozen=True, slots=True)
class Scope:
    """What a SELECT reads: its rows' table, its name, the columns in sight, and the conditions that rows have met.

    `hidden` and `unusable` are names of columns that are there and cannot be asked for.
    Of a join: `joins` are the tables beyond the first, `sides` what it joins, in the order in which it is written, and
    `twice` the names that more than one side has, which need the side's name before them.
    """

    table: TablePolicy
    name: str | None
    columns: Mapping[str, Entry]
    where: tuple[Term, ...] = ()
    hidden: frozenset[str] = field(default=frozenset())
    unusable: frozenset[str] = field(default=frozenset())
    joins: tuple[Join, ...] = ()
    sides: tuple[Scope, ...] = ()
    twice: frozenset[str] = field(default=frozenset())

    @property
    def parts(self) -> tuple[Scope, ...]:
        """What stands side by side in FROM: the sides of a join, or the one source."""
        return self.sides or (self,)

    def find(self, node: exp.Column) -> Entry:
        """Return the column that a node names, or raise RefusedError or InvalidError."""
        name = node.this
        if not isinstance(name, exp.Identifier):
            raise refused("* stands for rows", "Name one column, or write count(*).")
        owner = self.owner(node)
        found = match(name, owner.columns)
        if found is not None:
            return owner.columns[found]
        raise owner.missing(name)

    def missing(self, name: exp.Identifier) -> Exception:
        """Return the error for a name that is none of the columns in sight."""
        if name.name.casefold() in self.twice:
            return self.ambiguous(name)
        if any(match(name, part.hidden) is not None for part in self.parts):
            return refused(f"The column {quoted(name.name)} is hidden by the policy")
        if any(match(name, part.unusable) is not None for part in self.parts):
            return refused(f"The column {quoted(name.name)} has a type that cannot be used", _TYPES)
        if match(name, [part.name for part in self.parts if part.name is not None]) is not None:
            return refused(f"{quoted(name.name)} stands for whole rows, which are not answered", "Name one column.")
        return unknown("column", name.name, self.columns, in_quotes=bool(name.args.get("quoted")))

    def ambiguous(self, name: exp.Identifier) -> Exception:
        """Return the error for a name that several sides of a join have."""
        owners = [
            part.name
            for part in self.sides
            if part.name is not None and name.name.casefold() in map(str.casefold, (*part.columns, *part.hidden))
        ]
        which = f"Write {' or '.join(f'{owner}.{name.name}' for owner in owners)}." if owners else "Use aliases."
        return refused(f"The column {quoted(name.name)} is in {' and in '.join(map(quoted, owners))}", which)

    def owner(self, node: exp.Column) -> Scope:
        """Return the source that the name before the dot means; without one, all that is in sight."""
        owner = node.args.get("table")
        if owner is None:
            return self
        named = {part.name: part for part in self.parts if part.name is not None}
        found = match(owner, named)
        if found is not None:
            return named[found]
        if match(owner, self.columns) is not None:
            raise refused(f"Fields inside a column, such as {quoted(f'{owner.name}.{node.name}')}, are not answered")
        raise unknown("table", owner.name, named)

    def raw(self, node: exp.Expr) -> Term:
        """Return a row expression over the raw columns."""
        return translate(node, lambda part: self.find(part).raw if isinstance(part, exp.Column) else None)

    def bounded(self, node: exp.Expr) -> Term:
        """Return a row expression over columns that are clamped to their bounds."""
        return translate(
            node, lambda part: self.find(part).bounded if isinstance(part, exp.Column) else unclamped(part, self)
        )
