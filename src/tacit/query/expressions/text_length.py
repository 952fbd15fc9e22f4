"""The length of a text on a row: at most a multiple of the longest text of the row, plus a number of characters.

A query could aim time and memory at one row: `replace(CASE WHEN name = 'Bob' THEN 'a' END, 'a', '…8,000 letters…')`,
nested, is huge for Bob alone, and a failure of the engine would reveal Bob. So every text has a proved bound, and tacit
refuses a query with a text that could grow too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tacit.errors import RefusedError
from tacit.query.expressions import Call, Cast, Column, Constant, Expression
from tacit.query.refusals import refused, sql_spelling

_MOST_TIMES, _MOST_MORE = 16, 10_000
_PRINTED = 64
"""The greatest length of a number, a date or a truth value as text."""


class Length(NamedTuple):
    """A bound on a length: `times` times the longest text of a row, plus `more` characters."""

    times: int = 0
    more: int = 0


EMPTY = Length()


def length_of(expression: Expression, parts: Sequence[Length]) -> Length:
    """Return a bound on a text's length from those of its parts, or raise RefusedError if it could grow too long.

    >>> length_of(Constant("north", "text"), [])
    Length(times=0, more=5)
    """
    length = _length(expression, parts) if expression.kind == "text" else Length(0, _PRINTED)
    if length.times > _MOST_TIMES or length.more > _MOST_MORE:
        raise _too_long(expression, length)
    return length


def _too_long(expression: Expression, length: Length) -> RefusedError:
    """Return the error for a text that could grow too long: a literal, or the result of a function."""
    if isinstance(expression, Constant):
        return refused(f"A text literal has {length.more:,} characters; the limit is {_MOST_MORE:,}", "Shorten it.")
    name = sql_spelling(expression.function) if isinstance(expression, Call) else "An expression"
    most = f"{_MOST_TIMES} times the row's longest text plus {_MOST_MORE:,} characters"
    return refused(
        f"{name} could make a text longer than {most}",
        "Combine fewer columns, use shorter literals, or use shorter replacements.",
    )


def _length(expression: Expression, parts: Sequence[Length]) -> Length:  # noqa: PLR0911 - one return for each form
    match expression:
        case Column():
            return Length(1, 0)
        case Constant(value=value):
            return Length(0, len(value) if isinstance(value, str) else 0)
        case Call(function="concat"):
            return Length(sum(part.times for part in parts), sum(part.more for part in parts))
        case Call(function="replace", arguments=(_, pattern, by)):
            return _times(parts[0], _growth(pattern, by))
        case Call(function="lower" | "upper"):
            return _times(parts[0], 3)  # 'ΐ' has three letters in upper case
        case Cast() if parts and expression.operand.kind != "text":
            return Length(0, _PRINTED)
    return Length(max((part.times for part in parts), default=0), max((part.more for part in parts), default=0))


def _growth(pattern: Expression, by: Expression) -> int:
    """Return the factor by which a replacement can lengthen a text; a number above the limit if it is not known."""
    if not isinstance(by, Constant) or not isinstance(by.value, str):
        return 1 if isinstance(by, Constant) else _MOST_MORE
    old = len(pattern.value) if isinstance(pattern, Constant) and isinstance(pattern.value, str) else 1
    return max(1, -(-len(by.value) // max(old, 1)))


def _times(length: Length, factor: int) -> Length:
    return Length(length.times * factor, length.more * factor)
