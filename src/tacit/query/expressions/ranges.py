"""Which numbers an expression can be: an interval proved from its parts, by interval arithmetic in rationals.

A NULL counts for nothing, so a range says nothing of it; but `least` and `greatest` skip NULLs, so there it matters
which of their arguments are always there. Booleans are 0 and 1. A float stands for the decimal that it prints, and the
rounding of doubles is left out: what is measured is clamped to its range once more, and so is every real that becomes
an integer (`parse_terms.cast_to`). So the range of an integer holds on every row, while that of a real may be left by
what doubles round away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, inf, isinf, log, nextafter, sqrt

from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value, children

Bounds = Mapping[str, tuple[Fraction, Fraction]]
"""What the values of columns keep to."""

_LARGEST = Fraction(2) ** 1000
_LONGEST = 1000
_MOST_POWER = 64
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Range:
    """An interval; an end that is None is not known. `there`: never NULL."""

    low: Fraction | None = None
    high: Fraction | None = None
    there: bool = False

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """Both ends, or None if one is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


_UNKNOWN = Range()


def proven(expression: Expression, bounds: Bounds) -> tuple[Fraction, Fraction] | None:
    """Return the proved range of an expression whose columns keep to some bounds; None if there is none.

    >>> age = Column("age", "integer")
    >>> double = Call("multiply", (age, Constant(2, "integer")), "integer")
    >>> proven(double, {"age": (Fraction(0), Fraction(120))}), proven(double, {})
    ((Fraction(0, 1), Fraction(240, 1)), None)
    """
    found: dict[int, Range] = {}
    waiting: list[tuple[Expression, bool]] = [(expression, False)]
    while waiting:
        part, ready = waiting.pop()
        if ready:
            found[id(part)] = range_of(part, [found[id(child)] for child in children(part)], bounds)
        elif id(part) not in found:
            waiting.append((part, True))
            waiting.extend((child, False) for child in children(part))
    return found[id(expression)].ends


def range_of(part: Expression, below: Sequence[Range], bounds: Bounds) -> Range:
    """Return the range of one part from the ranges of its own parts, in their order."""
    match part:
        case Constant(value=value):
            return _point(value)
        case Column(name=name):
            found = Range(*bounds.get(name, (None, None)))
        case Cast():
            found = _of_cast(part, below[0])
        case Case():
            found = _of_case(part, below)
        case Call():
            found = _of_call(part, below)
    if part.kind == "boolean":
        return Range(Fraction(0), Fraction(1), found.there)
    return _tidy(found)


def _point(value: Value) -> Range:
    if value is None:
        return _UNKNOWN
    if not isinstance(value, (int, float)) or isinf(value):
        return Range(there=True)
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return Range(exact, exact, there=True)


def _of_cast(part: Cast, operand: Range) -> Range:
    if part.kind == "integer" and part.operand.kind == "real":
        return _rising(lambda x: Fraction(floor(x + _HALF)))([operand])
    return operand if part.kind in ("integer", "real") and part.operand.kind in ("integer", "boolean") else _UNKNOWN


def _of_case(part: Case, below: Sequence[Range]) -> Range:
    results = [result for _, result in part.branches]
    ranges = list(below[1 : 2 * len(results) : 2])
    if part.otherwise is not None:
        results, ranges = [*results, part.otherwise], [*ranges, below[-1]]
    found = _union(results, ranges)
    return Range(found.low, found.high, part.otherwise is not None and all(one.there for one in ranges))


def _of_call(part: Call, below: Sequence[Range]) -> Range:
    if part.function == "coalesce":
        found = _union(part.arguments, below)
        return Range(found.low, found.high, any(one.there for one in below))
    if part.function == "is_null":
        return Range(there=True)
    if part.function == "sign" and part.arguments[0].kind == "real":
        return Range(Fraction(-1), Fraction(1))  # the sign of a real hangs on its last bit; see the module
    if part.function == "modulo" and part.kind == "integer":
        return _modulo(below, step=1)
    return _RULES[part.function](below) if part.function in _RULES else _UNKNOWN


