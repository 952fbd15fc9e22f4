"""The error of an output before the data is read: of linear combinations, ratios and other functions of aggregates.

The error is the largest distance of an output from the same function of the true aggregates. Let the k aggregates of an
output be off by at most eᵢ, each with confidence 1 - (1-c)/k, so that all are with confidence c (the union bound).

**Linear combinations** Σ fᵢ·aᵢ are off by at most Σ |fᵢ|·eᵢ, for groups of any size.

**Other functions** are bounded from the inside out. Each part has a range that holds its true value, and an error:

* a·b: |âb̂ - ab| ≤ |a|·e_b + |b|·e_a + e_a·e_b.
* a/b: â/b̂ - a/b = (b(â - a) - a(b̂ - b))/(b·b̂). Let β be the least |b| in its range. If e_b < β, then |b̂| ≥ β - e_b, and
  the error is at most (e_a + |a/b|·e_b)/(β - e_b). If e_b ≥ β, there is no bound.
* round, floor, ceil and casts to whole numbers never decrease, and moving x by a multiple of their unit moves the
  result by as much. So they are off by at most e rounded up to a multiple of the unit.
* A date is off by as many days as its number, a timestamp by as many seconds as its microseconds are.
* abs, clamp, least and greatest move by at most the largest move of an argument.
* √a is off by at most e/√a if e ≤ a, ln a by -ln(1 - e/a) if e < a, and exp a by e^a·(e^e - 1).
* coalesce and nullif of a part with a bound return that part: it is not NULL, in truth and after noise.

**The size of a group** is private, unless the plan has a public size and no groups: then the group has that many units.
If n units are assumed (`assume`), a group has m rows with n ≤ m ≤ r·n, where r is the number of rows as which a unit
may count there. So `count(DISTINCT unit)` is n, `count(*)` is m, `count(x)` is from
0 to m, and `sum(x)` of values from a to b is from min(a, 0)·m to max(b, 0)·m. The error is bounded for every m: m is
divided into ranges whose ends have a ratio of at most 1.02, and the largest bound of these ranges is used. A count of
rows over another has its largest error at m = n, a sum over the number of units at m = r·n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, inf, isfinite, log, sqrt

from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval
from tacit.query.expressions.presence import is_always_present
from tacit.query.key_tuples import Determined
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Aggregate, Computed, Constantly, Grouped, Noisy, Output, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.noisy_filters import confidence_each
from tacit.query.pricing.output_ranges import output_range

_RATIO = 1.02
_USUAL = 0.95
_QUANTILES = ("min", "max", "quantile", "quantile_disc")
_BETWEEN_BOUNDS = ("avg", "sized_avg", *_QUANTILES, *(f"drawn_{name}" for name in _QUANTILES))
_SPREADS = tuple(
    f"{size}{name}" for size in ("", "sized_") for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
)

Noises = Mapping[int, NoiseLaw] | Sequence[NoiseLaw]
"""The noise of the bundles of a plan, by index."""

Factors = dict[int, Fraction]
"""The factor of each aggregate in a linear combination, by its index."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The range of a part's true value, and the largest error of its estimate."""

    ends: Interval
    error: float

    @property
    def largest(self) -> float:
        """The largest absolute value in the range."""
        return max(abs(end) for end in self.ends)

    @property
    def smallest(self) -> float:
        """The smallest absolute value in the range."""
        low, high = self.ends
        return 0.0 if low <= 0 <= high else min(abs(low), abs(high))


def output_error(plan: Plan, output: Output, errors: Mapping[int, float], assume: int | None) -> float | None:
    """Return the largest error of an output; None if it has no bound.

    Args:
        plan: the plan.
        output: the output.
        errors: the largest error of each of its aggregates.
        assume: the number of units that a group is assumed to have.
    """
    factors = linear_factors(output)
    if factors is not None:
        total = sum((float(abs(factor)) * errors[index] for index, factor in factors.items() if factor), 0.0)
        return total if isfinite(total) else None
    units, worst = _units(plan, assume), 0.0
    for rows in _row_counts(units, plan.table):
        found = _tolerance(plan, output, errors, (units, rows))
        if found is None or not isfinite(found.error):
            return None
        worst = max(worst, found.error)
    return worst


def expected_error(
    plan: Plan, noise: Noises, output: Output, confidence: ConfidenceLevel, assume: int | None
) -> float | None:
    """Return the largest error of an output in one group, before the data is read; None if it has no bound.

    Args:
        plan: the plan.
        noise: the noise of each bundle that the output needs, by its index.
        output: the output.
        confidence: the probability that the error is not larger.
        assume: the number of units that a group is assumed to have.
    """
    errors = _errors(plan, noise, output, confidence, assume)
    return output_error(plan, output, errors, assume)


