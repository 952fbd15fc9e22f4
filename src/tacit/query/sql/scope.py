"""The columns that a SELECT sees, by name. Each is an expression over the tables' own columns.

A scope translates an expression in two ways. `raw` uses the columns as they are, for WHERE, GROUP BY and ON. `bounded`
uses columns that are clamped to their bounds, for values that are aggregated.

**Conditions see raw rows.** A value needs bounds, a condition does not: `sum(CASE WHEN x > 100 THEN 1 ELSE 0 END)` must
count the rows that `WHERE x > 100` keeps, for any bounds of x. So `bounded` translates conditions over raw columns, and
also the two sides of `nullif`, which compares them. It translates everything else over clamped columns.

**Ranges stay proved.** The range of a condition is 0 to 1 for all values that it compares. The range of a CASE is the
union of the ranges of its results: `ranges.range_of` reads no operand of a boolean and no condition of a CASE. So a
range never follows from a column inside a condition, and raw columns there do not invalidate a proof. In addition,
every measured value is clamped to its range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.expressions import Column, Expression, walk
from tacit.query.joins import Join
from tacit.query.policy import TablePolicy
from tacit.query.policy.limits import NO_BOUNDS, QueryBounds
from tacit.query.refusals import refused, unknown_column, unknown_table
from tacit.query.sql.names import resolve
from tacit.query.sql.row_expressions import translate_expression
from tacit.query.sql.typed_expressions import TypedExpression, call, case, constant
from tacit.query.unit_tables import UnitTable

_TYPES = "Ask the data's steward to store it as a number, text, boolean, date or timestamp."
_CONDITIONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Exists, exp.Between, exp.Like, exp.ILike, exp.StartsWith),
)

E = TypeVar("E", bound=Expression)


@dataclass(frozen=True, slots=True)
class VisibleColumn:
    """A column that a SELECT sees: over the raw columns, and over columns clamped to their bounds."""

    raw: TypedExpression
    bounded: TypedExpression


@dataclass(frozen=True, slots=True)
class Scope:
    """The source of a SELECT: its table, its name, its visible columns, and the conditions that its rows meet.

    `hidden` and `unusable` are names of columns that exist but cannot be queried. For a join, `joins` are the tables
    after the first, `sides` are the joined scopes in the order of the SQL text, and `twice` are the names that several
    sides have; they need a qualifier. `subqueries` translates IN (SELECT …) and EXISTS; it is None inside ON. `units`
    is the subquery that groups by the unit, if the rows are its rows. `bounds` are those of the query, for the columns
    of such subqueries.
    """

    table: TablePolicy
    name: str | None
    columns: Mapping[str, VisibleColumn]
    where: tuple[TypedExpression, ...] = ()
    hidden: frozenset[str] = field(default=frozenset())
    unusable: frozenset[str] = field(default=frozenset())
    joins: tuple[Join, ...] = ()
    sides: tuple[Scope, ...] = ()
    twice: frozenset[str] = field(default=frozenset())
    subqueries: Callable[[exp.Expr, Scope], TypedExpression] | None = field(default=None, repr=False, compare=False)
    units: UnitTable | None = None
    bounds: QueryBounds = field(default_factory=lambda: NO_BOUNDS)

    @property
    def unit(self) -> Column | None:
        """The column that names the unit of a row; None if each row of the private table is a unit."""
        name = self.table.unit if self.units is None else self.units.unit_name
        return None if name is None else self.table.columns[name].named(name)

    @property
    def parts(self) -> tuple[Scope, ...]:
        """The sides of a join, or this scope alone."""
        return self.sides or (self,)

    def find(self, node: exp.Column) -> VisibleColumn:
        """Return the column that a node refers to, or raise RefusedError or InvalidError."""
        identifier = node.this
        if not isinstance(identifier, exp.Identifier):
            raise refused("* stands for rows, which are never released", "Name one column, or write count(*).")
        owner = self.owner(node)
        name = resolve(identifier, owner.columns)
        if name is None:
            raise owner.missing(identifier)
        check_timezone(owner.columns[name].raw.expression)
        return owner.columns[name]

    def missing(self, identifier: exp.Identifier) -> Exception:
        """Return the error for an identifier that is not a visible column."""
        name = show_name(identifier.name)
        if identifier.name.casefold() in self.twice:
            return self._ambiguous(identifier)
        if any(resolve(identifier, part.hidden) is not None for part in self.parts):
            return refused(f"The policy hides the column {name}")
        if any(resolve(identifier, part.unusable) is not None for part in self.parts):
            return refused(f"The type of the column {name} is not supported", _TYPES)
        if resolve(identifier, [part.name for part in self.parts if part.name is not None]) is not None:
            return refused(f"{name} stands for whole rows, which are never released", "Name one column.")
        return unknown_column(identifier.name, self.columns, in_quotes=bool(identifier.args.get("quoted")))

    def _ambiguous(self, identifier: exp.Identifier) -> Exception:
        """Return the error for a name that several sides of a join have."""
        folded = identifier.name.casefold()
        owners = [
            part.name
            for part in self.sides
            if part.name is not None and folded in map(str.casefold, (*part.columns, *part.hidden))
        ]
        qualified = " or ".join(f"{owner}.{identifier.name}" for owner in owners)
        places = " and in ".join(map(show_name, owners))
        hint = f"Write {qualified}." if owners else "Use aliases."
        return refused(f"The column {show_name(identifier.name)} is in {places}", hint)

    def owner(self, node: exp.Column) -> Scope:
        """Return the side that a column's qualifier refers to, or this scope if the column has no qualifier."""
        qualifier = node.args.get("table")
        if qualifier is None:
            return self
        sides = {part.name: part for part in self.parts if part.name is not None}
        name = resolve(qualifier, sides)
        if name is not None:
            return sides[name]
        if resolve(qualifier, self.columns) is not None:
            path = show_name(f"{qualifier.name}.{node.name}")
            raise refused(f"Fields inside a column, such as {path}, are not supported")
        raise unknown_table(qualifier.name, sides)

    def raw(self, node: exp.Expr) -> TypedExpression:
        """Return a row expression over the raw columns."""
        return translate_expression(node, self._raw_leaf)

    def _raw_leaf(self, node: exp.Expr) -> TypedExpression | None:
        """Return a column or a condition with a subquery; None for any other node."""
        if isinstance(node, exp.Exists) or node.args.get("query") is not None:
            if self.subqueries is None:
                raise refused("IN (SELECT …) and EXISTS inside ON are not supported", "Put the condition into WHERE.")
            return self.subqueries(node, self)
        return self.find(node).raw if isinstance(node, exp.Column) else None

    def bounded(self, node: exp.Expr) -> TypedExpression:
        """Return a row expression over columns that are clamped to their bounds."""
        return translate_expression(
            node,
            lambda part: self.find(part).bounded if isinstance(part, exp.Column) else _with_raw_conditions(part, self),
        )