def _union(results: Sequence[Expression], ranges: Sequence[Range]) -> Range:
    """Return the range of one of several results; a bare NULL is none of them."""
    real = [one for result, one in zip(results, ranges, strict=True) if result != Constant(None, result.kind)]
    return Range(_all(min, (one.low for one in real)), _all(max, (one.high for one in real)))


def _all(choose: Callable[[list[Fraction]], Fraction], ends: Iterable[Fraction | None]) -> Fraction | None:
    """Return the least or the largest end, if all are known."""
    listed = list(ends)
    known = [end for end in listed if end is not None]
    return choose(known) if known and len(known) == len(listed) else None


def _some(choose: Callable[[list[Fraction]], Fraction], ends: Iterable[Fraction | None]) -> Fraction | None:
    """Return the least or the largest of those ends that are known."""
    known = [end for end in ends if end is not None]
    return choose(known) if known else None


def _tidy(found: Range) -> Range:
    """Forget ends that no double holds, and move ends that are too long to write outward to a double."""
    return Range(_short(found.low, -inf), _short(found.high, inf), found.there)


def _short(end: Fraction | None, outward: float) -> Fraction | None:
    if end is None or abs(end) > _LARGEST:
        return None
    return end if end.denominator.bit_length() <= _LONGEST else Fraction(nextafter(float(end), outward))


Rule = Callable[[Sequence[Range]], Range]


def _rising(f: Callable[[Fraction], Fraction]) -> Rule:
    """Return the rule of a function that never falls."""

    def rule(below: Sequence[Range]) -> Range:
        low, high = below[0].low, below[0].high
        return Range(None if low is None else f(low), None if high is None else f(high))

    return rule


def _add(below: Sequence[Range]) -> Range:
    a, b = below
    return Range(
        None if a.low is None or b.low is None else a.low + b.low,
        None if a.high is None or b.high is None else a.high + b.high,
    )


def _negate(below: Sequence[Range]) -> Range:
    low, high = below[0].low, below[0].high
    return Range(None if high is None else -high, None if low is None else -low)


def _multiply(below: Sequence[Range]) -> Range:
    a, b = below[0].ends, below[1].ends
    if a is None or b is None:
        return _UNKNOWN
    products = [x * y for x in a for y in b]
    return Range(min(products), max(products))


def _divide(below: Sequence[Range]) -> Range:
    divisor = below[1].ends
    if divisor is None or divisor[0] <= 0 <= divisor[1]:
        return _UNKNOWN
    return _multiply([below[0], Range(1 / divisor[1], 1 / divisor[0])])


def _modulo(below: Sequence[Range], step: int = 0) -> Range:
    """Smaller than the divisor (by `step`, if whole) and no larger than the dividend; it has the dividend's sign."""
    dividend, divisor = below[0], below[1].ends
    if divisor is None:
        return _UNKNOWN
    most = max(max(map(abs, divisor)) - step, Fraction(0))
    low = -most if dividend.low is None else min(max(dividend.low, -most), Fraction(0))
    high = most if dividend.high is None else max(min(dividend.high, most), Fraction(0))
    return Range(low, high)


def _absolute(below: Sequence[Range]) -> Range:
    ends = below[0].ends
    if ends is None:
        return Range(Fraction(0), None)
    low, high = ends
    return Range(Fraction(0) if low <= 0 <= high else min(map(abs, ends)), max(map(abs, ends)))


def _round(below: Sequence[Range]) -> Range:
    digits = below[1].low if len(below) > 1 else Fraction(0)
    if digits is None:
        return _UNKNOWN
    power = Fraction(10) ** int(digits)
    return _rising(lambda x: floor(x * power + _HALF) / power)(below)


