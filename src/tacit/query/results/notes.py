"""What an answer is, where that is not quite what its name says; known before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tacit.query.aggregates import STATISTICS
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Plan
from tacit.query.pricing.price import Price


@runtime_checkable
class Noted(Protocol):
    """An aggregate of which there may be something to say."""

    def note(self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> str | None:
        """Return what there is to say, or None."""


def notes(plan: Plan, price: Price) -> dict[str, str]:
    """Return the notes on a plan's aggregates, by their text."""
    found: dict[str, str] = {}
    for one in plan.aggregates:
        statistic = STATISTICS[one.ask.function]
        if isinstance(statistic, Noted):
            bundles, noise = [plan.bundles[i] for i in one.bundles], [price.noise[i] for i in one.bundles]
            said = statistic.note(one.ask, bundles, noise)
            if said is not None:
                found[one.sql] = said
    return found
