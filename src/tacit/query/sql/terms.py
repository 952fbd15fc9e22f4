"""Typed terms: an expression with what is known of it, built with all casts written out.

The arguments of a call are brought to the kinds that its function takes; what is constant is computed at once; integer
arithmetic that could leave ±2^62 is done in reals; and no term grows beyond what engines can compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isinf

from tacit.errors import InvalidError, show
from tacit.query.expressions import Call, Case, Cast, Constant, Expression, Kind, Value
from tacit.query.expressions.casts import CASTS, HIGHEST, LOWEST, cast
from tacit.query.expressions.functions import FUNCTIONS, Function, Takes, apply
from tacit.query.expressions.ranges import Range, range_of
from tacit.query.expressions.text_length import NOTHING, Length, length_of
from tacit.query.refusals import refused, spelled

_MOST_NODES = 10_000
_DEEPEST = 64
_SAFE = Fraction(2) ** 62
_NUMBERS = ("integer", "real")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "IN")
_STAYS_INTEGER = ("add", "subtract", "multiply", "modulo", "negate", "abs")
_ARTICLES: Mapping[Kind, str] = {
    "integer": "a whole number",
    "real": "a number",
    "date": "a date",
    "timestamp": "a timestamp",
}
_LITERALS: Mapping[Kind, str] = {"date": "YYYY-MM-DD", "timestamp": "YYYY-MM-DD HH:MM:SS"}


@dataclass(frozen=True, slots=True)
class Term:
    """An expression, its range and its size; `released` if computed from released values, where integers are safe."""

    expression: Expression
    known: Range
    nodes: int = 1
    depth: int = 1
    released: bool = False
    length: Length = NOTHING

    @property
    def kind(self) -> Kind:
        """The kind of the expression."""
        return self.expression.kind

    @property
    def is_null(self) -> bool:
        """Whether it is the bare NULL, which fits every kind."""
        return isinstance(self.expression, Constant) and self.expression.value is None


def leaf(expression: Expression, *, released: bool = False) -> Term:
    """Return the term of a column or of a released value; a raw column has no range, whatever its bounds."""
    return Term(expression, range_of(expression, [], {}), released=released, length=length_of(expression, []))


def constant(value: Value, kind: Kind) -> Term:
    """Return the term of a constant."""
    expression = Constant(value, kind)
    return Term(expression, range_of(expression, [], {}), length=length_of(expression, []))


def call(name: str, *arguments: Term) -> Term:
    """Return the term of a listed function, its arguments cast as needed, or raise RefusedError.

    >>> half = call("divide", constant(1, "integer"), constant(2, "integer"))
    >>> half.expression, half.kind
    (Constant(value=0.5, kind='real'), 'real')
    """
    function = FUNCTIONS[name]
    if not function.fits(len(arguments)):
        raise refused(f"The function {spelled(name)} does not take {len(arguments)} arguments")
    for place in function.constants & set(range(len(arguments))):
        if not isinstance(arguments[place].expression, Constant):
            raise refused(f"Argument {place + 1} of {spelled(name)} must be a constant", "Write the value itself.")
    terms = _brought_together(name, function, arguments)
    kind = _gives(function, terms)
    built = _call(name, terms, kind)
    if name in _STAYS_INTEGER and kind == "integer" and not _is_safe(name, built, terms):
        return _call(name, [coerce(term, "real") for term in terms], "real")
    return built


def _call(name: str, terms: Sequence[Term], kind: Kind) -> Term:
    expression = Call(name, tuple(term.expression for term in terms), kind)
    return _folded(build(expression, terms))


def _is_safe(name: str, built: Term, terms: Sequence[Term]) -> bool:
    """Whether integer arithmetic stays in 64 bits on every row; -2^63 modulo -1 is the one remainder that does not."""
    if isinstance(built.expression, Constant):
        return built.expression.value is not None or name == "modulo" or any(term.is_null for term in terms)
    if built.released:
        return True
    if name == "modulo" and not _fits(terms[0].known):
        divisor = terms[1].known.ends
        return divisor is not None and not divisor[0] <= -1 <= divisor[1] and _fits(built.known)
    return _fits(built.known)


def _fits(known: Range) -> bool:
    return known.ends is not None and known.ends[0] >= -_SAFE and known.ends[1] <= _SAFE


def build(expression: Expression, parts: Sequence[Term]) -> Term:
    """Return the term of an expression of which the parts are terms, or raise RefusedError if it grows too large."""
    nodes, depth = 1 + sum(part.nodes for part in parts), 1 + max((part.depth for part in parts), default=0)
    if nodes > _MOST_NODES:
        what = f"An expression has {nodes:,} parts; the limit is {_MOST_NODES:,}"
        raise refused(what, "List fewer values, or ask several questions.")
    if depth > _DEEPEST:
        what = f"An expression is nested too deep: {depth} levels, and the limit is {_DEEPEST}"
        raise refused(what, "Shorten long sums, and write chains of OR with IN.")
    known = range_of(expression, [part.known for part in parts], {})
    length = length_of(expression, [part.length for part in parts])
    return Term(expression, known, nodes, depth, any(part.released for part in parts), length)


def _folded(term: Term) -> Term:
    """Return a call of constants as a constant; ±inf stays a call, since not every engine can write it."""
    expression = term.expression
    if not isinstance(expression, Call) or not all(isinstance(part, Constant) for part in expression.arguments):
        return term
    values = [part.value for part in expression.arguments if isinstance(part, Constant)]
    value = apply(expression.function, values, expression.kind)
    return term if isinstance(value, float) and isinf(value) else constant(value, expression.kind)


def _brought_together(name: str, function: Function, terms: Sequence[Term]) -> list[Term]:
    """Return the arguments in the kinds that the function takes; those that must be alike, alike."""
    takes = [function.takes_at(place) for place in range(len(terms))]
    alike = [term for term, want in zip(terms, takes, strict=True) if want in ("any", "number", "moment")]
    common = common_kind(alike, name) if alike else None
    return [_fitted(name, term, want, common) for term, want in zip(terms, takes, strict=True)]


def _fitted(name: str, term: Term, want: Takes, common: Kind | None) -> Term:
    if want in ("any", "number", "moment"):
        allowed: Sequence[str] = {"number": _NUMBERS, "moment": ("date", "timestamp")}.get(want, ())
        if common is None or (allowed and common not in allowed):
            raise _misfit(name, term.kind, want)
        return coerce(term, common)
    if want == term.kind or term.is_null or (want, term.kind) in (("real", "integer"), ("timestamp", "date")):
        return coerce(term, want)  # type: ignore[arg-type]  # a kind, since none of the three above
    raise _misfit(name, term.kind, want)


def _misfit(name: str, kind: Kind, want: str) -> Exception:
    wanted = {"number": "numbers", "moment": "dates or timestamps", "real": "numbers", "boolean": "conditions"}
    how = "CAST(x AS …) turns one kind into another."
    return refused(f"{spelled(name)} takes {wanted.get(want, want)}, not {kind}", how)


def _gives(function: Function, terms: Sequence[Term]) -> Kind:
    if function.gives != "same":
        return function.gives
    place = next(p for p in range(len(terms)) if function.takes_at(p) in ("any", "number", "moment"))
    return terms[place].kind


def common_kind(terms: Sequence[Term], name: str) -> Kind:
    """Return the kind that several terms can share, or raise RefusedError.

    NULL fits all; integers become reals, dates timestamps, and a text in the question the date or the number that it is
    compared to.
    """
    given = [term for term in terms if not term.is_null]
    kinds = {term.kind for term in given if not _is_text_constant(term)} or {term.kind for term in given}
    if not kinds:
        return terms[0].kind
    for pair, kind in ((("integer", "real"), "real"), (("date", "timestamp"), "timestamp")):
        if kinds == set(pair):
            return kind  # type: ignore[return-value]  # one of the two kinds above
    if len(kinds) > 1:
        raise _mixed(name, kinds)
    common = kinds.pop()
    fits = common in ("text", "date", "timestamp") or (common in _NUMBERS and name in _COMPARISONS)
    if not fits and any(term.kind == "text" for term in given):
        raise _mixed(name, {common, "text"})
    return common


def _mixed(name: str, kinds: set[Kind]) -> Exception:
    return refused(
        f"{spelled(name)} takes values of one kind, not {' and '.join(sorted(kinds))}",
        "CAST(x AS …) turns one kind into another.",
    )


def _is_text_constant(term: Term) -> bool:
    return isinstance(term.expression, Constant) and term.kind == "text"


def coerce(term: Term, kind: Kind) -> Term:
    """Return a term in a kind to which it can be brought without being asked."""
    expression = term.expression
    if term.kind == kind:
        return term
    if not isinstance(expression, Constant):
        return build(Cast(expression, kind), [term])
    value = cast(expression.value, expression.kind, kind)
    if value is None and expression.value is not None:
        written = f" as {_LITERALS[kind]}" if kind in _LITERALS else ""
        raise InvalidError(
            "sql", show(expression.value), f"a question that writes {_ARTICLES.get(kind, kind)}{written}"
        )
    return constant(value, kind)


def cast_to(term: Term, kind: Kind) -> Term:
    """Return what the question casts to a kind, NULL where that is not possible, or raise RefusedError."""
    if term.kind == kind or term.is_null:
        return coerce(term, kind)
    if (term.kind, kind) not in CASTS:
        raise refused(f"A cast from {term.kind} to {kind} is not answered, since engines differ in it")
    if isinstance(term.expression, Constant) and kind not in ("date", "timestamp"):
        return constant(cast(term.expression.value, term.kind, kind), kind)
    found = coerce(term, kind)
    if (term.kind, kind) == ("real", "integer") and found.known.ends is not None:
        return _kept_within(found, *found.known.ends)
    return found


def _kept_within(whole: Term, low: Fraction, high: Fraction) -> Term:
    """Return an integer that was a real, clamped to its proved range.

    The proof leaves the rounding of doubles out, and on a row a real may be beyond it: by a last bit, or by far more
    where a large number was added and taken off again. Integers must keep to their ranges, since it is by them that
    arithmetic is known not to overflow; an overflow would be an error that tells of a row. This is the one place where
    a real becomes an integer.
    """
    first, last = max(floor(low), LOWEST), min(ceil(high), HIGHEST)
    if first > last:
        return constant(None, "integer")
    return call("clamp", whole, constant(first, "integer"), constant(last, "integer"))


def as_number(term: Term, function: str) -> Term:
    """Return a condition that is added up or averaged as 0 and 1; anything else as it is."""
    return cast_to(term, "integer") if term.kind == "boolean" and function in ("sum", "avg") else term


def case(branches: Sequence[tuple[Term, Term]], otherwise: Term | None) -> Term:
    """Return the term of a CASE whose conditions are conditions and whose results have one kind."""
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


def condition(term: Term, where: str) -> Term:
    """Return a term that is a condition, or raise RefusedError."""
    if term.kind == "boolean" or term.is_null:
        return coerce(term, "boolean")
    raise refused(f"{where} takes a condition, not {term.kind}", "Compare the value with another.")
