"""The supported functions in Spark's SQL. `query.expressions.functions` defines what they mean.

Spark's FLOOR and CEIL of a double return 64 bits; larger doubles are integers already and stay unchanged. Upper and
lower case are translated character by character, because Spark's mapping depends on whole words. (±1)^±inf is 1, which
Java leaves undefined. LN, EXP and POWER are those of Java's StrictMath; their last bit may differ from other engines.

Spark's LIKE writes `.*?` for each %, and Java tries all combinations of them if the text does not match. It also
recurses once for each `_`, until the stack is full and Java ends. So LIKE is always a regular expression of
`engines.sql.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.engines.sql.builder import SQL, call, cast, chain, infinity, infix, real, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.functions import (
    Form,
    atomic_expression,
    chain_form,
    common_forms,
    constant_at,
    cut_form,
    date_truncated,
    function_form,
    integer_form,
    like_form,
    lower_case_pairs,
    upper_case_pairs,
)
from tacit.engines.sql.time_functions import (
    add_months_form,
    date_at_form,
    ordinal_form,
    quotient_form,
    sum_of_intervals,
    timestamp_at_form,
)
from tacit.query.expressions import Call

_WHOLE = real(2.0**52)
"""Every double from here on is an integer."""


def _as_whole(name: str, value: SQL) -> SQL:
    """Return the floor or ceiling of a double as a double; NaN, which is larger than all doubles, passes unchanged."""
    near = infix(exp.LT, call("ABS", value), _WHOLE)
    return when((near, cast(call(name, value), "DOUBLE")), otherwise=value)


def _whole_form(name: str) -> Form:
    return Form(write=lambda _, arguments: _as_whole(name, arguments[0]), repeats=(0,))


def _rounded(node: Call, arguments: Sequence[SQL]) -> SQL:
    """Write ⌊x·10^d + ½⌋/10^d in doubles, step by step."""
    digits = constant_at(node, 1) if len(arguments) > 1 else 0
    power = real(10.0 ** abs(digits))
    up, down = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    return infix(down, _as_whole("FLOOR", infix(exp.Add, infix(up, arguments[0], power), real(0.5))), power)


def _power(dialect: Dialect) -> Form:
    """Return the form of a power; it gives NULL unless the result is finite. As in C, 1^±inf and (-1)^±inf are 1."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        base, exponent = arguments
        power = call("POWER", base, exponent)
        is_unit = infix(exp.EQ, call("ABS", base), real(1.0))
        is_infinite = infix(exp.EQ, call("ABS", exponent), infinity())
        return when((chain(exp.And, [is_unit, is_infinite]), real(1.0)), (dialect.finite(power), power))

    return Form(write=write, repeats=(0, 1), nulls_nan=True)


def _extreme(name: str) -> Form:
    """Return the form of LEAST or GREATEST, which Spark supports for two values or more."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return call(name, *arguments) if len(arguments) > 1 else arguments[0]

    return Form(write=write, nulls_nan=True)


def _translated(pairs: Callable[[], tuple[str, str]]) -> Form:
    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return call("TRANSLATE", arguments[0], *(exp.Literal.string(letters) for letters in pairs()))

    return Form(write=write)


def _weekday(_: Call, arguments: Sequence[SQL]) -> SQL:
    """Write the weekday with 0 for Sunday; Spark starts with 1."""
    return infix(exp.Sub, cast(call("DAYOFWEEK", arguments[0]), "BIGINT"), whole(1))


def _part(name: str, moment: SQL) -> SQL:
    """Write a part of a moment. Spark's DATE_PART has seconds as exact decimals, from which microseconds follow."""
    if name == "microsecond":
        seconds = call("DATE_PART", exp.Literal.string("SECOND"), moment)
        return cast(infix(exp.Mul, seconds, whole(1_000_000)), "BIGINT")
    if name == "yearofweek":
        return cast(call("DATE_PART", exp.Literal.string("YEAROFWEEK"), moment), "BIGINT")
    return cast(call(name.upper(), moment), "BIGINT")


def spark_forms(dialect: Dialect) -> dict[str, Form]:
    """Return the forms of all supported functions."""
    return {
        **common_forms(dialect),
        "floor": _whole_form("FLOOR"),
        "ceil": _whole_form("CEIL"),
        "round": Form(write=_rounded, repeats=(0,)),
        "power": _power(dialect),
        "least": _extreme("LEAST"),
        "greatest": _extreme("GREATEST"),
        "lower": _translated(lower_case_pairs),
        "upper": _translated(upper_case_pairs),
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
        "week": integer_form("WEEKOFYEAR"),
        "isoyear": Form(write=lambda _, arguments: _part("yearofweek", arguments[0])),
        "yearday": integer_form("DAYOFYEAR"),
        "hour": integer_form("HOUR"),
        "minute": integer_form("MINUTE"),
        "second": integer_form("SECOND"),
        "ordinal": ordinal_form(lambda day, since: cast(call("DATEDIFF", day, since), "BIGINT"), _part),
        "date_at": date_at_form(lambda day, count: call("DATE_ADD", day, cast(count, "INTEGER"))),
        "timestamp_at": timestamp_at_form(sum_of_intervals(dialect)),
        "add_months": add_months_form(_part),
        "quotient": quotient_form(dialect),
        "date_trunc": Form(write=date_truncated),
    }
