"""The rules of a ledger: when a record is valid, and what it changes.

`apply(head, record, tables)` is the only statement of these rules. The SQL ledger applies each record before it stores
it. The ledger in memory applies the same records and stores nothing. `replay` applies the records of a ledger again,
from the first one on. So writing and checking cannot disagree: `apply` rejects a record in both, or in neither.

| kind | rule |
|---|---|
| begin | it is the first record, and only the first |
| budget | the currency stays the same, and the new budget covers what is spent |
| analyst | the limit is in the currency of the budget; it is one analyst's, or that of all without their own |
| policy | once budget is spent, the unit and the neighbour relation of a table stay the same |
| version | a version from before the last renewal is closed; `disjoint` needs a version that was never charged |
| clock | it names the time of the record before it |
| size | the first size of a table under a version; a table has one size under a version |
| charge | the budget and the analyst's limit admit all events; the totals are the filter's; a key is for one query |
| outcome | it ends a pending charge, with "answered" or "failed" |
| seal | it names a place and a token; after it, a ledger admits only `moved`, or another seal |
| moved | it follows a seal and has its token |

A few rules hold only when a record is written, because records cannot show them: the steward accepted a change, names
are printable, the clock was not set back (`changes`), a new limit has no δ under a budget without δ, and a limit of 0
refuses also a query that costs nothing. Version 0.1.0 recorded such limits and charges, and its ledgers must still
verify.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tacit import activity
from tacit.errors import (
    CommitError,
    InternalError,
    InvalidError,
    NoLedgerError,
    RefusedError,
    TacitError,
    bad_value,
    show_name,
)
from tacit.guarantees.events import from_json, to_json
from tacit.guarantees.exact import whole
from tacit.guarantees.filters import Budget, limit
from tacit.ledger import ANSWERED, FAILED, PENDING, Request, check_name
from tacit.ledger.admission import admitted, limit_of
from tacit.ledger.policies import check_fixed, read_policy
from tacit.ledger.records import (
    MOVED,
    SEAL,
    UNLISTED,
    Account,
    Head,
    Record,
    Tables,
    WrongRecordError,
    decode_budget,
    described_analyst,
    key_name,
    query_name,
    stored_amount,
    version_name,
)
from tacit.ledger.seals import check_not_sealed, continue_after_seal, seal
from tacit.ledger.sizes import add_size
from tacit.query.formatting import spell

_LARGEST_NUMBER = 2**63 - 1
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


# --- the state machine ----------------------------------------------------------------------------------------------


def apply(head: Head | None, record: Record, tables: Tables) -> Head:
    """Check one record, change the tables, and return the head after it.

    Args:
        head: the head before the record; None for the first.
        record: the record. Its number and its link are not checked here, because the chain is not a rule of content.
        tables: the rest of the state. A rejected record changes nothing: each rule checks before it writes.

    Raises:
        WrongRecordError: no ledger writes such a record.
        BudgetError: a charge does not fit.
        RefusedError: the rule forbids the change.
        InvalidError: a value in the record is not valid.
    """
    try:
        body = record.fields
        time = str(body["time"])
        if head is None:
            changed = _begin(record, body)
        else:
            if record.kind not in (SEAL, MOVED):
                check_not_sealed(head, tables.name)
            changed = _RULES[record.kind](head, record.number, body, tables)
    except TacitError:  # an InvalidError is a ValueError too
        raise
    except _MALFORMED:
        raise WrongRecordError("It does not have the fields of a record of its kind.") from None
    return replace(changed, number=record.number, link=record.link, time=time)


def apply_new(head: Head, record: Record, tables: Tables) -> Head:
    """Apply a record that this process made; raise InternalError if no ledger writes such a record."""
    try:
        return apply(head, record, tables)
    except WrongRecordError as error:
        raise InternalError(f"a record of kind {record.kind!r} would not verify. {error}") from None


def _begin(record: Record, body: Mapping[str, Any]) -> Head:
    if record.kind != "begin":
        raise WrongRecordError("The first record of a ledger states its budget, and this record does not.")
    return Head.begin(decode_budget(body), body["neighbours"])


def _budget(head: Head, _number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    budget = decode_budget(body)
    check_budget(head, budget, tables.name)
    return replace(head, budget=budget)


def check_budget(head: Head, budget: Budget, name: str) -> None:
    """Raise RefusedError if a ledger cannot change to a budget."""
    most, change = limit(budget), f"Ledger {name} cannot change its budget from {head.budget} to {budget}"
    if most.currency != head.spent.currency:
        raise RefusedError(
            f"{change}: the new budget is in another currency.",
            hint="Restore the old budget. For data of other units, create another ledger.",
        )
    if most.loss < head.spent.loss or most.delta < head.spent.delta:
        spent = f"loss {float(head.spent.loss):g}, δ = {float(head.spent.delta):g}"
        raise RefusedError(
            f"{change}: the new budget is below what is already spent ({spent}).", hint="Restore the old budget."
        )


def _analyst(head: Head, _number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    analyst, numbers = str(body["analyst"]), body["budget"]
    own_limit = None if numbers is None else decode_budget(numbers)
    if own_limit is not None:
        check_limit(analyst, own_limit, head)
    tables.set_account(analyst, Account(tables.account(analyst, head.nothing).spent, own_limit))
    return head


def check_limit(analyst: str, own_limit: Budget, head: Head) -> None:
    """Raise RefusedError unless an analyst's limit is in the currency of the budget."""
    first, second = limit(own_limit), limit(head.budget)
    if (first.currency, first.order) != (second.currency, second.order):
        raise RefusedError(
            f"The limit of {described_analyst(analyst)} is {spell(own_limit)}, but the budget is {spell(head.budget)}: "
            "both must be in one currency.",
            hint="Write the limit in the currency of the budget.",
        )


