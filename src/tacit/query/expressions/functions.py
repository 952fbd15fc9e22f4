"""The functions that may be used: what they take, what they give, and what they mean.

This list is closed. Each function is total: it has a value for all arguments of its kinds, NULL where SQL would fail,
and means the same in every engine. The meaning is given in Python on single values, with None for NULL; it serves to
list public keys, to compute with released values, and as the oracle that the engines' SQL is tested against. Rules:

* a NULL argument makes the result NULL, except where a function `sees_null`;
* NaN counts as NULL, in arguments, columns and results; ±inf is a number like others;
* arguments that take "number" or "any" all have one kind; the parser writes the casts that are needed into the plan;
* an integer result outside 64 bits is NULL. Over rows that cannot happen: integers are added, subtracted, multiplied,
  negated or made absolute as integers only if the result's range is proved to fit ±2^62, else as reals.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from tacit.query.expressions import Kind, Value, logic, numbers, text, time
from tacit.query.expressions.casts import in_64_bits

Takes: TypeAlias = Literal["number", "real", "integer", "text", "boolean", "moment", "timestamp", "any"]
"""What an argument may be: number is integer or real, moment is date or timestamp."""

_NUMBER: Takes = "number"
_REAL: Takes = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One listed function.

    `takes` says what each argument is; of these the last `optional` ones may be left out, and with `many` the last may
    be repeated. `gives` is the kind of the result, "same" being the kind of the arguments that are "number", "moment"
    or "any". Arguments at the places in `constants` must stand in the question itself. A function that is `ours` is
    written by aggregates alone and cannot be called; its arguments stay of the kinds they have.
    """

    takes: tuple[Takes, ...]
    gives: Kind | Literal["same"]
    meaning: Callable[..., Value]
    optional: int = 0
    many: bool = False
    sees_null: bool = False
    constants: frozenset[int] = frozenset()
    ours: bool = False

    def fits(self, count: int) -> bool:
        """Whether the function can be called with so many arguments."""
        return len(self.takes) - self.optional <= count and (self.many or count <= len(self.takes))

    def takes_at(self, place: int) -> Takes:
        """Return what the argument at a place may be."""
        return self.takes[min(place, len(self.takes) - 1)]


def _arithmetic(meaning: Callable[..., Value], arguments: int = 2) -> Function:
    return Function(takes=(_NUMBER,) * arguments, gives="same", meaning=meaning)


def _real(meaning: Callable[..., Value], arguments: int = 1) -> Function:
    return Function(takes=(_REAL,) * arguments, gives="real", meaning=meaning)


def _comparison(meaning: Callable[..., Value]) -> Function:
    return Function(takes=("any", "any"), gives="boolean", meaning=meaning)


def _choice(meaning: Callable[..., Value]) -> Function:
    return Function(takes=("any",), gives="same", meaning=meaning, many=True, sees_null=True)


def _logic(meaning: Callable[..., Value]) -> Function:
    return Function(takes=("boolean",), gives="boolean", meaning=meaning, many=True, sees_null=True)


def _text(meaning: Callable[..., Value], *more: Takes, gives: Kind = "text", **others: int) -> Function:
    fixed = frozenset(place for place, takes in enumerate(more, 1) if takes == "integer")
    return Function(takes=("text", *more), gives=gives, meaning=meaning, constants=fixed, **others)  # type: ignore[arg-type]  # its fields