def may_divide_by_zero(plan: Plan, noise: Noises, output: Output, assume: int | None) -> bool:
    """Return whether a denominator in an output may be 0, in truth or after noise, at 95 % confidence."""
    units, errors = _units(plan, assume), _errors(plan, noise, output, _USUAL, assume)
    denominators = [part.arguments[1] for part in _computed(output) if part.function == "divide"]
    found = [
        _tolerance(plan, each, errors, (units, rows))
        for each in denominators
        for rows in _row_counts(units, plan.table)
    ]
    return any(part is not None and part.smallest <= part.error for part in found)


def _errors(
    plan: Plan, noise: Noises, output: Output, confidence: ConfidenceLevel, assume: int | None
) -> dict[int, float]:
    """Return the largest error of each aggregate of an output, so that all hold together with this confidence."""
    needed = aggregates_in(output)
    each = confidence_each(confidence, sum(bool(plan.aggregates[index].bundles) for index in needed))
    return {index: aggregate_error(plan, noise, index, each, assume) for index in needed}


def aggregate_error(plan: Plan, noise: Noises, index: int, confidence: ConfidenceLevel, assume: int | None) -> float:
    """Return the largest error of one aggregate."""
    aggregate = plan.aggregates[index]
    bundles, laws = [plan.bundles[i] for i in aggregate.bundles], [noise[i] for i in aggregate.bundles]
    return STATISTICS[aggregate.ask.function].error(aggregate.ask, bundles, laws, confidence, assume)


def _units(plan: Plan, assume: int | None) -> int | None:
    """Return the number of units of a group: the public one if there are no groups, or the assumed one."""
    return plan.size if plan.size is not None and not plan.keys else assume


def _computed(output: Output) -> Iterator[Computed]:
    """Yield the functions in an output."""
    if isinstance(output, Computed):
        yield output
        for argument in output.arguments:
            yield from _computed(argument)


def aggregates_in(output: Output) -> set[int]:
    """Return the indices of the aggregates on which the error of an output depends."""
    factors = linear_factors(output)
    if factors is not None:
        return {index for index, factor in factors.items() if factor}
    match output:
        case Noisy(place=place):
            return {place}
        case Computed(arguments=arguments):
            return set().union(*(places_in(argument) for argument in arguments))
        case _:
            return set()


def places_in(output: Output) -> set[int]:
    """Return the indices of the aggregates in an output."""
    if isinstance(output, Computed):
        return set().union(*(places_in(argument) for argument in output.arguments))
    return {output.place} if isinstance(output, Noisy) else set()


# --- linear combinations ----------------------------------------------------------------------------------------------


def linear_factors(output: Output) -> Factors | None:
    """Return the output's factors as a linear combination of aggregates, without constants; None if not linear."""
    match output:
        case Noisy(place=place):
            return {place: Fraction(1)}
        case Computed(function=function, arguments=(a, b)) if function in ("add", "subtract"):
            return _sum(a, b, 1 if function == "add" else -1)
        case Computed(function="divide", arguments=(a, Constantly() as c)):
            factor = _factor(c)
            return _times(a, 1 / factor) if factor else None
        case Computed():
            return _multiple(output)
        case _:
            return {}


def _multiple(output: Computed) -> Factors | None:
    """Return the factors of a multiple by a constant, on either side, or of a whole number cast to real."""
    match output.function, output.arguments:
        case "multiply", (Constantly() as c, a):
            return _times(a, _factor(c))
        case "multiply", (a, Constantly() as c):
            return _times(a, _factor(c))
        case "negate", (a,):
            return _times(a, Fraction(-1))
        case "cast", (a,) if (a.kind, output.kind) == ("integer", "real"):
            return linear_factors(a)
        case _:
            return None


def _factor(constant: Constantly) -> Fraction | None:
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return Fraction(repr(value)) if abs(value) < inf else None


def _times(output: Output, factor: Fraction | None) -> Factors | None:
    factors = linear_factors(output)
    return None if factors is None or factor is None else {index: factor * x for index, x in factors.items()}


def _sum(left: Output, right: Output, sign: int) -> Factors | None:
    first, second = linear_factors(left), _times(right, Fraction(sign))
    if first is None or second is None:
        return None
    return {index: first.get(index, Fraction(0)) + second.get(index, Fraction(0)) for index in {**first, **second}}


# --- other functions --------------------------------------------------------------------------------------------------

GroupSize = tuple[int | None, Interval]
"""The assumed number of units of a group, and the range of its number of rows."""


def _row_counts(assume: int | None, table: TablePolicy) -> Iterator[Interval]:
    """Yield ranges that together hold all numbers of rows of a group with the assumed units."""
    if assume is None:
        yield 0.0, inf
        return
    limited = table.unit is not None and (table.max_rows is not None or table.reach is not None)
    most, low = float(assume * (table.rows if limited else 1)), float(assume)
    while low * _RATIO < most:
        yield low, low * _RATIO
        low *= _RATIO
    yield low, most


