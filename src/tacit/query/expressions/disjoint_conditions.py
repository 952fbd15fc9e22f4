"""Conditions that no row can satisfy together: a sound test, which does not find all of them.

`cases(condition)` is a list of cases. In each case some parts of the row's expressions have values in known sets
(`value_sets`). **Statement.** If a condition is true on a row, the row is in at least one of its cases. So if each case
of one condition contradicts each case of another, in the set of some part, then no row satisfies both: the part has one
value on the row, which would have to be in two sets that have nothing in common.

**A part has one value on a row.** It is an expression of listed functions over the raw columns. The functions are
deterministic and have one meaning in all engines and all statements (`functions`). Only the last bits of logarithms and
powers depend on an engine's library, so nothing is concluded from them. Conditions read raw columns: no bounds of a
policy are applied to them, and none are used here. Both conditions must be evaluated on one state of the data, which
`Engine.one_state` ensures.

**Proof**, by induction over the condition. `_cases(condition, truths)` covers the rows on which it has one of these
truths.

* AND is true if all parts are true, and false if one is false. It is NULL only if a part is NULL, and true or NULL only
  if every part is. OR is NOT (NOT a AND NOT b). NOT exchanges true and false, and keeps NULL.
* A comparison with a constant is true for the values of a set, false for all other values, and NULL for NULL alone.
  With the constant NULL it is NULL for everything. IN is the same for several constants; if one of them is NULL, it is
  NULL in place of false. NaN is NULL before a function sees it.
* A comparison of two parts is about their order: the first is below, equal or above. One of the three holds, unless a
  part is NULL; then the comparison is NULL.
* LIKE 'ab%' is true for the texts that start with ab, and LIKE without a wildcard for one text. Any other condition,
  such as a boolean column or another pattern, is a part by itself, with the values false and true.
* COALESCE has the truth of its first part that is not NULL. CASE has that of the first result whose test is true.
* A function that does not see NULL has a value only if its arguments have values. `inverse_images` has more such rules.

A case is dropped only if one of its sets is empty. If there are more than `_MOST_CASES`, facts are dropped, or the
cases become one with the unions of their sets. Both only add rows to the cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Flag
from functools import reduce
from typing import TypeAlias

from tacit.query.expressions import Call, Case, Cast, Constant, Expression, Value, walk
from tacit.query.expressions.functions import FUNCTIONS
from tacit.query.expressions.inverse_images import inverse_image
from tacit.query.expressions.value_sets import (
    ValueSet,
    every,
    from_on,
    nothing,
    only_null,
    points,
    union,
    up_to,
    with_prefix,
)

_MOST_CASES = 64
_LIBRARY = frozenset(("exp", "ln", "power"))
_ORDER = "order"
"""The name of the part that is -1, 0 or 1 if the first of two values is below, equal to or above the second."""


class Truth(Flag):
    """The truths of a condition."""

    NEVER = 0
    TRUE = 1
    FALSE = 2
    NULL = 4
    KNOWN = TRUE | FALSE
    ANY = TRUE | FALSE | NULL

    @property
    def opposite(self) -> Truth:
        """These truths with true and false exchanged."""
        true = Truth.FALSE if Truth.TRUE in self else Truth.NEVER
        false = Truth.TRUE if Truth.FALSE in self else Truth.NEVER
        return true | false | (self & Truth.NULL)


RowFacts: TypeAlias = Mapping[Expression, ValueSet]
"""The facts of one case: parts of the row's expressions, each with a set that has its value."""

Cases: TypeAlias = Sequence[RowFacts]
"""The cases of a condition; without any, the condition is true on no row."""

_ANY_ROW: Cases = ({},)
_NO_ROW: Cases = ()
_FLIPPED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
_ORDERS = {
    "less": [-1],
    "less_equal": [-1, 0],
    "equal": [0],
    "not_equal": [-1, 1],
    "greater_equal": [0, 1],
    "greater": [1],
}


def cases(condition: Expression | None) -> Cases:
    """Return cases that cover all rows on which a condition is true; without a condition, every row.

    >>> from tacit.query.expressions import Column
    >>> x = Column("x", "integer")
    >>> above = Call("greater", (x, Constant(5, "integer")), "boolean")
    >>> below = Call("less", (x, Constant(6, "integer")), "boolean")
    >>> are_disjoint(cases(above), cases(below)), are_disjoint(cases(above), cases(None))
    (True, False)
    """
    return _ANY_ROW if condition is None else _cases(condition, Truth.TRUE)


def are_disjoint(first: Cases, second: Cases) -> bool:
    """Return whether no row can be in a case of each; False if that is not proved."""
    return all(_contradict(one, other) for one in first for other in second)


def _contradict(one: RowFacts, other: RowFacts) -> bool:
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    return any(part in many and (values & many[part]).is_empty for part, values in few.items())


