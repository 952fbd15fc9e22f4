"""Appending records, and the changes that stewards make: budget, limits, policy, data version, clock.

Each function compares a setting with the recorded one. If it differs, the function appends a record, or raises
RefusedError if the rules forbid the change (see `state`) or the steward did not accept it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from tacit.errors import InvalidError, LedgerError, RefusedError
from tacit.guarantees.filters import Budget
from tacit.ledger import check_name
from tacit.ledger.policies import (
    Policies,
    changes_of,
    check_changes,
    check_population,
    is_current,
    tables_of_units,
    under_recorded_names,
)
from tacit.ledger.records import UNLISTED, Head, RecordBody, described_analyst, encode_budget, record
from tacit.ledger.schema import SqlTables, append_row
from tacit.ledger.state import apply_new, check_account, check_budget, check_limit, check_new_limit, check_version
from tacit.query.formatting import spell

CLOCK_TOLERANCE = timedelta(minutes=5)
"""The largest difference between the clocks of machines that share a ledger."""

_ACCEPT = "accept it: `tacit ledger accept POLICY`, or accept=True in Python."


def clock() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def format_time(time: datetime) -> str:
    """Return a time in the format of records."""
    return time.isoformat(timespec="milliseconds")


def append(connection: Connection, head: Head, kind: str, body: RecordBody, name: str) -> Head:
    """Apply a record to the ledger, store it, and return the head after it.

    The time of a record is never before that of the previous one, except for a record that corrects the clock.
    """
    now = clock() if kind == "clock" else max(clock(), datetime.fromisoformat(head.time))
    added = record(head.number + 1, kind, {**body, "time": format_time(now)}, head.link)
    after = apply_new(head, added, SqlTables(connection, name))
    append_row(connection, head, added, after)
    return after


def change_budget(connection: Connection, head: Head, budget: Budget, name: str, *, accept: bool) -> Head:
    """Record a budget that differs from the recorded one."""
    numbers = encode_budget(budget)
    if numbers == encode_budget(head.budget):
        return head
    check_budget(head, budget, name)
    if not accept:
        raise RefusedError(
            f"Ledger {name} has the budget {head.budget}, but the policy says {budget}.",
            hint=f"Restore the old budget. If the change is intended, {_ACCEPT}",
        )
    return append(connection, head, "budget", numbers, name)


def change_limit(
    connection: Connection, head: Head, analyst: str, budget: Budget | None, name: str, *, accept: bool
) -> Head:
    """Record the limit of one analyst under the budget of the data; None removes it.

    The first limit of an analyst who has spent nothing is recorded at once. A changed limit, or a first limit of an
    analyst who has already spent, needs `accept`: otherwise anyone who opens the data could raise a limit unnoticed. A
    recorded limit with a δ stays valid under a budget without δ, so that older ledgers open; a new one is refused.
    """
    check_account(analyst)
    numbers = None if budget is None else encode_budget(budget)
    if budget is not None:
        check_limit(analyst, budget, head)
    spent, recorded = SqlTables(connection, name).account(analyst, head.nothing)
    spent = head.spent if analyst == UNLISTED else spent  # anybody may have spent it
    if (None if recorded is None else encode_budget(recorded)) == numbers:
        return head
    if budget is not None:
        check_new_limit(analyst, budget, head)
    if not accept and (recorded is not None or spent.loss or spent.delta):
        raise _changed_limit(analyst, recorded, budget, name)
    return append(connection, head, "analyst", {"analyst": analyst, "budget": numbers}, name)


def _changed_limit(analyst: str, recorded: Budget | None, budget: Budget | None, name: str) -> RefusedError:
    """Return the refusal of a limit that differs from the recorded one."""
    now, who = "no limit" if budget is None else spell(budget), described_analyst(analyst)
    if recorded is None:
        spender, whose = ("Somebody", f" for {who}") if analyst == UNLISTED else (f"{who[0].upper()}{who[1:]}", "")
        return RefusedError(
            f"{spender} has spent without a limit; the policy now sets {now}{whose}.",
            hint=f"Remove the limit from the policy. If it is intended, {_ACCEPT}",
        )
    return RefusedError(
        f"Ledger {name} limits {who} to {spell(recorded)}, but the policy says {now}.",
        hint=f"Restore the old limit. If the change is intended, {_ACCEPT}",
    )


def change_policy(connection: Connection, head: Head, policies: Policies, name: str, *, accept: bool) -> Head:
    """Record the policy of the tables. After a charge a change must be accepted, and the unit can never change."""
    policies = under_recorded_names(policies, head.policy)
    if is_current(head.policy, policies):
        return head
    if head.spent.neighbours == "change one":
        added = [table for table, promise in policies.items() if promise.unit is not None]
        check_population(tables_of_units(head.policy), added)
    if head.spent.loss or head.spent.delta:
        changes = [change for table, promise in policies.items() for change in changes_of(table, head.policy, promise)]
        check_changes(changes, accept=accept)
    merged = {**head.policy, **{table: promise.parts() for table, promise in policies.items()}}
    return append(connection, head, "policy", {"tables": merged}, name)


def change_version(connection: Connection, head: Head, version: str, name: str, *, disjoint: bool) -> Head:
    """Record a new declared version of the data; with `disjoint` its units are new, and the budget is renewed."""
    if not check_name(version, "data_version"):
        raise InvalidError("data_version is empty.", argument="data_version", hint="Give a name, such as 2026-01.")
    declared = check_version(head, version, SqlTables(connection, name), disjoint=False)
    is_renewed = declared is not None and declared == head.since
    if head.version == version and (is_renewed or not disjoint):
        return head
    return append(connection, head, "version", {"version": version, "disjoint": disjoint}, name)


def check_clock(head: Head, name: str) -> None:
    """Raise LedgerError if the clock was set back. No rule depends on times, but they must not mislead a reader."""
    now, last = clock(), datetime.fromisoformat(head.time)
    if now < last - CLOCK_TOLERANCE:
        raise LedgerError(
            f"The clock of this machine shows {now:%Y-%m-%d %H:%M} UTC, which is before the last record of ledger "
            f"{name} ({last:%Y-%m-%d %H:%M}).",
            hint=f"Correct the clock, then try again. If it is right now and was wrong before, {_ACCEPT}",
        )


def change_clock(connection: Connection, head: Head, name: str, *, accept: bool) -> Head:
    """Refuse a clock that was set back; with `accept`, record that the clock was wrong before."""
    if accept and format_time(clock() + CLOCK_TOLERANCE) < head.time:
        return append(connection, head, "clock", {"was": head.time}, name)
    check_clock(head, name)
    return head
