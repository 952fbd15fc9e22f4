"""Releases that the steward computes outside SQL, charged to the ledger: `db.charge`.

tacit prices the mechanism, guarantee or event, asks the filter of the ledger, and records the charge. It reads nothing
and computes nothing. So it cannot check what was released.

**Guarantee.** The totals of the ledger are sound if the release has the guarantee that is charged, for the units of the
ledger's policy and under its neighbour relation (`guarantees.filters` admits any event with a price, in any order). The
steward is responsible for that: for a mechanism, `sensitivity` must bound the change of the statistic if all rows of
one unit come or go, or become others under "change one". The charge is for one release. It is recorded before it
returns, so the steward must release after it, never before.

An event that fixes its relation, such as that of `RandomizedResponse` or of a monotone choice, is refused under the
other one. An event that the budget's currency cannot price is charged by the guarantee of its mechanism, if it has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from typing import TypeAlias, get_args

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.arithmetic import HasGuarantee
from tacit.guarantees.composition import Composition, HasEvent
from tacit.guarantees.events import (
    ApproxRelease,
    Event,
    GaussianNoise,
    Neighbours,
    PureRelease,
    ZCDPRelease,
    to_json,
)
from tacit.guarantees.exact import to_fraction
from tacit.guarantees.filters import Budget, limit
from tacit.guarantees.filters import price as event_price
from tacit.guarantees.prices import PRICED_EVENTS, PRICES
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Guarantee, PureDP
from tacit.ledger import ANSWERED, OUTSIDE, Request, check_name
from tacit.ledger.records import budget_like
from tacit.notebook import ShownAsLines
from tacit.query.formatting import amounts, spell
from tacit.query.pricing.price import whole_event
from tacit.safe_text import visible
from tacit.session import Session, unspent

Chargeable: TypeAlias = HasGuarantee | HasEvent | Event | Guarantee | ApproxZCDP

SCHEMA = 1
_LONGEST = 200
_MOVES = {"add/remove": "comes or goes", "change one": "changes"}


@dataclass(frozen=True, slots=True, repr=False)
class OutsideRelease(ShownAsLines):
    """A charge for a release outside SQL: its note, its events, its cost, and its receipt.

    Attributes:
        note: what was released, in the words of the caller.
        events: what was charged.
        cost: the cost.
        context: facts about the ledger and the software, for the receipt.
    """

    note: str
    events: tuple[Event, ...]
    cost: Budget
    context: Mapping[str, object]

    @property
    def receipt(self) -> dict[str, object]:
        """The charge as JSON, with its record in the ledger; `tc.ledger.verify` checks it."""
        return {
            "schema": SCHEMA,
            "release": "outside SQL",
            "note": self.note,
            "promise": amounts(self.cost),
            "events": [to_json(event) for event in self.events],
            **self.context,
        }

    def __str__(self) -> str:
        """Return the note and the cost."""
        return visible(f"{self.note}: charged {spell(self.cost)}")

    def __repr__(self) -> str:
        """Return the same in brackets."""
        return f"<OutsideRelease: {self}>"


def charge(session: Session, mechanism: Chargeable, note: str) -> OutsideRelease:
    """Charge a release that is computed outside SQL; see `Database.charge`."""
    ledger = session.ledger
    with unspent():
        session.check_open()
        events = _events(mechanism, ledger.budget)
        text = _checked_note(note)
        _check_relation(mechanism, events, ledger.spent.neighbours)
        session.check_events(events, "release")
        prices = [event_price(ledger.budget, event) for event in events]
        ticket = session.charge(Request(question=f"{OUTSIDE}{text}", events=events, analyst=session.analyst))
    session.finish(ticket, ANSWERED)
    loss, delta = (sum((getattr(price, part) for price in prices), Fraction(0)) for part in ("loss", "delta"))
    context = {
        "neighbours": ledger.spent.neighbours,
        "analyst": session.analyst or None,
        **session.facts(ticket),
    }
    return OutsideRelease(text, events, budget_like(ledger.budget, loss, delta), context)


def _checked_note(note: object) -> str:
    if isinstance(note, str) and not (note.isprintable() and len(note) <= _LONGEST):
        raise InvalidError(f"note must be one line of up to {_LONGEST} characters.", argument="note")
    text = check_name(note, "note")
    if not text:
        raise InvalidError(
            "The note is empty.", argument="note", hint="State what is released: note='choice of a drug'."
        )
    return text


def _events(mechanism: object, budget: Budget) -> tuple[Event, ...]:
    """Return the events to charge, or raise InvalidError."""
    events = _event_of(mechanism)
    if events is None:
        raise bad_value("mechanism", mechanism, "a mechanism, a guarantee or an event", hint=_hint(mechanism))
    most = limit(budget)
    own = getattr(mechanism, "guarantee", None)
    tried = [events, *([_under_relation(_event_of(own), events)] if isinstance(own, get_args(Guarantee)) else [])]
    for some in tried:
        if some and all(PRICES[most.currency](event, most.order or Fraction(1)) for event in some):
            return some
    raise InvalidError(
        f"A budget in {'ε' if most.currency == 'basic' else 'ρ'} cannot price {type(mechanism).__name__}.",
        argument="mechanism",
        hint=f"It prices {PRICED_EVENTS[most.currency]}.",
    )


def _hint(mechanism: object) -> str:
    """Return what to charge instead of something that is not a mechanism, a guarantee or an event."""
    if isinstance(mechanism, type):
        parameters = signature(mechanism).parameters if mechanism.__module__.startswith("tacit") else {}
        names = [f"{name}=…" for name in ("sensitivity", "epsilon") if name in parameters]
        return f"Write tc.{mechanism.__name__}({', '.join(names)})." if names else "Charge a value of a class of tacit."
    if isinstance(mechanism, (list, tuple, set, Composition)):
        return "Charge each one separately."
    return "For a release of another program, charge its guarantee, such as tc.PureDP(epsilon=0.5)."


def _check_relation(mechanism: object, events: Sequence[Event], protected: Neighbours | None) -> None:
    """Raise InvalidError if an event holds under another neighbour relation than the policy protects."""
    for event in events:
        relation = getattr(event, "neighbours", None)
        if protected is not None and relation not in (None, protected):
            raise InvalidError(
                f"{type(mechanism).__name__} holds under {relation!r} only, but this policy protects {protected!r}.",
                argument="mechanism",
                hint=f"Charge a release whose sensitivity is for a unit that {_MOVES[protected]}.",
            )


def _under_relation(events: tuple[Event, ...] | None, original: tuple[Event, ...]) -> tuple[Event, ...]:
    """Return the events of a guarantee under the relation that the mechanism's events fix; none if they cannot have it.

    A guarantee does not name a relation, so a release that holds under one relation only could otherwise be charged
    under the other one.
    """
    relations = [getattr(event, "neighbours", None) for event in original]
    fixed: set[Neighbours] = {relation for relation in relations if relation is not None}
    if events is None or not fixed:
        return events or ()
    relation, *others = fixed
    named: list[Event] = []
    for event in events:
        if others or not isinstance(event, (PureRelease, ApproxRelease, ZCDPRelease)):
            return ()
        named.append(replace(event, neighbours=relation))
    return tuple(named)


def _event_of(item: object) -> tuple[Event, ...] | None:
    """Return the events of a mechanism, an event or a guarantee; None for anything else.

    μ-Gaussian DP is the guarantee of continuous Gaussian noise that moves by μ standard deviations, exactly.
    """
    event = getattr(item, "event", item)
    match event:
        case PureDP() | ApproxDP() | ZCDP():
            return (whole_event(event),)
        case ApproxZCDP(rho=rho, delta=delta):
            slack = to_fraction(delta, "delta")
            outside = (ApproxRelease(epsilon=Fraction(0), delta=slack),) if slack else ()
            return (whole_event(ZCDP(rho=rho)), *outside)
        case GaussianDP(mu=mu):
            return (GaussianNoise(sigma=Fraction(1), l2=to_fraction(mu, "mu")),)
    return (event,) if isinstance(event, get_args(Event)) else None
