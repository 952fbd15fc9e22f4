"""The dependence of a column of an outer query on released values: exact, smooth or rising.

An answer gives an interval to a derived column only if this analysis of the tree proves one of these properties. An
operation that is not listed here has no property.

* **exact**: it depends on keys, constants and public tables alone;
* **copy**: it is a column of a released table, row by row;
* **smooth**: it is composed of + - * /, sums, averages, roots, logarithms and the like, so that its error is known from
  the errors of its inputs by simulation;
* **rising**: it does not fall if a released value rises, such as a sum or a maximum, so that its range is known from
  the ranges of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

Input = tuple[str, str]
"""A released table and one of its noisy columns."""
CopiedColumn = tuple[int, str]
"""One use of a table in FROM, by its number, and one of its columns."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The dependence of a value on released values; see the module. It is exact if it has no inputs."""

    inputs: frozenset[Input] = frozenset()
    smooth: bool = True
    rising: bool = True
    copies: frozenset[CopiedColumn] = frozenset()

    @property
    def exact(self) -> bool:
        """True if the value depends on no noisy value."""
        return not self.inputs


EXACT = Derivation()
Derive = Callable[[exp.Expr], Derivation]
"""Returns the derivation of a part of an expression."""

_NUMBERS = frozenset((*exp.DataType.INTEGER_TYPES, *exp.DataType.REAL_TYPES))
_SUMS = (exp.Sum, exp.Avg, exp.First, exp.Last, exp.AnyValue)
_MOVES = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
_EXTREMES = (exp.Max, exp.Min, exp.Median, exp.PercentileCont, exp.Quantile)
_MEAN = "mean"


def inputs_of(parts: Iterable[Derivation]) -> frozenset[Input]:
    """Return the noisy inputs of several values."""
    return frozenset[Input]().union(*(part.inputs for part in parts))


def other(*parts: Derivation) -> Derivation:
    """Return the derivation of a value that has no known property but its inputs."""
    return Derivation(inputs_of(parts), smooth=False, rising=False)


def joint(parts: Iterable[Derivation], *, smooth: bool = True, rising: bool = True) -> Derivation:
    """Return the derivation of a value that is smooth, or rising, in parts that are."""
    known = list(parts)
    return Derivation(
        inputs_of(known),
        smooth=smooth and all(part.smooth for part in known),
        rising=rising and all(part.rising for part in known),
    )


def scalar(node: exp.Expr, derive: Derive) -> Derivation:
    """Return the derivation of an operator or a function of one row."""
    parts = [derive(part) for part in node.iter_expressions()]
    if not inputs_of(parts):
        return EXACT
    rule = _RULES.get(type(node))
    return other(*parts) if rule is None else rule(node, derive, parts)


def _monotone(_: exp.Expr, __: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of a smooth rising function of its first argument; the others must be exact."""
    return joint(parts) if all(part.exact for part in parts[1:]) else other(*parts)


def _power(_: exp.Expr, __: Derive, parts: Sequence[Derivation]) -> Derivation:
    return joint(parts, rising=False) if parts[1].exact else other(*parts)


def _nullif(_: exp.Expr, __: Derive, parts: Sequence[Derivation]) -> Derivation:
    return replace(parts[0], copies=frozenset()) if parts[1].exact else other(*parts)


def _cast(node: exp.Expr, derive: Derive, parts: Sequence[Derivation]) -> Derivation:
    number = node.args["to"].this in _NUMBERS
    return replace(derive(node.this), copies=frozenset()) if number else other(*parts)


def _arithmetic(node: exp.Expr, derive: Derive, _: Sequence[Derivation]) -> Derivation:
    left, right = derive(node.this), derive(node.expression)
    rising = isinstance(node, exp.Add) or (isinstance(node, exp.Sub) and right.exact)
    if isinstance(node, (exp.Mul, exp.Div)):
        rising = _is_positive(node.expression) or (isinstance(node, exp.Mul) and _is_positive(node.this))
    return joint((left, right), rising=rising)


def _is_positive(node: exp.Expr) -> bool:
    """Return whether a node is a number without a sign that is not 0."""
    node = node.unnest()
    if not isinstance(node, exp.Literal) or node.is_string:
        return False
    try:
        return float(node.name) > 0
    except ValueError:
        return False


def _case(node: exp.Expr, derive: Derive, _: Sequence[Derivation]) -> Derivation:
    """Return the derivation of CASE; a condition on noisy values is a choice."""
    branches = node.args.get("ifs") or [node]
    conditions = [derive(branch.this) for branch in branches]
    conditions += [derive(node.this)] if isinstance(node, exp.Case) and node.this is not None else []
    values = [branch.args[name] for branch in branches for name in ("true", "false") if branch.args.get(name)]
    values += [node.args["default"]] if node.args.get("default") is not None else []
    parts = [derive(value) for value in values]
    return joint(parts) if all(part.exact for part in conditions) else other(*parts, *conditions)


_Rule = Callable[[exp.Expr, Derive, Sequence[Derivation]], Derivation]
_RULES: Mapping[type[exp.Expr], _Rule] = {
    **dict.fromkeys((exp.Paren, exp.Alias), lambda _, __, parts: parts[0]),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div), _arithmetic),
    **dict.fromkeys((exp.Sqrt, exp.Cbrt, exp.Ln, exp.Exp, exp.Round), _monotone),
    **dict.fromkeys((exp.Floor, exp.Ceil, exp.Greatest, exp.Least), lambda _, __, parts: joint(parts, smooth=False)),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys((exp.Case, exp.If), _case),
    exp.Neg: lambda _, __, parts: joint(parts, rising=False),
    exp.Coalesce: lambda _, __, parts: joint(parts),
    exp.Nullif: _nullif,
    exp.Pow: _power,
}
"""The operators and functions of one row that keep a property of their arguments."""


def aggregate(node: exp.Expr, derive: Derive, choice: frozenset[Input]) -> Derivation:
    """Return the derivation of an aggregate of rows; `choice` are the noisy values that chose the rows."""
    parts = [derive(part) for part in node.iter_expressions()]
    if choice:
        return other(Derivation(choice), *parts)
    if not inputs_of(parts):
        return EXACT
    if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)):
        return aggregate(node.this, derive, choice)
    if isinstance(node, exp.Filter):
        condition = derive(node.expression.this)
        return aggregate(node.this, derive, choice) if condition.exact else other(*parts)
    return other(*parts) if isinstance(node.this, (exp.Distinct, exp.Order)) else _of_rows(node, parts)


def _of_rows(node: exp.Expr, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of a function of several rows that no noisy value chose."""
    if isinstance(node, _SUMS) or (isinstance(node, exp.Anonymous) and node.name.casefold() == _MEAN):
        return joint(parts)
    if isinstance(node, _EXTREMES):
        return joint(parts, smooth=False)
    moves = isinstance(node, _MOVES) and all(part.exact for part in parts[1:])
    return joint(parts) if moves else other(*parts)
