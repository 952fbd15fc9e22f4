"""The range of an expression: an interval proved from its parts, by interval arithmetic in rationals.

NULL counts for nothing, so a range does not cover it. But `least` and `greatest` skip NULL, so a range records whether
its value is never NULL. Booleans are 0 and 1, and a moment is the number of its microsecond (`moment_ranges`). A float
stands for the decimal that it prints. The rounding of doubles is left out: measured values are clamped to their ranges
again, and so is every real that becomes an integer (`typed_expressions.cast_to`). So the range of an integer holds on
every row, while rounding can move a real out of its range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import ceil, exp, floor, inf, isinf, log, nextafter, sqrt

from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value, children
from tacit.query.expressions.moment_ranges import RULES as MOMENT_RULES
from tacit.query.expressions.moment_ranges import moment_range, number_of, start_of_day

ColumnBounds = Mapping[str, tuple[Fraction, Fraction]]
"""Columns and the bounds of their values."""

_LARGEST = Fraction(2) ** 1000
_LONGEST = 1000
_MOST_POWER = 64
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Range:
    """An interval; an end that is None is not known. `never_null`: the value is not NULL on any row."""

    low: Fraction | None = None
    high: Fraction | None = None
    never_null: bool = False

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """Both ends, or None if one is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


_UNKNOWN = Range()


def prove_range(
    expression: Expression, bounds: ColumnBounds, *, any_moment: bool = True
) -> tuple[Fraction, Fraction] | None:
    """Return the proved range of an expression, given the bounds of its columns; None if an end is not known.

    Without `any_moment`, a range that relies on the years 1 to 9999 alone does not count as known.

    >>> age = Column("age", "integer")
    >>> double = Call("multiply", (age, Constant(2, "integer")), "integer")
    >>> prove_range(double, {"age": (Fraction(0), Fraction(120))}), prove_range(double, {})
    ((Fraction(0, 1), Fraction(240, 1)), None)
    """
    ranges: dict[int, Range] = {}
    waiting: list[tuple[Expression, bool]] = [(expression, False)]
    while waiting:
        part, ready = waiting.pop()
        if ready:
            below = [ranges[id(child)] for child in children(part)]
            known = range_of(part, below, bounds)
            ranges[id(part)] = known if any_moment or not _is_any_moment(part, below) else _UNKNOWN
        elif id(part) not in ranges:
            waiting.append((part, True))
            waiting.extend((child, False) for child in children(part))
    return ranges[id(expression)].ends


def _is_any_moment(part: Expression, below: Sequence[Range]) -> bool:
    """Return whether nothing is known of the moment that a part counts the units of."""
    return isinstance(part, Call) and part.function == "ordinal" and below[1].ends is None


def range_of(part: Expression, below: Sequence[Range], bounds: ColumnBounds) -> Range:
    """Return the range of one part from the ranges of its direct parts, in their order."""
    match part:
        case Constant(value=value):
            return _point(value)
        case Column(name=name):
            result = Range(*bounds.get(name, (None, None)))
        case Cast():
            result = _of_cast(part, below[0])
        case Case():
            result = _of_case(part, below)
        case Call():
            result = _of_call(part, below)
    if part.kind == "boolean":
        return Range(Fraction(0), Fraction(1), result.never_null)
    return _tidy(result)


def _point(value: Value) -> Range:
    if value is None:
        return _UNKNOWN
    if isinstance(value, date):
        return Range(number_of(value), number_of(value), never_null=True)
    if not isinstance(value, (int, float)) or isinf(value):
        return Range(never_null=True)
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return Range(exact, exact, never_null=True)


def _of_cast(part: Cast, operand: Range) -> Range:
    if part.kind == "integer" and part.operand.kind == "real":
        return _rising(lambda x: Fraction(floor(x + _HALF)))([operand])
    if (part.operand.kind, part.kind) == ("timestamp", "date"):
        return Range(*start_of_day((operand.low, operand.high)))
    if (part.operand.kind, part.kind) == ("date", "timestamp"):
        return Range(operand.low, operand.high)
    return operand if part.kind in ("integer", "real") and part.operand.kind in ("integer", "boolean") else _UNKNOWN


def _of_case(part: Case, below: Sequence[Range]) -> Range:
    results = [result for _, result in part.branches]
    ranges = list(below[1 : 2 * len(results) : 2])
    if part.otherwise is not None:
        results, ranges = [*results, part.otherwise], [*ranges, below[-1]]
    union = _union(results, ranges)
    return Range(union.low, union.high, part.otherwise is not None and all(known.never_null for known in ranges))


def _of_call(part: Call, below: Sequence[Range]) -> Range:
    if part.function == "coalesce":
        union = _union(part.arguments, below)
        return Range(union.low, union.high, any(known.never_null for known in below))
    if part.function == "is_null":
        return Range(never_null=True)
    if part.function == "sign" and part.arguments[0].kind == "real":
        return Range(Fraction(-1), Fraction(1))  # the sign of a real can depend on its last bit
    if part.function == "modulo" and part.kind == "integer":
        return _modulo(below, step=1)
    if part.function in MOMENT_RULES:
        return Range(*moment_range(part, [(known.low, known.high) for known in below]))
    return _RULES[part.function](below) if part.function in _RULES else _UNKNOWN


