"""How the listed functions are written where engines agree; what they mean is said in `query.expressions.functions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from tacit.engines.sql.builder import SQL, TYPES, call, cast, chain, infinity, infix, is_null, real, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.measures import FARTHEST, Grid, on_grid
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


def operator_form(operator: Callable[..., exp.Binary], *, looks: bool = False, makes: bool = False) -> Form:
    """An operator between two values."""
    return Form(write=lambda _, arguments: infix(operator, *arguments), looks=looks, makes=makes)


def function_form(name: str, *, looks: bool = False) -> Form:
    """A function of the engine."""
    return Form(write=lambda _, arguments: call(name, *arguments), looks=looks)


def integer_form(name: str, *, looks: bool = False) -> Form:
    """A function of the engine that gives a whole number."""
    return Form(write=lambda _, arguments: cast(call(name, *arguments), "BIGINT"), looks=looks)


def chain_form(operator: Callable[..., exp.Binary]) -> Form:
    """An operator between many values."""
    return Form(write=lambda _, arguments: chain(operator, arguments))


def guarded_form(operator: Callable[..., exp.Binary]) -> Form:
    """A division: NULL where the divisor is 0."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        dividend, divisor = arguments
        return when((infix(exp.NEQ, divisor, whole(0, "TINYINT")), infix(operator, dividend, divisor)))

    return Form(write=write, twice=(1,), makes=True)


def positive_form(comparison: Callable[..., exp.Binary], name: str) -> Form:
    """A function of numbers above 0: NULL for others."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return when((infix(comparison, arguments[0], real(0.0)), call(name, arguments[0])))

    return Form(write=write, twice=(0,))


def power_form(dialect: Dialect) -> Form:
    """A power: NULL unless it is finite."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        found = call("POWER", *arguments)
        return when((dialect.finite(found), found))

    return Form(write=write, twice=(0, 1), looks=True)


def rounded(node: Call, arguments: Sequence[SQL]) -> SQL:
    """⌊x·10^d + ½⌋/10^d in doubles, step by step."""
    digits = constant_at(node, 1) if len(arguments) > 1 else 0
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


def cut_form(name: str) -> Form:
    """Characters at constant places; a place past every text's end is as good as the last."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        numbers = [min(constant_at(node, place), _LONGEST) for place in range(1, len(arguments))]
        return call(name, arguments[0], *(whole(number) for number in numbers))

    return Form(write=write)


def date_truncated(node: Call, arguments: Sequence[SQL]) -> SQL:
    """The beginning of a moment's year, quarter, month and so on."""
    return cast(call("DATE_TRUNC", *arguments), TYPES[node.kind])


def steps_form(dialect: Dialect) -> Form:
    """The place on a grid, of which the ends are within what `on_grid` is exact for, and all places fit 64 bits."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        exponent, low, high = (constant_at(node, place) for place in (1, 2, 3))
        if not 0 <= high - low <= _MOST_STEPS or max(abs(low), abs(high)) > FARTHEST:
            raise InvalidError("bounds", "an empty or a far too large range of steps", "an increasing range of steps")
        grid = Grid(node.arguments[0], Fraction(2) ** exponent, low, high)
        return cast(on_grid(arguments[0], grid, dialect), "BIGINT")

    return Form(write=write, twice=(0,))


def constant_at(node: Call, place: int) -> int:
    """Return the whole number that stands in the question at a place."""
    argument = node.arguments[place]
    if not isinstance(argument, Constant) or not isinstance(argument.value, int):
        raise TypeError(f"{node.function} takes a constant whole number")
    return argument.value


def common_forms(dialect: Dialect) -> dict[str, Form]:
    """Return the SQL forms shared by all engines."""
    return {
        "add": operator_form(exp.Add, makes=True),
        "subtract": operator_form(exp.Sub, makes=True),
        "multiply": operator_form(exp.Mul, makes=True),
        "divide": guarded_form(exp.Div),
        "modulo": guarded_form(exp.Mod),
        "negate": Form(write=lambda _, arguments: exp.Paren(this=exp.Neg(this=arguments[0].copy()))),
        "abs": function_form("ABS"),
        "sign": integer_form("SIGN", looks=True),
        "floor": function_form("FLOOR"),
        "ceil": function_form("CEIL"),
        "round": Form(write=rounded),
        "sqrt": positive_form(exp.GTE, "SQRT"),
        "ln": positive_form(exp.GT, "LN"),
        "exp": function_form("EXP"),
        "power": power_form(dialect),
        "least": function_form("LEAST", looks=True),
        "greatest": function_form("GREATEST", looks=True),
        "clamp": Form(write=_clamp, twice=(0, 1, 2), looks=True),
        "equal": operator_form(exp.EQ, looks=True),
        "not_equal": operator_form(exp.NEQ, looks=True),
        "less": operator_form(exp.LT, looks=True),
        "less_equal": operator_form(exp.LTE, looks=True),
        "greater": operator_form(exp.GT, looks=True),
        "greater_equal": operator_form(exp.GTE, looks=True),
        "and": chain_form(exp.And),
        "or": chain_form(exp.Or),
        "not": Form(write=lambda _, arguments: exp.Paren(this=exp.Not(this=arguments[0].copy()))),
        "is_null": Form(write=_is_null),
        "in": Form(write=_in, looks=True),
        "coalesce": function_form("COALESCE", looks=True),
        "nullif": Form(write=_nullif, twice=(0,)),
        "length": integer_form("LENGTH"),
        "replace": function_form("REPLACE"),
        "steps": steps_form(dialect),
    }