def _tolerance(plan: Plan, output: Output, errors: Mapping[int, float], size: GroupSize) -> Tolerance | None:
    match output:
        case Noisy(place=place):
            return Tolerance(_true_range(plan.aggregates[place], size), errors[place])
        case Constantly(value=value):
            return _exact([value])
        case Grouped() | Determined():
            return _exact(plan.keys[output.place].values if isinstance(output, Grouped) else output.present)
        case Computed(function=function, arguments=arguments, kind=kind):
            parts = [_tolerance(plan, argument, errors, size) for argument in arguments]
            known = [part for part in parts if part is not None]
            if function in ("coalesce", "nullif"):
                return parts[0]
            name = f"cast to {kind}" if function == "cast" else function
            rule = _RULES.get(name)
            if rule is None or len(known) < len(parts):
                return None
            ends = output_range(name, [part.ends for part in known])
            error = None if ends is None else rule(known)
            return None if ends is None or error is None else Tolerance(ends, error)


def _exact(values: Sequence[object] | None) -> Tolerance | None:
    """Return the range of values without noise; None if one is not a number."""
    numbers = [
        float(value) for value in values or () if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    if not values or len(numbers) < len(values):
        return None
    return Tolerance((min(numbers), max(numbers)), 0.0)


def _true_range(aggregate: Aggregate, size: GroupSize) -> Interval:
    """Return the range of an aggregate's true value in a group of this size."""
    ask, (units, (least, most)) = aggregate.ask, size
    if ask.function in ("count", "count_distinct"):
        return (least if all(map(is_always_present, ask.values)) and ask.function == "count" else 0.0), most
    if ask.function == "sized_sum":
        least = most = float(ask.size or 0)
    if ask.function in ("count_units", "sized_count"):
        units = units if ask.size is None else ask.size
        return (0.0, inf) if units is None else (float(units), float(units))
    if ask.function in ("sum", "sized_sum", *_BETWEEN_BOUNDS):
        low, high = (float(end) for end in ask.bounds[0])
        if ask.function in _BETWEEN_BOUNDS:
            return low, high
        fewest = least if ask.function == "sized_sum" else 0.0
        return low * (most if low < 0 else fewest), high * (most if high > 0 else fewest)
    return (0.0 if ask.function in _SPREADS else -inf), inf


def _product(parts: Sequence[Tolerance]) -> float:
    a, b = parts
    mixed = (x.largest * y.error if y.error else 0.0 for x, y in ((a, b), (b, a)))  # inf·0 would be NaN
    return sum(mixed) + a.error * b.error


def _ratio(parts: Sequence[Tolerance]) -> float | None:
    a, b = parts
    rest = b.smallest - b.error
    ends = output_range("divide", [a.ends, b.ends])
    if rest <= 0 or ends is None:
        return None
    share = max(abs(end) for end in ends) * b.error if b.error else 0.0
    return (a.error + share) / rest


def _rounded(parts: Sequence[Tolerance]) -> float:
    digits = parts[1].ends[0] if len(parts) > 1 else 0.0
    return _in_units(parts[0].error, Fraction(10) ** -int(digits))


def _in_units(error: float, unit: Fraction) -> float:
    """Return an error rounded up to a multiple of a unit.

    >>> _in_units(0.0301, Fraction(1, 100)), _in_units(0.0, Fraction(1))
    (0.04, 0.0)
    """
    return float(ceil(Fraction(error) / unit) * unit) if isfinite(error) else error


def _root(parts: Sequence[Tolerance]) -> float | None:
    least, error = parts[0].ends[0], parts[0].error
    return error / sqrt(least) if 0 < least >= error else None


def _logarithm(parts: Sequence[Tolerance]) -> float | None:
    least, error = parts[0].ends[0], parts[0].error
    return -log(1 - error / least) if error < least else None


def _exponential(parts: Sequence[Tolerance]) -> float:
    high, error = parts[0].ends[1], parts[0].error
    return exp(high) * (exp(error) - 1) if high + error < 709 else inf  # noqa: PLR2004 - exp of more overflows a double


def _clamped(parts: Sequence[Tolerance]) -> float | None:
    value, low, high = parts
    return None if low.error or high.error else min(value.error, high.ends[1] - low.ends[0])


def _largest(parts: Sequence[Tolerance]) -> float:
    return max(part.error for part in parts)


def _together(parts: Sequence[Tolerance]) -> float:
    return sum(part.error for part in parts)


_RULES: dict[str, Callable[[Sequence[Tolerance]], float | None]] = {
    "add": _together,
    "subtract": _together,
    "multiply": _product,
    "divide": _ratio,
    "negate": _largest,
    "abs": _largest,
    "round": _rounded,
    "floor": lambda parts: _in_units(parts[0].error, Fraction(1)),
    "ceil": lambda parts: _in_units(parts[0].error, Fraction(1)),
    "cast to integer": lambda parts: _in_units(parts[0].error, Fraction(1)),
    "cast to real": _largest,
    "date_at": _largest,  # in days
    "timestamp_at": lambda parts: parts[0].error / 1e6,  # in seconds
    "clamp": _clamped,
    "least": _largest,
    "greatest": _largest,
    "sqrt": _root,
    "ln": _logarithm,
    "exp": _exponential,
}
