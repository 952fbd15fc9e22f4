"""Outputs that are public values, and the sentence on them."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.query.formatting import listed
from tacit.query.key_tuples import Determined
from tacit.query.plan import Computed, Output, Plan
from tacit.query.pricing.noisy_filters import is_noisy
from tacit.safe_text import visible


def is_public(output: Output) -> bool:
    """Return whether an output is computed from public values of public tables, and not from aggregates with noise."""
    return not is_noisy(output) and any(True for _ in _determined(output))


def public_notes(plan: Plan) -> list[str]:
    """Return which aggregates are exact and public, and what determines them; an empty list without such aggregates."""
    outputs = [output for _, output in plan.outputs]
    outputs += [order.by for order in plan.order] + ([] if plan.having is None else [plan.having])
    found = {part.sql: part for output in outputs for part in _determined(output)}
    by_keys: dict[tuple[int, ...], list[str]] = {}
    for sql, part in found.items():
        by_keys.setdefault(part.places, []).append(sql)
    return [
        visible(
            f"{listed(names)} {'is' if len(names) == 1 else 'are'} exact, public and free of cost: "
            f"{_reason(plan, places)} a public table."
        )
        for places, names in by_keys.items()
    ]


def _reason(plan: Plan, places: tuple[int, ...]) -> str:
    if not places:
        return "every row has the same value in"
    names = [plan.keys[place].name for place in places]
    return f"{listed(names)} {'determines' if len(names) == 1 else 'determine'} the value in"


def _determined(output: Output) -> Iterator[Determined]:
    """Yield the public values in an output."""
    waiting = [output]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Determined):
            yield part
        elif isinstance(part, Computed):
            waiting.extend(part.arguments)