# --- conditions made of conditions --------------------------------------------------------------------------------


def _cases(condition: Expression, truths: Truth) -> Cases:  # noqa: PLR0911 - one return for each form
    """Return cases that cover the rows on which a condition has one of some truths."""
    if truths == Truth.ANY:
        return _ANY_ROW
    match condition:
        case Constant(value=value):
            return _ANY_ROW if truths & _truth_of(value) else _NO_ROW
        case Call(function="not", arguments=(inner,)):
            return _cases(inner, truths.opposite)
        case Call(function="and", arguments=parts):
            return _of_and(parts, truths)
        case Call(function="or", arguments=parts):
            return _of_and([Call("not", (part,), "boolean") for part in parts], truths.opposite)
        case Call(function="is_null", arguments=(inner,)):
            return _of_null_test(inner, truths)
        case Call(function="coalesce", arguments=parts):
            return _of_coalesce(parts, truths)
        case Case():
            return _of_case(condition, truths)
        case _:
            return _of_test(condition, truths)


def _truth_of(value: Value) -> Truth:
    return Truth.NULL if value is None else Truth.TRUE if value else Truth.FALSE


def _of_and(parts: Sequence[Expression], truths: Truth) -> Cases:
    """Return the cases of AND: without false every part has one of the truths, without true at least one part has."""
    if Truth.FALSE not in truths and truths != Truth.NULL:
        return _all_of(_cases(part, truths) for part in parts)
    if Truth.TRUE not in truths:
        return _one_of(_cases(part, truths) for part in parts)
    return _one_of([_of_and(parts, Truth.TRUE), _of_and(parts, truths & ~Truth.TRUE)])


def _of_null_test(inner: Expression, truths: Truth) -> Cases:
    """Return the cases of IS NULL, which is true or false."""
    wanted = (Truth.NULL if Truth.TRUE in truths else Truth.NEVER) | (
        Truth.KNOWN if Truth.FALSE in truths else Truth.NEVER
    )
    if inner.kind == "boolean":
        return _cases(inner, wanted) if wanted else _NO_ROW
    values = every(inner.kind) if Truth.TRUE in wanted else nothing(inner.kind)
    return _fact(inner, values.with_null() if Truth.NULL in wanted else values)


def _of_coalesce(parts: Sequence[Expression], truths: Truth) -> Cases:
    """Return the cases of COALESCE of conditions."""
    found: list[Cases] = []
    before: list[Cases] = []
    for part in parts:
        if truths & Truth.KNOWN:
            found.append(_all_of([*before, _cases(part, truths & Truth.KNOWN)]))
        before.append(_cases(part, Truth.NULL))
    return _one_of([*found, *([_all_of(before)] if Truth.NULL in truths else [])])


def _of_case(condition: Case, truths: Truth) -> Cases:
    """Return the cases of CASE with conditions as results."""
    found: list[Cases] = []
    before: list[Cases] = []
    for test, result in condition.branches:
        found.append(_all_of([*before, _cases(test, Truth.TRUE), _cases(result, truths)]))
        before.append(_cases(test, Truth.FALSE | Truth.NULL))
    last = Constant(None, "boolean") if condition.otherwise is None else condition.otherwise
    return _one_of([*found, _all_of([*before, _cases(last, truths)])])


def _all_of(several: Iterable[Cases]) -> Cases:
    """Return cases that cover the rows that are in a case of each; where they are too many, facts are dropped."""
    return reduce(_both, several, _ANY_ROW)


def _both(first: Cases, second: Cases) -> Cases:
    if len(first) * len(second) > _MOST_CASES:
        return min((first, second), key=len)
    return [facts for one in first for other in second if (facts := _with_facts(one, other.items())) is not None]


def _one_of(several: Iterable[Cases]) -> Cases:
    """Return cases that cover the rows that are in a case of at least one; cases about one same part are one case."""
    alone: dict[Expression, list[ValueSet]] = {}
    others: list[RowFacts] = []
    for facts in (facts for each in several for facts in each):
        if len(facts) == 1:
            ((part, values),) = facts.items()
            alone.setdefault(part, []).append(values)
        else:
            others.append(facts)
    found = [*({part: union(sets)} for part, sets in alone.items()), *others]
    if any(not facts for facts in found):
        return _ANY_ROW
    return found if len(found) <= _MOST_CASES else _merged(found)


def _merged(found: Cases) -> Cases:
    """Return one case with the parts that all cases have, each with the union of its sets."""
    shared = [part for part in found[0] if all(part in facts for facts in found)]
    return [{part: union(facts[part] for facts in found) for part in shared}]


# --- conditions on values -----------------------------------------------------------------------------------------


