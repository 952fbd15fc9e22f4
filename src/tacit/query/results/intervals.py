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

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tacit.errors import bad_value
from tacit.query.aggregates import COLUMNAR, STATISTICS
from tacit.query.aggregates.categories import is_category
from tacit.query.aggregates.drawn_quantile import without_interval
from tacit.query.aggregates.possible_values import clipped, possible_values
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released
from tacit.query.expressions import Value
from tacit.query.formatting import listed
from tacit.query.key_tuples import Determined
from tacit.query.plan import Computed, Constantly, Grouped, Noisy, Output, Plan
from tacit.query.pricing.noisy_filters import confidence_each, is_noisy
from tacit.query.pricing.output_ranges import hull, ordered, output_range
from tacit.query.results.cells import Cell, CellColumns
from tacit.query.results.interval_columns import IntervalColumn
from tacit.query.results.moment_ends import ordinal_ends
from tacit.safe_text import visible

_PARTIAL = frozenset({"divide", "sqrt", "ln"})


def read_confidence(value: object) -> float:
    """Return a confidence, or raise InvalidError."""
    if isinstance(value, float) and 0 < value < 1:
        return float(value)
    raise bad_value("confidence", value, "a number between 0 and 1")


def interval(
    plan: Plan, output: Output, released: Sequence[Released], keys: Sequence[Value], confidence: ConfidenceLevel
) -> Interval | None:
    """Return an interval for one output in one cell, or None. That of an aggregate that is public is its value."""
    aggregates = _aggregates(plan, output)
    if aggregates is None:
        return None
    each = _confidence_each(plan, aggregates, confidence)
    intervals = {index: _aggregate_interval(plan, index, released, each) for index in aggregates}
    return _range(output, intervals, keys)


def output_intervals(
    plan: Plan, output: Output, cells: Sequence[Cell], confidence: ConfidenceLevel
) -> Sequence[Interval | None]:
    """Return the intervals of an output in some cells; each is that of `interval`."""
    aggregates = _aggregates(plan, output)
    if aggregates is None:
        return (None,) * len(cells)
    each = _confidence_each(plan, aggregates, confidence)
    columns = {index: _aggregate_intervals(plan, index, cells, each) for index in aggregates}
    if isinstance(output, Noisy):
        return columns[output.place]
    rows = zip(*columns.values(), strict=True) if columns else ((),) * len(cells)
    keys = cells.key_tuples() if isinstance(cells, CellColumns) else [cell.keys for cell in cells]
    pairs = zip(rows, keys, strict=True)
    return tuple(_range(output, dict(zip(columns, ends, strict=True)), own) for ends, own in pairs)


def _aggregates(plan: Plan, output: Output) -> set[int] | None:
    """Return the indices of the aggregates of an output; None if it has no interval."""
    aggregates = {part.place for part in _parts(output) if isinstance(part, Noisy)}
    if not aggregates:
        return aggregates if any(isinstance(part, Determined) for part in _parts(output)) else None
    return None if lacks_interval(plan, output) or is_category(plan, output) else aggregates


def _confidence_each(plan: Plan, aggregates: set[int], confidence: ConfidenceLevel) -> ConfidenceLevel:
    """Return the confidence that the interval of each of some aggregates needs."""
    return confidence_each(confidence, sum(bool(plan.aggregates[index].bundles) for index in aggregates))


def lacks_interval(plan: Plan, output: Output) -> bool:
    """Return whether an output is computed from a quantile that is drawn without an interval."""
    return any(isinstance(part, Noisy) and without_interval(plan.aggregates[part.place].ask) for part in _parts(output))


def has_intervals(plan: Plan) -> bool:
    """Return whether a column of the answer has intervals."""
    return any(map(partial(_has_interval, plan), (output for _, output in plan.outputs)))


def _has_interval(plan: Plan, output: Output) -> bool:
    return is_noisy(output) and not lacks_interval(plan, output) and not is_category(plan, output)


def without_intervals(plan: Plan, meaning: Mapping[str, object]) -> dict[str, object]:
    """Return the meaning of intervals as JSON, with the noisy columns that lack intervals; `hold` is None if all do."""
    names = [name for name, output in plan.outputs if is_noisy(output) and not _has_interval(plan, output)]
    if not names:
        return dict(meaning)
    return {**meaning, **({} if has_intervals(plan) else {"hold": None}), "without": names}


def no_interval_note(plan: Plan) -> str | None:
    """Return a note on columns whose quantiles are drawn without intervals; None without such columns."""
    names = [name for name, output in plan.outputs if lacks_interval(plan, output)]
    if not names:
        return None
    have = "has no interval" if len(names) == 1 else "have no intervals"
    return visible(f"{listed(names)} {have}: intervals=False (--no-intervals).")


def _aggregate_interval(plan: Plan, index: int, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
    aggregate = plan.aggregates[index]
    bundles = [released[i] for i in aggregate.bundles]
    ends = STATISTICS[aggregate.ask.function].interval(aggregate.ask, bundles, confidence)
    return clipped(ends, possible_values(plan, aggregate))


def _aggregate_intervals(
    plan: Plan, index: int, cells: Sequence[Cell], confidence: ConfidenceLevel
) -> Sequence[Interval]:
    """Return the intervals of an aggregate in some cells."""
    aggregate = plan.aggregates[index]
    function = aggregate.ask.function
    if isinstance(cells, CellColumns) and function in COLUMNAR:
        bundles = [cells.bundles[i] for i in aggregate.bundles]
        ends = COLUMNAR[function].intervals(aggregate.ask, bundles, confidence)
        least, most = possible_values(plan, aggregate)
        return IntervalColumn((np.clip(ends[0], least, most), np.clip(ends[1], least, most)))
    return tuple(_aggregate_interval(plan, index, cell.released, confidence) for cell in cells)


def _parts(output: Output) -> list[Output]:
    parts, waiting = [], [output]
    while waiting:
        part = waiting.pop()
        parts.append(part)
        if isinstance(part, Computed):
            waiting.extend(part.arguments)
    return parts


def _range(  # noqa: PLR0911 - one return for each form
    output: Output, intervals: dict[int, Interval], keys: Sequence[Value]
) -> Interval | None:
    match output:
        case Noisy(place=place):
            return intervals[place]
        case Grouped() | Determined():
            return _point(keys[output.place] if isinstance(output, Grouped) else output.value(keys))
        case Constantly(value=value):
            return _point(value)
        case Computed(function="ordinal", arguments=(Constantly(value=unit), moment)):
            inner = _range(moment, intervals, keys)
            return None if inner is None else ordinal_ends(unit, inner, moment.kind)
        case Computed(function=function, arguments=arguments, kind=kind):
            ranges = [_range(argument, intervals, keys) for argument in arguments]
            known = [part for part in ranges if part is not None]
            if len(known) < len(ranges):
                return None
            if function in ("least", "greatest") and any(map(_may_be_null, arguments)):
                return ordered(hull(known))
            return output_range(f"cast to {kind}" if function == "cast" else function, known)


def _may_be_null(output: Output) -> bool:
    """Return whether an output may be NULL, which `least` and `greatest` ignore."""
    return any(
        isinstance(part, Determined) or (isinstance(part, Computed) and part.function in _PARTIAL)
        for part in _parts(output)
    )


def _point(value: Value) -> Interval | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value), float(value)
