"""The columns of what a reach cuts: for each count and sum, what is not counted, and the answer with it."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.cut import uncut_estimate, uncut_interval
from tacit.query.aggregates.possible_values import clipped, cut_values
from tacit.query.aggregates.statistic import ConfidenceLevel, Released
from tacit.query.expressions import Value
from tacit.query.plan import Aggregate, Grouped, Noisy, Plan
from tacit.query.results.render import AnswerColumn
from tacit.query.sql.names import unique_names

ReleasedCell = tuple[tuple[Value, ...], Sequence[Released]]
"""The keys of a cell, and its noisy integers by bundle."""


def cut_columns(plan: Plan, cells: Sequence[ReleasedCell], confidence: ConfidenceLevel) -> list[AnswerColumn]:
    """Return the keys and, for each count and sum whose cut is measured, two columns with intervals.

    Args:
        plan: the plan.
        cells: the cells of the answer, after noise.
        confidence: of each interval.
    """
    if plan.cap is None:
        return []
    columns = [
        AnswerColumn(name, output.kind, tuple(keys[output.place] for keys, _ in cells), None)
        for name, output in plan.outputs
        if isinstance(output, Grouped)
    ]
    for name, output in plan.outputs:
        if isinstance(output, Noisy) and plan.aggregates[output.place].cut is not None:
            columns += _of_aggregate(name, plan, plan.aggregates[output.place], [cell for _, cell in cells], confidence)
    names = unique_names(column.name for column in columns)
    return [
        AnswerColumn(name, column.kind, column.values, column.ends) for name, column in zip(names, columns, strict=True)
    ]


def _of_aggregate(
    name: str, plan: Plan, aggregate: Aggregate, cells: Sequence[Sequence[Released]], confidence: ConfidenceLevel
) -> list[AnswerColumn]:
    """Return what is not counted of one aggregate, and the aggregate with it."""
    statistic, ask = STATISTICS[aggregate.ask.function], aggregate.ask
    pairs = [(released[aggregate.bundles[0]], released[aggregate.cut or 0]) for released in cells]
    possible = cut_values(plan, aggregate)
    cut = AnswerColumn(
        f"{name}_not_counted",
        statistic.kind(ask),
        tuple(statistic.estimate(ask, [part]) for _, part in pairs),
        tuple(clipped(statistic.interval(ask, [part], confidence), possible) for _, part in pairs),
    )
    uncut = AnswerColumn(
        f"{name}_up_to_{plan.cap}",
        statistic.kind(ask),
        tuple(uncut_estimate(aggregate, *pair) for pair in pairs),
        tuple(clipped(uncut_interval(aggregate, *pair, confidence), possible) for pair in pairs),
    )
    return [cut, uncut]
