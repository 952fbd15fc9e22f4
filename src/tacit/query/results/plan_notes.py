"""Sentences that the plan of a query and its answer share: what is computed otherwise than in plain SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacit.query.aggregates import notes
from tacit.query.aggregates.statistic import miss_rate
from tacit.query.expressions import Column, Expression, columns, walk
from tacit.query.formatting import listed, percent
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Noisy, Plan
from tacit.query.results.group_note import value_text
from tacit.query.sql.key_values import own_column
from tacit.safe_text import visible


def rank_notes(plan: Plan, noise: Sequence[NoiseLaw]) -> list[str]:
    """Return a sentence on each aggregate whose result differs from plain SQL, such as the rank of `min`."""
    names = {plan.aggregates[out.place].sql: name for name, out in plan.outputs if isinstance(out, Noisy)}
    return [visible(_sentence(names.get(sql, sql), note)) for sql, note in notes(plan, noise).items()]


def _sentence(name: str, note: str) -> str:
    """Return a note as a sentence; one that starts with "the" says what a column is."""
    return f"{name} is {note}." if note.startswith("the ") else f"{note[0].upper()}{note[1:]}."


def exact_notes(plan: Plan) -> list[str]:
    """Return which columns of an answer are a public number, and so have no noise."""
    exact = [
        name
        for name, output in plan.outputs
        if isinstance(output, Noisy)
        and not plan.aggregates[output.place].bundles
        and plan.aggregates[output.place].ask.size is not None
    ]
    if not exact:
        return []
    what = "rows" if plan.table.unit is None else "units"
    verb = "is" if len(exact) == 1 else "are"
    return [visible(f"{listed(exact)} {verb} exact: the number of {what} is public.")]


def widened_notes(plan: Plan, confidence: float | None) -> list[str]:
    """Return which columns have intervals that were drawn for a lower confidence, and so are wider than necessary."""
    drawn = {
        name: draw.miss
        for name, output in plan.outputs
        if isinstance(output, Noisy) and (draw := plan.aggregates[output.place].ask.draw) is not None
    }
    names = [name for name, miss in drawn.items() if miss and confidence and miss_rate(confidence) < miss]
    if not names or confidence is None:
        return []
    lowest = percent(float(1 - max(drawn[name] or 0 for name in names)))
    own = "Its interval was" if len(names) == 1 else "Their intervals were"
    return [
        visible(
            f"{listed(names)}: {own[0].lower()}{own[1:]} drawn for {lowest}; ask again with confidence={confidence}."
        )
    ]


def missing_notes(plan: Plan) -> list[str]:
    """Return what missing values of required columns count as, for the columns that the query reads.

    A key that is such a column is in `group_note`. A subquery that groups by the unit makes its values itself, so they
    are not missing values of a column.
    """
    if plan.units is not None:
        return []
    parts = [part for each in _read(plan, bare=False) for part in walk(each) if not isinstance(part, Column)]
    read = {column.name for part in parts if (column := own_column(part, plan.table)) is not None}
    texts = [f"of {name}, if any, count as {value_text(plan.table.columns[name].stand_in)}" for name in sorted(read)]
    return [visible(f"Missing values {'; those '.join(texts)}.")] if texts else []


def zones(plan: Plan) -> dict[str, str]:
    """Return the zoned columns that a query reads, each with the time zone whose local times tacit reads."""
    names = sorted({name for expression in _read(plan, bare=True) for name in columns(expression)})
    policies = {name: plan.table.columns[name] for name in names if name in plan.table.columns}
    return {name: policy.timezone for name, policy in policies.items() if policy.timezone}


def zone_notes(plan: Plan) -> list[str]:
    """Return the time zone in which the columns of a query are read."""
    names = zones(plan)
    return [
        visible(f"{listed([name for name in names if names[name] == zone])}: local times in {zone}.")
        for zone in dict.fromkeys(names.values())
    ]


def _read(plan: Plan, *, bare: bool) -> Iterator[Expression]:
    """Yield the expressions of rows that a plan reads; keys that are columns only if `bare`."""
    if plan.where is not None:
        yield plan.where
    for key in (*plan.keys, *plan.within):
        if bare or own_column(key.expression, plan.table) is None:
            yield key.expression
    for aggregate in plan.aggregates:
        yield from aggregate.ask.values