def _union(results: Sequence[Expression], ranges: Sequence[Range]) -> Range:
    """Return the range of a choice among several results; a constant NULL is left out."""
    values = [known for result, known in zip(results, ranges, strict=True) if result != Constant(None, result.kind)]
    return Range(_all(min, (known.low for known in values)), _all(max, (known.high for known in values)))


def _all(choose: Callable[[list[Fraction]], Fraction], ends: Iterable[Fraction | None]) -> Fraction | None:
    """Return the least or the largest end if all ends are known; otherwise None."""
    listed = list(ends)
    known = [end for end in listed if end is not None]
    return choose(known) if known and len(known) == len(listed) else None


def _some(choose: Callable[[list[Fraction]], Fraction], ends: Iterable[Fraction | None]) -> Fraction | None:
    """Return the least or the largest of the known ends; None if no end is known."""
    known = [end for end in ends if end is not None]
    return choose(known) if known else None


def _tidy(known: Range) -> Range:
    """Drop ends that no double can hold, and round ends with too many digits outward to a double."""
    return Range(_short(known.low, -inf), _short(known.high, inf), known.never_null)


def _short(end: Fraction | None, outward: float) -> Fraction | None:
    if end is None or abs(end) > _LARGEST:
        return None
    return end if end.denominator.bit_length() <= _LONGEST else Fraction(nextafter(float(end), outward))


RangeRule = Callable[[Sequence[Range]], Range]


def _rising(f: Callable[[Fraction], Fraction]) -> RangeRule:
    """Return the rule of a non-decreasing function."""

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


def _divided(below: Sequence[Range]) -> Range:
    """Return the range of a quotient by a constant above 0, truncated toward zero."""
    divisor = below[1].low
    return _UNKNOWN if divisor is None or divisor <= 0 else _rising(lambda x: Fraction(int(x / divisor)))(below)


def _modulo(below: Sequence[Range], step: int = 0) -> Range:
    """Return the range of a remainder. It has the sign of the dividend.

    Its size is below the divisor, by `step` if both are whole, and at most the size of the dividend.
    """
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
    """Return the range of an increasing function that doubles compute to within two units in the last place."""

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
    known = _outward(
        sqrt, None if low is None else max(low, Fraction(0)), None if high is None else max(high, Fraction(0))
    )
    return Range(max(known.low or Fraction(0), Fraction(0)), known.high)


def _ln(below: Sequence[Range]) -> Range:
    low, high = (None if end is None or end <= 0 else end for end in (below[0].low, below[0].high))
    return _outward(log, low, high)


def _exp(below: Sequence[Range]) -> Range:
    known = _outward(exp, below[0].low, below[0].high)
    return Range(max(known.low or Fraction(0), Fraction(0)), known.high)


def _power(below: Sequence[Range]) -> Range:
    """Return the range of a whole power with a constant exponent."""
    base, exponent = below[0].ends, below[1].ends
    if base is None or exponent is None or exponent[0] != exponent[1] or exponent[0].denominator != 1:
        return _UNKNOWN
    n = int(exponent[0])
    if not 0 <= n <= _MOST_POWER:
        return _UNKNOWN
    powers = [end**n for end in base] + ([Fraction(0)] if n and base[0] <= 0 <= base[1] else [])
    return Range(min(powers), max(powers))


def _least(below: Sequence[Range]) -> Range:
    """Return the range of the least value.

    It is at least the least low end. It is at most the high end of every value that is never NULL, and at most the
    largest high end of all.
    """
    lows, highs = [part.low for part in below], [part.high for part in below]
    never_null = [part for part in below if part.never_null]
    caps = [_all(max, highs), *(part.high for part in never_null)]
    return Range(_all(min, lows), _some(min, caps), bool(never_null))


def _greatest(below: Sequence[Range]) -> Range:
    """Return the range of the largest value, by the same rule as `_least`."""
    lows, highs = [part.low for part in below], [part.high for part in below]
    never_null = [part for part in below if part.never_null]
    floors = [_all(min, lows), *(part.low for part in never_null)]
    return Range(_some(max, floors), _all(max, highs), bool(never_null))


def _clamp(below: Sequence[Range]) -> Range:
    value, low, high = below[0], below[1].low, below[2].high
    if low is None or high is None:
        return _UNKNOWN
    ends = [
        min(max(end, low), high)
        for end in (low if value.low is None else value.low, high if value.high is None else value.high)
    ]
    return Range(ends[0], ends[1], value.never_null)


def _between(low: int, high: int) -> RangeRule:
    return lambda _: Range(Fraction(low), Fraction(high))


_RULES: dict[str, RangeRule] = {
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
    "quarter": _between(1, 4),
    "month": _between(1, 12),
    "day": _between(1, 31),
    "weekday": _between(0, 6),
    "hour": _between(0, 23),
    "minute": _between(0, 59),
    "second": _between(0, 59),
    "week": _between(1, 53),
    "yearday": _between(1, 366),
    "quotient": _divided,
    "steps": lambda below: Range(Fraction(0), _add([below[3], _negate(below[2:3])]).high, below[0].never_null),
}
