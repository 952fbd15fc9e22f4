r"""What a ledger writes: records, each with the hash of all that came before it.

A record has a number, a kind and a body, a JSON object in one canonical form. Its link is

    link(n) = SHA-256(link(n-1) ‖ "\n" ‖ n ‖ "\n" ‖ kind ‖ "\n" ‖ body),  link(-1) empty,

so that whoever knows one link knows that nothing before it was changed, removed, added or moved. Receipts carry the
link of their charge: an older copy of the ledger that is put back does not have it.

| kind | what it says |
|---|---|
| begin | the budget, its currency and relation, the software |
| budget | another budget, by the steward |
| analyst | what one analyst may spend |
| policy | what is public about each table, as far as the promise rests on it |
| version | another declared version of the data; with `disjoint` its units are new ones, and the budget is fresh |
| charge | a question, who asked, its events, and all totals after it |
| outcome | how a charge ended, and the answer that was given |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import ApproxZCDP, Budget, Spent, limit
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP

FORMAT = 2
"""The version of what is written."""

Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Record:
    """One record, as it is stored."""

    number: int
    kind: str
    body: str
    link: str

    @property
    def said(self) -> dict[str, object]:
        """The body's parts."""
        return dict(json.loads(self.body))


def record(number: int, kind: str, said: Body, before: str) -> Record:
    """Return a record that follows the one with the link `before`."""
    body = canonical(said)
    return Record(number, kind, body, linked(before, number, kind, body))


def linked(before: str, number: int, kind: str, body: str) -> str:
    """Return the link of a record."""
    return sha256(f"{before}\n{number}\n{kind}\n{body}".encode()).hexdigest()


def canonical(said: Body) -> str:
    """Return JSON in its one form: sorted, without spaces.

    >>> canonical({"b": 1, "a": None})
    '{"a":null,"b":1}'
    """
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def budget_said(budget: Budget) -> dict[str, str]:
    """Return a budget's exact numbers, or raise InvalidError for one that no ledger keeps.

    >>> budget_said(ApproxDP(epsilon=0.5, delta=1e-6))
    {'currency': 'basic', 'loss': '1/2', 'delta': '1/1000000'}
    """
    most = limit(budget)
    if most.currency not in ("basic", "zcdp"):
        raise InvalidError("budget", show(budget), "a PureDP, an ApproxDP, a ZCDP or an ApproxZCDP")
    return {"currency": most.currency, "loss": str(most.loss), "delta": str(most.delta)}


def budget_read(said: Mapping[str, object]) -> Budget:
    """Return the budget that `budget_said` wrote."""
    loss, delta = (Exact(Fraction(str(said[part]))) for part in ("loss", "delta"))
    if said["currency"] == "basic":
        return ApproxDP(epsilon=loss, delta=delta) if delta else PureDP(epsilon=loss)
    return ApproxZCDP(rho=loss, delta=delta) if delta else ZCDP(rho=loss)


def total_read(nothing: Spent, loss: object, delta: object) -> Spent:
    """Return a total in the currency of an empty one."""
    return Spent(
        currency=nothing.currency,
        loss=Fraction(str(loss)),
        delta=Fraction(str(delta)),
        order=nothing.order,
        neighbours=nothing.neighbours,
    )
