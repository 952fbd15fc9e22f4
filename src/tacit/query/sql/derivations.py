"""The dependence of a column of an outer query on released values: exact, smooth or rising.

An answer gives an interval to a derived column only if this analysis of the tree proves one of these properties. An
operation that is not listed here has no property.

* **exact**: it depends on keys, constants and public tables alone;
* **copy**: it is a column of a released table, row by row;
* **smooth**: its form is linear (a linear function of released values with exact factors), a ratio (one linear function
  divided by another), or monotone (a rising or falling function, such as a rounding, of one of these), so that its
  interval is known by simulation;
* **rising**: it does not fall if a released value rises, such as a sum or a maximum, so that its range is known from
  the ranges of its inputs.

**Why no other form is smooth.** Let y be the released values and y - Z' a draw. If f is not nearly linear, f(y - Z')
may be far from f(x) in every draw: the noise of the release raises (y - c)², and that of the draw raises it again. Let
h be a monotone function of a smooth quantity q. The order statistics of h(q(y - Z')) are h of those of q(y - Z'), so
the interval of h(q) holds h(q(x)) whenever that of q holds q(x).

**NULL.** A ratio is NULL in a draw whose denominator is not positive (`outer_columns`), and such a draw must stay NULL.
So COALESCE, sums and other functions that skip NULL keep a form only if it is linear. NULLIF with a noisy value has a
form only as a denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from sqlglot import exp

from tacit.query.sql.outer_grammar import AGGREGATES
from tacit.query.sql.row_expressions import is_aggregate

Input = tuple[str, str]
"""A released table and one of its noisy columns."""
CopiedColumn = tuple[int, str]
"""One use of a table in FROM, by its number, and one of its columns."""


class Form(IntEnum):
    """The form of a function of released values; each form includes those before it."""

    LINEAR = 0
    RATIO = 1
    MONOTONE = 2
    OTHER = 3


@dataclass(frozen=True, slots=True)
class Derivation:
    """The dependence of a value on released values; see the module. It is exact if it has no inputs."""

    inputs: frozenset[Input] = frozenset()
    form: Form = Form.LINEAR
    rising: bool = True
    copies: frozenset[CopiedColumn] = frozenset()

    @property
    def exact(self) -> bool:
        """True if the value depends on no noisy value."""
        return not self.inputs

    @property
    def smooth(self) -> bool:
        """True if the interval of the value can be simulated."""
        return self.form <= Form.MONOTONE


EXACT = Derivation()
Derive = Callable[[exp.Expr], Derivation]
"""Returns the derivation of a part of an expression."""

_REALS = frozenset((exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT))
_ROUNDED = frozenset((*exp.DataType.INTEGER_TYPES, exp.DataType.Type.DECIMAL)) - {exp.DataType.Type.BIT}
_ONE_ROW = (exp.First, exp.Last, exp.AnyValue)
_MOVES = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
_EXTREMES = (exp.Max, exp.Min, exp.Median, exp.PercentileCont, exp.Quantile)
_WITHOUT_ORDER = (
    *(exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Quantile, exp.PercentileCont),
    *(exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.LogicalAnd, exp.LogicalOr),
)
"""The aggregates that do not depend on the order of the rows; all others are taken to depend on it."""
_MEAN = "mean"
_AGGREGATE_NAMES = frozenset((_MEAN, "count_star", "product", "geomean"))


def inputs_of(parts: Iterable[Derivation]) -> frozenset[Input]:
    """Return the noisy inputs of several values."""
    return frozenset[Input]().union(*(part.inputs for part in parts))


def other(*parts: Derivation) -> Derivation:
    """Return the derivation of a value that has no known property but its inputs."""
    return Derivation(inputs_of(parts), Form.OTHER, rising=False)


def joint(parts: Iterable[Derivation], *, least: Form = Form.LINEAR, rising: bool = True) -> Derivation:
    """Return the derivation of a value that is one of several parts in each row, and has at least the given form."""
    known = list(parts)
    return Derivation(
        inputs_of(known),
        max((least, *(part.form for part in known))),
        rising=rising and all(part.rising for part in known),
    )


def linear_only(value: Derivation) -> Derivation:
    """Return the derivation of a linear function, or of one that skips NULL: other forms are lost."""
    return replace(value, form=value.form if value.form == Form.LINEAR else Form.OTHER, copies=frozenset())


def is_outer_aggregate(node: exp.Expr) -> bool:
    """Return whether a node computes with several rows, also by the names that only outer queries may use."""
    named = isinstance(node, exp.Anonymous) and node.name.casefold() in _AGGREGATE_NAMES
    return named or is_aggregate(node) or isinstance(node, AGGREGATES)


def computes(node: exp.Expr) -> bool:
    """Return whether an item of a select list computes with several rows."""
    if isinstance(node, (exp.Select, exp.SetOperation)):
        return False
    return isinstance(node, exp.Window) or is_outer_aggregate(node) or any(map(computes, node.iter_expressions()))


def scalar(node: exp.Expr, derive: Derive) -> Derivation:
    """Return the derivation of an operator or a function of one row."""
    parts = [derive(part) for part in node.iter_expressions()]
    if not inputs_of(parts):
        return EXACT
    rule = _RULES.get(type(node))
    return other(*parts) if rule is None or not _is_complete(node) else rule(node, derive, parts)


def _is_complete(node: exp.Expr) -> bool:
    """Return whether a node has all arguments that it needs."""
    return all(node.args.get(name) not in (None, []) for name, needed in node.arg_types.items() if needed)


def _monotone(node: exp.Expr, derive: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of a rising function of its first argument; the others must be exact."""
    value = derive(node.this)
    return joint([value], least=Form.MONOTONE) if value.inputs == inputs_of(parts) and _alone(parts) else other(*parts)


