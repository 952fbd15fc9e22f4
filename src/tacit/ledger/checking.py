"""`verify`: the chain and every total of a ledger, computed again from its records.

What is checked of each record: that its number follows, that its link is the hash of all that came before it, that its
totals are those that the filter gives for its events after the totals before, and that both the data's budget and the
analyst's admitted it. Then that the head and the other tables say what the records say. The first record that is wrong
is named. A changed, removed, added or moved record breaks the chain from there on; an older copy of the ledger that is
put back has a chain that holds, but not the links of the receipts that were issued after it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidError, TacitError
from tacit.guarantees.events import from_json
from tacit.guarantees.filters import Budget, Spent, admit_all, start
from tacit.ledger import PENDING
from tacit.ledger.durable import DurableLedger
from tacit.ledger.records import FORMAT, Record, budget_read, budget_said, canonical, linked, total_read


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found: how many records, and the first that is wrong with the reason; None if none is."""

    records: int
    wrong: int | None = None
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether everything is as it should be."""
        return not self.why

    def __str__(self) -> str:
        """One sentence."""
        if self.holds:
            return f"All {self.records:,} records hold: the chain, the totals and what admits the next charge."
        at = "" if self.wrong is None else f" at record {self.wrong}"
        return f"The ledger is not what was written{at}: {self.why}."


class _WrongError(Exception):
    """A record that is wrong, and why."""

    def __init__(self, number: int | None, why: str) -> None:
        super().__init__(why)
        self.number, self.why = number, why


@dataclass(slots=True)
class State:
    """What the records say so far."""

    number: int = -1
    link: str = ""
    budget: Budget | None = None
    nothing: Spent | None = None
    spent: Spent | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    time: str = ""
    by: dict[str, Spent] = field(default_factory=dict)
    limits: dict[str, Budget] = field(default_factory=dict)
    charges: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    requests: dict[str, tuple[int, str]] = field(default_factory=dict)

    def derived(self) -> dict[str, list[dict[str, object]]]:
        """Return the rows that must stand in the tables beside the records."""
        if self.budget is None or self.spent is None:
            return {}
        head = {
            "place": 1,
            "format": FORMAT,
            "number": self.number,
            "link": self.link,
            "loss": str(self.spent.loss),
            "delta": str(self.spent.delta),
            "budget": canonical(budget_said(self.budget)),
            "neighbours": self.spent.neighbours,
            "policy": canonical(self.policy),
            "version": self.version,
            "time": self.time,
        }
        limits = {name: canonical(budget_said(budget)) for name, budget in self.limits.items()}
        analysts = [
            {"name": name, "loss": str(own.loss), "delta": str(own.delta), "budget": limits.get(name)}
            for name, own in self.by.items()
        ]
        return {
            "tacit_head": [head],
            "tacit_analysts": [dict(row) for row in analysts],
            "tacit_charges": [{"number": n, "outcome": how, "ended": at} for n, (how, at) in self.charges.items()],
            "tacit_requests": [{"name": name, "number": n, "digest": d} for name, (n, d) in self.requests.items()],
        }


def verify(ledger: DurableLedger, receipts: Sequence[Mapping[str, object]] = ()) -> Report:
    """Check a ledger, and that it has the charges of some receipts.

    Args:
        ledger: the ledger.
        receipts: receipts of answers that were given under it.
    """
    records = ledger.records()
    state, report = replay(records)
    if not report.holds:
        return report
    links = {one.number: one.link for one in records if one.kind == "charge"}
    try:
        _check_derived(state, ledger.derived())
        for receipt in receipts:
            _check_receipt(receipt, links)
    except _WrongError as wrong:
        return Report(len(records), wrong.number, wrong.why)
    return report


def replay(records: Sequence[Record]) -> tuple[State, Report]:
    """Go through records from the first, and return what they say and whether they hold."""
    state = State()
    try:
        for place, one in enumerate(records):
            _check(state, place, one)
        if not records:
            raise _WrongError(None, "it has no records")  # noqa: TRY301 - told like every other fault
    except _WrongError as wrong:
        return state, Report(len(records), wrong.number, wrong.why)
    return state, Report(len(records))


def _check(state: State, place: int, one: Record) -> None:
    if one.number != place:
        raise _WrongError(place, f"it is missing, and record {one.number} stands in its place")
    if one.link != linked(state.link, one.number, one.kind, one.body):
        raise _WrongError(place, "its link does not follow from what it says and from the records before it")
    try:
        said = json.loads(one.body)
        _RULES[one.kind](state, one.number, said)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, TacitError) as error:
        why = str(error) if isinstance(error, TacitError) else "it does not say what such a record must say"
        raise _WrongError(place, why) from None
    state.number, state.link, state.time = one.number, one.link, str(said["time"])


def _begin(state: State, number: int, said: Mapping[str, Any]) -> None:
    if number != 0:
        raise _WrongError(number, "a ledger begins only once")
    state.budget = budget_read(said)
    state.nothing = state.spent = start(state.budget, said["neighbours"])


def _set_budget(state: State, number: int, said: Mapping[str, Any]) -> None:
    del number
    state.budget = budget_read(said)


def _analyst(state: State, number: int, said: Mapping[str, Any]) -> None:
    del number
    state.limits.pop(said["analyst"], None)
    if said["budget"] is not None:
        state.limits[said["analyst"]] = budget_read(said["budget"])
    state.by.setdefault(said["analyst"], _nothing(state))


def _policy(state: State, number: int, said: Mapping[str, Any]) -> None:
    del number
    state.policy = said["tables"]


def _version(state: State, number: int, said: Mapping[str, Any]) -> None:
    del number
    state.version = said["version"]
    if said["disjoint"]:
        state.spent = state.nothing
        state.by = dict.fromkeys(state.by, _nothing(state))


def _charge(state: State, number: int, said: Mapping[str, Any]) -> None:
    events = [from_json(json.dumps(one)) for one in said["events"]]
    if state.budget is None or state.spent is None:
        raise _WrongError(number, "it stands before the ledger's beginning")
    total, analyst = admit_all(state.spent, state.budget, events), said["analyst"]
    _same(number, said, total, "")
    before = state.by.get(analyst, _nothing(state))
    grown = (total.loss - state.spent.loss, total.delta - state.spent.delta)
    limit = state.limits.get(analyst)
    own = (
        total_read(before, before.loss + grown[0], before.delta + grown[1])
        if limit is None
        else admit_all(before, limit, events)
    )
    _same(number, said, own, "analyst_")
    state.spent, state.by[analyst] = total, own
    state.charges[number] = PENDING, None
    if said["digest"] and said.get("repeats"):
        state.requests[f"question {analyst}\n{state.version}\n{said['digest']}"] = number, said["digest"]
    if said["key"] is not None:
        state.requests[f"key {analyst}\n{said['key']}"] = number, said["digest"]


def _same(number: int, said: Mapping[str, Any], total: Spent, whose: str) -> None:
    if (Fraction(said[f"{whose}loss"]), Fraction(said[f"{whose}delta"])) != (total.loss, total.delta):
        raise _WrongError(number, "its totals are not those that its events give")


def _outcome(state: State, number: int, said: Mapping[str, Any]) -> None:
    if state.charges.get(said["charge"], ("", None))[0] != PENDING:
        raise _WrongError(number, "it ends a charge that is not there or has ended")
    state.charges[said["charge"]] = said["outcome"], number


def _nothing(state: State) -> Spent:
    if state.nothing is None:
        raise KeyError("begin")
    return state.nothing


_RULES = {
    "begin": _begin,
    "budget": _set_budget,
    "analyst": _analyst,
    "policy": _policy,
    "version": _version,
    "charge": _charge,
    "outcome": _outcome,
}


_BESIDE = {
    "tacit_head": "what its head says of the totals, the budget or the policy is not what the records say",
    "tacit_analysts": "the totals or limits of its analysts are not those of the records",
    "tacit_charges": "how charges ended is not what the records say",
    "tacit_requests": "what answers are found by is not what the records say",
}


def _check_derived(state: State, derived: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
    """Hold the tables beside the records against what the records say."""
    expected = state.derived()
    heads = derived["tacit_head"]
    if len(heads) != 1:
        raise _WrongError(None, "it has lost its head")
    if (heads[0]["number"], heads[0]["link"]) != (state.number, state.link):
        raise _WrongError(state.number + 1, "records at the end are missing, or the head was moved")
    for name, why in _BESIDE.items():
        if _sorted(expected[name]) != _sorted(derived[name]):
            raise _WrongError(None, why)


def _sorted(rows: Sequence[Mapping[str, object]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def _check_receipt(receipt: Mapping[str, object], links: Mapping[int, str]) -> None:
    number, link = receipt.get("ledger_entry"), receipt.get("ledger_link")
    if not isinstance(number, int) or not isinstance(link, str):
        raise InvalidError("receipt", "one without a record's number and link", "a receipt of an answer from a ledger")
    if links.get(number) != link:
        raise _WrongError(
            number, "a receipt was issued for another record of this number: this copy is old, or another ledger"
        )
