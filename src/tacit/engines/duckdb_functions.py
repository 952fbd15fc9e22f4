"""The listed functions in DuckDB's SQL; what they mean is said in `query.functions`.

DuckDB raises where an integer overflows (the plan's ranges exclude it), where a divisor is 0 (guarded here) and where a
cast fails (see `duckdb_casts`). Doubles follow IEEE 754: NaN arises, and is carried along as a second NULL until
something looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlglot import exp

from tacit.engines.duckdb_casts import finite
from tacit.engines.duckdb_measures import FARTHEST, Grid, on_grid
from tacit.engines.duckdb_sql import SQL, TYPES, call, cast, chain, infinity, infix, is_null, real, when, whole
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Constant

Write: TypeAlias = Callable[[Call, Sequence[SQL]], SQL]

_MOST_STEPS = 2**62
_LONGEST = 2**31 - 1  # of a text; DuckDB refuses larger places and lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a call is written.

    Arguments at the places `twice` are written more than once, so they must be names. With `looks`, NaN matters in an
    argument and is made NULL before; otherwise it passes to the result. With `makes`, a real result may be NaN by
    itself.
    """

    write: Write
    twice: tuple[int, ...] = ()
    looks: bool = False
    makes: bool = False


def _operator(operator: Callable[..., exp.Binary], *, looks: bool = False, makes: bool = False) -> Form:
    return Form(write=lambda _, arguments: infix(operator, *arguments), looks=looks, makes=makes)


def _function(name: str, *, looks: bool = False) -> Form:
    return Form(write=lambda _, arguments: call(name, *arguments), looks=looks)


def _integer(name: str, *, looks: bool = False) -> Form:
    return Form(write=lambda _, arguments: cast(call(name, *arguments), "BIGINT"), looks=looks)


def _chain(operator: Callable[..., exp.Binary]) -> Form:
    return Form(write=lambda _, arguments: chain(operator, arguments))


def _guarded(operator: Callable[..., exp.Binary]) -> Form:
    """A division: NULL where the divisor is 0."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        dividend, divisor = arguments
        return when((infix(exp.NEQ, divisor, whole(0, "TINYINT")), infix(operator, dividend, divisor)))

    return Form(write=write, twice=(1,), makes=True)


def _above(comparison: Callable[..., exp.Binary], name: str) -> Form:
    """A function of numbers above 0: NULL for others."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return when((infix(comparison, arguments[0], real(0.0)), call(name, arguments[0])))

    return Form(write=write, twice=(0,))


def _power(_: Call, arguments: Sequence[SQL]) -> SQL:
    found = call("POWER", *arguments)
    return when((finite(found), found))


def _round(node: Call, arguments: Sequence[SQL]) -> SQL:
    digits = _constant(node, 1) if len(arguments) > 1 else 0
    power, half = real(10.0 ** abs(digits)), real(0.5)
    up, down = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    return infix(down, call("FLOOR", infix(exp.Add, infix(up, arguments[0], power), half)), power)


def _clamp(_: Call, arguments: Sequence[SQL]) -> SQL:
    value, low, high = arguments
    over = infix(exp.GT, value, high)  # not ELSE, which would take in NULL
    return when((infix(exp.LT, value, low), low), (infix(exp.LTE, value, high), value), (over, high))


def _nullif(_: Call, arguments: Sequence[SQL]) -> SQL:
    value, other = arguments
    return when((infix(exp.EQ, value, other), exp.Null()), otherwise=value)


def _is_null(node: Call, arguments: Sequence[SQL]) -> SQL:
    value = arguments[0]
    if node.arguments[0].kind != "real":
        return is_null(value)
    there = call("COALESCE", infix(exp.LTE, value, infinity()), exp.false())
    return exp.Paren(this=exp.Not(this=there))


def _in(_: Call, arguments: Sequence[SQL]) -> SQL:
    return exp.Paren(this=exp.In(this=arguments[0].copy(), expressions=[option.copy() for option in arguments[1:]]))


