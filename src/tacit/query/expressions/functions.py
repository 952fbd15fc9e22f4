"""The listed functions: the kinds of their arguments, the kind of their result, and their meaning.

The list is closed. Each function is total: it has a value for all arguments of its kinds, NULL where SQL would fail,
and it has the same meaning in every engine. The meaning is defined in Python on single values, with None for NULL. It
is used to list public keys, to compute with released values, and to test the engines' SQL. Rules:

* a NULL argument makes the result NULL, unless the function `sees_null`;
* NaN counts as NULL, in arguments, columns and results; ±inf is an ordinary number;
* all arguments that take one of `ALIKE` have one kind; the parser writes the necessary casts into the plan;
* an integer result outside 64 bits is NULL. Over rows this cannot happen: addition, subtraction, multiplication,
  negation and absolute value use integers only if the range of the result is proved to fit ±2^62, and reals otherwise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import isnan
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from tacit.query.expressions import Kind, Value, numbers, text, time
from tacit.query.expressions.casts import in_64_bits

Takes: TypeAlias = Literal["number", "real", "integer", "text", "boolean", "moment", "timestamp", "quantity", "any"]
"""The kind of an argument: "number" is integer or real, "moment" is date or timestamp, "quantity" is either."""

ALIKE: Final[tuple[Takes, ...]] = ("number", "moment", "quantity", "any")
"""All arguments of a call that take one of these have one kind."""

NonNull = float | str | date | datetime
"""A value that is not NULL; all arguments of a call have one kind."""

_NUMBER: Takes = "number"
_REAL: Takes = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One listed function.

    `takes` are the kinds of the arguments. The last `optional` arguments may be omitted; with `many` the last one may
    be repeated. `gives` is the kind of the result; "same" is the kind of the arguments in `ALIKE`. The arguments at the
    indices in `constants` must be constants. Aggregates, dates and time zones use an `internal` function, but a query
    cannot call it; its arguments keep their kinds.
    """

    takes: tuple[Takes, ...]
    gives: Kind | Literal["same"]
    meaning: Callable[..., Value]
    optional: int = 0
    many: bool = False
    sees_null: bool = False
    constants: frozenset[int] = frozenset()
    internal: bool = False

    def fits(self, count: int) -> bool:
        """Return whether the function can be called with this number of arguments."""
        return len(self.takes) - self.optional <= count and (self.many or count <= len(self.takes))

    def takes_at(self, index: int) -> Takes:
        """Return the kind of the argument at an index."""
        return self.takes[min(index, len(self.takes) - 1)]


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
    fixed = frozenset(index for index, takes in enumerate(more, 1) if takes == "integer")
    return Function(takes=("text", *more), gives=gives, meaning=meaning, constants=fixed, **others)  # type: ignore[arg-type]  # its fields


def _part(meaning: Callable[..., Value], takes: Takes = "moment") -> Function:
    return Function(takes=(takes,), gives="integer", meaning=meaning)


def _and(*truths: bool | None) -> bool | None:
    """Return false if any is false, else NULL if any is NULL, else true.

    >>> _and(True, None), _and(False, None)
    (None, False)
    """
    return False if False in truths else None if None in truths else True


def _or(*truths: bool | None) -> bool | None:
    """Return true if any is true, else NULL if any is NULL, else false.

    >>> _or(True, None), _or(False, None)
    (True, None)
    """
    return True if True in truths else None if None in truths else False


def _is_null(value: NonNull | None) -> bool:
    return value is None


def _in(value: NonNull | None, *options: NonNull | None) -> bool | None:
    """Return true if an option equals the value, else NULL if it or an option is NULL, else false."""
    if value is None:
        return None
    return True if value in options else None if None in options else False


def _coalesce(*values: NonNull | None) -> NonNull | None:
    """Return the first value that is not NULL."""
    return next((value for value in values if value is not None), None)


def _nullif(a: NonNull | None, b: NonNull | None) -> NonNull | None:
    """Return NULL if a = b, else a."""
    return None if a == b else a


