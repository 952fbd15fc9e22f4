"""The ranges of functions of released values over ranges of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, exp, floor, inf, isinf, isnan, log, sqrt

from tacit.query.aggregates.statistic import Interval
from tacit.query.expressions.numbers import round_half_up


def output_range(function: str, ranges: list[Interval]) -> Interval | None:
    """Return the range of a function over ranges of its arguments, which are not NULL; None if it is not known."""
    rule = _RULES.get(function)
    return None if rule is None else ordered(rule(ranges))


def ordered(ends: Interval | None) -> Interval | None:
    """Return an interval whose ends are numbers; NaN (inf - inf) becomes an infinite end."""
    if ends is None:
        return None
    low, high = ends
    return (-inf if isnan(low) else low), (inf if isnan(high) else high)


def hull(parts: list[Interval]) -> Interval:
    """Return the least interval that holds all of several."""
    return min(low for low, _ in parts), max(high for _, high in parts)


_RangeRule = Callable[[list[Interval]], Interval | None]


def _rising(f: Callable[[float], float]) -> _RangeRule:
    return lambda parts: (f(parts[0][0]), f(parts[0][1]))


def _multiply(parts: list[Interval]) -> Interval:
    (a, b), (c, d) = parts
    ends = [x * y if x and y else 0.0 for x in (a, b) for y in (c, d)]
    return min(ends), max(ends)


def _divide(parts: list[Interval]) -> Interval | None:
    low, high = parts[1]
    if low < 0 < high or low == high == 0:
        return -inf, inf
    ends = [_quotient(x, y, -1 if low < 0 else 1) for x in parts[0] for y in (low, high)]
    return min(ends), max(ends)


def _quotient(x: float, y: float, sign: int) -> float:
    """Return x/y; if y is 0, the limit for a y of this sign, because x/0 itself is NULL."""
    if y == 0:
        return 0.0 if x == 0 else inf if (x > 0) == (sign > 0) else -inf
    return 0.0 if isinf(x) and isinf(y) else x / y


def _absolute(parts: list[Interval]) -> Interval:
    low, high = parts[0]
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _root(parts: list[Interval]) -> Interval | None:
    low, high = parts[0]
    return None if high < 0 else (sqrt(max(low, 0.0)), sqrt(high))


def _logarithm(parts: list[Interval]) -> Interval | None:
    low, high = parts[0]
    return None if high <= 0 else (log(low) if low > 0 else -inf, log(high))


def _exponential(x: float) -> float:
    return exp(x) if x < 709 else inf  # noqa: PLR2004 - exp of more overflows a double


def _rounded(parts: list[Interval]) -> Interval:
    digits = parts[1][0] if len(parts) > 1 else 0
    low, high = (end if isinf(end) else round_half_up(end, digits) for end in parts[0])
    return low, high


def _clamped(parts: list[Interval]) -> Interval:
    low, high = (min(max(end, parts[1][0]), parts[2][0]) for end in parts[0])
    return low, high


_RULES: dict[str, _RangeRule] = {
    "add": lambda parts: (parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]),
    "subtract": lambda parts: (parts[0][0] - parts[1][1], parts[0][1] - parts[1][0]),
    "negate": lambda parts: (-parts[0][1], -parts[0][0]),
    "multiply": _multiply,
    "divide": _divide,
    "abs": _absolute,
    "sqrt": _root,
    "ln": _logarithm,
    "exp": _rising(_exponential),
    "floor": _rising(lambda x: float(floor(x)) if abs(x) < inf else x),
    "ceil": _rising(lambda x: float(ceil(x)) if abs(x) < inf else x),
    "round": _rounded,
    "clamp": _clamped,
    "cast to real": _rising(lambda x: x),
    "date_at": _rising(lambda x: x),  # a date is the number of its day, a timestamp that of its microsecond
    "timestamp_at": _rising(lambda x: x),
    "cast to integer": lambda parts: _rounded(parts[:1]),
    "least": lambda parts: (min(low for low, _ in parts), min(high for _, high in parts)),
    "greatest": lambda parts: (max(low for low, _ in parts), max(high for _, high in parts)),
}