def _part(meaning: Callable[..., Value], takes: Takes = "moment") -> Function:
    return Function(takes=(takes,), gives="integer", meaning=meaning)


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "add": _arithmetic(operator.add),
        "subtract": _arithmetic(operator.sub),
        "multiply": _arithmetic(operator.mul),
        "divide": _real(numbers.divide, 2),
        "modulo": _arithmetic(numbers.modulo),
        "negate": _arithmetic(operator.neg, 1),
        "abs": _arithmetic(abs, 1),
        "sign": Function(takes=("number",), gives="integer", meaning=numbers.sign),
        "floor": _real(numbers.floor),
        "ceil": _real(numbers.ceil),
        "round": Function(
            takes=("real", "integer"),
            gives="real",
            meaning=numbers.round_half_up,
            optional=1,
            constants=frozenset({1}),
        ),
        "sqrt": _real(numbers.sqrt),
        "ln": _real(numbers.ln),
        "exp": _real(numbers.exp),
        "power": _real(numbers.power, 2),
        "least": _choice(logic.least),
        "greatest": _choice(logic.greatest),
        "clamp": Function(takes=("number",) * 3, gives="same", meaning=numbers.clamp, constants=frozenset({1, 2})),
        "equal": _comparison(operator.eq),
        "not_equal": _comparison(operator.ne),
        "less": _comparison(operator.lt),
        "less_equal": _comparison(operator.le),
        "greater": _comparison(operator.gt),
        "greater_equal": _comparison(operator.ge),
        "and": _logic(logic.both),
        "or": _logic(logic.either),
        "not": Function(takes=("boolean",), gives="boolean", meaning=operator.not_),
        "is_null": Function(takes=("any",), gives="boolean", meaning=logic.is_null, sees_null=True),
        "in": Function(takes=("any", "any"), gives="boolean", meaning=logic.within, many=True, sees_null=True),
        "coalesce": _choice(logic.coalesce),
        "nullif": Function(takes=("any", "any"), gives="same", meaning=logic.nullif, sees_null=True),
        "lower": _text(text.lower),
        "upper": _text(text.upper),
        "length": _text(text.length, gives="integer"),
        "substring": _text(text.substring, "integer", "integer", optional=1),
        "left": _text(text.left, "integer"),
        "right": _text(text.right, "integer"),
        "trim": _text(text.trim),
        "concat": _text(text.concat, many=True),
        "replace": Function(takes=("text",) * 3, gives="text", meaning=text.replace, constants=frozenset({1})),
        "starts_with": _text(text.starts_with, "text", gives="boolean"),
        "like": Function(takes=("text", "text"), gives="boolean", meaning=text.like, constants=frozenset({1})),
        "year": _part(time.year),
        "quarter": _part(time.quarter),
        "month": _part(time.month),
        "day": _part(time.day),
        "weekday": _part(time.weekday),
        "hour": _part(time.hour, "timestamp"),
        "minute": _part(time.minute, "timestamp"),
        "date_trunc": Function(
            takes=("text", "moment"), gives="same", meaning=time.date_trunc, constants=frozenset({0})
        ),
        "steps": Function(
            takes=("number", "integer", "integer", "integer"),
            gives="integer",
            meaning=numbers.steps,
            constants=frozenset({1, 2, 3}),
            ours=True,
        ),
    }
)
"""Every listed function by its name in `Call` and `Computed`."""


def apply(name: str, values: Sequence[Value], kind: Kind) -> Value:
    """Return a function's value, of a kind, for some arguments.

    >>> apply("divide", [1, 0], "real"), apply("and", [False, None], "boolean"), apply("add", [2**62, 2**62], "integer")
    (None, False, None)
    """
    function = FUNCTIONS[name]
    there = [None if _is_nan(value) else value for value in values]
    there = there if function.ours else _alike(there)
    if None in there and not function.sees_null:
        return None
    return of_kind(function.meaning(*there), kind)


def of_kind(value: Value, kind: Kind) -> Value:
    """Return a number as its kind has it: NULL for NaN and for integers beyond 64 bits, a float for every real."""
    if value is None or _is_nan(value):
        return None
    if kind == "integer" and isinstance(value, int):
        return in_64_bits(value)
    return float(value) if kind == "real" and isinstance(value, int) else value


def _alike(values: list[Value]) -> list[Value]:
    """Return whole numbers as reals where they stand beside reals; only released values come mixed."""
    if not any(isinstance(value, float) for value in values):
        return values
    return [float(value) if isinstance(value, int) else value for value in values]


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and isnan(value)