def _of_test(test: Expression, truths: Truth) -> Cases:
    """Return the cases of a condition on the value of one part."""
    part, *sets = _test(test)
    named = zip((Truth.TRUE, Truth.FALSE, Truth.NULL), sets, strict=True)
    return _fact(part, union([nothing(part.kind), *(values for truth, values in named if truth in truths)]))


def _test(test: Expression) -> tuple[Expression, ValueSet, ValueSet, ValueSet]:  # noqa: PLR0911 - as above
    """Return the part that a condition is about, and its values for which the condition is true, false and NULL."""
    match test:
        case Call(function="in", arguments=(part, *options)) if all(isinstance(each, Constant) for each in options):
            listed = [each.value for each in options if isinstance(each, Constant)]
            return _parted(part, points(listed, part.kind), unknown=None in listed)
        case Call(function=name, arguments=(part, Constant(value=value))) if name in _ORDERS:
            return _comparison(name, part, value)
        case Call(function=name, arguments=(Constant(value=value), part)) if name in _ORDERS:
            return _comparison(_FLIPPED.get(name, name), part, value)
        case Call(function=name, arguments=(left, right)) if name in _ORDERS:
            return _order(name, left, right)
        case Call(function="starts_with", arguments=(part, Constant(value=str(prefix)))):
            return _parted(part, with_prefix(prefix))
        case Call(function="like", arguments=(part, Constant(value=str(pattern)))) if _is_prefix(pattern):
            stem = pattern.rstrip("%")
            return _parted(part, points([stem], "text") if stem == pattern else with_prefix(stem))
        case _:
            return _parted(test, points([True], "boolean"))


def _parted(
    part: Expression, true: ValueSet, *, unknown: bool = False
) -> tuple[Expression, ValueSet, ValueSet, ValueSet]:
    """Return a part with the values for which a condition is true, the others, and NULL.

    If the condition is `unknown` for the others, it is NULL for them, and false for none.
    """
    if unknown:
        return part, true, nothing(part.kind), (~true).with_null()
    return part, true, ~true, only_null(part.kind)


def _comparison(name: str, part: Expression, value: Value) -> tuple[Expression, ValueSet, ValueSet, ValueSet]:
    kind = part.kind
    if value is None:
        return _parted(part, nothing(kind), unknown=True)
    if name in ("equal", "not_equal"):
        equal = points([value], kind)
        return _parted(part, equal if name == "equal" else ~equal)
    rising = (from_on if name in ("less", "greater_equal") else up_to)(value, kind)
    return _parted(part, ~rising if name in ("less", "greater") else rising)


def _order(name: str, left: Expression, right: Expression) -> tuple[Expression, ValueSet, ValueSet, ValueSet]:
    """Return the order of two parts, written so that a < b and b > a are about the same part."""
    if repr(right) < repr(left):
        left, right, name = right, left, _FLIPPED.get(name, name)
    below = points(_ORDERS[name], "integer")
    part = Call(_ORDER, (left, right), "integer")
    return part, below, points([-1, 0, 1], "integer") & ~below, only_null("integer")


def _is_prefix(pattern: str) -> bool:
    """Return whether a LIKE pattern has no wildcard but % at its end."""
    return not set(pattern.rstrip("%")) & {"%", "_"}


# --- facts ----------------------------------------------------------------------------------------------------------


def _fact(part: Expression, values: ValueSet) -> Cases:
    """Return the case in which a part has a value of a set; no case if that cannot be."""
    if any(isinstance(each, Call) and each.function in _LIBRARY for each in walk(part)):
        return _ANY_ROW
    facts = _with_facts({}, [(part, values)])
    return _NO_ROW if facts is None else (facts,)


def _with_facts(facts: RowFacts, more: Iterable[tuple[Expression, ValueSet]]) -> RowFacts | None:
    """Return facts with more of them, and with all that follows; None if they contradict each other."""
    known, waiting = dict(facts), list(more)
    while waiting:
        part, values = waiting.pop()
        values = values & known.get(part, every(part.kind).with_null())
        if values.is_empty:
            return None
        if known.get(part) != values:
            known[part] = values
            waiting.extend(_implied(part, values))
    return known


def _implied(part: Expression, values: ValueSet) -> Iterator[tuple[Expression, ValueSet]]:
    """Yield what the value of a part tells about its arguments."""
    if not values.null:
        for argument in _strict_arguments(part):
            if not isinstance(argument, Constant):
                yield argument, every(argument.kind)
    image = inverse_image(part, values)
    if image is not None:
        yield image


def _strict_arguments(part: Expression) -> tuple[Expression, ...]:
    """Return the arguments that are not NULL if the part is not NULL."""
    match part:
        case Cast(operand=operand):
            return (operand,)
        case Call(function=name, arguments=arguments) if name == _ORDER or not FUNCTIONS[name].sees_null:
            return arguments
        case _:
            return ()
