"""What records say: the chain, every total and every limit, computed again from the first record on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.errors import TacitError
from tacit.guarantees.events import from_json
from tacit.guarantees.filters import Budget, Spent, admit_all, limit, start
from tacit.ledger.records import (
    ANSWERED,
    FAILED,
    PENDING,
    Head,
    Record,
    budget_read,
    budget_said,
    canonical,
    key_name,
    linked,
    question_name,
    total_read,
    version_name,
)
from tacit.safe_text import visible


@dataclass(frozen=True, slots=True)
class Report:
    """What was found: how many records, and the first that is wrong with the reason; None if no one record is."""

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
        return visible(f"The ledger is not what was written{at}: {self.why}.")


class WrongError(Exception):
    """A record that is wrong, and why."""

    def __init__(self, number: int | None, why: str) -> None:
        """Keep both."""
        super().__init__(why)
        self.number, self.why = number, why


@dataclass(slots=True)
class State:
    """What the records say so far, after the first."""

    budget: Budget
    nothing: Spent
    spent: Spent
    number: int = -1
    link: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    since: int = 0
    time: str = ""
    by: dict[str, Spent] = field(default_factory=dict)
    limits: dict[str, Budget] = field(default_factory=dict)
    charges: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    requests: dict[str, tuple[int, str]] = field(default_factory=dict)

    def derived(self) -> dict[str, list[dict[str, object]]]:
        """Return the rows that must stand in the tables beside the records."""
        head = Head(
            number=self.number,
            link=self.link,
            spent=self.spent,
            budget=self.budget,
            policy=self.policy,
            version=self.version,
            since=self.since,
            time=self.time,
        )
        limits = {name: canonical(budget_said(budget)) for name, budget in self.limits.items()}
        return {
            "tacit_head": [head.row()],
            "tacit_analysts": [
                {"name": name, "loss": str(own.loss), "delta": str(own.delta), "budget": limits.get(name)}
                for name, own in self.by.items()
            ],
            "tacit_charges": [{"number": n, "outcome": how, "ended": at} for n, (how, at) in self.charges.items()],
            "tacit_requests": [{"name": name, "number": n, "digest": d} for name, (n, d) in self.requests.items()],
        }


def replay(records: Iterable[Record]) -> tuple[State | None, Report]:
    """Go through records from the first; return what they say, if they hold, and whether they do."""
    state, place = None, -1
    try:
        for place, one in enumerate(records):
            state = _followed(state, place, one)
        if state is None:
            raise WrongError(None, "it has no records")  # noqa: TRY301 - told like every other fault
    except WrongError as wrong:
        return None, Report(place + 1, wrong.number, wrong.why)
    return state, Report(place + 1)


_FAULTS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, TacitError)


def _followed(state: State | None, place: int, one: Record) -> State:
    """Return what holds after one more record, or raise WrongError."""
    if one.number != place:
        raise WrongError(place, f"it is missing, and record {one.number} stands in its place")
    if one.link != linked("" if state is None else state.link, one.number, one.kind, one.body):
        raise WrongError(place, "its link does not follow from what it says and from the records before it")
    try:
        said = json.loads(one.body)
        if state is None:
            state = _begun(one.kind, said)
        else:
            _RULES[one.kind](state, one.number, said)
        state.number, state.link, state.time = one.number, one.link, str(said["time"])
    except _FAULTS as error:
        ours = isinstance(error, TacitError) and one.kind == "charge"
        why = "its charge was not to be admitted" if ours else "it does not say what such a record must say"
        raise WrongError(place, why) from None
    return state


def _begun(kind: str, said: Mapping[str, Any]) -> State:
    if kind != "begin":
        raise WrongError(0, "a ledger begins with its budget")
    budget = budget_read(said)
    nothing = start(budget, said["neighbours"])
    return State(budget, nothing, nothing)


def _budget(state: State, number: int, said: Mapping[str, Any]) -> None:
    most = limit(budget_read(said))
    if most.currency != state.spent.currency or most.loss < state.spent.loss or most.delta < state.spent.delta:
        raise WrongError(number, "its budget is in another currency, or lower than what is spent")
    state.budget = budget_read(said)


def _analyst(state: State, number: int, said: Mapping[str, Any]) -> None:
    name, budget = str(said["analyst"]), said["budget"]
    state.limits.pop(name, None)
    if budget is not None:
        state.limits[name] = budget_read(budget)
        if limit(state.limits[name]).currency != state.spent.currency:
            raise WrongError(number, "its limit is in another currency")
    state.by.setdefault(name, state.nothing)


def _policy(state: State, number: int, said: Mapping[str, Any]) -> None:
    if not isinstance(said["tables"], dict):
        raise WrongError(number, "its policy has no tables")
    state.policy = said["tables"]


def _version(state: State, number: int, said: Mapping[str, Any]) -> None:
    state.version = str(said["version"])
    state.requests.setdefault(version_name(state.version), (number, ""))
    if said["disjoint"]:
        state.requests[version_name(state.version)] = number, ""
        state.spent, state.since = state.nothing, number
        state.by = dict.fromkeys(state.by, state.nothing)


def _clock(state: State, number: int, said: Mapping[str, Any]) -> None:
    if said["was"] != state.time:
        raise WrongError(number, "the time that it calls wrong is not that of the record before")


def _charge(state: State, number: int, said: Mapping[str, Any]) -> None:
    events = [from_json(json.dumps(one)) for one in said["events"]]
    total, analyst = admit_all(state.spent, state.budget, events), str(said["analyst"])
    _same(number, said, total, "")
    own, most = state.by.get(analyst, state.nothing), state.limits.get(analyst)
    own = grown(own, state.spent, total) if most is None else admit_all(own, most, events)
    _same(number, said, own, "analyst_")
    if (said["version"], said["since"]) != (state.version, state.since):
        raise WrongError(number, "it was charged for another version of the data")
    state.spent, state.by[analyst] = total, own
    state.charges[number] = PENDING, None
    if said["repeats"]:
        state.requests[question_name(analyst, state.version, said["digest"])] = number, said["digest"]
    if said["key"] is not None:
        state.requests[key_name(analyst, said["key"])] = number, said["digest"]


def _same(number: int, said: Mapping[str, Any], total: Spent, whose: str) -> None:
    if (Fraction(said[f"{whose}loss"]), Fraction(said[f"{whose}delta"])) != (total.loss, total.delta):
        raise WrongError(number, "its totals are not those that its events give")


def grown(own: Spent, before: Spent, after: Spent) -> Spent:
    """Return an analyst's total where no limit of their own is set: what the data's total grew by is added."""
    return total_read(own, own.loss + after.loss - before.loss, own.delta + after.delta - before.delta)


def _outcome(state: State, number: int, said: Mapping[str, Any]) -> None:
    how, answer = said["outcome"], said["answer"]
    if state.charges.get(said["charge"], ("", None))[0] != PENDING:
        raise WrongError(number, "it ends a charge that is not there or has ended")
    if how not in (ANSWERED, FAILED) or not isinstance(answer, str | None):
        raise WrongError(number, "it says no outcome that there is")
    state.charges[said["charge"]] = how, number


_RULES = {
    "budget": _budget,
    "analyst": _analyst,
    "policy": _policy,
    "version": _version,
    "clock": _clock,
    "charge": _charge,
    "outcome": _outcome,
}