def check_new_limit(analyst: str, own_limit: Budget, head: Head) -> None:
    """Raise RefusedError if an analyst's new limit has a δ under a budget without δ, which nobody could spend."""
    check_account(analyst)
    check_limit(analyst, own_limit, head)
    if limit(own_limit).delta and not limit(head.budget).delta:
        raise RefusedError(
            f"The limit of {described_analyst(analyst)} is {spell(own_limit)}, but the budget, {spell(head.budget)}, "
            "has no δ.",
            hint="Remove δ from the limit.",
        )


def check_account(analyst: str) -> None:
    """Raise InvalidError unless this is the name of an analyst, or the account of all without their own limit."""
    if analyst != UNLISTED:
        check_name(analyst, "analyst")


def check_admission(analyst: str, own_limit: Budget | None) -> None:
    """Raise RefusedError if an analyst's limit is 0: then no query is admitted, not even one that costs nothing."""
    if own_limit is not None and limit(own_limit).loss == 0:
        who = f"Analyst {show_name(analyst)}" if analyst else "A query without an analyst's name"
        raise RefusedError(
            f"{who} is not admitted by the policy of this data.",
            hint="Give the name of a listed analyst (analyst= or --analyst), or ask the data steward for a limit.",
        )


def _policy(head: Head, _number: int, body: Mapping[str, Any], _tables: Tables) -> Head:
    policy = read_policy(body["tables"])
    if head.spent.loss or head.spent.delta:
        check_fixed(head.policy, policy)
    return replace(head, policy=policy)


