"""Admission of a charge: what the budget and an analyst's limit admit, and what remains of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.errors import (
    BudgetError,
)
from tacit.guarantees.events import Event
from tacit.guarantees.filters import Budget, Spent, admit_all
from tacit.ledger.records import (
    UNLISTED,
    Account,
    Head,
    Tables,
    left_of,
    left_under,
)


def limit_of(analyst: str, nothing: Spent, tables: Tables) -> Budget | None:
    """Return the limit that applies to an analyst: their own, or that of unlisted analysts; None without either."""
    own_limit = tables.account(analyst, nothing).limit
    return tables.account(UNLISTED, nothing).limit if own_limit is None else own_limit


def admitted(head: Head, analyst: str, events: Sequence[Event], tables: Tables) -> tuple[Spent, Account]:
    """Return the totals after some events, or raise BudgetError; the budget and the analyst's limit must admit them.

    An analyst without a limit gets what the total of the data grew by. An error states what the analyst has left: the
    lesser of the rests of the budget and of the limit.
    """
    spent, recorded = tables.account(analyst, head.nothing)
    own_limit = limit_of(analyst, head.nothing, tables)
    if own_limit is None:
        total = admit_all(head.spent, head.budget, events)
        growth = difference(head.spent, total)
        return total, Account(replace(spent, loss=spent.loss + growth.loss, delta=spent.delta + growth.delta), None)
    try:
        total = admit_all(head.spent, head.budget, events)
        return total, Account(admit_all(spent, own_limit, events), recorded)
    except BudgetError as error:
        raise _shortage(error, head, left_under(head.budget, head.spent, own_limit, spent), events) from None


def _shortage(error: BudgetError, head: Head, rest: Budget, events: Sequence[Event]) -> BudgetError:
    """Return the error with what an analyst has left, if that is less than what is left of the budget of all."""
    if rest == left_of(head.budget, head.spent):
        return error
    try:
        admit_all(head.nothing, rest, events)
    except BudgetError as own:
        return BudgetError(
            own.message,
            hint="This is the analyst's own limit, under the budget of the data. Ask for less, or have the steward "
            "raise the limit.",
        )
    return error


def difference(before: Spent, after: Spent) -> Spent:
    """Return by how much a total grew; raise InvalidError if it became smaller."""
    return replace(after, loss=after.loss - before.loss, delta=after.delta - before.delta)
