"""What was spent: by whom, when, what is left, and what it would have cost as one declared plan.

Budgets are enforced by the filter alone. That the same events, had they been declared in advance, would have cost less
by their composed privacy-loss law is shown, never used: whoever chooses questions by earlier answers gets no such
bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import plots
from tacit.errors import InvalidError
from tacit.guarantees.composition import compose
from tacit.guarantees.exact import Exact, Number
from tacit.guarantees.filters import Budget, Spent, limit
from tacit.guarantees.pld import Bounds
from tacit.ledger import Entry, Ledger
from tacit.ledger.records import budget_read

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True)
class Share:
    """One analyst's part: how many questions, and what they cost together."""

    analyst: str
    questions: int
    spent: Spent


def by_analyst(ledger: Ledger) -> list[Share]:
    """Return what each analyst asked and spent, the largest first."""
    asked: dict[str, int] = {}
    for entry in ledger.entries():
        asked[entry.analyst] = asked.get(entry.analyst, 0) + 1
    shares = [Share(name, count, ledger.spent_by(name)) for name, count in asked.items()]
    return sorted(shares, key=lambda one: (-one.spent.loss, one.analyst))


def as_plan(ledger: Ledger, delta: Number) -> Bounds:
    """Return what all questions so far would have cost as a plan declared in advance: ε at δ, from both sides."""
    events = [event for entry in ledger.entries() for event in entry.events]
    if not events:
        raise InvalidError("ledger", "one without a charge", "one with a history")
    return compose(events).epsilon(delta=delta, width=0.01)


def remaining(ledger: Ledger, delta: Number) -> float:
    """Return the ε, at δ, that the rest of the budget stands for: of a zCDP budget by the tight conversion."""
    most, spent = limit(ledger.budget), ledger.spent
    loss = most.loss - spent.loss
    if most.currency == "basic":
        return float(loss)
    from tacit.guarantees.conversions import epsilon_of_zcdp  # noqa: PLC0415 - needed for this currency alone

    return float(epsilon_of_zcdp(float(Exact(loss)), float(delta))) if loss else 0.0


def left(ledger: Ledger) -> Budget:
    """Return what may still be spent, as a budget of the same kind."""
    most, spent = limit(ledger.budget), ledger.spent
    said = {"currency": most.currency, "loss": most.loss - spent.loss, "delta": most.delta - spent.delta}
    return budget_read(said)


def burn_down(ledger: Ledger) -> alt.LayerChart:
    """Draw what is left of the budget after each question."""
    most = limit(ledger.budget)
    entries: Sequence[Entry] = ledger.entries()
    left, total = [float(most.loss)], most.loss
    for entry in entries:
        total = most.loss - entry.total.loss if entry.total is not None else total
        left.append(float(total))
    unit = "ε" if most.currency == "basic" else "ρ"
    return plots.burn_down(left, ["", *(entry.analyst for entry in entries)], unit=unit)
