"""The listed functions in Spark's SQL; what they mean is said in `query.expressions.functions`.

Spark's FLOOR and CEIL of a double give 64 bits, so larger ones are left as they are: they are whole. Small and capital
letters are translated one to one, since Spark's own mappings are of whole words. A power of ±1 to ±inf is 1, which Java
calls undefined. LN, EXP and POWER are those of Java's StrictMath: their last bit may differ from other engines'.

Spark's own LIKE writes `.*?` for each %, and Java tries all combinations of them if the text does not fit. It also
descends once for each `_`, until the stack is full and Java ends. So LIKE is always an expression of `statements.like`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.engines.sql.builder import SQL, call, cast, chain, infinity, infix, real, when, whole
from tacit.engines.sql.case_mapping import to_capital, to_small
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.functions import (
    Form,
    chain_form,
    common_forms,
    constant_at,
    cut_form,
    date_truncated,
    function_form,
    integer_form,
)
from tacit.engines.sql.like import atomic_expression, like_form
from tacit.query.expressions import Call

_WHOLE = real(2.0**52)
"""From here on every double is a whole number."""


def _as_whole(name: str, value: SQL) -> SQL:
    """Return the floor or ceiling of a double as a double; NaN passes, being larger than any."""
    near = infix(exp.LT, call("ABS", value), _WHOLE)
    return when((near, cast(call(name, value), "DOUBLE")), otherwise=value)


def _whole_form(name: str) -> Form:
    return Form(write=lambda _, arguments: _as_whole(name, arguments[0]), twice=(0,))


def _rounded(node: Call, arguments: Sequence[SQL]) -> SQL:
    """⌊x·10^d + ½⌋/10^d in doubles, step by step."""
    digits = constant_at(node, 1) if len(arguments) > 1 else 0
    power = real(10.0 ** abs(digits))
    up, down = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    return infix(down, _as_whole("FLOOR", infix(exp.Add, infix(up, arguments[0], power), real(0.5))), power)


def _power(dialect: Dialect) -> Form:
    """A power: NULL unless it is finite; C says that 1^±inf and (-1)^±inf are 1."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        base, exponent = arguments
        found = call("POWER", base, exponent)
        one = infix(exp.EQ, call("ABS", base), real(1.0))
        endless = infix(exp.EQ, call("ABS", exponent), infinity())
        return when((chain(exp.And, [one, endless]), real(1.0)), (dialect.finite(found), found))

    return Form(write=write, twice=(0, 1), looks=True)


def _extreme(name: str) -> Form:
    """LEAST or GREATEST, which Spark has of two values or more."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return call(name, *arguments) if len(arguments) > 1 else arguments[0]

    return Form(write=write, looks=True)


def _translated(letters: Callable[[], tuple[str, str]]) -> Form:
    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return call("TRANSLATE", arguments[0], *(exp.Literal.string(listed) for listed in letters()))

    return Form(write=write)


def _weekday(_: Call, arguments: Sequence[SQL]) -> SQL:
    """0 for Sunday; Spark begins with 1."""
    return infix(exp.Sub, cast(call("DAYOFWEEK", arguments[0]), "BIGINT"), whole(1))


def spark_forms(dialect: Dialect) -> dict[str, Form]:
    """Return every listed function."""
    return {
        **common_forms(dialect),
        "floor": _whole_form("FLOOR"),
        "ceil": _whole_form("CEIL"),
        "round": Form(write=_rounded, twice=(0,)),
        "power": _power(dialect),
        "least": _extreme("LEAST"),
        "greatest": _extreme("GREATEST"),
        "lower": _translated(to_small),
        "upper": _translated(to_capital),
        "substring": cut_form("SUBSTRING"),
        "left": cut_form("LEFT"),
        "right": cut_form("RIGHT"),
        "trim": Form(write=lambda _, arguments: call("BTRIM", arguments[0], exp.Literal.string(" "))),
        "concat": chain_form(exp.DPipe),
        "starts_with": function_form("STARTSWITH"),
        "like": like_form("RLIKE", atomic_expression, plain=False),
        "year": integer_form("YEAR"),
        "quarter": integer_form("QUARTER"),
        "month": integer_form("MONTH"),
        "day": integer_form("DAY"),
        "weekday": Form(write=_weekday),
        "hour": integer_form("HOUR"),
        "minute": integer_form("MINUTE"),
        "date_trunc": Form(write=date_truncated),
    }
