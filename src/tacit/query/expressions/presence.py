"""Row expressions that are never NULL, and columns whose missing values are read as a constant.

`is_always_present` is a statement about SQL's meaning, not about privacy: an aggregate over a value that is always
present has as many values as there are rows. The sensitivity of such an aggregate does not rely on it
(`aggregates.sized_moments`). Arithmetic counts as present if its arguments are. On infinite values it can still be NaN,
such as inf - inf, but aggregated columns are clipped to finite bounds first.
"""

from __future__ import annotations

from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression

_OF_ANY = frozenset({"coalesce", "least", "greatest"})
_OF_ALL = frozenset(
    {
        *("add", "subtract", "multiply", "negate", "abs", "sign", "floor", "ceil", "round", "clamp"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not", "in"),
        "steps",
    }
)
_SAFE_CASTS = frozenset({("integer", "real"), ("boolean", "integer"), ("boolean", "real")})


def is_always_present(expression: Expression) -> bool:
    """Return whether an expression is proved to be never NULL, for any values of its columns.

    >>> income = Call("coalesce", (Column("income", "real"), Constant(0.0, "real")), "real")
    >>> is_always_present(income), is_always_present(Column("income", "real"))
    (True, False)
    """
    match expression:
        case Constant(value=value):
            return value is not None
        case Cast(operand=operand, kind=kind):
            return (operand.kind == kind or (operand.kind, kind) in _SAFE_CASTS) and is_always_present(operand)
        case Case(branches=branches, otherwise=otherwise):
            results = [result for _, result in branches]
            return otherwise is not None and all(map(is_always_present, [*results, otherwise]))
        case Call(function=function, arguments=arguments):
            present = list(map(is_always_present, arguments))
            return (
                (function == "is_null")
                or (function in _OF_ANY and any(present))
                or (function in _OF_ALL and all(present))
            )
        case _:
            return False


def with_stand_in(expression: Expression) -> tuple[Column, Constant] | None:
    """Return the column and the constant of an expression that reads NULL as a constant; None for any other.

    >>> with_stand_in(Column("income", "real")) is None
    True
    """
    match expression:
        case Call(function="coalesce", arguments=(Column() as column, Constant() as constant)):
            return column, constant
        case _:
            return None
