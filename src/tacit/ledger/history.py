"""What was spent: by whom, when, what is left, and what it would have cost as one declared plan.

Budgets are enforced by the filter alone. That the same events, had they been declared in advance, would have cost less
by their composed privacy-loss law is shown, never used: whoever chooses questions by earlier answers gets no such
bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit import plots
from tacit.errors import InvalidError, LedgerError
from tacit.guarantees.composition import compose
from tacit.guarantees.conversions import epsilon_of_zcdp
from tacit.guarantees.exact import Exact, Number, round_up, to_fraction
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


@dataclass(frozen=True, slots=True)
class Charge:
    """One charge, what it cost, and what was spent of its budget after it."""

    entry: Entry
    cost: Spent
    total: Spent


def charges(entries: Sequence[Entry]) -> list[Charge]:
    """Return what each charge cost, all of a ledger's entries given: by how much the filter's own total grew with it.

    No event is priced again, so that the costs under one budget add up to what is spent of it, exactly.

    Raises:
        LedgerError: a total is below the one before, as no filter leaves it.
    """
    found: list[Charge] = []
    for entry in entries:
        if entry.total is None:
            raise InvalidError("entries", "one without a total", "those of a ledger")
        before = found[-1].total if found and found[-1].entry.since == entry.since else None
        found.append(Charge(entry, _grown(before, entry.total, entry.number), entry.total))
    return found


def _grown(before: Spent | None, after: Spent, number: int) -> Spent:
    if before is None:
        return after
    loss, delta = after.loss - before.loss, after.delta - before.delta
    if loss < 0 or delta < 0:
        raise LedgerError(
            f"The ledger is not what was written: less is spent after record {number} than before it. Nothing was "
            "changed. Put a copy back, and hold it against your latest receipt: `tacit ledger POLICY verify --receipt "
            "FILE`."
        )
    return replace(after, loss=loss, delta=delta)


def by_analyst(ledger: Ledger) -> list[Share]:
    """Return what each analyst asked and spent, the largest first."""
    asked: dict[str, int] = {}
    for entry in _current(ledger):
        asked[entry.analyst] = asked.get(entry.analyst, 0) + 1
    shares = [Share(name, count, ledger.spent_by(name)) for name, count in asked.items()]
    return sorted(shares, key=lambda one: (-one.spent.loss, one.analyst))


def _current(ledger: Ledger) -> list[Entry]:
    """Return the charges to the budget that holds now; one for units that are gone has ended."""
    since = getattr(ledger, "since", 0)  # in memory there is one budget
    return [entry for entry in ledger.entries() if entry.since == since]


def as_plan(ledger: Ledger, delta: Number) -> Bounds:
    """Return what all questions so far would have cost as a plan declared in advance: ε at δ, from both sides."""
    events = [event for entry in _current(ledger) for event in entry.events]
    if not events:
        raise InvalidError("ledger", "one without a charge", "one with a history")
    return compose(events).epsilon(delta=delta, width=0.01)


def remaining(ledger: Ledger, delta: Number) -> float:
    """Return the ε, at δ, that the rest of the budget stands for, rounded down.

    Of a budget in (ε, δ) it is its rest of ε, whatever δ; of one in zCDP the tight conversion of its rest of ρ, at what
    of δ its own rest of δ leaves.
    """
    spent = ledger.spent
    most = limit(ledger.budget)
    loss, rest = most.loss - spent.loss, most.delta - spent.delta
    if most.currency == "basic":
        return 0.0 - round_up(-loss)
    at = to_fraction(delta, "delta", "a number above the rest of the budget's own δ, and below 1") - rest
    return epsilon_of_zcdp(Exact(loss), Exact(at)) if loss else 0.0


def left(ledger: Ledger) -> Budget:
    """Return what may still be spent, as a budget of the same kind."""
    spent = ledger.spent  # first: reading it updates the budget
    return left_of(ledger.budget, spent)


def left_of(budget: Budget, spent: Spent) -> Budget:
    """Return what is left of a budget, or of an analyst's limit, which may be below what is spent: then nothing."""
    most, none = limit(budget), Fraction(0)
    loss, delta = max(most.loss - spent.loss, none), max(most.delta - spent.delta, none)
    return budget_read({"currency": most.currency, "loss": loss, "delta": delta})


def burn_down(ledger: Ledger) -> alt.LayerChart:
    """Draw what is left of the budget after each question."""
    entries = _current(ledger)
    most = limit(ledger.budget)
    totals = [entry.total.loss for entry in entries if entry.total is not None]
    unit = "ε" if most.currency == "basic" else "ρ"
    remains = [float(most.loss), *(float(most.loss - total) for total in totals)]
    return plots.burn_down(remains, ["", *(entry.analyst for entry in entries)], unit=unit)