def _version(head: Head, number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    version, disjoint = str(body["version"]), bool(body["disjoint"])
    declared = check_version(head, version, tables, disjoint=disjoint)
    if disjoint or declared is None:
        tables.set_request(version_name(version), number, "")
    if not disjoint:
        return replace(head, version=version)
    tables.reset_accounts(head.nothing)
    return replace(head, version=version, spent=head.nothing, since=number)


def check_version(head: Head, version: str, tables: Tables, *, disjoint: bool) -> int | None:
    """Return the record that declared a version first, or None; raise RefusedError if the version cannot be used.

    A budget that was renewed belongs to the new units alone. An earlier version is therefore closed: its units would
    be charged to a budget that is not theirs. And a version that was already charged has no new units.
    """
    known = tables.request(version_name(version))
    if known is None:
        return None
    declared, _ = known
    if declared < head.since:
        raise RefusedError(
            f"Data version {show_name(version)} cannot be queried: its budget ended when version "
            f"{show_name(head.version)} was declared to contain different units.",
            hint="Query the newer data.",
        )
    if disjoint and tables.charged_after(declared):
        raise RefusedError(
            f"Data version {show_name(version)} was already charged, so its units are not new.",
            hint="Give the version with the new units another name.",
        )
    return declared


def _clock(head: Head, _number: int, body: Mapping[str, Any], _tables: Tables) -> Head:
    if body["was"] != head.time:
        raise WrongRecordError("It corrects a time that is not the time of the record before it.")
    return head


def _charge(head: Head, number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    analyst, digest, key = str(body["analyst"]), body["digest"], body["key"]
    events = [from_json(json.dumps(event)) for event in body["events"]]
    check_key(analyst, key, digest, tables)
    total, account = admitted(head, analyst, events, tables)
    if _totals(body, "") != (total.loss, total.delta):
        raise WrongRecordError("Its totals are not those that its events give.")
    if _totals(body, "analyst_") != (account.spent.loss, account.spent.delta):
        raise WrongRecordError("The totals of its analyst are not those that its events give.")
    if (body["version"], body["since"]) != (head.version, head.since):
        raise WrongRecordError("It was charged for another version of the data.")
    names = _names(head.version, analyst, digest, key, repeats=body["repeats"])
    tables.set_account(analyst, account)
    tables.set_outcome(number, PENDING, None)
    for name in names:
        tables.set_request(name, number, digest)
    return replace(head, spent=total)


def _totals(body: Mapping[str, Any], prefix: str) -> tuple[Fraction, Fraction]:
    return stored_amount(body[f"{prefix}loss"]), stored_amount(body[f"{prefix}delta"])


def check_key(analyst: str, key: str | None, digest: str, tables: Tables) -> None:
    """Raise RefusedError if an analyst used a request key before for another query."""
    known = None if key is None else tables.request(key_name(analyst, key))
    if key is not None and known is not None and known[1] != digest:
        raise RefusedError(
            f"Request {show_name(key)} was used before with another query, other parameters or another data version.",
            hint="Give this request another name. A request of another version of tacit cannot be repeated.",
        )


def _outcome(head: Head, number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    charge, outcome = body["charge"], body["outcome"]
    if not isinstance(body["answer"], str | None):
        raise WrongRecordError("Its answer is not a text.")
    check_outcome(charge, outcome)
    if tables.outcome(charge) != PENDING:
        raise _not_pending(charge)
    tables.set_outcome(charge, outcome, number)
    return head


def check_outcome(number: object, outcome: object) -> int:
    """Return the number of a charge as an int; raise InvalidError unless it and the outcome are valid."""
    if outcome not in (ANSWERED, FAILED):
        raise bad_value("outcome", outcome, "'answered' or 'failed'")
    charge = whole(number)
    if charge is None or charge not in range(1, _LARGEST_NUMBER):
        raise _not_pending(number)
    return charge


def _not_pending(number: object) -> InvalidError:
    return bad_value("number", number, "the number of a charge that has not ended")


_RULES: Mapping[str, Callable[[Head, int, Mapping[str, Any], Tables], Head]] = {
    "budget": _budget,
    "analyst": _analyst,
    "policy": _policy,
    "version": _version,
    "clock": _clock,
    "size": add_size,
    "charge": _charge,
    "outcome": _outcome,
    SEAL: seal,
    MOVED: continue_after_seal,
}


# --- what both ledgers share ----------------------------------------------------------------------------------------


def charge_body(head: Head, request: Request, tables: Tables) -> dict[str, object]:
    """Return the body of a charge, without its time; raise BudgetError if it does not fit, RefusedError at limit 0."""
    check_admission(request.analyst, limit_of(request.analyst, head.nothing, tables))
    total, account = admitted(head, request.analyst, request.events, tables)
    return {
        "question": request.question,
        "analyst": request.analyst,
        "events": [json.loads(to_json(event)) for event in request.events],
        "loss": str(total.loss),
        "delta": str(total.delta),
        "analyst_loss": str(account.spent.loss),
        "analyst_delta": str(account.spent.delta),
        "digest": request.digest,
        "repeats": request.repeats,
        "key": request.key,
        "version": head.version,
        "since": head.since,
    }


def request_names(version: str, request: Request) -> list[str]:
    """Return the names under which the answer to a request can be found again."""
    return _names(version, request.analyst, request.digest, request.key, repeats=request.repeats)


def _names(version: str, analyst: str, digest: str, key: str | None, *, repeats: bool) -> list[str]:
    names = [query_name(analyst, version, digest)] if repeats else []
    return names + ([] if key is None else [key_name(analyst, key)])


@contextmanager
def before_charge() -> Iterator[None]:
    """Mark the errors raised within as raised before anything was spent, unless a commit failed."""
    try:
        yield
    except CommitError:
        raise
    except TacitError as error:
        if isinstance(error, NoLedgerError):  # `open_to_plan` expects it
            error.unspent = True
        activity.note_refusal(error)
        raise
