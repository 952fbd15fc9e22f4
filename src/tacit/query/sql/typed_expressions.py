"""Typed expressions: an expression with its proved range and its size, and all casts written out.

`call` casts the arguments to the kinds that the function takes. It computes constants at once. It computes in reals if
integers could leave ±2^62. No expression grows beyond the size that engines can compile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isinf

from sqlglot import exp

from tacit.errors import InvalidError, show
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, Value
from tacit.query.expressions.casts import CASTS, HIGHEST, LOWEST, cast
from tacit.query.expressions.functions import ALIKE, FUNCTIONS, Function, Takes, apply
from tacit.query.expressions.ranges import Range, range_of
from tacit.query.expressions.text_length import EMPTY, Length, length_of
from tacit.query.refusals import refused, sql_spelling

_MOST_NODES = 10_000
_DEEPEST = 64
_SAFE = Fraction(2) ** 62
_NUMBERS = ("integer", "real")
_MOMENTS = ("date", "timestamp")
_ALLOWED: Mapping[Takes, tuple[str, ...]] = {
    "number": _NUMBERS,
    "moment": _MOMENTS,
    "quantity": (*_NUMBERS, *_MOMENTS),
}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "IN")
_INTEGER_FUNCTIONS = ("add", "subtract", "multiply", "modulo", "negate", "abs")
_KIND_NAMES: Mapping[Kind, str] = {
    "integer": "a whole number",
    "real": "a number",
    "date": "a date",
    "timestamp": "a timestamp",
}
_OFFSET = re.compile(r":\d\d(\.\d+)?\s*([+-]\d\d(:?\d\d)?|Z|UTC)$")
_KIND_FORMATS: Mapping[Kind, str] = {"date": "YYYY-MM-DD", "timestamp": "YYYY-MM-DD HH:MM:SS"}
_TYPES: Mapping[str, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_INDEFINITE: Mapping[str, str] = {**dict(_KIND_NAMES.items()), "text": "a text", "boolean": "a boolean"}
_CAST_HINT = "CAST(x AS …) changes the kind of a value."


@dataclass(frozen=True, slots=True)
class TypedExpression:
    """An expression, its range and its size.

    `released` is True if it is computed from released values. There integers are safe: a result outside 64 bits is
    NULL.
    """

    expression: Expression
    known: Range
    nodes: int = 1
    depth: int = 1
    released: bool = False
    length: Length = EMPTY

    @property
    def kind(self) -> Kind:
        """The kind of the expression."""
        return self.expression.kind

    @property
    def is_null(self) -> bool:
        """True if it is the constant NULL, which fits every kind."""
        return isinstance(self.expression, Constant) and self.expression.value is None


Translate = Callable[[exp.Expr], TypedExpression]
"""Translates a part of a node."""


def typed_column(column: Column, *, released: bool = False) -> TypedExpression:
    """Return a column or a released value as a typed expression; it has no range, even if the column has bounds."""
    return TypedExpression(column, range_of(column, [], {}), released=released, length=length_of(column, []))


def constant(value: Value, kind: Kind) -> TypedExpression:
    """Return a constant as a typed expression."""
    expression = Constant(value, kind)
    return TypedExpression(expression, range_of(expression, [], {}), length=length_of(expression, []))


def call(name: str, *arguments: TypedExpression) -> TypedExpression:
    """Return a call of a listed function, its arguments cast as needed, or raise RefusedError.

    >>> half = call("divide", constant(1, "integer"), constant(2, "integer"))
    >>> half.expression, half.kind
    (Constant(value=0.5, kind='real'), 'real')
    """
    function = FUNCTIONS[name]
    if not function.fits(len(arguments)):
        raise refused(f"The function {sql_spelling(name)} does not take {len(arguments)} arguments")
    for index in function.constants & set(range(len(arguments))):
        if not isinstance(arguments[index].expression, Constant):
            raise refused(f"Argument {index + 1} of {sql_spelling(name)} must be a constant", "Write the value itself.")
    terms = _cast_arguments(name, function, arguments)
    kind = _result_kind(function, terms)
    result = _call(name, terms, kind)
    if name in _INTEGER_FUNCTIONS and kind == "integer" and not _is_safe(name, result, terms):
        return _call(name, [coerce(term, "real") for term in terms], "real")
    return result


def _call(name: str, terms: Sequence[TypedExpression], kind: Kind) -> TypedExpression:
    expression = Call(name, tuple(term.expression for term in terms), kind)
    return _fold(build(expression, terms))


def _is_safe(name: str, result: TypedExpression, terms: Sequence[TypedExpression]) -> bool:
    """Return whether integer arithmetic fits 64 bits on every row. -2^63 modulo -1 is the only remainder that fails."""
    if isinstance(result.expression, Constant):
        return result.expression.value is not None or name == "modulo" or any(term.is_null for term in terms)
    if result.released:
        return True
    if name == "modulo" and not _fits(terms[0].known):
        divisor = terms[1].known.ends
        return divisor is not None and not divisor[0] <= -1 <= divisor[1] and _fits(result.known)
    return _fits(result.known)


def _fits(known: Range) -> bool:
    return known.ends is not None and known.ends[0] >= -_SAFE and known.ends[1] <= _SAFE


def build(expression: Expression, parts: Sequence[TypedExpression]) -> TypedExpression:
    """Return an expression as a typed one, from its typed parts, or raise RefusedError if it grows too large."""
    nodes, depth = 1 + sum(part.nodes for part in parts), 1 + max((part.depth for part in parts), default=0)
    if nodes > _MOST_NODES:
        reason = f"An expression has {nodes:,} parts; the limit is {_MOST_NODES:,}"
        raise refused(reason, "List fewer values, or run several queries.")
    if depth > _DEEPEST:
        reason = f"An expression is nested too deep: {depth} levels; the limit is {_DEEPEST}"
        raise refused(reason, "Shorten long sums, and write chains of OR with IN.")
    known = range_of(expression, [part.known for part in parts], {})
    length = length_of(expression, [part.length for part in parts])
    return TypedExpression(expression, known, nodes, depth, any(part.released for part in parts), length)


def _fold(term: TypedExpression) -> TypedExpression:
    """Return a call of constants as a constant; ±inf stays a call, because not every engine can write it."""
    expression = term.expression
    if not isinstance(expression, Call) or not all(isinstance(part, Constant) for part in expression.arguments):
        return term
    values = [part.value for part in expression.arguments if isinstance(part, Constant)]
    value = apply(expression.function, values, expression.kind)
    return term if isinstance(value, float) and isinf(value) else constant(value, expression.kind)


def _cast_arguments(name: str, function: Function, terms: Sequence[TypedExpression]) -> list[TypedExpression]:
    """Return the arguments in the kinds that the function takes; arguments of one kind get their common kind."""
    takes = [function.takes_at(index) for index in range(len(terms))]
    alike = [term for term, take in zip(terms, takes, strict=True) if take in ALIKE]
    common = common_kind(alike, name) if alike else None
    return [_cast_argument(name, term, take, common) for term, take in zip(terms, takes, strict=True)]


def _cast_argument(name: str, term: TypedExpression, take: Takes, common: Kind | None) -> TypedExpression:
    if take in ALIKE:
        allowed: Sequence[str] = _ALLOWED.get(take, ())
        if common is None or (allowed and common not in allowed):
            raise _wrong_kind(name, term.kind, take)
        return coerce(term, common)
    if take == term.kind or term.is_null or (take, term.kind) in (("real", "integer"), ("timestamp", "date")):
        return coerce(term, take)  # type: ignore[arg-type]  # a kind, since it is not in ALIKE
    raise _wrong_kind(name, term.kind, take)


def _wrong_kind(name: str, kind: Kind, take: str) -> Exception:
    names = {
        "number": "numbers",
        "moment": "dates or timestamps",
        "quantity": "numbers, dates or timestamps",
        "real": "numbers",
        "integer": "whole numbers",
        "boolean": "conditions",
    }
    kinds = _ALLOWED.get(take, (take,))  # type: ignore[call-overload]  # other words are kinds
    return refused(f"{sql_spelling(name)} takes {names.get(take, take)}, not {kind}", cast_hint(kind, kinds))


def cast_hint(kind: Kind, kinds: Sequence[str]) -> str:
    """Return the advice for a value of a wrong kind: a cast to one of the kinds, if there is one."""
    possible = [each for each in kinds if (kind, each) in CASTS]
    if not possible:
        return f"No cast changes {_INDEFINITE[kind]} into {_INDEFINITE[kinds[0]]}. Use another column."
    return f"CAST(x AS {_TYPES[possible[0]]}) makes {_INDEFINITE[possible[0]]}."


def _result_kind(function: Function, terms: Sequence[TypedExpression]) -> Kind:
    if function.gives != "same":
        return function.gives
    index = next(i for i in range(len(terms)) if function.takes_at(i) in ALIKE)
    return terms[index].kind


def common_kind(terms: Sequence[TypedExpression], name: str) -> Kind:
    """Return the kind that several terms can share, or raise RefusedError.

    NULL fits all kinds. Integers become reals, and dates become timestamps. A text constant becomes the date or the
    number that it is compared with.
    """
    values = [term for term in terms if not term.is_null]
    kinds = {term.kind for term in values if not _is_text_constant(term)} or {term.kind for term in values}
    if not kinds:
        return terms[0].kind
    for pair, kind in ((("integer", "real"), "real"), (("date", "timestamp"), "timestamp")):
        if kinds == set(pair):
            return kind  # type: ignore[return-value]  # one of the two kinds above
    if len(kinds) > 1:
        raise _mixed_kinds(name, kinds)
    common = kinds.pop()
    fits = common in ("text", "date", "timestamp") or (common in _NUMBERS and name in _COMPARISONS)
    if not fits and any(term.kind == "text" for term in values):
        raise _mixed_kinds(name, {common, "text"})
    return common


def _mixed_kinds(name: str, kinds: set[Kind]) -> Exception:
    castable = any((a, b) in CASTS for a in kinds for b in kinds)
    hint = _CAST_HINT if castable else "No cast makes them one kind. Use other columns or constants."
    return refused(f"{sql_spelling(name)} takes values of one kind, not {' and '.join(sorted(kinds))}", hint)


def _is_text_constant(term: TypedExpression) -> bool:
    return isinstance(term.expression, Constant) and term.kind == "text"


def coerce(term: TypedExpression, kind: Kind) -> TypedExpression:
    """Return a term in a kind to which it is cast implicitly."""
    expression = term.expression
    if term.kind == kind:
        return term
    if not isinstance(expression, Constant):
        return build(Cast(expression, kind), [term])
    value = cast(expression.value, expression.kind, kind)
    if value is None and expression.value is not None:
        hint = f"Write it as {_KIND_FORMATS[kind]}." if kind in _KIND_FORMATS else None
        if kind == "timestamp" and _OFFSET.search(str(expression.value)):
            hint = "Constants are local times in the policy's timezone; write it without an offset."
        message = f"{show(expression.value)} is not {_KIND_NAMES.get(kind, kind)}."
        raise InvalidError(message, argument="sql", hint=hint)
    return constant(value, kind)


def cast_to(term: TypedExpression, kind: Kind) -> TypedExpression:
    """Return an explicit cast to a kind, NULL for a value that cannot be cast, or raise RefusedError."""
    if term.kind == kind or term.is_null:
        return coerce(term, kind)
    if (term.kind, kind) not in CASTS:
        raise refused(f"A cast from {term.kind} to {kind} is not supported, because engines differ in it")
    if isinstance(term.expression, Constant) and kind not in ("date", "timestamp"):
        return constant(cast(term.expression.value, term.kind, kind), kind)
    result = coerce(term, kind)
    if (term.kind, kind) == ("real", "integer") and result.known.ends is not None:
        return _clamp_to_range(result, *result.known.ends)
    return result


def _clamp_to_range(whole: TypedExpression, low: Fraction, high: Fraction) -> TypedExpression:
    """Return an integer that was a real, clamped to its proved range.

    The proof leaves out the rounding of doubles. On a row a real may be outside its range: by a last bit, or by far
    more if a large number was added and subtracted again. Integers must stay in their ranges, because the ranges prove
    that arithmetic does not overflow, and an overflow would be an error that reveals a row. This is the only place
    where a real becomes an integer.
    """
    first, last = max(floor(low), LOWEST), min(ceil(high), HIGHEST)
    if first > last:
        return constant(None, "integer")
    return call("clamp", whole, constant(first, "integer"), constant(last, "integer"))


def as_number(term: TypedExpression, function: str) -> TypedExpression:
    """Return a condition as 0 and 1 if it is summed or averaged; return anything else unchanged."""
    return cast_to(term, "integer") if term.kind == "boolean" and function in ("sum", "avg") else term


def case(
    branches: Sequence[tuple[TypedExpression, TypedExpression]], otherwise: TypedExpression | None
) -> TypedExpression:
    """Return a CASE, after checking that its conditions are conditions and that its results have one kind."""
    results = [result for _, result in branches] + ([] if otherwise is None else [otherwise])
    kind = common_kind(results, "CASE")
    pairs = [(condition(test, "WHEN"), coerce(result, kind)) for test, result in branches]
    last = None if otherwise is None else coerce(otherwise, kind)
    parts = [part for pair in pairs for part in pair] + ([] if last is None else [last])
    expression = Case(
        tuple((test.expression, result.expression) for test, result in pairs),
        None if last is None else last.expression,
        kind,
    )
    return build(expression, parts)


def condition(term: TypedExpression, clause: str) -> TypedExpression:
    """Return the term of a clause if it is a condition; otherwise raise RefusedError."""
    if term.kind == "boolean" or term.is_null:
        return coerce(term, "boolean")
    raise refused(f"{clause} takes a condition, not {term.kind}", "Compare the value with another.")


def conjunction(terms: Iterable[TypedExpression]) -> Expression | None:
    """Return the expression that is true if all conditions are; None if there are no conditions."""
    met = [term.expression for term in terms]
    return met[0] if len(met) == 1 else Call("and", tuple(met), "boolean") if met else None
