"""Intervals for outputs that are computed from released values.

Each aggregate has an interval. For a function of k aggregates each interval gets the confidence 1 - (1-c)/k, so that
all of them hold together with confidence c (the union bound); aggregates without noise do not count. Then the
function's range over these intervals holds its value. If a function's range is not known, or one of its aggregates has
no interval, there is no interval. A category that is drawn, and what is computed from it, has no interval either.
Intervals of aggregates are within the values that are possible (`aggregates.possible_values`).

If HAVING or LIMIT chooses groups by noisy values, one of m groups that could have been returned gets c = 1 - β/m: all m
intervals of an output then hold together with probability at least 1 - β, for any choice of groups. `noisy_filters`
proves it. With both, an aggregate gets 1 - β/(m·k), an exact fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, exp, floor, inf, isinf, isnan, log, sqrt

from tacit.errors import bad_value
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.categories import is_category
from tacit.query.aggregates.drawn_quantile import without_interval
from tacit.query.aggregates.possible_values import clipped, possible_values
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released
from tacit.query.expressions import Value
from tacit.query.expressions.numbers import round_half_up
from tacit.query.formatting import listed
from tacit.query.key_tuples import Determined
from tacit.query.plan import Computed, Constantly, Grouped, Noisy, Output, Plan
from tacit.query.pricing.noisy_filters import confidence_each
from tacit.safe_text import visible


def read_confidence(value: object) -> float:
    """Return a confidence, or raise InvalidError."""
    if isinstance(value, float) and 0 < value < 1:
        return float(value)
    raise bad_value("confidence", value, "a number between 0 and 1")


def interval(
    plan: Plan, output: Output, released: Sequence[Released], keys: Sequence[Value], confidence: ConfidenceLevel
) -> Interval | None:
    """Return an interval for one output in one cell, or None. That of an aggregate that is public is its value."""
    aggregates = {part.place for part in _parts(output) if isinstance(part, Noisy)}
    if not aggregates and any(isinstance(part, Determined) for part in _parts(output)):
        return _range(output, {}, keys)
    if not aggregates or lacks_interval(plan, output) or is_category(plan, output):
        return None
    each = confidence_each(confidence, sum(bool(plan.aggregates[index].bundles) for index in aggregates))
    intervals = {index: _aggregate_interval(plan, index, released, each) for index in aggregates}
    return _range(output, intervals, keys)


def lacks_interval(plan: Plan, output: Output) -> bool:
    """Return whether an output is computed from a quantile that is drawn without an interval."""
    return any(isinstance(part, Noisy) and without_interval(plan.aggregates[part.place].ask) for part in _parts(output))


def no_interval_note(plan: Plan) -> str | None:
    """Return a note on columns whose quantiles are drawn without intervals; None without such columns."""
    names = [name for name, output in plan.outputs if lacks_interval(plan, output)]
    if not names:
        return None
    return visible(f"{listed(names)} {'has no interval' if len(names) == 1 else 'have no intervals'}: intervals=False.")


def _aggregate_interval(plan: Plan, index: int, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
    aggregate = plan.aggregates[index]
    bundles = [released[i] for i in aggregate.bundles]
    ends = STATISTICS[aggregate.ask.function].interval(aggregate.ask, bundles, confidence)
    return clipped(ends, possible_values(plan, aggregate))


def _parts(output: Output) -> list[Output]:
    parts, waiting = [], [output]
    while waiting:
        part = waiting.pop()
        parts.append(part)
        if isinstance(part, Computed):
            waiting.extend(part.arguments)
    return parts


def _range(output: Output, intervals: dict[int, Interval], keys: Sequence[Value]) -> Interval | None:
    match output:
        case Noisy(place=place):
            return intervals[place]
        case Grouped() | Determined():
            return _point(keys[output.place] if isinstance(output, Grouped) else output.value(keys))
        case Constantly(value=value):
            return _point(value)
        case Computed(function=function, arguments=arguments, kind=kind):
            ranges = [_range(argument, intervals, keys) for argument in arguments]
            known = [part for part in ranges if part is not None]
            if len(known) < len(ranges):
                return None
            if function in ("least", "greatest") and any(map(_may_be_null, arguments)):
                return _ordered(_hull(known))
            return output_range(f"cast to {kind}" if function == "cast" else function, known)


def output_range(function: str, ranges: list[Interval]) -> Interval | None:
    """Return the range of a function over ranges of its arguments, which are not NULL; None if it is not known."""
    rule = _RULES.get(function)
    return None if rule is None else _ordered(rule(ranges))


def _may_be_null(output: Output) -> bool:
    """Return whether an output may be NULL, which `least` and `greatest` ignore."""
    return any(
        isinstance(part, Determined) or (isinstance(part, Computed) and part.function in _PARTIAL)
        for part in _parts(output)
    )


def _ordered(ends: Interval | None) -> Interval | None:
    """Return an interval whose ends are numbers; NaN (inf - inf) becomes an infinite end."""
    if ends is None:
        return None
    low, high = ends
    return (-inf if isnan(low) else low), (inf if isnan(high) else high)


def _point(value: Value) -> Interval | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value), float(value)


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


def _hull(parts: list[Interval]) -> Interval:
    return min(low for low, _ in parts), max(high for _, high in parts)


_PARTIAL = frozenset({"divide", "sqrt", "ln"})
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
    "cast to integer": lambda parts: _rounded(parts[:1]),
    "least": lambda parts: (min(low for low, _ in parts), min(high for _, high in parts)),
    "greatest": lambda parts: (max(low for low, _ in parts), max(high for _, high in parts)),
}
