"""Intervals for what is computed from released values.

An aggregate has an interval of its own. For a function of k aggregates each gets the confidence 1 - (1-c)/k,
so that all of them hold together with confidence c (the union bound), and the function's range over those
intervals holds its value then. Where a function's range is not known, there is no interval.

Where HAVING or LIMIT chooses groups by noisy values, one of m groups that could have been shown gets c = 1 - β/m: all m
intervals of an output then hold together with probability at least 1 - β, whichever groups are shown. `choice` proves
it. With both, an aggregate gets 1 - β/(m·k), an exact fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, exp, floor, inf, isinf, isnan, log, sqrt

from tacit.errors import InvalidError, show
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import Confidence, Interval, Released
from tacit.query.expressions import Value
from tacit.query.expressions.numbers import round_half_up
from tacit.query.plan import Computed, Constantly, Grouped, Noisy, Output, Plan
from tacit.query.pricing.choice import confidence_each


def read_confidence(given: object) -> float:
    """Return a confidence, or raise InvalidError."""
    if isinstance(given, float) and 0 < given < 1:
        return float(given)
    raise InvalidError("confidence", show(given), "a number between 0 and 1")


def interval(
    plan: Plan, output: Output, released: Sequence[Released], keys: Sequence[Value], confidence: Confidence
) -> Interval | None:
    """Return an interval for one output in one cell, or None."""
    places = {part.place for part in _parts(output) if isinstance(part, Noisy)}
    if not places:
        return None
    each = confidence_each(confidence, len(places))
    known = {place: _own(plan, place, released, each) for place in places}
    return _range(output, known, keys)


def _own(plan: Plan, place: int, released: Sequence[Released], confidence: Confidence) -> Interval:
    one = plan.aggregates[place]
    return STATISTICS[one.ask.function].interval(one.ask, [released[i] for i in one.bundles], confidence)


def _parts(output: Output) -> list[Output]:
    found, waiting = [], [output]
    while waiting:
        part = waiting.pop()
        found.append(part)
        if isinstance(part, Computed):
            waiting.extend(part.arguments)
    return found


def _range(output: Output, known: dict[int, Interval], keys: Sequence[Value]) -> Interval | None:
    match output:
        case Noisy(place=place):
            return known[place]
        case Grouped(place=place):
            return _point(keys[place])
        case Constantly(value=value):
            return _point(value)
        case Computed(function=function, arguments=arguments, kind=kind):
            ranges = [_range(argument, known, keys) for argument in arguments]
            rule = _RULES.get(f"cast to {kind}" if function == "cast" else function)
            if function in ("least", "greatest") and any(map(_may_be_null, arguments)):
                rule = _hull
            if rule is None or any(part is None for part in ranges):
                return None
            return _ordered(rule([part for part in ranges if part is not None]))


def _may_be_null(output: Output) -> bool:
    """Whether an output may be NULL, which `least` and `greatest` pass over."""
    return any(isinstance(part, Computed) and part.function in _PARTIAL for part in _parts(output))


def _ordered(found: Interval | None) -> Interval | None:
    """Return an interval whose ends are numbers: what is not one (inf - inf) may be anything."""
    if found is None:
        return None
    low, high = found
    return (-inf if isnan(low) else low), (inf if isnan(high) else high)


def _point(value: Value) -> Interval | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value), float(value)


Rule = Callable[[list[Interval]], Interval | None]


def _rising(f: Callable[[float], float]) -> Rule:
    return lambda parts: (f(parts[0][0]), f(parts[0][1]))


def _multiply(parts: list[Interval]) -> Interval:
    (a, b), (c, d) = parts
    ends = [x * y if x and y else 0.0 for x in (a, b) for y in (c, d)]
    return min(ends), max(ends)


def _divide(parts: list[Interval]) -> Interval | None:
    low, high = parts[1]
    if low <= 0 <= high:
        return -inf, inf
    ends = [0.0 if isinf(x) and isinf(y) else x / y for x in parts[0] for y in (low, high)]
    return min(ends), max(ends)


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
    return exp(x) if x < 709 else inf  # noqa: PLR2004 - the largest that a double holds


def _rounded(parts: list[Interval]) -> Interval:
    digits = parts[1][0] if len(parts) > 1 else 0
    low, high = (end if isinf(end) else round_half_up(end, digits) for end in parts[0])
    return low, high


def _clamped(parts: list[Interval]) -> Interval:
    low, high = (min(max(end, parts[1][0]), parts[2][0]) for end in parts[0])
    return low, high


def _hull(parts: list[Interval]) -> Interval:
    return min(low for low, _ in parts), max(high for _, high in parts)


_PARTIAL = frozenset({"divide", "sqrt", "ln"})
_RULES: dict[str, Rule] = {
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
    "cast to integer": lambda parts: _rounded(parts[:1]),
    "least": lambda parts: (min(low for low, _ in parts), min(high for _, high in parts)),
    "greatest": lambda parts: (max(low for low, _ in parts), max(high for _, high in parts)),
}