def check_timezone(expression: E) -> E:
    """Return an expression, or raise RefusedError if it reads instants and the policy names no time zone."""
    unzoned = [part.name for part in walk(expression) if isinstance(part, Column) and part.timezone == ""]
    if unzoned:
        raise refused(
            f"The values of the column {show_name(unzoned[0])} are instants, and the policy does not say in which "
            "time zone to read them",
            'Add a line such as timezone = "Europe/Zurich" to the top of the policy file, or pass timezone= to '
            'tacit.open; timezone = "UTC" reads them in UTC.',
        )
    return expression


def _with_raw_conditions(node: exp.Expr, scope: Scope) -> TypedExpression | None:
    """Return a bounded node that reads raw columns, at least in part; None for any other node."""
    if isinstance(node, _CONDITIONS) or _casts_to_boolean(node):
        return scope.raw(node)
    if isinstance(node, exp.Case) and node.this is not None:
        tests = [
            exp.If(this=_equal(node.this, branch.this), true=branch.args["true"].copy()) for branch in node.args["ifs"]
        ]
        default = node.args.get("default")
        return scope.bounded(exp.Case(ifs=tests, default=None if default is None else default.copy()))
    if isinstance(node, exp.Nullif):
        same = call("equal", scope.raw(node.this), scope.raw(node.expression))
        return case([(same, constant(None, "integer"))], scope.bounded(node.this))
    return None


def _casts_to_boolean(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Cast, exp.TryCast)) and node.args["to"].this == exp.DType.BOOLEAN


def _equal(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.Paren(this=left.copy()), expression=exp.Paren(this=right.copy()))


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a chain of AND, in order."""
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.And):
            waiting.extend((part.expression, part.this))
        else:
            yield part