def _alone(parts: Sequence[Derivation]) -> bool:
    return sum(not part.exact for part in parts) == 1


def _between(_: exp.Expr, __: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of GREATEST and LEAST, which skip NULL and rise with each argument."""
    linear = _alone(parts) and all(part.form == Form.LINEAR for part in parts)
    return joint(parts, least=Form.MONOTONE if linear else Form.OTHER)


def _cast(node: exp.Expr, derive: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of a cast; one to whole numbers or decimals rounds, and TRY_CAST may give NULL."""
    kind, value = node.args["to"].this, derive(node.this)
    if kind in _REALS:
        return replace(value, copies=frozenset())
    whole = kind in _ROUNDED and not isinstance(node, exp.TryCast)
    return joint([value], least=Form.MONOTONE) if whole else other(*parts)


def _negative(_: exp.Expr, __: Derive, parts: Sequence[Derivation]) -> Derivation:
    return joint(parts, rising=False)


def _sum(node: exp.Expr, derive: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of x + y or x - y: linear functions add up, and any form may be moved by an exact value."""
    left, right = derive(node.this), derive(node.expression)
    value = joint((left, right), rising=isinstance(node, exp.Add) or right.exact)
    return value if _alone(parts) else linear_only(value)


def _product(node: exp.Expr, derive: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of x · y; one of the two must be exact."""
    positive = _is_positive(node.expression) or _is_positive(node.this)
    value = joint((derive(node.this), derive(node.expression)), rising=positive)
    return value if _alone(parts) else replace(value, form=Form.OTHER)


def _quotient(node: exp.Expr, derive: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of x / y, and mark a denominator that is noisy.

    y may be nullif(z, 0): it differs from z only where z is 0, and there the quotient has no value anyway.
    """
    below = node.expression.unnest()
    if isinstance(below, exp.Nullif) and _is_zero(below.expression):
        below = below.this
    left, right = derive(node.this), derive(below)
    if right.exact:
        return joint((left,), rising=_is_positive(node.expression)) if derive(node.expression).exact else other(*parts)
    node.meta[NOISY_DENOMINATOR] = True
    linear = left.form == right.form == Form.LINEAR
    return joint((left, right), least=Form.RATIO if linear else Form.OTHER, rising=False)


NOISY_DENOMINATOR = "noisy denominator"
"""The mark of a quotient whose denominator is noisy."""


def _is_zero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name in ("0", "0.0")


def _is_positive(node: exp.Expr) -> bool:
    """Return whether a node is a number without a sign that is not 0."""
    node = node.unnest()
    if not isinstance(node, exp.Literal) or node.is_string:
        return False
    try:
        return float(node.name) > 0
    except ValueError:
        return False


def _case(node: exp.Expr, derive: Derive, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of CASE; a condition on noisy values is a choice."""
    branches = node.args.get("ifs") or [node]
    if not all(isinstance(branch, (exp.If, exp.Case)) for branch in branches):
        return other(*parts)
    conditions = [derive(branch.this) for branch in branches]
    conditions += [derive(node.this)] if isinstance(node, exp.Case) and node.this is not None else []
    values = [branch.args[name] for branch in branches for name in ("true", "false") if branch.args.get(name)]
    values += [node.args["default"]] if node.args.get("default") is not None else []
    if not all(part.exact for part in conditions):
        return other(*parts)
    return joint(map(derive, values))


_Rule = Callable[[exp.Expr, Derive, Sequence[Derivation]], Derivation]
_RULES: Mapping[type[exp.Expr], _Rule] = {
    **dict.fromkeys((exp.Paren, exp.Alias), lambda node, derive, _: derive(node.this)),
    **dict.fromkeys((exp.Add, exp.Sub), _sum),
    **dict.fromkeys((exp.Sqrt, exp.Cbrt, exp.Ln, exp.Exp, exp.Round, exp.Floor, exp.Ceil), _monotone),
    **dict.fromkeys((exp.Greatest, exp.Least), _between),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys((exp.Case, exp.If), _case),
    exp.Mul: _product,
    exp.Div: _quotient,
    exp.Neg: _negative,
    exp.Coalesce: lambda _, __, parts: linear_only(joint(parts)),
}
"""The operators and functions of one row that keep a property of their arguments."""


def aggregate(
    node: exp.Expr, derive: Derive, choice: frozenset[Input], order: frozenset[Input] = frozenset()
) -> Derivation:
    """Return the derivation of an aggregate of rows.

    `choice` are the noisy values that chose the rows, and `order` those that put them in order.
    """
    wraps = isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls))
    if not (wraps or is_outer_aggregate(node)):
        return other(derive(node), Derivation(choice | order))
    parts = [derive(part) for part in node.iter_expressions()]
    if choice:
        return other(Derivation(choice), *parts)
    if wraps:
        return _wrapped(node, derive, order, parts)
    if order and not is_without_order(node):
        return other(Derivation(order), *parts)
    if not inputs_of(parts):
        return EXACT
    changed = isinstance(node.args.get("this"), (exp.Distinct, exp.Order))
    return other(*parts) if changed else _of_rows(node, parts)


def _wrapped(node: exp.Expr, derive: Derive, order: frozenset[Input], parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of an aggregate with FILTER, IGNORE NULLS or RESPECT NULLS."""
    condition = node.args.get("expression")
    if not _is_complete(node) or (condition is not None and not derive(condition).exact):
        return other(*parts, Derivation(order))
    value = aggregate(node.this, derive, frozenset(), order)
    return linear_only(value) if isinstance(node, exp.IgnoreNulls) else value


def is_without_order(node: exp.Expr) -> bool:
    """Return whether an aggregate does not depend on the order of the rows."""
    named = isinstance(node, exp.Anonymous) and node.name.casefold() in _AGGREGATE_NAMES
    return named or isinstance(node, _WITHOUT_ORDER)


def _of_rows(node: exp.Expr, parts: Sequence[Derivation]) -> Derivation:
    """Return the derivation of a function of several rows that no noisy value chose."""
    if not all(part.exact for part in parts[1:]):
        return other(*parts)
    if isinstance(node, (exp.Sum, exp.Avg)) or (isinstance(node, exp.Anonymous) and node.name.casefold() == _MEAN):
        return linear_only(parts[0])
    if isinstance(node, _EXTREMES):
        return joint(parts[:1], least=Form.OTHER)
    if isinstance(node, (*_ONE_ROW, *_MOVES)):
        return linear_only(parts[0]) if isinstance(node, exp.AnyValue) else joint(parts[:1])
    return other(*parts)
