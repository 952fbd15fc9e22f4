"""Reports on a ledger: what was spent, when and by whom, what is left, and the cost as one declared plan.

Only the filter enforces budgets. If the same events had been declared in advance, they would have cost less by their
composed privacy-loss distribution. This module shows that cost, and nothing uses it to admit a charge: the bound does
not hold for queries that depend on earlier answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import plots
from tacit.errors import InvalidError, LedgerError
from tacit.guarantees.composition import compose
from tacit.guarantees.conversions import epsilon_of_zcdp
from tacit.guarantees.exact import Exact, Number, round_up, to_fraction
from tacit.guarantees.filters import Budget, Spent, limit
from tacit.guarantees.pld import Bounds
from tacit.ledger import Ledger, LedgerEntry
from tacit.ledger.admission import difference
from tacit.ledger.records import left_of, left_under
from tacit.notebook import ShownAsFields, rows_html
from tacit.query.formatting import spell
from tacit.safe_text import html_lines

__all__ = ["Charge", "Share", "as_plan", "burn_down", "by_analyst", "charges", "left", "left_of", "remaining"]

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True)
class Share(ShownAsFields):
    """The number of queries of one analyst, and their total cost.

    Attributes:
        questions: the number of charges.
        spent: the total of these charges.
    """

    analyst: str
    questions: int
    spent: Spent


@dataclass(frozen=True, slots=True)
class Charge(ShownAsFields):
    """A charge, its cost, and the total spent of its budget after it.

    Attributes:
        entry: the record of the charge.
    """

    entry: LedgerEntry
    cost: Spent
    total: Spent


def charges(entries: Sequence[LedgerEntry]) -> list[Charge]:
    """Return the cost of each charge: by how much the filter's total grew with it.

    No event is priced again, so the costs under one budget add up exactly to what is spent of it.

    Args:
        entries: all entries of a ledger.

    Raises:
        LedgerError: a total is below the one before, which no filter allows.
    """
    priced: list[Charge] = []
    for entry in entries:
        if entry.total is None:
            raise InvalidError(f"Entry {entry.number} has no total.", argument="entries", hint="Give ledger.entries().")
        before = priced[-1].total if priced and priced[-1].entry.since == entry.since else None
        priced.append(Charge(entry, _cost(before, entry.total, entry.number), entry.total))
    return priced


def _cost(before: Spent | None, after: Spent, number: int) -> Spent:
    if before is None:
        return after
    if after.loss < before.loss or after.delta < before.delta:
        raise LedgerError(
            f"The ledger is corrupt: the total spent falls at record {number}.",
            hint="Restore it from a backup, and compare it with your latest receipt: `tacit ledger verify POLICY "
            "--receipt FILE`.",
        )
    return difference(before, after)


def by_analyst(ledger: Ledger) -> list[Share]:
    """Return the queries and the spending of each analyst, the largest first.

    Args:
        ledger: the ledger, such as `db.ledger`.
    """
    counts: dict[str, int] = {}
    for entry in _current(ledger):
        counts[entry.analyst] = counts.get(entry.analyst, 0) + 1
    shares = [Share(name, count, ledger.spent_by(name)) for name, count in counts.items()]
    return sorted(shares, key=lambda share: (-share.spent.loss, share.analyst))


def _current(ledger: Ledger) -> list[LedgerEntry]:
    """Return the charges to the current budget, without those to budgets of earlier units."""
    since = ledger.since
    return [entry for entry in ledger.entries() if entry.since == since]


def as_plan(ledger: Ledger, delta: Number) -> Bounds:
    """Return what all queries so far would have cost as a plan declared in advance: bounds on ε at δ.

    Args:
        ledger: the ledger, such as `db.ledger`.
        delta: δ at which to state the cost.
    """
    events = [event for entry in _current(ledger) for event in entry.events]
    if not events:
        raise InvalidError("The ledger has no charges, so there is no plan to price.", argument="ledger")
    return compose(events).epsilon(delta=delta, width=0.01)


def remaining(ledger: Ledger, delta: Number) -> float:
    """Return the ε, at δ, of the rest of the budget, rounded down.

    For a budget in (ε, δ) this is the rest of ε, for every δ. For a budget in zCDP it is the tight conversion of the
    rest of ρ, at the part of δ that the budget's own rest of δ leaves.

    Args:
        ledger: the ledger, such as `db.ledger`.
        delta: δ at which to state the rest.
    """
    spent = ledger.spent
    most = limit(ledger.budget)
    loss, rest = most.loss - spent.loss, most.delta - spent.delta
    if most.currency == "basic":
        return 0.0 - round_up(-loss)
    at = to_fraction(delta, "delta", "a number above the rest of the budget's own δ, and below 1") - rest
    return epsilon_of_zcdp(Exact(loss), Exact(at)) if loss else 0.0


def left(ledger: Ledger, analyst: str | None = None) -> Budget:
    """Return what may still be spent, by all or by one analyst, as a budget of the same kind.

    Args:
        ledger: the ledger, such as `db.ledger`.
        analyst: the name of the analyst; None for all.
    """
    spent = ledger.spent  # first, because reading it updates the budget
    own_limit = None if analyst is None else ledger.limit_of(analyst)
    if analyst is None or own_limit is None:
        return left_of(ledger.budget, spent)
    return left_under(ledger.budget, spent, own_limit, ledger.spent_by(analyst))


def history_html(ledger: Ledger) -> str:
    """Return the charges of a ledger and what is left of its budget as HTML, the latest charge first.

    Args:
        ledger: the ledger, such as `db.ledger`.
    """
    status = f"Ledger {ledger.name}: left {spell(left(ledger))} of {spell(ledger.budget)}."
    rows = [
        (entry.number, entry.time[:19], entry.analyst, entry.question, entry.outcome, float(charge.cost.loss))
        for charge in reversed(charges(ledger.entries()))
        for entry in (charge.entry,)
    ]
    unit = "ε" if limit(ledger.budget).currency == "basic" else "ρ"
    return html_lines([status]) + rows_html(("record", "time", "analyst", "question", "outcome", unit), rows)


def burn_down(ledger: Ledger) -> alt.LayerChart:
    """Return a chart of what is left of the budget after each query.

    Args:
        ledger: the ledger, such as `db.ledger`.
    """
    entries = _current(ledger)
    most = limit(ledger.budget)
    totals = [entry.total.loss for entry in entries if entry.total is not None]
    unit = "ε" if most.currency == "basic" else "ρ"
    remains = [float(most.loss), *(float(most.loss - total) for total in totals)]
    return plots.burn_down(remains, ["", *(entry.analyst for entry in entries)], unit=unit)