def _least(*values: NonNull | None) -> NonNull | None:
    """Return the least of the values that are not NULL; NULL if all are. Text is compared by code point."""
    return min((value for value in values if value is not None), default=None)


def _greatest(*values: NonNull | None) -> NonNull | None:
    """Return the largest of the values that are not NULL; NULL if all are. Text is compared by code point."""
    return max((value for value in values if value is not None), default=None)


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
        "least": _choice(_least),
        "greatest": _choice(_greatest),
        "clamp": Function(takes=("quantity",) * 3, gives="same", meaning=numbers.clamp, constants=frozenset({1, 2})),
        "equal": _comparison(operator.eq),
        "not_equal": _comparison(operator.ne),
        "less": _comparison(operator.lt),
        "less_equal": _comparison(operator.le),
        "greater": _comparison(operator.gt),
        "greater_equal": _comparison(operator.ge),
        "and": _logic(_and),
        "or": _logic(_or),
        "not": Function(takes=("boolean",), gives="boolean", meaning=operator.not_),
        "is_null": Function(takes=("any",), gives="boolean", meaning=_is_null, sees_null=True),
        "in": Function(takes=("any", "any"), gives="boolean", meaning=_in, many=True, sees_null=True),
        "coalesce": _choice(_coalesce),
        "nullif": Function(takes=("any", "any"), gives="same", meaning=_nullif, sees_null=True),
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
        "week": _part(time.week),
        "isoyear": _part(time.isoyear),
        "yearday": _part(time.yearday),
        "hour": _part(time.hour, "timestamp"),
        "minute": _part(time.minute, "timestamp"),
        "second": _part(time.second, "timestamp"),
        "date_trunc": Function(
            takes=("text", "moment"), gives="same", meaning=time.date_trunc, constants=frozenset({0})
        ),
        "ordinal": Function(
            takes=("text", "moment"), gives="integer", meaning=time.ordinal, constants=frozenset({0}), internal=True
        ),
        "date_at": Function(takes=("integer",), gives="date", meaning=time.date_at, internal=True),
        "timestamp_at": Function(takes=("integer",), gives="timestamp", meaning=time.timestamp_at, internal=True),
        "add_months": Function(takes=("moment", "integer"), gives="same", meaning=time.add_months, internal=True),
        "quotient": Function(
            takes=("integer", "integer"),
            gives="integer",
            meaning=numbers.quotient,
            constants=frozenset({1}),
            internal=True,
        ),
        "add_seconds": Function(
            takes=("timestamp", "integer"), gives="timestamp", meaning=time.add_seconds, internal=True
        ),
        "steps": Function(
            takes=("number", "integer", "integer", "integer"),
            gives="integer",
            meaning=numbers.steps,
            constants=frozenset({1, 2, 3}),
            internal=True,
        ),
    }
)
"""Every listed function by its name in `Call` and `Computed`."""


def apply(name: str, values: Sequence[Value], kind: Kind) -> Value:
    """Return the value of a function, as its kind requires.

    >>> apply("divide", [1, 0], "real"), apply("and", [False, None], "boolean"), apply("add", [2**62, 2**62], "integer")
    (None, False, None)
    """
    function = FUNCTIONS[name]
    arguments = [None if _is_nan(value) else value for value in values]
    arguments = arguments if function.internal else _same_kind(arguments)
    if None in arguments and not function.sees_null:
        return None
    return of_kind(function.meaning(*arguments), kind)


def of_kind(value: Value, kind: Kind) -> Value:
    """Return a value as its kind requires: NULL for NaN and for integers beyond 64 bits, a float for every real."""
    if value is None or _is_nan(value):
        return None
    if kind == "integer" and isinstance(value, int):
        return in_64_bits(value)
    return float(value) if kind == "real" and isinstance(value, int) else value


def _same_kind(values: list[Value]) -> list[Value]:
    """Return whole numbers as reals if there are reals among them; only released values are mixed."""
    if not any(isinstance(value, float) for value in values):
        return values
    return [float(value) if isinstance(value, int) else value for value in values]


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and isnan(value)
