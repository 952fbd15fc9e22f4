"""The aggregates of a subquery that groups by the unit: their values, their kinds, and what is public about them."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from tacit.errors import RefusedError, show_name
from tacit.query.expressions import Column, Constant, Expression, Kind, columns
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.refusals import refused, source_word
from tacit.query.sql.key_values import domain
from tacit.query.sql.row_expressions import AGGREGATE_NAMES
from tacit.query.sql.scope import Scope
from tacit.query.sql.typed_expressions import TypedExpression, as_number, condition
from tacit.query.sql.unit_columns import check_text, key_policy
from tacit.query.unit_tables import UnitAggregate, UnitFunction, unit_grid

ADVICE = "A subquery takes count, sum, avg, min, max, count(DISTINCT x), bool_or and bool_and, with or without FILTER."
_FUNCTIONS: dict[type[exp.Expr], UnitFunction] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
}
_OF_NAMES: dict[str, UnitFunction] = {"avg": "avg", "count": "count"}
_OF_CONDITIONS: dict[UnitFunction, UnitFunction] = {"min": "bool_and", "max": "bool_or"}

Read = tuple[UnitAggregate, ColumnPolicy]


def read_unit_aggregate(node: exp.Expr, scope: Scope, unit: Column) -> Read:
    """Return an aggregate of the rows of one group, without a name, and what is public about its values."""
    function, argument = _function(node)
    if isinstance(argument, exp.Distinct):
        return _distinct(function, argument, scope, unit)
    if argument is None:
        if function != "count":
            raise refused(f"{function} takes one value", ADVICE)
        return _count(None)
    value = as_number(scope.bounded(argument), function)
    _check_unit(function, value, unit)
    if function == "count":
        every = isinstance(value.expression, Constant) and not value.is_null
        return _count(None if every else value.expression)
    if function in ("bool_or", "bool_and") or (value.kind == "boolean" and function in _OF_CONDITIONS):
        return _truth(_OF_CONDITIONS.get(function, function), value)
    if function in ("min", "max"):
        check_text(value, function)
        policy = key_policy(scope.raw(argument), value, scope.table)
        return UnitAggregate(name="", function=function, kind=value.kind, value=value.expression), policy
    return _sum(function, value)


def _function(node: exp.Expr) -> tuple[UnitFunction, exp.Expr | None]:
    """Return an aggregate's name and argument; the argument is None for all rows."""
    if isinstance(node, exp.Anonymous):
        if len(node.expressions) > 1:
            raise refused(f"{node.name} takes one value")
        return _OF_NAMES[AGGREGATE_NAMES[node.name.casefold()]], next(iter(node.expressions), None)
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise refused(f"The aggregate {source_word(node)} is not supported inside a subquery", ADVICE)
    argument = node.args.get("this")
    every = isinstance(argument, exp.Star) and not argument.args.get("except_") and not argument.args.get("replace")
    return function, None if every else argument


def _count(value: Expression | None) -> Read:
    return UnitAggregate(name="", function="count", kind="integer", value=value), ColumnPolicy(
        kind="integer", required=True
    )


def _distinct(function: UnitFunction, argument: exp.Distinct, scope: Scope, unit: Column) -> Read:
    """Return a count of different values, which are compared raw. Public values bound their number."""
    if function != "count":
        raise refused(f"DISTINCT inside {function} is not supported", "count(DISTINCT x) is.")
    if len(argument.expressions) != 1 or argument.args.get("on") is not None:
        raise refused("count(DISTINCT …) takes one value", "Join the texts: count(DISTINCT x || '-' || y).")
    value = scope.raw(argument.expressions[0])
    _check_unit("count", value, unit)
    most = _most_different(value.expression, scope.table)
    bounds = None if most is None else (Fraction(0), Fraction(most))
    aggregate = UnitAggregate(name="", function="count_distinct", kind="integer", value=value.expression)
    return aggregate, ColumnPolicy(kind="integer", bounds=bounds, required=True)


def _most_different(value: Expression, table: TablePolicy) -> int | None:
    """Return how many public values there are; None if they are not public."""
    if isinstance(value, Constant):
        return 1
    try:
        return len([key for key in domain(value, "value", table) if key is not None])
    except RefusedError:
        return None


def _truth(function: UnitFunction, value: TypedExpression) -> Read:
    kind: Kind = "boolean"
    truth = condition(value, function).expression
    return UnitAggregate(name="", function=function, kind=kind, value=truth), ColumnPolicy(kind=kind)


def _sum(function: UnitFunction, value: TypedExpression) -> Read:
    """Return a sum or an average of numbers; reals need bounds, because they are summed on a grid."""
    if value.kind not in ("integer", "real"):
        hint = f"If it holds numbers, write {function}(clamp(CAST({_text(value)} AS DOUBLE), low, high))."
        raise refused(f"{function} takes numbers, not {value.kind}", hint)
    ends = value.known.ends
    if value.kind == "real" and ends is None:
        x = _text(value)
        raise refused(
            f"{function} of real numbers inside a subquery needs bounds of each value",
            f"Write {function}(clamp({x}, low, high)) with public bounds, give bounds of {x} to the query (bounds=, "
            "--bounds), or add them to the policy.",
        )
    grid = None if value.kind == "integer" or ends is None else unit_grid(*ends)
    kind: Kind = "real" if function == "avg" else value.kind
    policy = ColumnPolicy(kind=kind, bounds=ends if function == "avg" else None)
    return UnitAggregate(name="", function=function, kind=kind, value=value.expression, grid=grid), policy


def _text(value: TypedExpression) -> str:
    return str(getattr(value.expression, "name", "x"))


def _check_unit(function: str, value: TypedExpression, unit: Column) -> None:
    if unit.name in columns(value.expression):
        hint = "count(*) counts the rows of a unit; WHERE may name the unit column."
        raise refused(f"{function} of the unit column {show_name(unit.name)} is not supported in a subquery", hint)