def _cut(name: str) -> Form:
    """Characters at constant places; a place past every text's end is as good as the last."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        numbers = [min(_constant(node, place), _LONGEST) for place in range(1, len(arguments))]
        return call(name, arguments[0], *(whole(number) for number in numbers))

    return Form(write=write)


def _date_trunc(node: Call, arguments: Sequence[SQL]) -> SQL:
    return cast(call("DATE_TRUNC", *arguments), TYPES[node.kind])


def _steps(node: Call, arguments: Sequence[SQL]) -> SQL:
    """The place on a grid, of which the ends are within what `on_grid` is exact for, and all places fit 64 bits."""
    exponent, low, high = (_constant(node, place) for place in (1, 2, 3))
    if not 0 <= high - low <= _MOST_STEPS or max(abs(low), abs(high)) > FARTHEST:
        raise InvalidError("bounds", "an empty or a far too large range of steps", "an increasing range of steps")
    return cast(on_grid(arguments[0], Grid(node.arguments[0], Fraction(2) ** exponent, low, high)), "BIGINT")


def _constant(node: Call, place: int) -> int:
    argument = node.arguments[place]
    if not isinstance(argument, Constant) or not isinstance(argument.value, int):
        raise TypeError(f"{node.function} takes a constant whole number")
    return argument.value


FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "add": _operator(exp.Add, makes=True),
        "subtract": _operator(exp.Sub, makes=True),
        "multiply": _operator(exp.Mul, makes=True),
        "divide": _guarded(exp.Div),
        "modulo": _guarded(exp.Mod),
        "negate": Form(write=lambda _, arguments: exp.Paren(this=exp.Neg(this=arguments[0].copy()))),
        "abs": _function("ABS"),
        "sign": _integer("SIGN", looks=True),
        "floor": _function("FLOOR"),
        "ceil": _function("CEIL"),
        "round": Form(write=_round),
        "sqrt": _above(exp.GTE, "SQRT"),
        "ln": _above(exp.GT, "LN"),
        "exp": _function("EXP"),
        "power": Form(write=_power, twice=(0, 1), looks=True),
        "least": _function("LEAST", looks=True),
        "greatest": _function("GREATEST", looks=True),
        "clamp": Form(write=_clamp, twice=(0, 1, 2), looks=True),
        "equal": _operator(exp.EQ, looks=True),
        "not_equal": _operator(exp.NEQ, looks=True),
        "less": _operator(exp.LT, looks=True),
        "less_equal": _operator(exp.LTE, looks=True),
        "greater": _operator(exp.GT, looks=True),
        "greater_equal": _operator(exp.GTE, looks=True),
        "and": _chain(exp.And),
        "or": _chain(exp.Or),
        "not": Form(write=lambda _, arguments: exp.Paren(this=exp.Not(this=arguments[0].copy()))),
        "is_null": Form(write=_is_null),
        "in": Form(write=_in, looks=True),
        "coalesce": _function("COALESCE", looks=True),
        "nullif": Form(write=_nullif, twice=(0,)),
        "lower": _function("LOWER"),
        "upper": _function("UPPER"),
        "length": _integer("LENGTH"),
        "substring": _cut("SUBSTRING"),
        "left": _cut("LEFT"),
        "right": _cut("RIGHT"),
        "trim": Form(write=lambda _, arguments: call("TRIM", arguments[0], exp.Literal.string(" "))),
        "concat": _chain(exp.DPipe),
        "replace": _function("REPLACE"),
        "starts_with": _function("STARTS_WITH"),
        "like": _operator(exp.Like),
        "year": _integer("YEAR"),
        "quarter": _integer("QUARTER"),
        "month": _integer("MONTH"),
        "day": _integer("DAY"),
        "weekday": _integer("DAYOFWEEK"),
        "hour": _integer("HOUR"),
        "minute": _integer("MINUTE"),
        "date_trunc": Form(write=_date_trunc),
        "steps": Form(write=_steps, twice=(0,)),
    }
)
"""Every listed function."""
