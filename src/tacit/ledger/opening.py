"""Opening a ledger: making one, bringing an old one up to date, and holding it against the policy that asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike

from sqlalchemy import Row, select

from tacit.errors import LedgerError, RefusedError
from tacit.guarantees.events import Neighbours
from tacit.guarantees.filters import Budget, limit
from tacit.ledger.durable import DurableLedger
from tacit.ledger.first_format import migrate
from tacit.ledger.policies import Policies
from tacit.ledger.records import FORMAT, budget_read, budget_said
from tacit.ledger.stores import Store, store
from tacit.ledger.tables import HEAD, begin, create, found


def open_ledger(
    place: str | PathLike[str],
    budget: Budget,
    neighbours: Neighbours,
    *,
    policies: Policies | None = None,
    analysts: Mapping[str, Budget] | None = None,
    version: str | None = None,
    accept: bool = False,
) -> DurableLedger:
    """Open a ledger, or begin one.

    Args:
        place: a file's path, or a postgresql:// URL.
        budget: what may be spent in all; a ledger keeps the one it was begun with unless a change is accepted.
        neighbours: the relation of neighbours, which never changes.
        policies: what is public about each table, as far as the promise rests on it.
        analysts: what some analysts may spend, under the budget of all.
        version: the declared version of the data.
        accept: whether a changed budget or policy is meant, and shall be recorded.
    """
    said = budget_said(budget)
    shelf = store(place)
    try:
        ledger = _opened(shelf, said, neighbours)
        _settle_budget(ledger, budget, accept=accept)
        ledger.set_policy(policies or {}, accept=accept)
        for analyst, most in (analysts or {}).items():
            ledger.set_limit(analyst, most)
        if version is not None:
            ledger.set_version(version)
    except BaseException:
        shelf.close()
        raise
    return ledger


def read_ledger(place: str | PathLike[str]) -> DurableLedger:
    """Open a ledger that is there, as it is: to look at it, to check it, to copy it."""
    shelf = store(place, must_exist=True)
    try:
        with shelf.transaction() as connection:
            held = found(connection)
            row = connection.execute(select(HEAD)).one_or_none() if held == "ledger" else None
        if held != "ledger":
            raise LedgerError(f"{shelf.named} is no ledger, or one of an older format: ask a question to renew it.")
        return _ledger(shelf, row)
    except BaseException:
        shelf.close()
        raise


def _opened(shelf: Store, said: Mapping[str, str], neighbours: Neighbours) -> DurableLedger:
    with shelf.transaction() as connection:
        shelf.make_alone(connection)
        held = found(connection)
        if held == "other":
            raise LedgerError(f"The file {shelf.named} is a database, but no ledger. Nothing was spent or changed.")
        if held != "ledger":
            create(connection)
            if held == "first":
                migrate(connection, shelf.named)
            else:
                begin(connection, {**said, "neighbours": neighbours})
        row = connection.execute(select(HEAD)).one_or_none()
    ledger = _ledger(shelf, row)
    if row is not None and row.neighbours != neighbours:
        raise RefusedError(
            f"The ledger {shelf.named} was begun for neighbours that {row.neighbours!r}, not {neighbours!r}; that can "
            "never change. Nothing was spent. Put it back in the policy."
        )
    return ledger


def _ledger(shelf: Store, row: Row[tuple[object, ...]] | None) -> DurableLedger:
    if row is None:
        raise LedgerError(f"The ledger {shelf.named} has lost its head. Nothing was answered. Put a copy back.")
    if row.format > FORMAT:
        raise LedgerError(
            f"The ledger {shelf.named} was written by a newer version of tacit (format {row.format}; this one knows "
            f"{FORMAT}). Nothing was spent. Install that version."
        )
    return DurableLedger(shelf, budget_read(json.loads(row.budget)), row.neighbours)


def _settle_budget(ledger: DurableLedger, budget: Budget, *, accept: bool) -> None:
    """Refuse another budget than the ledger's, or record it if it is meant."""
    most, now, spent = limit(budget), limit(ledger.budget), ledger.spent
    if (most.currency, most.loss, most.delta) == (now.currency, now.loss, now.delta):
        return
    if accept:
        ledger.set_budget(budget)
        return
    lower = most.currency == now.currency and (most.loss < spent.loss or most.delta < spent.delta)
    why = " It would be lower than what is spent already, which nothing can undo." if lower else ""
    raise RefusedError(
        f"The ledger {ledger.named} has the budget {ledger.budget}, but the policy says {budget}.{why} Nothing was "
        "spent. Put the old one back, or, if the change is meant, accept it: `tacit ledger POLICY accept`, or "
        "accept=True in Python."
    )