def _outward(f: Callable[[float], float], low: Fraction | None, high: Fraction | None) -> Range:
    """Return the range of a rising function that doubles compute to within two last places."""

    def at(end: Fraction, outward: float) -> Fraction | None:
        try:
            value = f(float(end))
        except OverflowError:
            return None
        moved = nextafter(nextafter(value, outward), outward)
        return None if isinf(moved) else Fraction(moved)

    return Range(None if low is None else at(low, -inf), None if high is None else at(high, inf))


def _sqrt(below: Sequence[Range]) -> Range:
    low, high = below[0].low, below[0].high
    found = _outward(
        sqrt, None if low is None else max(low, Fraction(0)), None if high is None else max(high, Fraction(0))
    )
    return Range(max(found.low or Fraction(0), Fraction(0)), found.high)


def _ln(below: Sequence[Range]) -> Range:
    low, high = (None if end is None or end <= 0 else end for end in (below[0].low, below[0].high))
    return _outward(log, low, high)


def _exp(below: Sequence[Range]) -> Range:
    found = _outward(exp, below[0].low, below[0].high)
    return Range(max(found.low or Fraction(0), Fraction(0)), found.high)


def _power(below: Sequence[Range]) -> Range:
    """The range of a whole power, of which the exponent is a constant."""
    base, exponent = below[0].ends, below[1].ends
    if base is None or exponent is None or exponent[0] != exponent[1] or exponent[0].denominator != 1:
        return _UNKNOWN
    n = int(exponent[0])
    if not 0 <= n <= _MOST_POWER:
        return _UNKNOWN
    powers = [end**n for end in base] + ([Fraction(0)] if n and base[0] <= 0 <= base[1] else [])
    return Range(min(powers), max(powers))


def _least(below: Sequence[Range]) -> Range:
    """No less than all of them; no more than any that is always there, nor than the largest of all."""
    caps = [_all(max, (one.high for one in below)), *(one.high for one in below if one.there)]
    return Range(_all(min, (one.low for one in below)), _some(min, caps), any(one.there for one in below))


def _greatest(below: Sequence[Range]) -> Range:
    floors = [_all(min, (one.low for one in below)), *(one.low for one in below if one.there)]
    return Range(_some(max, floors), _all(max, (one.high for one in below)), any(one.there for one in below))


def _clamp(below: Sequence[Range]) -> Range:
    value, low, high = below[0], below[1].low, below[2].high
    if low is None or high is None:
        return _UNKNOWN
    ends = [
        min(max(end, low), high)
        for end in (low if value.low is None else value.low, high if value.high is None else value.high)
    ]
    return Range(ends[0], ends[1], value.there)


def _between(low: int, high: int) -> Rule:
    return lambda _: Range(Fraction(low), Fraction(high))


_RULES: dict[str, Rule] = {
    "add": _add,
    "subtract": lambda below: _add([below[0], _negate(below[1:])]),
    "multiply": _multiply,
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _absolute,
    "sign": lambda below: _clamp([_rising(lambda x: Fraction((x > 0) - (x < 0)))(below), _point(-1), _point(1)]),
    "floor": _rising(lambda x: Fraction(floor(x))),
    "ceil": _rising(lambda x: Fraction(ceil(x))),
    "round": _round,
    "sqrt": _sqrt,
    "ln": _ln,
    "exp": _exp,
    "power": _power,
    "least": _least,
    "greatest": _greatest,
    "clamp": _clamp,
    "nullif": lambda below: Range(below[0].low, below[0].high),
    "length": lambda _: Range(Fraction(0), None),
    "year": _between(-9999, 9999),
    "quarter": _between(1, 4),
    "month": _between(1, 12),
    "day": _between(1, 31),
    "weekday": _between(0, 6),
    "hour": _between(0, 23),
    "minute": _between(0, 59),
    "steps": lambda below: Range(Fraction(0), _add([below[3], _negate(below[2:3])]).high, below[0].there),
}
