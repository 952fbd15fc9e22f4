"""What stewards change: the budget, analysts' limits, the policy, the version of the data. Each change is a record."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from tacit.errors import InvalidError, RefusedError, show
from tacit.guarantees.filters import Budget, limit
from tacit.ledger import check_name
from tacit.ledger.head import SET_BACK, append, check_clock, clock, read_analyst, written
from tacit.ledger.limits import check_currency, check_delta
from tacit.ledger.policies import Policies, changes_of, check_changes, is_current, under_recorded_names
from tacit.ledger.records import Head, budget_said, canonical, version_name
from tacit.ledger.schema import ANALYSTS, RECORDS, REQUESTS, put
from tacit.query.formatting import spell


def settle_budget(connection: Connection, head: Head, budget: Budget, named: str, *, accept: bool) -> Head:
    """Hold a budget against the ledger's own; record another one if it is meant."""
    said, most = budget_said(budget), limit(budget)
    if said == budget_said(head.budget):
        return head
    if most.currency != head.spent.currency:
        raise RefusedError(
            f"The ledger {named} has the budget {head.budget}, but the policy says {budget}: that is another currency, "
            "in which what was spent cannot be told. Nothing was spent or changed. Put the old one back; or, for data "
            "of other units, begin another ledger."
        )
    if most.loss < head.spent.loss or most.delta < head.spent.delta:
        raise RefusedError(
            f"The ledger {named} has the budget {head.budget}, but the policy says {budget}, which is below what "
            f"is spent already ({float(head.spent.loss):g}, δ = {float(head.spent.delta):g}); nothing can undo that. "
            "Nothing was changed. Put the old one back."
        )
    if not accept:
        raise RefusedError(
            f"The ledger {named} has the budget {head.budget}, but the policy says {budget}. Nothing was spent or "
            "changed. Put the old one back, or, if the change is meant, accept it: `tacit ledger POLICY accept`, or "
            "accept=True in Python."
        )
    return append(connection, head, "budget", said, budget=budget)


def settle_limit(
    connection: Connection, head: Head, analyst: str, budget: Budget | None, named: str, *, accept: bool
) -> Head:
    """Record what one analyst may spend under the data's budget; None: no limit of their own.

    The first limit of an analyst who has spent nothing is recorded at once. A changed limit, or a first limit of an
    analyst who has already spent, needs `accept`: otherwise whoever opens the data could raise a limit unnoticed. A
    recorded limit with a δ stays valid under a budget without δ, so that older ledgers open; a new one is refused.
    """
    check_name(analyst, "analyst")
    said = None if budget is None else budget_said(budget)
    if budget is not None:
        check_currency(analyst, budget, head.budget)
    own, now = read_analyst(connection, head, analyst, named)
    if (None if now is None else budget_said(now)) == said:
        return head
    if budget is not None:
        check_delta(analyst, budget, head.budget)
    if not accept and (now is not None or own.loss or own.delta):
        raise RefusedError(_changed_limit(analyst, now, budget, named))
    moved = append(connection, head, "analyst", {"analyst": analyst, "budget": said})
    values = {"name": analyst, "loss": str(own.loss), "delta": str(own.delta)}
    put(connection, ANALYSTS, values | {"budget": None if said is None else canonical(said)})
    return moved


def _changed_limit(analyst: str, now: Budget | None, budget: Budget | None, named: str) -> str:
    """Return the refusal of a limit that differs from the recorded one."""
    wanted = "no limit" if budget is None else spell(budget)
    how = "`tacit ledger POLICY accept`, or accept=True in Python."
    if now is None:
        return (
            f"The analyst {analyst!r} has spent without a limit; the policy now sets {wanted}. Nothing was changed. "
            f"Remove the limit from the policy, or accept it: {how}"
        )
    return (
        f"The ledger {named} limits the analyst {analyst!r} to {spell(now)}; the policy says {wanted}. Nothing was "
        f"changed. Put the old limit back, or accept the new one: {how}"
    )


def settle_policy(connection: Connection, head: Head, policies: Policies, *, accept: bool) -> Head:
    """Record what is public; what changed since a charge must be accepted, and the unit can never change."""
    policies = under_recorded_names(policies, head.policy)
    if is_current(head.policy, policies):
        return head
    if head.spent.loss or head.spent.delta:
        changes = [change for name, promise in policies.items() for change in changes_of(name, head.policy, promise)]
        check_changes(changes, accept=accept)
    merged = {**head.policy, **{name: promise.parts() for name, promise in policies.items()}}
    return append(connection, head, "policy", {"tables": merged}, policy=merged)


def settle_version(connection: Connection, head: Head, version: str, *, disjoint: bool) -> Head:
    """Record another declared version of the data.

    A budget that began afresh belongs to the new units alone. So a version from before it is refused from then on: its
    units would be charged to a budget that is not theirs. And what was asked about already has no new units.
    """
    if not check_name(version, "data_version"):
        raise InvalidError("data_version", "an empty one", "a name, such as 2026-01")
    declared = connection.execute(select(REQUESTS.c.number).where(REQUESTS.c.name == version_name(version))).scalar()
    if declared is not None and declared < head.since:
        raise RefusedError(
            f"The version {show(version)} of the data is from before the budget began afresh for other units "
            f"(with {show(head.version)}). Nothing was spent. Ask of the newer data."
        )
    if head.version == version and not (disjoint and head.since != declared):
        return head
    if disjoint and declared is not None and _charged_since(connection, declared):
        raise RefusedError(
            f"The version {show(version)} of the data has been asked about already, so its units are not new. Nothing "
            "was changed. Give the version with the new units a name of its own."
        )
    changed: dict[str, object] = {"version": version}
    if disjoint:
        changed |= {"spent": head.nothing, "since": head.number + 1}
    moved = append(connection, head, "version", {"version": version, "disjoint": disjoint}, **changed)
    if disjoint or declared is None:
        put(connection, REQUESTS, {"name": version_name(version), "number": moved.number, "digest": ""})
    if disjoint:
        connection.execute(update(ANALYSTS).values(loss="0", delta="0"))
    return moved


def _charged_since(connection: Connection, number: int) -> bool:
    charges = select(RECORDS.c.number).where(RECORDS.c.kind == "charge", RECORDS.c.number > number)
    return connection.execute(charges.limit(1)).first() is not None


def settle_clock(connection: Connection, head: Head, named: str, *, accept: bool) -> Head:
    """Refuse a clock that was set back, or record that it was wrong before."""
    if accept and written(clock() + SET_BACK) < head.time:
        return append(connection, head, "clock", {"was": head.time})
    check_clock(head, named)
    return head
