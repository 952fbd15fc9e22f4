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
| clock | the steward's word that the clock was wrong before, not now |
| charge | a question, who asked, its events, and all totals after it |
| outcome | how a charge ended, and the answer that was given |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget, Spent, limit
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger.policies import Recorded

FORMAT = 2
"""The version of what is written."""

PENDING, ANSWERED, FAILED = "pending", "answered", "failed"
"""How a charge ended."""

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
    """Return the link of a record; bytes that are no text, as a damaged file has them, are hashed as they are."""
    return sha256(f"{before}\n{number}\n{kind}\n{body}".encode("utf-8", "surrogateescape")).hexdigest()


def canonical(said: Body) -> str:
    """Return JSON in its one form: sorted, without spaces, in ASCII, which every database keeps as it is.

    >>> canonical({"b": "ε", "a": None}) == '{"a":null,"b":"' + chr(92) + 'u03b5"}'
    True
    """
    return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)


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
    """Return the budget that `budget_said` wrote, or raise ValueError.

    >>> budget_read({"currency": "zcdp", "loss": "1/2", "delta": "0"})
    ZCDP(rho=0.5)
    """
    loss, delta = (Exact(Fraction(str(said[part]))) for part in ("loss", "delta"))
    match said["currency"]:
        case "basic":
            return ApproxDP(epsilon=loss, delta=delta) if delta else PureDP(epsilon=loss)
        case "zcdp":
            return ApproxZCDP(rho=loss, delta=delta) if delta else ZCDP(rho=loss)
    raise ValueError("no currency of a ledger")


def total_read(nothing: Spent, loss: object, delta: object) -> Spent:
    """Return a total in the currency of an empty one."""
    return Spent(
        currency=nothing.currency,
        loss=Fraction(str(loss)),
        delta=Fraction(str(delta)),
        order=nothing.order,
        neighbours=nothing.neighbours,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a ledger stands: the last record, the totals after it, and what holds now.

    `since` is the number of the record with which the budget began: the first, or the last disjoint version.
    """

    number: int
    link: str
    spent: Spent
    budget: Budget
    policy: Recorded
    version: str
    since: int
    time: str

    @property
    def nothing(self) -> Spent:
        """An empty total in the ledger's currency."""
        return replace(self.spent, loss=Fraction(0), delta=Fraction(0))

    def row(self) -> dict[str, object]:
        """Return the row that says so."""
        return {
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
            "since": self.since,
            "time": self.time,
        }


def question_name(analyst: str, version: str, digest: str) -> str:
    """Return the name under which a question is found again; names of people and versions have no line breaks."""
    return f"question {analyst}\n{version}\n{digest}"


def key_name(analyst: str, key: str) -> str:
    """Return the name under which an asker's own key is found again."""
    return f"key {analyst}\n{key}"


def version_name(version: str) -> str:
    """Return the name under which a declared version of the data is found again."""
    return f"version {version}"
